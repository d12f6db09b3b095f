//! The critical path: the one sequence of work and delays that the length of the run consists of.
//!
//! It is walked backwards from the end of the run. Work leads back to what came before it on the same thread; a
//! wait that another thread ended leads to that thread at the logical wake, so that the wait itself is not on
//! the path but what the other did meanwhile is; the start of a thread leads to the one that created it.

use std::collections::BTreeMap;

use holdup_model::{
    Arrange, Nanos, ObjectId, ObjectKind, PolledJoin, PolledJoins, Process, Segment, SiteId, State, Stop,
    ThreadId, Time, Timeline,
};
use holdup_sections::Working;

use crate::holders::{HolderCursor, Holders};
use crate::{CriticalPath, PathPiece, PathStep};

/// So many segments back it is looked for the last time that a thread was able to run.
const MOST_LOOKS: usize = 8;

/// A thread whose wait for a lock came to its time limit waits on if it does so within this time.
const LONGEST_RETRY: Nanos = Nanos::new(200_000);

/// The path as it was walked, before the objects of [`crate::blame`] are added.
pub(crate) struct Path {
    /// In the order of time, without gaps.
    pub(crate) pieces: Vec<PathPiece>,
    steps: Vec<PathStep>,
    by_thread: BTreeMap<ThreadId, Nanos>,
    by_object: BTreeMap<ObjectId, Nanos>,
}

/// Because of the lock `object`, the work of `thread` since `begin` was waited for.
struct WaitedFor {
    object: ObjectId,
    thread: ThreadId,
    begin: Time,
}

struct Walk<'a> {
    timeline: &'a Timeline,
    polled: &'a PolledJoins,
    stops: &'a [Option<Stop>],
    roles: &'a [ObjectKind],
    holders: HolderCursor<'a>,
    /// By thread: one behind the last segment that begins before the time of the walk.
    cursors: Vec<usize>,
    parents: Vec<Option<ThreadId>>,
    thread: ThreadId,
    at: Time,
    /// The threads that the path has been on at `at`: a path that comes back at the same time would not end.
    here: Vec<ThreadId>,
    waited_for: Vec<WaitedFor>,
    pieces: Vec<PathPiece>,
    steps: BTreeMap<(ThreadId, State, Option<SiteId>), Nanos>,
    by_object: BTreeMap<ObjectId, Nanos>,
}

/// The critical path of a run.
pub(crate) fn critical_path(
    process: &Process,
    timeline: &Timeline,
    working: &Working,
    holders: &Holders<'_>,
) -> Path {
    let Some(last) = last_thread(timeline) else {
        return Path {
            pieces: Vec::new(),
            steps: Vec::new(),
            by_thread: BTreeMap::new(),
            by_object: BTreeMap::new(),
        };
    };
    let mut walk = Walk {
        timeline,
        polled: &working.polled_joins,
        stops: &working.stops,
        roles: &timeline.roles.kinds,
        holders: holders.cursor(process.objects.len()),
        cursors: timeline.threads.iter().map(|row| row.segments.len()).collect(),
        parents: process.threads.iter().map(|thread| thread.parent).collect(),
        thread: last,
        at: timeline.end,
        here: vec![last],
        waited_for: Vec::new(),
        pieces: Vec::new(),
        steps: BTreeMap::new(),
        by_object: BTreeMap::new(),
    };
    walk.step(State::NotRecorded, None, timeline.row(last).end, None);
    while walk.at > timeline.start {
        walk.back();
    }
    walk.result()
}

/// The thread at whose end the path ends: the main thread if it lives until the end, else the one that lives
/// longest.
fn last_thread(timeline: &Timeline) -> Option<ThreadId> {
    let lasts =
        timeline.threads.iter().enumerate().max_by_key(|(index, row)| (row.end, std::cmp::Reverse(*index)));
    lasts.map(|(index, _)| ThreadId::new(index as u32))
}

