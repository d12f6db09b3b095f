//! One cache: which lines it has, their states, and which line it gives up.
//!
//! An entry is one word, the line's number above its state, flags, and who of few caches below has it. With least-recently-used and
//! first-in-first-out replacement the order of a set's entries is the order of replacement, so that the line that was used
//! last is found at once; the other policies keep lines where they are. All memory is zero at first, so that only what is
//! used costs memory.

use super::coherence::{Holders, State};
use super::replacement::Policy;
use crate::machine::{CacheFacts, Replacement};

/// Bits of an entry below the number of its line.
const LOW_BITS: u32 = 14;
/// So many remain for the number: with lines of 64 bytes, all addresses that programs have with five levels of page tables.
pub(crate) const LINE_BITS: u32 = 64 - LOW_BITS;
const STATE: u64 = 0b11;
/// The data is on its way: the first use looks up when it arrives.
pub(crate) const PENDING: u64 = 0b100;
/// Uses are to be reported one by one (`sharing`). First level only.
pub(crate) const TRACKED: u64 = 0b1000;
/// A cache below may write the line. Not in the first level.
const OWNED: u64 = 0b1000;
/// Above the flags, a bit for each cache below that has the line, where there are no more than these.
const FIRST_BELOW: u32 = 6;
const MOST_BELOW: u32 = LOW_BITS - FIRST_BELOW;
const BELOW: u64 = ((1 << MOST_BELOW) - 1) << FIRST_BELOW;

/// A cache.
pub(crate) struct Cache {
    ways: usize,
    sets: Sets,
    /// Set behind set.
    entries: Vec<u64>,
    /// By entry, who of many caches below has the line.
    below: Vec<u64>,
    order: Order,
    /// The order is that of the entries.
    is_ordered: bool,
}

/// Which line is given up.
enum Order {
    /// The last of its set.
    Position {
        /// True if a use brings it to the front.
        moves: bool,
    },
    /// As a policy says.
    Policy(Policy),
}

/// A line that was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Victim {
    pub line: u64,
    pub state: State,
    pub holders: Holders,
    /// Its flag [`TRACKED`]; of first-level caches only.
    pub tracked: bool,
}

impl Cache {
    /// An empty one, of a checked geometry; `below` is how many caches are right below it.
    pub(crate) fn new(facts: &CacheFacts, below: u32) -> Cache {
        let ways = facts.ways as usize;
        let sets = facts.size / (u64::from(facts.line) * u64::from(facts.ways));
        let entries = sets as usize * ways;
        Cache {
            ways,
            sets: Sets::new(sets),
            entries: vec![0; entries],
            below: if below > MOST_BELOW { vec![0; entries] } else { Vec::new() },
            is_ordered: matches!(facts.replacement, Replacement::Lru | Replacement::Fifo),
            order: match facts.replacement {
                Replacement::Lru => Order::Position { moves: true },
                Replacement::Fifo => Order::Position { moves: false },
                other => Order::Policy(Policy::new(other, sets as usize, ways)),
            },
        }
    }

    /// The slot of a line, if it is there. Changes nothing.
    #[inline]
    pub(crate) fn find(&self, line: u64) -> Option<usize> {
        let set = self.sets.of(line);
        self.way(set, line).map(|way| set * self.ways + way)
    }

    #[inline]
    fn way(&self, set: usize, line: u64) -> Option<usize> {
        let base = set * self.ways;
        // Every entry in use has a state, so that the least one of a line is this, and an empty one is below all.
        let least = line << LOW_BITS | 1;
        let is_it = |entry: u64| entry.wrapping_sub(least) < (1 << LOW_BITS) - 1;
        // Where in its set a line is, is as hard to foresee for the host as for the cache, so there is a branch for each few
        // ways only.
        let mut first = 0;
        for some in self.entries[base..base + self.ways].chunks(4) {
            let found = some.iter().rev().fold(0u32, |found, &entry| found << 1 | u32::from(is_it(entry)));
            if found != 0 {
                return Some(first + found.trailing_zeros() as usize);
            }
            first += 4;
        }
        None
    }

    /// The slot of a line that is used now, if it is there.
    #[inline]
    pub(crate) fn used(&mut self, line: u64) -> Option<usize> {
        let set = self.sets.of(line);
        let way = self.way(set, line)?;
        Some(self.uses(set, way))
    }

    /// A way is used now: the slot where its line is then.
    #[inline]
    fn uses(&mut self, set: usize, way: usize) -> usize {
        let base = set * self.ways;
        match &mut self.order {
            Order::Position { moves: false } => base + way,
            Order::Position { moves: true } => {
                self.bring_to_front(base, way);
                base
            }
            Order::Policy(policy) => {
                policy.used(set, way);
                base + way
            }
        }
    }

    #[inline]
    fn bring_to_front(&mut self, base: usize, way: usize) {
        to_front(&mut self.entries[base..=base + way]);
        if !self.below.is_empty() {
            to_front(&mut self.below[base..=base + way]);
        }
    }

    /// True if the line was the last that was used in its set, it has no flags, and it may be read, or written if
    /// `writes` (which makes no difference to its state then). No bookkeeping is needed for such a use.
    #[inline]
    pub(crate) fn is_first(&self, line: u64, writes: bool) -> bool {
        if !self.is_ordered {
            return false;
        }
        let entry = self.entries[self.sets.of(line) * self.ways];
        let key = line << LOW_BITS;
        if writes {
            entry == key | State::Modified as u64
        } else {
            entry.wrapping_sub(key | 1) < State::Modified as u64
        }
    }

