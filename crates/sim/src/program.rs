//! What is simulated: code, threads, the objects that they synchronise by, and where their instructions come from.

use std::collections::BTreeSet;

use holdup_code::MicroOp;
use holdup_model::Mode;

use crate::touched::{LINE_BITS, RECENT, Touch, Touched};

/// Code, decoded once.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// Blocks, by the number that [`Item::Block`] names.
    pub blocks: Vec<Block>,
    /// The micro-ops of all blocks, one block behind the other.
    pub ops: Vec<MicroOp>,
    /// The instructions of all blocks, one block behind the other.
    pub instructions: Vec<Instruction>,
    /// The accesses of all blocks, one block behind the other.
    pub accesses: Vec<Access>,
}

/// A block as it was recorded: it is left at its end only. It may overlap others.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Its address in the recorded process.
    pub address: u64,
    /// Its length in bytes.
    pub length: u32,
    /// Its micro-ops, in [`Code::ops`].
    pub ops: std::ops::Range<u32>,
    /// Its instructions, in [`Code::instructions`].
    pub instructions: std::ops::Range<u32>,
    /// The accesses that it makes when it is executed whole, in [`Code::accesses`]; micro-ops name them by their slot.
    pub accesses: std::ops::Range<u32>,
    /// How it ends.
    pub exit: Exit,
}

impl Block {
    /// The address behind it.
    pub fn end(&self) -> u64 {
        self.address + u64::from(self.length)
    }
}

/// An instruction of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// Its address.
    pub address: u64,
    /// The number of its address: blocks that overlap have the same for the same address. Numbers go up from 0 without gaps
    /// in the order of addresses.
    pub place: u32,
    /// Its first micro-op, in [`Code::ops`].
    pub first_op: u32,
}

/// An access to memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The instruction, by its index in the block.
    pub instruction: u32,
    /// Its size in bytes.
    pub size: u32,
    /// True if it stores.
    pub stores: bool,
}

/// How a block ends, as far as a branch predictor is interested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exit {
    /// The next block follows, or a jump goes to a place that is always the same.
    #[default]
    Falls,
    /// A conditional branch: taken unless the next block is the one behind it.
    Branch,
    /// A jump through a register or memory.
    IndirectJump,
    /// A call.
    Call,
    /// A call through a register or memory.
    IndirectCall,
    /// A return.
    Return,
}

/// A thread that is simulated.
#[derive(Clone, Debug, Default)]
pub struct SimThread {
    /// Its number in the recorded process.
    pub number: u32,
    /// Its name; hostile.
    pub name: Option<String>,
    /// The address of its start function; 0 where that is unknown.
    pub entry: u64,
    /// True if another thread's [`Act::Create`] begins it; others begin at once.
    pub is_created: bool,
}

/// The static part of what is simulated. Objects are numbers from 0, by kind.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Its code.
    pub code: Code,
    /// Its threads, in the order in which they were recorded.
    pub threads: Vec<SimThread>,
    /// Its locks: what to call each.
    pub locks: Vec<String>,
    /// Where each lock is in memory; 0, or missing at the end, where that is unknown. Its line goes from owner to owner.
    pub lock_addresses: Vec<u64>,
    /// Which locks, barriers and gates threads wait for by spinning.
    pub spun: Spun,
    /// Its barriers, those of teams included: for how many threads.
    pub barriers: Vec<u32>,
    /// What happens once: how many [`Act::Open`] are needed.
    pub gates: Vec<u32>,
    /// What is counted (semaphores): what is there at first.
    pub tokens: Vec<u64>,
    /// Constructs that deal out units of work at run time: the units of each, in the order in which they are dealt.
    pub constructs: Vec<Vec<u32>>,
    /// Calls that other threads can end.
    pub calls: Vec<CallWithin>,
    /// What makes all figures doubtful, a sentence each: what the recording does not tell.
    pub doubts: Vec<String>,
    /// What the reader must know of the recording, a sentence each.
    pub warnings: Vec<String>,
}

/// Locks, barriers and gates that threads wait for by looking at a word again and again: who waits has no wake-up to wait
/// for, and nobody has to wake it. What it does at the word is in its stream, but for locks with an address
/// ([`Program::lock_addresses`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spun {
    /// The locks.
    pub locks: BTreeSet<u32>,
    /// The first such barrier.
    pub barrier: u32,
    /// The first such gate.
    pub gate: u32,
}

impl Default for Spun {
    /// None of them.
    fn default() -> Spun {
        Spun { locks: BTreeSet::new(), barrier: u32::MAX, gate: u32::MAX }
    }
}

/// A call that blocks and that other threads can end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallWithin {
    /// How long it took when it was recorded, in nanoseconds: it takes no longer.
    pub nanos: u64,
    /// What other threads executed meanwhile: when that is done, what the call waited for is done too.
    pub instructions: u64,
    /// How long it took after the last of them had stopped to work, in nanoseconds.
    pub alone: u64,
}

