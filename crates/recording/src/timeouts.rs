//! A poll whose time was up, and that is made again until it brings what another thread sends, is a part of the wait for that.

use holdup_model::{Block, Call, Nanos, ObjectId, ObjectKind, Outcome, Process, Time, Wait};

/// Who polls again has worked for less than this share of the poll's time in between: it has only looked whether it shall go on.
const LOOKING: f64 = 0.1;

/// What follows a call: when it begins, and the thread's CPU time by then, and what is waited for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    begin: Time,
    cpu: Option<Nanos>,
    object: ObjectId,
}

/// Makes waits that timed out of such polls.
pub(crate) fn wait_on(process: &mut Process) {
    if !process.blocks.iter().any(polled_in_vain) {
        return;
    }
    let mut waited: Vec<Vec<Next>> = process.threads.iter().map(|_| Vec::new()).collect();
    for wait in process.waits.iter().filter(|wait| wait.outcome == Outcome::Granted) {
        let kind = process.object(wait.object).kind;
        if kind == ObjectKind::Messages || kind == ObjectKind::ThreadEnd {
            let Wait { begin, cpu_begin: cpu, object, .. } = *wait;
            waited[wait.thread.index()].push(Next { begin, cpu, object });
        }
    }
    waited.iter_mut().for_each(|waits| waits.sort_unstable());
    process.blocks.sort_by_key(|block| (block.begin, block.thread));
    // From the last one back, since each may be followed by one that is known to be a part by then.
    let mut followed_by: Vec<Option<Next>> = vec![None; process.threads.len()];
    let mut parts: Vec<Wait> = Vec::new();
    for block in std::mem::take(&mut process.blocks).into_iter().rev() {
        let (waits, next) = (&mut waited[block.thread.index()], &mut followed_by[block.thread.index()]);
        while let Some(later) = waits.pop_if(|later| later.begin >= block.end) {
            *next = Some(later);
        }
        let goes_on = |next: &Next| {
            let worked = block.cpu_end.zip(next.cpu).map(|(before, by_then)| by_then.saturating_sub(before));
            let worked = worked.unwrap_or(next.begin.since(block.end));
            worked.share_of(block.end.since(block.begin)) < LOOKING
        };
        match next.filter(goes_on) {
            Some(Next { object, .. }) if polled_in_vain(&block) => {
                let Block { thread, begin, end, site, cpu_begin, cpu_end, .. } = block;
                *next = Some(Next { begin, cpu: cpu_begin, object });
                let wait = Wait::granted(thread, object, begin, end);
                parts.push(Wait { site, cpu_begin, cpu_end, outcome: Outcome::TimedOut, ..wait });
            }
            _ => process.blocks.push(block),
        }
    }
    process.blocks.reverse();
    process.waits.extend(parts.into_iter().rev());
}

fn polled_in_vain(block: &Block) -> bool {
    block.timed_out && block.call == Call::Poll
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdup_model::{State, Timeline, Wake, WakeCount};

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// Main polls in these times (from, until, whether its time was up), and waits for a message that a worker sends from 400 to 500 ms. How
    /// long it is blocked for the message, and in I/O (ms), and its waits in the order of time.
    fn of(polls: &[(u64, u64, bool)]) -> (u64, u64, Vec<Outcome>) {
        let mut process = Process::new(at(0), at(600));
        let [main, worker] = ["main", "worker"].map(|name| process.add_thread(name, at(0), None));
        let messages = process.add_object(ObjectKind::Messages, 1 << 63);
        for &(begin, end, timed_out) in polls {
            let (begin, end) = (at(begin), at(end));
            let (site, cpu_begin, cpu_end) = (None, None, None);
            let (thread, call) = (main, Call::Poll);
            process.blocks.push(Block { thread, begin, end, call, timed_out, site, cpu_begin, cpu_end });
        }
        let wait = Wait::granted(main, messages, at(400), at(500));
        process.waits.push(Wait { owner: Some(worker), ..wait });
        let (time, count) = (at(500), WakeCount::AtMost(1));
        process.wakes.push(Wake { thread: worker, time, object: messages, site: None, count });
        wait_on(&mut process);
        let timeline = Timeline::build(&process);
        assert_eq!(timeline.check(), Ok(()));
        let row = &timeline.threads[main.index()];
        let time_in = |wanted: State| row.time_in(|state| state == wanted).get() / 1_000_000;
        process.waits.sort_by_key(|wait| wait.begin);
        let outcomes = process.waits.iter().map(|wait| wait.outcome).collect();
        (time_in(State::Blocked), time_in(State::Io), outcomes)
    }

    #[test]
    fn polls_in_vain_are_parts_of_the_wait_that_they_lead_to() {
        use Outcome::{Granted, TimedOut};
        let all = [(100, 199, true), (200, 299, true), (300, 399, true)];
        assert_eq!(of(&all), (397, 0, vec![TimedOut, TimedOut, TimedOut, Granted]));
        let [first, mut second, third] = all;
        second.2 = false;
        assert_eq!(of(&[first, second, third]), (199, 198, vec![TimedOut, Granted]), "something came");
        assert_eq!(of(&[first, third]), (199, 99, vec![TimedOut, Granted]), "it worked in between");
        assert_eq!(of(&[(300, 380, true)]), (100, 80, vec![Granted]), "it worked before the wait");
        assert_eq!(of(&[(510, 590, true)]), (100, 80, vec![Granted]), "nothing came any more");
    }

    /// Between the first poll and the second one the thread has no core for 40 ms, on a busy machine, or works.
    #[test]
    fn who_had_no_core_between_two_polls_has_done_nothing() {
        let polls_on = |worked: u64| {
            let mut process = Process::new(at(0), at(600));
            let [main, worker] = ["main", "worker"].map(|name| process.add_thread(name, at(0), None));
            let messages = process.add_object(ObjectKind::Messages, 1 << 63);
            for (begin, end, cpu) in [(100, 200, 0), (240, 300, worked)] {
                let cpu = Some(Nanos::new(cpu * 1_000_000));
                process.blocks.push(Block {
                    thread: main,
                    begin: at(begin),
                    end: at(end),
                    call: Call::Poll,
                    timed_out: true,
                    site: None,
                    cpu_begin: cpu,
                    cpu_end: cpu,
                });
            }
            let cpu_begin = Some(Nanos::new(worked * 1_000_000));
            let wait = Wait::granted(main, messages, at(301), at(500));
            process.waits.push(Wait { owner: Some(worker), cpu_begin, ..wait });
            wait_on(&mut process);
            process.waits.len()
        };
        assert_eq!([polls_on(1), polls_on(40)], [3, 2]);
    }
}
