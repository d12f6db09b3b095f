//! The course of one thread: pieces of execution between the marks at which sections can begin and end.

use std::collections::BTreeMap;
use std::ops::Range;

use holdup_recording::{CodeModule, Instructions, StreamEvent, is_of_runtime};
use holdup_sections::{Boundary, Cut, Looks, is_dealt};
use holdup_trace::instructions::{Loss, Mark};
use holdup_trace::wire::ObjectCode;

use crate::replayed::Replayed;
use crate::tally::Tally;

/// A unit of work that was dealt out at run time.
#[derive(Clone, Debug)]
pub(crate) struct DealtUnit {
    /// What dealt it out.
    pub construct: u64,
    /// The first iteration of a chunk of a loop.
    pub first: Option<i64>,
    pub tally: Tally,
}

/// What a thread executed between two boundaries.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub opens: Boundary,
    pub closes: Boundary,
    /// Without its units.
    pub tally: Tally,
    /// Instructions of loops that wait in the barrier at its end, where that is one of the program's functions.
    pub waited: u64,
    pub units: Vec<DealtUnit>,
    /// Locks that were acquired: how often.
    pub locks: BTreeMap<u64, u64>,
    /// Start functions of other threads that it executed.
    pub starts: Vec<u64>,
    /// It waited for a condition or a semaphore in between, as those do who take work from a queue.
    pub queued: bool,
    /// The wait at its end goes on with the one at its begin: the thread only looked again.
    pub looks_again: bool,
    /// Which pieces of the stream it is, by number: one, where others were not joined to it.
    pub recorded: Range<usize>,
}

/// The course of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    /// Its number in the recorded process; `None` if it never told.
    pub number: Option<u32>,
    pub parent: Option<u32>,
    pub handle: u64,
    /// Its start function.
    pub entry: u64,
    /// Its kernel id.
    pub tid: u32,
    /// Barriers that it initialized: object, parties.
    pub barriers: Vec<(u64, u32)>,
    /// The mutex of each condition variable that it waited for.
    pub mutexes: BTreeMap<u64, u64>,
    pub pieces: Vec<Piece>,
    /// Its stream ends before the thread did.
    pub is_cut: bool,
    /// Entries that were dropped, and why.
    pub lost: Option<Option<Loss>>,
    /// The process executed another program, or forked.
    pub leaves: bool,
}

/// A piece of a thread's course.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Row {
    pub course: usize,
    pub piece: usize,
}

/// Units beyond this in one piece are not kept apart.
const MOST_UNITS: usize = 20_000;

/// Goes through the stream of a thread. `returns` has the return address of each own block that ends with a call.
pub(crate) fn course(instructions: &Instructions<'_>, stream: u32, returns: &BTreeMap<u32, u64>) -> Course {
    let mut walker = Walker {
        course: Course {
            number: None,
            parent: None,
            handle: 0,
            entry: 0,
            tid: 0,
            barriers: Vec::new(),
            mutexes: BTreeMap::new(),
            pieces: Vec::new(),
            is_cut: false,
            lost: None,
            leaves: false,
        },
        open: Some(Open::at(Boundary::Begin)),
        replayed: Replayed::new(&instructions.blocks, returns),
        looks: Looks::default(),
        works: Vec::new(),
        modules: &instructions.modules,
    };
    let whole = instructions.each(stream, &mut |event| walker.take(event));
    walker.flush();
    if let Some(open) = walker.open.take() {
        walker.course.is_cut =
            !matches!(walker.course.pieces.last(), Some(piece) if piece.closes == Boundary::End);
        walker.course.pieces.push(open.close(Boundary::End));
    }
    walker.course.is_cut |= !whole;
    for (number, piece) in walker.course.pieces.iter_mut().enumerate() {
        piece.recorded = number..number + 1;
    }
    walker.course
}

/// A piece that has begun.
struct Open {
    piece: Piece,
    /// Units that have begun, the innermost last.
    units: Vec<DealtUnit>,
}

impl Open {
    fn at(opens: Boundary) -> Open {
        let piece = Piece {
            opens,
            closes: Boundary::End,
            tally: Tally::default(),
            waited: 0,
            units: Vec::new(),
            locks: BTreeMap::new(),
            starts: Vec::new(),
            queued: false,
            looks_again: false,
            recorded: 0..0,
        };
        Open { piece, units: Vec::new() }
    }

    /// Where counts go now.
    fn tally(&mut self) -> &mut Tally {
        self.units.last_mut().map_or(&mut self.piece.tally, |unit| &mut unit.tally)
    }

    fn end_unit(&mut self) {
        let Some(unit) = self.units.pop() else { return };
        if self.piece.units.len() < MOST_UNITS {
            self.piece.units.push(unit);
        } else {
            self.piece.tally.merge(&unit.tally);
        }
    }

    fn close(mut self, closes: Boundary) -> Piece {
        while !self.units.is_empty() {
            self.end_unit();
        }
        self.piece.closes = closes;
        self.piece
    }
}

struct Walker<'a> {
    course: Course,
    /// `None` while the thread waits at a boundary.
    open: Option<Open>,
    replayed: Replayed<'a>,
    looks: Looks,
    modules: &'a [CodeModule],
    /// Worksharing constructs that the thread is in: what deals out chunks, if it deals them out at run time.
    works: Vec<Option<u64>>,
}

