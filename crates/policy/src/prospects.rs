//! What making a thread faster would give, foreseen from a run in which nobody was.
//!
//! Criticality says whom others wait for. That is not yet what a faster clock would gain: memory takes as long as before, and
//! a thread beside which others run as long is hidden by them (paper, sections 5.1 and 5.2: Lu non-cont. with 16 threads, and
//! FMM). Both can be told from the same run. A thread's time from when it becomes active until it no longer is, a *spell*,
//! becomes shorter by a share of what is not waiting for memory. What it gains that way is a credit. While it is the only active
//! one the run becomes shorter by as much of the credit as it is alone; a wait takes from the credit, since the thread
//! would only have waited longer. Who has been woken and is not awake yet counts as active here, and as stalled: nobody waits
//! for others then, and no clock makes it shorter. That is ours, not the paper's; it changes nothing else about the run.

/// What was foreseen of a thread, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prospect {
    /// For how long it was active.
    pub active: u64,
    /// For how long no other thread was.
    pub alone: u64,
    /// What of its active time does not become shorter with a faster clock.
    pub stalled: u64,
    /// Its criticality without that of stalls: each spell counts with the share in which it was not stalled.
    pub scaling: f64,
    /// By how much the run would be shorter.
    pub saved: f64,
}

#[derive(Clone, Copy, Debug)]
struct Spell {
    begin: u64,
    shared: f64,
    alone: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    spell: Option<Spell>,
    /// When the last spell ended.
    ended: u64,
    /// Of this spell.
    stalled: u64,
    credit: f64,
    found: Prospect,
}

/// Watches a run. Each change costs the same, however many threads there are.
#[derive(Clone, Debug, Default)]
pub struct Prospects {
    /// By which share of itself a time becomes shorter that is none of stalls.
    shortened: f64,
    at: u64,
    active: u32,
    /// The criticality of a thread that had been active from the beginning on.
    shared: f64,
    /// For how long just one thread was active.
    alone: u64,
    threads: Vec<Thread>,
}

impl Prospects {
    /// For a clock that is so many times as fast.
    pub fn new(ratio: f64) -> Self {
        Self { shortened: 1.0 - 1.0 / ratio.max(1.0), ..Self::default() }
    }

    /// The thread does useful work from now on, or no longer. Times must not decrease from call to call.
    pub fn set_active(&mut self, thread: u32, now: u64, is_active: bool) {
        let length = now.saturating_sub(self.at);
        self.at += length;
        if self.active > 0 {
            self.shared += length as f64 / f64::from(self.active);
        }
        if self.active == 1 {
            self.alone += length;
        }
        let spell = Spell { begin: self.at, shared: self.shared, alone: self.alone };
        let shortened = self.shortened;
        let thread = self.thread(thread);
        match (thread.spell, is_active) {
            (None, true) => {
                thread.credit = (thread.credit - spell.begin.saturating_sub(thread.ended) as f64).max(0.0);
                thread.spell = Some(spell);
                self.active += 1;
            }
            (Some(begun), false) => {
                thread.end(begun, spell, shortened);
                self.active -= 1;
            }
            _ => {}
        }
    }

    /// So much of a thread's current spell was stalled.
    pub fn stalled(&mut self, thread: u32, ticks: u64) {
        self.thread(thread).stalled += ticks;
    }

    /// What came of it for so many threads; the run ends.
    pub fn finish(mut self, now: u64, threads: usize) -> Vec<Prospect> {
        for thread in 0..self.threads.len() as u32 {
            self.set_active(thread, now, false);
        }
        self.threads.resize(self.threads.len().max(threads), Thread::default());
        self.threads.into_iter().map(|thread| thread.found).collect()
    }

    fn thread(&mut self, index: u32) -> &mut Thread {
        let index = index as usize;
        if self.threads.len() <= index {
            self.threads.resize(index + 1, Thread::default());
        }
        &mut self.threads[index]
    }
}

