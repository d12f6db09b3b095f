//! A predictor with tagged tables for histories of geometric lengths: TAGE (Seznec and Michaud, "A case for (partially)
//! tagged geometric history length branch prediction", Journal of Instruction-Level Parallelism 8, 2006).
//!
//! The table with the longest history that knows the branch provides the prediction; a table of counters without history
//! is there for branches that none knows. A mispredicted branch gets an entry in a table with a longer history. Entries
//! that were right where the next shorter history was wrong are useful, and are kept.
//!
//! The history is of the last taken branches, as in the processors that were looked into (Yavarzadeh et al., "Half&Half:
//! Demystifying Intel's directional branch predictors for fast, secure partitioned execution", IEEE S&P 2023), by address,
//! and by target where that is not always the same. Instead of folding it into registers as the paper does, it is hashed as
//! a polynomial, of which any suffix is the difference of two prefixes: two histories that differ are hardly ever the same
//! here, while folded ones are now and then.

use super::trained;
use crate::machine::TageFacts;

/// The base and the spread of the polynomial: those of Knuth's MMIX generator and of Fibonacci hashing; any odd ones would do.
const BASE: u64 = 6_364_136_223_846_793_005;
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The most tables.
pub(super) const MOST_TABLES: usize = 16;

/// Branches after which useful entries lose one of the two bits that say so, by turns (the paper, section 3.2.2).
const GRACE: u32 = 256 << 10;

/// Where the tag is in a hash: below the index, which is at the top.
const TAG_SHIFT: u32 = 16;

/// An entry of a table with history.
#[derive(Clone, Copy, Default)]
struct Entry {
    tag: u16,
    /// From −4 to 3; 0 and more says taken.
    counter: i8,
    /// From 0 to 3.
    useful: u8,
}

impl Entry {
    fn says_taken(self) -> bool {
        self.counter >= 0
    }

    /// It has hardly seen anything.
    fn is_new(self) -> bool {
        self.useful == 0 && (self.counter == 0 || self.counter == -1)
    }

    fn train(&mut self, taken: bool) {
        self.counter = if taken { (self.counter + 1).min(3) } else { (self.counter - 1).max(-4) };
    }
}

/// The last taken branches.
pub(super) struct History {
    /// The polynomial of all branches until each of the last ones: a ring.
    prefixes: Vec<u64>,
    now: usize,
}

impl History {
    fn new(longest: u32) -> Self {
        Self { prefixes: vec![0; (longest as usize + 1).next_power_of_two()], now: 0 }
    }

    #[inline]
    pub(super) fn push(&mut self, what: u64) {
        let prefix = self.prefixes[self.now].wrapping_mul(BASE).wrapping_add(what.wrapping_mul(SPREAD) | 1);
        self.now = (self.now + 1) & (self.prefixes.len() - 1);
        self.prefixes[self.now] = prefix;
    }

    /// The hash of the last branches.
    #[inline]
    fn hash(&self, length: &Length) -> u64 {
        let begin = self.prefixes[self.now.wrapping_sub(length.branches) & (self.prefixes.len() - 1)];
        self.prefixes[self.now].wrapping_sub(begin.wrapping_mul(length.power))
    }
}

/// A length of histories.
struct Length {
    branches: usize,
    /// The base to the power of that.
    power: u64,
}

pub(super) struct Tage {
    /// Two-bit counters: 2 and 3 say taken.
    base: Vec<u8>,
    /// The tables, that with the shortest history first, one behind the other.
    entries: Vec<Entry>,
    lengths: Vec<Length>,
    /// Log₂ of the entries of a table.
    bits: u32,
    tag_mask: u64,
    pub(super) history: History,
    /// Whether new entries were worse than what they replace: from −8 to 7, at least 0 for yes.
    prefers_old: i8,
    /// Of a generator (xorshift, Marsaglia 2003) that spreads new entries over tables.
    random: u32,
    branches: u32,
}

impl Tage {
    /// One that has seen nothing. Sizes that are no powers of two are rounded up to one.
    pub(super) fn new(bimodal: u32, facts: &TageFacts) -> Self {
        let bits = facts.entries.max(2).next_power_of_two().ilog2();
        let lengths: Vec<Length> = lengths(facts).map(Length::new).collect();
        Self {
            base: vec![1; bimodal.max(1).next_power_of_two() as usize],
            entries: vec![Entry::default(); lengths.len() << bits],
            bits,
            tag_mask: (1 << facts.tag_bits.clamp(1, 16)) - 1,
            history: History::new(facts.longest.max(facts.shortest)),
            lengths,
            prefers_old: 0,
            random: 0x2545_f491,
            branches: 0,
        }
    }

