//! Which blocks of the program are in calls of foreign code, innermost last.
//!
//! A call of a library is open from the calling block to the block at its return address. If the library calls back into
//! the program, the call is suspended until control returns to the library. No register is to be seen here, so returns are
//! known by their addresses alone. Calls that never return (exceptions, `longjmp`) leave an entry behind; it is dropped
//! when a call around it returns, or when there are too many.

use crate::edges::{Key, NOWHERE};

/// How many calls are remembered.
const MOST: usize = 64;

/// What counts while a call is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Zone {
    /// The program's own code.
    Own,
    /// Only linkage stubs and the dynamic linker so far.
    Linkage,
    /// A library: charged to the calling block.
    Library,
    /// A runtime, and whatever it calls: not counted.
    Runtime,
}

/// An open call of foreign code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// The block of the program that called, or jumped there.
    pub(crate) caller: Key,
    /// Where it will return to in the program; 0 if the block jumped.
    pub(crate) returns_to: u64,
    /// Where control will return to in the foreign code while it calls back; 0 if that is not known.
    pub(crate) resumes_at: u64,
    /// What counted when it called back.
    pub(crate) zone: Zone,
}

/// The open calls of a thread.
#[derive(Default)]
pub(crate) struct Calls {
    open: Vec<Call>,
}

impl Calls {
    /// A block of the program calls foreign code.
    pub(crate) fn begin(&mut self, caller: Key, returns_to: u64, zone: Zone) {
        if self.open.len() == MOST {
            self.open.drain(..MOST / 2);
        }
        self.open.push(Call { caller, returns_to, resumes_at: 0, zone });
    }

    /// The block that the innermost call is from.
    pub(crate) fn caller(&self) -> Key {
        self.open.last().map_or(NOWHERE, |call| call.caller)
    }

    /// Control comes to the program at `address` out of a return or jump of foreign code: ends the call that this is the
    /// return from, with those inside it, and gives its block.
    pub(crate) fn end_at(&mut self, address: u64) -> Option<Key> {
        let at = self.open.iter().rposition(|call| call.returns_to == address)?;
        self.open.drain(at..).next().map(|call| call.caller)
    }

    /// Ends the innermost call, wherever it was to return to.
    pub(crate) fn end_innermost(&mut self) -> Option<Key> {
        self.open.pop().map(|call| call.caller)
    }

    /// The innermost call calls back.
    pub(crate) fn suspend(&mut self, resumes_at: u64, zone: Zone) {
        if let Some(call) = self.open.last_mut() {
            call.resumes_at = resumes_at;
            call.zone = zone;
        }
    }

    /// Where the foreign code goes on that called back; 0 if none did, or that is not known.
    pub(crate) fn suspended_at(&self) -> u64 {
        self.open.last().map_or(0, |call| call.resumes_at)
    }

    /// The program returns to foreign code at `address`: gives what counts there again.
    pub(crate) fn resume(&mut self, address: u64) -> Option<Zone> {
        let at = self.open.iter().rposition(|call| call.resumes_at == address);
        let at = at.or(self.open.len().checked_sub(1))?;
        self.open.truncate(at + 1);
        let call = &mut self.open[at];
        call.resumes_at = 0;
        Some(call.zone)
    }

    /// Forgets all: another thread begins.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_end_and_resume_by_address() {
        let mut calls = Calls::default();
        calls.begin(32, 0x10, Zone::Library);
        calls.suspend(0xf0, Zone::Library);
        calls.begin(64, 0x20, Zone::Runtime);
        calls.suspend(0xf8, Zone::Runtime);
        // A return to the outer library forgets the call inside it.
        assert_eq!(calls.resume(0xf0), Some(Zone::Library));
        assert_eq!((calls.caller(), calls.suspended_at()), (32, 0));
        assert_eq!(calls.end_at(0x20), None);
        assert_eq!(calls.end_at(0x10), Some(32));
        assert_eq!((calls.caller(), calls.resume(0xf0)), (NOWHERE, None));
    }

    #[test]
    fn calls_that_never_return_are_dropped_in_the_end() {
        let mut calls = Calls::default();
        for left in 0..10_000u32 {
            calls.begin(32 * left, 0x1000 + u64::from(left), Zone::Library);
            calls.suspend(0, Zone::Library);
        }
        assert!(calls.open.len() <= MOST);
        calls.begin(96, 0x10, Zone::Library);
        assert_eq!(calls.end_at(0x10), Some(96));
    }
}
