//! How often each thread did what in each parallel section: what LIME (paper 2) works on.
//!
//! [`Counts`] is one value whoever counted: the instruction front-end, a program that its compiler made count, another tool
//! through the text format, the simulator. Its vertices are basic blocks, its control-flow events are edges between them.

use crate::{Frame, Nanos};

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in its table.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index! {
    /// A basic block: a vertex of [`Counts::blocks`].
    BlockId
}
index! {
    /// An event: first the edges in the order of [`Counts::edges`], then [`Counts::hardware`].
    EventId
}
index! {
    /// A thread of [`Counts::threads`].
    CountedThread
}

/// Counts of a whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Who counted.
    pub source: CountSource,
    /// What [`Instance::time`] is in.
    pub time_unit: TimeUnit,
    /// The threads, in the order in which they began.
    pub threads: Vec<ThreadLabel>,
    /// The basic blocks of the whole program.
    pub blocks: Vec<BasicBlock>,
    /// The control-flow edges that were seen, of all threads and sections, sorted, each once. An edge over a call goes to
    /// the callee's first block *and*, when the call has returned, to the block behind it; there is none from a return.
    pub edges: Vec<(BlockId, BlockId)>,
    /// What else was counted, if anything was.
    pub hardware: Vec<HardwareEvent>,
    /// Which static parallel sections there are.
    pub sections: Vec<Section>,
    /// How the threads of the native run were told to be those that were counted, where there is such a run.
    pub native_match: NativeMatch,
    /// What the reader must know, a sentence each.
    pub warnings: Vec<String>,
}

/// Who counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CountSource {
    /// The program ran under emulation.
    #[default]
    Emulated,
    /// Its compiler made it count.
    Instrumented,
    /// Another tool, through the text format.
    Text,
    /// The simulator.
    Simulated,
}

/// What time is measured in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUnit {
    /// Executed instructions, in the place of time.
    #[default]
    Instructions,
    /// Nanoseconds.
    Nanos,
    /// Simulated cycles.
    Cycles,
}

/// How it is known which thread of the native run a thread that was counted is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NativeMatch {
    /// Threads began in the same order, and nothing says that this is wrong.
    #[default]
    Order,
    /// By what they do: where one executes much, the other takes long.
    Behaviour,
    /// It is not known: they began in another order, or the machine made other threads slow.
    Unknown,
}

/// A thread that was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadLabel {
    /// Its number in the recorded process; for other sources any number of its own.
    pub number: u32,
    /// Its name; hostile.
    pub name: Option<String>,
}

/// A basic block: code with one way in and one way out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BasicBlock {
    /// Its address in the process, or a number of its own where the source knows none.
    pub address: u64,
    /// Where its first instruction is, innermost (inlined) frame first. Empty where nothing is known.
    pub begin: Vec<Frame>,
    /// Where its last instruction is: that which decides where to go.
    pub end: Vec<Frame>,
    /// How many instructions it has: its weight. 1 where the source does not know.
    pub instructions: u32,
    /// How it ends.
    pub exit: BlockExit,
    /// It belongs to a loop that only waits for another thread, or for time: not work, and not counted.
    pub waits: bool,
    /// It has an atomic read-modify-write, as dealing out work needs.
    pub atomic: bool,
    /// Code made at run time, which has no name.
    pub generated: bool,
    /// Its instructions as text (address, instruction), where their bytes are known; for places where source and binary
    /// disagree.
    pub listing: Vec<(u64, String)>,
}

/// How a basic block ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockExit {
    /// Nothing is known of it, or the next block just follows.
    #[default]
    Falls,
    /// A conditional branch.
    Branch,
    /// An unconditional jump.
    Jump,
    /// A jump through a register or memory: a switch, a tail call.
    IndirectJump,
    /// A call.
    Call,
    /// A call through a register or memory.
    IndirectCall,
    /// A return.
    Return,
    /// A system call.
    System,
}

/// Something that the machine does at an instruction, and that is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HardwareEvent {
    /// What.
    pub kind: HardwareKind,
    /// Where: innermost frame first.
    pub at: Vec<Frame>,
    /// The instruction's address.
    pub address: u64,
    /// The block that it is in, where that is known.
    pub block: Option<BlockId>,
    /// The event without which this one cannot happen: the access for a miss, the miss in the first level for one in the
    /// second. `None`: the executions of `block`.
    pub superior: Option<EventId>,
}

