//! What was observed of OpenMP's constructs in one process, in columns.
//!
//! A *parallel region* is a place in the source; an *instance* is one execution of it by a team of threads. Of an
//! instance that was recorded *whole*, the columns hold what each thread of its team did: its share, worksharing
//! constructs and their chunks, waits, tasks. Of the others there is a row in [`OpenMp::regions`], which may stand for
//! many. Nested regions have instances of their own; a thread is then in several, of which the innermost counts.
//!
//! The waits of threads at barriers, at joins and between regions are in [`crate::Process::waits`] too, with those of
//! other kinds, so that every analysis sees them; here is what only OpenMP knows.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Nanos, ObjectKind, SiteId, ThreadId, Time};

/// One execution of a parallel region, by a number of its process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Instance(u64);

impl Instance {
    /// The instance with this number, which is not 0.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// A task, by a number of its process: the thread that made it in the upper 32 bits, and how many that thread had made
/// before, plus one, in the lower. So gaps tell how many were not told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TaskId(u64);

impl TaskId {
    /// The task with this number, which is not 0.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// Everything that was observed of OpenMP in a process. In no particular order.
#[derive(Clone, Debug, Default)]
pub struct OpenMp {
    /// The runtimes that worked in it.
    pub runtimes: Vec<Runtime>,
    /// Executions of parallel regions.
    pub regions: Vec<Region>,
    /// What each thread of a whole instance did from the fork to the join.
    pub shares: Vec<Share>,
    /// Worksharing constructs in whole instances, by thread.
    pub works: Vec<Work>,
    /// The chunks of these, where they are dealt out one by one.
    pub chunks: Vec<Chunk>,
    /// Waits for the team and for tasks in whole instances.
    pub syncs: Vec<Sync>,
    /// Tasks.
    pub tasks: Vec<Task>,
    /// When tasks were executed, by whom.
    pub task_runs: Vec<TaskRun>,
    /// What tasks depend on.
    pub depends: Vec<Depend>,
    /// How often locks were acquired, by place.
    pub acquires: Vec<Acquires>,
}

impl OpenMp {
    /// True if nothing of OpenMP was seen.
    pub fn is_empty(&self) -> bool {
        self.runtimes.is_empty() && self.regions.is_empty() && self.acquires.is_empty()
    }

    /// Adds what another process did that is reported as one with this: its threads and sites have numbers that are so much higher here.
    pub fn join(&mut self, mut other: OpenMp, threads: u32, sites: u32) {
        let thread = |id: &mut ThreadId| *id = ThreadId::new(id.index() as u32 + threads);
        let site = |id: &mut Option<SiteId>| *id = id.map(|id| SiteId::new(id.index() as u32 + sites));
        let used = self.regions.iter().map(|region| region.instance.0.saturating_add(region.count)).max();
        let first = used.unwrap_or(0);
        let instance = |id: &mut Instance| id.0 = id.0.wrapping_add(first);
        let makers = self.tasks.iter().map(|task| task.id.0 >> 32).max().map_or(0, |last| last + 1);
        let task = |id: &mut TaskId| id.0 = id.0.wrapping_add(makers << 32);
        for runtime in &mut other.runtimes {
            site(&mut runtime.module);
        }
        for region in &mut other.regions {
            thread(&mut region.thread);
            instance(&mut region.instance);
            region.parent.as_mut().map(instance);
            [&mut region.place, &mut region.met_at].into_iter().for_each(site);
        }
        for share in &mut other.shares {
            thread(&mut share.thread);
            instance(&mut share.instance);
        }
        for work in &mut other.works {
            thread(&mut work.thread);
            instance(&mut work.instance);
            site(&mut work.place);
        }
        for chunk in &mut other.chunks {
            thread(&mut chunk.thread);
            instance(&mut chunk.instance);
        }
        for sync in &mut other.syncs {
            thread(&mut sync.thread);
            instance(&mut sync.instance);
            site(&mut sync.place);
        }
        for made in &mut other.tasks {
            task(&mut made.id);
            made.parent.as_mut().map(task);
            thread(&mut made.thread);
            made.instance.as_mut().map(instance);
            site(&mut made.place);
        }
        for run in &mut other.task_runs {
            thread(&mut run.thread);
            run.task.as_mut().map(task);
            run.instance.as_mut().map(instance);
        }
        for depend in &mut other.depends {
            task(&mut depend.task);
            // No address of a program has so high bits: those of two processes are different variables.
            depend.address ^= makers << 48;
        }
        for acquires in &mut other.acquires {
            thread(&mut acquires.thread);
            [&mut acquires.place, &mut acquires.region].into_iter().for_each(site);
        }
        let is_new = |runtime: &Runtime| {
            !self.runtimes.iter().any(|own| (own.vendor, own.told) == (runtime.vendor, runtime.told))
        };
        let new: Vec<Runtime> = other.runtimes.drain(..).filter(is_new).collect();
        self.runtimes.extend(new);
        self.regions.append(&mut other.regions);
        self.shares.append(&mut other.shares);
        self.works.append(&mut other.works);
        self.chunks.append(&mut other.chunks);
        self.syncs.append(&mut other.syncs);
        self.tasks.append(&mut other.tasks);
        self.task_runs.append(&mut other.task_runs);
        self.depends.append(&mut other.depends);
        self.acquires.append(&mut other.acquires);
    }

