//! `prctl`: thread names, and programs that confine themselves.

use core::ffi::{c_char, c_int};

use holdup_agent::process;

use crate::{real, threads};

const PR_SET_NAME: c_int = 15;
const PR_SET_SECCOMP: c_int = 22;
const PR_SET_TSC: c_int = 26;
const STRICT: usize = 1;

/// Interposes `prctl`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    match option {
        // Strict mode also takes the processor's counter away.
        PR_SET_SECCOMP if a == STRICT => process::stop(),
        PR_SET_SECCOMP => process::confine(),
        PR_SET_TSC => process::stop(),
        _ => {}
    }
    let result = real::prctl(option, a, b, c, d);
    if option == PR_SET_NAME && result == 0 {
        threads::named(0, a as *const c_char);
    }
    result
}
