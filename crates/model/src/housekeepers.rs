//! Waits with a limit that a thread makes over and over until another thread ends one of them, and pauses that end when another thread
//! asks it to stop.
//!
//! `while (!stop) pthread_cond_timedwait(…, 50 ms);` is how housekeepers of runtimes live: they look after something whenever
//! the time is up, and end when another thread says so. What they wait for is the other thread and not the time; a replay in which
//! each limit passes as often as it did would never be shorter than the recorded run.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Arrange, Block, Ending, Nanos, ObjectId, ObjectKind, Outcome, Process, Segment, SiteId, State, ThreadId,
    Time, Timeline, Wait, endings,
};

/// Shorter limits are how locks take turns (Python's every 5 ms): whoever holds it goes by them.
const LEAST_PERIOD: Nanos = Nanos::new(10_000_000);

/// Who only looks after something is between two waits for less than this share of the first one.
const LOOKING: f64 = 0.1;

/// Waits of one thread for one object, each of which ended since its time was up.
struct Run {
    object: ObjectId,
    waits: Vec<usize>,
}

/// By wait, whether its time was up and it is repeated until another thread ends such a wait, or the program ends. `order` has the
/// waits in the order of time.
pub fn repeated(process: &Process, endings: &[Ending], order: &[usize]) -> Vec<bool> {
    let mut repeated = vec![false; process.waits.len()];
    if !process.waits.iter().any(|wait| wait.outcome == Outcome::TimedOut) {
        return repeated;
    }
    let given = given(process, endings);
    let goes_on = |before: &Wait, wait: &Wait| {
        let period = before.end.since(before.begin);
        wait.begin.since(before.end).share_of(period) < LOOKING
            && !sets_pace(&given[wait.thread.index()], (before.end, wait.begin), period)
    };
    let mut runs: Vec<Option<Run>> = process.threads.iter().map(|_| None).collect();
    for &index in order {
        let wait = &process.waits[index];
        // What it meets others for in between may be all that it looks after.
        if process.object(wait.object).kind.is_lock()
            || (runs[wait.thread.index()].is_some()
                && process.object(wait.object).kind == ObjectKind::Barrier)
        {
            continue;
        }
        let run = runs[wait.thread.index()].take().filter(|run| {
            run.object == wait.object
                && run.waits.last().is_some_and(|&before| goes_on(&process.waits[before], wait))
        });
        let mut run = run.unwrap_or(Run { object: wait.object, waits: Vec::new() });
        let by_another = endings[index].by.is_some_and(|by| by != wait.thread);
        // Of polls it is known that they lead to a message.
        let is_of_channel = process.object(wait.object).kind.is_channel();
        match wait.outcome {
            Outcome::TimedOut if wait.end.since(wait.begin) < LEAST_PERIOD && !is_of_channel => {}
            Outcome::TimedOut => {
                run.waits.push(index);
                runs[wait.thread.index()] = Some(run);
            }
            Outcome::Open => run.waits.into_iter().for_each(|index| repeated[index] = true),
            Outcome::Granted if by_another => {
                run.waits.into_iter().for_each(|index| repeated[index] = true);
            }
            Outcome::Granted | Outcome::Failed => {}
        }
    }
    repeated
}

/// True if a thread gives others in this span what they wait for during most of a period, and then have much to do with: they take
/// their pace from it.
fn sets_pace(gifts: &[Gift], (from, until): (Time, Time), period: Nanos) -> bool {
    let is_long = |length: Nanos| length.share_of(period) >= LOOKING;
    let first = gifts.partition_point(|gift| gift.at < from);
    let end = gifts.partition_point(|gift| gift.at < until);
    gifts[first..end.max(first)].iter().any(|gift| is_long(gift.waited) && is_long(gift.at_work))
}

/// That a thread paused until another one asked it to stop, by a signal, a pipe or a flag, and then waited for its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    /// When the first of its pauses began that are repeated until then.
    pub from: Time,
    /// The last one.
    pub last: Segment,
    /// Who stopped it.
    pub by: ThreadId,
    /// Where that one was: at the latest when it began to wait.
    pub at: Time,
}

