//! A part of the shared cache for one thread at a time, allotted by the processor.

use std::sync::{Mutex, PoisonError};

use crate::guardian::{Change, Guardian};
use crate::resctrl::{Allotment, Mounted, Resctrl, ResctrlError};

/// Some ways of the shared cache. The group is gone when this is dropped, or when the guardian has nobody left to guard.
#[derive(Debug)]
pub struct CacheShare {
    allotment: Allotment<Mounted>,
    trouble: Mutex<Option<String>>,
    /// Dropped after the group: then there is nothing left to undo.
    _change: Change,
}

impl CacheShare {
    /// Makes a group that has `ways` ways of cache number `cache`, and no thread yet.
    ///
    /// # Errors
    /// The kernel's reasons, as the end of a sentence. Nothing is left behind.
    pub fn new(
        resctrl: &Resctrl<Mounted>,
        guardian: &Guardian,
        cache: u32,
        ways: u32,
    ) -> Result<CacheShare, String> {
        // Two of us at once have a group each.
        let group = format!("holdup-{}", std::process::id());
        let unguarded = |error: std::io::Error| format!("nobody could be told to undo it ({error})");
        let change = guardian.before(resctrl.undo(&group)).map_err(unguarded)?;
        let allotment = resctrl.allot(&group, cache, ways, &[]).map_err(|error| error.to_string())?;
        Ok(CacheShare { allotment, trouble: Mutex::default(), _change: change })
    }

    /// Gives a thread only these ways.
    pub fn take_in(&self, thread: u32) {
        self.note(self.allotment.add(thread));
    }

    /// Gives it all of the cache again.
    pub fn let_go(&self, thread: u32) {
        self.note(self.allotment.give_back(thread));
    }

    /// Why the threads did not have what they should, if so; the first reason.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, result: Result<(), ResctrlError>) {
        if let Err(error) = result {
            let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
            trouble.get_or_insert_with(|| error.to_string());
        }
    }
}

/// The numbers of ways that come closest to one of `parts` equal parts of all `ways` from below and from above: the same
/// number twice where they can be divided. `None` where even the `least` is more than such a part.
pub fn ways_of_part(ways: u32, least: u32, parts: u32) -> Option<(u32, u32)> {
    let (below, above) = (ways / parts.max(1), ways.div_ceil(parts.max(1)));
    (below >= least.max(1)).then_some((below, above))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_part_that_is_no_whole_number_of_ways_lies_between_two() {
        assert_eq!(ways_of_part(12, 2, 4), Some((3, 3)));
        assert_eq!(ways_of_part(11, 1, 4), Some((2, 3)));
        assert_eq!(ways_of_part(11, 2, 8), None);
    }

    proptest! {
        #[test]
        fn the_part_is_between_the_two_numbers(ways in 1u32..64, least in 1u32..4, parts in 1u32..64) {
            match ways_of_part(ways, least, parts) {
                Some((below, above)) => {
                    prop_assert!(below * parts <= ways && above * parts >= ways);
                    prop_assert!(below >= least && above <= ways && above - below <= 1);
                }
                None => prop_assert!(ways / parts < least),
            }
        }
    }
}
