//! The waits that OpenMP's constructs mean, beside those for other objects.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::openmp::{Instance, OpenMp, Region, Share, SyncKind};
use holdup_model::{
    Mode, Nanos, ObjectId, ObjectKind, Outcome, Process, SiteId, ThreadId, Time, Wait, Wake, WakeCount,
};

use super::CpuTimes;

/// Adds them to the process, whose columns of OpenMP are filled. `cpu` has a row for each share and each sync.
pub(crate) fn add_waits(process: &mut Process, cpu: &CpuTimes) {
    if process.openmp.is_empty() {
        return;
    }
    let columns = std::mem::take(&mut process.openmp);
    let mut adder = Adder { process, regions: whole_regions(&columns), objects: BTreeMap::new() };
    let last_arrivals = adder.meetings(&columns, cpu);
    adder.teams(&columns, cpu, &last_arrivals);
    adder.tasks(&columns, cpu);
    process.openmp = columns;
}

/// The instances that were told whole, each with its region.
fn whole_regions(columns: &OpenMp) -> BTreeMap<Instance, &Region> {
    let whole = columns.regions.iter().filter(|region| region.whole);
    whole.map(|region| (region.instance, region)).collect()
}

/// What tells one object from another.
type Key = (ObjectKind, Option<SyncKind>, Option<SiteId>, Option<SiteId>, u32, Option<ThreadId>);

/// A thread came to where its team meets.
struct Arrival {
    kind: SyncKind,
    thread: ThreadId,
    begin: Time,
    /// When it left; for the workers of a join, who leave unseen, `None`.
    end: Option<Time>,
    place: Option<SiteId>,
    cpu: (Option<Nanos>, Option<Nanos>),
}

/// Which meeting of an instance: the join, or a barrier by its sequence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Meeting {
    Barrier(u32),
    Join,
}

struct Adder<'a> {
    process: &'a mut Process,
    regions: BTreeMap<Instance, &'a Region>,
    objects: BTreeMap<Key, ObjectId>,
}