impl Stop {
    /// True if a segment of the thread is one of the pauses.
    pub fn has(&self, segment: &Segment) -> bool {
        let is_like = (segment.state, segment.site, segment.object)
            == (self.last.state, self.last.site, self.last.object);
        is_like && self.from <= segment.start && segment.end <= self.last.end
    }

    /// True if a call of the thread is one of the pauses. The thread may be in it for a moment longer.
    pub fn has_call(&self, block: &Block) -> bool {
        self.from < block.end && block.begin < self.last.end
    }

    /// True if a wait of the thread is one of the pauses.
    pub fn has_wait(&self, wait: &Wait) -> bool {
        Some(wait.object) == self.last.object && self.from < wait.end && wait.begin < self.last.end
    }
}

/// Who is asked to stop does so within this time, or this share of its pause, before or after the other one waits for its end.
const PROMPTLY: Nanos = Nanos::new(1_000_000);
const PROMPTLY_SHARE: f64 = 0.01;

/// Pauses of a thread are one that it repeats where there are as many, and each is as long as the next one but for this share.
const LEAST_REPEATED: usize = 3;
const UNLIKE: f64 = 0.25;

/// By thread, until when it paused to be stopped by the thread that joined it.
///
/// Who waits for a signal, for a byte in a pipe or sleeps until a flag is set does not wait for a time, and nothing was recorded of who
/// ends that. But who stops a thread joins it then: a last pause that ends as the other one joins was ended by that one. Of threads that
/// pause at the same place all are stopped or none: workers that read for equally long are joined one after the other, each of them as
/// the next one comes to its end too.
pub fn stops(process: &Process, timeline: &Timeline) -> Vec<Option<Stop>> {
    let mut stops: Vec<Option<Stop>> = vec![None; process.threads.len()];
    let mut joins: BTreeMap<ThreadId, Vec<(Time, ThreadId)>> = BTreeMap::new();
    for wait in &process.waits {
        if let Some(ended) = process.object(wait.object).thread.filter(|ended| *ended != wait.thread) {
            joins.entry(wait.thread).or_default().push((wait.begin, ended));
        }
    }
    if joins.is_empty() {
        return stops;
    }
    // Few threads pause again and again, and to find what all gave takes long.
    let gifts = OnceCell::new();
    let gifts = || gifts.get_or_init(|| given(process, &endings(process)));
    for (by, mut joins) in joins {
        joins.arrange_by_key(|join| *join);
        for &(joined, thread) in &joins {
            let pauses: Vec<&Segment> = pauses(process, timeline, thread).collect();
            let Some(&last) = pauses.last() else { continue };
            let repeated = repeated_pauses(&pauses, || &gifts()[thread.index()]);
            let slack = PROMPTLY.max(Nanos::new((last.length().get() as f64 * PROMPTLY_SHARE) as u64));
            // Whoever looks now and then whether to stop does so when its pause is over.
            let before = if repeated > 1 { last.length() } else { slack };
            let stopped =
                |at: &Time| *at <= joined && last.end.since(*at) <= before && at.since(last.end) <= slack;
            // Of several threads that are stopped together the first is joined at once.
            let at = joins.iter().map(|(at, _)| *at).rfind(stopped);
            if let Some(at) = at {
                let from = pauses[pauses.len() - repeated].start;
                stops[thread.index()] = Some(Stop { from, last: last.clone(), by, at: at.min(last.end) });
            }
        }
    }
    let not_stopped: BTreeSet<Option<SiteId>> = (0..stops.len())
        .filter(|&index| stops.iter().any(Option::is_some) && stops[index].is_none())
        .flat_map(|index| pauses(process, timeline, ThreadId::new(index as u32)).map(|pause| pause.site))
        .collect();
    for stop in &mut stops {
        stop.take_if(|stop| not_stopped.contains(&stop.last.site));
    }
    stops
}

