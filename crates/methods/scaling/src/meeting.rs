//! Meetings of a team, and the time that threads lose at them (paper 5, section 3.3).
//!
//! Threads leave one point of synchronization, go their *legs* and arrive at the next. All times here are thread-time:
//! nanoseconds of all threads together, so that the parts of a meeting add up exactly.

/// What one thread did from one point of synchronization to the next, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Leg {
    /// When it left the last one.
    pub(super) start: u64,
    /// When it arrived at the next; not before `start`.
    pub(super) arrival: u64,
    /// How long of that it could have run and had no core.
    pub(super) off_core: u64,
    /// How long of the rest it did what only one thread of the team does.
    pub(super) alone: u64,
}

impl Leg {
    pub(super) fn length(&self) -> u64 {
        self.arrival.saturating_sub(self.start)
    }

    pub(super) fn on_core(&self) -> u64 {
        self.length().saturating_sub(self.off_core)
    }

    fn shared(&self) -> u64 {
        self.on_core().saturating_sub(self.alone)
    }
}

/// Where the time goes that threads wait for the last one to arrive, that they left the last meeting late, and that they
/// had no core: thread-time (ns).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Split {
    /// Some left the last meeting late, and therefore all have to wait here: blamed on that meeting.
    pub(super) startup: u64,
    /// Some had no core for a while.
    pub(super) oversubscription: u64,
    /// One thread did what only one may do.
    pub(super) serial: u64,
    /// The threads' work differs.
    pub(super) imbalance: u64,
}

impl Split {
    /// With m threads that leave d after the first one and then go legs of length w, of which c on a core, the last
    /// one arrives max(d + w) after the first has left. Had none left late that were max w, and with a core for each
    /// max c. So
    ///
    /// - startup = m (max(d + w) − max w): a late thread that has less to do delays nobody;
    /// - oversubscription = m (max w − max c);
    /// - imbalance and serial = m max c − Σ c: the paper's "difference between the average time and the maximum";
    ///
    /// which together are what all waited, were late and had no core: m max(d + w) − Σ c.
    pub(super) fn of(legs: &[Leg]) -> Split {
        let threads = legs.len() as u64;
        let first = legs.iter().map(|leg| leg.start).min().unwrap_or(0);
        let longest = |length: fn(&Leg) -> u64| legs.iter().map(length).max().unwrap_or(0);
        let last = longest(|leg| leg.start.max(leg.arrival)).saturating_sub(first);
        let (length, on_core, shared) = (longest(Leg::length), longest(Leg::on_core), longest(Leg::shared));
        let uneven =
            |longest: u64, of: fn(&Leg) -> u64| (threads * longest).saturating_sub(legs.iter().map(of).sum());
        let all = uneven(on_core, Leg::on_core);
        // If the one who works alone has so little else to do that it delays nobody, the rest is less even than all is.
        let imbalance = uneven(shared, Leg::shared).min(all);
        Split {
            startup: threads * last.saturating_sub(length),
            oversubscription: threads * length.saturating_sub(on_core),
            serial: all - imbalance,
            imbalance,
        }
    }

    /// The same where the work of the legs is dealt out as threads become free: what a late thread did not take, others do.
    ///
    /// So with T = max(d + w), the time to the last arrival, what is lost is m T − Σ c, and
    ///
    /// - oversubscription = Σ (w − c), and as much of what follows as makes (m − `cores`) T of it: no more than that many threads
    ///   work at a time (`cores` 0: not known);
    /// - startup = Σ d, however much others had to do;
    /// - imbalance = Σ (T − d − w): waiting for the last piece.
    pub(super) fn of_dealt(legs: &[Leg], cores: u32) -> Split {
        let first = legs.iter().map(|leg| leg.start).min().unwrap_or(0);
        let last = legs.iter().map(|leg| leg.start.max(leg.arrival)).max().unwrap_or(0);
        let sum = |of: fn(&Leg) -> u64| legs.iter().map(of).sum::<u64>();
        let mut split = Split {
            startup: legs.iter().map(|leg| leg.start - first).sum(),
            oversubscription: sum(|leg| leg.off_core),
            serial: 0,
            imbalance: legs.iter().map(|leg| last - leg.start.max(leg.arrival)).sum(),
        };
        let beyond = if cores == 0 { 0 } else { (legs.len() as u64).saturating_sub(cores.into()) };
        let mut lacking = (beyond * (last - first)).saturating_sub(split.oversubscription);
        for part in [&mut split.startup, &mut split.imbalance] {
            let taken = lacking.min(*part);
            *part -= taken;
            lacking -= taken;
            split.oversubscription += taken;
        }
        split
    }

    #[cfg(test)]
    pub(super) fn total(&self) -> u64 {
        self.startup + self.oversubscription + self.serial + self.imbalance
    }
}

/// One thread at a meeting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Visit {
    pub(super) arrival: u64,
    /// When it had executed its last task there; its arrival if it executed none.
    pub(super) idle_from: u64,
    pub(super) leave: u64,
    /// Time in tasks that it executed there.
    pub(super) tasks: u64,
}

