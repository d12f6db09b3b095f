//! A table by line or page number: open addressing, linear probing, no tombstones.
//!
//! Its order never shows, so results do not depend on it.

/// Values by number. It doubles when it is three quarters full.
pub(crate) struct Table<V> {
    /// Numbers plus one; 0 where nothing is.
    keys: Vec<u64>,
    values: Vec<V>,
    len: usize,
    shift: u32,
}

impl<V: Copy + Default> Table<V> {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self::with_bits(10)
    }

    fn with_bits(bits: u32) -> Self {
        Self { keys: vec![0; 1 << bits], values: vec![V::default(); 1 << bits], len: 0, shift: 64 - bits }
    }

    /// How many it has.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.len
    }

    /// Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4) of neighbourhoods of eight numbers,
    /// which are next to each other: what programs use in order does not cost a cache miss of ours each.
    fn home(&self, number: u64) -> usize {
        let neighborhood = (number >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (self.shift + 3);
        (neighborhood << 3 | number & 7) as usize
    }

    fn slot(&self, number: u64) -> Result<usize, usize> {
        let key = number.wrapping_add(1);
        let mut slot = self.home(number);
        loop {
            match self.keys[slot] {
                0 => return Err(slot),
                found if found == key => return Ok(slot),
                _ => slot = (slot + 1) & (self.keys.len() - 1),
            }
        }
    }

    /// The value of a number.
    pub(crate) fn get(&self, number: u64) -> Option<V> {
        self.slot(number).ok().map(|slot| self.values[slot])
    }

    /// Sets the value of a number, which is below `u64::MAX`.
    pub(crate) fn insert(&mut self, number: u64, value: V) {
        match self.slot(number) {
            Ok(slot) => self.values[slot] = value,
            Err(slot) => {
                self.keys[slot] = number.wrapping_add(1);
                self.values[slot] = value;
                self.len += 1;
                if self.len * 4 > self.keys.len() * 3 {
                    self.grow();
                }
            }
        }
    }

    /// Removes a number.
    pub(crate) fn remove(&mut self, number: u64) {
        let Ok(mut hole) = self.slot(number) else { return };
        let last = self.keys.len() - 1;
        self.len -= 1;
        let mut slot = hole;
        loop {
            slot = (slot + 1) & last;
            let key = self.keys[slot];
            if key == 0 {
                break;
            }
            // What lies behind the hole moves into it unless its place is between the two.
            let home = self.home(key - 1);
            if (slot.wrapping_sub(home) & last) >= (slot.wrapping_sub(hole) & last) {
                self.keys[hole] = key;
                self.values[hole] = self.values[slot];
                hole = slot;
            }
        }
        self.keys[hole] = 0;
    }

    fn grow(&mut self) {
        let mut bigger = Self::with_bits(64 - self.shift + 1);
        for (&key, &value) in self.keys.iter().zip(&self.values) {
            if key != 0 {
                bigger.insert(key - 1, value);
            }
        }
        *self = bigger;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::Table;

    proptest! {
        #[test]
        fn a_table_is_a_map(acts in prop::collection::vec((0_u64..3000, 0_u32..3), 1..6000)) {
            let (mut table, mut map) = (Table::new(), BTreeMap::new());
            for (index, (number, act)) in acts.into_iter().enumerate() {
                // Neighbours, and far ones.
                let number = if number % 2 == 0 { number << 30 } else { number };
                if act == 0 {
                    table.remove(number);
                    map.remove(&number);
                } else {
                    table.insert(number, index);
                    map.insert(number, index);
                }
                prop_assert_eq!(table.len(), map.len());
            }
            for number in (0_u64..3000).map(|number| if number % 2 == 0 { number << 30 } else { number }) {
                prop_assert_eq!(table.get(number), map.get(&number).copied());
            }
        }
    }
}
