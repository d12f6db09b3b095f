//! The functions that an interposed name had before: what `dlsym(RTLD_NEXT, …)` gives, without `dlsym`, which may
//! allocate and whose symbol moved between versions of glibc.

use core::ffi::{CStr, c_char, c_int, c_void};

use crate::loader::Asking;

/// One loaded object, as `dl_iterate_phdr` describes it.
#[repr(C)]
pub struct LoadedObject {
    /// What to add to addresses in the file.
    pub bias: u64,
    /// Its path; empty for the program.
    pub name: *const c_char,
    /// Its program headers.
    pub headers: *const ProgramHeader,
    /// How many.
    pub header_count: u16,
    /// How many objects have been loaded so far.
    pub adds: u64,
    /// How many have been unloaded.
    pub subs: u64,
}

/// An ELF program header.
#[repr(C)]
pub struct ProgramHeader {
    /// `PT_…`.
    pub kind: u32,
    /// `PF_…`.
    pub flags: u32,
    /// Where in the file.
    pub offset: u64,
    /// Where in memory, before the bias.
    pub address: u64,
    /// Not used.
    pub physical: u64,
    /// Bytes in the file.
    pub file_size: u64,
    /// Bytes in memory.
    pub size: u64,
    /// Its alignment.
    pub alignment: u64,
}

/// `PT_LOAD`.
pub const LOAD: u32 = 1;
/// `PT_DYNAMIC`.
pub const DYNAMIC: u32 = 2;
/// `PT_NOTE`.
pub const NOTE: u32 = 4;
/// `DT_STRTAB`.
pub(crate) const STRINGS: u64 = 5;
/// `PF_X`.
pub const EXECUTABLE: u32 = 1;

type Visit = unsafe extern "C" fn(*const LoadedObject, usize, *mut c_void) -> c_int;

#[link(name = "c")]
unsafe extern "C" {
    fn dl_iterate_phdr(visit: Visit, data: *mut c_void) -> c_int;
}

impl LoadedObject {
    /// The program headers.
    pub fn headers(&self) -> &[ProgramHeader] {
        if self.headers.is_null() {
            return &[];
        }
        // SAFETY: the loader describes a live object for the time of the visit.
        unsafe { core::slice::from_raw_parts(self.headers, self.header_count as usize) }
    }

    /// The entries of its dynamic section: tags and values.
    pub(crate) fn dynamic(&self) -> impl Iterator<Item = (u64, u64)> {
        let section = self.headers().iter().find(|header| header.kind == DYNAMIC);
        let mut entry =
            section.map_or(core::ptr::null(), |section| (self.bias + section.address) as *const [u64; 2]);
        core::iter::from_fn(move || {
            // SAFETY: the dynamic section ends with a null entry, behind which nothing is read.
            let [tag, value] = if entry.is_null() { [0, 0] } else { unsafe { *entry } };
            // SAFETY: as above.
            entry = if tag == 0 { core::ptr::null() } else { unsafe { entry.add(1) } };
            (tag != 0).then_some((tag, value))
        })
    }

    /// Where an address lies that the dynamic section holds: the loader adds the bias in place where it can write (not
    /// in the vDSO).
    pub(crate) fn loaded(&self, value: u64) -> u64 {
        if value < self.bias { self.bias + value } else { value }
    }

    /// The address of the function `name` that it defines.
    pub fn function(&self, name: &CStr) -> Option<*const c_void> {
        Symbols::of(self)?.find(name, Sort::Function).map(|address| address as *const c_void)
    }

    /// True if `address` lies in one of its segments.
    pub fn covers(&self, address: u64) -> bool {
        self.headers().iter().any(|header| {
            header.kind == LOAD
                && (self.bias + header.address..self.bias + header.address + header.size).contains(&address)
        })
    }
}

/// Calls `visit` for each loaded object in search order until it gives true.
pub fn each_object(visit: impl FnMut(&LoadedObject) -> bool) {
    visit_all(&Asking::patiently(), visit);
}

/// The same, unless a thread forks: then nothing is called.
pub(crate) fn each_object_now(visit: impl FnMut(&LoadedObject) -> bool) {
    if let Some(asking) = Asking::now() {
        visit_all(&asking, visit);
    }
}

fn visit_all(_: &Asking, mut visit: impl FnMut(&LoadedObject) -> bool) {
    unsafe extern "C" fn thunk<F: FnMut(&LoadedObject) -> bool>(
        object: *const LoadedObject,
        _size: usize,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: `each_object` passes its closure, and the loader a live object.
        let (visit, object) = unsafe { (&mut *data.cast::<F>(), &*object) };
        c_int::from(visit(object))
    }
    fn start<F: FnMut(&LoadedObject) -> bool>(visit: &mut F) {
        // SAFETY: the thunk is of the closure's type, and the closure lives through the call.
        unsafe { dl_iterate_phdr(thunk::<F>, core::ptr::from_mut(visit).cast()) };
    }
    start(&mut visit);
}

/// The address of the function `name` in the first object after the one that holds `own`; where there is none,
/// in any other object.
pub fn next(name: &CStr, own: u64) -> Option<*const c_void> {
    let mut after = false;
    let mut found = 0;
    let mut before = 0;
    each_object(|object| {
        if object.covers(own) {
            after = true;
            return false;
        }
        let address = object.function(name).map_or(0, |address| address as u64);
        if address != 0 && after {
            found = address;
        } else if address != 0 && before == 0 {
            before = address;
        }
        found != 0
    });
    let address = if found != 0 { found } else { before };
    (address != 0).then_some(address as *const c_void)
}

