//! Where the cycles of a simulated run went: the paper's components by name (paper 3, section 4.1), and what a simulation
//! gives.

use std::borrow::Cow;

use crate::{Nanos, Stack, StackComponent, Steered, Unit};

macro_rules! components {
    ($($(#[$text:meta])* $component:ident = $name:literal, $family:ident, $letter:literal, $color:literal, $meaning:literal;)*) => {
        /// What a cycle of a thread was for. The names are those of paper 3.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum CycleComponent {
            $($(#[$text])* $component,)*
        }

        impl CycleComponent {
            /// All, from the bottom of a stack to its top.
            pub const ALL: &[Self] = &[$(Self::$component,)*];

            /// The paper's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$component => $name,)*
                }
            }

            /// The kind that it is of.
            pub const fn family(self) -> Family {
                match self {
                    $(Self::$component => Family::$family,)*
                }
            }

            /// The letter with which its piece of a bar begins.
            pub const fn letter(self) -> char {
                match self {
                    $(Self::$component => $letter,)*
                }
            }

            /// The name of its colour.
            pub const fn color(self) -> &'static str {
                match self {
                    $(Self::$component => $color,)*
                }
            }

            /// What its cycles are spent on, for a sentence: `41 % of the cycles are mem-dram (data from memory)`.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$component => $meaning,)*
                }
            }
        }
    };
}

components! {
    /// The core dispatched as many micro-ops as it can.
    DispatchWidth = "dispatch_width", Core, 'w', "kw", "as many instructions as the core can take";
    /// Dependences between integer operations.
    DependInt = "depend-int", Core, 'i', "ki", "integer operations that wait for each other";
    /// Dependences between operations on floating point numbers or vectors.
    DependFp = "depend-fp", Core, 'f', "kf", "floating-point or vector operations that wait for each other";
    /// Mispredicted branches: their resolution and the refill of the front end.
    Branch = "branch", Core, 'b', "kb", "mispredicted branches";
    /// Misses of the instruction cache, and of its translation buffer.
    Ifetch = "ifetch", Core, 'F', "kF", "instructions that are not in the cache";
    /// Misses of the data translation buffer.
    Tlb = "tlb", Memory, 't', "kt", "translations of addresses";
    /// Loads that hit in the first level, and are on the critical path.
    MemL1d = "mem-l1d", Memory, '1', "k1", "data from the first-level cache";
    /// Data that came from the first-level cache of another core of the socket.
    MemL1Neighbor = "mem-l1_neighbor", Memory, 'n', "kn", "data from the first level of another core of the socket";
    /// Data that came from the own second level.
    MemL2 = "mem-l2", Memory, '2', "k2", "data from the second-level cache";
    /// Data that came from another second-level cache of the socket.
    MemL2Neighbor = "mem-l2_neighbor", Memory, 'N', "kN", "data from another second-level cache of the socket";
    /// Data that came from the third level.
    MemL3 = "mem-l3", Memory, '3', "k3", "data from the third-level cache";
    /// Data that came from a cache of another socket.
    MemOffSocket = "mem-off_socket", Memory, 'o', "ko", "data from the caches of another socket";
    /// Data that came from memory.
    MemDram = "mem-dram", Memory, 'm', "km", "data from memory";
    /// Waiting for a lock.
    SyncCritSect = "sync-crit_sect", Sync, 'L', "kL", "waiting for locks";
    /// Waiting at a barrier.
    SyncBarrier = "sync-barrier", Sync, 'B', "kB", "waiting at barriers";
    /// Waiting for a condition, a semaphore, or for work.
    SyncCond = "sync-cond", Sync, 'C', "kC", "waiting for conditions, semaphores or work";
    /// Waiting for the end of another thread.
    SyncJoin = "sync-join", Sync, 'J', "kJ", "waiting for the end of threads";
    /// Creating other threads.
    SyncCreate = "sync-create", Sync, 'T', "kT", "creating threads";
    /// Calls that block: input and output, sleep; system calls.
    Io = "io", Away, 'I', "kI", "calls that block";
    /// Able to run, but all cores were taken by other threads.
    NoCore = "no_core", Away, 'R', "kR", "waiting for a core";
    /// The thread had not begun yet, or had ended already.
    Imbalance = "imbalance", Away, '-', "kE", "threads that have not begun or have ended";
}

/// Kinds of components, from the bottom of a stack to its top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// The core itself.
    Core,
    /// Waiting for data.
    Memory,
    /// Waiting for other threads.
    Sync,
    /// Without a core, or not there.
    Away,
}

impl Family {
    /// All, in that order.
    pub const ALL: [Family; 4] = [Family::Core, Family::Memory, Family::Sync, Family::Away];

    /// What it is called beside its components.
    pub fn name(self) -> &'static str {
        match self {
            Family::Core => "core",
            Family::Memory => "memory",
            Family::Sync => "sync",
            Family::Away => "away",
        }
    }
}

/// How many components there are.
pub const CYCLE_COMPONENTS: usize = CycleComponent::ALL.len();

