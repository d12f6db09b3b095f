//! How a program scales, region by region: what is lost at more threads, why, and what fixing it saves (paper 5).
//!
//! [`scale`] takes the runs of one program at several numbers of threads ([`ScalePoint`]) and gives a [`Scaling`]. In
//! reading order: which run stands for each number (`chosen`), what was recorded of each execution of a region
//! (`instance`), what hindered its threads (`course`), where they met (`meeting`), where the team's time went (`team`), the
//! sums of that over a region (`profile`; `regions` for OpenMP, `sections` for other programs, `locks`), the comparison
//! of these over numbers of threads (`compare`), the efficiencies (`pop`), the law that fits the times (`laws`), what
//! hints rest on (`evidence`), how much slower work gets where more threads are at it (`inflation`), the hints with what
//! they would give (`hints`), and what to beware of (`notes`). `scale` puts it together.

#![forbid(unsafe_code)]

mod chosen;
mod compare;
mod evidence;
mod hints;
mod inflation;
mod instance;
pub mod laws;
mod locks;
mod meeting;
mod notes;
mod point;
mod pop;
mod profile;
mod regions;
mod scale;
mod sections;
mod span;
mod team;

pub use scale::scale;

use holdup_model::{Efficiency, Nanos, Run, Site, Stack, StackComponent, Unit};

/// The runs at one number of threads.
#[derive(Clone, Copy, Debug)]
pub struct ScalePoint<'a> {
    /// The number of threads that the program was told to use.
    pub threads: u32,
    /// The recorded runs, at least one: repetitions of the same.
    pub runs: &'a [Run],
    /// Wall times (ns) of runs without any recording, where there were some; may be empty.
    pub plain: &'a [Nanos],
}

/// How a program scales over several numbers of threads. Times are of the median run at each.
#[derive(Clone, Debug, Default)]
pub struct Scaling {
    /// The command.
    pub command: Vec<String>,
    /// Cores of the machine that the program could use.
    pub cores: u32,
    /// The largest share of the CPUs' time that others used in the run of a number of threads (0 to 1); `None` below
    /// [`MUCH_USED`], and where it is not known.
    pub used_by_others: Option<f64>,
    /// Why the runs say nothing of how the program scales, as a sentence: it uses another number of threads than it was to. Then
    /// there is nothing but the points' times.
    pub ignored: Option<String>,
    /// The whole program at each number of threads, ascending.
    pub points: Vec<WholePoint>,
    /// Parallel regions and sections, and what is between them, by falling potential gain.
    pub regions: Vec<RegionScaling>,
    /// What would help most, best first, with the region that each is for.
    pub hints: Vec<Hint>,
    /// The law that fits the whole program's times best; `None` for fewer than three numbers of threads.
    pub law: Option<FittedLaw>,
    /// The hierarchy of efficiencies at each number of threads.
    pub pop: Vec<Efficiencies>,
    /// What a reader must know to trust the numbers, as sentences.
    pub notes: Vec<String>,
}

impl Scaling {
    /// Takes away all that compares numbers of threads, as the program does not use those that it was to: `why` says so.
    pub fn ignores_threads(&mut self, why: String) {
        self.ignored = Some(why);
        for point in &mut self.points {
            (point.losses, point.costs) = (Losses::default(), Losses::default());
        }
        self.regions.clear();
        self.hints.clear();
        self.pop.clear();
        self.law = None;
    }
}

/// A time that was measured several times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Measured {
    /// The median.
    pub median: Nanos,
    /// The least.
    pub low: Nanos,
    /// The most.
    pub high: Nanos,
    /// How often it was measured.
    pub runs: u32,
}

/// The whole program at one number of threads.
#[derive(Clone, Debug)]
pub struct WholePoint {
    /// The number of threads.
    pub threads: u32,
    /// Wall time.
    pub wall: Measured,
    /// Time at the base (the fewest threads) divided by the time here.
    pub speedup: f64,
    /// Parallel efficiency: speedup × base threads / threads (paper 5, section 3.1).
    pub efficiency: f64,
    /// What is lost here, against perfect scaling from the base.
    pub losses: Losses,
    /// The same causes as what they cost here, whether or not they cost as much at the base: see [`RegionPoint::costs`].
    pub costs: Losses,
    /// The share of the time in parallel regions that was recorded whole, from 0 to 1; `None` without regions.
    pub whole_share: Option<f64>,
}

