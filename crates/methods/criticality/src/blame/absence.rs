//! Places for working threads that nobody takes, and what of them and of waiting threads is no loss, as there are not so many cores.

use holdup_model::{Nanos, Process, Segment, State, ThreadId, Time};

use super::chain::Root;
use super::{ABSENT, Pass};

/// A = ∫ absent / present dt (ns), apart by whether a thread waits for another's end meanwhile: if so, threads
/// have ended, else they have not started.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Absence {
    pub(super) ended: Nanos,
    pub(super) not_started: Nanos,
}

impl Absence {
    pub(super) fn since(self, earlier: Absence) -> Absence {
        Absence { ended: self.ended - earlier.ended, not_started: self.not_started - earlier.not_started }
    }
}

/// By thread, when it was last seen to leave a core.
pub(super) fn last_on_core(process: &Process) -> Vec<Time> {
    let mut last = vec![Time::from_nanos(0); process.threads.len()];
    for span in &process.on_core {
        let last = &mut last[span.thread.index()];
        *last = span.end.max(*last);
    }
    last
}

impl Pass<'_> {
    /// The part of so much time of a place without work that is no loss.
    ///
    /// Of n places, a of them at work on c < n cores, n − a are without work, but only c − a more could be at work. So the run
    /// loses (c − a) / c of its time, which is n (c − a) / c of the places' time: of each place without work n (c − a) / (c (n − a)),
    /// and the rest, a (n − c) / (c (n − a)), is spared. With a core for each place that is nothing; while all cores work, it is
    /// everything.
    pub(super) fn spared_of(&self, length: Nanos) -> Nanos {
        let cores = self.working.cores;
        let places = self.working.at_once.max(self.places_taken);
        if cores == 0 || places <= cores {
            return Nanos::ZERO;
        }
        let active = self.known_active.min(cores);
        let [spared, all] =
            [(active, places - cores), (cores, places - active)].map(|(a, b)| u128::from(a) * u128::from(b));
        Nanos::new((u128::from(length.get()) * spared / all) as u64)
    }

    /// Charges the time up to `time` of places that nobody takes to those that are there.
    ///
    /// While there are fewer threads than cores, to each an equal share. Else they could use all cores, if they did not wait: then
    /// to those that do, and if it is not known for whom they wait, nobody is missed.
    pub(super) fn advance_absence(&mut self, time: Time) {
        let length = time.since(self.now);
        let absent = self.working.at_once.saturating_sub(self.places_taken);
        if absent == 0 || self.places_taken == 0 {
            return;
        }
        let cores = self.working.cores;
        let could_use_all = cores > 0 && self.places_taken >= cores && self.working.at_once > cores;
        if could_use_all && self.resting == 0 {
            self.blame.beyond_cores += Nanos::new(u64::from(absent) * length.get());
            return;
        }
        // Who waits for what it gave to others is not missed; but where it gave all to one, the two of them never work together.
        let not_missed = match self.joining {
            1.. if self.giving > 0 && self.places_taken > 1 => absent.saturating_sub(self.ended_meanwhile),
            _ => 0,
        };
        let missed = u64::from(absent - not_missed);
        let spared = missed * self.spared_of(length).get();
        self.blame.spare += Nanos::new(u64::from(not_missed) * length.get());
        self.blame.beyond_cores += Nanos::new(spared);
        let lost = missed * length.get() - spared;
        if lost == 0 {
            return;
        }
        let present = u64::from(if could_use_all { self.resting } else { self.places_taken });
        let all = lost + self.absence_left;
        self.absence_left = all % present;
        let is_ended = self.joining > 0;
        if is_ended {
            self.times.ended(self.now, time);
        }
        let of_others = (!could_use_all).then_some(&mut self.absence_of_others);
        for absence in [Some(&mut self.absence), of_others].into_iter().flatten() {
            let absence = if is_ended { &mut absence.ended } else { &mut absence.not_started };
            *absence += Nanos::new(all / present);
        }
    }

    /// True if the thread is active, and that is known: where a recording or a process was cut off, what a thread did after the last
    /// that is known of it may have been a wait of which nothing came to be recorded.
    pub(super) fn is_known_to_work(&self, thread: ThreadId, segment: &Segment) -> bool {
        let facts = self.process.thread(thread);
        let is_last = segment.end >= facts.end.unwrap_or(self.process.end);
        let is_cut_off = is_last && facts.cpu.is_none() && self.last_on_core[thread.index()] <= segment.start;
        segment.state == State::Active && !is_cut_off
    }

    /// To be called when a thread has begun something else.
    pub(super) fn set_rests(&mut self, thread: ThreadId) {
        let doing = &mut self.doing[thread.index()];
        let is_resting = doing.queue.is_some() || matches!(doing.state, Some(State::Io | State::Asleep));
        let rests = doing.takes_place && is_resting;
        self.resting = self.resting + u32::from(rests) - u32::from(doing.rests);
        doing.rests = rests;
        doing.absence = if rests { self.absence } else { self.absence_of_others };
    }

    /// Charges a thread that waits for nobody with its share of what absent threads lost since it was charged
    /// the last time. To be called before its state changes.
    pub(super) fn charge_own_share(&mut self, thread: ThreadId) {
        let doing = &mut self.doing[thread.index()];
        let absence = if doing.rests { self.absence } else { self.absence_of_others };
        let absent = absence.since(doing.absence);
        doing.absence = absence;
        let Some(state) = doing.state.filter(|_| doing.takes_place && doing.queue.is_none()) else { return };
        let root = |object| Root { object, thread: Some(thread), state, is_apart: doing.is_apart };
        let (ended, not_started) = (root(self.ends[thread.index()]), root(None));
        self.charge_root(&ended, None, absent.ended);
        self.charge_root(&not_started, None, absent.not_started);
    }

    /// All places wait for the main thread where nobody takes one.
    pub(super) fn set_absent(&mut self) {
        let absent = if self.places_taken == 0 { self.working.at_once } else { 0 };
        self.repoint(ABSENT, |queue| queue.working = absent);
    }
}