    /// The share of the time in parallel regions that was recorded whole, from 0 to 1; `None` where there was none. Only
    /// outermost regions count.
    pub fn whole_share(&self) -> Option<f64> {
        let (mut whole, mut all) = (0.0, 0.0);
        for region in self.regions.iter().filter(|region| region.parent.is_none()) {
            let time = region.total_time();
            all += time;
            whole += if region.whole { time } else { 0.0 };
        }
        (all > 0.0).then(|| whole / all)
    }

    /// What lies between two moments as a whole. Acquisitions are counts without a time, which a part of the run cannot
    /// have.
    pub fn within(&self, from: Time, to: Time) -> OpenMp {
        let inside = |begin: Time, end: Time| begin >= from && end <= to;
        OpenMp {
            runtimes: self.runtimes.clone(),
            regions: kept(&self.regions, |region| inside(region.begin, region.end)),
            shares: kept(&self.shares, |share| inside(share.begin, share.end)),
            works: kept(&self.works, |work| inside(work.begin, work.end)),
            chunks: kept(&self.chunks, |chunk| inside(chunk.begin, chunk.end)),
            syncs: kept(&self.syncs, |sync| inside(sync.begin, sync.end)),
            tasks: kept(&self.tasks, |task| inside(task.time, task.time)),
            task_runs: kept(&self.task_runs, |run| inside(run.begin, run.end)),
            depends: self.depends.clone(),
            acquires: Vec::new(),
        }
    }
}

fn kept<Row: Clone>(rows: &[Row], keep: impl Fn(&Row) -> bool) -> Vec<Row> {
    rows.iter().filter(|row| keep(row)).cloned().collect()
}

/// Whose runtime it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Vendor {
    /// gcc's libgomp.
    Gnu,
    /// LLVM's libomp, or Intel's.
    Llvm,
}

impl Vendor {
    /// The name of the runtime's library.
    pub fn word(self) -> &'static str {
        match self {
            Vendor::Gnu => "libgomp (gcc)",
            Vendor::Llvm => "libomp (LLVM)",
        }
    }
}

/// An OpenMP runtime in the process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Runtime {
    /// Whose.
    pub vendor: Vendor,
    /// False if its constructs could not be told: it has no place for a tool, or another tool has it.
    pub told: bool,
    /// An address in it, as a stack of one frame that names its module.
    pub module: Option<SiteId>,
}

