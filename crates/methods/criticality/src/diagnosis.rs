//! The answer: what holds one process up, as one value. Every face (terminal, JSON, page) shows this and
//! nothing else, so that they cannot disagree.

use std::sync::Arc;

use holdup_model::{
    Ends, Nanos, ObjectId, SiteId, Stack, StackComponent, State, ThreadId, ThreadTimes, Time, Timeline, Unit,
};

use crate::finding_kind::FindingKind;
use crate::note::EnvironmentNote;
use crate::repeats::{FindingRepeats, RunRepeats};
use crate::tree::ProcessTree;

/// What holds one process up.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnosis {
    /// The index into [`holdup_model::Run::processes`].
    pub process: usize,
    /// What all of this was found in: to build it takes as long as to diagnose it, and whoever shows or replays the
    /// process reads the same.
    pub timeline: Arc<Timeline>,
    /// How long the process lived: T.
    pub wall: Nanos,
    /// How many CPUs it was allowed to use; 0 where that is not known.
    pub cores: u32,
    /// How many CPUs it could have at a time: `cores`, or what the quota of its control groups gives, rounded up, where
    /// that is less; 0 where that is not known.
    pub effective_cores: u32,
    /// The threads that do work, by id. One that only starts and joins others is not one.
    pub working_threads: Vec<ThreadId>,
    /// How many working threads there were at once, not counting those that wait for others' ends: what every
    /// cost is divided by. A main thread that computes, starts four workers and joins them makes this 4, though
    /// five threads work.
    pub workers: u32,
    /// True if never two of them were at work at once, though several had a part in the work: it is divided by two all the same.
    pub one_by_one: bool,
    /// The average number of active threads over T.
    pub parallelism: f64,
    /// CPU time of all threads over T, where it is known for every thread.
    pub on_cpu_parallelism: Option<f64>,
    /// The lower of the two parallelisms, divided by what could be had: the lower of `effective_cores`
    /// and `workers`.
    /// From 0 to 1.
    pub efficiency: f64,
    /// Which definition of active was used, in words.
    pub active_means: &'static str,
    /// The criticality of each thread, and the time with nobody active.
    pub criticality: Criticality,
    /// The same with threads that are able to run but have no core counted as active: whom the program waits for, whoever
    /// has the cores.
    pub runnable: Criticality,
    /// The share of the CPUs' time that other programs used; 0 where that is little or not known.
    pub others: f64,
    /// One for each thread that was ever active, highest first.
    pub bottle: Vec<Bottle>,
    /// What each thread did, by [`ThreadId`].
    pub threads: Vec<ThreadTimes>,
    /// What each object cost, most costly first. Objects that nobody used or waited for are left out.
    pub objects: Vec<ObjectCost>,
    /// What families of objects cost, most costly first; only those of which more than one is in `objects`.
    pub families: Vec<FamilyCost>,
    /// The critical path.
    pub path: CriticalPath,
    /// Who waited for whom, most time first. At most [`crate::MOST_CHAINS`].
    pub chains: Vec<Chain>,
    /// What to fix, what is most worth it first. Empty where nothing holds the program up.
    pub findings: Vec<Finding>,
    /// Where the wall time went.
    pub cost_identity: CostIdentity,
    /// What of the environment may have slowed it down: no findings, since the program cannot fix it, or what it costs is
    /// not known.
    pub environment: Vec<EnvironmentNote>,
    /// Where in the code threads were at work; `None` without samples of running threads.
    pub hot: Option<HotSpots>,
    /// How criticality and parallelism changed in the course of the run.
    pub over_time: OverTime,
    /// What a replay of the run predicts; `None` where it cannot be replayed.
    pub what_if: Option<WhatIf>,
    /// What other recordings of the same program say; `None` where there are none.
    pub repeats: Option<RunRepeats>,
    /// What all processes of the run did together: of the process that is told first, where there are several.
    pub tree: Option<ProcessTree>,
}

/// From this share of the CPUs' time on, what other programs took decides which thread has a core.
const MUCH_OF_CPUS: f64 = 0.05;

