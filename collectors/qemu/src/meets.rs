//! Functions that may be barriers: when each thread comes to one, and when it leaves it.
//!
//! Who starts the program says which functions may be: those with a loop that waits, and those that are called so. Whether one
//! is a barrier its visits say: nobody leaves before all have come. A thread's visits are marks, which cost time and room, so a function
//! that was left before all had come as often, a lock for example, is not looked at any more.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

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

struct Function {
    /// In the executable's file.
    place: Range<u64>,
    is_none: AtomicBool,
    /// How often each thread came; 0 for those that never did.
    visits: Box<[AtomicU32]>,
    /// One more than the highest thread that came.
    threads: AtomicUsize,
}

/// What of a function a block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// It begins with it.
    Entry,
    /// It may be left with it.
    Exit,
}

/// The function that a thread is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Visit {
    pub(crate) function: usize,
    /// The address of the function.
    pub(crate) address: u64,
    /// Which one of the thread's visits it is, from 1.
    number: u32,
}

impl Meets {
    /// Those at these places of the executable's file.
    pub(crate) fn of(places: &[Range<u64>]) -> Self {
        let function = |place: &Range<u64>| Function {
            place: place.clone(),
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

    /// What a block of the executable is, which begins there in the file, in the order in which it is that; `returns` if it ends with a
    /// return. A function that ends with the call of another is left when that returns to behind the call of it: `program` has
    /// the bytes of the executable's file.
    pub(crate) fn parts(
        &self,
        begin: u64,
        returns: bool,
        program: impl FnOnce() -> Vec<u8>,
    ) -> impl Iterator<Item = (usize, Part)> {
        let at = |address| self.functions.iter().position(|function| function.place.contains(&address));
        let begins_at = |function: usize, address| self.functions[function].place.start == address;
        let called = called_before(self.program.get_or_init(program), begin);
        let called = called.and_then(|called| at(called).filter(|&function| begins_at(function, called)));
        let own = at(begin).and_then(|function| match begins_at(function, begin) {
            true => Some((function, Part::Entry)),
            false => returns.then_some((function, Part::Exit)),
        });
        called.map(|function| (function, Part::Exit)).into_iter().chain(own)
    }

    /// The number of what happens now.
    pub(crate) fn ticket(&self) -> u64 {
        self.tickets.fetch_add(1, Ordering::SeqCst)
    }

    /// A thread comes to a function; `None` where that is not to be recorded.
    pub(crate) fn comes(&self, function: usize, thread: u32, address: u64) -> Option<Visit> {
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
        Some(Visit { function, address, number })
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
        let meets = Meets::of(std::slice::from_ref(&(0x100..0x140)));
        meets.program.set(program).unwrap();
        assert_eq!(meets.comes(0, 0, 0x5100), None, "nobody tells of threads");
        meets.library_is_there();
        meets
    }

    fn is_recorded(meets: &Meets) -> bool {
        !meets.functions[0].is_none.load(Ordering::Relaxed)
    }

    #[test]
    fn blocks_are_entries_and_exits_by_where_they_are() {
        let parts = |begin, returns| -> Vec<Part> {
            meets().parts(begin, returns, Vec::new).map(|(_, part)| part).collect()
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
    fn what_all_come_to_before_one_leaves_is_recorded_of() {
        let meets = meets();
        for _ in 0..100 {
            let visits: Vec<Visit> = (0..3).map(|thread| meets.comes(0, thread, 0x5100).unwrap()).collect();
            visits.into_iter().for_each(|visit| meets.leaves(visit));
        }
        assert!(is_recorded(&meets));
        // The next one with this number has never come.
        meets.begins(1);
        let visit = meets.comes(0, 0, 0x5100).unwrap();
        meets.comes(0, 2, 0x5100).unwrap();
        meets.leaves(visit);
        assert!(is_recorded(&meets));
    }

    #[test]
    fn what_one_leaves_before_another_has_come_is_not() {
        let lock = meets();
        for thread in [0, 0, 1, 0] {
            let visit = lock.comes(0, thread, 0x5100).unwrap();
            lock.leaves(visit);
        }
        assert!(!is_recorded(&lock));
        assert_eq!(lock.comes(0, 1, 0x5100), None);
        let alone = meets();
        for _ in 0..=MOST_ALONE {
            let visit = alone.comes(0, 7, 0x5100).unwrap();
            alone.leaves(visit);
        }
        assert!(!is_recorded(&alone));
    }
}