/// Where a thread waits for so long for what no other thread was seen to do.
fn pauses<'a>(
    process: &'a Process,
    timeline: &'a Timeline,
    thread: ThreadId,
) -> impl Iterator<Item = &'a Segment> {
    let is_signal = |object: ObjectId| process.object(object).kind.is_of_any_meaning();
    timeline.row(thread).segments.iter().filter(move |segment| {
        let is_pause = match segment.state {
            State::Io | State::Asleep => true,
            State::Blocked => segment.by.is_none() && segment.object.is_none_or(is_signal),
            _ => false,
        };
        is_pause && segment.length() >= LEAST_PERIOD
    })
}

/// How many of the last pauses are one that is repeated until the thread is stopped: one at least.
fn repeated_pauses<'a>(pauses: &[&Segment], gifts: impl Fn() -> &'a [Gift]) -> usize {
    let Some(last) = pauses.last() else { return 0 };
    let is_like = |before: &Segment, next: &Segment, is_last: bool| {
        let (period, length) = (before.length(), next.length());
        let is_alike =
            length.share_of(period) <= 1.0 + UNLIKE && (is_last || period.share_of(length) <= 1.0 + UNLIKE);
        let is_at_once = next.start.since(before.end).share_of(period) < LOOKING;
        (before.site, before.state, before.object) == (last.site, last.state, last.object)
            && is_alike
            && is_at_once
    };
    let gives_nothing =
        |before: &Segment, next: &Segment| !sets_pace(gifts(), (before.end, next.start), before.length());
    let pairs = pauses.windows(2).rev().enumerate();
    let like = pairs.take_while(|(index, pair)| is_like(pair[0], pair[1], *index == 0)).count();
    if like + 1 < LEAST_REPEATED {
        return 1;
    }
    let like = &pauses[pauses.len() - 1 - like..];
    let alone = like.windows(2).rev().take_while(|pair| gives_nothing(pair[0], pair[1])).count();
    if alone + 1 >= LEAST_REPEATED { alone + 1 } else { 1 }
}

/// Something that a thread gave to another one, which waited for it.
#[derive(Clone, Copy)]
struct Gift {
    at: Time,
    /// How long the other one had waited.
    waited: Nanos,
    /// For how long that did not wait again.
    at_work: Nanos,
}

/// By who gave it, in the order of time.
fn given(process: &Process, endings: &[Ending]) -> Vec<Vec<Gift>> {
    let by_thread = || process.threads.iter();
    let mut begins: Vec<Vec<Time>> = by_thread().map(|_| Vec::new()).collect();
    for wait in process.waits.iter().filter(|wait| !process.object(wait.object).kind.is_lock()) {
        begins[wait.thread.index()].push(wait.begin);
    }
    begins.iter_mut().for_each(|times| times.arrange_by_key(|at| *at));
    let mut given: Vec<Vec<Gift>> = by_thread().map(|_| Vec::new()).collect();
    for (wait, ending) in process.waits.iter().zip(endings) {
        let Some(by) = ending.by.filter(|by| *by != wait.thread) else { continue };
        let begins = &begins[wait.thread.index()];
        let later = begins.get(begins.partition_point(|at| *at < wait.end));
        given[by.index()].push(Gift {
            at: ending.at,
            waited: ending.at.since(wait.begin),
            at_work: later.copied().unwrap_or(process.end).since(wait.end),
        });
    }
    given.iter_mut().for_each(|gifts| gifts.arrange_by_key(|gift| gift.at));
    given
}

#[cfg(test)]
mod tests {
    use crate::{Call, EdgeKind};

    use super::*;

