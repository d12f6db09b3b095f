//! The times of the same sections in an ordinary recording of the same program.
//!
//! A thread is the same if it is the same in the order of start. Its j-th arrival at a place, coming from the same place
//! before, is the same as the j-th one under emulation. Time is CPU time, so that threads that share cores, and locks that
//! they wait for, do not enter it.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::counts::{CountedThread, Counts, SectionKind, SectionPlace};
use holdup_model::openmp::Instance as TeamInstance;
use holdup_model::{Frame, Nanos, ObjectKind, Process, Run, SiteId};

/// A line of a file, or a function where there is none.
type Place = (Option<String>, Option<u32>, Option<String>);
/// Where a section ends and begins; `None` for where its threads begin.
type Key = (Place, Option<Place>);

/// Adds native times to those instances all of whose threads are found again in `native`.
pub fn add_native_times(counts: &mut Counts, native: &Run) {
    let Some(process) = native.processes.first() else { return };
    let times = NativeTimes::of(process);
    let threads: BTreeMap<u32, usize> =
        counts.threads.iter().enumerate().map(|(order, thread)| (thread.number, order)).collect();
    let order: Vec<usize> = counts.threads.iter().map(|thread| threads[&thread.number]).collect();
    for section in &mut counts.sections {
        let begin = place(&section.begin).filter(|begin| times.barriers.contains(begin));
        let end = place(&section.end);
        if section.kind == SectionKind::Region {
            let whole = place(&section.begin) == end;
            let native = end.and_then(|end| times.regions.get(&end)).filter(|_| whole);
            // Natively some executions of a region are only counted: then it is not known which are these.
            let Some(native) = native.filter(|native| native.len() == section.instances.len()) else {
                continue;
            };
            for (instance, times) in section.instances.iter_mut().zip(native.values()) {
                let of_row = |thread: &CountedThread| times.get(order.get(thread.index())?).copied();
                instance.native = instance.threads.iter().map(of_row).collect();
            }
            continue;
        }
        let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
        for instance in &mut section.instances {
            let found: Option<Vec<Nanos>> = instance
                .threads
                .iter()
                .map(|thread| {
                    let thread = *order.get(thread.index())?;
                    if section.kind == SectionKind::Join {
                        return times.last.get(&thread).copied();
                    }
                    let occurrence = seen.entry(thread).or_default();
                    *occurrence += 1;
                    let key = (end.clone()?, begin.clone());
                    times.spans.get(&(thread, key))?.get(*occurrence - 1).copied()
                })
                .collect();
            instance.native = found;
        }
    }
}

#[derive(Default)]
struct NativeTimes {
    /// Places of barriers.
    barriers: BTreeSet<Place>,
    /// For a thread and a section its times, in order.
    spans: BTreeMap<(usize, Key), Vec<Nanos>>,
    /// For a thread its time from its last barrier, or its start, to its end.
    last: BTreeMap<usize, Nanos>,
    /// For a parallel region of OpenMP its executions, and the time of each thread in each.
    regions: BTreeMap<Place, BTreeMap<TeamInstance, BTreeMap<usize, Nanos>>>,
}

impl NativeTimes {
    fn of(process: &Process) -> NativeTimes {
        let mut times = NativeTimes::default();
        for share in &process.openmp.shares {
            let region = process.openmp.regions.iter().find(|region| region.instance == share.instance);
            if let Some(cpu) = share.cpu
                && let Some(place) = region.and_then(|region| at(process, region.place))
            {
                let executions = times.regions.entry(place).or_default();
                executions.entry(share.instance).or_default().insert(share.thread.index(), cpu);
            }
        }
        let mut by_thread: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        for wait in &process.waits {
            let kind = process.objects[wait.object.index()].kind;
            if matches!(kind, ObjectKind::Barrier | ObjectKind::ThreadEnd) {
                by_thread.entry(wait.thread.index()).or_default().push((wait, kind));
            }
        }
        for index in 0..process.threads.len() {
            let mut before: Option<Place> = None;
            let mut since = Some(Nanos::new(0));
            let mut waits = by_thread.remove(&index).unwrap_or_default();
            waits.sort_by_key(|(wait, _)| (wait.begin, wait.end));
            for (wait, kind) in waits {
                if kind == ObjectKind::Barrier
                    && let Some(here) = at(process, wait.site)
                {
                    times.barriers.insert(here.clone());
                    if let (Some(since), Some(arrival)) = (since, wait.cpu_begin) {
                        let spans = times.spans.entry((index, (here.clone(), before.take()))).or_default();
                        spans.push(arrival.saturating_sub(since));
                    }
                    before = Some(here);
                }
                since = wait.cpu_end;
            }
            if let (Some(since), Some(end)) = (since, process.threads[index].known_cpu()) {
                times.last.insert(index, end.saturating_sub(since));
            }
        }
        times
    }
}

fn at(process: &Process, site: Option<SiteId>) -> Option<Place> {
    process.sites.get(site?.index())?.place().map(place_of)
}

fn place(place: &SectionPlace) -> Option<Place> {
    place.frames.first().map(place_of)
}

fn place_of(frame: &Frame) -> Place {
    match frame.line {
        Some(_) => (frame.file.clone(), frame.line, None),
        None => (None, None, frame.function.clone()),
    }
}