/// One execution of a parallel region, or many that were too frequent to be told one by one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// The thread that met it, which is thread 0 of its team.
    pub thread: ThreadId,
    /// When it began; of many, the first.
    pub begin: Time,
    /// When it ended, the join included; of many, the last; the end of its process if it never did.
    pub end: Time,
    /// Its instance; of many, the first.
    pub instance: Instance,
    /// Where it is in the source: the function that the compiler made of it, as a stack of one frame (with the line of
    /// the directive, where there is debug information).
    pub place: Option<SiteId>,
    /// The stack of the thread that met it; of a short one, that of an earlier instance.
    pub met_at: Option<SiteId>,
    /// The instance around it.
    pub parent: Option<Instance>,
    /// The threads of its team.
    pub size: u32,
    /// How many executions this row stands for, at least 1.
    pub count: u64,
    /// How many of them were timed, at most `count`.
    pub timed: u64,
    /// Time in those that were timed, together (ns).
    pub time: Nanos,
    /// Whose runtime.
    pub vendor: Vendor,
    /// True if all that happened in it was recorded; then `count` is 1.
    pub whole: bool,
    /// True for a league of teams.
    pub league: bool,
    /// True if it had not ended when its process did.
    pub open: bool,
}

impl Region {
    /// The time in all executions that the row stands for (ns), from those that were timed; of one that was recorded whole, its
    /// length, ended or not.
    pub fn total_time(&self) -> f64 {
        if self.whole {
            return self.end.since(self.begin).get() as f64;
        }
        match self.timed {
            0 => 0.0,
            timed => self.time.get() as f64 * self.count as f64 / timed as f64,
        }
    }
}

/// A region, by who met it and where it is.
type MetRegion = (ThreadId, Option<SiteId>);

/// The executions of regions that were recorded whole, with what their threads did, by which the others are known.
#[derive(Debug, Default)]
pub struct WholeExecutions(BTreeMap<MetRegion, Vec<(Time, Instance)>>);

impl WholeExecutions {
    /// Those of a process.
    pub fn of(openmp: &OpenMp) -> Self {
        let shared: BTreeSet<Instance> = openmp.shares.iter().map(|share| share.instance).collect();
        let mut whole: BTreeMap<MetRegion, Vec<(Time, Instance)>> = BTreeMap::new();
        for region in openmp.regions.iter().filter(|region| region.whole && shared.contains(&region.instance))
        {
            whole.entry((region.thread, region.place)).or_default().push((region.begin, region.instance));
        }
        whole.values_mut().for_each(|of_one| of_one.sort_unstable());
        Self(whole)
    }

    /// The one that says what such an execution did that began at this moment: the last one of the same region, met by the same
    /// thread, that had begun by then; before the first of them, that one.
    pub fn nearest(&self, thread: ThreadId, place: Option<SiteId>, begin: Time) -> Option<Instance> {
        let known = self.0.get(&(thread, place))?;
        let begun = known.partition_point(|&(at, _)| at <= begin);
        Some(known[begun.saturating_sub(1)].1)
    }
}

/// What one thread did of a whole instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Share {
    /// Who.
    pub thread: ThreadId,
    /// The instance.
    pub instance: Instance,
    /// Its number in the team; 0 for the one that met the region.
    pub index: u32,
    /// When its implicit task began.
    pub begin: Time,
    /// When it had done its part: its arrival at the join.
    pub end: Time,
    /// CPU time in it (ns), where it is known.
    pub cpu: Option<Nanos>,
    /// The thread's CPU time (ns since its start) at `begin`, where it is known.
    pub cpu_begin: Option<Nanos>,
}

/// What a worksharing construct is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum WorkKind {
    /// A loop with a static schedule.
    StaticLoop,
    /// A loop with a dynamic schedule.
    DynamicLoop,
    /// A loop with a guided schedule.
    GuidedLoop,
    /// A loop with another schedule, or one that was not told.
    OtherLoop,
    /// Sections.
    Sections,
    /// A `single`, by the thread that executes it.
    Single,
    /// A `single`, by the others.
    SingleOther,
    /// A `workshare`.
    Workshare,
    /// A `distribute`.
    Distribute,
    /// A `taskloop`.
    Taskloop,
    /// A `masked` or `master`, by the thread that executes it.
    Masked,
    /// A `scope`.
    Scope,
}

impl WorkKind {
    /// True if its iterations or sections are given out one chunk after the other to whoever is free.
    pub fn is_dealt_out(self) -> bool {
        matches!(
            self,
            WorkKind::DynamicLoop | WorkKind::GuidedLoop | WorkKind::OtherLoop | WorkKind::Sections
        )
    }

