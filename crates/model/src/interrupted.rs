//! Spinning without a core: a thread that lost its core in a loop that waits, and was still there when it got one
//! again, has waited in between. A core would not have helped it. And so has one that gives its core away, again and again,
//! right after it got it: what it does in between is too short for samples to find.

use std::collections::BTreeMap;

use crate::sides::{Side, sides};
use crate::{Doing, Frame, Nanos, Places, Process, Row, Segment, SiteId, State, Time, Timeline};

/// What a thread does on a core for less than this between two times of spinning may be a round of a loop that gives its
/// core away (`sched_yield`): too short to be sampled.
const SHORTEST_WORK: Nanos = Nanos::new(50_000);

/// A thread that is switched out after less than this on a core, and wants to go on, gave it away: others are given a core for
/// longer (1 to 3 µs for a look and the call).
const SHORTEST_TURN: Nanos = Nanos::new(20_000);

/// So many times in a row is no chance.
const FEWEST_TURNS: usize = 2;

/// So many looks in a row at a thread that searches for work say that it does so until it gives up.
const FEWEST_LOOKS: usize = 3;

/// Turns times between two times of spinning into spinning: those without a core, and those of which it is not known
/// whether the thread had one, where no look at it says that it worked. Work in a share of a parallel region or in a task is
/// no round of a loop around it.
pub(crate) fn spinning_goes_on(process: &Process, timeline: &mut Timeline) {
    let is_spinning = |segment: &Segment| segment.state == State::Spinning;
    if !timeline.threads.iter().flat_map(|row| &row.segments).any(is_spinning) {
        return;
    }
    let mut sides = sides(process);
    sides.resize_with(timeline.threads.len(), Vec::new);
    let mut looks: Vec<Vec<Time>> = vec![Vec::new(); timeline.threads.len()];
    for sample in process.samples.iter().filter(|sample| sample.doing == Doing::Running) {
        looks[sample.thread.index()].push(sample.time);
    }
    looks.iter_mut().for_each(|looks| looks.sort_unstable());
    giving_away(process, timeline, &looks);
    for ((row, looks), sides) in timeline.threads.iter_mut().zip(&looks).zip(&sides) {
        // The last segment in which the thread spun, while nothing else has followed.
        let mut spun: Option<usize> = None;
        for index in 0..row.segments.len() {
            let segment = &row.segments[index];
            match segment.state {
                State::Spinning if segment.object.is_none() => {
                    if let Some(before) = spun {
                        let site = row.segments[before].site;
                        for between in &mut row.segments[before + 1..index] {
                            *between = Segment { state: State::Spinning, site, ..between.clone() };
                        }
                    }
                    spun = Some(index);
                }
                State::Descheduled => {}
                State::Active
                    if is_unknown(process, segment)
                        && !is_seen(looks, segment)
                        && !spun
                            .is_some_and(|spun| goes_over(sides, row.segments[spun].end, segment.end)) => {}
                _ => spun = None,
            }
        }
        giving_up(process, &timeline.places, row, looks);
    }
}

/// Turns what lies between a long search for work and the idle wait in the same function of a runtime into a part of the search: a
/// thread that had found something to do would have searched again for long, and been seen, before it gave up. Not so OpenMP's, which
/// may go over to waiting at once, and whose stacks have the program's functions for places.
fn giving_up(process: &Process, places: &Places, row: &mut Row, looks: &[Time]) {
    let function = |site: Option<SiteId>| {
        let site = process.site(site?);
        let place = site.place().filter(|_| !site.frames.iter().any(Frame::is_of_openmp))?;
        Some((place.function.as_deref()?, place.module.as_deref()))
    };
    for index in 0..row.segments.len() {
        let before = |end: usize, is_part: &dyn Fn(&Segment) -> bool| {
            row.segments[..end].iter().rev().take_while(|segment| is_part(segment)).count()
        };
        let waits = &row.segments[index];
        if waits.state != State::Blocked || !places.idles(waits.site) {
            continue;
        }
        let is_off = |segment: &Segment| segment.state == State::Descheduled;
        let seeks = |segment: &Segment| {
            segment.state == State::Spinning && segment.object.is_none() && places.seeks_work(segment.site)
        };
        let begin =
            index - before(index, &|one| is_off(one) || one.state == State::Active && !is_seen(looks, one));
        let first = begin - before(begin, &|one| is_off(one) || seeks(one));
        let Some(last) = row.segments[first..begin].iter().rfind(|one| seeks(one)) else { continue };
        let (site, end) = (last.site, last.end);
        let seen = |time: Time| looks.partition_point(|&look| look <= time);
        let is_long = seen(end) - seen(row.segments[first].start) >= FEWEST_LOOKS;
        if is_long && function(site).is_some() && function(site) == function(waits.site) {
            for segment in &mut row.segments[begin..index] {
                *segment = Segment { state: State::Spinning, site, ..segment.clone() };
            }
        }
    }
}