impl<'a> Walk<'a> {
    fn back(&mut self) {
        let Some(segment) = self.segment() else {
            self.leave_start();
            return;
        };
        let waiter = self.thread;
        if matches!(segment.state, State::Blocked | State::Spinning)
            && segment.end == self.at
            && let Some(by) = segment.by
            && self.jump(by)
        {
            self.wait_for(by, segment, waiter);
            return;
        }
        if segment.state == State::Asleep
            && let Some(join) = self.polled.at(waiter, segment)
        {
            let (thread, until) = self.worked_last(join).unwrap_or((waiter, segment.start));
            self.step(segment.state, segment.site, until.max(segment.start), None);
            if until > segment.start && self.jump(thread) {
                return;
            }
        }
        let stop = self.stops[waiter.index()].as_ref();
        if let Some(stop) = stop.filter(|stop| stop.last.start == segment.start) {
            self.step(segment.state, segment.site, stop.at.max(segment.start), None);
            if self.jump(stop.by) {
                return;
            }
        }
        if segment.state == State::Blocked
            && segment.object.is_none()
            && let Some((thread, since)) = self.likely_releaser(segment)
        {
            self.step(segment.state, segment.site, since, None);
            if self.jump(thread) {
                return;
            }
        }
        let is_wait = matches!(segment.state, State::Blocked | State::Spinning);
        let lock = segment.object.filter(|object| is_wait && self.roles[object.index()].is_lock());
        self.step(segment.state, segment.site, segment.start, lock);
    }

    /// Who ended a wait of which nothing is known, and when: the thread that was able to run last before it ended, if
    /// that was one alone.
    fn likely_releaser(&self, wait: &Segment) -> Option<(ThreadId, Time)> {
        let mut last: Option<(Time, ThreadId)> = None;
        let mut is_only = true;
        for (index, row) in self.timeline.threads.iter().enumerate() {
            let thread = ThreadId::new(index as u32);
            let before = row.segments.partition_point(|segment| segment.start < self.at);
            let mut near = row.segments[..before].iter().rev().take(MOST_LOOKS);
            let able = near.find(|segment| matches!(segment.state, State::Active | State::Descheduled));
            let Some(able) = able.filter(|able| thread != self.thread && able.end > wait.start) else {
                continue;
            };
            let until = able.end.min(self.at);
            if last.is_none_or(|(latest, _)| until > latest) {
                (last, is_only) = (Some((until, thread)), true);
            } else if last.is_some_and(|(latest, _)| until == latest) {
                is_only = false;
            }
        }
        last.filter(|_| is_only).map(|(until, thread)| (thread, until))
    }

    /// Who of those that a thread sleeps for had work last, and until when.
    fn worked_last(&self, join: &PolledJoin) -> Option<(ThreadId, Time)> {
        let until = |&thread: &ThreadId| {
            let row = self.timeline.row(thread);
            let before = row.segments.partition_point(|segment| segment.start < self.at);
            let works = |segment: &&Segment| matches!(segment.state, State::Active | State::Descheduled);
            let ended = (row.end <= self.at).then_some(row.end);
            let worked = row.segments[..before].iter().rev().take(MOST_LOOKS).find(works);
            Some((ended.or(worked.map(|segment| segment.end.min(self.at)))?, std::cmp::Reverse(thread)))
        };
        join.started.iter().filter_map(until).max().map(|(until, thread)| (thread.0, until))
    }

