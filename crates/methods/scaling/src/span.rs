//! Spans of time.

use holdup_model::Time;

/// The length of what two spans have in common.
pub(super) fn overlap(a: (u64, u64), b: (u64, u64)) -> u64 {
    a.1.min(b.1).saturating_sub(a.0.max(b.0))
}

/// A moment as a number.
pub(super) fn at(time: Time) -> u64 {
    time.nanos()
}
