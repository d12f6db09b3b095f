//! What synchronization objects mean in virtual time.
//!
//! Each object is a small state machine: a thread asks, and is told to go on or to wait; another thread's act tells
//! which waiting threads may go on. Whoever calls owns the clock: nothing here knows of time, cores or costs, so that
//! a replay of recorded durations and a simulated processor can give them the same meaning.
//!
//! - [`Lock`]: a mutex, spin lock or read-write lock. A release frees it and names waiters that may try again; who
//!   comes first takes it, as with the C library's locks (barging).
//! - [`Barrier`]: lets all go when the last one arrives.
//! - [`Tokens`]: a count that is taken from and given to: semaphores, and the items and places of queues.
//! - [`Gate`]: opens once and stays open: a signal that was waited for, the end of a thread, an initialization.
//!
//! ```
//! use holdup_model::{Mode, ThreadId};
//! use holdup_sync::{Answer, Lock};
//!
//! let (first, second) = (ThreadId::new(0), ThreadId::new(1));
//! let mut lock = Lock::default();
//! assert_eq!(lock.acquire(first, Mode::Exclusive), Answer::Go);
//! assert_eq!(lock.acquire(second, Mode::Exclusive), Answer::Wait);
//! let mut released = Vec::new();
//! lock.release(first, &mut released);
//! assert_eq!(released, [second]); // It tries again, and may come too late.
//! assert_eq!(lock.acquire(second, Mode::Exclusive), Answer::Go);
//! ```
//!
//! A wake-up that comes before the wait is never lost: tokens are counted, gates stay open, and a lock that is free
//! has no thread asleep that was not told.

#![forbid(unsafe_code)]

mod barrier;
mod gate;
mod lock;
mod tokens;

pub use barrier::Barrier;
pub use gate::Gate;
pub use lock::Lock;
pub use tokens::Tokens;

/// What a thread is told that asks for something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It has it and goes on.
    Go,
    /// It must wait; it is in the object's queue now.
    Wait,
}
