//! Threads that wait for those that they have started by sleeping over and over until these have come so far.
//!
//! `while (running > 0) usleep(10000);` is how many programs wait for their workers. Whoever does that is no slower by its sleep, and
//! would be no faster without: it waits for what the others do.

use std::ops::Range;

use crate::time::within;
use crate::{Call, Nanos, ObjectId, Process, Segment, State, ThreadId, Time, Timeline, Wake};

/// So many sleeps in a row are a loop, at least.
const LEAST_SLEEPS: usize = 4;
/// Who only looks whether the others have done their work computes less than this share of the time that it sleeps.
const LOOKING: f64 = 0.1;
/// The threads that it has started are at work for at least this share of the time.
const AT_WORK: f64 = 0.8;

/// One such wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolledJoin {
    /// The thread's segments from the first sleep to the last one.
    pub segments: Range<usize>,
    /// When the first sleep began.
    pub begin: Time,
    /// When the last sleep began: what was waited for came in the time of that.
    pub last: Time,
    /// The threads that it has started, and those that these have.
    pub started: Vec<ThreadId>,
}

/// All of a process.
#[derive(Clone, Debug, Default)]
pub struct PolledJoins {
    /// By thread, in the order of time.
    of: Vec<Vec<PolledJoin>>,
}

impl PolledJoins {
    /// Those of `process`.
    pub fn of(process: &Process, timeline: &Timeline) -> Self {
        let of = (0..timeline.threads.len()).map(|index| {
            let thread = ThreadId::new(index as u32);
            let runs = runs_of_sleeps(process, timeline, thread);
            if runs.is_empty() {
                return Vec::new();
            }
            let started = started_by(process, thread);
            let at_work = times_at_work(process, timeline, &started);
            let segments = &timeline.row(thread).segments;
            let join = |run: Range<usize>| {
                let (begin, last) = (segments[run.start].start, segments[run.end - 1].start);
                let is_beside_work = within(&at_work, begin, last).share_of(last.since(begin)) >= AT_WORK;
                is_beside_work.then(|| PolledJoin { segments: run, begin, last, started: started.clone() })
            };
            runs.into_iter().filter_map(join).collect()
        });
        Self { of: of.collect() }
    }

    /// Those of a thread, in the order of time.
    pub fn of_thread(&self, thread: ThreadId) -> &[PolledJoin] {
        self.of.get(thread.index()).map_or(&[], Vec::as_slice)
    }

    /// The one that a sleep is a part of.
    pub fn at(&self, thread: ThreadId, segment: &Segment) -> Option<&PolledJoin> {
        let joins = self.of_thread(thread);
        let next = joins.partition_point(|join| join.begin <= segment.start);
        let join = next.checked_sub(1).map(|before| &joins[before]);
        join.filter(|join| segment.state == State::Asleep && segment.start <= join.last)
    }

    /// True for a sleep that is a part of such a wait.
    pub fn has(&self, thread: ThreadId, segment: &Segment) -> bool {
        self.at(thread, segment).is_some()
    }
}

/// Sleeps of a thread at one place, between which it hardly works and gives nothing to others.
fn runs_of_sleeps(process: &Process, timeline: &Timeline, thread: ThreadId) -> Vec<Range<usize>> {
    let segments = &timeline.row(thread).segments;
    let sleeps = segments.iter().filter(|segment| segment.state == State::Asleep).count();
    if sleeps < LEAST_SLEEPS {
        return Vec::new();
    }
    let starts = process.threads.iter().filter(|other| other.parent == Some(thread));
    let mut acts: Vec<Time> = starts.map(|other| other.start).collect();
    if acts.is_empty() {
        return Vec::new();
    }
    // Whoever gives a lock back, such as Python's around each sleep, gives nobody anything to do.
    let is_lock = |object: ObjectId| timeline.roles.kinds[object.index()].is_lock();
    let gives = |wake: &&Wake| wake.thread == thread && !is_lock(wake.object);
    acts.extend(process.wakes.iter().filter(gives).map(|wake| wake.time));
    acts.sort_unstable();
    let acts_between = |from: Time, until: Time| {
        acts.partition_point(|&act| act < until) > acts.partition_point(|&act| act < from)
    };
    let mut runs = Vec::new();
    let mut run: Option<(Range<usize>, usize)> = None;
    let mut worked = Nanos::ZERO;
    for (index, segment) in segments.iter().enumerate() {
        match (segment.state, &mut run) {
            (State::Asleep, Some((range, sleeps)))
                if segments[range.end - 1].site == segment.site
                    && !acts_between(segments[range.end - 1].start, segment.start)
                    && worked.share_of(segments[range.end - 1].length()) < LOOKING =>
            {
                range.end = index + 1;
                *sleeps += 1;
            }
            (State::Active, Some(_)) => {
                worked += segment.length();
                continue;
            }
            (State::Descheduled | State::Waking, Some(_)) => continue,
            (state, _) => {
                runs.extend(run.take());
                run = (state == State::Asleep).then_some((index..index + 1, 1));
            }
        }
        worked = Nanos::ZERO;
    }
    runs.extend(run);
    runs.into_iter().filter(|(_, sleeps)| *sleeps >= LEAST_SLEEPS).map(|(range, _)| range).collect()
}

/// The threads that a thread has started, and those that these have, in order.
fn started_by(process: &Process, thread: ThreadId) -> Vec<ThreadId> {
    let mut is_of_it = vec![false; process.threads.len()];
    let mut started = Vec::new();
    // Parents are older.
    for (index, other) in process.threads.iter().enumerate() {
        let of_it = |parent: ThreadId| parent == thread || is_of_it.get(parent.index()) == Some(&true);
        if index != thread.index() && other.parent.is_some_and(of_it) {
            is_of_it[index] = true;
            started.push(ThreadId::new(index as u32));
        }
    }
    started
}

/// When any of these threads was at work, or in a call that nothing outside of the program ends: spans without gaps between them are one.
fn times_at_work(process: &Process, timeline: &Timeline, threads: &[ThreadId]) -> Vec<(Time, Time)> {
    let works = |segment: &&Segment| {
        matches!(segment.state, State::Active | State::Descheduled | State::Spinning | State::Waking)
    };
    let rows = threads.iter().map(|&thread| timeline.row(thread));
    let segments = rows.flat_map(|row| row.segments.iter().filter(works));
    let mut spans: Vec<(Time, Time)> = segments.map(|segment| (segment.start, segment.end)).collect();
    let is_own = |call: Call| !matches!(call, Call::Accept | Call::Poll | Call::Signal | Call::Receive);
    let blocks = process
        .blocks
        .iter()
        .filter(|block| is_own(block.call) && threads.binary_search(&block.thread).is_ok());
    spans.extend(blocks.map(|block| (block.begin, block.end)));
    spans.sort_unstable();
    let mut joined: Vec<(Time, Time)> = Vec::new();
    for (begin, end) in spans {
        match joined.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((begin, end)),
        }
    }
    joined
}
