//! Which blocking calls other threads of the process can have ended, and what these did meanwhile.
//!
//! A recording says when a call began and when it returned, not why. What is outside of the process takes as long in a
//! simulation as it took when it was recorded; what threads do does not, since emulation slows them. A call is taken to be ended
//! from within if it is one that can be (`read`, `write`, `poll` and their relatives), another thread wrote to a descriptor
//! that can be its other end (of a `write`: read from it), and other threads worked meanwhile. The other end of an event's descriptor is itself; those of
//! pipes and socket pairs, which are made together, have numbers beside each other. For `poll` any descriptor will do but those
//! of standard output and errors: which ones it waited for is not recorded. A wait for a signal any thread can end.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use holdup_model::{Block, Process, Time};
use holdup_sim::CallWithin;
use holdup_trace::wire::CallCode;

use crate::stream::Telling;
use crate::told::Called;
use crate::wakes::same_threads;

/// Calls that others can have ended, by thread (index) and number among the thread's calls.
pub(crate) type Within = BTreeMap<(usize, u32), CallWithin>;

/// The last descriptor that every process has: standard error.
const STANDARD_ERROR: u32 = 2;
/// A call in the stream and one that was recorded with its times are the same if their lengths differ by less than a part in so
/// many, or so many ns: clocks are read one after the other.
const SAME_PART: u64 = 100;
const SAME_NANOS: u64 = 1_000;

/// When a thread was there, and when it waited or was in a call.
struct Course {
    begin: Time,
    end: Time,
    /// By begin; none begins before the one before has ended.
    idle: Vec<(Time, Time)>,
    /// Instructions for each nanosecond in which it worked.
    speed: f64,
}

impl Course {
    /// Nanoseconds in which it worked, between these times.
    fn worked(&self, begin: Time, end: Time) -> u64 {
        let (begin, end) = (begin.max(self.begin), end.min(self.end));
        if end <= begin {
            return 0;
        }
        let first = self.idle.partition_point(|(_, until)| *until <= begin);
        let idle = self.idle[first..].iter().take_while(|(from, _)| *from < end);
        let idle: u64 = idle.map(|(from, until)| (*until).min(end).since((*from).max(begin)).get()).sum();
        end.since(begin).get() - idle
    }

    /// When it worked last before this time.
    fn worked_until(&self, time: Time) -> Option<Time> {
        let time = time.min(self.end);
        let behind = self.idle.partition_point(|(from, _)| *from < time);
        let last = behind.checked_sub(1).map(|index| self.idle[index]);
        let worked = last.filter(|(_, until)| *until >= time).map_or(time, |(from, _)| from);
        (worked > self.begin).then_some(worked)
    }
}

/// The calls of these threads that others can have ended.
pub(crate) fn within(process: &Process, tellings: &[Telling]) -> Within {
    let mut found = Within::new();
    if tellings.iter().all(|telling| telling.calls.is_empty()) {
        return found;
    }
    let threads = same_threads(process.threads.iter().map(|thread| thread.tid), tellings);
    let courses = courses(process, tellings, &threads);
    let mut blocks: BTreeMap<usize, Vec<&Block>> = BTreeMap::new();
    for block in &process.blocks {
        if let Some(index) = threads[block.thread.index()] {
            blocks.entry(index).or_default().push(block);
        }
    }
    let writers = users(tellings, |telling| &telling.writes);
    let readers = users(tellings, |telling| &telling.reads);
    for (index, telling) in tellings.iter().enumerate() {
        let mut timed = blocks.remove(&index).unwrap_or_default();
        timed.sort_unstable_by_key(|block| block.begin);
        let mut timed = timed.into_iter().peekable();
        for (number, called) in (0..).zip(&telling.calls) {
            let is_same = |block: &&Block| {
                let nanos = block.end.since(block.begin).get();
                nanos.abs_diff(called.nanos) <= (called.nanos / SAME_PART).max(SAME_NANOS)
            };
            // Short ones have no times; where one with times is missing, those behind it have none either.
            let Some(block) = timed.next_if(is_same) else { continue };
            let others = || (0..).zip(&courses).filter(|(other, _)| *other != index);
            let is_used = |users: &Users, descriptors: RangeInclusive<u32>| {
                users.range(descriptors).any(|(_, threads)| threads.iter().any(|thread| *thread != index))
            };
            let can_end = called.call == Some(CallCode::Signal)
                || other_ends(called).is_some_and(|(descriptors, is_written)| {
                    is_used(if is_written { &writers } else { &readers }, descriptors)
                });
            if !can_end {
                continue;
            }
            let executed = |course: &Course| course.worked(block.begin, block.end) as f64 * course.speed;
            let instructions: f64 = others().filter_map(|(_, course)| course.as_ref()).map(executed).sum();
            let until = others().filter_map(|(_, course)| course.as_ref()?.worked_until(block.end)).max();
            let Some(until) = until.filter(|until| *until > block.begin) else { continue };
            let alone = block.end.since(until).get();
            found.insert(
                (index, number),
                CallWithin { nanos: called.nanos, instructions: instructions as u64, alone },
            );
        }
    }
    found
}

/// Threads (indices) that use descriptors.
type Users = BTreeMap<u32, BTreeSet<usize>>;

fn users(tellings: &[Telling], used: impl Fn(&Telling) -> &BTreeSet<u32>) -> Users {
    let mut users = Users::new();
    for (index, telling) in tellings.iter().enumerate() {
        used(telling).iter().for_each(|descriptor| _ = users.entry(*descriptor).or_default().insert(index));
    }
    users
}

/// The descriptors that can be the other end of what a call waits for, and whether who writes there ends it, or who reads.
/// `None` for calls that other threads do not end.
fn other_ends(called: &Called) -> Option<(RangeInclusive<u32>, bool)> {
    const FIRST: u32 = STANDARD_ERROR + 1;
    let own = called.descriptor;
    let beside = own.saturating_sub(1).max(FIRST)..=own.saturating_add(1);
    let (descriptors, is_written) = match called.call? {
        CallCode::Poll => (FIRST..=u32::MAX, true),
        CallCode::Read | CallCode::Receive => (beside, true),
        CallCode::Write | CallCode::Send => (beside, false),
        _ => return None,
    };
    (!descriptors.is_empty()).then_some((descriptors, is_written))
}

/// By index; `None` for those of which no times are known.
fn courses(process: &Process, tellings: &[Telling], threads: &[Option<usize>]) -> Vec<Option<Course>> {
    let mut idle: Vec<Vec<(Time, Time)>> = vec![Vec::new(); process.threads.len()];
    for wait in &process.waits {
        idle[wait.thread.index()].push((wait.begin, wait.end));
    }
    for block in &process.blocks {
        idle[block.thread.index()].push((block.begin, block.end));
    }
    let mut courses: Vec<Option<Course>> = tellings.iter().map(|_| None).collect();
    for ((thread, mut idle), index) in process.threads.iter().zip(idle).zip(threads) {
        let Some(index) = *index else { continue };
        idle.sort_unstable();
        // A call within a wait is part of it.
        let mut until = thread.start;
        idle.retain_mut(|(from, to)| {
            *from = (*from).max(until);
            until = until.max(*to);
            *from < *to
        });
        let end = thread.end.unwrap_or(process.end);
        let mut course = Course { begin: thread.start, end, idle, speed: 0.0 };
        let worked = course.worked(course.begin, course.end);
        course.speed = tellings[index].instructions as f64 / worked.max(1) as f64;
        courses[index] = Some(course);
    }
    courses
}
