//! What teams did in each execution of a region: as it was told, or, where it was not, as in the nearest one that was.

use std::collections::BTreeMap;

use holdup_model::openmp::{Instance, OpenMp, Region, SyncKind, TaskId, TaskRun, WholeExecutions};
use holdup_model::{Nanos, SiteId, ThreadId, Time};

use super::CpuTimes;

/// Executions that were not told whole and follow each other are taken together up to this length (ns).
const LONGEST_GROUP: u64 = 1_000_000;

/// One execution of a region by its team.
#[derive(Clone)]
pub(super) struct Played {
    pub thread: ThreadId,
    pub place: Option<SiteId>,
    pub size: u32,
    pub is_nested: bool,
    pub begin: Time,
    pub end: Time,
    pub members: Vec<Member>,
    pub arrivals: Vec<Arrival>,
    pub task_waits: Vec<TaskWait>,
}

/// A thread of the team.
#[derive(Clone)]
pub(super) struct Member {
    pub thread: ThreadId,
    pub index: u32,
    pub begin: Time,
    /// Its arrival at the join.
    pub end: Time,
    pub cpu: (Option<Nanos>, Option<Nanos>),
}

/// A thread came to a barrier.
#[derive(Clone)]
pub(super) struct Arrival {
    pub sequence: u32,
    pub kind: SyncKind,
    pub thread: ThreadId,
    pub begin: Time,
    pub end: Time,
    pub place: Option<SiteId>,
    pub cpu: (Option<Nanos>, Option<Nanos>),
}

/// A thread waited for tasks.
#[derive(Clone)]
pub(super) struct TaskWait {
    pub kind: SyncKind,
    pub thread: ThreadId,
    pub begin: Time,
    pub end: Time,
    pub place: Option<SiteId>,
    /// Who ended it, by making the task or being done with one, and when.
    pub cause: Option<(Time, ThreadId)>,
    pub cpu: (Option<Nanos>, Option<Nanos>),
}

impl Played {
    fn of(region: &Region) -> Played {
        Played {
            thread: region.thread,
            place: region.place,
            size: region.size,
            is_nested: region.parent.is_some(),
            begin: region.begin,
            end: region.end,
            members: Vec::new(),
            arrivals: Vec::new(),
            task_waits: Vec::new(),
        }
    }

    /// The same, stretched to another span of time.
    fn stretched(&self, begin: Time, end: Time) -> Played {
        let scale = end.since(begin).get() as f64 / self.end.since(self.begin).get().max(1) as f64;
        let at = |time: Time| {
            let offset = time.max(self.begin).since(self.begin).get() as f64 * scale;
            (begin + Nanos::new(offset as u64)).min(end)
        };
        let cpu = (None, None);
        let members = self.members.iter().map(|member| Member {
            begin: at(member.begin),
            end: at(member.end),
            cpu,
            ..member.clone()
        });
        let arrivals = self.arrivals.iter().map(|arrival| Arrival {
            begin: at(arrival.begin),
            end: at(arrival.end),
            cpu,
            ..arrival.clone()
        });
        let task_waits = self.task_waits.iter().map(|wait| TaskWait {
            begin: at(wait.begin),
            end: at(wait.end),
            cause: wait.cause.map(|(time, thread)| (at(time), thread)),
            cpu,
            ..wait.clone()
        });
        Played {
            begin,
            end,
            members: members.collect(),
            arrivals: arrivals.collect(),
            task_waits: task_waits.collect(),
            ..*self
        }
    }
}

/// All executions in the order of their begins. `cpu` has a row for each share and each sync.
pub(super) fn played(columns: &OpenMp, cpu: &CpuTimes) -> Vec<Played> {
    let whole = whole(columns, cpu);
    let patterns = WholeExecutions::of(columns);
    let mut others = Vec::new();
    for group in groups(columns) {
        let nearest = patterns.nearest(group.thread, group.place, group.begin);
        let Some(nearest) = nearest.and_then(|instance| whole.get(&instance)) else { continue };
        let in_regions = group.time.min(group.end.since(group.begin).get() as f64);
        let alone = group.end.since(group.begin).saturating_sub(Nanos::new(in_regions as u64));
        others.push(nearest.stretched(group.begin + alone, group.end));
    }
    let mut all: Vec<Played> = whole.into_values().chain(others).collect();
    all.sort_by_key(|played| (played.begin, played.end, played.thread));
    all
}

