//! How much may be replayed.

use holdup_model::Nanos;

/// A number of events ([`crate::Replayed::events`]) that replays may have together. It depends on the recording alone and never on a
/// clock, so that the same recording has the same answer on every machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Budget {
    left: u64,
}

/// An event takes about so long (ns): see docs/performance.md.
const EVENT: u64 = 25;
/// What the answer may take, besides a share of the run (ns)...
const AT_LEAST: u64 = 1_000_000_000;
/// ...which is one part of so many.
const PART_OF_RUN: u64 = 20;
/// On so many cores.
const CORES: u64 = 2;
/// A replay with changes has at most so many times as many events as one without them.
const TIMES: u64 = 4;
/// Which is no limit for short ones.
const SHORT: u64 = 100_000;

impl Budget {
    /// What two cores do in a second and a twentieth of a run of this length.
    pub fn of_run(wall: Nanos) -> Self {
        Self::of_events((AT_LEAST + wall.get() / PART_OF_RUN) / EVENT * CORES)
    }

    /// So many events.
    pub fn of_events(events: u64) -> Self {
        Self { left: events }
    }

    /// As much as is asked for.
    pub fn unlimited() -> Self {
        Self { left: u64::MAX }
    }

    /// So many times as much.
    pub fn times(&self, times: u64) -> Self {
        Self { left: self.left.saturating_mul(times) }
    }

    /// What one replay may have where the unchanged one had so many.
    pub(crate) fn of_one(&self, unchanged: u64) -> u64 {
        if self.left == u64::MAX {
            return u64::MAX;
        }
        unchanged.saturating_mul(TIMES).saturating_add(SHORT)
    }

    /// How many replays like the unchanged one there may still be.
    pub(crate) fn replays(&self, unchanged: u64) -> usize {
        usize::try_from(self.left / unchanged.max(1)).unwrap_or(usize::MAX)
    }

    pub(crate) fn spend(&mut self, events: u64) {
        if self.left != u64::MAX {
            self.left = self.left.saturating_sub(events);
        }
    }
}
