//! The library that is preloaded into measured programs.
//!
//! Each `pub extern "C"` function here takes the place of one of the C library's. It does what the original does,
//! by calling it, and tells `holdup_agent` what happened. Locks are tried first: only a lock that somebody else
//! has is a wait. Nothing is told while the program is inside a critical section that others may wait for, except
//! the time.
//!
//! [`real`] lists the originals, once. Then one file for each kind of object: [`mutex`], [`rwlock`], [`spin`],
//! [`condition`], [`barrier`], [`semaphore`], [`threads`], [`c11`], [`futex`]; system calls that block ([`calls`]), the
//! descriptors by which threads send to each other ([`descriptors`]),
//! execution of other programs ([`exec`]) and what the program says about itself ([`markers`]). [`entry`] is where
//! the library starts and ends.

#![no_std]
#![allow(unreachable_pub, reason = "what is exported is exported by its symbol, not by its path")]
#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "each function is a C function of the same contract: all of it is unsafe"
)]
#![allow(
    clippy::missing_safety_doc,
    reason = "the contract of each function is that of the C function it replaces"
)]

mod barrier;
mod c11;
mod calls;
mod condition;
mod descriptors;
mod entry;
mod exec;
mod front;
mod futex;
mod markers;
mod mutex;
mod openmp;
mod prctl;
mod real;
mod rwlock;
mod semaphore;
mod spin;
mod threads;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // There is no way back into the program from here; the illegal instruction names us in the core dump.
    // SAFETY: ends the process at once.
    unsafe { core::arch::asm!("ud2", options(noreturn)) }
}
