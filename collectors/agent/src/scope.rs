//! Which of several definitions of a function the loader would have bound a call to, were this library not there.
//!
//! Objects that a program loads for itself alone (`RTLD_LOCAL`, as Python loads its modules) bring copies of libraries
//! with them, which only they may use: the definition next to ours in the order of loading can be another's. The loader
//! looks into the program and what it needs, level by level, and then into the calling object and what that needs.

use core::ffi::{CStr, c_char, c_void};

use crate::link::{LoadedObject, STRINGS, each_object};

/// What was found.
#[derive(Clone, Copy)]
pub struct Definition {
    /// The function.
    pub address: *const c_void,
    /// True if nothing else that is loaded now defines it, so that it is right for every caller.
    pub only: bool,
}

/// Objects that are looked at; those loaded later are passed over.
const OBJECTS: usize = 512;

/// The definition of `name` for a call from `caller`, without the object that holds `own`.
pub fn definition(name: &CStr, own: u64, caller: u64) -> Option<Definition> {
    let mut first = None;
    let mut count = 0;
    each_object(|object| {
        if !object.covers(own)
            && let Some(address) = object.function(name)
        {
            count += 1;
            first.get_or_insert(address);
        }
        count > 1
    });
    let first = first?;
    if count == 1 {
        return Some(Definition { address: first, only: true });
    }
    let program = 0;
    let address = from(program, name, own).or_else(|| from(index_of(caller)?, name, own)).unwrap_or(first);
    Some(Definition { address, only: false })
}

/// The object at this place in the order of loading.
fn with<T>(place: usize, read: impl Fn(&LoadedObject) -> Option<T>) -> Option<T> {
    let mut result = None;
    let mut index = 0;
    each_object(|object| {
        let is_it = index == place;
        if is_it {
            result = read(object);
        }
        index += 1;
        is_it
    });
    result
}

fn index_of(address: u64) -> Option<usize> {
    let mut index = 0;
    let mut found = None;
    each_object(|object| {
        if object.covers(address) {
            found = Some(index);
        }
        index += 1;
        found.is_some()
    });
    found
}

/// Looks into the object at this place and into what it needs, level by level.
fn from(place: usize, name: &CStr, own: u64) -> Option<*const c_void> {
    let mut queue = [0u16; OBJECTS];
    let mut queued = [0u64; OBJECTS / 64];
    let mut length = 0;
    let mut enqueue = |place: usize, queue: &mut [u16; OBJECTS], length: &mut usize| {
        if place < OBJECTS && queued[place / 64] & 1 << (place % 64) == 0 {
            queued[place / 64] |= 1 << (place % 64);
            queue[*length] = place as u16;
            *length += 1;
        }
    };
    enqueue(place, &mut queue, &mut length);
    let mut next = 0;
    while next < length {
        let place = usize::from(queue[next]);
        next += 1;
        let found = with(place, |object| if object.covers(own) { None } else { object.function(name) });
        if found.is_some() {
            return found;
        }
        let mut needed = 0;
        while let Some(library) = with(place, |object| entry(object, NEEDED, needed)) {
            needed += 1;
            // SAFETY: a name in the tables of an object that is loaded: nobody unloads one that is being called.
            if let Some(place) = named(unsafe { CStr::from_ptr(library) }) {
                enqueue(place, &mut queue, &mut length);
            }
        }
    }
    None
}

/// `DT_NEEDED`.
const NEEDED: u64 = 1;
/// `DT_SONAME`.
const OWN_NAME: u64 = 14;

/// The `number`-th name with this tag in the object's dynamic section.
fn entry(object: &LoadedObject, wanted: u64, number: usize) -> Option<*const c_char> {
    let strings = object.dynamic().find(|(tag, _)| *tag == STRINGS)?.1;
    let value = object.dynamic().filter(|(tag, _)| *tag == wanted).nth(number)?.1;
    Some((object.loaded(strings) + value) as *const c_char)
}

