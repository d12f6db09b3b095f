//! How a thread counts locks that are not in its table of uses.

use core::cell::Cell;

use crate::life;

/// So many acquisitions of locks that are not in a thread's table are counted one by one in each [`EXACT_FOR_MICROS`]: with
/// more, what it takes to make room (adding to memory that other cores have) would be felt.
const EXACT: u32 = 4096;
/// 4,096 of some 250 ns (two cores of a virtual machine) are 0.25 % of this.
const EXACT_FOR_MICROS: u64 = 400_000;
/// Of those above, one in so many is counted, as so many.
const THINNED: u32 = 64;
/// And the hold of one in so many of these is timed.
pub(crate) const TIMED: u32 = 4;

/// How a thread counts locks that are not in its table. All zero at first.
pub struct Strangers {
    /// How many there were since `since` (ticks).
    seen: Cell<u32>,
    since: Cell<u64>,
    random: Cell<u32>,
}

impl Strangers {
    /// As how many acquisitions the present one counts, 0 for none: 1 while all are counted. Which ones are left out is random,
    /// so that each lock's count has its true value for a mean.
    pub fn weight(&self, object: u64) -> u32 {
        let seen = self.seen.get();
        if seen < EXACT {
            self.seen.set(seen + 1);
            return 1;
        }
        if !self.is_one_in(THINNED, object) {
            return 0;
        }
        let now = life::ticks();
        if now.saturating_sub(self.since.get()) >= life::ticks_of_micros(EXACT_FOR_MICROS) {
            self.since.set(now);
            self.seen.set(0);
        }
        THINNED
    }

    /// False once there were too many to count each.
    pub fn are_all_counted(&self) -> bool {
        self.seen.get() < EXACT
    }

    /// True once in so many times, a power of two, whatever was before.
    pub fn is_one_in(&self, many: u32, object: u64) -> bool {
        let random = self.random.get().wrapping_mul(1_664_525).wrapping_add(hash(object) as u32 | 1);
        self.random.set(random);
        random >> (32 - many.ilog2()) == 0
    }
}

/// Spreads the addresses of locks over 64 bits.
#[inline(always)]
pub(crate) fn hash(object: u64) -> u64 {
    object.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    fn none() -> Strangers {
        Strangers { seen: Cell::new(0), since: Cell::new(0), random: Cell::new(0) }
    }

    #[test]
    fn some_locks_that_are_not_in_the_table_are_counted_exactly() {
        let strangers = none();
        assert!((0..u64::from(EXACT)).all(|object| strangers.weight(object * 40) == 1));
    }

    #[test]
    fn of_many_each_has_its_count_for_a_mean() {
        const LOCKS: usize = 64;
        const EACH: u32 = 100_000;
        let strangers = none();
        strangers.since.set(u64::MAX);
        strangers.seen.set(EXACT);
        let mut counted = [0_u32; LOCKS];
        let mut steps = 0;
        for _ in 0..EACH {
            for (lock, count) in counted.iter_mut().enumerate() {
                let weight = strangers.weight(0x5000 + 40 * lock as u64);
                steps += u32::from(weight > 0);
                *count += weight;
            }
        }
        // The standard deviation of one count is √(63 × 100,000), 2.5 % of it.
        for count in counted {
            assert!(count.abs_diff(EACH) < EACH / 8, "{counted:?}");
        }
        let most = LOCKS as u32 * EACH / (THINNED - 4);
        assert!(steps < most, "{steps} were counted, which costs");
    }
}
