//! Entry points of LLVM's runtime that name the function which the compiler made of a region or a task: OMPT tells only
//! the return address, which is the caller's where the call is the last thing that a function does.
//!
//! Each is a stub that leaves the function in the thread's own block, for the callback that follows, and jumps to the
//! original with all arguments in place, of which the first two take any number.

use core::ffi::CStr;
use core::mem::offset_of;
use core::sync::atomic::{AtomicUsize, Ordering};

use holdup_agent::scope;
use holdup_agent::thread::Thread;

use crate::openmp::ompt;

/// Exports stubs: the register that holds the function, and the field of the thread's standing that it is left in.
macro_rules! stubs {
    ($($(#[$doc:meta])* $name:ident, $register:literal => $field:ident;)*) => {$(
        $(#[$doc])*
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            static ORIGINAL: AtomicUsize = AtomicUsize::new(0);
            static COPIES: Copies = Copies::new();
            unsafe extern "C" fn find(location: usize) -> usize {
                let name = CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes());
                original(name.unwrap_or_default(), &ORIGINAL, &COPIES, location)
            }
            core::arch::naked_asm!(
                "mov r11, qword ptr [rip + holdup_thread_block@GOTTPOFF]",
                concat!("mov qword ptr fs:[r11 + {field}], ", $register),
                "mov r11, [rip + {original}]",
                "test r11, r11",
                "jz 2f",
                "jmp r11",
                // Not known yet, or several: all registers that can hold arguments are kept, `al` among them. The first
                // is the source location, which lies in the calling object even where the return address does not.
                "2:",
                "push rax",
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "call {find}",
                "mov r11, rax",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "pop rax",
                "jmp r11",
                field = const offset_of!(Thread, openmp.$field),
                original = sym ORIGINAL,
                find = sym find,
            )
        }
    )*};
}

stubs! {
    /// Interposes `__kmpc_fork_call`: a parallel region.
    __kmpc_fork_call, "rdx" => microtask;
    /// Interposes `__kmpc_fork_call_if`: a parallel region with an `if`.
    __kmpc_fork_call_if, "rdx" => microtask;
    /// Interposes `__kmpc_fork_teams`: a league of teams.
    __kmpc_fork_teams, "rdx" => microtask;
    /// Interposes `__kmpc_omp_task_alloc`: a task.
    __kmpc_omp_task_alloc, "r9" => task_entry;
}

/// The originals of an entry point by source location, where several copies of the runtime are in the process.
struct Copies {
    locations: [AtomicUsize; COPIES],
    originals: [AtomicUsize; COPIES],
}

/// Locations whose original is remembered; those that collide with others look for it each time.
const COPIES: usize = 64;

impl Copies {
    const fn new() -> Copies {
        Copies {
            locations: [const { AtomicUsize::new(0) }; COPIES],
            originals: [const { AtomicUsize::new(0) }; COPIES],
        }
    }
}

/// Finds the original of an entry point. `only` is where the stub finds it the next time, if it is right for all callers.
unsafe fn original(name: &CStr, only: &AtomicUsize, copies: &Copies, location: usize) -> usize {
    let place = (location.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - COPIES.ilog2())) % COPIES;
    if copies.locations[place].load(Ordering::Acquire) == location {
        return copies.originals[place].load(Ordering::Relaxed);
    }
    let own = original as *const () as u64;
    let Some(found) = scope::definition(name, own, location as u64) else {
        // Nobody can have called what nobody defines, unless it was unloaded since.
        return missing as *const () as usize;
    };
    let address = found.address as usize;
    ompt::notice(address as u64);
    if found.only {
        only.store(address, Ordering::Relaxed);
    } else if copies.locations[place].compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        copies.originals[place].store(address, Ordering::Relaxed);
        copies.locations[place].store(location, Ordering::Release);
    }
    address
}

extern "C" fn missing() -> usize {
    0
}