impl Diagnosis {
    /// Whether [`Diagnosis::runnable`] is the criticality to go by: other programs had so much of the CPUs that who was on a
    /// core says more of them than of this one.
    pub fn is_by_runnable(&self) -> bool {
        self.others > MUCH_OF_CPUS
    }

    /// What the objects of a finding cost together; `None` where it is about none.
    pub fn cost_of(&self, finding: &Finding) -> Option<&ObjectCost> {
        match self.family_of(finding) {
            Some(family) => Some(&family.sum),
            None => self.objects.iter().find(|cost| finding.object == Some(cost.object)),
        }
    }

    /// The family that a finding is about.
    pub fn family_of(&self, finding: &Finding) -> Option<&FamilyCost> {
        let object = finding.object.filter(|_| !finding.others.is_empty())?;
        self.families.iter().find(|family| family.members.contains(&object))
    }

    /// The criticality to tell first.
    pub fn told_criticality(&self) -> &Criticality {
        if self.is_by_runnable() { &self.runnable } else { &self.criticality }
    }
}

/// The criticality of each thread (paper 4, Eq. 1) and the time with nobody active: together the wall time.
#[derive(Clone, PartialEq, Debug)]
pub struct Criticality {
    /// The wall time T, to which everything here adds up.
    pub total: Nanos,
    /// C_j = Σ t_i / r_i (ns) over the intervals in which thread j is active, by [`ThreadId`].
    pub threads: Vec<f64>,
    /// Time with no active thread (ns) by what ended it; only causes that occurred, in the order of
    /// [`NobodyCause`].
    pub nobody: Vec<(NobodyCause, f64)>,
}

impl Criticality {
    /// All time with no active thread (ns).
    pub fn nobody_total(&self) -> f64 {
        self.nobody.iter().map(|(_, amount)| amount).sum()
    }

    /// The criticality stack (paper 4, section 2): one component a thread, by its label, then *nobody* by its causes.
    pub fn stack(&self, labels: &[String]) -> Stack {
        let threads = self.threads.iter().enumerate().map(|(index, &amount)| {
            let label = labels.get(index).map_or_else(|| format!("thread {index}"), Clone::clone);
            StackComponent::new(format!("thread_{index}"), label, "act", amount)
        });
        let nobody = self.nobody.iter().map(|&(cause, amount)| {
            let word = cause.word();
            StackComponent::new(format!("nobody_{word}"), format!("nobody: {word}"), "io", amount)
        });
        Stack::of_total(self.total.get() as f64, Unit::Nanos, threads.chain(nobody).collect())
    }
}

/// What ended a time in which no thread was active.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NobodyCause {
    /// I/O was done.
    Io,
    /// A sleep was over.
    Sleep,
    /// A thread that had been released ran at last.
    WakeUp,
    /// A thread that could run was given a core.
    RunQueue,
    /// Something else: a time limit, another process, the start of a thread, the end of the run.
    Other,
}

impl NobodyCause {
    /// Every cause, in order.
    pub(crate) const ALL: [NobodyCause; 5] =
        [NobodyCause::Io, NobodyCause::Sleep, NobodyCause::WakeUp, NobodyCause::RunQueue, NobodyCause::Other];

    /// What a person calls it.
    pub fn word(self) -> &'static str {
        match self {
            NobodyCause::Io => "I/O",
            NobodyCause::Sleep => "sleep",
            NobodyCause::WakeUp => "wake-up",
            NobodyCause::RunQueue => "run queue",
            NobodyCause::Other => "other",
        }
    }
}

/// One box of the bottle graph (Du Bois, Sartor, Eyerman, Eeckhout, OOPSLA'13): how much of the run time a
/// thread stands for, and how parallel the program was while it ran. Boxes stack up to the run time less the
/// time with nobody active; a tall narrow box is the bottleneck.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bottle {
    /// Which thread.
    pub thread: ThreadId,
    /// C_j / T, from 0 to 1.
    pub height: f64,
    /// The thread's active time / C_j: the average parallelism while it was active, in threads.
    pub width: f64,
}

