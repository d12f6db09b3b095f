//! Coherence as a pure function: what becomes of the copies of one line below one directory.
//!
//! Caches form a tree: first levels below second levels below third levels below memory. Each node of it is the directory
//! of the caches right below it, and asks its own directory when it lacks a right that one of them wants (as in the tree
//! protocols of Sorin, Hill and Wood, "A primer on memory consistency and cache coherence", 2nd edition, section 9.1).
//! So the same transitions serve every level, and memory is a node that has all rights.

use crate::machine::Coherence;

/// The state of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum State {
    /// None.
    #[default]
    Invalid = 0,
    /// It may be read; others may have it.
    Shared = 1,
    /// The only one below its directory, as it is in the directory's own copy; may be written without asking.
    Exclusive = 2,
    /// The only one below its directory, and it may be newer.
    Modified = 3,
}

impl State {
    /// True if a store needs no one's leave.
    pub(crate) const fn may_write(self) -> bool {
        matches!(self, State::Exclusive | State::Modified)
    }

    pub(crate) const fn of_bits(bits: u64) -> State {
        match bits & 3 {
            0 => State::Invalid,
            1 => State::Shared,
            2 => State::Exclusive,
            _ => State::Modified,
        }
    }
}

/// What a directory knows of the caches right below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Holders {
    /// A bit for each cache that has a copy, or for each group of caches where there are more than there are bits.
    pub mask: u64,
    /// True if it is one, and it may write: its copy may be newer.
    pub owned: bool,
}

impl Holders {
    /// What is left when these gave up their copies.
    pub(crate) const fn without(self, bits: u64) -> Holders {
        let mask = self.mask & !bits;
        Holders { mask, owned: self.owned && mask != 0 }
    }
}

/// How copies are kept the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// By a protocol.
    Coherent(Coherence),
    /// Not at all: everyone may write its own copy. A what-if.
    Incoherent,
}

/// What a cache asks of its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// A copy.
    Read,
    /// The only copy, to write it.
    Write,
}

/// What follows from a wish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Who has copies from now on.
    pub holders: Holders,
    /// The state of the copy of the one that asked.
    pub granted: State,
    /// These have to give up their copies; what is newer goes to the directory.
    pub invalidate: u64,
    /// This one keeps its copy as a shared one; what is newer goes to the directory.
    pub downgrade: u64,
}

/// The transition. `own` is the directory's own right: at least shared for [`Wish::Read`], and one to write for
/// [`Wish::Write`]. `others` has all holders but the one that asks, whose bit is `asking`.
pub(crate) fn next(protocol: Protocol, own: State, others: Holders, asking: u64, wish: Wish) -> Answer {
    let all = others.mask | asking;
    let Protocol::Coherent(protocol) = protocol else {
        let granted = if wish == Wish::Write { State::Modified } else { State::Exclusive };
        return Answer { holders: Holders { mask: all, owned: true }, granted, ..Answer::default() };
    };
    match wish {
        Wish::Write => Answer {
            holders: Holders { mask: asking, owned: true },
            granted: State::Modified,
            invalidate: others.mask,
            downgrade: 0,
        },
        Wish::Read if others.mask == 0 && own.may_write() && protocol == Coherence::Mesi => Answer {
            holders: Holders { mask: asking, owned: true },
            granted: State::Exclusive,
            ..Answer::default()
        },
        Wish::Read => Answer {
            holders: Holders { mask: all, owned: false },
            granted: State::Shared,
            invalidate: 0,
            downgrade: if others.owned { others.mask } else { 0 },
        },
    }
}

#[cfg(test)]
mod tests;