    /// The field's word for it.
    pub fn word(self) -> &'static str {
        match self {
            WorkKind::StaticLoop => "loop, static",
            WorkKind::DynamicLoop => "loop, dynamic",
            WorkKind::GuidedLoop => "loop, guided",
            WorkKind::OtherLoop => "loop",
            WorkKind::Sections => "sections",
            WorkKind::Single => "single",
            WorkKind::SingleOther => "single of another thread",
            WorkKind::Workshare => "workshare",
            WorkKind::Distribute => "distribute",
            WorkKind::Taskloop => "taskloop",
            WorkKind::Masked => "masked",
            WorkKind::Scope => "scope",
        }
    }

    /// True for loops.
    pub fn is_loop(self) -> bool {
        matches!(
            self,
            WorkKind::StaticLoop | WorkKind::DynamicLoop | WorkKind::GuidedLoop | WorkKind::OtherLoop
        )
    }
}

/// What one thread did of a worksharing construct in a whole instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Work {
    /// Who.
    pub thread: ThreadId,
    /// The instance.
    pub instance: Instance,
    /// Which worksharing construct of the instance: the same number in all threads.
    pub sequence: u32,
    /// What it is.
    pub kind: WorkKind,
    /// A place in it.
    pub place: Option<SiteId>,
    /// When the thread entered it.
    pub begin: Time,
    /// When there was nothing left for it, before any barrier.
    pub end: Time,
    /// Iterations (sections) of the whole construct.
    pub iterations: Option<u64>,
    /// The chunk size that the program asked for.
    pub chunk: Option<u32>,
    /// How many chunks the thread got.
    pub chunks: u32,
    /// How many iterations it got.
    pub done: Option<u64>,
    /// Time in the runtime for getting chunks (ns), where that was timed, in this execution or others at its place.
    pub dealing: Option<Nanos>,
}

/// A run of iterations, or a section, that one thread got at once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chunk {
    /// Who got it.
    pub thread: ThreadId,
    /// The instance.
    pub instance: Instance,
    /// Which worksharing construct of the instance.
    pub sequence: u32,
    /// When it was given.
    pub begin: Time,
    /// When the thread asked for the next.
    pub end: Time,
    /// The first iteration.
    pub first: u64,
    /// How many iterations; 0 if not known.
    pub count: u64,
}

/// What threads of a team wait for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SyncKind {
    /// A `barrier` in the source.
    ExplicitBarrier,
    /// The barrier at the end of a worksharing construct.
    WorkBarrier,
    /// The barrier at the end of a region.
    RegionBarrier,
    /// A barrier that the implementation added.
    OtherBarrier,
    /// A `taskwait`.
    Taskwait,
    /// The end of a `taskgroup`.
    Taskgroup,
    /// A reduction.
    Reduction,
}

impl SyncKind {
    /// True for barriers, where all threads of the team meet.
    pub fn is_barrier(self) -> bool {
        !matches!(self, SyncKind::Taskwait | SyncKind::Taskgroup | SyncKind::Reduction)
    }
}

impl SyncKind {
    /// What a sentence says before the place.
    pub fn words(self) -> &'static str {
        match self {
            SyncKind::ExplicitBarrier => "barrier in",
            SyncKind::WorkBarrier => "the barrier that ends a loop or section in",
            SyncKind::RegionBarrier => "the end of the parallel region in",
            SyncKind::OtherBarrier => "an implicit barrier in",
            SyncKind::Taskwait => "taskwait in",
            SyncKind::Taskgroup => "the end of the taskgroup in",
            SyncKind::Reduction => "reduction in",
        }
    }
}

/// What compilers put after the name of a function for the parts that they make functions of their own: gcc, then clang.
const MADE_BY_COMPILERS: [&str; 4] = ["._omp_fn.", "._omp_cpyfn.", ".omp_outlined", ".omp_task_entry"];

