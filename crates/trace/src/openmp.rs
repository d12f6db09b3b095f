//! The records of OpenMP constructs.
//!
//! Headers are those of [`crate::wire`]; tags begin at [`FIRST_TAG`]. An *instance* is one execution of a parallel
//! region: the number of the thread that met it in the upper 32 bits, and how many that thread had met before, plus
//! one, in the lower ([`NO_INSTANCE`] outside of all). A *sequence* says which of the constructs of its kind it is that
//! the threads of the team meet in the instance, from 0: all of them meet the same ones in the same order. A place is
//! given as a return address in the program's code; a region is known by the function that the compiler made of it.
//!
//! Of an instance that is not *whole* only its [`Region`] is told, or only a part of a [`Region`] that stands for many.

use crate::codes::{ObjectCode, coded};
use crate::words::{header, pair};

/// Outside of all parallel regions.
pub const NO_INSTANCE: u64 = 0;
/// The lowest tag of these records.
pub const FIRST_TAG: u8 = 32;

coded! {
    /// Whose OpenMP runtime it is.
    RuntimeCode {
        /// gcc's libgomp, told by its entry points.
        Gnu = 0,
        /// LLVM's libomp (or Intel's), told by OMPT.
        Llvm = 1,
    }
}

coded! {
    /// What a worksharing construct is.
    WorkCode {
        /// A loop with a static schedule.
        StaticLoop = 0,
        /// A loop with a dynamic schedule.
        DynamicLoop = 1,
        /// A loop with a guided schedule.
        GuidedLoop = 2,
        /// A loop with another schedule, or one that was not told.
        OtherLoop = 3,
        /// Sections.
        Sections = 4,
        /// A `single`, by the thread that executes it.
        Single = 5,
        /// A `single`, by the others.
        SingleOther = 6,
        /// A `workshare`.
        Workshare = 7,
        /// A `distribute`.
        Distribute = 8,
        /// A `taskloop`.
        Taskloop = 9,
        /// A `masked` or `master`, by the thread that executes it.
        Masked = 10,
        /// A `scope`.
        Scope = 11,
    }
}

coded! {
    /// What threads wait for together.
    SyncCode {
        /// A `barrier` in the source.
        ExplicitBarrier = 0,
        /// The barrier at the end of a worksharing construct.
        WorkBarrier = 1,
        /// The barrier at the end of a region, inside of it (the join itself is told by [`Share::end`]).
        RegionBarrier = 2,
        /// A barrier that the implementation added.
        OtherBarrier = 3,
        /// A `taskwait`.
        Taskwait = 4,
        /// The end of a `taskgroup`.
        Taskgroup = 5,
        /// A reduction.
        Reduction = 6,
    }
}

coded! {
    /// How a piece of a task's execution ended.
    TaskEndCode {
        /// The task is done.
        Complete = 0,
        /// It was suspended, and goes on later.
        Suspended = 1,
        /// It was cancelled.
        Cancelled = 2,
    }
}

coded! {
    /// How a task uses what it depends on.
    DependCode {
        /// It reads it.
        In = 0,
        /// It writes it, or does both.
        Out = 1,
        /// In any order, one at a time (`mutexinoutset`).
        Exclusive = 2,
        /// In any order (`inoutset`).
        OutSet = 3,
    }
}

/// One execution of a parallel region, or many that were too frequent to be told one by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// When it began; of many, the first.
    pub begin: u64,
    /// When it ended, the join included; of many, the last.
    pub end: u64,
    /// Its instance; of many, the first.
    pub instance: u64,
    /// The address of the function that the compiler made of it; 0 if unknown.
    pub function: u64,
    /// The return address of the call that began it.
    pub caller: u64,
    /// The call stack of the thread that met it, or [`crate::wire::NO_STACK`].
    pub stack: u64,
    /// The instance around it, or [`NO_INSTANCE`].
    pub parent: u64,
    /// The threads of its team.
    pub size: u32,
    /// How many executions this stands for: 1 for one that is told by itself.
    pub count: u32,
    /// How many of them were timed.
    pub timed: u32,
    /// Ticks in those that were timed, together.
    pub ticks: u64,
    /// Whose runtime.
    pub runtime: RuntimeCode,
    /// True if all that happened in it was recorded.
    pub whole: bool,
    /// True for a league of teams.
    pub league: bool,
}

