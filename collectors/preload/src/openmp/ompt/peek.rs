//! Whether a lock of LLVM's runtime is free, read off its memory: OMPT says that a thread wants a lock and that it has
//! it, but not whether it had to wait, and two looks at the clock would cost more than the lock.
//!
//! The layouts are those of `kmp_lock.h`, unchanged since LLVM 3.7 (2015), with dynamically chosen locks, as on
//! x86-64. What does not look as expected counts as free: then a wait is not seen, and nothing else happens.

use core::ffi::{c_int, c_uint};

use super::interface::{mutex, mutex_implementation};

/// What a look at a lock gave.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// It is free, or cannot be looked at.
    Free,
    /// A thread has it: perhaps, if it is a nested lock, the one that looks.
    Taken,
}

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

/// `kmp_indirect_lock_t`.
#[repr(C)]
struct Indirect {
    lock: u64,
}

/// Looks at the lock that OMPT calls `wait`.
///
/// # Safety
/// `kind`, `implementation` and `wait` are what the runtime passed with `ompt_callback_mutex_acquire`.
#[inline(always)]
pub(crate) unsafe fn look(kind: c_int, implementation: c_uint, wait: u64) -> Look {
    match kind {
        mutex::CRITICAL | mutex::ATOMIC => at(implementation, wait),
        // (A simple lock holds an index into a table of the runtime's.)
        mutex::NEST_LOCK => {
            let word = (wait as *const u32).read_volatile();
            if word & 1 == 1 {
                return of_word(word);
            }
            let indirect = (wait as *const u64).read_volatile();
            // An uninitialized lock is the program's mistake, of which the runtime will tell.
            if indirect == 0 || !indirect.is_multiple_of(align_of::<u64>() as u64) {
                return Look::Free;
            }
            let lock = (&raw const (*(indirect as *const Indirect)).lock).read_volatile();
            if lock == 0 { Look::Free } else { at(implementation, lock) }
        }
        _ => Look::Free,
    }
}

#[inline(always)]
fn of_word(word: u32) -> Look {
    if word >> TAG_BITS == 0 { Look::Free } else { Look::Taken }
}

#[inline(always)]
unsafe fn at(implementation: c_uint, address: u64) -> Look {
    match implementation {
        mutex_implementation::SPIN => of_word((address as *const u32).read_volatile()),
        mutex_implementation::QUEUING => {
            let lock = address as *const Queuing;
            let head = (&raw const (*lock).head).read_volatile();
            if head == 0 || (&raw const (*lock).initialized).read_volatile() != address {
                return Look::Free;
            }
            // Locks of another kind (drdpa) begin with their address too, and go on otherwise.
            let tail = (&raw const (*lock).tail).read_volatile();
            let plausible = if head == -1 {
                (0..MOST_THREADS).contains(&tail)
            } else {
                (0..MOST_THREADS).contains(&head) && (0..MOST_THREADS).contains(&tail)
            };
            if plausible { Look::Taken } else { Look::Free }
        }
        _ => Look::Free,
    }
}
