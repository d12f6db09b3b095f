//! The functions of holdup's preloaded library, found by name in the running process.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function that this process may have.
struct Function {
    name: &'static CStr,
    /// Null before it was looked for, [`ABSENT`] where it is not there, else its address.
    address: AtomicPtr<c_void>,
}

const ABSENT: *mut c_void = ptr::without_provenance_mut(1);

impl Function {
    const fn new(name: &'static CStr) -> Function {
        Function { name, address: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Its address. Code does not change, so nothing has to be ordered with the load.
    #[inline]
    fn address(&self) -> Option<*mut c_void> {
        match self.address.load(Ordering::Relaxed) {
            ABSENT => None,
            address if address.is_null() => self.find(),
            address => Some(address),
        }
    }

    #[cold]
    fn find(&self) -> Option<*mut c_void> {
        let found = look_up(self.name);
        self.address.store(found.unwrap_or(ABSENT), Ordering::Relaxed);
        found
    }
}

/// The address of a function anywhere in the process.
#[cfg(all(target_os = "linux", not(target_feature = "crt-static")))]
fn look_up(name: &CStr) -> Option<*mut c_void> {
    /// `RTLD_DEFAULT`: everything that was loaded with the program.
    const EVERYWHERE: *mut c_void = ptr::null_mut();
    unsafe extern "C" {
        fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    }
    // SAFETY: a handle that dlsym defines, and a name that ends with a zero byte.
    let address = unsafe { dlsym(EVERYWHERE, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// holdup does not enter statically linked programs, nor those of other systems.
#[cfg(not(all(target_os = "linux", not(target_feature = "crt-static"))))]
fn look_up(_: &CStr) -> Option<*mut c_void> {
    None
}

/// A function that takes a label.
pub(crate) struct Labelled(Function);

impl Labelled {
    const fn new(name: &'static CStr) -> Labelled {
        Labelled(Function::new(name))
    }

    #[inline]
    pub(crate) fn call(&self, label: &CStr) {
        if let Some(address) = self.0.address() {
            // SAFETY: only functions of this type are made into a `Labelled`, below; include/holdup.h declares them.
            let function: unsafe extern "C" fn(*const c_char) = unsafe { transmute(address) };
            // SAFETY: a string that ends with a zero byte and that is not kept.
            unsafe { function(label.as_ptr()) };
        }
    }
}

/// A function that takes nothing.
pub(crate) struct Plain(Function);

impl Plain {
    const fn new(name: &'static CStr) -> Plain {
        Plain(Function::new(name))
    }

    #[inline]
    pub(crate) fn call(&self) {
        if let Some(address) = self.0.address() {
            // SAFETY: only functions of this type are made into a `Plain`, below; include/holdup.h declares them.
            let function: unsafe extern "C" fn() = unsafe { transmute(address) };
            // SAFETY: it demands nothing of its caller.
            unsafe { function() };
        }
    }
}

pub(crate) static REGION_BEGIN: Labelled = Labelled::new(c"holdup_region_begin");
pub(crate) static REGION_END: Labelled = Labelled::new(c"holdup_region_end");
pub(crate) static WORK_BEGIN: Labelled = Labelled::new(c"holdup_work_begin");
pub(crate) static WORK_END: Plain = Plain::new(c"holdup_work_end");
pub(crate) static SPIN_BEGIN: Plain = Plain::new(c"holdup_spin_begin");
pub(crate) static SPIN_END: Plain = Plain::new(c"holdup_spin_end");

/// The process enters a phase, which lasts until the next one.
#[inline]
pub fn phase(label: &CStr) {
    static PHASE: Labelled = Labelled::new(c"holdup_phase");
    PHASE.call(label);
}

/// True while holdup records this process.
#[inline]
pub fn is_recording() -> bool {
    static IS_RECORDING: Function = Function::new(c"holdup_is_recording");
    IS_RECORDING.address().is_some_and(|address| {
        // SAFETY: that is the function's type, as include/holdup.h declares it.
        let function: unsafe extern "C" fn() -> c_int = unsafe { transmute(address) };
        // SAFETY: it demands nothing of its caller.
        unsafe { function() != 0 }
    })
}

/// A thread's criticality, as include/holdup.h declares it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct RawCriticality {
    pub(crate) tid: c_int,
    pub(crate) is_active: c_int,
    pub(crate) criticality_ns: u64,
    pub(crate) active_ns: u64,
    pub(crate) changes: u64,
}

/// Fills in what threads have had; how many threads there are, `None` where it is not kept.
pub(crate) fn criticality_of_all(out: &mut [RawCriticality]) -> Option<usize> {
    static ALL: Function = Function::new(c"holdup_criticality");
    let room = c_int::try_from(out.len()).unwrap_or(c_int::MAX);
    // SAFETY: that is the function's type, as include/holdup.h declares it.
    let function: unsafe extern "C" fn(*mut RawCriticality, c_int) -> c_int =
        unsafe { transmute(ALL.address()?) };
    // SAFETY: there is room for so many.
    usize::try_from(unsafe { function(out.as_mut_ptr(), room) }).ok()
}

/// What the calling thread has had; `None` where it is not kept.
pub(crate) fn criticality_of_this() -> Option<RawCriticality> {
    static OWN: Function = Function::new(c"holdup_own_criticality");
    let mut out = RawCriticality::default();
    // SAFETY: that is the function's type, as include/holdup.h declares it.
    let function: unsafe extern "C" fn(*mut RawCriticality) -> c_int = unsafe { transmute(OWN.address()?) };
    // SAFETY: there is room for one.
    (unsafe { function(&raw mut out) } == 1).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_looked_for_once() {
        let function = Function::new(c"holdup_no_such_function");
        assert!(function.address().is_none());
        assert_eq!(function.address.load(Ordering::Relaxed), ABSENT);
        assert!(function.address().is_none());
    }

    #[test]
    fn what_is_there_is_found() {
        let function = Function::new(c"getpid");
        let address = function.address().expect("the C library has getpid");
        assert_eq!(function.address.load(Ordering::Relaxed), address);
        // SAFETY: that is the type of getpid.
        let getpid: extern "C" fn() -> c_int = unsafe { transmute(address) };
        assert_eq!(getpid() as u32, std::process::id());
    }
}