    /// Histories for targets of indirect branches: a short and a long one.
    pub(super) fn paths(&self) -> [u32; 2] {
        let hash = |index: usize| {
            self.lengths.get(index).map_or(0, |length| (self.history.hash(length) >> 32) as u32)
        };
        [hash(self.lengths.len() / 4), hash(self.lengths.len() / 2)]
    }

    /// A conditional branch: what is predicted.
    #[inline]
    pub(super) fn predict_and_train(&mut self, address: u64, taken: bool) -> bool {
        let key = address.wrapping_mul(SPREAD);
        let mut at = [(0u32, 0u16); MOST_TABLES];
        let mut known = 0u32;
        let index_shift = 64 - self.bits;
        for (table, length) in self.lengths.iter().enumerate() {
            let hash = self.history.hash(length).wrapping_add(key).wrapping_mul(BASE);
            let index = ((table as u32) << self.bits) | (hash >> index_shift) as u32;
            let tag = ((hash >> TAG_SHIFT) & self.tag_mask) as u16;
            at[table] = (index, tag);
            known |= u32::from(self.entries[index as usize].tag == tag) << table;
        }
        let base = address as usize & (self.base.len() - 1);
        let simple = self.base[base] >= 2;
        let Some(provider) = known.checked_ilog2() else {
            self.base[base] = trained(self.base[base], taken);
            if simple != taken {
                self.allocate(&at, 0, taken);
            }
            self.age();
            return simple;
        };
        let next = (known ^ 1 << provider).checked_ilog2();
        let otherwise = next.map_or(simple, |table| self.entries[at[table as usize].0 as usize].says_taken());
        let entry = &mut self.entries[at[provider as usize].0 as usize];
        let own = entry.says_taken();
        let predicted = if entry.is_new() && self.prefers_old >= 0 { otherwise } else { own };
        let (is_new, is_useless) = (entry.is_new(), entry.useful == 0);
        entry.train(taken);
        if own != otherwise {
            entry.useful =
                if own == taken { (entry.useful + 1).min(3) } else { entry.useful.saturating_sub(1) };
            if is_new {
                self.prefers_old = (self.prefers_old + if own == taken { -1 } else { 1 }).clamp(-8, 7);
            }
        }
        // What may have to take over soon goes on learning.
        if is_useless {
            match next {
                Some(table) => self.entries[at[table as usize].0 as usize].train(taken),
                None => self.base[base] = trained(self.base[base], taken),
            }
        }
        // A new entry that was right has only to be believed.
        if predicted != taken && own != taken {
            self.allocate(&at, provider as usize + 1, taken);
        }
        self.age();
        predicted
    }

    /// A new entry in one of the tables from this one on, of those with one to spare, rather in a shorter one.
    #[inline(never)]
    fn allocate(&mut self, at: &[(u32, u16); MOST_TABLES], first: usize, taken: bool) {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        let places = at.get(first..self.lengths.len()).unwrap_or_default();
        let mut free = places.iter().filter(|(index, _)| self.entries[*index as usize].useful == 0);
        // Twice as often in a table as in the next one (the paper, section 3.2.1).
        let (one, other) = (free.next(), free.next());
        let chosen = if self.random.is_multiple_of(3) { other.or(one) } else { one };
        match chosen {
            Some(&(index, tag)) => {
                self.entries[index as usize] = Entry { tag, counter: if taken { 0 } else { -1 }, useful: 0 };
            }
            None => {
                for (index, _) in places {
                    let entry = &mut self.entries[*index as usize];
                    entry.useful = entry.useful.saturating_sub(1);
                }
            }
        }
    }

    #[inline]
    fn age(&mut self) {
        self.branches += 1;
        if self.branches.is_multiple_of(GRACE) {
            let keeps = if (self.branches / GRACE).is_multiple_of(2) { 1 } else { 2 };
            self.entries.iter_mut().for_each(|entry| entry.useful &= keeps);
            self.branches %= 2 * GRACE;
        }
    }
}

impl Length {
    fn new(branches: usize) -> Self {
        Self { branches, power: (0..branches).fold(1u64, |power, _| power.wrapping_mul(BASE)) }
    }
}

/// The lengths of histories: a geometric series, each at least one longer than the one before.
fn lengths(facts: &TageFacts) -> impl Iterator<Item = usize> {
    let tables = (facts.tables as usize).clamp(1, MOST_TABLES);
    let (shortest, longest) =
        (f64::from(facts.shortest.max(1)), f64::from(facts.longest.max(facts.shortest).max(1)));
    let factor = (longest / shortest).powf(1.0 / (tables.max(2) - 1) as f64);
    (0..tables).map(move |table| {
        let length = shortest * (0..table).fold(1.0, |product, _| product * factor);
        (length.round() as usize).min(longest as usize)
    })
}
