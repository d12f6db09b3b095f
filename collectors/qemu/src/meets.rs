//! Functions, and pieces of them, that may be barriers: when each thread comes to one, and when it leaves it.
//!
//! Who starts the program says what may be: functions with a loop that waits, those that are called so, and what is around such a loop,
//! for barriers that are inlined. Whether one
//! is a barrier its visits say: nobody leaves before all have come. A thread's visits are marks, which cost time and room, so a function
//! that was left before all had come as often, a lock for example, is not looked at any more.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use holdup_trace::instructions::Mark;

/// With more threads than these such functions are not recorded.
const MOST_THREADS: usize = 1 << 12;
/// What one thread alone visits so often is none.
const MOST_ALONE: u32 = 16;

/// What all threads share about these functions.
pub(crate) struct Meets {
    functions: Vec<Function>,
    /// The bytes of the executable's file.
    program: OnceLock<Vec<u8>>,
    tickets: AtomicU64,
    /// The injected library is there, which tells of threads: without it these functions are not recorded either.
    is_library_there: AtomicBool,
}

/// What may be a barrier, by where it is in the executable's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A whole function.
    Function(Range<u64>),
    /// A piece of one.
    Piece {
        /// An instruction behind it.
        behind: u64,
        /// Instructions with which threads come to it.
        comes: Vec<u64>,
        /// Instructions behind it to which they leave it.
        leaves: Vec<u64>,
    },
}

struct Function {
    place: Place,
    /// How far it is in memory from where it is in the file.
    distance: AtomicU64,
    is_none: AtomicBool,
    /// How often each thread came; 0 for those that never did.
    visits: Box<[AtomicU32]>,
    /// One more than the highest thread that came.
    threads: AtomicUsize,
}

/// What of a function, or a piece of one, a block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// It begins with it.
    Entry,
    /// It may be left with it.
    Exit,
    /// It is the block in which a piece begins: what it executes belongs to what is before.
    Beginning,
}

/// A block of the executable, where it is in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFile {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// Where it begins in memory.
    pub(crate) address: u64,
    /// It ends with a return.
    pub(crate) returns: bool,
}

/// The function that a thread is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Visit {
    pub(crate) function: usize,
    /// Which one of the thread's visits it is, from 1.
    number: u32,
}

impl Meets {
    /// Those at these places of the executable's file.
    pub(crate) fn of(places: &[Place]) -> Self {
        let function = |place: &Place| Function {
            place: place.clone(),
            distance: AtomicU64::new(0),
            is_none: AtomicBool::new(false),
            visits: (0..MOST_THREADS).map(|_| AtomicU32::new(0)).collect(),
            threads: AtomicUsize::new(0),
        };
        Self {
            functions: places.iter().map(function).collect(),
            program: OnceLock::new(),
            tickets: AtomicU64::new(0),
            is_library_there: AtomicBool::new(false),
        }
    }

