//! What a thread waits for.

use holdup_trace::shared::LocalBusy;
use holdup_trace::wire::{ENDS_BY_TIME, ObjectCode};

/// What a thread is about to wait for.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// The object's address.
    pub object: u64,
    /// What it is.
    pub kind: ObjectCode,
    /// Together with other readers.
    pub shared_mode: bool,
    /// For several processes.
    pub process_shared: bool,
    /// The kernel thread id of the owner; 0 if unknown; or [`ENDS_BY_TIME`].
    pub owner_tid: u32,
    /// For condition variables the mutex; else 0.
    pub mutex: u64,
}

impl Wanted {
    /// As [`Wanted::new`], until a time that the program gives if `has_limit`. For what has no owner.
    pub const fn until(object: u64, kind: ObjectCode, has_limit: bool) -> Wanted {
        Wanted { owner_tid: if has_limit { ENDS_BY_TIME } else { 0 }, ..Wanted::new(object, kind) }
    }

    /// An object wanted for oneself, of which nothing more is known.
    pub const fn new(object: u64, kind: ObjectCode) -> Wanted {
        Wanted { object, kind, shared_mode: false, process_shared: false, owner_tid: 0, mutex: 0 }
    }
}

/// A wait that has begun.
#[derive(Clone, Copy)]
pub struct Pending {
    pub(crate) wanted: Wanted,
    pub(crate) begin: u64,
    pub(crate) stack: u64,
    pub(crate) cpu: u64,
    /// Where it is counted if it is brief; `None` if it is recorded in any case.
    pub(crate) busy: Option<&'static LocalBusy>,
}