/// Where the time that perfect scaling would save went: wall time of the program or region, in ns. All parts, the
/// unexplained one included, add up to `lost`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Losses {
    /// Time here − time at the base × base threads / threads: negative where it scales better than perfectly.
    pub lost: i64,
    /// Threads wait because others come late (paper 5, section 3.3: the imbalance phase), late releases taken out.
    pub imbalance: i64,
    /// All have arrived and none has left yet.
    pub walkthrough: i64,
    /// Some have left and others not yet: the lateness that the next meeting sees is blamed here.
    pub startup: i64,
    /// The lock algorithm: acquisitions × the fastest acquisition (the fastest mean of a thread at one place).
    pub lock_algorithm: i64,
    /// Waiting for locks that others have.
    pub lock_contention: i64,
    /// Dealing out chunks, making tasks, forking: the runtime's work.
    pub scheduling: i64,
    /// Only one thread may work: `single`, `masked`, ordered, the time between regions.
    pub serial: i64,
    /// Threads find no task to execute.
    pub starvation: i64,
    /// More CPU time for the same work than at the base: memory, caches, extra work.
    pub inflation: i64,
    /// Threads could run and had no core.
    pub oversubscription: i64,
    /// What none of these explains; negative where they explain too much.
    pub unexplained: i64,
}

/// From this share of the CPUs' time on, what others used makes times say little of the program.
pub const MUCH_USED: f64 = 0.1;

/// The key of what no cause explains.
pub const UNEXPLAINED: &str = "unexplained";

impl Losses {
    /// All parts in the order in which they are drawn: what synchronization costs, what the work itself costs, and last what
    /// none of them explains. They add up to `lost`.
    pub fn components(&self) -> [StackComponent; 11] {
        let part = |key: &'static str, label: &'static str, meaning, color, nanos: i64| StackComponent {
            key: key.into(),
            label: label.into(),
            meaning,
            color,
            letter: None,
            amount: nanos as f64,
        };
        let late = "threads wait because others come late";
        let startup = "some threads have left a barrier and others not yet";
        let algorithm = "taking locks takes time, though nobody else has them";
        let scheduling = "the runtime deals out chunks, makes tasks, forks threads";
        let inflation = "the same work takes more CPU time than at the base";
        [
            part("imbalance", "imbalance", late, "bar", self.imbalance),
            part(
                "walkthrough",
                "barrier walkthrough",
                "all threads have arrived and none has left",
                "sig",
                self.walkthrough,
            ),
            part("startup", "barrier startup", startup, "wake", self.startup),
            part(
                "lock_contention",
                "lock contention",
                "threads wait for locks that others have",
                "lock",
                self.lock_contention,
            ),
            part("lock_algorithm", "lock algorithm", algorithm, "hold", self.lock_algorithm),
            part("scheduling", "scheduling", scheduling, "spin", self.scheduling),
            part("serial", "serial part", "only one thread may work", "serial", self.serial),
            part("starvation", "starvation", "threads find no task to execute", "idle", self.starvation),
            part("inflation", "work inflation", inflation, "cache", self.inflation),
            part(
                "oversubscription",
                "oversubscription",
                "threads could run and had no core",
                "des",
                self.oversubscription,
            ),
            part(UNEXPLAINED, UNEXPLAINED, "none of the others explains it", "hatch", self.unexplained),
        ]
    }

    /// What a time of `whole` consists of: these losses, and the `rest`, which is what is left without them.
    pub fn stack(&self, whole: Nanos, rest: &'static str) -> Stack {
        let left = StackComponent::new("rest", rest, "act", whole.get() as f64 - self.lost as f64);
        let components = [left].into_iter().chain(self.components()).collect();
        Stack::of_total(whole.get() as f64, Unit::Nanos, components)
    }
}

/// What a [`RegionScaling`] is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RegionKind {
    /// An OpenMP parallel region.
    Parallel,
    /// The code between two barriers, or between the creation of threads and their join.
    Section,
    /// What only one thread does: outside of all regions and sections.
    Serial,
}

/// One region of the program over all numbers of threads.
#[derive(Clone, Debug)]
pub struct RegionScaling {
    /// What it is.
    pub kind: RegionKind,
    /// Where it is: for an OpenMP region the function made of it with the directive's line, for a section the place
    /// where it ends. `None` for what has no one place.
    pub place: Option<Site>,
    /// True if it is executed inside of another region, or beside one that another thread met: its time is in that of
    /// the other already, and not counted again for the whole program.
    pub nested: bool,
    /// At each number of threads at which it was executed, ascending.
    pub points: Vec<RegionPoint>,
    /// Time at the most threads − time at perfect efficiency there (ns); 0 where it scales better than that.
    pub potential_gain: Nanos,
    /// What would help, best first.
    pub hints: Vec<Hint>,
    /// The law that fits its times best.
    pub law: Option<FittedLaw>,
}

