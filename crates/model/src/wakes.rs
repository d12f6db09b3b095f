//! When a wait really ended, and by whom.
//!
//! A wait ends at its *logical wake*: the last arrival at a barrier, the unlock by the holder, the signal, the
//! end of the joined thread. What follows until the waiter runs is wake-up latency and run-queue delay: the
//! system's part, not the holder's.

use std::collections::BTreeMap;

use crate::{
    EdgeKind, Hold, Nanos, ObjectId, ObjectKind, Outcome, Process, ThreadId, Time, Wait, Wake, WakeCount,
};

/// How one wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ending {
    /// The logical wake, within the wait.
    pub at: Time,
    /// Who caused it.
    pub by: Option<ThreadId>,
    /// By which means.
    pub kind: EdgeKind,
    /// For condition variables: the mutex was held by this thread until then.
    pub then_lock: Option<(Time, ThreadId)>,
}

/// The endings of all waits of a process, by their index in [`Process::waits`]: when each really ended, and by whom.
pub fn endings(process: &Process) -> Vec<Ending> {
    let mut endings: Vec<Ending> = process
        .waits
        .iter()
        .map(|wait| Ending { at: wait.end, by: None, kind: EdgeKind::Release, then_lock: None })
        .collect();
    let releases = releases_by_object(process);
    let wakes = wakes_by_object(process);
    let mut by_object: BTreeMap<ObjectId, Vec<usize>> = BTreeMap::new();
    for (index, wait) in process.waits.iter().enumerate() {
        by_object.entry(wait.object).or_default().push(index);
    }
    for (object, waits) in by_object {
        match process.object(object).kind {
            kind if kind.is_lock() => locks(process, &releases, object, &waits, &mut endings),
            ObjectKind::Barrier => barrier(process, object, waits, &mut endings),
            ObjectKind::ThreadEnd => join(process, object, &waits, &mut endings),
            _ => {
                let wakes = wakes.get(&object).map_or(&[][..], Vec::as_slice);
                signals(process, &releases, wakes, waits, &mut endings);
            }
        }
    }
    for (wait, ending) in process.waits.iter().zip(&mut endings) {
        if wait.outcome != Outcome::Granted {
            *ending = Ending { at: wait.end, by: None, kind: ending.kind, then_lock: None };
        }
        ending.at = ending.at.clamp(wait.begin, wait.end);
    }
    wait_on_where_nobody_released(process, &mut endings);
    endings
}

/// Who is released while it has a core goes on within this time: longer than any call takes to return, shorter than what a thread that
/// slept takes to get a core.
const AT_ONCE: Nanos = Nanos::new(20_000);
/// The same of one that may have slept, and finds a core free.
const WOKEN: Nanos = Nanos::new(200_000);

/// Not every task is recorded, so that what happened to the last one in a wait may not be what ended it. Whoever had a core ever since and
/// did not go on at once was not released by that: it waited until it did go on, for the same thread as far as is known. Where nothing is
/// known of cores, the same goes for one that would have been woken by then.
fn wait_on_where_nobody_released(process: &Process, endings: &mut [Ending]) {
    let mut late: Vec<(&Wait, &mut Ending)> = process
        .waits
        .iter()
        .zip(endings)
        .filter(|(wait, ending)| {
            let is_for_tasks = process.object(wait.object).kind == ObjectKind::Tasks;
            is_for_tasks && wait.end.since(ending.at) > AT_ONCE
        })
        .collect();
    if late.is_empty() {
        return;
    }
    let knows_cores = !process.on_core.is_empty();
    let mut spans: Vec<(ThreadId, Time, Time)> =
        process.on_core.iter().map(|span| (span.thread, span.begin, span.end)).collect();
    spans.sort_unstable();
    let has_core = |thread: ThreadId, from: Time, until: Time| {
        let next = spans.partition_point(|&(other, begin, _)| (other, begin) <= (thread, from));
        next.checked_sub(1).is_some_and(|last| spans[last].0 == thread && until <= spans[last].2)
    };
    for (wait, ending) in &mut late {
        let is_late = match knows_cores {
            true => has_core(wait.thread, ending.at, wait.end),
            false => wait.end.since(ending.at) > WOKEN,
        };
        if is_late {
            ending.at = wait.end;
        }
    }
}

