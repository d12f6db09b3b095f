//! BIS: whoever executes the bottleneck that most is waited for is fast.

use crate::policy::{Moment, Policy, Slice};

/// Bottleneck identification and scheduling (Joao, Suleman, Mutlu, Patt, ASPLOS 2012), with a faster clock in place of a
/// larger core, as the paper compares with (section 7.2).
///
/// Bottlenecks are ranked by the time that threads waited for them. Who executes one (holds the lock, has not yet come to the
/// barrier) and can run is fast as long as it does, if the time is at least a threshold. It is decided anew whenever something
/// changes, not at the ends of slices.
#[derive(Clone, Debug)]
pub struct Bottlenecks {
    threshold: u64,
    most: usize,
    fast: Vec<u32>,
}

impl Bottlenecks {
    /// For bottlenecks that were waited for so many thread-ticks at least; so many threads are fast at once, at most.
    pub fn new(threshold: u64, most: usize) -> Self {
        Self { threshold, most, fast: Vec::new() }
    }
}

impl Policy for Bottlenecks {
    fn name(&self) -> &'static str {
        "bis"
    }

    fn decide(&mut self, _slice: &Slice<'_>) {}

    fn react(&mut self, moment: &Moment<'_>) {
        let before = std::mem::take(&mut self.fast);
        for (_, waited, executors) in moment.bottlenecks.ranked(moment.now) {
            if waited == 0 || waited < self.threshold {
                break;
            }
            // Who is fast already stays so: each change costs time.
            let mut able: Vec<u32> =
                executors.into_iter().filter(|&thread| moment.is_active(thread)).collect();
            able.sort_by_key(|thread| (!before.contains(thread), *thread));
            for thread in able {
                if self.fast.len() < self.most && !self.fast.contains(&thread) {
                    self.fast.push(thread);
                }
            }
        }
    }

    fn is_fast(&self, thread: u32) -> bool {
        self.fast.contains(&thread)
    }
}

#[cfg(test)]
mod tests {
    use super::Bottlenecks;
    use crate::{Moment, Policy, WaitTable};

    fn fast(policy: &mut Bottlenecks, table: &WaitTable, now: u64, active: &[bool]) -> Vec<u32> {
        policy.react(&Moment { now, active, bottlenecks: table });
        (0..active.len() as u32).filter(|&thread| policy.is_fast(thread)).collect()
    }

    #[test]
    fn the_holder_of_the_lock_that_most_wait_for_is_fast() {
        let mut table = WaitTable::new(0);
        table.enters(1, 0, 0);
        table.enters(2, 1, 0);
        table.waits(1, 0);
        table.waits(2, 0);
        table.waits(2, 0);
        let mut policy = Bottlenecks::new(100, 1);
        let active = [true, true, false, false, false];
        assert_eq!(fast(&mut policy, &table, 49, &active), [0u32; 0]);
        assert_eq!(fast(&mut policy, &table, 50, &active), [1]);
        // It gives the lock to thread 3, which cannot run yet, then can.
        table.leaves(2, 1, 60);
        table.goes_on(2, 60);
        table.enters(2, 3, 60);
        assert_eq!(fast(&mut policy, &table, 60, &active), [0u32; 0]);
        assert_eq!(fast(&mut policy, &table, 100, &active), [0]);
        assert_eq!(fast(&mut policy, &table, 100, &[true, true, false, true, false]), [3]);
    }

    #[test]
    fn several_are_fast_if_there_is_room_and_who_is_stays_so() {
        let mut table = WaitTable::new(0);
        for thread in [0, 1, 2] {
            table.enters(9, thread, 0);
        }
        table.waits(9, 0);
        let mut policy = Bottlenecks::new(1, 2);
        assert_eq!(fast(&mut policy, &table, 10, &[false, true, true, false]), [1, 2]);
        assert_eq!(fast(&mut policy, &table, 10, &[true, true, true, false]), [1, 2]);
        table.leaves(9, 1, 20);
        assert_eq!(fast(&mut policy, &table, 20, &[true, true, true, false]), [0, 2]);
    }
}
