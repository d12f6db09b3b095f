//! Whether a lock of LLVM's runtime is free, read off its memory: OMPT says that a thread wants a critical section and that
//! it has it, but not whether it had to wait, and two looks at the clock would cost more than the lock.
//!
//! The layouts are those of `kmp_lock.h`, unchanged since LLVM 3.7 (2015). What does not look as expected counts as free:
//! then a wait is not seen, and nothing else happens.

use core::ffi::{c_int, c_uint};

use super::interface::mutex_implementation;

/// The low byte of a lock word says what kind of lock it is; the upper three who has it, plus one.
const TAG_BITS: u32 = 8;

/// `kmp_base_queuing_lock`.
#[repr(C)]
struct Queuing {
    /// Its own address.
    initialized: u64,
    location: u64,
    /// The last thread that waits, plus one; 0 for none.
    tail: c_int,
    /// 0: free. −1: taken, and nobody waits. Else the first thread that waits, plus one.
    head: c_int,
}

/// No process has more threads than this.
const MOST_THREADS: c_int = 1 << 22;

/// True if a thread has the lock of a critical section or an atomic operation.
///
/// # Safety
/// `implementation` and `lock` are what the runtime passed with `ompt_callback_mutex_acquire`: then `lock` is the address
/// of the lock itself.
#[inline(always)]
pub(crate) unsafe fn is_taken(implementation: c_uint, lock: u64) -> bool {
    match implementation {
        mutex_implementation::SPIN => (lock as *const u32).read_volatile() >> TAG_BITS != 0,
        mutex_implementation::QUEUING => {
            let fields = lock as *const Queuing;
            let head = (&raw const (*fields).head).read_volatile();
            if head == 0 || (&raw const (*fields).initialized).read_volatile() != lock {
                return false;
            }
            // Locks of another kind (drdpa) begin with their address too, and go on otherwise.
            let tail = (&raw const (*fields).tail).read_volatile();
            (-1..MOST_THREADS).contains(&head) && (0..MOST_THREADS).contains(&tail)
        }
        _ => false,
    }
}
