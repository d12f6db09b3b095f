//! From records of OpenMP's constructs to columns, and from these to the waits that they mean.
//!
//! | what was told | becomes a wait |
//! |---|---|
//! | a thread's arrival at a join | at the barrier of that region, until the last of the team arrives (the thread that met the region: until the region ends) |
//! | the begin of a region of gcc's runtime | for those of the team that have not left the last one's join yet |
//! | the time of a worker from a join to its next region | for its team, until the thread that meets the next region gets there |
//! | a piece of a wait at a barrier that a task cut off; `taskwait`, the end of a `taskgroup` | for tasks, until another thread has made the one that comes next, or is done with one |
//! | the last piece of a wait at a barrier | at that barrier |
//!
//! An execution that was not told whole is taken to have gone as the nearest one that was, stretched to its length.

mod dealing;
mod leaving;
mod played;
mod waits;

use std::collections::BTreeMap;

use holdup_model::openmp::{
    Acquires, Chunk, Depend, DependKind, Instance, Region, Runtime, Share, Sync, SyncKind, Task, TaskId,
    TaskRun, Vendor, Work, WorkKind,
};
use holdup_model::{Frame, Nanos, Process, SiteId, ThreadId};
use holdup_trace::openmp::{self as wire, DependCode, Event, NO_INSTANCE, RuntimeCode, SyncCode, WorkCode};
use holdup_trace::wire::UNKNOWN;

use crate::filler::{Filler, nanos};
use crate::objects::kind_of;

pub(crate) use dealing::estimate as estimate_dealing;
pub(crate) use leaving::let_workers_leave;
pub(crate) use waits::add_waits;

/// CPU times at the ends of shares and waits, by the index of their row: the columns keep differences only.
#[derive(Default)]
pub(crate) struct CpuTimes {
    shares: Vec<(Option<Nanos>, Option<Nanos>)>,
    syncs: Vec<(Option<Nanos>, Option<Nanos>)>,
}

fn instance(number: u64) -> Option<Instance> {
    (number != NO_INSTANCE).then_some(Instance::new(number))
}

fn task(number: u64) -> Option<TaskId> {
    (number != 0).then_some(TaskId::new(number))
}

fn known(number: u64) -> Option<u64> {
    (number != UNKNOWN).then_some(number)
}

impl Filler<'_> {
    /// Where a construct is: the function that the compiler made of it, or else the place that called.
    fn place(&mut self, process: &mut Process, function: u64, caller: u64) -> Option<SiteId> {
        self.sites.code(process, if function != 0 { function } else { caller })
    }

    /// Puts what an event tells into its column.
    pub(crate) fn openmp(
        &mut self,
        process: &mut Process,
        thread: ThreadId,
        event: &Event,
        cpu: &mut CpuTimes,
    ) {
        match *event {
            Event::Region(region) => self.region(process, thread, region),
            Event::Share(share) => {
                let Some(instance) = instance(share.instance) else { return };
                let (cpu_begin, cpu_end) = (nanos(share.cpu_begin), nanos(share.cpu_end));
                let (begin, end) = self.times(process, share.begin, share.end);
                cpu.shares.push((cpu_begin, cpu_end));
                process.openmp.shares.push(Share {
                    thread,
                    instance,
                    index: share.index,
                    begin,
                    end,
                    cpu: cpu_begin.zip(cpu_end).map(|(begin, end)| end.saturating_sub(begin)),
                    cpu_begin,
                });
            }
            Event::Work(work) => {
                let Some(instance) = instance(work.instance) else { return };
                let place = self.sites.code(process, work.caller);
                let (begin, end) = self.times(process, work.begin, work.end);
                process.openmp.works.push(Work {
                    thread,
                    instance,
                    sequence: work.sequence,
                    kind: work_kind(work.kind),
                    place,
                    begin,
                    end,
                    iterations: known(work.iterations),
                    chunk: (work.chunk != 0).then_some(work.chunk),
                    chunks: work.chunks,
                    done: known(work.done),
                    dealing: (work.dealing != 0).then(|| self.clock.length(work.dealing)),
                });
            }
            Event::Chunk(chunk) => {
                let Some(instance) = instance(chunk.instance) else { return };
                let (begin, end) = self.times(process, chunk.begin, chunk.end);
                let (sequence, first, count) = (chunk.sequence, chunk.first, chunk.count);
                process.openmp.chunks.push(Chunk { thread, instance, sequence, begin, end, first, count });
            }
            Event::Sync(sync) => {
                let Some(instance) = instance(sync.instance) else { return };
                let place = self.sites.code(process, sync.caller);
                let (begin, end) = self.times(process, sync.begin, sync.end);
                cpu.syncs.push((nanos(sync.cpu_begin), nanos(sync.cpu_end)));
                process.openmp.syncs.push(Sync {
                    thread,
                    instance,
                    sequence: sync.sequence,
                    kind: sync_kind(sync.kind),
                    place,
                    begin,
                    end,
                    continued: sync.continued,
                    interrupted: sync.interrupted,
                });
            }
            Event::TaskCreate(made) => {
                let Some(id) = task(made.task) else { return };
                let place = self.place(process, made.function, made.caller);
                process.openmp.tasks.push(Task {
                    id,
                    parent: task(made.parent),
                    thread,
                    time: self.time(process, made.time),
                    instance: instance(made.instance),
                    place,
                    making: (made.ticks != 0).then(|| self.clock.length(made.ticks)),
                    undeferred: made.undeferred,
                    of_loop: made.of_loop,
                });
            }
            Event::TaskRun(run) => {
                let task = task(run.task);
                let (begin, end) = self.times(process, run.begin, run.end);
                let complete = run.ended != wire::TaskEndCode::Suspended;
                let instance = instance(run.instance);
                process.openmp.task_runs.push(TaskRun { thread, task, instance, begin, end, complete });
            }
            Event::Depend(depend) => {
                let Some(task) = task(depend.task) else { return };
                let kind = depend_kind(depend.kind);
                process.openmp.depends.push(Depend { task, address: depend.address, kind });
            }
            Event::Acquire(acquire) => {
                let place = self.sites.code(process, acquire.caller);
                let region = self.sites.code(process, acquire.function);
                process.openmp.acquires.push(Acquires {
                    thread,
                    place,
                    region,
                    kind: kind_of(acquire.kind),
                    acquisitions: acquire.acquisitions,
                    timed: acquire.timed.min(acquire.acquisitions),
                    time: self.clock.length(acquire.ticks),
                    fastest: self.clock.length(acquire.fastest.min(acquire.ticks)),
                    waits: acquire.waits.min(acquire.acquisitions),
                    waiting: self.clock.length(acquire.wait_ticks),
                });
            }
            Event::Runtime(runtime) => {
                let module = self.sites.code(process, runtime.address);
                let runtime = Runtime { vendor: vendor(runtime.runtime), told: runtime.told, module };
                if !process.openmp.runtimes.contains(&runtime) {
                    process.openmp.runtimes.push(runtime);
                }
            }
        }
    }

    fn times(&self, process: &Process, begin: u64, end: u64) -> (holdup_model::Time, holdup_model::Time) {
        let begin = self.time(process, begin);
        (begin, self.time(process, end).max(begin))
    }

    fn region(&mut self, process: &mut Process, thread: ThreadId, region: wire::Region) {
        let Some(own) = instance(region.instance) else { return };
        let place = self.place(process, region.function, region.caller);
        let met_at = self.sites.stack(process, region.stack);
        let open = region.end < region.begin;
        let (begin, end) = self.times(process, region.begin, region.end);
        let end = if open { process.end } else { end };
        let count = u64::from(region.count.max(1));
        let timed = u64::from(region.timed).clamp(u64::from(count == 1), count);
        let whole_span = end.since(begin);
        // What a thread leaves behind does not say whose it is.
        let only = process.openmp.runtimes.first().filter(|_| open && process.openmp.runtimes.len() == 1);
        let vendor = only.map_or_else(|| vendor(region.runtime), |runtime| runtime.vendor);
        process.openmp.regions.push(Region {
            thread,
            begin,
            end,
            instance: own,
            place,
            met_at,
            parent: instance(region.parent),
            size: region.size.max(1),
            count,
            timed,
            time: if count == 1 { whole_span } else { self.clock.length(region.ticks).min(whole_span) },
            vendor,
            whole: region.whole && count == 1,
            league: region.league,
            open,
        });
    }
}