impl Thread {
    fn end(&mut self, begun: Spell, ended: Spell, shortened: f64) {
        let length = ended.begin - begun.begin;
        let alone = ended.alone - begun.alone;
        let stalled = std::mem::take(&mut self.stalled).min(length);
        let scales = (length - stalled) as f64;
        self.credit += shortened * scales;
        let saved = self.credit.min(alone as f64);
        self.credit -= saved;
        self.found.saved += saved;
        self.found.active += length;
        self.found.alone += alone;
        self.found.stalled += stalled;
        self.found.scaling += (ended.shared - begun.shared) * scales / (length.max(1)) as f64;
        (self.spell, self.ended) = (None, ended.begin);
    }
}

#[cfg(test)]
mod tests {
    use super::{Prospect, Prospects};

    /// Threads that begin together and end after so many ticks, so often.
    fn barriers(lengths: &[u64], times: u64, ratio: f64) -> Vec<Prospect> {
        let mut prospects = Prospects::new(ratio);
        let longest = lengths.iter().copied().max().unwrap_or(0);
        for round in 0..times {
            let begin = round * longest;
            (0..lengths.len() as u32).for_each(|thread| prospects.set_active(thread, begin, true));
            let mut ends: Vec<(u64, u32)> = lengths.iter().copied().zip(0..).collect();
            ends.sort_unstable();
            ends.iter().for_each(|&(end, thread)| prospects.set_active(thread, begin + end, false));
        }
        prospects.finish(times * longest, lengths.len())
    }

    fn saved(lengths: &[u64], ratio: f64) -> Vec<u64> {
        barriers(lengths, 10, ratio).iter().map(|found| found.saved.round() as u64).collect()
    }

    #[test]
    fn who_works_alone_gains_all_that_a_faster_clock_gives() {
        assert_eq!(saved(&[1000, 0], 1.25), [2000, 0]);
    }

    #[test]
    fn who_is_a_little_late_gains_no_more_than_the_others_wait() {
        assert_eq!(saved(&[1000, 1100, 1000], 1.25), [0, 1000, 0]);
        assert_eq!(saved(&[1000, 1500, 1000], 1.25), [0, 3000, 0]);
    }

    #[test]
    fn two_that_are_equally_late_hide_each_other() {
        assert_eq!(saved(&[500, 1000, 1000], 1.25), [0, 0, 0]);
    }

    #[test]
    fn what_waits_for_memory_gains_nothing() {
        let mut prospects = Prospects::new(2.0);
        prospects.set_active(0, 0, true);
        prospects.stalled(0, 900);
        prospects.set_active(0, 1000, false);
        let found = prospects.finish(1000, 1);
        assert_eq!((found[0].saved, found[0].stalled, found[0].scaling), (50.0, 900, 100.0));
    }

    #[test]
    fn the_criticality_of_spells_is_that_of_the_unit() {
        let found = barriers(&[500, 1000, 1000], 1, 1.25);
        let third = 500.0 / 3.0;
        for (thread, expected) in [(0, third), (1, third + 250.0), (2, third + 250.0)] {
            assert!((found[thread].scaling - expected).abs() < 1e-9);
        }
    }

    #[test]
    fn short_waits_for_locks_keep_what_was_gained_before_a_barrier() {
        let mut prospects = Prospects::new(2.0);
        prospects.set_active(1, 0, true);
        for begin in [0, 110, 220] {
            prospects.set_active(0, begin, true);
            prospects.set_active(0, begin + 100, false);
        }
        prospects.set_active(1, 320, false);
        prospects.set_active(0, 321, true);
        prospects.set_active(0, 421, false);
        let found = prospects.finish(421, 2);
        // Three times 50, less two waits of 10 and one of 1, and the 50 of the spell in which it is alone, which is 100 long.
        assert_eq!(found[0].saved, 100.0);
    }
}
