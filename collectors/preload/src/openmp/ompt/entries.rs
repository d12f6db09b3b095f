//! Entry points of LLVM's runtime that know what OMPT does not tell: the function which the compiler made of a region or
//! a task (OMPT has the return address, which is the caller's where the call is the last thing that a function does),
//! the chunk size that a loop asks for, and the moment when a thread asks for its next chunk.
//!
//! Each is a stub that leaves this in the thread's own block, for the callback that follows, and jumps to the original
//! with all arguments in place, of which some take any number.

use core::ffi::CStr;
use core::mem::offset_of;
use core::sync::atomic::{AtomicUsize, Ordering};

use holdup_agent::openmp::{self, Standing};
use holdup_agent::scope;
use holdup_agent::thread::Thread;

use crate::openmp::ompt;

/// Calls a function in the midst of a stub with all registers kept that can hold arguments, `al` among them; its result
/// is in r11.
macro_rules! call_keeping_arguments {
    ($function:literal) => {
        concat!(
            "push rax\npush rdi\npush rsi\npush rdx\npush rcx\npush r8\npush r9\n",
            "call ",
            $function,
            "\nmov r11, rax\n",
            "pop r9\npop r8\npop rcx\npop rdx\npop rsi\npop rdi\npop rax",
        )
    };
}

/// Exports stubs. Each begins with the instructions given, which find the thread's own block at `fs:[r11]` and a field in
/// it at `{field}`, and may use r10. Behind `else` is what else it has, and a function for that.
macro_rules! stubs {
    ($($(#[$doc:meta])* $name:ident($field:ident) { $($first:expr),* }
        $(else { $($more:expr),* } $operand:ident = $function:ident)?;)*) => {$(
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
                $($first,)*
                "2:",
                "mov r11, [rip + {original}]",
                "test r11, r11",
                "jz 3f",
                "jmp r11",
                // Not known yet, or several. The first argument is the source location, which lies in the calling object
                // even where the return address does not.
                "3:",
                call_keeping_arguments!("{find}"),
                "jmp r11",
                $($($more,)*)?
                field = const $field,
                original = sym ORIGINAL,
                find = sym find,
                $($operand = sym $function,)?
            )
        }
    )*};
}

const MICROTASK: usize = offset_of!(Thread, openmp) + offset_of!(Standing, microtask);
const TASK_ENTRY: usize = offset_of!(Thread, openmp) + offset_of!(Standing, task_entry);
const CHUNK: usize = offset_of!(Thread, openmp) + offset_of!(Standing, chunk);
const IS_WHOLE: usize = offset_of!(Thread, openmp) + Standing::IS_WHOLE;

stubs! {
    /// Interposes `__kmpc_fork_call`: a parallel region.
    __kmpc_fork_call(MICROTASK) { "mov fs:[r11 + {field}], rdx" };
    /// Interposes `__kmpc_fork_call_if`: a parallel region with an `if`.
    __kmpc_fork_call_if(MICROTASK) { "mov fs:[r11 + {field}], rdx" };
    /// Interposes `__kmpc_fork_teams`: a league of teams.
    __kmpc_fork_teams(MICROTASK) { "mov fs:[r11 + {field}], rdx" };
    /// Interposes `__kmpc_omp_task_alloc`: a task.
    __kmpc_omp_task_alloc(TASK_ENTRY) { "mov fs:[r11 + {field}], r9" };
    /// Interposes `__kmpc_dispatch_init_4`: a loop whose chunks are dealt out. Their size is its seventh argument.
    __kmpc_dispatch_init_4(CHUNK) { "movsxd r10, dword ptr [rsp + 8]", "mov fs:[r11 + {field}], r10" };
    /// Interposes `__kmpc_dispatch_init_4u`.
    __kmpc_dispatch_init_4u(CHUNK) { "movsxd r10, dword ptr [rsp + 8]", "mov fs:[r11 + {field}], r10" };
    /// Interposes `__kmpc_dispatch_init_8`.
    __kmpc_dispatch_init_8(CHUNK) { "mov r10, [rsp + 8]", "mov fs:[r11 + {field}], r10" };
    /// Interposes `__kmpc_dispatch_init_8u`.
    __kmpc_dispatch_init_8u(CHUNK) { "mov r10, [rsp + 8]", "mov fs:[r11 + {field}], r10" };
    /// Interposes `__kmpc_dispatch_next_4`: a thread has done its chunk and asks for the next one.
    __kmpc_dispatch_next_4(IS_WHOLE) { "cmp dword ptr fs:[r11 + {field}], 0", "jne 4f" }
        else { "4:", call_keeping_arguments!("{asks}"), "jmp 2b" } asks = asks;
    /// Interposes `__kmpc_dispatch_next_4u`.
    __kmpc_dispatch_next_4u(IS_WHOLE) { "cmp dword ptr fs:[r11 + {field}], 0", "jne 4f" }
        else { "4:", call_keeping_arguments!("{asks}"), "jmp 2b" } asks = asks;
    /// Interposes `__kmpc_dispatch_next_8`.
    __kmpc_dispatch_next_8(IS_WHOLE) { "cmp dword ptr fs:[r11 + {field}], 0", "jne 4f" }
        else { "4:", call_keeping_arguments!("{asks}"), "jmp 2b" } asks = asks;
    /// Interposes `__kmpc_dispatch_next_8u`.
    __kmpc_dispatch_next_8u(IS_WHOLE) { "cmp dword ptr fs:[r11 + {field}], 0", "jne 4f" }
        else { "4:", call_keeping_arguments!("{asks}"), "jmp 2b" } asks = asks;
}

extern "C" fn asks() {
    openmp::chunk_ends();
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
    // Callers without a location share the first place, which says "free".
    if location != 0 && copies.locations[place].load(Ordering::Acquire) == location {
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
    } else if location != 0
        && copies.locations[place].compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    {
        copies.originals[place].store(address, Ordering::Relaxed);
        copies.locations[place].store(location, Ordering::Release);
    }
    address
}

extern "C" fn missing() -> usize {
    0
}
