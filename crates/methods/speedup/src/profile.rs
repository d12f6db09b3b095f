//! What comes out: the speedup stack of each phase at each number of threads.

use holdup_model::{Nanos, NotAlone, Site, Stack, StackComponent, Unit};

use super::SpeedupStack;
use super::component::{NOT_TOLD_APART, reached};
use super::instances::InstancesProfile;
use super::{Beside, CacheCurve, CacheFacts, Component, Missing, Order, Speedup};

/// Why a program does not scale, as measured on the machine itself.
#[derive(Clone, Debug, Default)]
pub struct SpeedupProfile {
    /// The command; empty where it was left out on request. Hostile.
    pub command: Vec<String>,
    /// How many CPUs the program was allowed to use.
    pub cores: u32,
    /// The shared cache, where it is known.
    pub cache: Option<CacheFacts>,
    /// The fewest threads that were measured, where the speedup is taken to be perfect.
    pub base: u32,
    /// In which order components were introduced.
    pub order: Order,
    /// The whole program, then its parallel phases by what better scaling would save of the wall time at the most threads.
    pub phases: Vec<PhaseStack>,
    /// What measuring took.
    pub effort: Effort,
    /// How much measurements of the same differ; `None` where that is little.
    pub noise: Option<Noise>,
    /// Measurements that do not count.
    pub discarded: Vec<Discarded>,
    /// How running alone went, run by run.
    pub watched: Vec<Watched>,
    /// What a reader must know to trust the numbers, as sentences.
    pub notes: Vec<String>,
    /// Programs with one thread of which several copies ran at once.
    pub instances: Vec<InstancesProfile>,
    /// Stacks of the simulator, to stand beside the measured one.
    pub simulated: Vec<SpeedupStack>,
}

/// What a [`PhaseStack`] is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum PhaseKind {
    /// The whole program.
    #[default]
    Whole,
    /// An OpenMP parallel region.
    Region,
    /// From the creation of threads to their join.
    ForkJoin,
}

/// A phase over all numbers of threads.
#[derive(Clone, Debug, Default)]
pub struct PhaseStack {
    /// What it is.
    pub kind: PhaseKind,
    /// The directive of a region; where threads are joined.
    pub place: Option<Site>,
    /// Its share of the program's wall time at the most threads, from 0 to 1.
    pub share: f64,
    /// Its time at the most threads − its time with perfect scaling from the fewest (ns); 0 where it is faster than that,
    /// `None` where the latter is not known.
    pub potential_gain: Option<Nanos>,
    /// By number of threads, ascending.
    pub points: Vec<PhasePoint>,
}

/// A phase at one number of threads.
#[derive(Clone, Debug, Default)]
pub struct PhasePoint {
    /// The number of threads that the program was told to use.
    pub threads: u32,
    /// Wall time in it (ns): without recording, as far as plain runs tell that.
    pub time: Nanos,
    /// How often it was executed.
    pub instances: u64,
    /// The stack; `None` where the time with the fewest threads is not known.
    pub stack: Option<PointStack>,
    /// Why components, or the stack as a whole, are missing.
    pub missing: Vec<Missing>,
    /// Threads that do the same, and how much they suffer from less cache; empty where that was not measured. The whole
    /// program has none of its own.
    pub groups: Vec<GroupCurve>,
    /// The least share of a profiled thread's CPU time in which it was really alone, from 0 to 1; `None` where none was.
    pub alone_share: Option<f64>,
    /// How long a profiled thread ran from one wait to the next (ns), on average; `None` where that was not measured.
    pub stretch: Option<Nanos>,
    /// By how much CPU times alone differ that should be the same, of different threads of a group: 0.1 is 10 %. `None` where
    /// only one was measured. The whole program has none of its own.
    pub spread: Option<f64>,
    /// The most that filling the cache anew after each wait can be of a profiled thread's CPU time, from 0 to 1: held
    /// threads evict its data while they catch up. No more than it has of extra work, where that shows. `None` where it cannot be estimated.
    pub refill: Option<f64>,
}

/// A speedup stack. The measured speedup, all components, and what is told together add up to the number of threads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PointStack {
    /// The speedup curves that the components are differences of.
    pub curves: Curves,
    /// What is known of components, in the order of introduction. Those that are missing are not 0.
    pub components: Vec<(Component, Speedup)>,
    /// What several components cost that cannot be told apart.
    pub together: Option<Together>,
    /// What of synchronization is uneven work: the speedup that evening out what threads do would give, with waits as
    /// they are.
    pub imbalance: Speedup,
}

impl PointStack {
    /// What a component costs; `None` where it is missing.
    pub fn get(&self, component: Component) -> Option<Speedup> {
        self.components.iter().find(|(known, _)| *known == component).map(|(_, amount)| *amount)
    }

    /// The sum of the measured speedup and all that is lost: the number of threads.
    pub fn total(&self) -> Speedup {
        let known: Speedup = self.components.iter().map(|(_, amount)| *amount).sum();
        let together = self.together.as_ref().map_or(Speedup::ZERO, |together| together.amount);
        self.curves.measured + known + together
    }
}