/// A compiler may let a region's function end with a jump to the runtime, which then returns to whoever called that function:
/// to the runtime or to holdup. Then the place of a construct is the region's function.
pub(crate) fn find_places_of_jumps(process: &mut Process) {
    let Process { sites, openmp, .. } = process;
    let mut functions: BTreeMap<Instance, SiteId> = BTreeMap::new();
    let of_program = |site: SiteId| sites[site.index()].frames.iter().any(Frame::is_program);
    for region in &openmp.regions {
        functions.extend(region.place.filter(|&site| of_program(site)).map(|site| (region.instance, site)));
    }
    let known = |place: Option<SiteId>, instance: &Instance| {
        place.filter(|&site| of_program(site)).or_else(|| functions.get(instance).copied()).or(place)
    };
    for sync in &mut openmp.syncs {
        sync.place = known(sync.place, &sync.instance);
    }
    for work in &mut openmp.works {
        work.place = known(work.place, &work.instance);
    }
}

fn vendor(code: RuntimeCode) -> Vendor {
    match code {
        RuntimeCode::Gnu => Vendor::Gnu,
        RuntimeCode::Llvm => Vendor::Llvm,
    }
}

fn work_kind(code: WorkCode) -> WorkKind {
    match code {
        WorkCode::StaticLoop => WorkKind::StaticLoop,
        WorkCode::DynamicLoop => WorkKind::DynamicLoop,
        WorkCode::GuidedLoop => WorkKind::GuidedLoop,
        WorkCode::OtherLoop => WorkKind::OtherLoop,
        WorkCode::Sections => WorkKind::Sections,
        WorkCode::Single => WorkKind::Single,
        WorkCode::SingleOther => WorkKind::SingleOther,
        WorkCode::Workshare => WorkKind::Workshare,
        WorkCode::Distribute => WorkKind::Distribute,
        WorkCode::Taskloop => WorkKind::Taskloop,
        WorkCode::Masked => WorkKind::Masked,
        WorkCode::Scope => WorkKind::Scope,
    }
}

fn sync_kind(code: SyncCode) -> SyncKind {
    match code {
        SyncCode::ExplicitBarrier => SyncKind::ExplicitBarrier,
        SyncCode::WorkBarrier => SyncKind::WorkBarrier,
        SyncCode::RegionBarrier => SyncKind::RegionBarrier,
        SyncCode::OtherBarrier => SyncKind::OtherBarrier,
        SyncCode::Taskwait => SyncKind::Taskwait,
        SyncCode::Taskgroup => SyncKind::Taskgroup,
        SyncCode::Reduction => SyncKind::Reduction,
    }
}

fn depend_kind(code: DependCode) -> DependKind {
    match code {
        DependCode::In => DependKind::In,
        DependCode::Out => DependKind::Out,
        DependCode::Exclusive => DependKind::Exclusive,
        DependCode::OutSet => DependKind::OutSet,
    }
}
