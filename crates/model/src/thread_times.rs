//! What a thread did, as the sums over its row of the timeline.

use crate::{Nanos, Row, State, Timeline};

/// What one thread did with the run: all parts but `delayed` add up to the wall time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadTimes {
    /// Active.
    pub active: Nanos,
    /// Blocked on a sync object until its logical wake.
    pub waiting: Nanos,
    /// Released, not yet running.
    pub waking: Nanos,
    /// In I/O.
    pub io: Nanos,
    /// Asleep.
    pub asleep: Nanos,
    /// Spinning.
    pub spinning: Nanos,
    /// Able to run and known to be without a core.
    pub descheduled: Nanos,
    /// Not recorded.
    pub not_recorded: Nanos,
    /// Before its start and after its end.
    pub not_existing: Nanos,
    /// Without a core though active: wall less CPU time in the active segments where both are known. Such time
    /// is a part of `active`.
    pub delayed: Nanos,
}

impl ThreadTimes {
    /// All of a thread's time in the run: the wall time.
    pub fn total(&self) -> Nanos {
        self.active
            + self.waiting
            + self.waking
            + self.io
            + self.asleep
            + self.spinning
            + self.descheduled
            + self.not_recorded
            + self.not_existing
    }

    /// What each thread did, by id.
    pub fn of_all(timeline: &Timeline) -> Vec<ThreadTimes> {
        timeline.threads.iter().map(|row| Self::of(row, timeline.wall())).collect()
    }

    fn of(row: &Row, wall: Nanos) -> ThreadTimes {
        let not_existing = wall.saturating_sub(row.end.since(row.start));
        let mut times = ThreadTimes { not_existing, ..ThreadTimes::default() };
        for segment in &row.segments {
            let length = segment.length();
            match segment.state {
                State::Active => {
                    times.active += length;
                    times.delayed += segment.delay();
                }
                State::Blocked => times.waiting += length,
                State::Io => times.io += length,
                State::Asleep => times.asleep += length,
                State::Spinning => times.spinning += length,
                State::Waking => times.waking += length,
                State::Descheduled => times.descheduled += length,
                State::NotRecorded => times.not_recorded += length,
            }
        }
        times
    }
}
