//! How often a thread records what happens all the time.

use core::cell::Cell;

use crate::life;

/// So many events in so long on average, and some more at once. All zero is its first state: all is saved up.
#[repr(transparent)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_up_goes_at_once_and_then_one_in_each_period() {
        let allowance = Allowance { used: Cell::new(0) };
        let (period, burst) = (10, 100);
        let at = |micros: u64| life::ticks_of_micros(1_000_000 + micros);
        let taken = |from: u64, to: u64| {
            (from..to).filter(|micros| allowance.take(at(*micros), period, burst)).count()
        };
        assert_eq!((0..50).filter(|_| allowance.take(at(0), period, burst)).count(), 10);
        assert_eq!(taken(1, 101), 10);
        // A pause saves up no more than the burst.
        assert_eq!((0..50).filter(|_| allowance.take(at(5000), period, burst)).count(), 10);
    }
}