impl Adder<'_> {
    fn object(&mut self, key: Key) -> ObjectId {
        if let Some(&known) = self.objects.get(&key) {
            return known;
        }
        let (kind, construct, place, region, parties, _) = key;
        let site = place.or(region);
        let frame = site.and_then(|site| self.process.site(site).frames.first());
        let object = self.process.add_object(kind, frame.map_or(0, |frame| frame.address));
        let row = &mut self.process.objects[object.index()];
        row.created_at = site;
        row.construct = construct;
        row.parties = (kind == ObjectKind::Barrier).then_some(parties);
        self.objects.insert(key, object);
        object
    }

    /// Waits at joins and barriers; gives the last arrival at the join of each instance.
    fn meetings(&mut self, columns: &OpenMp, cpu: &CpuTimes) -> BTreeMap<Instance, Time> {
        let mut meetings: BTreeMap<(Instance, Meeting), Vec<Arrival>> = BTreeMap::new();
        for (share, &cpu) in columns.shares.iter().zip(&cpu.shares) {
            let Some(region) = self.regions.get(&share.instance) else { continue };
            let end = (share.index == 0).then_some(region.end.max(share.end));
            let (thread, begin, place) = (share.thread, share.end, region.place);
            let kind = SyncKind::RegionBarrier;
            let arrival = Arrival { kind, thread, begin, end, place, cpu: (cpu.1, None) };
            meetings.entry((share.instance, Meeting::Join)).or_default().push(arrival);
        }
        for (sync, &cpu) in columns.syncs.iter().zip(&cpu.syncs) {
            let (thread, begin, place) = (sync.thread, sync.begin, sync.place);
            if sync.kind.is_barrier() && !sync.interrupted {
                let kind = sync.kind;
                let arrival = Arrival { kind, thread, begin, end: Some(sync.end), place, cpu };
                meetings.entry((sync.instance, Meeting::Barrier(sync.sequence))).or_default().push(arrival);
            }
        }
        let mut in_order: Vec<_> = meetings.into_iter().collect();
        in_order.sort_by_key(|(meeting, arrivals)| {
            (arrivals.iter().map(|arrival| arrival.begin).min(), *meeting)
        });
        let mut last_arrivals = BTreeMap::new();
        for (round, ((instance, meeting), arrivals)) in in_order.into_iter().enumerate() {
            let last = arrivals.iter().map(|arrival| arrival.begin).max().unwrap_or(self.process.end);
            if meeting == Meeting::Join {
                last_arrivals.insert(instance, last);
            }
            let Some(region) = self.regions.get(&instance).copied() else { continue };
            // Inner regions of several threads run side by side: each has barriers of its own.
            let owner = region.parent.map(|_| region.thread);
            // A barrier that some threads of the team reach by another call is one barrier all the same.
            let place =
                (meeting != Meeting::Join).then(|| arrivals.iter().filter_map(|at| at.place).min()).flatten();
            let construct = arrivals.first().map(|arrival| arrival.kind);
            let object =
                self.object((ObjectKind::Barrier, construct, place, region.place, region.size, owner));
            for arrival in arrivals {
                let end = arrival.end.unwrap_or(last).max(arrival.begin);
                self.process.waits.push(Wait {
                    site: place.or(arrival.place),
                    round: Some(round as u64),
                    ..wait(arrival.thread, object, arrival.begin, end, arrival.cpu)
                });
            }
        }
        last_arrivals
    }

    /// What workers do between their parts of whole instances: they wait for their team, and work in the instances
    /// that were not told whole.
    fn teams(&mut self, columns: &OpenMp, cpu: &CpuTimes, last_arrivals: &BTreeMap<Instance, Time>) {
        let mut shares: BTreeMap<ThreadId, Vec<(&Share, Option<Nanos>)>> = BTreeMap::new();
        for (share, cpu) in columns.shares.iter().zip(&cpu.shares).filter(|(share, _)| share.index > 0) {
            shares.entry(share.thread).or_default().push((share, cpu.0));
        }
        let mut opaque: BTreeMap<ThreadId, Vec<&Region>> = BTreeMap::new();
        for region in columns.regions.iter().filter(|region| !region.whole) {
            opaque.entry(region.thread).or_default().push(region);
        }
        for regions in opaque.values_mut() {
            regions.sort_by_key(|region| (region.begin, region.end));
        }
        let mut calls = BTreeSet::new();
        for (worker, mut shares) in shares {
            shares.sort_by_key(|(share, _)| (share.begin, share.instance));
            let row = self.process.thread(worker);
            let ended = row.end.unwrap_or(self.process.end);
            for (index, &(share, _)) in shares.iter().enumerate() {
                let Some(region) = self.regions.get(&share.instance).copied() else { continue };
                let team = self.object((ObjectKind::Team, None, None, None, 0, Some(region.thread)));
                let mut from =
                    last_arrivals.get(&share.instance).map_or(share.end, |&last| last.max(share.end));
                let next = shares.get(index + 1).copied();
                let until = next.map_or(ended, |(next, _)| next.begin);
                let empty = Vec::new();
                let skipped = opaque.get(&region.thread).unwrap_or(&empty);
                let first = skipped.partition_point(|skipped| skipped.begin < from);
                for skipped in &skipped[first..] {
                    if skipped.begin >= until {
                        break;
                    }
                    if skipped.begin >= from && skipped.size > share.index {
                        self.idle(worker, team, (from, skipped.begin), Outcome::Granted, region.place, None);
                        calls.insert((team, region.thread, skipped.begin, skipped.place));
                        from = skipped.end;
                    }
                }
                match next {
                    Some((next, cpu)) => {
                        self.idle(worker, team, (from, next.begin), Outcome::Granted, region.place, cpu);
                        let caller = self.regions.get(&next.instance).filter(|next| next.thread != worker);
                        calls.extend(caller.map(|next| (team, next.thread, next.begin, next.place)));
                    }
                    None => self.idle(worker, team, (from, ended), Outcome::Open, region.place, None),
                }
            }
        }
        for (object, thread, time, site) in calls {
            self.process.wakes.push(Wake { thread, time, object, site, count: WakeCount::All });
        }
    }

    fn idle(
        &mut self,
        worker: ThreadId,
        team: ObjectId,
        (begin, end): (Time, Time),
        outcome: Outcome,
        site: Option<SiteId>,
        cpu_end: Option<Nanos>,
    ) {
        if begin < end {
            self.process.waits.push(Wait {
                outcome,
                site,
                ..wait(worker, team, begin, end, (None, cpu_end))
            });
        }
    }

    /// Waits for tasks: each ends when another thread is done with one, if one is.
    fn tasks(&mut self, columns: &OpenMp, cpu: &CpuTimes) {
        let mut done: BTreeMap<Instance, Vec<(Time, ThreadId)>> = BTreeMap::new();
        for run in columns.task_runs.iter().filter(|run| run.complete) {
            done.entry(run.instance.unwrap_or(Instance::new(0))).or_default().push((run.end, run.thread));
        }
        for ends in done.values_mut() {
            ends.sort_unstable();
        }
        for (sync, &cpu) in columns.syncs.iter().zip(&cpu.syncs) {
            let for_tasks = matches!(sync.kind, SyncKind::Taskwait | SyncKind::Taskgroup);
            let cut_off = sync.kind.is_barrier() && sync.interrupted;
            if !for_tasks && !cut_off || sync.begin == sync.end {
                continue;
            }
            let region = self.regions.get(&sync.instance).and_then(|region| region.place);
            let object = self.object((ObjectKind::Tasks, Some(sync.kind), sync.place, region, 0, None));
            let ends = done.get(&sync.instance).map_or(&[][..], Vec::as_slice);
            let before = ends.partition_point(|&(end, _)| end <= sync.end);
            let cause = ends[..before]
                .iter()
                .rev()
                .take_while(|&&(end, _)| end > sync.begin)
                .find(|&&(_, thread)| thread != sync.thread);
            if let Some(&(time, thread)) = cause {
                let count = WakeCount::AtMost(1);
                self.process.wakes.push(Wake { thread, time, object, site: sync.place, count });
            }
            self.process
                .waits
                .push(Wait { site: sync.place, ..wait(sync.thread, object, sync.begin, sync.end, cpu) });
        }
    }
}

fn wait(
    thread: ThreadId,
    object: ObjectId,
    begin: Time,
    end: Time,
    (cpu_begin, cpu_end): (Option<Nanos>, Option<Nanos>),
) -> Wait {
    Wait {
        thread,
        begin,
        end,
        object,
        site: None,
        mode: Mode::Exclusive,
        outcome: Outcome::Granted,
        owner: None,
        mutex: None,
        cpu_begin,
        cpu_end,
        round: None,
    }
}
