//! What is told: which instances whole, and which constructs within one.
//!
//! Recording may cost a region [`SHARE_OF_TIME`] of its time. What a whole instance costs is reckoned from how much
//! was written in it; the mean time of an instance is measured. The quotient says how many are left out until the
//! next whole one. Chunks of loops cost most: what a whole instance costs with them is reckoned apart, and decides which have
//! theirs recorded. The distance is scattered, so that a program whose steps take turns (every second one short) is
//! not always caught in the same turn; the scatter is a hash, so that a run can be repeated.
//!
//! Within an instance that goes on and on, the first constructs of a kind are told and then as many in each doubling
//! of their number. Which ones depends on nothing but the sequence number: all threads of the team tell the same.
//! Barriers that come rarely are told all the same: the thread that met the region looks at the time once in a window of
//! them, and says before it goes through the last one whether the next window is told, and the worksharing constructs in it,
//! and their chunks. The others read that after it.

use holdup_trace::wire::UNKNOWN;

use crate::marks;

/// Once it is known what a whole instance costs, these may cost one part in so many of the time...
const SHARE_OF_TIME: u64 = 200;
/// ...but the first ones, of which there are few to learn from, one in so many.
const EARLY_SHARE_OF_TIME: u64 = 20;
/// Up to how many executions of a region are early.
const EARLY: u64 = 64;
/// The first executions are whole at any price: what that is, is learnt from them.
const FIRST: u64 = 3;
/// Of a region that is executed again and again about so many are whole in each doubling of the executions.
const WHOLE_PER_DOUBLING: u64 = 2048;

/// How many executions of a region until the next whole one, after `executions` of which the last was whole; `mean`
/// and `cost` are the time of an execution and what telling it whole costs, in ticks.
pub(crate) fn until_next_whole(executions: u64, mean: u64, cost: u64) -> u64 {
    if executions < FIRST {
        return 1;
    }
    let share = if executions < EARLY { EARLY_SHARE_OF_TIME } else { SHARE_OF_TIME };
    let for_cost = cost.saturating_mul(share) / mean.max(1);
    let distance = for_cost.max(executions / WHOLE_PER_DOUBLING).max(1);
    distance / 2 + scatter(executions) % distance + u64::from(distance == 1)
}

/// An even spread of numbers (the finalizer of MurmurHash3 by Austin Appleby, public domain).
fn scatter(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    mixed ^ (mixed >> 33)
}

/// Constructs of one kind, numbered from 0 within an instance, of which not all are told.
#[derive(Clone, Copy)]
pub(crate) struct Thinning {
    /// The first so many are told; a power of two.
    first: u32,
    /// Of those that follow, on average so many in each doubling; a power of two, not above `first`.
    per_doubling: u32,
}

/// Barriers.
pub(crate) const BARRIERS: Thinning = Thinning { first: 128, per_doubling: 64 };
/// Barriers in a window; a power of two.
const WINDOW: u32 = 32;
/// Barriers that are this far apart (µs) on average cost next to nothing.
const RARE_MICROS: u64 = 10;

/// Which window a barrier is in, and whether it is the last one there.
pub(crate) fn window(barrier: u32) -> (u32, bool) {
    (barrier / WINDOW, barrier % WINDOW == WINDOW - 1)
}

/// Chunks that are this far apart (µs) on average cost next to nothing.
const RARE_CHUNK_MICROS: u64 = 5;

/// True if `chunks` came rarely in a window that took `ticks` of `per_micro` each µs.
pub(crate) fn are_rare_chunks(chunks: u32, ticks: u64, per_micro: u64) -> bool {
    ticks >= u64::from(chunks) * RARE_CHUNK_MICROS * per_micro
}

/// True if barriers come rarely, where a window of them took `ticks` of `per_micro` each µs.
pub(crate) fn are_rare(ticks: u64, per_micro: u64) -> bool {
    ticks >= u64::from(WINDOW) * RARE_MICROS * per_micro
}

/// Worksharing constructs.
pub(crate) const WORKS: Thinning = Thinning { first: 128, per_doubling: 64 };
/// Worksharing constructs whose chunks are told.
pub(crate) const DEALT_WORKS: Thinning = Thinning { first: 32, per_doubling: 8 };
/// A thread's waits for tasks.
pub(crate) const TASK_WAITS: Thinning = Thinning { first: 256, per_doubling: 64 };
/// A thread's tasks.
pub(crate) const TASKS: Thinning = Thinning { first: 1024, per_doubling: 256 };
/// Chunks that are told of a thread's part of one construct; the others are only counted.
pub(crate) const CHUNKS: u32 = 4096;