impl CycleComponent {
    /// True for waiting for other threads.
    pub const fn is_sync(self) -> bool {
        matches!(self, Self::SyncCritSect | Self::SyncBarrier | Self::SyncCond | Self::SyncJoin)
    }
}

/// Cycles by component. They add up to the cycles of whoever has it: one way in, [`CycleStack::book`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CycleStack([u64; CYCLE_COMPONENTS]);

impl CycleStack {
    /// Adds cycles.
    pub fn book(&mut self, component: CycleComponent, cycles: u64) {
        self.0[component as usize] += cycles;
    }

    /// The cycles of one component.
    pub fn get(&self, component: CycleComponent) -> u64 {
        self.0[component as usize]
    }

    /// All cycles.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds another stack, component by component.
    pub fn add(&mut self, other: &Self) {
        for (own, more) in self.0.iter_mut().zip(other.0) {
            *own += more;
        }
    }

    /// The same shares of another total, exactly: what rounding leaves goes to the largest remainders. Nothing stays nothing.
    pub fn scaled(&self, total: u64) -> Self {
        let whole = self.total();
        if whole == total || whole == 0 {
            return *self;
        }
        let mut result = Self::default();
        let mut rests = Vec::new();
        for (component, cycles) in self.parts() {
            let product = u128::from(cycles) * u128::from(total);
            result.book(component, (product / u128::from(whole)) as u64);
            rests.push((product % u128::from(whole), component));
        }
        rests.sort_unstable_by(|a, b| b.cmp(a));
        let left = (total - result.total()) as usize;
        rests.iter().take(left).for_each(|(_, component)| result.book(*component, 1));
        result
    }

    /// The components that are not 0, from the bottom to the top.
    pub fn parts(&self) -> impl Iterator<Item = (CycleComponent, u64)> + '_ {
        CycleComponent::ALL.iter().copied().zip(self.0).filter(|(_, cycles)| *cycles > 0)
    }

    /// As a bar: the components that are not 0.
    pub fn stack(&self) -> Stack {
        let component = |(component, cycles): (CycleComponent, u64)| StackComponent {
            key: Cow::Borrowed(component.name()),
            label: Cow::Borrowed(component.name()),
            meaning: component.meaning(),
            color: component.color(),
            letter: Some(component.letter()),
            amount: cycles as f64,
        };
        Stack::of(Unit::Cycles, self.parts().map(component).collect())
    }

    /// The cycles in which it waited for other threads.
    pub fn sync(&self) -> u64 {
        self.parts().filter(|(component, _)| component.is_sync()).map(|(_, cycles)| cycles).sum()
    }
}

/// Who gave the data of an access.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(u8)]
pub enum Level {
    /// The own first level.
    #[default]
    L1,
    /// The first level of another core of the socket.
    L1Neighbor,
    /// The own second level.
    L2,
    /// Another second level of the socket.
    L2Neighbor,
    /// The third level.
    L3,
    /// A cache of another socket.
    OffSocket,
    /// Memory.
    Dram,
}

impl Level {
    /// All, from the nearest.
    pub const ALL: [Level; 7] = [
        Level::L1,
        Level::L1Neighbor,
        Level::L2,
        Level::L2Neighbor,
        Level::L3,
        Level::OffSocket,
        Level::Dram,
    ];

    /// The component that waiting for data from there is booked as.
    pub const fn component(self) -> CycleComponent {
        match self {
            Level::L1 => CycleComponent::MemL1d,
            Level::L1Neighbor => CycleComponent::MemL1Neighbor,
            Level::L2 => CycleComponent::MemL2,
            Level::L2Neighbor => CycleComponent::MemL2Neighbor,
            Level::L3 => CycleComponent::MemL3,
            Level::OffSocket => CycleComponent::MemOffSocket,
            Level::Dram => CycleComponent::MemDram,
        }
    }
}

/// What one simulation gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Simulated {
    /// The name of the machine.
    pub machine: String,
    /// How many cores it had.
    pub cores: u32,
    /// Their frequency, in GHz.
    pub frequency: f64,
    /// Changes that were simulated, as words; empty for the machine as it is.
    pub changes: Vec<String>,
    /// From the first thread's beginning to the last one's end.
    pub cycles: u64,
    /// Instructions of all threads.
    pub instructions: u64,
    /// In the order in which the threads were recorded.
    pub threads: Vec<SimulatedThread>,
    /// Instructions on which cycles were spent, sorted by address.
    pub places: Vec<CyclePlace>,
    /// Cache lines that were written by one thread while others used them, those that cost most first.
    pub shared_lines: Vec<SharedLine>,
    /// What the shared resources did.
    pub resources: Vec<Resource>,
    /// What makes all figures doubtful, a sentence each: it is said with the answer.
    pub doubts: Vec<String>,
    /// Where the answer may be wrong, a sentence each.
    pub warnings: Vec<String>,
    /// The estimated error of `cycles`, as a share, where only a sample was simulated.
    pub sampled: Option<SampledError>,
    /// What a policy did that made threads fast, if there was one.
    pub steered: Option<Steered>,
}