/// Why a thread passes a gate or takes a token: what waiting there is booked as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A condition variable or a semaphore, or work that there is none of.
    Condition,
    /// A barrier.
    Barrier,
    /// The end of another thread.
    Join,
    /// A lock.
    Lock,
}

/// What a thread does besides executing blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act {
    /// It creates the thread with this index.
    Create(u32),
    /// It waits for the end of the thread with this index.
    Join(u32),
    /// It acquires a lock.
    Acquire(u32, Mode),
    /// It releases it.
    Release(u32),
    /// It arrives at a barrier.
    Arrive(u32),
    /// It passes a gate as soon as that is open.
    Pass(u32, Reason),
    /// It does one act towards opening a gate.
    Open(u32),
    /// It takes a token as soon as there is one.
    Take(u32, Reason),
    /// It gives one.
    Give(u32),
    /// A call that blocks, for so many nanoseconds.
    Call {
        /// How long it took when it was recorded.
        nanos: u64,
    },
    /// A call that blocks and that other threads can end, by its number in [`Program::calls`].
    CallWithin(u32),
    /// It passes a gate as soon as that is open, or after so many nanoseconds.
    PassWithin(u32, Reason, u64),
    /// It takes units of this construct until there are none left.
    Deal(u32),
    /// A piece of its course ends and the next begins ([`holdup_model::cycles::CyclePiece`]).
    Cut,
}

/// The next thing that a thread does.
#[derive(Debug, PartialEq)]
pub enum Item<'a> {
    /// It executes a block whole; the addresses of its accesses, in their order.
    Block(u32, &'a [u64]),
    /// It executes the first so many instructions of a block, or all of them with other accesses than usual: a string
    /// instruction with many rounds, say. With 0 instructions: more accesses of the block that was executed last.
    Partial(u32, u32, &'a [(Access, u64)]),
    /// Anything else.
    Act(Act),
    /// The unit that was taken has ended.
    UnitEnd,
    /// What the thread did to memory before.
    Skipped(&'a Skipped),
    /// The thread has ended.
    End,
}

/// Where the instructions of threads come from.
pub trait Feed {
    /// The next thing that the thread with this index does; [`Item::End`] again and again at its end.
    fn next(&mut self, thread: usize) -> Item<'_>;

    /// From now on [`Feed::next`] gives what this unit executes, up to [`Item::UnitEnd`], then what follows in the thread.
    fn take_unit(&mut self, thread: usize, unit: u32);

    /// Where the thread is.
    fn bookmark(&mut self, thread: usize) -> Bookmark;

    /// Goes to a place. The bookmark holds what is different there from the place that was gone to, or of which a bookmark was
    /// made, before; at first that is the beginning.
    fn go_to(&mut self, thread: usize, bookmark: &Bookmark);
}

/// A place in a thread's stream, and what is needed to go on from there. What is in it is the [`Feed`]'s affair.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bookmark {
    /// The place.
    pub at: [u64; 7],
    /// What has changed since the bookmark before: which number, and what it is now.
    pub changed: Vec<(u32, u64)>,
    /// The unit that the thread executes, and the place in that, with all that is to be known there.
    pub unit: Option<(u32, Box<Bookmark>)>,
}

impl Bookmark {
    /// One in the place of several that follow each other.
    pub(crate) fn merged<'a>(bookmarks: impl DoubleEndedIterator<Item = &'a Bookmark>) -> Bookmark {
        let mut all = Bookmark::default();
        let mut changed = std::collections::BTreeMap::new();
        for bookmark in bookmarks {
            changed.extend(bookmark.changed.iter().copied());
            (all.at, all.unit) = (bookmark.at, bookmark.unit.clone());
        }
        all.changed = changed.into_iter().collect();
        all
    }
}

/// What is left out, slices or what was before all that is simulated: what that has done to memory, as far as caches can still know of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skipped {
    /// Pages that nobody had used before: by whom.
    pub(crate) pages: Vec<(u32, Touched)>,
    /// Lines, by whom, in the order of their last uses.
    pub(crate) lines: Vec<(u32, Touched)>,
}

impl Skipped {
    /// What a thread did before it was of interest: which pages it touched that nobody had touched before, and which lines it
    /// touched last, in the order of their last use, and whether it wrote to them; by address.
    pub fn before(
        thread: u32,
        pages: impl IntoIterator<Item = u64>,
        lines: impl ExactSizeIterator<Item = (u64, bool)>,
    ) -> Skipped {
        let page = |address: u64| Touch { line: address >> LINE_BITS, writes: false, is_recent: false };
        let pages = Touched::new(pages.into_iter().map(page));
        let count = lines.len();
        let line = |(at, (address, writes)): (usize, (u64, bool))| Touch {
            line: address >> LINE_BITS,
            writes,
            is_recent: count - at <= RECENT,
        };
        let lines = Touched::new(lines.enumerate().map(line));
        Skipped { pages: vec![(thread, pages)], lines: vec![(thread, lines)] }
    }
}
