//! Threads that give others something to do each time they wake from a sleep, and so keep those waiting who have done theirs.
//!
//! `while let Err(Empty) = results.try_recv() { sleep(2ms) }`: who has done its work meanwhile waits until the sleep ends. Whether it is
//! a pace that is meant, no recording tells. But who waits longer than one sleep does not wait for that: there is nothing for it yet.

use std::collections::BTreeMap;

use holdup_model::{Nanos, ObjectId, PolledJoins, Row, Segment, State, ThreadId, Time, Timeline};

/// So many sleeps with which others were kept waiting are a way to wait for them.
const LEAST: usize = 10;
/// So much of all waits that the thread ends begins in the sleep just before, at least.
const MOSTLY: f64 = 0.5;

/// The sleeps in which others came to wait for what a thread gave them when it looked.
#[derive(Clone, Debug, Default)]
pub struct LateLooks {
    /// By thread: when they began, in order.
    sleeps: Vec<Vec<Time>>,
}

/// What a thread ended: when, and since when it was waited for.
struct Gift {
    time: Time,
    waited_since: Time,
}

impl LateLooks {
    /// Those of a run. Sleeps until others have come to their end are none.
    pub fn of(timeline: &Timeline, polled: &PolledJoins) -> Self {
        // Few threads sleep.
        let sleeps = |row: &Row| row.segments.iter().filter(|segment| segment.state == State::Asleep).count();
        let are_enough: Vec<bool> = timeline.threads.iter().map(|row| sleeps(row) >= LEAST).collect();
        let mut gifts: BTreeMap<ThreadId, Vec<Gift>> = BTreeMap::new();
        let is_lock = |object: ObjectId| timeline.roles.kinds[object.index()].is_lock();
        let segments = timeline.threads.iter().flat_map(|row| &row.segments);
        let waits = segments.filter(|segment| {
            segment.state == State::Blocked && segment.object.is_some_and(|object| !is_lock(object))
        });
        for wait in waits {
            if let Some(by) = wait.by.filter(|by| are_enough.get(by.index()) == Some(&true)) {
                gifts.entry(by).or_default().push(Gift { time: wait.end, waited_since: wait.start });
            }
        }
        let mut sleeps = vec![Vec::new(); timeline.threads.len()];
        for (thread, mut gifts) in gifts {
            gifts.sort_unstable_by_key(|gift| gift.time);
            sleeps[thread.index()] = late_sleeps(timeline, thread, &gifts, polled);
        }
        Self { sleeps }
    }

    /// True for such a sleep.
    pub fn has(&self, thread: ThreadId, segment: &Segment) -> bool {
        segment.state == State::Asleep && self.sleeps[thread.index()].binary_search(&segment.start).is_ok()
    }
}

/// When the sleeps of a thread began in which others came to wait for it; none where they mostly wait longer than that.
fn late_sleeps(timeline: &Timeline, thread: ThreadId, gifts: &[Gift], polled: &PolledJoins) -> Vec<Time> {
    let segments = timeline.row(thread).segments.iter();
    let mut sleeps = segments.filter(|segment| segment.state == State::Asleep).peekable();
    let (mut late, mut waited) = (Vec::new(), Nanos::ZERO);
    while let Some(sleep) = sleeps.next() {
        let until = sleeps.peek().map(|next| next.start);
        let given = &gifts[gifts.partition_point(|gift| gift.time < sleep.end)..];
        let given = &given[..given.partition_point(|gift| until.is_none_or(|until| gift.time <= until))];
        let meanwhile = given.iter().filter(|gift| (sleep.start..sleep.end).contains(&gift.waited_since));
        let time: Nanos = meanwhile.map(|gift| gift.time.since(gift.waited_since)).sum();
        if time > Nanos::ZERO && !polled.has(thread, sleep) {
            late.push(sleep.start);
            waited += time;
        }
    }
    let all: Nanos = gifts.iter().map(|gift| gift.time.since(gift.waited_since)).sum();
    if late.len() >= LEAST && waited.share_of(all) >= MOSTLY { late } else { Vec::new() }
}