impl Simulated {
    /// Doubts and warnings.
    pub fn all_warnings(&self) -> impl Iterator<Item = &String> {
        self.doubts.iter().chain(&self.warnings)
    }

    /// The simulated time from the first thread's beginning to the last one's end.
    pub fn time(&self) -> Nanos {
        Nanos::new((self.cycles as f64 / self.frequency.max(1e-9)) as u64)
    }
}

/// How sure the result of a sample is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SampledError {
    /// Half the width of the 95 % interval of the cycles, as a share of them.
    pub error: f64,
    /// Instructions that were simulated, of all.
    pub simulated: u64,
}

/// A thread of a simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimulatedThread {
    /// Its number in the recorded process.
    pub number: u32,
    /// Its name; hostile.
    pub name: Option<String>,
    /// The address of its start function; 0 where that is unknown.
    pub entry: u64,
    /// The cycle in which it began.
    pub begin: u64,
    /// The cycle in which it ended.
    pub end: u64,
    /// Instructions that it executed.
    pub instructions: u64,
    /// Where all cycles of the run went: its total is [`Simulated::cycles`].
    pub stack: CycleStack,
    /// Where its cycles went between the meetings of threads: by piece of its course, cut where
    /// sections begin and end. Only what it did itself: no imbalance.
    pub pieces: Vec<CyclePiece>,
}

/// What a thread did between two meetings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CyclePiece {
    /// When it began.
    pub begin: u64,
    /// Instructions that it executed.
    pub instructions: u64,
    /// Where its cycles went.
    pub stack: CycleStack,
    /// What missed where: only if that was asked for. Sorted by instruction and event.
    pub misses: Vec<PieceMisses>,
}

/// Misses of one instruction in a piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PieceMisses {
    /// The instruction's address.
    pub address: u64,
    /// Executed accesses.
    pub accesses: u64,
    /// Of these by [`Level`]: who gave the data.
    pub served: [u64; Level::ALL.len()],
    /// Mispredictions.
    pub branch_misses: u64,
    /// Misses of the translation buffer.
    pub tlb_misses: u64,
    /// Cycles of queueing in the interconnect.
    pub interconnect_queueing: u64,
    /// Cycles of queueing at memory.
    pub memory_queueing: u64,
}

/// An instruction and its share of the cycles of all threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CyclePlace {
    /// Its address in the recorded process.
    pub address: u64,
    /// How often it was executed.
    pub executions: u64,
    /// Its cycles. All places together have all cycles but those of waiting, of calls and of imbalance.
    pub stack: CycleStack,
    /// Its accesses by who gave the data.
    pub served: [u64; Level::ALL.len()],
}

/// A cache line that several threads used and at least one wrote.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharedLine {
    /// Its first address.
    pub address: u64,
    /// How often its data had to come from another core's cache because of a write.
    pub transfers: u64,
    /// The cycles that took, latency without overlap.
    pub cycles: u64,
    /// Those of these transfers after which the core used no byte that another had written: false sharing.
    pub false_cycles: u64,
    /// Who used which bytes.
    pub users: Vec<LineUser>,
}

/// The bytes of a line that one thread used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineUser {
    /// The thread, by its index.
    pub thread: u32,
    /// A bit for each byte that it read.
    pub reads: u64,
    /// A bit for each byte that it wrote.
    pub writes: u64,
    /// Instructions that did, some of them.
    pub instructions: Vec<u64>,
}

/// A shared resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resource {
    /// Which: `memory of socket 0`.
    pub name: String,
    /// Requests that it served.
    pub requests: u64,
    /// Bytes that it moved.
    pub bytes: u64,
    /// Cycles in which it was busy, of all.
    pub busy: u64,
    /// Cycles for which requests waited for it, summed up.
    pub queueing: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_keeps_shares_and_gives_the_total_exactly() {
        let mut stack = CycleStack::default();
        stack.book(CycleComponent::DependInt, 3);
        stack.book(CycleComponent::MemDram, 7);
        let half = stack.scaled(5);
        assert_eq!((half.get(CycleComponent::DependInt), half.get(CycleComponent::MemDram)), (1, 4));
        assert_eq!(stack.scaled(101).total(), 101);
        assert_eq!(stack.scaled(0).total(), 0);
    }

    #[test]
    fn each_component_has_a_letter_of_its_own() {
        let letters: std::collections::BTreeSet<char> =
            CycleComponent::ALL.iter().map(|component| component.letter()).collect();
        assert_eq!(letters.len(), CycleComponent::ALL.len());
    }

    #[test]
    fn components_stand_by_family() {
        let families: Vec<Family> = CycleComponent::ALL.iter().map(|component| component.family()).collect();
        let mut seen = families.clone();
        seen.dedup();
        assert_eq!(seen, Family::ALL);
    }
}