/// Those that were told whole.
fn whole(columns: &OpenMp, cpu: &CpuTimes) -> BTreeMap<Instance, Played> {
    let rows = columns.regions.iter().filter(|region| region.whole);
    let mut whole: BTreeMap<Instance, Played> =
        rows.map(|region| (region.instance, Played::of(region))).collect();
    for (share, &cpu) in columns.shares.iter().zip(&cpu.shares) {
        if let Some(played) = whole.get_mut(&share.instance) {
            let (thread, index, begin, end) = (share.thread, share.index, share.begin, share.end);
            played.members.push(Member { thread, index, begin, end, cpu });
        }
    }
    let causes = Causes::of(columns);
    let runs = Runs::of(columns);
    for (sync, &cpu) in columns.syncs.iter().zip(&cpu.syncs) {
        let Some(played) = whole.get_mut(&sync.instance) else { continue };
        let (thread, place, kind) = (sync.thread, sync.place, sync.kind);
        let (begin, end) = (sync.begin.min(sync.end), sync.end);
        let for_tasks = matches!(kind, SyncKind::Taskwait | SyncKind::Taskgroup);
        if kind.is_barrier() && !sync.interrupted {
            let sequence = sync.sequence;
            played.arrivals.push(Arrival { sequence, kind, thread, begin, end, place, cpu });
        } else if (for_tasks || kind.is_barrier()) && begin < end {
            let next = sync.interrupted.then(|| runs.next(sync.instance, thread, sync.end));
            let cause = causes.of_wait(sync.instance, thread, (begin, end), next);
            played.task_waits.push(TaskWait { kind, thread, begin, end, place, cause, cpu });
        }
    }
    for (&instance, played) in &mut whole {
        let region_end = played.end;
        for member in &mut played.members {
            // Tasks that it executes at the join come before its arrival there.
            let arrival = member.end;
            for &&TaskRun { begin, end, task, .. } in
                runs.between(instance, member.thread, arrival, region_end)
            {
                let (from, thread) = (member.end, member.thread);
                if from < begin {
                    played.task_waits.push(TaskWait {
                        kind: SyncKind::RegionBarrier,
                        thread,
                        begin: from,
                        end: begin,
                        place: played.place,
                        cause: causes.of_wait(instance, thread, (from, begin), Some(task)),
                        cpu: (None, None),
                    });
                }
                member.end = member.end.max(end);
            }
            if member.end > arrival {
                (member.end, member.cpu.1) = (member.end.min(region_end.max(arrival)), None);
            }
        }
    }
    whole
}

/// What ends waits for tasks.
struct Causes {
    /// By instance, when tasks were done, and by whom.
    done: BTreeMap<Instance, Vec<(Time, ThreadId)>>,
    /// When a task was made, and by whom.
    made: BTreeMap<TaskId, (Time, ThreadId)>,
    /// By instance: who makes all tasks there that others can take, as far as they are recorded; `None` where several do.
    makers: BTreeMap<Instance, Option<ThreadId>>,
}

impl Causes {
    fn of(columns: &OpenMp) -> Self {
        let mut done: BTreeMap<Instance, Vec<(Time, ThreadId)>> = BTreeMap::new();
        for run in columns.task_runs.iter().filter(|run| run.complete) {
            if let Some(instance) = run.instance {
                done.entry(instance).or_default().push((run.end, run.thread));
            }
        }
        for ends in done.values_mut() {
            ends.sort_unstable();
        }
        let made = columns.tasks.iter().map(|task| {
            let at = task.time + task.making.unwrap_or(Nanos::ZERO);
            (task.id, (at, task.thread))
        });
        let mut makers: BTreeMap<Instance, Option<ThreadId>> = BTreeMap::new();
        for task in columns.tasks.iter().filter(|task| !task.undeferred) {
            if let Some(instance) = task.instance {
                let maker = makers.entry(instance).or_insert(Some(task.thread));
                *maker = maker.filter(|&maker| maker == task.thread);
            }
        }
        Self { done, made: made.collect(), makers }
    }

