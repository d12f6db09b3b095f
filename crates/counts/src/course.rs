//! The course of one thread: pieces of execution between the marks at which sections can begin and end.

use std::collections::BTreeMap;
use std::ops::Range;

use holdup_recording::{CodeModule, Instructions, StreamEvent};
use holdup_trace::instructions::{CodeClass, Loss, MARK_FIELDS, MarkCode};
use holdup_trace::openmp::{SyncCode, WorkCode};
use holdup_trace::wire::ObjectCode;

use crate::replayed::Replayed;
use crate::tally::Tally;

/// A moment in a thread at which a section can begin or end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Boundary {
    /// The thread begins.
    Begin,
    /// The thread ends.
    End,
    /// It has created a thread.
    Created { child: u32 },
    /// It waits for the end of the thread with this handle; `stack` says where.
    Join { handle: u64, stack: u64 },
    /// A barrier.
    Barrier { object: u64, stack: u64 },
    /// A condition variable: a wait, or a broadcast (which has no stack of its own).
    Condition { object: u64, stack: u64, broadcasts: bool },
    /// It has entered a parallel region.
    RegionBegin { instance: u64, function: u64 },
    /// The region has ended.
    RegionEnd { instance: u64 },
    /// Its share of a region begins.
    ShareBegin { instance: u64 },
    /// It ends.
    ShareEnd { instance: u64 },
    /// A barrier of a team.
    Team { instance: u64, sequence: u64, code: u64 },
    /// The part of interest begins or ends.
    Interest { begins: bool },
}

/// A unit of work that was dealt out at run time.
#[derive(Clone, Debug)]
pub(crate) struct DealtUnit {
    /// What dealt it out.
    pub construct: u64,
    pub tally: Tally,
}

