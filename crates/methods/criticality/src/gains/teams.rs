//! What an OpenMP program would take with teams of no more threads than there are cores.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::openmp::{Instance, Region};
use holdup_model::{Nanos, Process, Row, State, ThreadId, Time, Timeline};
use holdup_sections::{Regions, Standing, real_teams, time_of};

/// Less of the time in parallel regions than this share says nothing of the rest.
const LEAST_RECORDED: f64 = 0.5;

/// What smaller teams save of the time in parallel regions (ns; less than nothing where they take longer).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Saved {
    /// Where what several threads did of a loop without a schedule of its own is one thread's.
    pub(super) time: f64,
    /// Where all is dealt out evenly.
    pub(super) most: f64,
    /// Where starting teams and joining them takes long.
    pub(super) least: f64,
}

/// What it takes to start a team that has a core for each thread and to join it, at most (ns): EPCC's `parallel` takes 2 to 5 µs with
/// two threads, with gcc and with LLVM.
const STARTING: f64 = 5_000.0;

/// What the regions of larger teams would save with teams of `cores` threads; `None` where too little of them was recorded, or
/// regions are nested.
///
/// With a static schedule a thread of a smaller team has the iterations of several neighbours of a larger one: of m threads
/// that worked w₀ … wₘ₋₁ on c cores thread j has those from j m / c to (j + 1) m / c, and the region lasts as long as the longest
/// of these sums. What is dealt out as threads become free lasts Σ w / c. Work is CPU time without waiting.
pub(super) fn saved(process: &Process, timeline: &Timeline, cores: u32) -> Option<Saved> {
    let regions = Regions::of(process, &real_teams(std::iter::once(process)));
    if regions.rows.iter().any(|(_, standing)| *standing == Standing::Nested) {
        return None;
    }
    let larger: Vec<&Region> = regions.outermost().filter(|region| region.size > cores).collect();
    let all: u64 = larger.iter().map(|region| time_of(region)).sum();
    let shares = Shares::of(process, timeline);
    let (mut recorded, mut saved) = (0u64, Saved { time: 0.0, most: 0.0, least: 0.0 });
    for region in larger.iter().filter(|region| region.whole) {
        let Some(work) = shares.work(region) else { continue };
        let length = region.end.since(region.begin).get();
        let even = work.iter().sum::<f64>() / f64::from(cores);
        let longest = if shares.dealt.contains(&region.instance) { even } else { longest(&work, cores) };
        recorded += length;
        saved.time += length as f64 - longest;
        saved.most += length as f64 - even;
        saved.least += length as f64 - longest - STARTING;
    }
    let share = Nanos::new(recorded).share_of(Nanos::new(all));
    let all = |saved: f64| saved / share;
    (recorded > 0 && share >= LEAST_RECORDED).then(|| Saved {
        time: all(saved.time),
        most: all(saved.most),
        least: all(saved.least),
    })
}

/// The work of the thread that has the most, where so many threads do what these did.
fn longest(work: &[f64], threads: u32) -> f64 {
    let each = work.len() as f64 / f64::from(threads);
    let of = |thread: u32| -> f64 {
        let (from, until) = (f64::from(thread) * each, f64::from(thread + 1) * each);
        let part = |index: usize| (until.min(index as f64 + 1.0) - from.max(index as f64)).max(0.0);
        work.iter().enumerate().map(|(index, work)| work * part(index)).sum()
    };
    (0..threads).map(of).fold(0.0, f64::max)
}

/// Who did what of each execution.
struct Shares<'a> {
    /// By number in the team.
    by_instance: BTreeMap<Instance, BTreeMap<u32, (ThreadId, Time, Time)>>,
    /// Executions in which work was dealt out as threads became free.
    dealt: BTreeSet<Instance>,
    /// By thread.
    work: Vec<Work<'a>>,
}

impl<'a> Shares<'a> {
    fn of(process: &Process, timeline: &'a Timeline) -> Self {
        let openmp = &process.openmp;
        let mut by_instance: BTreeMap<Instance, BTreeMap<u32, (ThreadId, Time, Time)>> = BTreeMap::new();
        for share in &openmp.shares {
            let own = (share.thread, share.begin, share.end);
            by_instance.entry(share.instance).or_default().insert(share.index, own);
        }
        let works = openmp.works.iter().filter(|work| work.kind.is_dealt_out()).map(|work| work.instance);
        let dealt = works.chain(openmp.task_runs.iter().filter_map(|run| run.instance)).collect();
        Self { by_instance, dealt, work: timeline.threads.iter().map(Work::of).collect() }
    }

    /// The work of each thread of a team (ns); `None` where not all of them were recorded.
    fn work(&self, region: &Region) -> Option<Vec<f64>> {
        let shares = self.by_instance.get(&region.instance)?;
        let of = |&(thread, begin, end): &(ThreadId, Time, Time)| {
            let own = &self.work[thread.index()];
            own.until(end) - own.until(begin.min(end))
        };
        (shares.len() == region.size as usize).then(|| shares.values().map(of).collect())
    }
}

/// The work of one thread over time.
struct Work<'a> {
    row: &'a Row,
    /// What was done before each segment (ns).
    before: Vec<f64>,
}

impl<'a> Work<'a> {
    fn of(row: &'a Row) -> Self {
        let mut done = 0.0;
        let sum = |segment| {
            let before = done;
            done += on_core(segment);
            before
        };
        Self { row, before: row.segments.iter().map(sum).collect() }
    }

    fn until(&self, time: Time) -> f64 {
        let begun = self.row.segments.partition_point(|segment| segment.start < time);
        let Some(last) = begun.checked_sub(1) else { return 0.0 };
        let segment = &self.row.segments[last];
        let part = time.min(segment.end).since(segment.start).share_of(segment.length());
        self.before[last] + on_core(segment) * part
    }
}

/// The CPU time of work in a segment (ns).
fn on_core(segment: &holdup_model::Segment) -> f64 {
    if segment.state != State::Active {
        return 0.0;
    }
    segment.cpu.unwrap_or(segment.length()).min(segment.length()).get() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_a_smaller_team_has_what_its_neighbours_had() {
        // A triangle: the last half has three quarters.
        assert_eq!(longest(&[1.0, 3.0, 5.0, 7.0], 2), 12.0);
        assert_eq!(longest(&[4.0, 4.0, 4.0, 4.0], 2), 8.0);
        // Three on two cores: each has one and a half.
        assert_eq!(longest(&[2.0, 2.0, 2.0], 2), 3.0);
        assert_eq!(longest(&[5.0], 1), 5.0);
    }
}