/// The function in the source of which a compiler made this one for an OpenMP construct: `solve` of `solve._omp_fn.3`
/// and of `solve.omp_outlined`. `None` for others, and where nothing is left of the name.
///
/// ```
/// use holdup_model::openmp::source_function;
///
/// assert_eq!(source_function("solve._omp_fn.3"), Some("solve"));
/// assert_eq!(source_function("grid::sweep(int) [clone ._omp_fn.0]"), Some("grid::sweep(int)"));
/// assert_eq!(source_function(".omp_outlined."), None);
/// assert_eq!(source_function("solve"), None);
/// ```
pub fn source_function(name: &str) -> Option<&str> {
    let cut = MADE_BY_COMPILERS.iter().filter_map(|made| name.find(made)).min()?;
    let source = name[..cut].trim_end_matches("[clone ").trim_end_matches('(').trim_end();
    (!source.is_empty()).then_some(source)
}

/// A wait of one thread for its team or for tasks, or a piece of one: tasks that the thread executes meanwhile cut it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sync {
    /// Who.
    pub thread: ThreadId,
    /// The instance.
    pub instance: Instance,
    /// Which barrier of the instance: the same number in all threads. 0 for what is no barrier.
    pub sequence: u32,
    /// What it is.
    pub kind: SyncKind,
    /// Where.
    pub place: Option<SiteId>,
    /// When the piece began; of the first, the arrival.
    pub begin: Time,
    /// When it ended; of the last, when the thread left.
    pub end: Time,
    /// True if it is not the first piece.
    pub continued: bool,
    /// True if a task cut it off.
    pub interrupted: bool,
}

/// A task that the program made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// Its number.
    pub id: TaskId,
    /// The explicit task that made it; `None` for an implicit one.
    pub parent: Option<TaskId>,
    /// The thread that made it.
    pub thread: ThreadId,
    /// When.
    pub time: Time,
    /// The instance.
    pub instance: Option<Instance>,
    /// Where it is in the source: the function that the compiler made of it, or the place that made it.
    pub place: Option<SiteId>,
    /// What making it took (ns), where that was timed.
    pub making: Option<Nanos>,
    /// True if it was executed at once by the thread that made it.
    pub undeferred: bool,
    /// True if it belongs to a `taskloop`.
    pub of_loop: bool,
}

/// A thread executed a task, or a piece of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskRun {
    /// Who.
    pub thread: ThreadId,
    /// The task. `None` for the time in tasks that were not told one by one, all together: it lies at the end of the wait in
    /// which the thread executed them.
    pub task: Option<TaskId>,
    /// The instance.
    pub instance: Option<Instance>,
    /// When it began to.
    pub begin: Time,
    /// When it stopped.
    pub end: Time,
    /// True if the task was done then.
    pub complete: bool,
}

/// How a task uses what it depends on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DependKind {
    /// It reads it.
    In,
    /// It writes it, or does both.
    Out,
    /// In any order, one at a time.
    Exclusive,
    /// In any order.
    OutSet,
}

/// A task depends on what lies at an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Depend {
    /// The task.
    pub task: TaskId,
    /// The address.
    pub address: u64,
    /// How.
    pub kind: DependKind,
}

