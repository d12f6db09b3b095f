//! Waits with a limit that a thread makes over and over until another thread ends one of them.
//!
//! `while (!stop) pthread_cond_timedwait(…, 50 ms);` is how housekeepers of runtimes live: they look after something whenever
//! the time is up, and end when another thread says so. What they wait for is the other thread and not the time; a replay in which
//! each limit passes as often as it did would never be shorter than the recorded run.

use holdup_model::{Arrange, Ending, Nanos, ObjectId, ObjectKind, Outcome, Process, Time, Wait};

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
pub(crate) fn repeated(process: &Process, endings: &[Ending], order: &[usize]) -> Vec<bool> {
    let mut repeated = vec![false; process.waits.len()];
    if !process.waits.iter().any(|wait| wait.outcome == Outcome::TimedOut) {
        return repeated;
    }
    let given = given(process, endings);
    let goes_on = |before: &Wait, wait: &Wait| {
        let period = before.end.since(before.begin);
        let is_long = |length: Nanos| length.share_of(period) >= LOOKING;
        let gifts = &given[wait.thread.index()];
        let from = gifts.partition_point(|gift| gift.at < before.end);
        let until = gifts.partition_point(|gift| gift.at < wait.begin);
        // Whoever waits for it for most of the time, and then has much to do, takes its pace from it.
        let sets_pace =
            gifts[from..until.max(from)].iter().any(|gift| is_long(gift.waited) && is_long(gift.at_work));
        !is_long(wait.begin.since(before.end)) && !sets_pace
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
        match wait.outcome {
            Outcome::TimedOut if wait.end.since(wait.begin) < LEAST_PERIOD => {}
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
    use holdup_model::{EdgeKind, ThreadId};

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
}
