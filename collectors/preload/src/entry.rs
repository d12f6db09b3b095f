//! Where the library starts and ends.

use core::ffi::{CStr, c_char};

use holdup_agent::process::{self, Arguments};
use holdup_trace::shared::SESSION_VARIABLE;

use crate::{real, threads};

type Strings = *const *const c_char;

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: unsafe extern "C" fn(i32, Strings, Strings) = start;

#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = finish;

/// The loader passes the program's arguments and environment, which are what the kernel put on the main thread's
/// stack: above all of its frames.
unsafe extern "C" fn start(count: i32, arguments: Strings, environment: Strings) {
    // In programs that are not recorded, too, hooks ask for the functions that they take the place of.
    process::watch_forks();
    real::find_syscall();
    threads::learn_default_stack();
    let Some(directory) = variable(environment, SESSION_VARIABLE.as_bytes()) else { return };
    process::join(directory, Arguments { count, values: arguments }, environment as u64);
}

extern "C" fn finish() {
    process::end();
}

/// Interposes `_exit`, which runs no destructor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(status: i32) -> ! {
    process::end();
    real::_exit(status);
    // The original does not return; where there is none, neither must this.
    core::arch::asm!("ud2", options(noreturn))
}

/// Interposes `_Exit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Exit(status: i32) -> ! {
    _exit(status)
}

/// The value of an environment variable.
pub(crate) unsafe fn variable<'a>(environment: Strings, name: &[u8]) -> Option<&'a CStr> {
    let mut at = environment;
    while !at.is_null() && !(*at).is_null() {
        let entry = CStr::from_ptr(*at);
        let bytes = entry.to_bytes_with_nul();
        if bytes.len() > name.len() && bytes.starts_with(name) && bytes[name.len()] == b'=' {
            return CStr::from_bytes_with_nul(&bytes[name.len() + 1..]).ok();
        }
        at = at.add(1);
    }
    None
}