/// What one thread did of a whole instance, from the start of its implicit task to its arrival at the join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// When its implicit task began.
    pub begin: u64,
    /// When it had done its part: its arrival at the barrier that ends the region.
    pub end: u64,
    /// The instance.
    pub instance: u64,
    /// Its number in the team; 0 for the one that met the region.
    pub index: u32,
    /// CPU time at `begin`.
    pub cpu_begin: u64,
    /// CPU time at `end`.
    pub cpu_end: u64,
}

/// What one thread did of a worksharing construct in a whole instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work {
    /// When it entered.
    pub begin: u64,
    /// When there was nothing left for it, before any barrier.
    pub end: u64,
    /// The instance.
    pub instance: u64,
    /// Which worksharing construct of the instance.
    pub sequence: u32,
    /// A return address in it.
    pub caller: u64,
    /// What it is.
    pub kind: WorkCode,
    /// Iterations (sections) of the whole construct; [`crate::wire::UNKNOWN`] if not known.
    pub iterations: u64,
    /// The chunk size that the program asked for; 0 if it did not, or it is not known.
    pub chunk: u32,
    /// How many chunks this thread got.
    pub chunks: u32,
    /// How many iterations this thread got; [`crate::wire::UNKNOWN`] if not known.
    pub done: u64,
    /// Ticks in the runtime for getting chunks, where they were timed; else 0.
    pub dealing: u64,
}

/// A run of iterations, or a section, that one thread got at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chunk {
    /// When it was given.
    pub begin: u64,
    /// When the thread asked for the next.
    pub end: u64,
    /// The instance.
    pub instance: u64,
    /// Which worksharing construct of the instance.
    pub sequence: u32,
    /// The first iteration, counted from 0 where that is known.
    pub first: u64,
    /// How many iterations; 0 if not known.
    pub count: u64,
}

/// A wait of a thread for its team or for tasks. Tasks that the thread executes meanwhile cut it into pieces, of
/// which each is told; the first begins with the arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sync {
    /// When the piece began.
    pub begin: u64,
    /// When it ended.
    pub end: u64,
    /// The instance.
    pub instance: u64,
    /// Which barrier of the instance; for the others 0.
    pub sequence: u32,
    /// A return address at it; 0 if unknown.
    pub caller: u64,
    /// What it is.
    pub kind: SyncCode,
    /// True if this is not the first piece.
    pub continued: bool,
    /// True if a task cut it off here.
    pub interrupted: bool,
    /// CPU time at `begin`.
    pub cpu_begin: u64,
    /// CPU time at `end`.
    pub cpu_end: u64,
}

/// A task was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskCreate {
    /// When.
    pub time: u64,
    /// Its number, of its process.
    pub task: u64,
    /// The task that made it; 0 for an implicit one.
    pub parent: u64,
    /// The instance.
    pub instance: u64,
    /// The address of the function that the compiler made of it; 0 if unknown.
    pub function: u64,
    /// The return address of the call that made it.
    pub caller: u64,
    /// Ticks that making it took, where that was timed; else 0. An undeferred task's execution is not in it.
    pub ticks: u64,
    /// True if it is executed at once by the thread that made it.
    pub undeferred: bool,
    /// True if it belongs to a `taskloop`.
    pub of_loop: bool,
    /// True if others may have to wait for it by `depend`.
    pub depends: bool,
}

/// A thread executed a task, or a piece of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskRun {
    /// When it began to.
    pub begin: u64,
    /// When it stopped.
    pub end: u64,
    /// The task; 0 for the time in tasks that are not told one by one, all together: it lies at the end of the piece of
    /// the wait in which the thread executed them, or after its arrival at the join.
    pub task: u64,
    /// The instance.
    pub instance: u64,
    /// How it stopped.
    pub ended: TaskEndCode,
}

/// A task depends on what lies at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Depend {
    /// The task.
    pub task: u64,
    /// The address.
    pub address: u64,
    /// How.
    pub kind: DependCode,
}

/// How often a thread acquired OpenMP locks at one place in one region, and what a sample of that took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acquire {
    /// The return address of the acquiring calls.
    pub caller: u64,
    /// The function of the region around them; 0 outside.
    pub function: u64,
    /// What kind of lock.
    pub kind: ObjectCode,
    /// Acquisitions.
    pub acquisitions: u64,
    /// How many of those that did not wait were timed.
    pub timed: u64,
    /// Ticks in these.
    pub ticks: u64,
    /// Ticks in the fastest of these.
    pub fastest: u64,
    /// How many acquisitions had to wait: all of these were timed.
    pub waits: u64,
    /// Ticks in these.
    pub wait_ticks: u64,
}