type Releases<'a> = BTreeMap<ObjectId, Vec<&'a Hold>>;

fn releases_by_object(process: &Process) -> Releases<'_> {
    let mut releases: Releases<'_> = BTreeMap::new();
    for hold in &process.holds {
        releases.entry(hold.object).or_default().push(hold);
    }
    for holds in releases.values_mut() {
        holds.sort_by_key(|hold| (hold.end, hold.thread));
    }
    releases
}

fn wakes_by_object(process: &Process) -> BTreeMap<ObjectId, Vec<&Wake>> {
    let mut wakes: BTreeMap<ObjectId, Vec<&Wake>> = BTreeMap::new();
    for wake in &process.wakes {
        wakes.entry(wake.object).or_default().push(wake);
    }
    for wakes in wakes.values_mut() {
        wakes.sort_by_key(|wake| (wake.time, wake.thread, limit(wake), wake.site));
    }
    wakes
}

/// What [`limit`] gives where there is none.
const UNLIMITED: u32 = u32::MAX;

/// How many waiters a wake-up can release.
fn limit(wake: &Wake) -> u32 {
    match wake.count {
        WakeCount::AtMost(count) => count,
        WakeCount::All => UNLIMITED,
    }
}

/// The last release of `object` in (after, until] by another thread than `waiter`.
fn last_release<'a>(
    releases: &Releases<'a>,
    object: ObjectId,
    after: Time,
    until: Time,
    waiter: ThreadId,
) -> Option<&'a Hold> {
    let holds = releases.get(&object)?;
    let end = holds.partition_point(|hold| hold.end <= until);
    holds[..end].iter().rev().take_while(|hold| hold.end > after).find(|hold| hold.thread != waiter).copied()
}

fn locks(
    process: &Process,
    releases: &Releases<'_>,
    object: ObjectId,
    waits: &[usize],
    endings: &mut [Ending],
) {
    for &index in waits {
        let wait = &process.waits[index];
        match last_release(releases, object, wait.begin, wait.end, wait.thread) {
            Some(hold) => {
                endings[index].at = hold.end;
                endings[index].by = Some(hold.thread);
            }
            // The release was not recorded (the first wait for this lock): whoever owned it at the beginning.
            None => endings[index].by = wait.owner,
        }
    }
}

/// Sorts the waits at a barrier by the time of arrival and gives those of each round.
///
/// Where the front-end told the round of each wait these are the rounds. Else all arrivals of one round come before the
/// first of the next, since a thread must leave before it can arrive again: so rounds are runs of `parties` arrivals.
pub fn rounds(process: &Process, barrier: ObjectId, mut waits: Vec<usize>) -> Vec<Vec<usize>> {
    let told = waits.iter().all(|&index| process.waits[index].round.is_some());
    waits.sort_by_key(|&index| {
        let wait = &process.waits[index];
        (wait.round.filter(|_| told), wait.begin, wait.end, wait.thread)
    });
    if told {
        return waits
            .chunk_by(|&a, &b| process.waits[a].round == process.waits[b].round)
            .map(<[usize]>::to_vec)
            .collect();
    }
    let parties = process.object(barrier).parties.map_or(waits.len(), |parties| parties as usize).max(1);
    waits.chunks(parties).map(<[usize]>::to_vec).collect()
}

/// A round ends with its last arrival. Where arrivals were lost that gives a last arrival after some thread left; then
/// the last arrival before that thread left is taken. Of two arrivals at the same time, the one that leaves first is of
/// the earlier round.
fn barrier(process: &Process, object: ObjectId, waits: Vec<usize>, endings: &mut [Ending]) {
    let rounds = rounds(process, object, waits);
    let mut arrivals: Vec<usize> = rounds.concat();
    arrivals.sort_by_key(|&index| process.waits[index].begin);
    for round in &rounds {
        let last = round[round.len() - 1];
        for &index in round {
            let wait = &process.waits[index];
            let releaser = if process.waits[last].begin <= wait.end {
                last
            } else {
                let before = arrivals.partition_point(|&other| process.waits[other].begin <= wait.end);
                arrivals[before.saturating_sub(1)]
            };
            let ending = &mut endings[index];
            ending.kind = EdgeKind::Barrier;
            ending.at = process.waits[releaser].begin;
            ending.by = Some(process.waits[releaser].thread);
        }
    }
}

