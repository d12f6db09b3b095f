//! What a resource of limited bandwidth is booked for, by time.
//!
//! Cores are simulated in turn, some hundred cycles each, so that requests do not come in the order of their times. A
//! resource therefore has a ledger of short stretches of time and of how much of each is booked: a request takes what is
//! free from its own time on, in pieces if need be, and is late by when the last piece ends. So no order of requests can
//! book more than there is, and a request is not made to wait for one that comes later in simulated time.

/// Units of booked time in a cycle.
const UNITS: u64 = 1024;
/// How many stretches a ledger has. Those before are forgotten: they count as full. They reach from what the slowest core asks
/// for to what the last of a window full of loads that wait for each other does: some 100,000 cycles.
const STRETCHES: usize = 1 << 15;

/// The ledger of one resource.
pub(crate) struct Ledger {
    /// Units that a byte takes, times 2^16.
    per_byte: u64,
    /// log2 of the cycles of a stretch.
    width: u32,
    /// Units of a stretch.
    capacity: u64,
    stretches: Vec<Stretch>,
    /// The latest stretch that was looked at.
    latest: u64,
}

#[derive(Clone, Copy, Default)]
struct Stretch {
    /// Its number plus one; 0 for none yet.
    number: u64,
    /// Units that are booked.
    booked: u32,
    /// If it is full: none of the next ones before that distance are free.
    skip: u32,
}

impl Ledger {
    /// Of a resource that moves so many bytes each cycle (more than 0), in requests of about `usual` bytes.
    pub(crate) fn new(bandwidth: f64, usual: u32) -> Ledger {
        let service = f64::from(usual) / bandwidth;
        // About half of the usual service: exact enough, and a request touches few.
        let width = ((service / 2.0).max(1.0).log2() as u32).min(20);
        let per_byte = (UNITS as f64 * 65_536.0 / bandwidth).clamp(1.0, 1e15) as u64;
        Ledger {
            per_byte,
            width,
            capacity: UNITS << width,
            stretches: vec![Stretch::default(); STRETCHES],
            latest: 0,
        }
    }

    /// Units that so many bytes take.
    pub(crate) fn service(&self, bytes: u32) -> u64 {
        ((u128::from(self.per_byte) * u128::from(bytes)) >> 16) as u64
    }

    /// Books a request at a cycle; by how many cycles it ends later than on an idle resource.
    pub(crate) fn book(&mut self, cycle: u64, bytes: u32) -> u64 {
        let service = self.service(bytes);
        let mut rest = service;
        let mut number = (cycle >> self.width).max((self.latest + 1).saturating_sub(STRETCHES as u64));
        let at = cycle.saturating_mul(UNITS);
        let mut end = at;
        while rest > 0 {
            number = self.free_from(number);
            self.latest = self.latest.max(number);
            let stretch = &mut self.stretches[number as usize % STRETCHES];
            if stretch.number != number + 1 {
                *stretch = Stretch { number: number + 1, booked: 0, skip: 1 };
            }
            let taken = rest.min(self.capacity - u64::from(stretch.booked));
            stretch.booked += taken as u32;
            rest -= taken;
            end = (number * self.capacity).saturating_add(u64::from(stretch.booked));
        }
        end.saturating_sub(at + service) / UNITS
    }

    /// The first stretch from this one on that is not full.
    fn free_from(&mut self, first: u64) -> u64 {
        let mut free = first;
        while let Some(skip) = self.skip(free) {
            free += skip;
        }
        // Shorter ways for those who come next.
        let mut passed = first;
        while let Some(skip) = self.skip(passed) {
            self.stretches[passed as usize % STRETCHES].skip = (free - passed) as u32;
            passed += skip;
        }
        free
    }

    /// If this stretch is full, how far it is at least to one that is not.
    fn skip(&self, number: u64) -> Option<u64> {
        let stretch = &self.stretches[number as usize % STRETCHES];
        let is_full = stretch.number == number + 1 && u64::from(stretch.booked) >= self.capacity;
        is_full.then_some(u64::from(stretch.skip))
    }

    /// Units that are booked in what is not forgotten.
    #[cfg(test)]
    fn booked(&self) -> u64 {
        self.stretches.iter().map(|stretch| u64::from(stretch.booked)).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Ledger, UNITS};

    #[test]
    fn one_request_at_a_time_never_waits() {
        let mut ledger = Ledger::new(1.5, 64);
        assert!((0..100).all(|request| ledger.book(request * 50, 64) == 0));
    }

    #[test]
    fn requests_at_once_wait_for_each_other() {
        let mut ledger = Ledger::new(2.0, 64);
        let delays: Vec<u64> = (0..5).map(|_| ledger.book(1000, 64)).collect();
        // Cycle 1000 lies 8 cycles into a stretch of 16, whose beginning is free and counts as what is taken first.
        assert!(delays.windows(2).all(|pair| pair[1] - pair[0] == 32 || pair[0] == 0), "{delays:?}");
        assert!((112..=128).contains(&delays[4]), "{delays:?}");
    }

    #[test]
    fn a_saturated_resource_gives_its_bandwidth_and_no_more() {
        let mut ledger = Ledger::new(1.5, 64);
        let mut now = 0;
        for _ in 0..3000 {
            now += 10 + ledger.book(now, 64);
        }
        let ideal = 3000.0 * 64.0 / 1.5;
        // Each request is made 10 cycles after the one before began.
        assert!((now as f64 / ideal - 1.0).abs() < 0.01, "{now} cycles, {ideal} at full bandwidth");
    }

    #[test]
    fn an_early_request_does_not_wait_for_a_later_one() {
        let mut ledger = Ledger::new(1.0, 64);
        assert_eq!(ledger.book(10_000, 64), 0);
        assert_eq!(ledger.book(9_000, 64), 0);
    }

    #[test]
    fn a_backlog_longer_than_the_ledger_still_grows() {
        let mut ledger = Ledger::new(64.0, 64);
        let mut last = 0;
        for _ in 0..20_000 {
            last = ledger.book(0, 64);
        }
        assert!(last >= 19_900, "{last}");
    }

    proptest! {
        #[test]
        fn no_order_of_requests_books_more_than_there_is(
            requests in prop::collection::vec((0_u64..2000, 1_u32..200), 1..300),
            bandwidth in 0.5_f64..40.0,
        ) {
            let mut ledger = Ledger::new(bandwidth, 64);
            let mut sum = 0;
            for &(cycle, bytes) in &requests {
                sum += ledger.service(bytes);
                let delay = ledger.book(cycle, bytes);
                // Nothing waits longer than for all that was there before it.
                prop_assert!(delay <= sum / UNITS + (1 << ledger.width));
            }
            prop_assert!(ledger.booked() <= sum);
            prop_assert!(ledger.stretches.iter().all(|stretch| u64::from(stretch.booked) <= ledger.capacity));
        }
    }
}