/// An OpenMP runtime began to work in the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Runtime {
    /// When.
    pub time: u64,
    /// Whose.
    pub runtime: RuntimeCode,
    /// True if its constructs are told: false if it has no place for a tool, or another tool has it.
    pub told: bool,
    /// An address in it, which its module names.
    pub address: u64,
}

/// One of the records above.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// See [`Region`].
    Region(Region),
    /// See [`Share`].
    Share(Share),
    /// See [`Work`].
    Work(Work),
    /// See [`Chunk`].
    Chunk(Chunk),
    /// See [`Sync`].
    Sync(Sync),
    /// See [`TaskCreate`].
    TaskCreate(TaskCreate),
    /// See [`TaskRun`].
    TaskRun(TaskRun),
    /// See [`Depend`].
    Depend(Depend),
    /// See [`Acquire`].
    Acquire(Acquire),
    /// See [`Runtime`].
    Runtime(Runtime),
}

const REGION: u8 = FIRST_TAG;
const SHARE: u8 = FIRST_TAG + 1;
const WORK: u8 = FIRST_TAG + 2;
const CHUNK: u8 = FIRST_TAG + 3;
const SYNC: u8 = FIRST_TAG + 4;
const TASK_CREATE: u8 = FIRST_TAG + 5;
const TASK_RUN: u8 = FIRST_TAG + 6;
const DEPEND: u8 = FIRST_TAG + 7;
const ACQUIRE: u8 = FIRST_TAG + 8;
const RUNTIME: u8 = FIRST_TAG + 9;

/// The lowest of the three bits above a code of at most four bits.
const FIRST_FLAG: u8 = 1 << 4;
const SECOND_FLAG: u8 = 1 << 5;
const THIRD_FLAG: u8 = 1 << 6;