/// What is known of how long a lock was held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HoldTime {
    /// Every hold was timed.
    Measured(Nanos),
    /// The mean of the timed holds × acquisitions.
    Estimated {
        /// The estimate.
        time: Nanos,
        /// How many holds were timed.
        samples: u64,
    },
    /// Nothing is known, or the object is nothing that is held.
    Unknown,
}

impl HoldTime {
    /// The time, measured or estimated.
    pub fn time(self) -> Option<Nanos> {
        match self {
            HoldTime::Measured(time) | HoldTime::Estimated { time, .. } => Some(time),
            HoldTime::Unknown => None,
        }
    }
}

/// What one sync object cost.
#[derive(Clone, PartialEq, Debug)]
pub struct ObjectCost {
    /// Which.
    pub object: ObjectId,
    /// Where to look: for a lock where it was taken by those who were waited for, else where it is mostly
    /// waited for.
    pub place: Option<SiteId>,
    /// Successful acquisitions, where they were counted.
    pub acquisitions: Option<u64>,
    /// `try` calls that failed.
    pub failed_tries: u64,
    /// How often a thread waited.
    pub waits: u64,
    /// Their length together, each until its logical wake.
    pub wait: Nanos,
    /// From the logical wakes until the threads ran.
    pub waking: Nanos,
    /// How long it was held, all holds together.
    pub hold: HoldTime,
    /// Time that working threads waited because of this object, by root cause, divided by their number: a wait
    /// during which the one waited for was itself blocked on another object is charged to that other one.
    pub cost: Nanos,
    /// The same, before waits are passed on along chains.
    pub direct_cost: Nanos,
    /// Who was waited for, most first.
    pub holders: Vec<HolderShare>,
    /// Who waited, most first.
    pub waiters: Vec<WaiterShare>,
    /// Time on the critical path because of it. For a lock: where the path came through a release, the hold that
    /// it ended and what its thread did since the waiter came. For anything else: the time in which others waited
    /// on it for the path's thread. For both: waits of the path's thread that nobody is known to have ended.
    pub on_path: Nanos,
    /// How many threads waited for it, on average over the time in which at least one did.
    pub mean_waiters: f64,
}

/// What the objects of a family cost together: the locks of an array, of the nodes of a tree, of the buckets of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct FamilyCost {
    /// What it is called, in expressions too; see [`holdup_model::Family::name`]. Hostile.
    pub name: String,
    /// True if that is no more than where its members are taken.
    pub is_unnamed: bool,
    /// All of them, most costly first.
    pub members: Vec<ObjectId>,
    /// How many were waited for.
    pub waited_for: usize,
    /// The sums over all. Its object is the first member.
    pub sum: ObjectCost,
}

/// One that was waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HolderShare {
    /// The thread; `None` where it is not known.
    pub thread: Option<ThreadId>,
    /// Where it took the object (a lock), or where it arrived or released it (anything else).
    pub site: Option<SiteId>,
    /// How long others waited for it, together.
    pub time: Nanos,
}

/// One that waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaiterShare {
    /// The thread.
    pub thread: ThreadId,
    /// Where it waited.
    pub site: Option<SiteId>,
    /// How long, together.
    pub time: Nanos,
}

/// Waits of the same course, together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    /// The threads that waited in this way, by id.
    pub waiters: Vec<ThreadId>,
    /// From the waiters' object to the root; never empty.
    pub links: Vec<ChainLink>,
    /// How long all of them together.
    pub time: Nanos,
}

/// One step of a [`Chain`]: an object, and what the thread that was waited for did meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ChainLink {
    /// What was waited for.
    pub object: ObjectId,
    /// Where.
    pub wait_site: Option<SiteId>,
    /// Who was waited for; `None` where it is not known.
    pub holder: Option<ThreadId>,
    /// What it did. [`State::Blocked`] with a next link where it waited itself.
    pub holder_state: State,
    /// Where it took the object, or, for what cannot be held, the sync site that ends what it did.
    pub holder_site: Option<SiteId>,
}