/// Turns what threads do that give their cores away again and again into spinning, where they, or others that were started with the
/// same function of the program, were found in a loop that waits. (A runtime starts all of its threads with one function of its own.)
fn giving_away(process: &Process, timeline: &mut Timeline, looks: &[Vec<Time>]) {
    let entry = |thread: usize| {
        let entry = process.threads.get(thread)?.entry?;
        process.site(entry).place().filter(|place| place.is_program()).map(|_| entry)
    };
    let sort = |thread: usize| entry(thread).ok_or(thread);
    let mut loops: BTreeMap<Result<SiteId, usize>, BTreeMap<SiteId, Nanos>> = BTreeMap::new();
    for (index, row) in timeline.threads.iter().enumerate() {
        let spun = row.segments.iter().filter(|segment| segment.state == State::Spinning);
        for (segment, site) in
            spun.filter(|segment| segment.object.is_none()).filter_map(|one| Some((one, one.site?)))
        {
            *loops.entry(sort(index)).or_default().entry(site).or_default() += segment.length();
        }
    }
    for ((index, row), looks) in timeline.threads.iter_mut().enumerate().zip(looks) {
        let most = loops.get(&sort(index)).and_then(|sites| sites.iter().max_by_key(|&(_, time)| *time));
        let Some((&site, _)) = most else { continue };
        for (begin, end) in turns(process, row, looks) {
            for segment in &mut row.segments[begin..end] {
                *segment = Segment { state: State::Spinning, site: Some(site), ..segment.clone() };
            }
        }
    }
}

/// Where a thread was switched out after a turn and wanted to go on, several times in a row: ranges of its segments. They begin and
/// end without a core.
fn turns(process: &Process, row: &Row, looks: &[Time]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let is_off = |index: usize| row.segments.get(index).is_some_and(|one| one.state == State::Descheduled);
    let is_turn = |index: usize| {
        row.segments.get(index).is_some_and(|one| {
            one.state == State::Active
                && one.length() < SHORTEST_TURN
                && is_recorded(process, one)
                && !is_seen(looks, one)
        })
    };
    let mut index = 0;
    while index < row.segments.len() {
        let begin = index;
        index += 1;
        if !is_off(begin) {
            continue;
        }
        let mut times = 0;
        while is_turn(index) && is_off(index + 1) {
            index += 2;
            times += 1;
        }
        if times >= FEWEST_TURNS {
            found.push((begin, index));
        }
    }
    found
}

/// True if the segment may have been a part of the loop, as far as is known.
fn is_unknown(process: &Process, segment: &Segment) -> bool {
    segment.length() < SHORTEST_WORK || !is_recorded(process, segment)
}

/// True if the kernel's records tell of a part of the segment.
fn is_recorded(process: &Process, segment: &Segment) -> bool {
    let after = process.covered.partition_point(|covered| covered.1 <= segment.start);
    process.covered.get(after).is_some_and(|covered| covered.0 < segment.end)
}

/// True if the thread goes over to another side at `from` or later, before `until`.
fn goes_over(sides: &[(Time, Side)], from: Time, until: Time) -> bool {
    let next = sides.partition_point(|change| change.0 < from);
    sides.get(next).is_some_and(|change| change.0 < until)
}

