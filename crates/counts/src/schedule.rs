//! Does what a thread does in a section depend on the order in which threads came to a lock, a queue or a counter?
//!
//! Under emulation, with fewer cores than threads, that order is not the program's own. Signs of it are looked for, each
//! of which alone would not be enough to *find* a cause, but is enough for a caution: threads that take one lock unequally
//! often, that wait at a queue, that draw numbers from an atomic counter unequally often.

use std::collections::BTreeMap;

use holdup_model::counts::{BlockId, Instance};

use crate::course::Course;
use crate::events::Events;
use crate::sections::Meeting;

/// Why the section depends on the schedule, in a sentence; `None` if nothing says so.
pub(crate) fn dependence(
    meeting: &Meeting,
    courses: &[Course],
    instance: &Instance,
    events: &Events,
) -> Option<String> {
    let pieces: Vec<_> = meeting.rows.iter().map(|row| &courses[row.course].pieces[row.piece]).collect();
    if pieces.iter().any(|piece| piece.queued) {
        return Some(
            "threads wait in it for a condition or a semaphore, as those do that take work from a queue"
                .to_owned(),
        );
    }
    let mut locks: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (row, piece) in pieces.iter().enumerate() {
        for (lock, count) in &piece.locks {
            locks.entry(*lock).or_insert_with(|| vec![0; pieces.len()])[row] += count;
        }
    }
    let unequal = |counts: &Vec<u64>| {
        counts.iter().filter(|count| **count > 0).count() >= 2
            && counts.iter().any(|count| *count != counts[0])
    };
    if locks.values().any(unequal) {
        return Some(
            "its threads take a lock unequally often, as those do that take work from a queue".to_owned(),
        );
    }
    let mut executions: BTreeMap<BlockId, Vec<u64>> = BTreeMap::new();
    for &(event, row, count) in &instance.executed.entries {
        let Some((_, to)) = events.edge(event) else { continue };
        if events.deals(to) {
            executions.entry(to).or_insert_with(|| vec![0; pieces.len()])[row as usize] += count;
        }
    }
    executions
        .values()
        .any(unequal)
        .then(|| "its threads draw from an atomic counter unequally often, as those do that deal out work among themselves".to_owned())
}