impl PointStack {
    /// As a bar, from the bottom to the top: what was introduced last is next to the measured speedup. It adds up to the
    /// number of threads; nothing that is 0 is left out.
    pub fn stack(&self) -> Stack {
        let mut parts = vec![reached(self.curves.measured)];
        parts.extend(self.components.iter().rev().map(|(component, amount)| component.of(*amount)));
        parts.extend(self.together.as_ref().map(|together| StackComponent {
            key: NOT_TOLD_APART.into(),
            label: format!("{} together", Component::several(&together.of)).into(),
            meaning: "what they cost cannot be told apart",
            color: "hatch",
            letter: Some('&'),
            amount: together.amount.value(),
        }));
        Stack::of(Unit::Speedup, parts)
    }
}

/// Speedups on machines that have some of the bottlenecks only (paper 1, Fig. 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Curves {
    /// None: as many times as fast as there are threads.
    pub perfect: Speedup,
    /// Amdahl's law alone.
    pub serial: Speedup,
    /// That, and the work that more threads make; `None` where no thread was measured alone.
    pub extra_work: Option<Speedup>,
    /// That, and each thread has its share of the cache only; `None` where that was not measured.
    pub pirate: Option<Speedup>,
    /// Synchronization is free: the longest t − t_wait of all threads (paper 1, section 6.3).
    pub no_sync: Speedup,
    /// The machine as it is.
    pub measured: Speedup,
}

/// Components that cannot be told apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Together {
    /// Which.
    pub of: Vec<Component>,
    /// What they cost together.
    pub amount: Speedup,
}

/// Threads that do the same, and what less cache costs them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GroupCurve {
    /// What they are called: their start function, `main`, or which of a team. Hostile.
    pub name: String,
    /// How many there are.
    pub threads: u32,
    /// Their share of the CPU time of the phase, from 0 to 1.
    pub cpu_share: f64,
    /// The cache that each of them has when all run together (bytes).
    pub cache: Option<u64>,
    /// Time for the same work over the size of the cache, by ascending size.
    pub curve: CacheCurve,
    /// The same over the memory bandwidth that a thief takes.
    pub bandwidth: Vec<ThiefPoint>,
    /// What more cache would give it.
    pub sensitivity: Option<Sensitivity>,
    /// True if the profiled thread took over work of the others: then its time counts per unit of work, or by its share of
    /// the CPU time.
    pub takes_over: bool,
    /// CPU time beside a pirate that takes no cache divided by that with nothing beside it; `None` where that was not
    /// measured.
    pub control: Option<f64>,
}

/// The time for the same work with a thief of memory bandwidth beside it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ThiefPoint {
    /// What the thief takes (bytes per second).
    pub taken: u64,
    /// The time divided by that without a thief.
    pub time: f64,
}

/// What a thread would lose to sharing the cache if it had more of it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Sensitivity {
    /// What it has (bytes).
    pub now: u64,
    /// The share of its time that it loses with that, against having the whole cache.
    pub lost: f64,
    /// With so much more (bytes).
    pub more: u64,
    /// It would lose this share.
    pub lost_with_more: f64,
}

/// How much measurements of the same thing differ.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Noise {
    /// The largest difference, relative to the smaller one: 0.1 is 10 %.
    pub share: f64,
    /// What of the speedup with the most threads that is: parts of it that are smaller mean nothing.
    pub speedup: f64,
    /// True if it is of threads that ran alone, false if it is of plain runs.
    pub of_alone: bool,
}

/// A measurement that does not count.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Discarded {
    /// At how many threads.
    pub threads: u32,
    /// Which thread was alone: the k-th.
    pub which: u32,
    /// The cache that was to be left to it (bytes).
    pub cache: u64,
    /// What ran beside it.
    pub beside: Beside,
    /// The phase, where it is only one that does not count. Hostile.
    pub phase: Option<String>,
    /// Why, as the end of a sentence.
    pub reason: String,
}

/// How a run went in which a thread of each phase was to be alone.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Watched {
    /// At how many threads.
    pub threads: u32,
    /// Which thread was to be alone: the k-th.
    pub which: u32,
    /// What ran beside it.
    pub beside: Beside,
    /// CPU time of the profiled threads (ns).
    pub cpu: Nanos,
    /// The share of that, from 0 to 1, in which all others were held; `None` where no thread had its turn.
    pub alone: Option<f64>,
    /// Why they were not, with the share of the CPU time that it concerns, from 0 to 1.
    pub rest: Vec<(NotAlone, f64)>,
}

impl Watched {
    /// The share of the CPU time in which the others were not held for this reason; `None` where that never was.
    pub fn of(&self, reason: NotAlone) -> Option<f64> {
        self.rest.iter().find(|(known, _)| *known == reason).map(|(_, share)| *share)
    }
}

/// What measuring took.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Effort {
    /// How many runs of the program.
    pub runs: u32,
    /// Their wall time together.
    pub time: Nanos,
    /// The same in runs of the program with the fewest threads and without recording.
    pub in_runs: Option<f64>,
    /// What recording adds to the wall time, at the number of threads where it adds most: 0.02 is 2 %.
    pub recording: Option<f64>,
    /// What the presence of a pirate that takes no cache adds to the CPU time of a thread, as a mean: 0.02 is 2 %.
    pub control: Option<f64>,
    /// How many times as long as a recorded run those take in which a thread is alone, as a mean.
    pub alone: Option<f64>,
}