/// How often one thread acquired OpenMP locks at one place in one region, and what a sample of that took.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acquires {
    /// Who.
    pub thread: ThreadId,
    /// Where.
    pub place: Option<SiteId>,
    /// The region around it, by [`Region::place`].
    pub region: Option<SiteId>,
    /// What kind of lock.
    pub kind: ObjectKind,
    /// Acquisitions.
    pub acquisitions: u64,
    /// How many of those that did not wait were timed.
    pub timed: u64,
    /// Time in these (ns), from the call to its return.
    pub time: Nanos,
    /// Time in the fastest of these (ns).
    pub fastest: Nanos,
    /// How many acquisitions had to wait: all of these were timed.
    pub waits: u64,
    /// Time in these (ns).
    pub waiting: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processes of one program call their threads, sites, regions and tasks alike.
    #[test]
    fn what_two_processes_did_is_kept_apart() {
        let at = Time::from_nanos;
        let (thread, site, instance, task) =
            (ThreadId::new(1), Some(SiteId::new(2)), Instance::new(3), TaskId::new(1 << 32 | 1));
        let region = Region {
            thread,
            begin: at(0),
            end: at(9),
            instance,
            place: site,
            met_at: site,
            parent: Some(instance),
            size: 2,
            count: 4,
            timed: 0,
            time: Nanos::ZERO,
            vendor: Vendor::Gnu,
            whole: false,
            league: false,
            open: false,
        };
        let one = OpenMp {
            runtimes: vec![Runtime { vendor: Vendor::Gnu, told: true, module: site }],
            regions: vec![region.clone()],
            shares: vec![Share {
                thread,
                instance,
                index: 0,
                begin: at(0),
                end: at(9),
                cpu: None,
                cpu_begin: None,
            }],
            tasks: vec![Task {
                id: task,
                parent: Some(task),
                thread,
                time: at(1),
                instance: Some(instance),
                place: site,
                making: None,
                undeferred: false,
                of_loop: false,
            }],
            task_runs: vec![TaskRun {
                thread,
                task: Some(task),
                instance: Some(instance),
                begin: at(2),
                end: at(3),
                complete: true,
            }],
            depends: vec![Depend { task, address: 77, kind: DependKind::In }],
            ..OpenMp::default()
        };
        let mut both = one.clone();
        both.join(one.clone(), 10, 20);
        assert_eq!(both.runtimes, one.runtimes, "it is the same");
        assert_eq!((&both.regions[0], &both.tasks[0]), (&region, &one.tasks[0]));
        let there = (ThreadId::new(11), Some(SiteId::new(22)));
        let second = &both.regions[1];
        assert_eq!((second.thread, second.place, second.met_at), (there.0, there.1, there.1));
        assert!(second.instance.0 >= instance.0 + region.count, "all executions of the first");
        assert_eq!(
            (second.parent, both.shares[1].instance, both.tasks[1].instance, both.task_runs[1].instance),
            (Some(second.instance), second.instance, Some(second.instance), Some(second.instance))
        );
        let made = &both.tasks[1];
        assert_eq!(
            (made.parent, both.task_runs[1].task, both.depends[1].task),
            (Some(made.id), Some(made.id), made.id)
        );
        assert_eq!((made.thread, made.place, both.shares[1].thread), (there.0, there.1, there.0));
        assert_ne!((made.id, both.depends[1].address), (task, 77));
        assert_ne!(made.id, task);
        assert_ne!(both.depends[1].address, both.depends[0].address);
    }

    #[test]
    fn executions_are_known_by_the_last_whole_one_before_them() {
        let region = |thread, place, begin, instance, whole| Region {
            thread: ThreadId::new(thread),
            begin: Time::from_nanos(begin),
            end: Time::from_nanos(begin + 5),
            instance: Instance::new(instance),
            place: Some(SiteId::new(place)),
            met_at: None,
            parent: None,
            size: 2,
            count: 1,
            timed: 1,
            time: Nanos::new(5),
            vendor: Vendor::Gnu,
            whole,
            league: false,
            open: false,
        };
        let regions = vec![
            region(0, 1, 50, 4, true),
            region(0, 1, 10, 1, true),
            region(0, 1, 30, 3, false),
            region(0, 2, 20, 2, true),
            region(1, 1, 60, 5, true),
            // Nothing is known of what its threads did.
            region(0, 1, 70, 6, true),
        ];
        let share = |instance| Share {
            thread: ThreadId::new(0),
            instance: Instance::new(instance),
            index: 0,
            begin: Time::from_nanos(0),
            end: Time::from_nanos(5),
            cpu: None,
            cpu_begin: None,
        };
        let shares = (1..=5).map(share).collect();
        let whole = WholeExecutions::of(&OpenMp { regions, shares, ..OpenMp::default() });
        let nearest = |thread, place, begin| {
            let at = (ThreadId::new(thread), Some(SiteId::new(place)), Time::from_nanos(begin));
            whole.nearest(at.0, at.1, at.2).map(|instance| instance.number())
        };
        assert_eq!([nearest(0, 1, 49), nearest(0, 1, 50), nearest(0, 1, 5)], [Some(1), Some(4), Some(1)]);
        assert_eq!(nearest(0, 1, 90), Some(4));
        assert_eq!([nearest(0, 2, 90), nearest(1, 1, 0), nearest(1, 2, 90)], [Some(2), Some(5), None]);
    }
}