    /// The slot of a line that is used now, if its data is there and it may be used so without asking others. None if it is
    /// anything else: then nothing was done. First level only.
    #[inline]
    pub(crate) fn hits(&mut self, line: u64, writes: bool) -> Option<usize> {
        let set = self.sets.of(line);
        let way = self.way(set, line)?;
        let entry = &mut self.entries[set * self.ways + way];
        if *entry & PENDING != 0 || (writes && *entry & STATE == State::Shared as u64) {
            return None;
        }
        if writes {
            *entry |= State::Modified as u64;
        }
        Some(self.uses(set, way))
    }

    /// Puts a line in that is not there; what had to go for it.
    pub(crate) fn insert(&mut self, line: u64, state: State, flags: u64) -> (usize, Option<Victim>) {
        let set = self.sets.of(line);
        let base = set * self.ways;
        let entries = &self.entries[base..base + self.ways];
        let empty = entries.iter().position(|entry| entry & STATE == 0);
        let way = match (&mut self.order, empty) {
            (_, Some(way)) => way,
            (Order::Position { .. }, None) => self.ways - 1,
            (Order::Policy(policy), None) => policy.victim(set),
        };
        let mut slot = base + way;
        let victim = empty.is_none().then(|| Victim {
            line: self.entries[slot] >> LOW_BITS,
            state: self.state(slot),
            holders: self.holders(slot),
            tracked: self.flags(slot, TRACKED) != 0,
        });
        match &mut self.order {
            Order::Position { .. } => {
                self.bring_to_front(base, way);
                slot = base;
            }
            Order::Policy(policy) => policy.filled(set, way),
        }
        self.entries[slot] = line << LOW_BITS | flags | state as u64;
        if let Some(below) = self.below.get_mut(slot) {
            *below = 0;
        }
        (slot, victim)
    }

    /// Empties a slot.
    pub(crate) fn remove(&mut self, slot: usize) {
        self.entries[slot] = 0;
        if let Some(below) = self.below.get_mut(slot) {
            *below = 0;
        }
    }

    /// The state of the copy in a slot.
    #[inline]
    pub(crate) fn state(&self, slot: usize) -> State {
        State::of_bits(self.entries[slot])
    }

    /// Changes it to another but [`State::Invalid`].
    #[inline]
    pub(crate) fn set_state(&mut self, slot: usize, state: State) {
        self.entries[slot] = self.entries[slot] & !STATE | state as u64;
    }

    /// Which of these flags are set.
    #[inline]
    pub(crate) fn flags(&self, slot: usize, flags: u64) -> u64 {
        self.entries[slot] & flags
    }

    /// Sets flags.
    pub(crate) fn set_flags(&mut self, slot: usize, flags: u64) {
        self.entries[slot] |= flags;
    }

    /// Clears flags.
    pub(crate) fn clear_flags(&mut self, slot: usize, flags: u64) {
        self.entries[slot] &= !flags;
    }

    /// Who below has the line in a slot. Of an only cache below it may be said that it has a line which it gave up clean.
    #[inline]
    pub(crate) fn holders(&self, slot: usize) -> Holders {
        let entry = self.entries[slot];
        let mask = match self.below.get(slot) {
            Some(&mask) => mask,
            None => (entry & BELOW) >> FIRST_BELOW,
        };
        Holders { mask, owned: entry & OWNED != 0 && mask != 0 }
    }

    /// Changes it.
    #[inline]
    pub(crate) fn set_holders(&mut self, slot: usize, holders: Holders) {
        let mut bits = if holders.owned { OWNED } else { 0 };
        match self.below.get_mut(slot) {
            Some(below) => *below = holders.mask,
            None => bits |= holders.mask << FIRST_BELOW & BELOW,
        }
        self.entries[slot] = self.entries[slot] & !(OWNED | BELOW) | bits;
    }

    /// All lines that it has, with their states.
    #[cfg(test)]
    pub(crate) fn lines(&self) -> impl Iterator<Item = (u64, State, usize)> + '_ {
        self.entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| **entry & STATE != 0)
            .map(|(slot, &entry)| (entry >> LOW_BITS, State::of_bits(entry), slot))
    }
}

/// Moves the last to the front and the others one back.
#[inline]
fn to_front(set: &mut [u64]) {
    let Some(&last) = set.last() else { return };
    let mut moved = last;
    // Sets are short: a call that copies memory takes longer.
    for entry in set {
        std::mem::swap(entry, &mut moved);
    }
}

/// Which set a line belongs to: its number modulo the sets.
struct Sets {
    sets: u64,
    /// `sets - 1` for powers of two, else 0.
    mask: u64,
    /// 2^64 / `sets`, rounded up, for the others.
    reciprocal: u64,
}

impl Sets {
    fn new(sets: u64) -> Sets {
        let sets = sets.max(1);
        let mask = if sets.is_power_of_two() { sets - 1 } else { 0 };
        Sets { sets, mask, reciprocal: (u64::MAX / sets).wrapping_add(1) }
    }

    #[inline]
    fn of(&self, line: u64) -> usize {
        if self.mask != 0 || self.sets == 1 {
            return (line & self.mask) as usize;
        }
        // The quotient is at most one too large, as the reciprocal is by less than `sets` / 2^64 of itself.
        let quotient = ((u128::from(line) * u128::from(self.reciprocal)) >> 64) as u64;
        let rest = line.wrapping_sub(quotient.wrapping_mul(self.sets));
        if rest >= self.sets { rest.wrapping_add(self.sets) as usize } else { rest as usize }
    }
}

#[cfg(test)]
mod tests;