/// Kinds of hardware events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HardwareKind {
    /// An access to memory: itself no cause, but superior to misses.
    Access,
    /// A miss in the first level of data caches.
    MissL1,
    /// A miss in the second level.
    MissL2,
    /// A miss in the last level.
    MissLast,
    /// A mispredicted branch.
    BranchMiss,
    /// A miss in the translation buffer.
    TlbMiss,
    /// Cycles of queueing at a shared resource.
    Queueing,
}

/// The place that a section begins or ends at.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SectionPlace {
    /// Where in the program: innermost frame first; empty if unknown.
    pub frames: Vec<Frame>,
    /// The name of the barrier or region there, if it has one.
    pub name: Option<String>,
}

/// What ends a section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SectionKind {
    /// A barrier.
    #[default]
    Barrier,
    /// A meeting made of a condition variable and a mutex.
    ConditionBarrier,
    /// The end of the threads, which another joins.
    Join,
    /// A barrier within a parallel region of OpenMP.
    TeamBarrier,
    /// The end of a parallel region of OpenMP.
    Region,
    /// As the source of the counts defines it.
    Other,
}

/// A static parallel section: the code between two meetings of threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// What ends it.
    pub kind: SectionKind,
    /// Where it ends: what it is called by (paper 2, Table 1).
    pub end: SectionPlace,
    /// Where it begins.
    pub begin: SectionPlace,
    /// Its dynamic instances in the order of time.
    pub instances: Vec<Instance>,
    /// Why the streams of its threads depend on the order in which they came to locks or atomic counters, if they do: a
    /// sentence. Then the counts are those of one order of many.
    pub depends_on_schedule: Option<String>,
}

/// A dynamic instance: a row for each thread that took part, and a column for each event that happened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Instance {
    /// The threads that took part: the rows.
    pub threads: Vec<CountedThread>,
    /// Where it begins, if that is not where its section does.
    pub begin: Option<SectionPlace>,
    /// The time of each thread in the section, in the unit of [`Counts::time_unit`], without waiting.
    pub time: Vec<u64>,
    /// Instructions that all rows together executed in loops that only wait for another thread: in no time above.
    pub waited: u64,
    /// The time that each thread took natively, without emulation, where such a run was matched with this one.
    pub native: Option<Vec<Nanos>>,
    /// What each row executed.
    pub executed: EventTable,
    /// Instructions that libraries executed for a block of the program, by (block, row), sorted by block, and by row.
    pub library: Vec<(BlockId, u32, u64)>,
    /// Units of work that were dealt out at run time. They are *not* in `time`, `executed` and `library`; the rows that
    /// executed them here need not be those that would on another machine.
    pub units: Vec<Unit>,
}

/// Counts by row, sparse: sorted by event, and by row; none is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventTable {
    /// (event, row, how often).
    pub entries: Vec<(EventId, u32, u64)>,
}

/// A unit of work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// Which row executed it here.
    pub row: u32,
    /// The construct that dealt it out: units of one construct can take each other's place.
    pub construct: u64,
    /// Its time.
    pub time: u64,
    /// (event, how often), sorted by event.
    pub executed: Vec<(EventId, u64)>,
    /// (block, instructions of libraries), sorted by block.
    pub library: Vec<(BlockId, u64)>,
}

impl Counts {
    /// How many events there are.
    pub fn events(&self) -> usize {
        self.edges.len() + self.hardware.len()
    }

    /// The edge that an event is; `None` for hardware events.
    pub fn edge(&self, event: EventId) -> Option<(BlockId, BlockId)> {
        self.edges.get(event.index()).copied()
    }

    /// The hardware event that an event is; `None` for edges.
    pub fn hardware_event(&self, event: EventId) -> Option<&HardwareEvent> {
        self.hardware.get(event.index().checked_sub(self.edges.len())?)
    }
}

impl Instance {
    /// How many threads took part.
    pub fn rows(&self) -> usize {
        self.threads.len()
    }
}