impl Walker<'_> {
    fn take(&mut self, event: StreamEvent<'_>) {
        match event {
            StreamEvent::Counts(counts) => {
                if let Some(open) = &mut self.open {
                    open.tally().add(counts);
                }
            }
            StreamEvent::Block(block, _) => self.replayed.block(block),
            StreamEvent::Partial(block, instructions, _) => self.replayed.partial(block, instructions),
            StreamEvent::Mark(mark) => {
                self.flush();
                self.cut(&mark);
                self.mark(&mark);
            }
            StreamEvent::Lost(_, why) => self.course.lost = Some(why),
            StreamEvent::Leaves(_) => self.course.leaves = true,
            StreamEvent::Touched(_) => {}
        }
    }

    /// Puts what was executed since the last mark where it belongs (streams with blocks).
    fn flush(&mut self) {
        if let (Some(tally), Some(open)) = (self.replayed.taken(), &mut self.open) {
            open.tally().merge(&tally);
        }
    }

    /// Ends the piece at a boundary that the thread waits at.
    fn stop(&mut self, at: Boundary) {
        if let Some(open) = self.open.take() {
            self.course.pieces.push(open.close(at));
        }
    }

    /// Ends the piece at a boundary that it passes.
    fn pass(&mut self, at: Boundary) {
        self.stop(at);
        self.open = Some(Open::at(at));
    }

    /// Goes on after the boundary that the last piece ended at.
    fn go_on(&mut self) {
        if self.open.is_none() {
            let opens = self.course.pieces.last().map_or(Boundary::Begin, |piece| piece.closes);
            self.open = Some(Open::at(opens));
        }
    }

    /// Takes the last boundary back: it was none.
    fn retract(&mut self) {
        let last = self.course.pieces.pop();
        if let (Some(piece), None) = (last, &self.open) {
            self.open = Some(Open { piece, units: Vec::new() });
        }
    }

    /// Ends and begins pieces.
    fn cut(&mut self, mark: &Mark) {
        let looks_again = self.looks.again(mark);
        match Cut::at(mark) {
            Some(Cut::Stop(at)) => {
                if let Some(open) = &mut self.open {
                    open.piece.looks_again = looks_again;
                }
                self.stop(at);
            }
            Some(Cut::Pass(at)) => self.pass(at),
            Some(Cut::GoOn) => self.go_on(),
            Some(Cut::Retract) => self.retract(),
            None => {}
        }
    }

    fn mark(&mut self, mark: &Mark) {
        match *mark {
            Mark::ThreadBegin { number, parent, entry, tid, handle } => {
                self.course.number = Some(number);
                self.course.parent = Some(parent).filter(|parent| *parent != u32::MAX);
                (self.course.entry, self.course.tid, self.course.handle) = (entry, tid, handle);
            }
            Mark::WaitBegin { kind: ObjectCode::Semaphore, .. } => {
                if let Some(open) = &mut self.open {
                    open.piece.queued = true;
                }
            }
            Mark::WaitBegin { object, kind: ObjectCode::Condition, mutex, .. } => {
                self.course.mutexes.insert(object, mutex);
            }
            Mark::Initialized { object, kind: ObjectCode::Barrier, value, .. } => {
                self.course.barriers.push((object, value));
            }
            Mark::Acquired { object, caller, .. } if !is_of_runtime(self.modules, caller) => {
                if let Some(open) = &mut self.open {
                    *open.piece.locks.entry(object).or_default() += 1;
                }
            }
            Mark::WorkBegin { instance, sequence, kind, .. } => {
                self.works.push(is_dealt(kind).then(|| construct(instance, sequence.into())));
            }
            Mark::WorkEnd { .. } => {
                if self.works.pop().flatten().is_some()
                    && let Some(open) = &mut self.open
                {
                    open.end_unit();
                }
            }
            Mark::Chunk { first, .. } => {
                if let (Some(Some(construct)), Some(open)) = (self.works.last().copied(), &mut self.open) {
                    open.end_unit();
                    let first = Some(first as i64);
                    open.units.push(DealtUnit { construct, first, tally: Tally::default() });
                }
            }
            Mark::TaskBegin { .. } => self.begin_unit(TASKS),
            Mark::UnitBegin { label, .. } => self.begin_unit(label | MARKED),
            Mark::TaskEnd { .. } | Mark::UnitEnd => {
                if let Some(open) = &mut self.open {
                    open.end_unit();
                }
            }
            _ => {}
        }
    }

    fn begin_unit(&mut self, construct: u64) {
        if let Some(open) = &mut self.open {
            open.units.push(DealtUnit { construct, first: None, tally: Tally::default() });
        }
    }
}

/// The construct of all tasks of a section.
const TASKS: u64 = u64::MAX;
/// Set in constructs that the program marked.
const MARKED: u64 = 1 << 63;

fn construct(instance: u64, sequence: u64) -> u64 {
    (instance << 16 ^ sequence) & !MARKED
}

#[cfg(test)]
impl Course {
    /// That of a thread that executes so many instructions before each of these boundaries.
    pub(crate) fn of_steps(number: u32, steps: &[(u64, Boundary)]) -> Course {
        let mut opens = Boundary::Begin;
        let pieces = steps.iter().map(|&(instructions, closes)| {
            let mut piece = Open::at(opens).close(closes);
            piece.tally.instructions = instructions;
            opens = closes;
            piece
        });
        Course {
            number: Some(number),
            parent: Some(0),
            handle: 100 + u64::from(number),
            entry: 0,
            tid: 500 + number,
            barriers: Vec::new(),
            mutexes: BTreeMap::new(),
            pieces: pieces.collect(),
            is_cut: false,
            lost: None,
            leaves: false,
        }
    }
}