const fn flag(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

impl Region {
    /// The words of the record.
    pub const fn words(&self) -> [u64; 10] {
        let flags = self.runtime as u8 | flag(self.whole, FIRST_FLAG) | flag(self.league, SECOND_FLAG);
        [
            header(REGION, flags, 10, self.size),
            self.begin,
            self.end,
            self.instance,
            self.function,
            self.caller,
            self.stack,
            self.parent,
            pair(self.count, self.timed),
            self.ticks,
        ]
    }
}

impl Share {
    /// The words of the record.
    pub const fn words(&self) -> [u64; 6] {
        [header(SHARE, 0, 6, self.index), self.begin, self.end, self.instance, self.cpu_begin, self.cpu_end]
    }
}

impl Work {
    /// The words of the record.
    pub const fn words(&self) -> [u64; 9] {
        [
            header(WORK, self.kind as u8, 9, self.sequence),
            self.begin,
            self.end,
            self.instance,
            self.caller,
            self.iterations,
            pair(self.chunk, self.chunks),
            self.done,
            self.dealing,
        ]
    }
}

impl Chunk {
    /// The words of the record.
    pub const fn words(&self) -> [u64; 6] {
        [header(CHUNK, 0, 6, self.sequence), self.begin, self.end, self.instance, self.first, self.count]
    }
}

impl Sync {
    /// The words of the record.
    pub const fn words(&self) -> [u64; 7] {
        let flags = self.kind as u8 | flag(self.continued, FIRST_FLAG) | flag(self.interrupted, SECOND_FLAG);
        [
            header(SYNC, flags, 7, self.sequence),
            self.begin,
            self.end,
            self.instance,
            self.caller,
            self.cpu_begin,
            self.cpu_end,
        ]
    }
}

impl TaskCreate {
    /// The words of the record.
    pub const fn words(&self) -> [u64; 8] {
        let flags = flag(self.undeferred, FIRST_FLAG)
            | flag(self.of_loop, SECOND_FLAG)
            | flag(self.depends, THIRD_FLAG);
        [
            header(TASK_CREATE, flags, 8, 0),
            self.time,
            self.task,
            self.parent,
            self.instance,
            self.function,
            self.caller,
            self.ticks,
        ]
    }
}

impl TaskRun {
    /// The words of the record.
    pub const fn words(&self) -> [u64; 5] {
        [header(TASK_RUN, self.ended as u8, 5, 0), self.begin, self.end, self.task, self.instance]
    }
}

impl Depend {
    /// The words of the record.
    pub const fn words(&self) -> [u64; 3] {
        [header(DEPEND, self.kind as u8, 3, 0), self.task, self.address]
    }
}

impl Acquire {
    /// The words of the record.
    pub const fn words(&self) -> [u64; 9] {
        [
            header(ACQUIRE, self.kind as u8, 9, 0),
            self.caller,
            self.function,
            self.acquisitions,
            self.timed,
            self.ticks,
            self.fastest,
            self.waits,
            self.wait_ticks,
        ]
    }
}

impl Runtime {
    /// The words of the record.
    pub const fn words(&self) -> [u64; 3] {
        let flags = self.runtime as u8 | flag(self.told, FIRST_FLAG);
        [header(RUNTIME, flags, 3, 0), self.time, self.address]
    }
}

/// Reads a record with one of these tags; `None` if it is none, or is too short, or a code in it is not known.
pub(crate) fn event(head: u64, words: &[u64]) -> Option<Event> {
    let flags = (head >> 8) as u8;
    let code = flags & 0xf;
    let small = (head >> 32) as u32;
    let word = |index: usize| words.get(index).copied();
    let low = |index: usize| word(index).map(|word| word as u32);
    let high = |index: usize| word(index).map(|word| (word >> 32) as u32);
    Some(match head as u8 {
        REGION => Event::Region(Region {
            begin: word(1)?,
            end: word(2)?,
            instance: word(3)?,
            function: word(4)?,
            caller: word(5)?,
            stack: word(6)?,
            parent: word(7)?,
            size: small,
            count: low(8)?,
            timed: high(8)?,
            ticks: word(9)?,
            runtime: RuntimeCode::from_code(code)?,
            whole: flags & FIRST_FLAG != 0,
            league: flags & SECOND_FLAG != 0,
        }),
        SHARE => Event::Share(Share {
            begin: word(1)?,
            end: word(2)?,
            instance: word(3)?,
            index: small,
            cpu_begin: word(4)?,
            cpu_end: word(5)?,
        }),
        WORK => Event::Work(Work {
            begin: word(1)?,
            end: word(2)?,
            instance: word(3)?,
            sequence: small,
            caller: word(4)?,
            kind: WorkCode::from_code(code)?,
            iterations: word(5)?,
            chunk: low(6)?,
            chunks: high(6)?,
            done: word(7)?,
            dealing: word(8)?,
        }),
        CHUNK => Event::Chunk(Chunk {
            begin: word(1)?,
            end: word(2)?,
            instance: word(3)?,
            sequence: small,
            first: word(4)?,
            count: word(5)?,
        }),
        SYNC => Event::Sync(Sync {
            begin: word(1)?,
            end: word(2)?,
            instance: word(3)?,
            sequence: small,
            caller: word(4)?,
            kind: SyncCode::from_code(code)?,
            continued: flags & FIRST_FLAG != 0,
            interrupted: flags & SECOND_FLAG != 0,
            cpu_begin: word(5)?,
            cpu_end: word(6)?,
        }),
        TASK_CREATE => Event::TaskCreate(TaskCreate {
            time: word(1)?,
            task: word(2)?,
            parent: word(3)?,
            instance: word(4)?,
            function: word(5)?,
            caller: word(6)?,
            ticks: word(7)?,
            undeferred: flags & FIRST_FLAG != 0,
            of_loop: flags & SECOND_FLAG != 0,
            depends: flags & THIRD_FLAG != 0,
        }),
        TASK_RUN => Event::TaskRun(TaskRun {
            begin: word(1)?,
            end: word(2)?,
            task: word(3)?,
            instance: word(4)?,
            ended: TaskEndCode::from_code(code)?,
        }),
        DEPEND => {
            Event::Depend(Depend { task: word(1)?, address: word(2)?, kind: DependCode::from_code(code)? })
        }
        ACQUIRE => Event::Acquire(Acquire {
            caller: word(1)?,
            function: word(2)?,
            kind: ObjectCode::from_code(code)?,
            acquisitions: word(3)?,
            timed: word(4)?,
            ticks: word(5)?,
            fastest: word(6)?,
            waits: word(7)?,
            wait_ticks: word(8)?,
        }),
        RUNTIME => Event::Runtime(Runtime {
            time: word(1)?,
            runtime: RuntimeCode::from_code(code)?,
            told: flags & FIRST_FLAG != 0,
            address: word(2)?,
        }),
        _ => return None,
    })
}
