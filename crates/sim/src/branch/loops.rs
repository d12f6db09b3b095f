//! The loop predictor: counts how often a branch goes one way before it goes the other way once.

/// The most outcomes in a row that it can count: six bits (Uzelac and Milenkovic).
pub(super) const LONGEST: u8 = 63;

#[derive(Clone, Copy, Default)]
struct Entry {
    /// The branch, by the lower half of its address; 0 for no entry.
    branch: u32,
    /// Outcomes in the usual direction since the last one in the other.
    count: u8,
    /// How many there were last time.
    limit: u8,
    /// The usual direction.
    direction: bool,
    /// True if the limit was seen twice: only then is it believed.
    sure: bool,
}

/// Sets of entries, by address. An entry that is sure moves to the front of its set, new ones go to the end.
pub(super) struct Loops {
    entries: Vec<Entry>,
    ways: usize,
    mask: usize,
}

impl Loops {
    /// With so many entries in all; 0 for no such predictor.
    pub(super) fn new(entries: u32, ways: u32) -> Self {
        if entries == 0 {
            return Self { entries: Vec::new(), ways: 0, mask: 0 };
        }
        let ways = ways.clamp(1, entries) as usize;
        let sets = (entries as usize / ways).next_power_of_two();
        Self { entries: vec![Entry::default(); sets * ways], ways, mask: sets - 1 }
    }

    /// What is predicted, with `otherwise` for branches of which nothing is known here.
    #[inline]
    pub(super) fn predict_and_train(&mut self, address: u64, taken: bool, otherwise: bool) -> bool {
        let first = ((address >> 4) as usize & self.mask) * self.ways;
        let branch = address as u32;
        let set = &mut self.entries[first..first + self.ways];
        let Some(way) = set.iter().position(|entry| entry.branch == branch) else {
            if let Some(last) = set.last_mut() {
                let new = Entry { branch, count: 0, limit: 0, direction: !taken, sure: false };
                *last = if otherwise != taken { new } else { *last };
            }
            return otherwise;
        };
        let before = set[way];
        let after = before.trained(taken);
        set[way] = after;
        if after.sure & !before.sure {
            set[..=way].rotate_right(1);
        }
        let usual = before.direction ^ (before.count == before.limit);
        if before.sure { usual } else { otherwise }
    }
}

impl Entry {
    /// The entry after an outcome. Outcomes are as hard to predict for the host as for the machine that is simulated,
    /// so nothing here branches.
    #[inline]
    fn trained(self, taken: bool) -> Self {
        let is_usual = taken == self.direction;
        // Twice in a row the way that was to be the rare one: the other one is the usual one.
        let is_turned = !is_usual & (self.count == 0);
        let again = !is_turned & (self.count == self.limit);
        Self {
            branch: if is_usual & (self.count == LONGEST) { 0 } else { self.branch },
            count: if is_usual { self.count + 1 } else { 2 * u8::from(is_turned) },
            limit: if is_usual { self.limit } else { self.count },
            direction: self.direction ^ is_turned,
            sure: if is_usual { self.sure } else { again },
        }
    }
}
