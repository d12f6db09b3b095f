//! How often a thread records what happens all the time.

use core::cell::Cell;

use crate::life;

/// So many events in so long on average, and some more at once. All zero is its first state: all is saved up.
pub struct Allowance {
    /// Up to when (ticks) it has been used up.
    used: Cell<u64>,
}

impl Allowance {
    /// Takes one event out of it, of which there is one each `period` (µs) and as many at once as there are in `burst` (µs); false
    /// if there is none left `now`.
    pub(crate) fn take(&self, now: u64, period: u64, burst: u64) -> bool {
        let saved = now.saturating_sub(life::ticks_of_micros(burst));
        let until = self.used.get().max(saved) + life::ticks_of_micros(period);
        if until > now {
            return false;
        }
        self.used.set(until);
        true
    }
}