fn join(process: &Process, object: ObjectId, waits: &[usize], endings: &mut [Ending]) {
    let Some(joined) = process.object(object).thread else { return };
    for &index in waits {
        endings[index].kind = EdgeKind::Join;
        endings[index].by = Some(joined);
        if let Some(end) = process.thread(joined).end {
            endings[index].at = end;
        }
    }
}

/// Pairs waits with the wake-ups that ended them. Waits are taken in the order of their ends, each with the
/// latest wake-up inside it that still has room: a wake-up whose effect another thread took (a semaphore's
/// value, say) is then left over, and where two waits could have been ended by either wake-up the sum of their
/// lengths is right whichever is taken.
fn signals(
    process: &Process,
    releases: &Releases<'_>,
    wakes: &[&Wake],
    mut waits: Vec<usize>,
    endings: &mut [Ending],
) {
    waits.sort_by_key(|&index| {
        let wait = &process.waits[index];
        (wait.end, wait.thread, wait.begin, wait.mutex, wait.site)
    });
    let mut room = Room::of(wakes);
    let mut until_end = 0;
    for index in waits {
        let wait = &process.waits[index];
        endings[index].kind = EdgeKind::Signal;
        if wait.outcome != Outcome::Granted {
            continue;
        }
        until_end += wakes[until_end..].iter().take_while(|wake| wake.time <= wait.end).count();
        let ending = &mut endings[index];
        let Some(wake) = room.take(until_end, wait) else {
            // By one call a thread may send so much that another one waits for it piece by piece.
            ending.by = wait.owner;
            continue;
        };
        ending.at = wake.time;
        ending.by = Some(wake.thread);
        ending.then_lock = relock(process, releases, wait, wake.time);
    }
}

/// The wake-ups of one object in order of time, and whom they can still release.
struct Room<'a> {
    wakes: &'a [&'a Wake],
    left: Vec<u32>,
    /// By wake-up: how many come before the next earlier one that may have room.
    before: Vec<u32>,
}

impl<'a> Room<'a> {
    fn of(wakes: &'a [&'a Wake]) -> Self {
        let left = wakes.iter().map(|wake| limit(wake)).collect();
        Self { wakes, left, before: (0..wakes.len() as u32).collect() }
    }

    /// Takes the last of the first `count` wake-ups that can have released this wait.
    fn take(&mut self, mut count: usize, wait: &Wait) -> Option<&'a Wake> {
        loop {
            count = self.with_room(count);
            let last = count.checked_sub(1)?;
            let wake = self.wakes[last];
            if wake.time < wait.begin {
                return None;
            }
            if wake.thread != wait.thread {
                if self.left[last] < UNLIMITED {
                    self.left[last] -= 1;
                }
                return Some(wake);
            }
            count = last;
        }
    }

    /// Up to how many of the first `count` have one with room at their end; 0 if none has. What was passed over once is
    /// passed over at one go from then on.
    fn with_room(&mut self, count: usize) -> usize {
        let mut found = count;
        while let Some(last) = found.checked_sub(1).filter(|&last| self.left[last] == 0) {
            found = self.before[last] as usize;
        }
        let mut passed = count;
        while let Some(last) = passed.checked_sub(1).filter(|_| passed > found) {
            passed = std::mem::replace(&mut self.before[last], found as u32) as usize;
        }
        found
    }
}