/// What a thread executed between two boundaries.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub opens: Boundary,
    pub closes: Boundary,
    /// Without its units.
    pub tally: Tally,
    pub units: Vec<DealtUnit>,
    /// Locks that were acquired: how often.
    pub locks: BTreeMap<u64, u64>,
    /// Start functions of other threads that it executed.
    pub starts: Vec<u64>,
    /// It waited for a condition or a semaphore in between, as those do who take work from a queue.
    pub queued: bool,
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
    pub pieces: Vec<Piece>,
    /// Its stream ends before the thread did.
    pub is_cut: bool,
    /// Entries that were dropped, and why.
    pub lost: Option<Option<Loss>>,
    /// The process executed another program, or forked.
    pub leaves: bool,
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
            pieces: Vec::new(),
            is_cut: false,
            lost: None,
            leaves: false,
        },
        open: Some(Open::at(Boundary::Begin)),
        replayed: Replayed::new(&instructions.blocks, returns),
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
            units: Vec::new(),
            locks: BTreeMap::new(),
            starts: Vec::new(),
            queued: false,
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
            StreamEvent::Mark(code, fields) => {
                self.flush();
                self.mark(code, fields);
            }
            StreamEvent::Lost(_, why) => self.course.lost = Some(why),
            StreamEvent::Leaves(_) => self.course.leaves = true,
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

    /// True for addresses in a runtime: it takes locks of its own.
    fn is_runtime(&self, address: u64) -> bool {
        let within = |module: &&CodeModule| (module.start..module.end).contains(&address);
        self.modules.iter().find(within).is_some_and(|module| module.class == CodeClass::Runtime)
    }

    /// Takes the last boundary back: it was none.
    fn retract(&mut self) {
        let last = self.course.pieces.pop();
        if let (Some(piece), None) = (last, &self.open) {
            self.open = Some(Open { piece, units: Vec::new() });
        }
    }

    fn mark(&mut self, code: MarkCode, fields: [u64; MARK_FIELDS]) {
        let [first, second, third, ..] = fields;
        let is = |kind: ObjectCode| second == kind as u64;
        match code {
            MarkCode::ThreadBegin => {
                self.course.number = Some(first as u32);
                self.course.parent = u32::try_from(second).ok().filter(|parent| *parent != u32::MAX);
                self.course.entry = third;
                self.course.tid = fields[3] as u32;
                self.course.handle = fields[4];
            }
            MarkCode::ThreadEnd => self.stop(Boundary::End),
            MarkCode::Created => self.pass(Boundary::Created { child: first as u32 }),
            MarkCode::WaitBegin if is(ObjectCode::Barrier) => {
                self.stop(Boundary::Barrier { object: first, stack: third });
            }
            MarkCode::WaitBegin if is(ObjectCode::ThreadEnd) => {
                self.stop(Boundary::Join { handle: first, stack: third });
            }
            MarkCode::WaitBegin if is(ObjectCode::Condition) => {
                self.stop(Boundary::Condition { object: first, stack: third, broadcasts: false });
            }
            MarkCode::WaitBegin if is(ObjectCode::Semaphore) => {
                if let Some(open) = &mut self.open {
                    open.piece.queued = true;
                }
            }
            MarkCode::WaitEnd => self.go_on(),
            MarkCode::Woke if is(ObjectCode::Condition) && third >= u64::from(u32::MAX) => {
                self.pass(Boundary::Condition { object: first, stack: 0, broadcasts: true });
            }
            MarkCode::Initialized if is(ObjectCode::Barrier) => {
                self.course.barriers.push((first, third as u32))
            }
            MarkCode::Acquired if !self.is_runtime(third) => {
                if let Some(open) = &mut self.open {
                    *open.piece.locks.entry(first).or_default() += 1;
                }
            }
            MarkCode::RegionBegin => self.pass(Boundary::RegionBegin { instance: first, function: second }),
            MarkCode::RegionEnd => self.pass(Boundary::RegionEnd { instance: first }),
            MarkCode::ShareBegin => self.pass(Boundary::ShareBegin { instance: first }),
            MarkCode::ShareEnd => self.pass(Boundary::ShareEnd { instance: first }),
            MarkCode::SyncBegin if is_barrier(third) => {
                self.stop(Boundary::Team { instance: first, sequence: second, code: fields[3] });
            }
            MarkCode::SyncEnd if second == 1 => self.retract(),
            MarkCode::SyncEnd => self.go_on(),
            MarkCode::WorkBegin => self.works.push(is_dealt(third).then(|| construct(first, second))),
            MarkCode::WorkEnd => {
                if self.works.pop().flatten().is_some()
                    && let Some(open) = &mut self.open
                {
                    open.end_unit();
                }
            }
            MarkCode::Chunk => {
                if let (Some(Some(construct)), Some(open)) = (self.works.last().copied(), &mut self.open) {
                    open.end_unit();
                    open.units.push(DealtUnit { construct, tally: Tally::default() });
                }
            }
            MarkCode::TaskBegin | MarkCode::UnitBegin => {
                self.go_on();
                let construct = if code == MarkCode::TaskBegin { TASKS } else { first | MARKED };
                if let Some(open) = &mut self.open {
                    open.units.push(DealtUnit { construct, tally: Tally::default() });
                }
            }
            MarkCode::TaskEnd | MarkCode::UnitEnd => {
                if let Some(open) = &mut self.open {
                    open.end_unit();
                }
            }
            MarkCode::InterestBegin => self.pass(Boundary::Interest { begins: true }),
            MarkCode::InterestEnd => self.pass(Boundary::Interest { begins: false }),
            _ => {}
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

/// True for meetings of the whole team; `kind` is a [`SyncCode`].
fn is_barrier(kind: u64) -> bool {
    kind < SyncCode::Taskwait as u64
}

/// True for worksharing constructs whose chunks are dealt out at run time; the low 8 bits are a [`WorkCode`].
fn is_dealt(kind: u64) -> bool {
    let kind = kind & 0xff;
    kind == WorkCode::DynamicLoop as u64
        || kind == WorkCode::GuidedLoop as u64
        || kind == WorkCode::OtherLoop as u64
        || kind == WorkCode::Sections as u64
}