/// True if the thread was looked at in the segment.
fn is_seen(looks: &[Time], segment: &Segment) -> bool {
    let after = looks.partition_point(|&look| look <= segment.start);
    looks.get(after).is_some_and(|&look| look <= segment.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sample, ThreadId};

    const LENGTH: u64 = 1_000_000;

    fn states_after(process: &Process, states: &[State]) -> Vec<State> {
        let segments = states.iter().zip(0..).map(|(&state, start)| {
            let (start, end) = (Time::from_nanos(start * LENGTH), Time::from_nanos((start + 1) * LENGTH));
            Segment { start, end, state, object: None, site: None, by: None, cpu: None }
        });
        let end = Time::from_nanos(states.len() as u64 * LENGTH);
        let row = Row { start: Time::default(), end, segments: segments.collect() };
        let mut timeline = Timeline { end, threads: vec![row], ..Timeline::default() };
        spinning_goes_on(process, &mut timeline);
        timeline.threads[0].segments.iter().map(|segment| segment.state).collect()
    }

    #[test]
    fn only_what_lies_between_two_spins_is_one() {
        use State::{Active, Descheduled, Spinning};
        let process = Process {
            covered: vec![(Time::default(), Time::from_nanos(100 * LENGTH))],
            ..Process::default()
        };
        let states =
            [Descheduled, Spinning, Descheduled, Descheduled, Spinning, Descheduled, Active, Spinning];
        let expected = [Descheduled, Spinning, Spinning, Spinning, Spinning, Descheduled, Active, Spinning];
        assert_eq!(states_after(&process, &states), expected);
    }

    /// Of each state for so long (µs), after what a thread of the same kind was found in a loop that waits.
    fn after_giving_away(parts: &[(State, u64)], is_known: bool, start_function: &str) -> Vec<State> {
        let mut at = 0;
        let mut segment = |state, length: u64| {
            let start = Time::from_nanos(at);
            at += 1_000 * length;
            let (object, site, by, cpu) = (None, None, None, None);
            Segment { start, end: Time::from_nanos(at), state, object, site, by, cpu }
        };
        let mut other = segment(if is_known { State::Spinning } else { State::Active }, 100);
        other.site = Some(SiteId::new(0));
        let segments: Vec<Segment> = parts.iter().map(|&(state, length)| segment(state, length)).collect();
        let end = Time::from_nanos(at);
        let mut process = Process { covered: vec![(Time::default(), end)], end, ..Process::default() };
        let frame = crate::Frame { function: Some(start_function.to_owned()), ..crate::Frame::default() };
        let entry = process.add_site(crate::Site { frames: vec![frame], ..crate::Site::default() });
        for name in ["one", "other"] {
            let thread = process.add_thread(name, Time::default(), None);
            process.threads[thread.index()].entry = Some(entry);
        }
        let row = |segments| Row { start: Time::default(), end, segments };
        let threads = vec![row(vec![other]), row(segments)];
        let mut timeline = Timeline { end, threads, ..Timeline::default() };
        spinning_goes_on(&process, &mut timeline);
        timeline.threads[1].segments.iter().map(|segment| segment.state).collect()
    }

    #[test]
    fn who_gives_its_core_away_again_and_again_waits() {
        use State::{Active, Descheduled, Spinning};
        let parts = [
            (Active, 500),
            (Descheduled, 4),
            (Active, 2),
            (Descheduled, 3),
            (Active, 2),
            (Descheduled, 900),
            (Active, 500),
        ];
        let states = parts.map(|(state, _)| state);
        let expected = [Active, Spinning, Spinning, Spinning, Spinning, Spinning, Active];
        assert_eq!(after_giving_away(&parts, true, "match_worker"), expected);
        // Nobody was found in a loop, or somebody who may do anything else.
        assert_eq!(after_giving_away(&parts, false, "match_worker"), states);
        assert_eq!(
            after_giving_away(&parts, true, "std::sys::thread::unix::Thread::new::thread_start"),
            states
        );
        // Once may be chance, and what is longer is work.
        for parts in [
            [(Descheduled, 4), (Active, 2), (Descheduled, 900)],
            [(Descheduled, 4), (Active, 400), (Descheduled, 900)],
        ] {
            assert_eq!(after_giving_away(&parts, true, "match_worker"), parts.map(|(state, _)| state));
        }
    }

    /// What a thread did that spins at a stack (functions, innermost first, each with its module), is looked at at these times, does
    /// something else and waits at a stack.
    fn before_a_wait(looks: &[u64], spins: &[&str], waits: &[&str]) -> State {
        let mut process = Process::default();
        let [spins, waits] = [spins, waits].map(|functions| {
            let frame = |function: &&str| {
                let (function, module) = function.split_once('@').expect("function@module");
                let (function, module) = (Some(function.to_owned()), Some(module.to_owned()));
                Frame { function, module, ..Frame::default() }
            };
            let frames = functions.iter().map(frame).collect();
            process.add_site(crate::Site { frames, ..crate::Site::default() })
        });
        let end = Time::from_nanos(100 * LENGTH);
        process.covered = vec![(Time::default(), end)];
        process.samples.extend(looks.iter().map(|&time| Sample {
            thread: ThreadId::new(0),
            time: Time::from_nanos(time * LENGTH),
            doing: Doing::Running,
            site: None,
            weight: Nanos::new(1),
            access: None,
            in_kernel: None,
        }));
        let part = |(from, to, state, site): (u64, u64, State, Option<SiteId>)| Segment {
            start: Time::from_nanos(from * LENGTH),
            end: Time::from_nanos(to * LENGTH),
            state,
            object: None,
            site,
            by: None,
            cpu: None,
        };
        let parts = [
            (0, 15, State::Spinning, Some(spins)),
            (15, 18, State::Active, None),
            (18, 100, State::Blocked, Some(waits)),
        ];
        let row = Row { start: Time::default(), end, segments: parts.map(part).to_vec() };
        let places = Places::of(&process);
        let mut timeline = Timeline { end, threads: vec![row], places, ..Timeline::default() };
        spinning_goes_on(&process, &mut timeline);
        timeline.threads[0].segments[1].state
    }

    #[test]
    fn who_gives_up_spinning_spun_until_then() {
        let (spins, waits) = (
            ["blas_thread_server@libopenblas.so"],
            ["pthread_cond_wait@libc.so.6", "blas_thread_server@libopenblas.so"],
        );
        assert_eq!(before_a_wait(&[5, 10, 15], &spins, &waits), State::Spinning);
        // It was seen at something else, or may not have spun for long enough to be seen again.
        assert_eq!(before_a_wait(&[5, 10, 15, 17], &spins, &waits), State::Active);
        assert_eq!(before_a_wait(&[10, 15], &spins, &waits), State::Active);
        // What waits elsewhere, in a function of the program, and in OpenMP's, may have been given something.
        assert_eq!(before_a_wait(&[5, 10, 15], &spins, &["serve@app"]), State::Active);
        assert_eq!(before_a_wait(&[5, 10, 15], &["serve@app"], &["serve@app"]), State::Active);
        let [spins, waits] = ["do_spin@libgomp.so.1", "futex_wait@libgomp.so.1"]
            .map(|inner| [inner, "gomp_barrier_wait_end@libgomp.so.1", "step@app"]);
        assert_eq!(before_a_wait(&[5, 10, 15], &spins, &waits), State::Active);
    }

    #[test]
    fn without_records_it_is_work_only_if_it_was_seen() {
        use State::{Active, Spinning};
        let mut process = Process::default();
        let (thread, doing, weight) = (ThreadId::new(0), Doing::Running, Nanos::new(1));
        process.samples.push(Sample {
            thread,
            time: Time::from_nanos(4 * LENGTH),
            doing,
            site: None,
            weight,
            access: None,
            in_kernel: None,
        });
        let states = [Spinning, Active, Spinning, Active, Spinning, Active];
        assert_eq!(states_after(&process, &states), [Spinning, Spinning, Spinning, Active, Spinning, Active]);
    }
}