/// The address of the variable `name` in the first object that defines it.
pub(crate) fn variable(name: &CStr) -> Option<*const c_void> {
    let mut found = None;
    each_object(|object| {
        found = Symbols::of(object).and_then(|symbols| symbols.find(name, Sort::Variable));
        found.is_some()
    });
    found.map(|address| address as *const c_void)
}

/// The address of the function `name` in the object that `address` lies in.
pub fn in_object_of(address: u64, name: &CStr) -> Option<*const c_void> {
    let mut found = None;
    each_object(|object| {
        let is_it = object.covers(address);
        if is_it {
            found = object.function(name);
        }
        is_it
    });
    found
}

/// What a symbol names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Function,
    Variable,
}

#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

/// The dynamic symbols of an object.
struct Symbols {
    bias: u64,
    symbols: *const Symbol,
    strings: *const c_char,
    versions: *const u16,
    gnu_hash: *const u32,
    hash: *const u32,
}

impl Symbols {
    fn of(object: &LoadedObject) -> Option<Symbols> {
        let mut found = Symbols {
            bias: object.bias,
            symbols: core::ptr::null(),
            strings: core::ptr::null(),
            versions: core::ptr::null(),
            gnu_hash: core::ptr::null(),
            hash: core::ptr::null(),
        };
        for (tag, value) in object.dynamic() {
            let address = object.loaded(value);
            match tag {
                4 => found.hash = address as *const u32,
                STRINGS => found.strings = address as *const c_char,
                6 => found.symbols = address as *const Symbol,
                0x6fff_fef5 => found.gnu_hash = address as *const u32,
                0x6fff_fff0 => found.versions = address as *const u16,
                _ => {}
            }
        }
        (!found.symbols.is_null() && !found.strings.is_null()).then_some(found)
    }

    fn find(&self, name: &CStr, sort: Sort) -> Option<u64> {
        // SAFETY: tables of a loaded object, laid out as the ELF and GNU hash formats say.
        unsafe {
            if !self.gnu_hash.is_null() {
                self.find_by_gnu_hash(name, sort)
            } else if !self.hash.is_null() {
                (0..*self.hash.add(1)).find_map(|index| self.matches(index, name, sort))
            } else {
                None
            }
        }
    }

    unsafe fn find_by_gnu_hash(&self, name: &CStr, sort: Sort) -> Option<u64> {
        let hash = name
            .to_bytes()
            .iter()
            .fold(5381u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(u32::from(*byte)));
        // SAFETY: header of four words, then the filter's words (64 bits each), the buckets, the chains.
        unsafe {
            let [buckets, first, filter_words] = [0, 1, 2].map(|index| *self.gnu_hash.add(index));
            if buckets == 0 {
                return None;
            }
            let table = self.gnu_hash.add(4 + filter_words as usize * 2);
            let chains = table.add(buckets as usize);
            let mut index = *table.add((hash % buckets) as usize);
            if index < first {
                return None;
            }
            loop {
                let entry = *chains.add((index - first) as usize);
                if entry | 1 == hash | 1
                    && let Some(address) = self.matches(index, name, sort)
                {
                    return Some(address);
                }
                if entry & 1 == 1 {
                    return None;
                }
                index += 1;
            }
        }
    }

    /// The address of symbol `index` if it is a defined one of this name and sort in its default version.
    unsafe fn matches(&self, index: u32, name: &CStr, sort: Sort) -> Option<u64> {
        const INDIRECT_FUNCTION: u8 = 10;
        // SAFETY: the caller takes the index from the object's own hash table.
        unsafe {
            let symbol = &*self.symbols.add(index as usize);
            if symbol.section == 0
                || symbol.value == 0
                || CStr::from_ptr(self.strings.add(symbol.name as usize)) != name
            {
                return None;
            }
            // The upper bit marks versions that are kept for old programs only.
            if !self.versions.is_null() && *self.versions.add(index as usize) & 0x8000 != 0 {
                return None;
            }
            let address = self.bias + symbol.value;
            match (sort, symbol.info & 0xf) {
                (Sort::Variable, 1) | (Sort::Function, 2) => Some(address),
                (Sort::Function, INDIRECT_FUNCTION) => {
                    let resolve: extern "C" fn() -> u64 = core::mem::transmute(address as *const c_void);
                    Some(resolve())
                }
                _ => None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn functions_of_the_c_library_are_found() {
        let own = functions_of_the_c_library_are_found as *const () as u64;
        let getpid = next(c"getpid", own).expect("getpid is in the C library");
        // SAFETY: that is the type of getpid.
        let getpid: extern "C" fn() -> i32 = unsafe { core::mem::transmute(getpid) };
        assert_eq!(getpid() as u32, std::process::id());
        assert!(next(c"holdup_no_such_function", own).is_none());
    }

    #[test]
    fn the_default_version_is_taken() {
        let own = the_default_version_is_taken as *const () as u64;
        // Two versions of it exist in glibc for x86-64; the old one is hidden.
        assert!(next(c"pthread_cond_wait", own).is_some());
    }
}