/// Arrivals and departures of all threads of a team.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Phases {
    /// The last arrival; where tasks are executed, the end of the last of them.
    pub(super) complete: u64,
    /// When the first one left.
    pub(super) first_leave: u64,
}

impl Phases {
    /// `None` where somebody left before all had arrived: that is no meeting.
    pub(super) fn of(visits: &[Visit]) -> Option<Phases> {
        let complete = visits.iter().map(|visit| visit.arrival.max(visit.idle_from)).max()?;
        let first_leave = visits.iter().map(|visit| visit.leave).min()?;
        (complete <= first_leave).then_some(Phases { complete, first_leave })
    }

    /// All have arrived and none has left: the length of that.
    pub(super) fn walkthrough(&self) -> u64 {
        self.first_leave - self.complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn leg(start: u64, arrival: u64) -> Leg {
        Leg { start, arrival, ..Leg::default() }
    }

    #[test]
    fn uneven_work_is_imbalance() {
        let split = Split::of(&[leg(10, 20), leg(10, 40), leg(10, 30)]);
        assert_eq!(split, Split { imbalance: 30, ..Split::default() });
    }

    #[test]
    fn a_late_release_is_blamed_on_the_meeting_before() {
        // Equal work; one thread left 7 late, and all wait for it.
        let split = Split::of(&[leg(100, 150), leg(107, 157), leg(100, 150)]);
        assert_eq!(split, Split { startup: 3 * 7, ..Split::default() });
        // It has less to do: its lateness delays nobody.
        let split = Split::of(&[leg(100, 150), leg(107, 140), leg(100, 150)]);
        assert_eq!(split, Split { imbalance: 17, ..Split::default() });
    }

    #[test]
    fn no_core_is_not_imbalance() {
        let legs = [leg(0, 50), Leg { off_core: 50, ..leg(0, 100) }];
        assert_eq!(Split::of(&legs), Split { oversubscription: 100, ..Split::default() });
    }

    #[test]
    fn what_one_does_alone_is_serial() {
        let legs = [Leg { alone: 30, ..leg(0, 80) }, leg(0, 50), leg(0, 40)];
        assert_eq!(Split::of(&legs), Split { serial: 60, imbalance: 10, ..Split::default() });
        // Who works alone has so much less to do otherwise that nobody waits for it.
        let legs = [Leg { alone: 30, ..leg(0, 40) }, leg(0, 50), leg(0, 50)];
        assert_eq!(Split::of(&legs), Split { imbalance: 10, ..Split::default() });
    }

    #[test]
    fn who_comes_late_to_work_that_is_dealt_out_is_not_uneven() {
        // Two work; the others come when nothing is left, late.
        let legs = [leg(0, 90), leg(10, 100), leg(80, 80), leg(95, 95)];
        assert_eq!(Split::of(&legs).imbalance, 4 * 90 - 180);
        let split = Split::of_dealt(&legs, 4);
        assert_eq!(split, Split { startup: 185, imbalance: 10 + 20 + 5, ..Split::default() });
        // On two cores they could not have worked any earlier.
        let split = Split::of_dealt(&legs, 2);
        assert_eq!(split, Split { oversubscription: 200, imbalance: 20, ..Split::default() });
        assert_eq!(Split::of_dealt(&legs, 0), Split::of_dealt(&legs, 4));
    }

    prop_compose! {
        fn any_leg()(start in 0..1_000u64, length in 0..1_000u64, off in 0..1_000u64, alone in 0..1_000u64) -> Leg {
            let off_core = off.min(length);
            Leg { start, arrival: start + length, off_core, alone: alone.min(length - off_core) }
        }
    }

    proptest! {
        #[test]
        fn parts_are_all_that_was_waited(legs in proptest::collection::vec(any_leg(), 1..9), walk in 0..50u64,
                                         late in proptest::collection::vec(0..50u64, 8), cores in 0..9u32) {
            let threads = legs.len() as u64;
            let first = legs.iter().map(|leg| leg.start).min().unwrap();
            let last = legs.iter().map(|leg| leg.arrival).max().unwrap();
            let waited: u64 = legs.iter().map(|leg| last - leg.arrival).sum();
            let were_late: u64 = legs.iter().map(|leg| leg.start - first).sum();
            let off: u64 = legs.iter().map(|leg| leg.off_core).sum();
            prop_assert_eq!(Split::of(&legs).total(), waited + were_late + off);
            prop_assert_eq!(Split::of_dealt(&legs, cores).total(), waited + were_late + off);
            // Then the meeting itself: arrival to leaving is waiting for the last, walkthrough, and leaving late.
            let visits: Vec<Visit> = legs.iter().zip(&late).map(|(leg, late)| Visit {
                arrival: leg.arrival, idle_from: leg.arrival, leave: last + walk + late, tasks: 0,
            }).collect();
            let phases = Phases::of(&visits).unwrap();
            let startup: u64 = visits.iter().map(|visit| visit.leave - phases.first_leave).sum();
            let there: u64 = visits.iter().map(|visit| visit.leave - visit.arrival).sum();
            prop_assert_eq!(waited + threads * phases.walkthrough() + startup, there);
        }
    }
}
