//! Calls that lose their core but wait for nothing: to send a message wakes up who reads it, and that one takes the core.
//!
//! Where context switches were recorded they tell why a thread left its core. Where they were not, a call in which the thread
//! lost it might have waited; that others of the same place never did says that it did not.

use crate::{Left, Nanos, OnCore, Process, ThreadId};

/// So many calls of a place must have been seen, of which at most this share waited.
const FEWEST: u32 = 20;
const MOST_WAITING: f64 = 0.05;

/// By site: true where calls lose their core, as far as context switches were recorded, and hardly ever to wait.
pub(crate) fn only_preempted(process: &Process) -> Vec<bool> {
    let covered: Nanos = process.covered.iter().map(|(from, until)| until.since(*from)).sum();
    if process.covered.is_empty() || covered >= process.end.since(process.start) {
        // Nothing is known, or all.
        return vec![false; process.sites.len()];
    }
    let mut spans: Vec<&OnCore> = process.on_core.iter().collect();
    spans.sort_unstable_by_key(|span| (span.thread, span.end));
    let mut seen = vec![(0_u32, 0_u32); process.sites.len()];
    for block in &process.blocks {
        let Some(site) = block.site else { continue };
        let after = process.covered.partition_point(|covered| covered.0 <= block.begin);
        let covered = process.covered[..after].last();
        if covered.is_none_or(|covered| block.end > covered.1) {
            continue;
        }
        let from = |time, thread: ThreadId| {
            spans.partition_point(move |span| (span.thread, span.end) < (thread, time))
        };
        let within = &spans[from(block.begin, block.thread)..from(block.end, block.thread)];
        let (waited, preempted) = &mut seen[site.index()];
        if within.iter().any(|span| span.left == Left::Blocked) {
            *waited += 1;
        } else if within.iter().any(|span| span.left == Left::Preempted) {
            *preempted += 1;
        }
    }
    let hardly_waits = |(waited, preempted): (u32, u32)| {
        let all = waited + preempted;
        all >= FEWEST && f64::from(waited) <= MOST_WAITING * f64::from(all)
    };
    seen.into_iter().map(hardly_waits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Call, Site, State, Time, Timeline};

    /// What a thread does in a call of each place, while context switches are recorded and after that.
    #[test]
    fn what_never_waited_while_that_was_known_does_not_later() {
        let at = |micros: u64| Time::from_nanos(micros * 1_000);
        let mut process = Process::new(at(0), at(4_000));
        process.seen_by.preload = true;
        let thread = process.add_thread("main", at(0), Some(at(4_000)));
        let [sends, reads, sometimes] = [(); 3].map(|()| process.add_site(Site::default()));
        let write = |begin, end, site| {
            let (timed_out, cpu_begin, cpu_end) = (false, None, None);
            Block { thread, begin, end, call: Call::Write, timed_out, site: Some(site), cpu_begin, cpu_end }
        };
        process.covered = vec![(at(0), at(2_000))];
        let mut began = at(0);
        for round in 0..20 {
            let places = [(sends, false), (reads, true), (sometimes, round % 10 == 0)];
            for (begin, (site, waits)) in (100 * round..).step_by(30).zip(places) {
                let (begin, lost, end) = (at(begin + 5), at(begin + 7), at(begin + 20));
                let left = if waits { Left::Blocked } else { Left::Preempted };
                process.on_core.push(OnCore { thread, begin: began, end: lost, core: 0, left });
                began = end;
                process.blocks.push(write(begin, end, site));
            }
        }
        process.on_core.push(OnCore { thread, begin: began, end: at(2_000), core: 0, left: Left::Unknown });
        for (begin, site) in [(2_100, sends), (2_200, reads), (2_300, sometimes)] {
            process.blocks.push(write(at(begin), at(begin + 50), site));
        }
        assert_eq!(only_preempted(&process), [true, false, false]);
        let row = &Timeline::build(&process).threads[0];
        let state_at = |micros| row.segments.iter().find(|one| one.end > at(micros)).map(|one| one.state);
        let states = [2_110, 2_160, 2_210, 2_310].map(|micros| state_at(micros).unwrap());
        assert_eq!(states, [State::Descheduled, State::Active, State::Io, State::Io]);
        // Of too few nothing is said.
        process.covered = vec![(at(0), at(1_800))];
        assert_eq!(only_preempted(&process), [false; 3]);
    }
}