    /// The segment in which the thread comes to the time of the walk: start < time ≤ end.
    fn segment(&mut self) -> Option<&'a Segment> {
        let row = self.timeline.row(self.thread);
        let cursor = &mut self.cursors[self.thread.index()];
        while let Some(index) = cursor.checked_sub(1) {
            let segment = &row.segments[index];
            if segment.start < self.at {
                return (self.at <= segment.end).then_some(segment);
            }
            *cursor = index;
        }
        None
    }

    /// Goes on with another thread at the same time, if it existed then and the path has not been there.
    fn jump(&mut self, thread: ThreadId) -> bool {
        let row = self.timeline.threads.get(thread.index());
        let exists = row.is_some_and(|row| row.start < self.at && self.at <= row.end);
        if !exists || self.here.contains(&thread) {
            return false;
        }
        self.here.push(thread);
        self.thread = thread;
        true
    }

    /// The thread has not started yet: on to the one that created it.
    fn leave_start(&mut self) {
        let parent = self.parents[self.thread.index()];
        if parent.is_some_and(|parent| self.jump(parent)) || self.jump(ThreadId::new(0)) {
            return;
        }
        self.step(State::NotRecorded, None, self.timeline.start, None);
    }

    /// The path goes on in the past with `by`, who ended this wait: if by releasing a lock, all of its hold was
    /// waited for, and all of its holds since the waiter came, where it took the lock again and again before the
    /// waiter ran.
    fn wait_for(&mut self, by: ThreadId, wait: &Segment, waiter: ThreadId) {
        let Some(object) = wait.object.filter(|object| self.roles[object.index()].is_lock()) else { return };
        let held_since = self.holders.begin_of(object, by, self.at);
        let waits_since = self.waits_since(waiter, object, wait.start);
        let begin = held_since.map_or(waits_since, |held_since| held_since.min(waits_since));
        self.waited_for.push(WaitedFor { object, thread: by, begin });
    }

    /// When the thread began to wait for this lock, for which it waits since `since`: before that it may have waited
    /// with a time limit, again and again.
    fn waits_since(&self, waiter: ThreadId, object: ObjectId, since: Time) -> Time {
        let segments = &self.timeline.row(waiter).segments;
        let mut begin = since;
        for segment in segments[..self.cursors[waiter.index()].min(segments.len())].iter().rev() {
            if segment.start >= begin {
                continue;
            }
            if segment.state == State::Blocked && segment.object == Some(object) && segment.by.is_none() {
                begin = segment.start;
            } else if begin.since(segment.start) > LONGEST_RETRY {
                break;
            }
        }
        begin
    }

    /// The time of this thread from `from` up to where the walk is, is on the path; all of it because of `lock`,
    /// if the thread waits for that itself.
    fn step(&mut self, state: State, site: Option<SiteId>, from: Time, lock: Option<ObjectId>) {
        let length = self.at.since(from);
        if length == Nanos::ZERO {
            return;
        }
        self.pieces.push(PathPiece { thread: self.thread, state, start: from, end: self.at });
        *self.steps.entry((self.thread, state, site)).or_default() += length;
        let mut because_of: BTreeMap<ObjectId, Nanos> = BTreeMap::new();
        if let Some(lock) = lock {
            because_of.insert(lock, length);
        }
        for waited in self.waited_for.iter().filter(|waited| waited.thread == self.thread) {
            let overlap = because_of.entry(waited.object).or_default();
            *overlap = self.at.since(waited.begin.max(from)).max(*overlap);
        }
        for (object, time) in because_of {
            *self.by_object.entry(object).or_default() += time;
        }
        self.at = from;
        self.waited_for.retain(|waited| waited.begin < from);
        self.here.clear();
        self.here.push(self.thread);
    }

    fn result(mut self) -> Path {
        self.pieces.reverse();
        let mut by_thread: BTreeMap<ThreadId, Nanos> = BTreeMap::new();
        for (&(thread, ..), &time) in &self.steps {
            *by_thread.entry(thread).or_default() += time;
        }
        let mut steps: Vec<PathStep> = self
            .steps
            .into_iter()
            .map(|((thread, state, site), time)| PathStep { thread, site, state, time })
            .collect();
        steps.arrange_by_key(|step| std::cmp::Reverse(step.time));
        Path { pieces: self.pieces, steps, by_thread, by_object: self.by_object }
    }
}

impl Path {
    /// The path with the time in which others waited for its threads on objects that cannot be held.
    pub(crate) fn with_objects(mut self, length: Nanos, waited_for: &[Nanos]) -> CriticalPath {
        for (index, &time) in waited_for.iter().enumerate().filter(|(_, time)| **time > Nanos::ZERO) {
            *self.by_object.entry(ObjectId::new(index as u32)).or_default() += time;
        }
        CriticalPath {
            length,
            pieces: self.pieces,
            steps: self.steps,
            by_thread: most_first(self.by_thread),
            by_object: most_first(self.by_object),
        }
    }
}

fn most_first<K: Copy + Ord>(times: BTreeMap<K, Nanos>) -> Vec<(K, Nanos)> {
    let mut times: Vec<(K, Nanos)> = times.into_iter().collect();
    times.arrange_by_key(|&(key, time)| (std::cmp::Reverse(time), key));
    times
}
