//! What CPU times that were read now and then tell of the times between.

use super::Kernel;
use crate::{CpuReading, Nanos, Time};

/// A thread was on a core all the time between two readings if it was for this share of it.
const ALL: f64 = 0.95;
/// It was not at all if it was for less than this share, and waited for one as little.
const NONE: f64 = 0.02;

/// What readings tell of the times that are not covered.
pub(super) fn read(readings: &[CpuReading], covered: &[(Time, Time)]) -> Vec<(Time, Kernel)> {
    let mut changes = Vec::new();
    for (first, last) in readings.iter().zip(readings.iter().skip(1)) {
        let is_covered = covered.iter().any(|&(from, until)| from < last.time && first.time < until);
        let whole = last.time.since(first.time);
        if is_covered || whole == Nanos::ZERO {
            continue;
        }
        let cpu = last.cpu.saturating_sub(first.cpu).share_of(whole);
        let delay = last.delay.saturating_sub(first.delay).share_of(whole);
        let state = match () {
            () if cpu >= ALL => Kernel::On,
            () if cpu < NONE && delay < NONE => Kernel::Off,
            () => continue,
        };
        changes.push((first.time, state));
        changes.push((last.time, Kernel::Unknown));
    }
    changes
}
