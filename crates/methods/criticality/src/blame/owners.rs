//! Who is waited for where nobody is known to have ended the wait.

use std::collections::BTreeSet;

use holdup_model::{ObjectId, Outcome, Process, Roles, Row, SiteId, State, ThreadId, Time, Timeline, Wait};

/// Owners at the beginning of waits of which nobody is known to have ended them, by thread and time. A hidden lock
/// that is waited for with a time limit, again and again, belongs to the thread that signals its release next.
/// Who waits for a condition with a time limit, and goes on waiting in the same call when that is over, waits for whom ends that.
pub(super) fn owners(process: &Process, timeline: &Timeline) -> Vec<(ThreadId, Time, ThreadId)> {
    let roles = &timeline.roles;
    let mut releases: Vec<(ObjectId, Time, ThreadId)> = process
        .wakes
        .iter()
        .filter(|wake| roles.hidden[wake.object.index()].is_some())
        .map(|wake| (wake.object, wake.time, wake.thread))
        .collect();
    releases.sort_unstable();
    let next_release = |wait: &Wait| {
        let after = releases.partition_point(|&(object, time, _)| (object, time) < (wait.object, wait.end));
        let same = releases[after..].iter().take_while(|release| release.0 == wait.object);
        same.map(|release| release.2).find(|&thread| thread != wait.thread)
    };
    let mut owners: Vec<_> = process
        .waits
        .iter()
        .filter(|wait| wait.outcome != Outcome::Granted)
        .filter_map(|wait| Some((wait.thread, wait.begin, wait.owner.or_else(|| next_release(wait))?)))
        .collect();
    let timed_out = process.waits.iter().filter(|wait| wait.outcome == Outcome::TimedOut);
    let timed_out: BTreeSet<(ThreadId, Time)> = timed_out.map(|wait| (wait.thread, wait.begin)).collect();
    for (row, index) in timeline.threads.iter().zip(0..) {
        let resumed = resumed(row, roles).map(|(begin, by)| (ThreadId::new(index), begin, by));
        owners.extend(resumed.filter(|&(thread, begin, _)| timed_out.contains(&(thread, begin))));
    }
    owners.sort_unstable();
    owners.dedup_by_key(|owner| (owner.0, owner.1));
    owners
}

/// Waits of one thread that were given up and gone on with, by their begin, with who ended the last of them.
fn resumed<'a>(row: &'a Row, roles: &'a Roles) -> impl Iterator<Item = (Time, ThreadId)> + 'a {
    let is_lock = |object: ObjectId| roles.kinds[object.index()].is_lock();
    let waits = row.segments.iter().rev().filter(|segment| segment.state == State::Blocked);
    let waits = waits.filter(move |wait| wait.object.is_none_or(|object| !is_lock(object)));
    let mut later: Option<(ObjectId, Option<SiteId>, ThreadId)> = None;
    waits.filter_map(move |wait| {
        let same = later.filter(|&(object, site, _)| (wait.object, wait.site) == (Some(object), site));
        let by = wait.by.or(same.map(|(.., by)| by));
        later = wait.object.zip(by).map(|(object, by)| (object, wait.site, by));
        by.filter(|_| wait.by.is_none()).map(|by| (wait.start, by))
    })
}