/// One region at one number of threads.
#[derive(Clone, Debug)]
pub struct RegionPoint {
    /// The number of threads that the program was told to use.
    pub threads: u32,
    /// The threads that worked in it, as a mean over its instances.
    pub team: f64,
    /// How often it was executed.
    pub instances: u64,
    /// How many of these were recorded whole.
    pub whole: u64,
    /// Time in it.
    pub time: Measured,
    /// The standard error of the parts of `losses` that come from sampled instances, relative to `lost`.
    pub error: f64,
    /// Its time at the base divided by its time here.
    pub speedup: f64,
    /// Speedup × base threads / threads.
    pub efficiency: f64,
    /// What is lost in it, against perfect scaling from the base: what a cause costs here − what it cost there × base
    /// threads / threads.
    pub losses: Losses,
    /// The same causes as what they cost here, whether or not they cost as much at the base (an uncontended lock does):
    /// `lost` is its time − its useful time, and `inflation` is 0, since more time for the same work is useful time.
    pub costs: Losses,
}

/// What a hint says to do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum HintKind {
    /// Deal out a loop's iterations in another way (schedule kind, chunk size).
    Schedule,
    /// Fewer barriers, or `nowait`.
    Barriers,
    /// Another OpenMP runtime, or another setting of its waiting.
    Runtime,
    /// A lock hint, or a lock that is good without contention.
    LockHint,
    /// `atomic` in the place of a lock.
    Atomic,
    /// A queue lock: one that is good with contention.
    QueueLock,
    /// Fewer threads that want the same lock at once.
    FewerConcurrent,
    /// Larger regions: join several, or parallelize an outer loop.
    CoarserRegions,
    /// `collapse` nested loops: there are too few iterations for the threads.
    Collapse,
    /// Larger tasks: a cut-off, or a grain size.
    TaskCutoff,
    /// More or smaller tasks: threads starve.
    MoreTasks,
    /// Parallelize what one thread does alone.
    Parallelize,
    /// Fix the use of memory: more CPU time for the same work.
    Memory,
    /// Fewer threads than now.
    FewerThreads,
}

/// Something to do, and what it would give.
#[derive(Clone, Debug)]
pub struct Hint {
    /// What sort.
    pub kind: HintKind,
    /// For which region: an index into [`Scaling::regions`]; `None` for the whole program.
    pub region: Option<usize>,
    /// Where in the source; `None` for the region as a whole.
    pub place: Option<Site>,
    /// What to do, as a sentence.
    pub text: String,
    /// What it would save of the whole program's wall time at the most threads; `None` where it cannot be told.
    pub gain: Option<HintGain>,
    /// True if `gain` is an upper bound, not a prediction.
    pub bound: bool,
    /// How the gain was found, in a few words.
    pub method: String,
}

/// What a hint would save of the wall time (ns); negative where it would cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HintGain {
    /// The expected gain.
    pub time: i64,
    /// The low end of its interval.
    pub low: i64,
    /// The high end of its interval.
    pub high: i64,
}

/// A law of time over threads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LawKind {
    /// T(n) = T(1) · (s + (1 − s) / n).
    Amdahl,
    /// T(n) = T(1) · (1 + σ(n − 1) + κ n(n − 1)) / n.
    Usl,
    /// T(n) = Σ c · n^i · log2(n)^j: the performance-model normal form.
    NormalForm,
}

/// A law that was fitted to measured times.
#[derive(Clone, Debug)]
pub struct FittedLaw {
    /// Which was chosen.
    pub kind: LawKind,
    /// It with its parameters, as a formula for people.
    pub formula: String,
    /// Its parameters: name, value, and the ends of the 95 % interval.
    pub parameters: Vec<LawParameter>,
    /// The root mean square relative error of predicting each measured point from the others.
    pub cross_validation_error: f64,
    /// Times at the measured numbers of threads and beyond.
    pub predictions: Vec<LawPrediction>,
    /// The region that takes most of the loss at the furthest prediction: an index into [`Scaling::regions`]. Only for
    /// the whole program.
    pub dominated_by: Option<usize>,
}

/// One parameter of a law.
#[derive(Clone, Debug)]
pub struct LawParameter {
    /// Its name in the formula.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// What a law says for one number of threads.
#[derive(Clone, Copy, Debug)]
pub struct LawPrediction {
    /// The number of threads.
    pub threads: u32,
    /// The time (ns), and the ends of the 95 % prediction interval.
    pub time: Nanos,
    /// See `time`.
    pub low: Nanos,
    /// See `time`.
    pub high: Nanos,
    /// The parallel efficiency, and the ends of its interval.
    pub efficiency: f64,
    /// See `efficiency`.
    pub efficiency_low: f64,
    /// See `efficiency`.
    pub efficiency_high: f64,
}

/// The hierarchy of efficiencies of the POP centre of excellence, at one number of threads. Each value is the product
/// of those below it.
#[derive(Clone, Debug)]
pub struct Efficiencies {
    /// The number of threads.
    pub threads: u32,
    /// The tree, its root first: the measured parallel efficiency.
    pub root: Efficiency,
}