    /// Who ended a wait of `thread`, after which it went on with the task `next`, if with one (`Some(None)`: one that is not recorded by
    /// itself): who made that task meanwhile, who makes all of them, or else who was done with one last.
    fn of_wait(
        &self,
        instance: Instance,
        thread: ThreadId,
        (begin, end): (Time, Time),
        next: Option<Option<TaskId>>,
    ) -> Option<(Time, ThreadId)> {
        if next == Some(None)
            && let Some(maker) =
                self.makers.get(&instance).copied().flatten().filter(|&maker| maker != thread)
        {
            return Some((end, maker));
        }
        let made = next.flatten().and_then(|task| self.made.get(&task)).copied();
        let made = made.map(|(time, by)| (time.min(end), by));
        if let Some(made) = made.filter(|&(time, by)| time > begin && by != thread) {
            return Some(made);
        }
        let ends = self.done.get(&instance)?;
        let before = ends.partition_point(|&(time, _)| time <= end);
        let meanwhile = ends[..before].iter().rev().take_while(|&&(time, _)| time > begin);
        meanwhile.copied().find(|&(_, by)| by != thread)
    }
}

/// What threads executed of tasks in each instance, in order of time.
struct Runs<'a>(BTreeMap<(Instance, ThreadId), Vec<&'a TaskRun>>);

impl<'a> Runs<'a> {
    fn of(columns: &'a OpenMp) -> Self {
        let mut runs: BTreeMap<(Instance, ThreadId), Vec<&TaskRun>> = BTreeMap::new();
        for run in &columns.task_runs {
            if let Some(instance) = run.instance {
                runs.entry((instance, run.thread)).or_default().push(run);
            }
        }
        for runs in runs.values_mut() {
            runs.sort_by_key(|run| (run.begin, run.end));
        }
        Self(runs)
    }

    /// Those that lie between two moments.
    fn between(&self, instance: Instance, thread: ThreadId, begin: Time, end: Time) -> &[&'a TaskRun] {
        let runs = self.0.get(&(instance, thread)).map_or(&[][..], Vec::as_slice);
        let from = runs.partition_point(|run| run.begin < begin);
        let until = runs.partition_point(|run| run.begin < end);
        &runs[from.min(until)..until]
    }

    /// The task that the thread goes on with at a moment.
    fn next(&self, instance: Instance, thread: ThreadId, at: Time) -> Option<TaskId> {
        let runs = self.0.get(&(instance, thread))?;
        let next = runs.get(runs.partition_point(|run| run.begin < at))?;
        next.task.filter(|_| next.begin == at)
    }
}

/// Executions of one region that follow each other and were not told whole.
struct Group {
    thread: ThreadId,
    place: Option<SiteId>,
    begin: Time,
    end: Time,
    /// Time in the region (ns).
    time: f64,
}

fn groups(columns: &OpenMp) -> Vec<Group> {
    let mut rows: Vec<&Region> = columns.regions.iter().collect();
    rows.sort_by_key(|region| (region.thread, region.begin, region.end));
    let mut groups: Vec<Group> = Vec::new();
    let mut is_open = false;
    for region in rows {
        if region.whole {
            is_open = false;
            continue;
        }
        let last = groups.last_mut().filter(|last| {
            let same = last.thread == region.thread && last.place == region.place;
            is_open && same && region.end.since(last.begin).get() <= LONGEST_GROUP && region.begin >= last.end
        });
        match last {
            Some(last) => {
                last.end = last.end.max(region.end);
                last.time += region.total_time();
            }
            None => groups.push(Group {
                thread: region.thread,
                place: region.place,
                begin: region.begin,
                end: region.end,
                time: region.total_time(),
            }),
        }
        is_open = true;
    }
    groups
}
