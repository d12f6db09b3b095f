//! Caches alone, without time and without other cores: to compare with other simulators of caches.

use super::cache::Cache;
use super::coherence::State;
use crate::machine::CacheFacts;

/// Two levels of caches of one core: a first level for data, one for instructions, and a last one for both.
///
/// It counts as cachegrind does, and so differs from the simulator proper in three ways. An access to two lines is one
/// access: it misses a level if either line does, once, and after a miss of the first level *both* lines are looked up in
/// the last. The last level does not include the first: what it gives up stays there. And a store is like a load.
pub struct CacheModel {
    data: Cache,
    instructions: Cache,
    last: Cache,
    line_bits: u32,
}

impl CacheModel {
    /// Empty caches: first levels for data and for instructions of the same kind, and a last one with lines of the same
    /// size.
    pub fn new(first: &CacheFacts, last: &CacheFacts) -> CacheModel {
        CacheModel {
            data: Cache::new(first, 0),
            instructions: Cache::new(first, 0),
            last: Cache::new(last, 0),
            line_bits: first.line.trailing_zeros(),
        }
    }

    /// The same with another first level for instructions.
    #[must_use]
    pub fn with_instructions(self, facts: &CacheFacts) -> CacheModel {
        CacheModel { instructions: Cache::new(facts, 0), ..self }
    }

    /// An access to so many bytes of data: how many misses it counts as in the first level and in the last, 0 or 1.
    pub fn access(&mut self, address: u64, size: u32) -> (u64, u64) {
        Self::look_up(&mut self.data, &mut self.last, self.line_bits, address, size)
    }

    /// The same for the bytes of an instruction.
    pub fn fetch(&mut self, address: u64, size: u32) -> (u64, u64) {
        Self::look_up(&mut self.instructions, &mut self.last, self.line_bits, address, size)
    }

    fn look_up(first: &mut Cache, last: &mut Cache, bits: u32, address: u64, size: u32) -> (u64, u64) {
        let lines = address >> bits..=address.saturating_add(u64::from(size.max(1)) - 1) >> bits;
        let misses = |cache: &mut Cache| {
            // All lines are looked up, whatever the first one gives.
            lines.clone().fold(false, |missed, line| {
                let hits = cache.used(line).is_some();
                if !hits {
                    cache.insert(line, State::Shared, 0);
                }
                missed | !hits
            })
        };
        if !misses(first) {
            return (0, 0);
        }
        (1, u64::from(misses(last)))
    }
}

#[cfg(test)]
mod tests {
    use super::CacheModel;
    use crate::machine::{CacheFacts, Replacement};

    fn facts(size: u64, ways: u32) -> CacheFacts {
        CacheFacts {
            size,
            ways,
            line: 64,
            latency: 1,
            tags: 0,
            shared_by: 1,
            replacement: Replacement::Lru,
            source: String::new(),
        }
    }

    #[test]
    fn an_access_to_two_lines_misses_once_in_each_level() {
        let mut model = CacheModel::new(&facts(128, 2), &facts(512, 8));
        assert_eq!(model.access(60, 8), (1, 1));
        assert_eq!(model.access(0, 64), (0, 0));
        assert_eq!(model.access(64, 64), (0, 0));
        assert_eq!(model.access(128, 4), (1, 1));
        // Line 0 is gone from the first level, line 1 is not.
        assert_eq!(model.access(60, 8), (1, 0));
    }

    #[test]
    fn the_last_level_does_not_include_the_first_and_has_instructions_too() {
        let mut model = CacheModel::new(&facts(128, 2), &facts(128, 2));
        model.access(0, 4);
        model.fetch(64, 4);
        model.fetch(128, 4);
        assert_eq!(model.access(0, 4), (0, 0), "the last level gave it up, but it is still in the first");
    }
}
