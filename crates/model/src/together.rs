//! What there is at the same time.

use crate::{Nanos, ThreadId, Time, Timeline};

/// Threads that are there by themselves for this share of their lives are not there together.
const ALONE: f64 = 0.9;

/// How many of these stretches (begin, end) there are at the same time, at most: one that begins when another ends is not beside it.
pub fn most_at_once<T: Ord>(stretches: impl Iterator<Item = (T, T)>) -> usize {
    let mut changes: Vec<(T, i64)> = stretches.flat_map(|(begin, end)| [(begin, 1), (end, -1)]).collect();
    changes.sort_unstable();
    let mut now = 0i64;
    let at_once = changes.iter().map(|(_, change)| {
        now += change;
        now
    });
    at_once.max().unwrap_or(0).max(0) as usize
}

impl Timeline {
    /// How many of these threads live at the same time, at most.
    pub fn most_at_once(&self, threads: &[ThreadId]) -> usize {
        most_at_once(threads.iter().map(|&thread| self.life(thread)))
    }

    /// True if some of these threads live at the same time, for more than a small part of their lives: else none of them can do what
    /// is another's.
    pub fn are_there_together(&self, threads: &[ThreadId]) -> bool {
        let mut lives: Vec<(Time, Time)> = threads.iter().map(|&thread| self.life(thread)).collect();
        lives.sort_unstable();
        let (mut all, mut alone, mut until) = (Nanos::ZERO, Nanos::ZERO, Time::default());
        for (start, end) in lives {
            all += end.since(start);
            alone += end.since(start.max(until).min(end));
            until = until.max(end);
        }
        alone.share_of(all) < ALONE
    }

    fn life(&self, thread: ThreadId) -> (Time, Time) {
        let row = self.row(thread);
        (row.start, row.end)
    }
}

#[cfg(test)]
mod tests {
    use super::most_at_once;

    #[test]
    fn one_that_begins_when_another_ends_is_not_beside_it() {
        assert_eq!(most_at_once([(0, 4), (4, 6), (6, 9)].into_iter()), 1);
        assert_eq!(most_at_once([(5, 9), (0, 6), (3, 4), (5, 7)].into_iter()), 3);
        assert_eq!(most_at_once(std::iter::empty::<(u64, u64)>()), 0);
    }
}