/// The place of the object that was loaded for this name.
fn named(name: &CStr) -> Option<usize> {
    let mut index = 0;
    let mut found = None;
    each_object(|object| {
        // SAFETY: the loader's name of a live object, and a name in its tables.
        let text = |name: *const c_char| unsafe { CStr::from_ptr(name) }.to_bytes();
        let path = if object.name.is_null() { b"" } else { text(object.name) };
        let file = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        let wanted = name.to_bytes();
        if path == wanted
            || file == wanted
            || entry(object, OWN_NAME, 0).is_some_and(|own| text(own) == wanted)
        {
            found = Some(index);
        }
        index += 1;
        found.is_some()
    });
    found
}

/// `DT_VERNEED`: the versions that an object wants of others.
const VERSIONS_WANTED: u64 = 0x6fff_fffe;
/// `DT_VERNEEDNUM`: of how many others.
const VERSIONS_WANTED_COUNT: u64 = 0x6fff_ffff;

/// `Elf64_Verneed`: what is wanted of one library.
#[repr(C)]
struct Wanted {
    revision: u16,
    count: u16,
    file: u32,
    first: u32,
    next: u32,
}

/// `Elf64_Vernaux`: one version.
#[repr(C)]
struct Version {
    hash: u32,
    flags: u16,
    other: u16,
    name: u32,
    next: u32,
}

/// True if the object that `address` lies in wants symbols of this version: the loader binds these to a library that has it,
/// whatever others define under the same names.
pub fn wants_version(address: u64, version: &CStr) -> bool {
    let mut wants = false;
    each_object(|object| {
        let is_it = object.covers(address);
        if is_it {
            wants = has_wanted(object, version).unwrap_or(false);
        }
        is_it
    });
    wants
}

fn has_wanted(object: &LoadedObject, version: &CStr) -> Option<bool> {
    let value = |wanted: u64| object.dynamic().find(|(tag, _)| *tag == wanted).map(|(_, value)| value);
    let strings = object.loaded(value(STRINGS)?);
    let mut library = object.loaded(value(VERSIONS_WANTED)?);
    for _ in 0..value(VERSIONS_WANTED_COUNT)? {
        // SAFETY: the loader has bound symbols by this table of a live object.
        let wanted = unsafe { &*(library as *const Wanted) };
        let mut at = library + u64::from(wanted.first);
        for _ in 0..wanted.count {
            // SAFETY: as above.
            let one = unsafe { &*(at as *const Version) };
            // SAFETY: a name in the tables of a live object.
            let name = unsafe { CStr::from_ptr((strings + u64::from(one.name)) as *const c_char) };
            if name == version {
                return Some(true);
            }
            at += u64::from(one.next);
        }
        library += u64::from(wanted.next);
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn what_the_program_needs_is_found_and_is_the_only_one() {
        let own = 0;
        let here = what_the_program_needs_is_found_and_is_the_only_one as *const () as u64;
        let found = definition(c"pthread_key_create", own, here).expect("it is in the C library");
        assert_eq!(crate::link::next(c"pthread_key_create", here), Some(found.address));
        assert!(found.only);
        let program = index_of(here).expect("this function lies in the program");
        assert_eq!(from(program, c"pthread_key_create", own), Some(found.address));
        assert!(definition(c"holdup_no_such_function", own, here).is_none());
    }

    #[test]
    fn versions_that_the_program_wants_are_known() {
        let here = versions_that_the_program_wants_are_known as *const () as u64;
        assert!(wants_version(here, c"GLIBC_2.2.5"));
        assert!(!wants_version(here, c"GLIBC_0.1"));
    }

    #[test]
    fn an_object_is_found_by_its_name() {
        let library = named(c"libc.so.6").expect("the C library is loaded");
        assert!(with(library, |object| object.function(c"getpid")).is_some());
        assert_eq!(named(c"no-such-library.so"), None);
    }
}
