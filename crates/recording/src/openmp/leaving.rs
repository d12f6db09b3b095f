//! When workers of gcc's runtime leave the join of a region, which nobody tells but the kernel.
//!
//! A worker that sleeps at the join, or has lost its core there, leaves it when it is on a core again: until then it is on its
//! way. The thread that begins the next region waits at its begin for all of the team that have not left yet, and the last of
//! these lets the team go.

use std::collections::BTreeMap;

use holdup_model::openmp::{SyncKind, Vendor};
use holdup_model::{ObjectId, ObjectKind, Process, ThreadId, Time, Wait, Wake, WakeCount};

/// A worker that was not on a core when a region ended.
#[derive(Clone, Copy)]
struct Leaving {
    thread: ThreadId,
    /// When all had arrived at the join.
    from: Time,
    /// When it left it.
    until: Time,
}

/// Lets workers leave joins when they are on a core, and those wait that wait for that. The process has its waits and what the
/// kernel told of it.
pub(crate) fn let_workers_leave(process: &mut Process) {
    let regions = &process.openmp.regions;
    if process.covered.is_empty() || !regions.iter().all(|region| region.vendor == Vendor::Gnu) {
        return;
    }
    let left = leave(process);
    if !left.is_empty() {
        wait_for_those(process, &left);
    }
}

/// Moves the border between the waits at a join and for the next region; gives what moved, in order of threads and times.
fn leave(process: &mut Process) -> Vec<Leaving> {
    let mut spans: Vec<(ThreadId, Time, Time)> =
        process.on_core.iter().map(|span| (span.thread, span.end, span.begin)).collect();
    spans.sort_unstable();
    let is_covered = |at: Time| {
        let next = process.covered.partition_point(|span| span.1 < at);
        process.covered.get(next).is_some_and(|span| span.0 <= at)
    };
    let on_core_from = |thread: ThreadId, at: Time| {
        let next = spans.partition_point(|&(other, end, _)| (other, end) <= (thread, at));
        spans.get(next).filter(|span| span.0 == thread).map(|span| span.2.max(at))
    };
    let of_kind = |wait: &Wait, kind| process.object(wait.object).kind == kind;
    let numbered = || process.waits.iter().enumerate();
    let mut next: Vec<(ThreadId, Time, usize)> = numbered()
        .filter(|(_, wait)| of_kind(wait, ObjectKind::Team))
        .map(|(index, wait)| (wait.thread, wait.begin, index))
        .collect();
    next.sort_unstable();
    let next_from = |thread: ThreadId, at: Time| {
        let first = next.partition_point(|&(other, begin, _)| (other, begin) < (thread, at));
        next.get(first).filter(|next| (next.0, next.1) == (thread, at)).map(|next| next.2)
    };
    let mut moved: Vec<(usize, usize, Leaving)> = Vec::new();
    for (join, wait) in numbered() {
        if process.object(wait.object).construct != Some(SyncKind::RegionBarrier) {
            continue;
        }
        let Some(next) = next_from(wait.thread, wait.end) else { continue };
        let until = on_core_from(wait.thread, wait.end);
        let until = until.filter(|&until| until > wait.end && until < process.waits[next].end);
        if let Some(until) = until.filter(|&until| is_covered(wait.end) && is_covered(until)) {
            moved.push((join, next, Leaving { thread: wait.thread, from: wait.end, until }));
        }
    }
    for &(join, next, Leaving { until, .. }) in &moved {
        process.waits[join].end = until;
        process.waits[next].begin = until;
    }
    let mut left: Vec<Leaving> = moved.into_iter().map(|(.., leaving)| leaving).collect();
    left.sort_unstable_by_key(|leaving| (leaving.thread, leaving.from));
    left
}