    /// Of waits of thread 1: from when to when (ms), how they ended, and who ended them.
    fn repeated_of(waits: &[(u64, u64, Outcome, Option<u32>)]) -> Vec<bool> {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(1_000_000_000));
        for name in ["main", "housekeeper"] {
            process.add_thread(name, Time::from_nanos(0), None);
        }
        let object = process.add_object(ObjectKind::Condition, 0);
        let mut endings = Vec::new();
        for &(begin, end, outcome, by) in waits {
            let [begin, end] = [begin, end].map(|ms| Time::from_nanos(ms * 1_000_000));
            process.waits.push(Wait { outcome, ..Wait::granted(ThreadId::new(1), object, begin, end) });
            let by = by.map(ThreadId::new);
            endings.push(Ending { at: end, by, kind: EdgeKind::Release, then_lock: None });
        }
        repeated(&process, &endings, &(0..waits.len()).collect::<Vec<_>>())
    }

    #[test]
    fn who_waits_until_another_thread_stops_it_waits_once() {
        let up = |begin, end| (begin, end, Outcome::TimedOut, None);
        let stopped = (200, 250, Outcome::Granted, Some(0));
        assert_eq!(repeated_of(&[up(0, 100), up(101, 200), stopped]), [true, true, false]);
        // Nobody stopped it: it went on when its time was up.
        assert_eq!(repeated_of(&[up(0, 100), up(101, 200)]), [false, false]);
        assert_eq!(repeated_of(&[up(0, 100), (101, 200, Outcome::Granted, None)]), [false, false]);
        // It works in between.
        assert_eq!(repeated_of(&[up(0, 100), up(150, 200), stopped]), [false, true, false]);
        assert_eq!(repeated_of(&[up(0, 100), (101, 1000, Outcome::Open, None)]), [true, false]);
        // That is how a lock takes turns.
        assert_eq!(repeated_of(&[up(0, 5), (5, 8, Outcome::Granted, Some(0))]), [false, false]);
    }

    #[test]
    fn who_sets_the_pace_of_another_thread_does_not_wait_for_the_end_only() {
        // Thread 2 waits for each tick, and works for this long then.
        let ticks = |work: u64| {
            let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(400_000_000));
            for name in ["main", "ticker", "worker"] {
                process.add_thread(name, Time::from_nanos(0), None);
            }
            let (limit, tick) =
                (process.add_object(ObjectKind::Condition, 0), process.add_object(ObjectKind::Condition, 1));
            let mut endings = Vec::new();
            let mut add = |thread: u32, object, from: u64, until: u64, outcome, by: Option<u32>| {
                let [begin, end] = [from, until].map(|ms| Time::from_nanos(ms * 1_000_000));
                process
                    .waits
                    .push(Wait { outcome, ..Wait::granted(ThreadId::new(thread), object, begin, end) });
                let by = by.map(ThreadId::new);
                endings.push(Ending { at: end, by, kind: EdgeKind::Release, then_lock: None });
            };
            for round in 0..3 {
                let at = 100 * round;
                add(1, limit, at + 2, at + 100, Outcome::TimedOut, None);
                add(2, tick, at + work, at + 101, Outcome::Granted, Some(1));
            }
            add(1, limit, 302, 350, Outcome::Granted, Some(0));
            add(2, tick, 300 + work, 400, Outcome::Open, None);
            let mut order: Vec<usize> = (0..process.waits.len()).collect();
            order.sort_by_key(|&index| process.waits[index].begin);
            repeated(&process, &endings, &order)
        };
        assert!(!ticks(50).contains(&true));
        // It looks up for a moment only, and would do so whenever the tick comes.
        assert_eq!(ticks(3).iter().filter(|repeated| **repeated).count(), 3);
    }

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn read(thread: ThreadId, begin: u64, end: u64, site: u32) -> Block {
        Block {
            thread,
            begin: at(begin),
            end: at(end),
            call: Call::Read,
            timed_out: false,
            site: Some(SiteId::new(site)),
            cpu_begin: None,
            cpu_end: None,
        }
    }

    /// What stops a thread that pauses so (from when to when in ms, and where), where main joins it at `joined` and has paused as `own` says.
    fn stop_of(
        call: Call,
        pauses: &[(u64, u64, u32)],
        joined: u64,
        own: Option<(u64, u64, u32)>,
    ) -> Option<Stop> {
        let mut process = Process::new(at(0), at(1000));
        for name in ["main", "housekeeper"] {
            process.add_thread(name, at(0), None);
        }
        let end = process.add_object(ObjectKind::ThreadEnd, 0);
        process.objects[end.index()].thread = Some(ThreadId::new(1));
        let done = pauses.last().map_or(joined, |pause| pause.1).max(joined);
        process.threads[1].end = Some(at(done));
        process.waits.push(Wait::granted(ThreadId::new(0), end, at(joined), at(done)));
        let pauses = pauses.iter().map(|pause| (1, pause)).chain(own.as_ref().map(|pause| (0, pause)));
        process.sites = (0..3).map(|_| crate::Site::default()).collect();
        process.blocks = pauses
            .map(|(thread, &(begin, end, site))| Block {
                call,
                ..read(ThreadId::new(thread), begin, end, site)
            })
            .collect();
        process.blocks.sort_by_key(|block| block.begin);
        let timeline = Timeline::build(&process);
        let stop = stops(&process, &timeline).swap_remove(1)?;
        assert_eq!(stop.by, ThreadId::new(0));
        assert!(process.blocks.iter().any(|block| stop.has_call(block)));
        Some(stop)
    }

    #[test]
    fn who_joins_a_thread_as_its_pause_ends_has_stopped_it() {
        let stop = stop_of(Call::Read, &[(100, 800, 0)], 799, None).expect("it is stopped");
        assert_eq!((stop.from, stop.last.end, stop.at), (at(100), at(800), at(799)));
        // It is joined a moment after it was stopped.
        let stop = stop_of(Call::Signal, &[(100, 800, 0)], 801, None).expect("it is stopped");
        assert_eq!(stop.at, at(800));
        // What it reads takes longer than main waits for it to be stopped.
        assert_eq!(stop_of(Call::Read, &[(100, 800, 0)], 700, None), None);
        assert_eq!(stop_of(Call::Read, &[(100, 800, 0)], 900, None), None);
        // Main reads there too.
        assert_eq!(stop_of(Call::Read, &[(100, 800, 0)], 799, Some((100, 798, 0))), None);
        assert!(stop_of(Call::Read, &[(100, 800, 0)], 799, Some((100, 798, 1))).is_some());
    }

    #[test]
    fn of_workers_that_are_joined_one_after_the_other_none_is_stopped() {
        let joined_at = |first: u64| {
            let mut process = Process::new(at(0), at(1000));
            for name in ["main", "reader", "reader"] {
                process.add_thread(name, at(0), None);
            }
            process.sites = vec![crate::Site::default()];
            for (index, (joined, done)) in [(first, 800), (800, 801)].into_iter().enumerate() {
                let reader = ThreadId::new(index as u32 + 1);
                let end = process.add_object(ObjectKind::ThreadEnd, 0);
                process.objects[end.index()].thread = Some(reader);
                process.threads[reader.index()].end = Some(at(done));
                process.waits.push(Wait::granted(ThreadId::new(0), end, at(joined), at(done)));
                process.blocks.push(read(reader, 100, done, 0));
            }
            stops(&process, &Timeline::build(&process))
        };
        assert_eq!(joined_at(100), [None, None, None]);
        // Both are stopped together.
        let stopped = joined_at(800);
        assert!(stopped[0].is_none() && stopped[1].is_some() && stopped[2].is_some(), "{stopped:?}");
    }

    #[test]
    fn pauses_that_are_repeated_until_a_thread_is_joined_are_one() {
        let slept = |joined| {
            stop_of(Call::Sleep, &[(0, 50, 0), (51, 100, 0), (101, 150, 0), (151, 200, 0)], joined, None)
        };
        let stop = slept(170).expect("it looks whether to stop every 50 ms");
        assert_eq!((stop.from, stop.last.start, stop.at), (at(0), at(151), at(170)));
        // It was not to stop in the last one.
        assert_eq!(slept(130), None);
        assert_eq!(slept(230), None);
        // Only once, elsewhere, with work in between, or for as long as it takes.
        for pauses in [
            &[(151, 200, 0)][..],
            &[(51, 100, 0), (101, 150, 1), (151, 200, 0)],
            &[(0, 40, 0), (71, 120, 0), (151, 200, 0)],
            &[(0, 20, 0), (21, 140, 0), (141, 200, 0)],
        ] {
            assert_eq!(stop_of(Call::Sleep, pauses, 170, None), None, "{pauses:?}");
        }
    }
}
