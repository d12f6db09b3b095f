//! What a pirate's own loads find, by the processor's counters, where they can be read.

use std::fmt::Debug;

use holdup_kernel::{Counted, Counter};

/// References to the last level and misses there, of one thread, since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fetches {
    /// Loads that came to the last level.
    pub references: u64,
    /// Those that it did not have.
    pub misses: u64,
}

impl Fetches {
    /// Misses over references between two readings; `None` where nothing was referred to.
    pub fn ratio_since(&self, before: &Fetches) -> Option<f64> {
        let references = self.references.checked_sub(before.references)?;
        let misses = self.misses.checked_sub(before.misses)?;
        (references > 0).then(|| misses as f64 / references as f64)
    }
}

/// Counters of the calling thread.
pub trait FetchCounters: Debug {
    /// Both, now.
    fn read(&mut self) -> Option<Fetches>;
}

/// Those of the processor.
#[derive(Debug)]
pub struct Hardware {
    references: Counter,
    misses: Counter,
}

impl Hardware {
    /// Opens them for the calling thread; `None` where there are none or they may not be read, as in most virtual
    /// machines.
    pub fn open() -> Option<Hardware> {
        let references = Counter::open(Counted::CacheReferences).ok()?;
        Some(Hardware { references, misses: Counter::open(Counted::CacheMisses).ok()? })
    }
}

impl FetchCounters for Hardware {
    fn read(&mut self) -> Option<Fetches> {
        Some(Fetches { references: self.references.read().ok()?, misses: self.misses.read().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_that_of_what_came_in_between() {
        let (before, after) =
            (Fetches { references: 100, misses: 50 }, Fetches { references: 300, misses: 60 });
        assert_eq!(after.ratio_since(&before), Some(0.05));
        assert_eq!(after.ratio_since(&after), None);
        assert_eq!(before.ratio_since(&after), None);
    }
}
