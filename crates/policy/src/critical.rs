//! The paper's Algorithm 1: the most critical thread of a slice is fast in the next.

use crate::policy::{Moment, Policy, Slice};
use crate::ratio::Ratio;

/// What happens to the core of a fast thread that no longer runs (section 7, the first reactive rule).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScheduledOut {
    /// Nothing: it stays fast.
    Ignored,
    /// It is slow until the thread comes back.
    #[default]
    Pauses,
    /// It is slow, and the thread is no longer the accelerated one until a slice says so again.
    Ends,
}

/// What happens when only one thread runs, and that one is not accelerated (section 7, the second reactive rule). The paper says
/// that it is, not what becomes of the one that was before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Alone {
    /// Nothing.
    Ignored,
    /// It is fast as long as it is alone. If the accelerated threads pause meanwhile, they are fast again when they are back;
    /// else, or if there is room, it is accelerated itself.
    #[default]
    Guest,
    /// It takes the place of the least critical accelerated thread until a slice says something else.
    TakesOver,
}

/// The parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// α: a thread is accelerated when its criticality is more than so many times the smallest.
    pub alpha: Ratio,
    /// β: one that is accelerated is slowed down when its criticality is less than this share of the largest.
    pub beta: Ratio,
    /// So many threads are fast at once, at most.
    pub most: usize,
    /// The first reactive rule.
    pub scheduled_out: ScheduledOut,
    /// The second.
    pub alone: Alone,
}

impl Default for Rules {
    /// Those of the paper: α = 1.2, β = 0.8, one thread, both reactive rules.
    fn default() -> Self {
        Self {
            alpha: Ratio::thousandths(1200),
            beta: Ratio::thousandths(800),
            most: 1,
            scheduled_out: ScheduledOut::default(),
            alone: Alone::default(),
        }
    }
}

/// Algorithm 1.
///
/// With one thread at most it is the paper's. With more, every thread that is above α is accelerated, the most critical first,
/// and those that were and are not below β stay so while there is room.
#[derive(Clone, Debug)]
pub struct Critical {
    rules: Rules,
    /// The paper's f: the accelerated threads, the most critical first.
    accelerated: Vec<u32>,
    /// Those of them that are out.
    out: Vec<u32>,
    /// Who is fast as long as it is alone.
    guest: Option<u32>,
}

impl Critical {
    /// Nobody is accelerated yet.
    pub fn new(rules: Rules) -> Self {
        Self { rules, accelerated: Vec::new(), out: Vec::new(), guest: None }
    }

    /// The accelerated threads, also those that are out for now.
    pub fn accelerated(&self) -> &[u32] {
        &self.accelerated
    }
}

impl Policy for Critical {
    fn name(&self) -> &'static str {
        "dynamic"
    }

    fn decide(&mut self, slice: &Slice<'_>) {
        let mut ranked: Vec<(u32, u128)> = (0..)
            .zip(slice.threads)
            .filter(|(_, thread)| thread.lives)
            .map(|(index, thread)| (index, thread.criticality))
            .collect();
        // `maxindex` is the first of equals.
        ranked.sort_by_key(|&(index, criticality)| (std::cmp::Reverse(criticality), index));
        let largest = ranked.first().map_or(0, |found| found.1);
        // That a fast thread has little criticality is what made it fast; so the smallest is that of the others.
        let is_other =
            |index: &u32| !slice.threads[*index as usize].joins && !self.accelerated.contains(index);
        let others = ranked.iter().filter(|(index, _)| is_other(index));
        let smallest = others.map(|found| found.1).min();
        let is_critical =
            |criticality| smallest.is_some_and(|least| self.rules.alpha.is_exceeded(criticality, least));
        let mut next: Vec<u32> = ranked
            .iter()
            .filter(|found| is_critical(found.1))
            .map(|found| found.0)
            .take(self.rules.most)
            .collect();
        for &(index, criticality) in &ranked {
            let stays = self.accelerated.contains(&index) && !self.rules.beta.is_missed(criticality, largest);
            if stays && next.len() < self.rules.most && !next.contains(&index) {
                next.push(index);
            }
        }
        self.accelerated = next;
    }

    fn react(&mut self, moment: &Moment<'_>) {
        let rules = &self.rules;
        match rules.scheduled_out {
            ScheduledOut::Ignored => {}
            ScheduledOut::Pauses => {
                self.out =
                    self.accelerated.iter().copied().filter(|&thread| !moment.is_active(thread)).collect();
            }
            ScheduledOut::Ends => self.accelerated.retain(|&thread| moment.is_active(thread)),
        }
        self.guest = None;
        let alone = moment.alone().filter(|alone| rules.most > 0 && !self.accelerated.contains(alone));
        let Some(alone) = alone.filter(|_| rules.alone != Alone::Ignored) else { return };
        let pauses = rules.scheduled_out == ScheduledOut::Pauses && self.accelerated.len() >= rules.most;
        if rules.alone == Alone::Guest && pauses {
            self.guest = Some(alone);
            return;
        }
        // All the others are out; the least critical of them makes room.
        self.accelerated.truncate(rules.most - 1);
        self.accelerated.insert(0, alone);
    }

    fn is_fast(&self, thread: u32) -> bool {
        self.guest == Some(thread) || self.accelerated.contains(&thread) && !self.out.contains(&thread)
    }
}

#[cfg(test)]
#[path = "critical_tests.rs"]
mod tests;
