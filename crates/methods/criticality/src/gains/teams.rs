//! What an OpenMP program would take with teams of no more threads than there are cores.

use std::collections::BTreeMap;

use holdup_model::openmp::{Instance, Region};
use holdup_model::{Nanos, Process, Row, Segment, State, ThreadId, Time, Timeline};
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

/// What it takes a team that has a core for each thread to begin or to meet at a barrier, and at most (ns): EPCC's `parallel` and
/// `barrier` take 1 to 5 µs with two threads, with gcc and with LLVM.
const MEETING: f64 = 3_000.0;
const LONGEST_MEETING: f64 = 5_000.0;

/// By how much of it the way from one barrier to the next is longer than its CPU time, and at most (ns): threads with equal work do not
/// come at the same time, and what switches often is longer for being recorded. Of 14 pairs of runs with ways of 20 to 300 µs the
/// one with two threads took 1.05 to 1.6 times as long as by CPU time alone (in the median 1.2), with ways of 10 ms and more 1.00 to 1.03.
const UNEVEN: (f64, f64) = (0.2, 100_000.0);
const MOST_UNEVEN: (f64, f64) = (0.4, 200_000.0);

/// What the regions of larger teams would save with teams of `cores` threads; `None` where too little of them was recorded, or
/// regions are nested.
///
/// With a static schedule a thread of a smaller team has the iterations of several neighbours of a larger one: of m threads
/// that worked w₀ … wₘ₋₁ on c cores thread j has those from j m / c to (j + 1) m / c, and from one barrier to the next it takes as long
/// as the longest of these sums. Chunks and tasks are taken in the order in which they began by whoever is free, and what is not in any that was
/// recorded is done by all. Work is CPU time without waiting.
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
        let Some(legs) = shares.legs(region) else { continue };
        let length = region.end.since(region.begin).get();
        let all: f64 = legs.iter().flatten().sum();
        let even = all / f64::from(cores);
        let longest = match shares.pieces.get(&region.instance) {
            Some(pieces) => shares.taken(pieces, all, cores),
            None => legs.iter().map(|work| longest(work, cores)).sum(),
        };
        recorded += length;
        let meetings = legs.len() as f64;
        let late = |(share, most): (f64, f64)| (share * longest / meetings).min(most);
        saved.time += length as f64 - longest - (MEETING + late(UNEVEN)) * meetings;
        saved.most += length as f64 - even;
        saved.least += length as f64 - longest - (LONGEST_MEETING + late(MOST_UNEVEN)) * meetings;
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

/// When the last of so many threads has done pieces of these lengths, of which each is taken by the first that is free, and its part
/// of the rest of all work.
fn taken(lengths: impl Iterator<Item = f64>, all: f64, threads: u32) -> f64 {
    let mut busy = vec![0.0f64; threads.max(1) as usize];
    for length in lengths {
        let first = busy.iter_mut().min_by(|a, b| a.total_cmp(b));
        first.into_iter().for_each(|first| *first += length);
    }
    // Whoever has less of the pieces has more of the rest.
    let last = busy.iter().copied().fold(0.0, f64::max);
    last.max(all / f64::from(threads.max(1)))
}

/// Who did what of each execution.
struct Shares<'a> {
    /// By number in the team.
    by_instance: BTreeMap<Instance, BTreeMap<u32, (ThreadId, Time, Time)>>,
    /// When a thread arrived at each barrier of an execution and left it, by number.
    barriers: BTreeMap<(Instance, ThreadId), BTreeMap<u32, (Time, Time)>>,
    /// Of executions in which work was dealt out as threads became free what one of them took at a time, by its begin.
    pieces: BTreeMap<Instance, Vec<(Time, Time, ThreadId)>>,
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
        let mut pieces: BTreeMap<Instance, Vec<(Time, Time, ThreadId)>> = BTreeMap::new();
        for work in openmp.works.iter().filter(|work| work.kind.is_dealt_out()) {
            pieces.entry(work.instance).or_default();
        }
        for chunk in &openmp.chunks {
            pieces.entry(chunk.instance).or_default().push((chunk.begin, chunk.end, chunk.thread));
        }
        for run in &openmp.task_runs {
            let Some(instance) = run.instance else { continue };
            let pieces = pieces.entry(instance).or_default();
            // Those that were not recorded one by one are together.
            pieces.extend(run.task.map(|_| (run.begin, run.end, run.thread)));
        }
        pieces.values_mut().for_each(|pieces| pieces.sort_unstable());
        let mut barriers: BTreeMap<(Instance, ThreadId), BTreeMap<u32, (Time, Time)>> = BTreeMap::new();
        for sync in openmp.syncs.iter().filter(|sync| sync.kind.is_barrier()) {
            let own = barriers.entry((sync.instance, sync.thread)).or_default();
            let visit = own.entry(sync.sequence).or_insert((sync.begin, sync.end));
            *visit = (visit.0.min(sync.begin), visit.1.max(sync.end));
        }
        Self { by_instance, barriers, pieces, work: timeline.threads.iter().map(Work::of).collect() }
    }

    /// How long so many threads have to do with these pieces, of so much work in all (ns).
    fn taken(&self, pieces: &[(Time, Time, ThreadId)], all: f64, threads: u32) -> f64 {
        let lengths =
            pieces.iter().map(|&(begin, end, thread)| self.work[thread.index()].between(begin, end));
        taken(lengths, all, threads)
    }

    /// From one barrier to the next the work of each thread of a team (ns), from the begin to the end where they were not all recorded
    /// at the same barriers; `None` where not all of them were recorded.
    fn legs(&self, region: &Region) -> Option<Vec<Vec<f64>>> {
        let shares = self.by_instance.get(&region.instance)?;
        if shares.len() != region.size as usize {
            return None;
        }
        let visits = |thread: ThreadId| self.barriers.get(&(region.instance, thread));
        let mut met = shares.values().map(|&(thread, ..)| visits(thread).map(|visits| visits.keys()));
        let first = met.next()?;
        let are_all = met.all(|other| match (&first, other) {
            (Some(first), Some(other)) => first.clone().eq(other),
            (first, other) => first.is_none() && other.is_none(),
        });
        let legs = |&(thread, begin, end): &(ThreadId, Time, Time)| -> Vec<f64> {
            let visits = visits(thread).filter(|_| are_all).into_iter().flat_map(BTreeMap::values);
            let starts = std::iter::once(begin).chain(visits.clone().map(|&(_, left)| left));
            let ends = visits.map(|&(arrived, _)| arrived).chain([end]);
            starts.zip(ends).map(|(start, end)| self.work[thread.index()].between(start, end)).collect()
        };
        let by_thread: Vec<Vec<f64>> = shares.values().map(legs).collect();
        let count = by_thread.first()?.len();
        Some((0..count).map(|leg| by_thread.iter().map(|legs| legs[leg]).collect()).collect())
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

    fn between(&self, begin: Time, end: Time) -> f64 {
        self.until(end) - self.until(begin.min(end))
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
fn on_core(segment: &Segment) -> f64 {
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

    #[test]
    fn pieces_are_taken_by_whoever_is_free() {
        // Three tasks on two threads: one does two of them.
        assert_eq!(taken([4.0, 4.0, 4.0].into_iter(), 12.0, 2), 8.0);
        assert_eq!(taken([4.0, 2.0, 2.0].into_iter(), 8.0, 2), 4.0);
        // Most was in no piece that was recorded.
        assert_eq!(taken([1.0].into_iter(), 12.0, 3), 4.0);
        assert_eq!(taken(std::iter::empty(), 0.0, 3), 0.0);
    }
}
