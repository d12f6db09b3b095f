//! The speedup stack (paper 1, section 2), exactly: a simulated machine can be had without each of its bottlenecks.

use holdup_model::cycles::{CycleComponent, Simulated};
use holdup_model::{Stack, StackComponent, Unit, core_time};

use super::Speedup;
use super::component::{REACHED, reached};

/// A bottleneck that is taken away from a machine and brought back, one after the other in this order. Memory comes behind
/// caches because less cache makes more use of memory (section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpeedupStep {
    /// Caches are shared by cores.
    Caches,
    /// Interconnects are shared.
    Links,
    /// Memory controllers are shared.
    Memory,
    /// Caches take notice of each other's writes.
    Coherence,
    /// A lock is held by one thread at a time.
    Locks,
}

impl SpeedupStep {
    /// All, in the order in which they are brought back.
    pub const ALL: [SpeedupStep; 5] = [
        SpeedupStep::Caches,
        SpeedupStep::Links,
        SpeedupStep::Memory,
        SpeedupStep::Coherence,
        SpeedupStep::Locks,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            SpeedupStep::Caches => "shared caches",
            SpeedupStep::Links => "interconnect",
            SpeedupStep::Memory => "memory",
            SpeedupStep::Coherence => "coherence",
            SpeedupStep::Locks => "locks",
        }
    }
}

/// By what speedup is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpeedupLoss {
    /// Cores idle even without bottlenecks: threads wait for this.
    Idle(CycleComponent),
    /// Threads spend more cycles than one core did, without any bottleneck; negative where they spend fewer.
    ExtraWork,
    /// A bottleneck of the machine.
    Step(SpeedupStep),
}

impl SpeedupLoss {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            SpeedupLoss::Idle(component) => component.name(),
            SpeedupLoss::ExtraWork => "extra work",
            SpeedupLoss::Step(step) => step.name(),
        }
    }

    /// What it means.
    pub fn meaning(self) -> &'static str {
        match self {
            SpeedupLoss::Idle(CycleComponent::Imbalance) => {
                "cores without a thread, even so: serial parts, late starts, early ends"
            }
            SpeedupLoss::Idle(CycleComponent::SyncBarrier) => {
                "waiting at barriers, even if nothing is shared"
            }
            SpeedupLoss::Idle(_) => "waiting, even if nothing is shared",
            SpeedupLoss::ExtraWork => "cycles of all cores beyond those of one, even if nothing is shared",
            SpeedupLoss::Step(SpeedupStep::Caches) => "cores that take cache from each other",
            SpeedupLoss::Step(SpeedupStep::Links) => "cores that share an interconnect",
            SpeedupLoss::Step(SpeedupStep::Memory) => "cores that share memory controllers and channels",
            SpeedupLoss::Step(SpeedupStep::Coherence) => {
                "cache lines that go from core to core because of writes"
            }
            SpeedupLoss::Step(SpeedupStep::Locks) => "threads that wait for locks",
        }
    }

    /// The name of its colour.
    pub fn color(self) -> &'static str {
        match self {
            SpeedupLoss::Idle(component) => component.color(),
            SpeedupLoss::ExtraWork => "kF",
            SpeedupLoss::Step(SpeedupStep::Caches) => "kn",
            SpeedupLoss::Step(SpeedupStep::Links) => "k3",
            SpeedupLoss::Step(SpeedupStep::Memory) => "km",
            SpeedupLoss::Step(SpeedupStep::Coherence) => "ko",
            SpeedupLoss::Step(SpeedupStep::Locks) => "kL",
        }
    }
}

/// What each bottleneck costs of the perfect speedup. The speedup and all losses add up to the number of cores.
#[derive(Clone, Debug, PartialEq)]
pub struct SpeedupStack {
    /// The machine.
    pub machine: String,
    /// The perfect speedup: cores that the program could use.
    pub cores: u32,
    /// Cycles on a single core.
    pub single: u64,
    /// Cycles without any of the bottlenecks, then with one more of [`SpeedupStep::ALL`] each; the last is the machine as it is.
    pub cycles: [u64; SpeedupStep::ALL.len() + 1],
    /// The speedup of the machine as it is.
    pub speedup: f64,
    /// What is lost, from the top of the stack to the speedup; none is 0. Negative where a bottleneck helps.
    pub losses: Vec<(SpeedupLoss, f64)>,
}

impl SpeedupStack {
    /// As a bar, from the speedup that is reached to the perfect one.
    pub fn stack(&self) -> Stack {
        let reached = StackComponent {
            label: REACHED.into(),
            meaning: "what the machine as it is reaches",
            amount: self.speedup,
            ..reached(Speedup::ZERO)
        };
        let lost = self.losses.iter().rev().map(|(loss, amount)| StackComponent {
            key: loss.name().into(),
            label: loss.name().into(),
            meaning: loss.meaning(),
            color: loss.color(),
            letter: None,
            amount: *amount,
        });
        Stack::of(Unit::Speedup, [reached].into_iter().chain(lost).collect())
    }
}