/// The sequence of work and delays that the length of the run consists of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CriticalPath {
    /// Its length: exactly the wall time.
    pub length: Nanos,
    /// Where it runs, in the order of time: from the start of the process to its end without gaps.
    pub pieces: Vec<PathPiece>,
    /// Its parts by thread, state and site, most time first; together the length.
    pub steps: Vec<PathStep>,
    /// Time on the path by thread, most first; together the length.
    pub by_thread: Vec<(ThreadId, Nanos)>,
    /// Time on the path by object, most first; see [`ObjectCost::on_path`].
    pub by_object: Vec<(ObjectId, Nanos)>,
}

/// A part of the critical path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathPiece {
    /// Whose time it is.
    pub thread: ThreadId,
    /// What the thread did.
    pub state: State,
    /// When the path comes to this thread or this state.
    pub start: Time,
    /// When it goes on to the next piece.
    pub end: Time,
}

/// Time on the critical path of one thread in one state before one site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathStep {
    /// Whose time it is.
    pub thread: ThreadId,
    /// The sync site that ends the work, or where the thread waits.
    pub site: Option<SiteId>,
    /// What the thread did.
    pub state: State,
    /// How long, all such parts together.
    pub time: Nanos,
}

/// One thing that holds the program up. The texts carry names as the program gave them: escape them where they
/// are shown.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Which sort.
    pub kind: FindingKind,
    /// The object, where it is about one; of several the worst.
    pub object: Option<ObjectId>,
    /// The others, where it is about several of a family: the next worst first.
    pub others: Vec<ObjectId>,
    /// The threads that cause it (who hold, come late, work alone), most first.
    pub threads: Vec<ThreadId>,
    /// Where in the code to look.
    pub place: Option<SiteId>,
    /// One heading: `mutex cache_lock, held in cache_put (cache.c:212)`.
    pub what: String,
    /// One or two sentences of figures.
    pub evidence: Vec<String>,
    /// What can be done.
    pub hint: String,
    /// Thread-time lost to it, divided by the number of working threads; with more of them than cores, less what cores could not
    /// have done anyway. Of [`FindingKind::is_of_work`] it is work that takes too long.
    pub cost: Nanos,
    /// How much of the critical path it is; `None` where that has no meaning.
    pub on_path: Option<Nanos>,
    /// What fixing it saves, where that is known: mostly from a replay.
    pub gain: Option<Gain>,
    /// What other recordings of the same program say; `None` where there are none.
    pub repeats: Option<FindingRepeats>,
    /// How the cost was found.
    pub method: &'static str,
    /// Of what one thread does alone: the stretches in which it does it, the dearest first. Else empty.
    pub stretches: Vec<Ends>,
    /// What to keep in mind, a sentence each.
    pub notes: Vec<String>,
}

/// What fixing a finding gives, as a replay predicts it; of tiny tasks, what making and handing them out took; of waiting threads
/// that spin, what was lost for want of the cores that they had; of cache lines that are passed on, a part of the time at accesses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gain {
    /// The expected gain.
    pub time: Nanos,
    /// The low end of its interval.
    pub low: Nanos,
    /// The high end of its interval.
    pub high: Nanos,
    /// The expression that `holdup whatif` takes for it; empty where no replay can do it. Hostile: it may carry names of the program.
    pub expression: String,
    /// What holds the program up next, in a few words, where that keeps the gain below the cost. Hostile.
    pub capped_by: Option<String>,
}

/// What a replay of the run predicts.
#[derive(Clone, PartialEq, Debug)]
pub struct WhatIf {
    /// The wall time of the unchanged run as the replay has it: how far it is from [`Diagnosis::wall`] says how far
    /// the predictions can be trusted. All gains are differences from this.
    pub replayed: Nanos,
    /// All findings that have a gain fixed at once: gains do not add up.
    pub all_together: Option<Gain>,
    /// How the run would change with the size of a change, for the findings that give the most.
    pub curves: Vec<Curve>,
    /// What to keep in mind, a sentence each.
    pub notes: Vec<String>,
}

/// A what-if at several sizes of one change.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// What changes: `critical sections of cache_lock made cheaper`. Hostile.
    pub what: String,
    /// The rank of the finding that it is about, from 0, if it is about one: its index in [`Diagnosis::findings`].
    pub finding: Option<usize>,
    /// What [`CurvePoint::at`] is: `times shorter`, `cores`, `threads`.
    pub axis: &'static str,
    /// In the order of `at`.
    pub points: Vec<CurvePoint>,
}

