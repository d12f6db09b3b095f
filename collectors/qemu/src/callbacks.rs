//! What QEMU calls.

use std::ffi::{c_uint, c_void};

use crate::api::Api;
use crate::marks::{calls, returns};
use crate::threads;
use crate::translation::translates;
use crate::watch::watch;

/// Registers everything.
pub(crate) fn register(api: &Api, id: u64) {
    // SAFETY: the functions are QEMU's, which is loading us, and the callbacks have the types that it wants.
    unsafe {
        (api.on_thread_begin)(id, thread_begins);
        (api.on_thread_end)(id, thread_ends);
        (api.on_translation)(id, translates);
        (api.on_system_call)(id, calls);
        (api.on_system_return)(id, returns);
        (api.on_exit)(id, exits, std::ptr::null_mut());
    }
}

extern "C" fn thread_begins(_: u64, index: c_uint) {
    if let Some(watch) = watch() {
        threads::begins(watch, index);
    }
}

extern "C" fn thread_ends(_: u64, index: c_uint) {
    if let Some(watch) = watch() {
        threads::ends(watch, index);
    }
}

extern "C" fn exits(_: u64, _: *mut c_void) {
    if let Some(watch) = watch() {
        threads::all_end(watch);
    }
}