/// Makes the stack of a run on one core of the machine, and of runs on all cores: `variants[k]` is without the bottlenecks
/// `SpeedupStep::ALL[k..]`, so that the last is the machine as it is. Each step costs the difference of the two speedups
/// beside it; what is missing to the perfect speedup without any of them is idle time of cores, by what threads wait for, and
/// extra work. `None` where nothing was executed.
pub fn speedup_stack(
    single: &Simulated,
    variants: &[Simulated; SpeedupStep::ALL.len() + 1],
) -> Option<SpeedupStack> {
    if single.cycles == 0 || variants.iter().any(|run| run.cycles == 0) {
        return None;
    }
    let speedup = |run: &Simulated| single.cycles as f64 / run.cycles as f64;
    let [free, ..] = variants;
    let [.., real] = variants;
    let time = core_time(free);
    let each = free.cycles as f64;
    let mut losses: Vec<(SpeedupLoss, f64)> = CycleComponent::ALL
        .iter()
        .rev()
        .filter(|component| {
            component.is_sync() || matches!(component, CycleComponent::Io | CycleComponent::Imbalance)
        })
        .map(|&component| (SpeedupLoss::Idle(component), time.get(component) / each))
        .collect();
    losses.push((SpeedupLoss::ExtraWork, (time.busy() - single.cycles as f64) / each));
    for (step, pair) in SpeedupStep::ALL.iter().zip(variants.windows(2)) {
        losses.push((SpeedupLoss::Step(*step), speedup(&pair[0]) - speedup(&pair[1])));
    }
    losses.retain(|(_, loss)| *loss != 0.0);
    Some(SpeedupStack {
        machine: real.machine.clone(),
        cores: time.cores,
        single: single.cycles,
        cycles: std::array::from_fn(|index| variants[index].cycles),
        speedup: speedup(real),
        losses,
    })
}

#[cfg(test)]
mod tests {
    use holdup_model::cycles::{CycleStack, SimulatedThread};
    use proptest::prelude::*;

    use super::*;

    fn run(cores: u32, cycles: u64, threads: &[u64]) -> Simulated {
        let thread = |&busy: &u64| {
            let mut stack = CycleStack::default();
            stack.book(CycleComponent::DispatchWidth, busy);
            stack.book(CycleComponent::SyncBarrier, cycles - busy);
            SimulatedThread { stack, ..SimulatedThread::default() }
        };
        Simulated { cores, cycles, threads: threads.iter().map(thread).collect(), ..Simulated::default() }
    }

    #[test]
    fn each_step_costs_the_difference_of_speedups() {
        let single = run(1, 1000, &[1000]);
        let cycles = [500, 500, 625, 1000, 1000, 2000];
        let variants = cycles.map(|cycles| run(4, cycles, &[300, 300, 300, 300]));
        let told = speedup_stack(&single, &variants).unwrap();
        assert_eq!((told.cores, told.speedup), (4, 0.5));
        // Free of bottlenecks: 2 of 4 cores' worth. 800 of 2000 core cycles idle, 200 are more work than on one core.
        assert_eq!(
            told.losses,
            [
                (SpeedupLoss::Idle(CycleComponent::SyncBarrier), 1.6),
                (SpeedupLoss::ExtraWork, 0.4),
                (SpeedupLoss::Step(SpeedupStep::Links), 0.3999999999999999),
                (SpeedupLoss::Step(SpeedupStep::Memory), 0.6000000000000001),
                (SpeedupLoss::Step(SpeedupStep::Locks), 0.5),
            ]
        );
    }

    #[test]
    fn nothing_executed_has_no_stack() {
        let nothing = Simulated::default();
        assert_eq!(speedup_stack(&nothing, &std::array::from_fn(|_| nothing.clone())), None);
    }

    proptest! {
        #[test]
        fn speedup_and_losses_add_up_to_the_cores(
            single in 1u64..1_000_000,
            cycles in prop::array::uniform6(1000u64..1_000_000),
            threads in prop::collection::vec(0u64..1000, 1..20),
            cores in 1u32..20,
        ) {
            let variants = cycles.map(|cycles| run(cores, cycles, &threads));
            let told = speedup_stack(&run(1, single, &[single]), &variants).unwrap();
            let sum = told.speedup + told.losses.iter().map(|(_, loss)| loss).sum::<f64>();
            prop_assert!((sum - f64::from(told.cores)).abs() < 1e-6 * f64::from(told.cores).max(told.speedup), "{sum} {told:?}");
        }
    }
}
