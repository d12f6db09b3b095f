//! The global predictor: two-bit counters with tags, found by the path to a branch.

use super::trained;

/// Bits of the hash of path and address that are a tag; the others choose the set (Uzelac and Milenkovic).
const TAG_BITS: u32 = 6;

/// Sets of up to four entries, the one that was used last first. An entry has 16 bits, so that a set is one word and
/// nothing here needs a branch of the host's: 1 for valid, four unused, the branch's offset in its 16 bytes (4), the tag (6), its
/// counter (2). The offset is not said to be in this table by the paper, but it is in its branch target buffer.
pub(super) struct Global {
    sets: Vec<u64>,
    ways: u32,
}

/// What was found for a branch.
#[derive(Clone, Copy)]
pub(super) struct Found {
    set: usize,
    /// The entry in the set; where there is none, the one that was not used for the longest time.
    shift: u32,
    /// What its tag is, or has to be.
    tag: u64,
    is_there: bool,
    counter: u8,
}

impl Found {
    /// What the entry says; `otherwise` where there is none.
    #[inline]
    pub(super) fn says_taken(self, otherwise: bool) -> bool {
        (self.is_there & (self.counter >= 2)) | (!self.is_there & otherwise)
    }
}

/// The lowest bit of every entry.
const LANES: u64 = 0x0001_0001_0001_0001;
const VALID: u64 = 0x8000;
const COUNTER: u64 = 3;

impl Global {
    /// With so many entries in all; more than four ways are simulated as four.
    pub(super) fn new(entries: u32, ways: u32) -> Self {
        let ways = ways.clamp(1, 4);
        let sets = (entries / ways).max(1).next_power_of_two() as usize;
        Self { sets: vec![0; sets], ways }
    }

    /// Bits of the hash that [`Global::find`] wants.
    pub(super) fn hash_bits(&self) -> u32 {
        self.sets.len().trailing_zeros() + TAG_BITS
    }

    #[inline]
    pub(super) fn find(&self, hash: u32, address: u64) -> Found {
        let index = (hash >> TAG_BITS) as usize & (self.sets.len() - 1);
        let set = self.sets[index];
        let low = u64::from(hash) & ((1 << TAG_BITS) - 1);
        let tag = VALID | ((address & 15) << (TAG_BITS + 2)) | (low << 2);
        // 0 in the lane that is equal; lanes that are not have a bit after the carry-free addition.
        let differs = (set ^ (tag * LANES)) & !(COUNTER * LANES);
        let below = differs & (0x7fff * LANES);
        let equal = !((below + 0x7fff * LANES) | differs) & (VALID * LANES);
        let lane = if equal == 0 { self.ways - 1 } else { equal.trailing_zeros() / 16 };
        let shift = lane * 16;
        Found { set: index, shift, tag, is_there: equal != 0, counter: ((set >> shift) & COUNTER) as u8 }
    }

    /// Learns the outcome. Where there was no entry, one is made if the branch was mispredicted.
    #[inline]
    pub(super) fn train(&mut self, found: Found, taken: bool, mispredicted: bool) {
        let counter = if found.is_there { trained(found.counter, taken) } else { 1 + u8::from(taken) };
        let entry = found.tag | u64::from(counter);
        let set = self.sets[found.set];
        // The entry leaves its place, those before it move up by one, and it is put in front.
        let before = set & ((1 << found.shift) - 1);
        let behind = set & !(0xffff << found.shift) & !((1 << found.shift) - 1);
        let after = behind | (before << 16) | entry;
        self.sets[found.set] = if found.is_there | mispredicted { after } else { set };
    }
}
