//! Which bottlenecks are waited for, for how long, and by whom they can be got over.

use std::collections::{BTreeMap, BTreeSet};

/// A bottleneck, as whoever calls numbers them: a lock, a barrier, a thread's end.
pub type Bottleneck = u64;

#[derive(Clone, Debug, Default)]
struct Entry {
    /// Thread-ticks waited up to `at`, after halving.
    waited: u64,
    at: u64,
    waiters: u32,
    /// Who holds the lock, or has not come to the barrier.
    executors: BTreeSet<u32>,
}

/// The table of Joao et al. (BIS, ASPLOS 2012), their "bottleneck table": for each bottleneck the time that threads have waited
/// for it, summed over threads. Sums are halved again and again, so that the past is forgotten.
#[derive(Clone, Debug)]
pub struct WaitTable {
    entries: BTreeMap<Bottleneck, Entry>,
    halving: u64,
    halved_at: u64,
}

impl WaitTable {
    /// An empty table, whose sums are halved every so many ticks; 0 for never.
    pub fn new(halving: u64) -> Self {
        Self { entries: BTreeMap::new(), halving, halved_at: 0 }
    }

    /// A thread begins to wait. Times must not decrease from call to call.
    pub fn waits(&mut self, bottleneck: Bottleneck, now: u64) {
        self.entry(bottleneck, now).waiters += 1;
    }

    /// One goes on.
    pub fn goes_on(&mut self, bottleneck: Bottleneck, now: u64) {
        let entry = self.entry(bottleneck, now);
        entry.waiters = entry.waiters.saturating_sub(1);
    }

    /// A thread executes what others wait for, or would.
    pub fn enters(&mut self, bottleneck: Bottleneck, thread: u32, now: u64) {
        self.entry(bottleneck, now).executors.insert(thread);
    }

    /// It no longer does.
    pub fn leaves(&mut self, bottleneck: Bottleneck, thread: u32, now: u64) {
        self.entry(bottleneck, now).executors.remove(&thread);
    }

    /// It executes none any more: it has ended.
    pub fn leaves_all(&mut self, thread: u32) {
        self.entries.values_mut().for_each(|entry| _ = entry.executors.remove(&thread));
    }

    /// Thread-ticks that a bottleneck has been waited for.
    pub fn waited(&self, bottleneck: Bottleneck, now: u64) -> u64 {
        self.entries.get(&bottleneck).map_or(0, |entry| waited(entry, now))
    }

    /// All that are executed by somebody, with their thread-ticks and executors, the most waited for first.
    pub fn ranked(&self, now: u64) -> Vec<(Bottleneck, u64, Vec<u32>)> {
        let executed = self.entries.iter().filter(|(_, entry)| !entry.executors.is_empty());
        let mut ranked: Vec<_> = executed
            .map(|(&id, entry)| (id, waited(entry, now), entry.executors.iter().copied().collect()))
            .collect();
        ranked.sort_by_key(|&(id, waited, _)| (std::cmp::Reverse(waited), id));
        ranked
    }

    /// Halves what is due.
    pub fn pass(&mut self, now: u64) {
        while self.halving > 0 && now.saturating_sub(self.halved_at) >= self.halving {
            self.halved_at += self.halving;
            let at = self.halved_at;
            for entry in self.entries.values_mut() {
                settle(entry, at);
                entry.waited /= 2;
            }
            if self.entries.values().all(|entry| entry.waited == 0 && entry.waiters == 0) {
                // Nothing is left to halve, however long it was.
                self.halved_at = now - (now - self.halved_at) % self.halving;
            }
        }
    }

    fn entry(&mut self, bottleneck: Bottleneck, now: u64) -> &mut Entry {
        self.pass(now);
        let entry = self.entries.entry(bottleneck).or_default();
        settle(entry, now);
        entry
    }
}

fn waited(entry: &Entry, now: u64) -> u64 {
    entry.waited.saturating_add(now.saturating_sub(entry.at).saturating_mul(u64::from(entry.waiters)))
}

fn settle(entry: &mut Entry, now: u64) {
    entry.waited = waited(entry, now);
    entry.at = entry.at.max(now);
}

#[cfg(test)]
mod tests {
    use super::WaitTable;

    #[test]
    fn waits_are_summed_over_threads() {
        let mut table = WaitTable::new(0);
        table.waits(7, 10);
        table.waits(7, 20);
        table.goes_on(7, 50);
        assert_eq!(table.waited(7, 60), 10 + 2 * 30 + 10);
        assert_eq!(table.waited(8, 60), 0);
    }

    #[test]
    fn sums_are_halved_at_each_period() {
        let mut table = WaitTable::new(100);
        table.waits(7, 0);
        table.pass(100);
        assert_eq!(table.waited(7, 100), 50);
        table.goes_on(7, 150);
        table.pass(200);
        assert_eq!(table.waited(7, 200), 50);
        table.pass(1_000_000_000_000_000);
        assert_eq!(table.waited(7, 1_000_000_000_000_000), 0);
    }

    #[test]
    fn what_nobody_executes_is_not_ranked() {
        let mut table = WaitTable::new(0);
        table.enters(1, 0, 0);
        table.enters(2, 3, 0);
        table.enters(2, 1, 0);
        table.waits(2, 0);
        table.waits(3, 0);
        assert_eq!(table.ranked(10), [(2, 10, vec![1, 3]), (1, 0, vec![0])]);
        table.leaves_all(3);
        table.leaves(2, 1, 10);
        assert_eq!(table.ranked(10), [(1, 0, vec![0])]);
    }
}