    /// The injected library has asked for the plugin.
    pub(crate) fn library_is_there(&self) {
        self.is_library_there.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// What a block of the executable is, in the order in which it is that. A function that ends with the call of another is left
    /// when that returns to behind the call of it: `program` has the bytes of the executable's file. A piece begins behind the block
    /// that its first instruction is in, and is left with that of the first one behind it: what else such a block executes is little.
    pub(crate) fn parts(&self, block: InFile, program: impl FnOnce() -> Vec<u8>) -> Vec<(usize, Part)> {
        let begin = block.begin;
        let at = |address| {
            self.functions.iter().position(|function| match &function.place {
                Place::Function(range) => range.contains(&address),
                Place::Piece { .. } => false,
            })
        };
        let begins_at = |function: usize, address| match &self.functions[function].place {
            Place::Function(range) => range.start == address,
            Place::Piece { .. } => false,
        };
        let called = called_before(self.program.get_or_init(program), begin);
        let called = called.and_then(|called| at(called).filter(|&function| begins_at(function, called)));
        let own = at(begin).and_then(|function| match begins_at(function, begin) {
            true => Some((function, Part::Entry)),
            false => block.returns.then_some((function, Part::Exit)),
        });
        let pieces = |part: Part| {
            let is_here = move |(_, function): &(usize, &Function)| match (&function.place, part) {
                (Place::Piece { comes: at, .. }, Part::Beginning)
                | (Place::Piece { leaves: at, .. }, Part::Exit) => {
                    at.iter().any(|at| (begin..block.end).contains(at))
                }
                _ => false,
            };
            self.functions.iter().enumerate().filter(is_here).map(move |(number, _)| (number, part))
        };
        let left = called.map(|function| (function, Part::Exit)).into_iter().chain(pieces(Part::Exit));
        let parts: Vec<_> = left.chain(own).chain(pieces(Part::Beginning)).collect();
        let distance = block.address.wrapping_sub(begin);
        for (function, _) in &parts {
            self.functions[*function].distance.store(distance, Ordering::Relaxed);
        }
        parts
    }

    /// The number of what happens now.
    pub(crate) fn ticket(&self) -> u64 {
        self.tickets.fetch_add(1, Ordering::SeqCst)
    }

    /// What is written of who comes to it. `from` is the address of the instruction that calls the function, or, for a piece, of the
    /// last one of the block with which the thread comes.
    pub(crate) fn mark(&self, visit: Visit, from: u64, ticket: u64) -> Mark {
        let facts = &self.functions[visit.function];
        let in_memory = |at: u64| at.wrapping_add(facts.distance.load(Ordering::Relaxed));
        let (inside, caller) = match facts.place {
            Place::Function(_) => (0, from),
            Place::Piece { behind, .. } => (from, in_memory(behind)),
        };
        Mark::MeetBegin { function: self.name(visit), inside, caller, ticket }
    }

    /// True for a piece of a function: these begin and end one in another in any order.
    pub(crate) fn is_piece(&self, function: usize) -> bool {
        matches!(self.functions[function].place, Place::Piece { .. })
    }

    /// What it is called in marks: by the address of a function in memory, and the number of a piece.
    pub(crate) fn name(&self, visit: Visit) -> u64 {
        let facts = &self.functions[visit.function];
        match &facts.place {
            Place::Function(range) => range.start.wrapping_add(facts.distance.load(Ordering::Relaxed)),
            Place::Piece { .. } => visit.function as u64,
        }
    }

    /// A thread comes to a function; `None` where that is not to be recorded.
    pub(crate) fn comes(&self, function: usize, thread: u32) -> Option<Visit> {
        let facts = &self.functions[function];
        if facts.is_none.load(Ordering::Relaxed) || !self.is_library_there.load(Ordering::Relaxed) {
            return None;
        }
        let Some(visits) = facts.visits.get(thread as usize) else {
            facts.is_none.store(true, Ordering::Relaxed);
            return None;
        };
        facts.threads.fetch_max(thread as usize + 1, Ordering::SeqCst);
        let number = visits.fetch_add(1, Ordering::SeqCst) + 1;
        Some(Visit { function, number })
    }

    /// It leaves it: if others have come less often than it has, it is no barrier.
    pub(crate) fn leaves(&self, visit: Visit) {
        let facts = &self.functions[visit.function];
        let visits = &facts.visits[..facts.threads.load(Ordering::SeqCst)];
        let visits = visits.iter().map(|visits| visits.load(Ordering::SeqCst)).filter(|&visits| visits > 0);
        let (mut threads, mut fewest) = (0, u32::MAX);
        for visits in visits {
            threads += 1;
            fewest = fewest.min(visits);
        }
        if fewest < visit.number || threads == 1 && visit.number > MOST_ALONE {
            facts.is_none.store(true, Ordering::Relaxed);
        }
    }

    /// Another thread gets this number.
    pub(crate) fn begins(&self, thread: u32) {
        for function in &self.functions {
            if let Some(visits) = function.visits.get(thread as usize) {
                visits.store(0, Ordering::SeqCst);
            }
        }
    }
}

/// Where the call goes whose last byte is before this place of a file, if there is one.
fn called_before(file: &[u8], place: u64) -> Option<u64> {
    const CALL: u8 = 0xe8;
    let end = usize::try_from(place).ok()?;
    let [CALL, distance @ ..] = file.get(end.checked_sub(5)?..end)?.first_chunk::<5>()? else { return None };
    Some(place.wrapping_add_signed(i32::from_le_bytes(*distance).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meets() -> Meets {
        let mut program = vec![0x90; 0x200];
        // A call, and one of what comes behind it.
        program[0x180..0x185].copy_from_slice(&[0xe8, 0x7b, 0xff, 0xff, 0xff]);
        program[0x130..0x135].copy_from_slice(&[0xe8, 0xcb, 0xff, 0xff, 0xff]);
        program[0x190..0x195].copy_from_slice(&[0xe8, 0x6c, 0xff, 0xff, 0xff]);
        let piece = Place::Piece { behind: 0x1a0, comes: vec![0x1a8, 0x1d0], leaves: vec![0x1a0, 0x1e0] };
        let meets = Meets::of(&[Place::Function(0x100..0x140), piece]);
        meets.program.set(program).unwrap();
        assert_eq!(meets.comes(0, 0), None, "nobody tells of threads");
        meets.library_is_there();
        meets
    }

    fn is_recorded(meets: &Meets) -> bool {
        !meets.functions[0].is_none.load(Ordering::Relaxed)
    }

    #[test]
    fn blocks_are_entries_and_exits_by_where_they_are() {
        let parts = |begin, returns| -> Vec<Part> {
            let block = InFile { begin, end: begin + 4, address: 0x7000 + begin, returns };
            meets().parts(block, Vec::new).into_iter().map(|(_, part)| part).collect()
        };
        assert_eq!(parts(0x100, false), [Part::Entry]);
        assert_eq!(parts(0x120, true), [Part::Exit]);
        assert_eq!(parts(0x120, false), []);
        assert_eq!(parts(0x140, true), [], "another function's");
        assert_eq!(parts(0x185, false), [Part::Exit], "behind a call");
        assert_eq!(parts(0x195, false), [], "behind a call of something in it");
        assert_eq!(
            parts(0x135, true),
            [Part::Exit, Part::Exit],
            "the end of a function behind a call of it in itself"
        );
        assert_eq!((parts(0, false), parts(0x5000, false)), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_piece_begins_and_ends_with_the_blocks_that_its_instructions_are_in() {
        let meets = meets();
        let parts = |begin, end| {
            meets.parts(InFile { begin, end, address: 0x7000 + begin, returns: false }, Vec::new)
        };
        assert_eq!(parts(0x19c, 0x1a2), [(1, Part::Exit)]);
        assert_eq!(parts(0x1a2, 0x1a8), []);
        // The next one begins where the last one ends.
        assert_eq!(parts(0x1a0, 0x1b0), [(1, Part::Exit), (1, Part::Beginning)]);
        assert_eq!(parts(0x1d0, 0x1d8), [(1, Part::Beginning)], "another way to come");
        assert_eq!(parts(0x1e0, 0x1e8), [(1, Part::Exit)], "and to leave");
        let mark = meets.mark(meets.comes(1, 0).unwrap(), 5, 6);
        assert_eq!(mark, Mark::MeetBegin { function: 1, inside: 5, caller: 0x71a0, ticket: 6 });
    }

    #[test]
    fn a_function_is_called_by_its_address_in_memory() {
        let meets = meets();
        meets.parts(InFile { begin: 0x100, end: 0x104, address: 0x7100, returns: false }, Vec::new);
        let visit = meets.comes(0, 0).unwrap();
        let mark = Mark::MeetBegin { function: 0x7100, inside: 0, caller: 5, ticket: 6 };
        assert_eq!((meets.mark(visit, 5, 6), meets.name(visit)), (mark, 0x7100));
    }

    #[test]
    fn what_all_come_to_before_one_leaves_is_recorded_of() {
        let meets = meets();
        for _ in 0..100 {
            let visits: Vec<Visit> = (0..3).map(|thread| meets.comes(0, thread).unwrap()).collect();
            visits.into_iter().for_each(|visit| meets.leaves(visit));
        }
        assert!(is_recorded(&meets));
        // The next one with this number has never come.
        meets.begins(1);
        let visit = meets.comes(0, 0).unwrap();
        meets.comes(0, 2).unwrap();
        meets.leaves(visit);
        assert!(is_recorded(&meets));
    }

    #[test]
    fn what_one_leaves_before_another_has_come_is_not() {
        let lock = meets();
        for thread in [0, 0, 1, 0] {
            let visit = lock.comes(0, thread).unwrap();
            lock.leaves(visit);
        }
        assert!(!is_recorded(&lock));
        assert_eq!(lock.comes(0, 1), None);
        let alone = meets();
        for _ in 0..=MOST_ALONE {
            let visit = alone.comes(0, 7).unwrap();
            alone.leaves(visit);
        }
        assert!(!is_recorded(&alone));
    }
}
