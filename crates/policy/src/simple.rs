//! The policies that need little: all, a fixed thread, the one that misses most.

use crate::policy::{Policy, Slice, ThreadSlice};

/// All threads are fast.
#[derive(Clone, Copy, Debug, Default)]
pub struct All;

impl Policy for All {
    fn name(&self) -> &'static str {
        "all"
    }

    fn is_fast(&self, _thread: u32) -> bool {
        true
    }
}

/// The same threads are fast for the whole run: none; the one that a profile says ("offline", section 7.1); or each in turn,
/// to find the best single one ([`best_single`], section 5.2).
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    name: &'static str,
    threads: Vec<u32>,
}

impl Chosen {
    /// Nobody.
    pub fn nobody() -> Self {
        Self { name: "none", threads: Vec::new() }
    }

    /// These, from a profile.
    pub fn offline(threads: Vec<u32>) -> Self {
        Self { name: "offline", threads }
    }

    /// This one, because it is tried.
    pub fn single(thread: u32) -> Self {
        Self { name: "single", threads: vec![thread] }
    }
}

impl Policy for Chosen {
    fn name(&self) -> &'static str {
        self.name
    }

    fn is_fast(&self, thread: u32) -> bool {
        self.threads.contains(&thread)
    }
}

/// The indices of the `most` largest numbers, the largest first, and the first of equals; without those that are nothing. It
/// makes the offline choice of a profile by whatever metric.
pub fn most<T: Copy + Ord + Default>(numbers: &[T], most: usize) -> Vec<u32> {
    let mut ranked: Vec<(u32, T)> = (0..).zip(numbers.iter().copied()).collect();
    ranked.retain(|found| found.1 > T::default());
    ranked.sort_by_key(|&(index, number)| (std::cmp::Reverse(number), index));
    ranked.into_iter().take(most).map(|found| found.0).collect()
}

/// Of runs in each of which another single thread was fast, given as that thread and the time it took, the one that took
/// least, if that is less than without.
pub fn best_single(without: u64, tried: &[(u32, u64)]) -> Option<(u32, u64)> {
    tried.iter().copied().filter(|found| found.1 < without).min_by_key(|&(thread, time)| (time, thread))
}

/// What a miss counts, by who gave the data.
///
/// The paper (section 5.2, footnote 3) adapts thread criticality prediction (Bhattacharjee and Martonosi, ISCA 2009) to
/// three levels: misses are weighted with the relative latency. Here each miss counts once, by the latency of who gave the
/// data against that of the second level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights([u64; 3]);

impl Weights {
    /// Of latencies in any unit, to thousandths of that of the second level.
    pub fn of(latencies: [f64; 3]) -> Self {
        let base = if latencies[0] > 0.0 { latencies[0] } else { 1.0 };
        Self(latencies.map(|latency| (latency.max(0.0) / base * 1000.0).round() as u64))
    }

    /// What misses count together, in thousandths of one that the second level gave.
    pub fn weigh(&self, misses: &[u64; 3]) -> u128 {
        self.0.iter().zip(misses).map(|(&weight, &count)| u128::from(weight) * u128::from(count)).sum()
    }
}

/// Cache-miss criticality: the threads whose misses weighed most in a slice are fast in the next.
#[derive(Clone, Debug)]
pub struct CacheMisses {
    weights: Weights,
    most: usize,
    fast: Vec<u32>,
}

impl CacheMisses {
    /// So many threads are fast at once, at most.
    pub fn new(weights: Weights, most: usize) -> Self {
        Self { weights, most, fast: Vec::new() }
    }
}

impl Policy for CacheMisses {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn decide(&mut self, slice: &Slice<'_>) {
        let weigh = |thread: &ThreadSlice| if thread.lives { self.weights.weigh(&thread.misses) } else { 0 };
        let weighed: Vec<u128> = slice.threads.iter().map(weigh).collect();
        self.fast = most(&weighed, self.most);
    }

    fn is_fast(&self, thread: u32) -> bool {
        self.fast.contains(&thread)
    }
}

#[cfg(test)]
mod tests {
    use super::{All, CacheMisses, Chosen, Weights, best_single, most};
    use crate::{Policy, Slice, ThreadSlice, WaitTable};

    #[test]
    fn fixed_policies_are_what_they_are_called() {
        assert!((0..9).all(|thread| All.is_fast(thread) && !Chosen::nobody().is_fast(thread)));
        assert!(Chosen::single(3).is_fast(3) && !Chosen::single(3).is_fast(2));
        assert!(Chosen::offline(vec![1, 2]).is_fast(2));
    }

    #[test]
    fn the_largest_come_first_and_nothing_is_not_chosen() {
        assert_eq!(most(&[3, 9, 0, 9], 3), [1, 3, 0]);
        assert_eq!(most(&[0u64, 0], 1), [0u32; 0]);
    }

    #[test]
    fn the_best_single_thread_is_the_one_with_the_shortest_run_if_that_helps() {
        assert_eq!(best_single(100, &[(0, 99), (1, 90), (2, 90)]), Some((1, 90)));
        assert_eq!(best_single(100, &[(0, 100), (1, 104)]), None);
    }

    #[test]
    fn misses_weigh_by_the_latency_of_who_gave_the_data() {
        // The paper's machine: 10 cycles, 10 ns and 100 ns at 2 GHz.
        let weights = Weights::of([10.0, 20.0, 200.0]);
        assert_eq!(weights.weigh(&[5, 2, 1]), 5000 + 4000 + 20_000);
        let mut policy = CacheMisses::new(weights, 1);
        let thread = |misses, lives| ThreadSlice { lives, misses, ..ThreadSlice::default() };
        let threads = [thread([100, 0, 0], true), thread([0, 0, 6], true), thread([0, 0, 99], false)];
        policy.decide(&Slice { length: 10, threads: &threads, bottlenecks: &WaitTable::new(0) });
        assert_eq!((0..3).filter(|&thread| policy.is_fast(thread)).collect::<Vec<_>>(), [1]);
    }
}