/// One point of a [`Curve`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CurvePoint {
    /// The size of the change; infinity for *removed*.
    pub at: f64,
    /// The predicted wall time.
    pub wall: Nanos,
    /// The low end of its interval.
    pub low: Nanos,
    /// The high end of its interval.
    pub high: Nanos,
}

/// Where the wall time went, on the average over the working threads: `useful`, `parts` and `unexplained` add
/// up to the wall time exactly.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CostIdentity {
    /// Active and on a core as far as that is known.
    pub useful: Nanos,
    /// What was lost to each class, in the order of [`FindingKind`]; only classes with a loss.
    pub parts: Vec<(FindingKind, Nanos)>,
    /// Lost to nothing that is known (not recorded, waits for other processes), and the rounding.
    pub unexplained: Nanos,
}

/// One place at which threads were seen at work.
#[derive(Clone, PartialEq, Debug)]
pub struct HotSpot {
    /// A site with this place: of a function, at its line with the most critical time.
    pub place: SiteId,
    /// The function's name, else where it begins, where one of them is known. Hostile: escape it where it is shown.
    pub function: Option<String>,
    /// The function of a library, or of the language's runtime, in which most of `active` passed, where the
    /// program called one there. Hostile.
    pub inside: Option<String>,
    /// The active time that the samples stand for.
    pub active: Nanos,
    /// Their critical time (ns): how much ∫ dt / r grew over `active` (paper 4, Eq. 1).
    pub critical: f64,
    /// How many samples.
    pub samples: u64,
    /// `active` by thread, most first.
    pub threads: Vec<(ThreadId, Nanos)>,
}

/// Where threads were at work, as samples show it.
#[derive(Clone, PartialEq, Debug)]
pub struct HotSpots {
    /// By line, most critical first. At most [`crate::MOST_HOT_SPOTS`].
    pub lines: Vec<HotSpot>,
    /// By function, most critical first. At most [`crate::MOST_HOT_SPOTS`].
    pub functions: Vec<HotSpot>,
    /// How many samples of active threads there are.
    pub samples: u64,
    /// The share of them whose call stack could not be followed to the start of its thread, from 0 to 1.
    pub broken_stacks: f64,
    /// The active time that they stand for together: what shares of [`HotSpot::active`] are of.
    pub active: Nanos,
    /// Their critical time together (ns): what shares of [`HotSpot::critical`] are of. Threads' criticality less this
    /// was not sampled.
    pub critical: f64,
}

/// A part of the run.
#[derive(Clone, PartialEq, Debug)]
pub struct Slice {
    /// When it begins; it ends where the next one begins, the last one with the process.
    pub start: Time,
    /// The average number of active threads.
    pub parallelism: f64,
    /// Criticality (ns) of the threads that have the most of it, most first. At most
    /// [`crate::MOST_THREADS_OF_A_PHASE`].
    pub threads: Vec<(ThreadId, f64)>,
    /// Time with no active thread (ns).
    pub nobody: f64,
}

/// Neighbouring slices in which the threads share the run alike.
#[derive(Clone, PartialEq, Debug)]
pub struct Phase {
    /// When it begins.
    pub start: Time,
    /// When it ends.
    pub end: Time,
    /// The average number of active threads.
    pub parallelism: f64,
    /// Criticality (ns) of the threads that have the most of it, most first. At most
    /// [`crate::MOST_THREADS_OF_A_PHASE`].
    pub threads: Vec<(ThreadId, f64)>,
    /// Time with no active thread (ns).
    pub nobody: f64,
}

/// The course of the run.
#[derive(Clone, PartialEq, Debug)]
pub struct OverTime {
    /// The length of a slice; the last one may be shorter.
    pub slice: Nanos,
    /// The slices in order of time.
    pub slices: Vec<Slice>,
    /// The phases in order of time; one where the run was steady.
    pub phases: Vec<Phase>,
    /// The second with the lowest parallelism; `None` for runs shorter than two seconds.
    pub worst: Option<Phase>,
}