/// Who held the mutex of a condition wait after the signal, and until when.
fn relock(process: &Process, releases: &Releases<'_>, wait: &Wait, signal: Time) -> Option<(Time, ThreadId)> {
    let mutex = wait.mutex?;
    debug_assert!(process.object(mutex).kind.is_lock());
    let hold = last_release(releases, mutex, signal, wait.end, wait.thread)?;
    Some((hold.end, hold.thread))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Left, OnCore};

    /// Threads that wait from 10 µs to 500 µs for tasks, of which the last that is known was done at 100 µs; each has a core in these
    /// spans (µs).
    fn ends_of_waits(spans: &[&[(u64, u64)]]) -> Vec<u64> {
        ends_of_waits_for(100, spans)
    }

    /// The same where the last one was done then (µs).
    fn ends_of_waits_for(done: u64, spans: &[&[(u64, u64)]]) -> Vec<u64> {
        let at = |micros: u64| Time::from_nanos(micros * 1_000);
        let mut process = Process::new(at(0), at(1_000));
        let by = process.add_thread("main", at(0), None);
        let object = process.add_object(ObjectKind::Tasks, 1);
        process.wakes.push(Wake { thread: by, time: at(done), object, site: None, count: WakeCount::All });
        for spans in spans {
            let thread = process.add_thread("worker", at(0), None);
            process.waits.push(Wait::granted(thread, object, at(10), at(500)));
            process.on_core.extend(spans.iter().map(|&(begin, end)| OnCore {
                thread,
                begin: at(begin),
                end: at(end),
                core: 0,
                left: Left::Blocked,
            }));
        }
        let endings = endings(&process);
        assert!(endings.iter().all(|ending| ending.by == Some(by)));
        endings.iter().map(|ending| ending.at.nanos() / 1_000).collect()
    }

    #[test]
    fn who_had_a_core_and_did_not_go_on_at_once_was_not_released() {
        let has_one: &[(u64, u64)] = &[(0, 900)];
        let slept: &[(u64, u64)] = &[(0, 50), (480, 900)];
        let lost_it: &[(u64, u64)] = &[(0, 300), (400, 900)];
        assert_eq!(ends_of_waits(&[has_one, slept, lost_it, &[(600, 900)]]), [500, 100, 100, 100]);
        // Nothing is known of cores: 400 µs are no wake-up, 150 µs may be one.
        assert_eq!(ends_of_waits(&[&[], &[]]), [500, 500]);
        assert_eq!(ends_of_waits_for(350, &[&[]]), [350]);
        assert_eq!(ends_of_waits_for(350, &[has_one, lost_it]), [500, 350]);
    }

    /// What [`Room::take`] is short for.
    fn last_that_fits(wakes: &[&Wake], left: &mut [u32], count: usize, wait: &Wait) -> Option<usize> {
        let fits = |index: &usize| {
            let wake = wakes[*index];
            left[*index] > 0 && wake.time >= wait.begin && wake.thread != wait.thread
        };
        let found = (0..count).rev().find(fits)?;
        if left[found] < UNLIMITED {
            left[found] -= 1;
        }
        Some(found)
    }

    #[test]
    fn a_wait_takes_the_last_wake_up_with_room() {
        let mut state = 1u64;
        let mut any = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let mut wakes: Vec<Wake> = (0..any(40))
                .map(|_| Wake {
                    thread: ThreadId::new(any(3) as u32),
                    time: Time::from_nanos(any(60)),
                    object: ObjectId::new(0),
                    site: None,
                    count: if any(5) == 0 { WakeCount::All } else { WakeCount::AtMost(any(3) as u32) },
                })
                .collect();
            wakes.sort_by_key(|wake| wake.time);
            let wakes: Vec<&Wake> = wakes.iter().collect();
            let mut left: Vec<u32> = wakes.iter().map(|wake| limit(wake)).collect();
            let mut room = Room::of(&wakes);
            let mut ends: Vec<u64> = (0..any(60)).map(|_| any(70)).collect();
            ends.sort_unstable();
            for end in ends {
                let begin = Time::from_nanos(end.saturating_sub(any(50)));
                let end = Time::from_nanos(end);
                let wait = Wait::granted(ThreadId::new(any(3) as u32), ObjectId::new(0), begin, end);
                let count = wakes.partition_point(|wake| wake.time <= end);
                let expected = last_that_fits(&wakes, &mut left, count, &wait).map(|index| wakes[index]);
                let found = room.take(count, &wait);
                assert!(match (found, expected) {
                    (Some(found), Some(expected)) => std::ptr::eq(found, expected),
                    (found, expected) => found.is_none() && expected.is_none(),
                });
            }
            assert_eq!(room.left, left);
        }
    }
}
