//! Stretches: what a thread does from one meeting with others to the next. What one thread does alone is told, and changed, by
//! the stretches that it is in.

use std::collections::{BTreeMap, BTreeSet};

use crate::openmp::{Instance, Share};
use crate::{EdgeKind, ObjectId, ObjectKind, Process, SiteId, State, ThreadId, Time, Timeline};

/// A moment at which a thread meets others, or lets others go on, other than at a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meeting {
    /// When.
    pub time: Time,
    /// Who.
    pub thread: ThreadId,
    /// In which call; `None` where that is not known.
    pub site: Option<SiteId>,
    /// The barrier that it was the last to come to.
    pub barrier: Option<ObjectId>,
    /// No task of its parallel region is left: what it does from now on until the region's end no task will do beside it.
    pub behind_tasks: bool,
}

/// All meetings that edges tell, in order of time. Waits begin stretches too: they are segments of the timeline.
pub fn meetings(process: &Process, timeline: &Timeline) -> Vec<Meeting> {
    let mut wake_sites: Vec<(ThreadId, Time, Option<SiteId>)> =
        process.wakes.iter().map(|wake| (wake.thread, wake.time, wake.site)).collect();
    wake_sites.sort_unstable();
    let mut meetings: Vec<Meeting> = Vec::new();
    for edge in &timeline.edges {
        if edge.object.is_some_and(|object| timeline.roles.kinds[object.index()].is_lock()) {
            continue;
        }
        let site = match edge.kind {
            EdgeKind::Create => process.thread(edge.to).created_at,
            EdgeKind::Signal => {
                let key = (edge.from, edge.from_time);
                let index = wake_sites.partition_point(|wake| (wake.0, wake.1) < key);
                wake_sites.get(index).filter(|wake| (wake.0, wake.1) == key).and_then(|wake| wake.2)
            }
            _ => None,
        };
        let barrier = edge.object.filter(|_| edge.kind == EdgeKind::Barrier);
        let site = timeline.places.at(site);
        let behind_tasks = false;
        meetings.push(Meeting { time: edge.from_time, thread: edge.from, site, barrier, behind_tasks });
        meetings.push(Meeting {
            time: edge.to_time,
            thread: edge.to,
            site: None,
            barrier: None,
            behind_tasks,
        });
    }
    meetings.extend(ends_of_tasks(process));
    meetings.sort_unstable_by_key(|one| (one.time, one.thread, one.barrier, !one.behind_tasks, one.site));
    meetings.dedup_by_key(|one| (one.time, one.thread, one.barrier));
    meetings
}

/// Of each thread in a parallel region of several that it has not left by then, when the last of its tasks was done.
fn ends_of_tasks(process: &Process) -> Vec<Meeting> {
    let openmp = &process.openmp;
    let mut last: BTreeMap<Instance, Time> = BTreeMap::new();
    for run in &openmp.task_runs {
        if let Some(instance) = run.instance {
            let end = last.entry(instance).or_default();
            *end = run.end.max(*end);
        }
    }
    if last.is_empty() {
        return Vec::new();
    }
    let shared = openmp.regions.iter().filter(|region| region.size > 1);
    let shared: BTreeSet<Instance> = shared.map(|region| region.instance).collect();
    let shares = openmp.shares.iter().filter(|share| shared.contains(&share.instance));
    let of_share = |share: &Share| {
        let time = *last.get(&share.instance).filter(|&&end| share.begin < end && end < share.end)?;
        Some(Meeting { time, thread: share.thread, site: None, barrier: None, behind_tasks: true })
    };
    shares.filter_map(of_share).collect()
}

/// Between which calls a stretch lies: `None` at its thread's start and end, and where the call is not known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ends {
    /// The call with which it begins.
    pub from: Option<SiteId>,
    /// The call with which it ends.
    pub to: Option<SiteId>,
    /// That is one at a barrier: what begins and ends with the same parallel region lies within it if so, else between two of them.
    pub at_barrier: bool,
}

/// A stretch of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// When it ends; it begins where the thread's stretch before it ends.
    pub until: Time,
    /// Where.
    pub ends: Ends,
}

/// The stretches of each thread, in order of time. In each the thread was able to run. O(meetings + segments).
pub fn stretches(process: &Process, timeline: &Timeline) -> Vec<Vec<Stretch>> {
    let mut by_thread: Vec<Vec<Meeting>> = vec![Vec::new(); timeline.threads.len()];
    for meeting in meetings(process, timeline) {
        if let Some(own) = by_thread.get_mut(meeting.thread.index()) {
            own.push(meeting);
        }
    }
    timeline
        .threads
        .iter()
        .zip(by_thread)
        .map(|(row, meetings)| of_thread(row, &meetings, timeline))
        .collect()
}

fn of_thread(row: &crate::Row, meetings: &[Meeting], timeline: &Timeline) -> Vec<Stretch> {
    let is_lock = |object: ObjectId| timeline.roles.kinds[object.index()].is_lock();
    let mut stretches = Vec::new();
    let (mut from, mut able) = (None, false);
    let mut left = meetings.iter().peekable();
    let mut end = |until: Time, to: Option<SiteId>, at_barrier: bool, able: &mut bool| {
        if std::mem::take(able) {
            stretches.push(Stretch { until, ends: Ends { from, to, at_barrier } });
            from = to;
        }
    };
    for segment in &row.segments {
        let is_able = matches!(segment.state, State::Active | State::Descheduled);
        let waits = matches!(segment.state, State::Blocked | State::Spinning);
        if waits && segment.object.is_some_and(|object| !is_lock(object)) {
            let is_barrier = |object: ObjectId| timeline.roles.kinds[object.index()] == ObjectKind::Barrier;
            end(segment.start, segment.site, segment.object.is_some_and(is_barrier), &mut able);
        }
        let mut since = segment.start;
        while let Some(meeting) = left.next_if(|meeting| meeting.time < segment.end) {
            able |= is_able && meeting.time > since;
            since = since.max(meeting.time);
            end(meeting.time, meeting.site.or(segment.site), meeting.barrier.is_some(), &mut able);
        }
        able |= is_able && segment.end > since;
    }
    end(row.end, row.segments.last().and_then(|segment| segment.site), false, &mut able);
    stretches
}
