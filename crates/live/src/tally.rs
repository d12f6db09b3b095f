//! What one thread of a process that is followed has had: its criticality, and the time for which it was active.

use holdup_model::{Course, Gained, from_fixed, share};

/// What one thread has had, told change by change.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    gained: Gained,
    /// When it became active, while it is.
    since_ns: u64,
    active_ns: u64,
    changes: u64,
}

impl Tally {
    /// The thread does useful work from now on, or no longer. What it does already is no change.
    pub(crate) fn set_active(&mut self, course: &mut Course, now_ns: u64, is_active: bool) {
        self.changes += u64::from(self.put(course, now_ns, is_active));
    }

    /// As [`Tally::set_active`], where only what is known of the thread changes, not what it does. Says whether it did.
    pub(crate) fn put(&mut self, course: &mut Course, now_ns: u64, is_active: bool) -> bool {
        course.advance(now_ns);
        let changes = self.gained.set_active(course, is_active);
        match (changes, is_active) {
            (true, true) => self.since_ns = course.at(),
            (true, false) => self.active_ns += course.at() - self.since_ns,
            (false, _) => {}
        }
        changes
    }

    /// Criticality and active time up to now, in ns.
    pub(crate) fn read(&self, course: &mut Course, now_ns: u64) -> (u64, u64) {
        course.advance(now_ns);
        let active_ns = if self.is_active() { course.at() - self.since_ns } else { 0 };
        (from_fixed(self.gained.so_far(course)) as u64, self.active_ns + active_ns)
    }

    pub(crate) fn is_active(&self) -> bool {
        self.gained.is_active()
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// What was found out in another way than by changes: so much time, in which so many threads were active.
    pub(crate) fn add_look(&mut self, length_ns: u64, active: u32) {
        self.gained.add(share(length_ns, active.max(1)));
    }

    /// As [`Tally::add_look`], of its active time and its changes.
    pub(crate) fn add_counted(&mut self, active_ns: u64, changes: u64) {
        self.active_ns += active_ns;
        self.changes += changes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criticality_and_active_time_grow_while_it_is_active() {
        let mut course = Course::new(100);
        let mut tallies = [Tally::default(); 2];
        tallies[0].set_active(&mut course, 100, true);
        tallies[1].set_active(&mut course, 110, true);
        tallies[1].set_active(&mut course, 110, true);
        tallies[1].set_active(&mut course, 130, false);
        assert_eq!(tallies[0].read(&mut course, 140), (30, 40), "10 alone, 20 of two, 10 alone");
        assert_eq!(tallies[1].read(&mut course, 150), (10, 20));
        assert_eq!(tallies.map(|tally| tally.changes()), [1, 2]);
    }

    #[test]
    fn what_was_found_out_otherwise_is_added() {
        let (mut course, mut tally) = (Course::new(0), Tally::default());
        tally.add_look(90, 3);
        tally.add_counted(60, 4);
        assert!(tally.put(&mut course, 10, true));
        assert_eq!((tally.read(&mut course, 20), tally.changes()), ((40, 70), 4));
    }
}
