//! Data that is on its way: who uses it before it is there waits for the rest of the time.

use holdup_model::cycles::Level;

use super::hierarchy::Trip;

/// Lines on their way to one cache. More than that at once that have the same last bits are treated as arrived.
const AT_ONCE: usize = 64;

/// For the caches of a level, what is on its way to them.
pub(crate) struct Flights(Vec<Flight>);

#[derive(Clone, Copy, Default)]
struct Flight {
    line: u64,
    arrives: u64,
    by: Level,
    /// The bytes that were written meanwhile, as bits.
    written: u64,
}

impl Flights {
    /// For so many caches.
    pub(crate) fn new(caches: usize) -> Flights {
        Flights(vec![Flight::default(); caches * AT_ONCE])
    }

    fn slot(cache: u32, line: u64) -> usize {
        cache as usize * AT_ONCE + line as usize % AT_ONCE
    }

    /// The line of a trip arrives in a cache at the trip's end.
    pub(crate) fn expect(&mut self, cache: u32, trip: &Trip) {
        let arrives = trip.delay.began + trip.delay.cycles;
        self.0[Self::slot(cache, trip.line)] = Flight { line: trip.line, arrives, by: trip.by, written: 0 };
    }

    /// Bytes of a line are written while it is on its way.
    pub(crate) fn write(&mut self, cache: u32, line: u64, bytes: u64) {
        let flight = &mut self.0[Self::slot(cache, line)];
        if flight.line == line {
            flight.written |= bytes;
        }
    }

    /// True if all of these bytes were: a store buffer has them.
    pub(crate) fn has_written(&self, cache: u32, line: u64, bytes: u64) -> bool {
        let flight = &self.0[Self::slot(cache, line)];
        flight.line == line && bytes & !flight.written == 0
    }

    /// For how many cycles from now on a line is still on its way, and from where.
    pub(crate) fn rest(&self, cache: u32, line: u64, now: u64) -> Option<(u64, Level)> {
        let flight = &self.0[Self::slot(cache, line)];
        (flight.line == line && flight.arrives > now).then(|| (flight.arrives - now, flight.by))
    }

    /// When a line arrives, or arrived; 0 if that is not known any more.
    pub(crate) fn arrival(&self, cache: u32, line: u64) -> u64 {
        let flight = &self.0[Self::slot(cache, line)];
        if flight.line == line { flight.arrives } else { 0 }
    }

    /// A trip waits for its line where that is on its way to a cache.
    pub(crate) fn wait(&self, cache: u32, trip: &mut Trip) {
        let now = trip.delay.began + trip.delay.cycles;
        if let Some((cycles, by)) = self.rest(cache, trip.line, now) {
            trip.delay.cycles += cycles;
            trip.late = Some(by);
        }
    }
}
