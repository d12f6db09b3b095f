//! The key of thread-specific data whose destructor tells us that a thread ends.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::link;

static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// What the C library calls where a thread ends that has given the key a value.
pub(crate) type Destructor = unsafe extern "C" fn(*mut c_void);

type SetSpecific = unsafe extern "C" fn(u32, *const c_void) -> i32;

fn own() -> u64 {
    own as *const () as u64
}

/// Makes the key, with what tells us that a thread ends. Once, from the constructor.
///
/// The second one that there is: a program that uses a key which it never made is mostly wrong about key 0, and is to hear that
/// from the C library as it does without us. (A later one would do as well, but for what the C library executes at each
/// thread's end to come to it, which is counted where instructions are.)
pub(crate) fn make(destructor: Destructor) {
    let (Some(create), Some(delete)) =
        (link::next(c"pthread_key_create", own()), link::next(c"pthread_key_delete", own()))
    else {
        return;
    };
    type Create = unsafe extern "C" fn(*mut u32, Option<Destructor>) -> i32;
    type Delete = unsafe extern "C" fn(u32) -> i32;
    // SAFETY: that is the function's type.
    let create: Create = unsafe { core::mem::transmute(create) };
    // SAFETY: as above.
    let delete: Delete = unsafe { core::mem::transmute(delete) };
    let mut keys = [u32::MAX; 2];
    for key in &mut keys {
        // SAFETY: a place for the key, and a destructor that lives as long as the library, which is never unloaded.
        if unsafe { create(key, Some(destructor)) } != 0 {
            *key = u32::MAX;
        }
    }
    let [first, second] = keys;
    if second == u32::MAX {
        KEY.store(first, Ordering::Relaxed);
        return;
    }
    KEY.store(second, Ordering::Relaxed);
    // SAFETY: a key that was just made, and has no value anywhere.
    unsafe { delete(first) };
}

/// Gives our key to the program, which has used up all others: true if there was one. From now on nobody tells when a thread ends:
/// for us it lives as long as the process.
pub fn give_up() -> bool {
    let Some(delete) = link::next(c"pthread_key_delete", own()) else { return false };
    let key = KEY.swap(u32::MAX, Ordering::Relaxed);
    // SAFETY: the function's type, and a key that is ours and of which nobody else knows.
    key != u32::MAX
        && unsafe { core::mem::transmute::<*const c_void, unsafe extern "C" fn(u32) -> i32>(delete)(key) }
            == 0
}

/// Gives our key a value in the calling thread, so that its destructor is called there.
pub(crate) fn set(value: *const c_void) {
    let key = KEY.load(Ordering::Relaxed);
    if key == u32::MAX {
        return;
    }
    static SET: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
    let mut set = SET.load(Ordering::Relaxed);
    if set == 0 {
        let Some(found) = link::next(c"pthread_setspecific", own()) else { return };
        set = found as usize;
        SET.store(set, Ordering::Relaxed);
    }
    // SAFETY: that is the function's type, and the key is ours.
    unsafe { core::mem::transmute::<usize, SetSpecific>(set)(key, value) };
}