impl Thinning {
    /// True if the construct with this number is told.
    #[inline]
    pub(crate) fn tells(self, number: u32) -> bool {
        number < self.first || marks::heard() || self.tells_late(number)
    }

    #[inline(never)]
    fn tells_late(self, number: u32) -> bool {
        // In the doubling from 2^n to 2^(n+1) there are 2^n numbers.
        let bits = number.ilog2() - self.per_doubling.ilog2();
        scatter(u64::from(number)) & ((1 << bits) - 1) == 0
    }
}

/// No mean yet.
pub(crate) const NO_MEAN: u64 = 0;

/// The mean after one more measurement: of the first few exactly, then with a weight of 1/16 for the newest.
pub(crate) fn mean_after(mean: u64, measurements: u64, newest: u64) -> u64 {
    if mean == NO_MEAN || newest == UNKNOWN {
        return newest.max(1);
    }
    let weight = (measurements + 1).clamp(1, 16);
    let moved = mean as i64 + (newest as i64 - mean as i64) / weight as i64;
    moved.max(1) as u64
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::*;

    /// Executions of `total` that are whole, where each takes `mean` and telling it costs `cost`.
    fn whole(total: u64, mean: u64, cost: u64) -> Vec<u64> {
        let mut next = 0;
        let mut chosen = Vec::new();
        while next < total {
            chosen.push(next);
            next += until_next_whole(next + 1, mean, cost);
        }
        chosen
    }

    #[test]
    fn rare_and_long_regions_are_always_whole() {
        assert_eq!(whole(2000, 10_000_000, 5_000).len(), 2000);
    }

    #[test]
    fn telling_costs_what_it_may() {
        for (mean, cost) in [(1_000, 500), (2_000, 40_000), (100_000, 1_000), (500, 100)] {
            let total = 1_000_000;
            let late =
                whole(total, mean, cost).iter().filter(|execution| **execution >= EARLY).count() as u64;
            let spent = late * cost;
            let allowed = total * mean / SHARE_OF_TIME;
            assert!(spent <= allowed * 3 / 2, "{mean} {cost}: {spent} of {allowed}");
        }
    }

    #[test]
    fn telling_uses_what_it_may() {
        let total = 1_000_000;
        let spent = whole(total, 1_000, 500).len() as u64 * 500;
        assert!(spent >= total * 1_000 / SHARE_OF_TIME / 2, "{spent}");
    }

    #[test]
    fn turns_are_caught_alike() {
        let chosen = whole(4_000_000, 1_000, 2_000);
        for turns in [2, 3, 4, 8] {
            for turn in 0..turns {
                let caught = chosen.iter().filter(|execution| **execution % turns == turn).count() as u64;
                let expected = chosen.len() as u64 / turns;
                assert!(caught * 4 > expected * 3, "turn {turn} of {turns}: {caught} of {expected}");
            }
        }
    }

    #[test]
    fn an_endless_instance_is_told_ever_more_sparsely() {
        let told = |from: u32, to: u32| (from..to).filter(|number| BARRIERS.tells(*number)).count() as u32;
        assert_eq!(told(0, 128), 128);
        for doubling in 8..20 {
            let count = told(1 << doubling, 2 << doubling);
            assert!((32..=96).contains(&count), "from 2^{doubling}: {count}");
        }
    }

    #[test]
    fn rare_barriers_are_known_by_the_time_of_a_window() {
        assert_eq!([window(0), window(31), window(32)], [(0, false), (0, true), (1, false)]);
        // One a millisecond, and one a microsecond, at three ticks a nanosecond.
        assert!(are_rare(32 * 3_000_000, 3_000));
        assert!(!are_rare(32 * 3_000, 3_000));
    }

    #[test]
    fn the_mean_follows() {
        let mut mean = NO_MEAN;
        for measurement in 0..100 {
            mean = mean_after(mean, measurement, 1000);
        }
        assert_eq!(mean, 1000);
        for measurement in 100..300 {
            mean = mean_after(mean, measurement, 9000);
        }
        assert!((8900..=9000).contains(&mean), "{mean}");
    }
}