/// Adds the waits of those that begin a region while workers of their team are still leaving the last one.
fn wait_for_those(process: &mut Process, left: &[Leaving]) {
    let shares = &process.openmp.shares;
    let mut by_instance: Vec<usize> = (0..shares.len()).collect();
    by_instance.sort_unstable_by_key(|&share| (shares[share].instance, shares[share].index));
    let leaving_at = |thread: ThreadId, at: Time| {
        let next = left.partition_point(|leaving| (leaving.thread, leaving.from) <= (thread, at));
        let last = next.checked_sub(1).map(|last| left[last]);
        last.filter(|leaving| leaving.thread == thread && leaving.until > at)
    };
    let mut found: Vec<(Wait, Wake)> = Vec::new();
    let mut late: BTreeMap<(ThreadId, Time), Leaving> = BTreeMap::new();
    let none_yet = ObjectId::new(0);
    for region in process.openmp.regions.iter().filter(|region| region.whole && region.size > 1) {
        let first = by_instance.partition_point(|&share| shares[share].instance < region.instance);
        let team = by_instance[first..].iter().map(|&share| &shares[share]);
        let mut team = team.take_while(|share| share.instance == region.instance);
        let Some(own) = team.next().filter(|own| own.index == 0 && own.begin > region.begin) else {
            continue;
        };
        let last = team.filter_map(|share| leaving_at(share.thread, region.begin));
        let last = last.filter(|leaving| leaving.until <= own.begin);
        if let Some(last) = last.max_by_key(|leaving| (leaving.until, leaving.thread)) {
            late.insert((own.thread, region.begin), last);
            let wait = Wait::granted(own.thread, none_yet, region.begin, own.begin);
            let (site, count) = (region.place, WakeCount::All);
            let wake = Wake { thread: last.thread, time: last.until, object: none_yet, site, count };
            found.push((Wait { site, ..wait }, wake));
        }
    }
    for wake in &mut process.wakes {
        if process.objects[wake.object.index()].kind == ObjectKind::Team
            && let Some(last) = late.get(&(wake.thread, wake.time))
        {
            (wake.thread, wake.time) = (last.thread, last.until);
        }
    }
    let mut objects: BTreeMap<ThreadId, ObjectId> = BTreeMap::new();
    for (wait, wake) in found {
        let object =
            *objects.entry(wait.thread).or_insert_with(|| process.add_object(ObjectKind::TeamStart, 0));
        process.waits.push(Wait { object, ..wait });
        process.wakes.push(Wake { object, ..wake });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdup_model::openmp::{Instance, Region, Share};
    use holdup_model::{Left, Nanos, OnCore};

    const MAIN: ThreadId = ThreadId::new(0);
    const WORKER: ThreadId = ThreadId::new(1);

    fn at(time: u64) -> Time {
        Time::from_nanos(time)
    }

    /// A worker arrives at a join at 80, its team is there at 100, and the next region begins at 120; it has a core until `leaves`
    /// and from `returns` on. The main thread gets to work at 160, the worker at 165.
    fn two_regions(vendor: Vendor, (leaves, returns): (u64, u64)) -> Process {
        let mut process = Process::new(at(0), at(300));
        process.add_thread("main", at(0), None);
        process.add_thread("worker", at(0), None);
        let join = process.add_object(ObjectKind::Barrier, 1);
        process.objects[join.index()].construct = Some(SyncKind::RegionBarrier);
        let team = process.add_object(ObjectKind::Team, 2);
        process.waits.push(Wait::granted(WORKER, join, at(80), at(100)));
        process.waits.push(Wait::granted(WORKER, team, at(100), at(165)));
        let (site, count) = (None, WakeCount::All);
        process.wakes.push(Wake { thread: MAIN, time: at(120), object: team, site, count });
        process.covered = vec![(at(0), at(300))];
        for (begin, end) in [(0, leaves), (returns, 300)] {
            let (begin, end) = (at(begin), at(end));
            process.on_core.push(OnCore { thread: WORKER, begin, end, core: 0, left: Left::Blocked });
        }
        let instance = Instance::new(2);
        process.openmp.regions.push(Region {
            thread: MAIN,
            begin: at(120),
            end: at(300),
            instance,
            place: None,
            met_at: None,
            parent: None,
            size: 2,
            count: 1,
            timed: 1,
            time: Nanos::new(180),
            vendor,
            whole: true,
            league: false,
            open: false,
        });
        for (thread, index, begin) in [(WORKER, 1, 165), (MAIN, 0, 160)] {
            let (begin, end, cpu, cpu_begin) = (at(begin), at(300), None, None);
            process.openmp.shares.push(Share { thread, instance, index, begin, end, cpu, cpu_begin });
        }
        process
    }

    /// A wait for such an object by a thread, from then to then.
    type Waited = (ObjectKind, ThreadId, u64, u64);

    /// Waits; who ends the wait for the next region, and when.
    fn followed(mut process: Process) -> (Vec<Waited>, (ThreadId, u64)) {
        let_workers_leave(&mut process);
        let kind = |object: ObjectId| process.object(object).kind;
        let wait = |wait: &Wait| (kind(wait.object), wait.thread, wait.begin.nanos(), wait.end.nanos());
        let call = process.wakes.iter().find(|wake| kind(wake.object) == ObjectKind::Team).unwrap();
        (process.waits.iter().map(wait).collect(), (call.thread, call.time.nanos()))
    }

    #[test]
    fn a_worker_that_sleeps_at_a_join_leaves_it_with_a_core_and_the_next_region_waits_for_that() {
        let (waits, call) = followed(two_regions(Vendor::Gnu, (85, 150)));
        let expected = [
            (ObjectKind::Barrier, WORKER, 80, 150),
            (ObjectKind::Team, WORKER, 150, 165),
            (ObjectKind::TeamStart, MAIN, 120, 160),
        ];
        assert_eq!((waits.as_slice(), call), (&expected[..], (WORKER, 150)));
    }

    #[test]
    fn nobody_waits_for_a_worker_that_left_before_the_region_began() {
        let (waits, call) = followed(two_regions(Vendor::Gnu, (85, 110)));
        let expected = [(ObjectKind::Barrier, WORKER, 80, 110), (ObjectKind::Team, WORKER, 110, 165)];
        assert_eq!((waits.as_slice(), call), (&expected[..], (MAIN, 120)));
    }

    #[test]
    fn who_spins_leaves_at_once_and_the_other_runtime_lets_nobody_wait() {
        for process in [two_regions(Vendor::Gnu, (130, 150)), two_regions(Vendor::Llvm, (85, 150))] {
            let (waits, call) = followed(process);
            let expected = [(ObjectKind::Barrier, WORKER, 80, 100), (ObjectKind::Team, WORKER, 100, 165)];
            assert_eq!((waits.as_slice(), call), (&expected[..], (MAIN, 120)));
        }
    }
}
