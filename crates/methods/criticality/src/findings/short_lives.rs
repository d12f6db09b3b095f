//! Threads that are started over and over for a little work each.

use std::collections::BTreeMap;

use holdup_model::figures::grouped;
use holdup_model::{Nanos, SiteId, ThreadId};

use super::Case;
use crate::wording::mean;

/// So many threads are a habit.
const FEWEST: u64 = 64;
/// Of a program that starts 18,000 threads each of them took 18 µs to start, and ran 17 µs later (from its recording on two cores): beside more
/// work than this on average that is next to nothing.
const LITTLE: Nanos = Nanos::new(1_000_000);

/// What can be done about them.
pub(super) const HINT: &str = "Keep the threads, and give them the next piece of work, in place of starting new ones each time (a pool, a barrier).";

/// How many threads were started by such that worked for a moment each, and where; `None` unless that is a habit.
pub(super) fn evidence(case: &Case<'_>, is_starter: impl Fn(ThreadId) -> bool) -> Option<String> {
    let (mut count, mut worked) = (0u64, Nanos::ZERO);
    let mut places: BTreeMap<SiteId, u64> = BTreeMap::new();
    for (started, times) in case.process.threads.iter().zip(case.times) {
        if started.parent.is_some_and(&is_starter) {
            count += 1;
            worked += times.active;
            if let Some(place) = started.created_at {
                *places.entry(place).or_default() += 1;
            }
        }
    }
    if count < FEWEST || worked.get() >= LITTLE.get().saturating_mul(count) {
        return None;
    }
    let most = places.into_iter().max_by_key(|(_, count)| *count);
    let at = most.map(|(place, _)| format!(" in {}", case.site(place)));
    Some(format!(
        "{} threads are started{}, each of which is at work for {} on average.",
        grouped(count),
        at.unwrap_or_default(),
        mean(worked, count)
    ))
}
