//! Threads that are started over and over for a little work each.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::figures::grouped;
use holdup_model::{Nanos, SiteId, ThreadId};

use super::Case;
use crate::wording::mean;

/// So many threads are a habit.
const FEWEST: u64 = 64;
/// Of a program that starts 18,000 threads each of them took 18 µs to start, and ran 17 µs later (from its recording on two cores): beside more
/// work than this on average that is next to nothing.
const LITTLE: Nanos = Nanos::new(1_000_000);

/// Many threads that worked for a moment each.
pub(super) struct ShortLives {
    /// Where most of them were started, if that is known.
    pub(super) place: Option<SiteId>,
    /// How many there are, and for how long they worked.
    pub(super) evidence: String,
}

/// What can be done about them.
pub(super) const HINT: &str = "Keep the threads, and give them the next piece of work, in place of starting new ones each time (a pool, a barrier).";

/// Such threads that were started by those who started `threads`.
pub(super) fn started_with(case: &Case<'_>, threads: &[ThreadId]) -> Option<ShortLives> {
    let starters: BTreeSet<ThreadId> =
        threads.iter().filter_map(|thread| case.process.thread(*thread).parent).collect();
    started_by(case, |thread| starters.contains(&thread))
}

/// Such threads that were started by these; `None` unless that is a habit.
pub(super) fn started_by(case: &Case<'_>, is_starter: impl Fn(ThreadId) -> bool) -> Option<ShortLives> {
    let (mut count, mut worked) = (0u64, Nanos::ZERO);
    let mut places: BTreeMap<SiteId, u64> = BTreeMap::new();
    for (index, (started, times)) in case.process.threads.iter().zip(case.times).enumerate() {
        // A process is more than a thread: that they are short has other reasons, and another remedy.
        let is_thread = !case.process.is_another(ThreadId::new(index as u32));
        if is_thread && started.parent.is_some_and(&is_starter) {
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
    let place = places.into_iter().max_by_key(|(_, count)| *count).map(|(place, _)| place);
    let at = place.map(|place| format!(" in {}", case.site(place))).unwrap_or_default();
    let each = mean(worked, count);
    let evidence = format!(
        "{} threads are started{at}, each of which is at work for {each} on average.",
        grouped(count)
    );
    Some(ShortLives { place, evidence })
}
