//! Time divided among the threads that are active in it: what every sum of criticality is made of.
//!
//! Source: Du Bois, Eyerman, Sartor, Eeckhout, "Criticality Stacks", ISCA'13, Eq. 1: while r threads are active, each of them
//! gets t / r of a time t. All active threads gain the same at any moment, so it is enough to know how much a thread would
//! have gained that had been active all the time, V = ∫ dt / r: what a thread gains while it is active is what V grows by.
//!
//! Sums are integers in units of 2^-64 of a unit of time: they do not depend on the order of threads or of changes, and a sum
//! of ten million parts is as exact as one. The only rounding is that of 1 / r to 64 binary digits, which is below r · 2^-64
//! of the time together. (The library in a measured program keeps the same in one word of shared memory, with fewer digits:
//! `holdup-trace`, `live.rs`.)

/// A part of a time, in units of 2^-64 of the unit in which times are told: ns, or the ticks of a simulation.
pub type Fixed = u128;

/// Binary digits after the point in [`Fixed`].
const FRACTION_BITS: u32 = 64;

/// As a number of units of time.
pub fn from_fixed(fixed: Fixed) -> f64 {
    fixed as f64 / (1u128 << FRACTION_BITS) as f64
}

/// A whole number of units of time.
pub fn to_fixed(time: u64) -> Fixed {
    Fixed::from(time) << FRACTION_BITS
}

/// What each of `active` threads gets of a time, which is t / r; nothing if there is none.
pub fn share(time: u64, active: u32) -> Fixed {
    (1u128 << FRACTION_BITS).checked_div(u128::from(active)).map_or(0, |one| u128::from(time) * one)
}

/// V = ∫ dt / r over the time in which r > 0 threads are active, told change by change.
#[derive(Clone, Copy, Debug, Default)]
pub struct Course {
    at: u64,
    v: Fixed,
    active: u32,
}

impl Course {
    /// Nobody is active at `at`.
    pub fn new(at: u64) -> Self {
        Self { at, v: 0, active: 0 }
    }

    /// Goes on to `now`, and gives how long that is. A time before the latest one counts as that.
    pub fn advance(&mut self, now: u64) -> u64 {
        let length = now.saturating_sub(self.at);
        self.at += length;
        self.v += share(length, self.active);
        length
    }

    /// One thread more is active from now on, or one less.
    pub fn change(&mut self, becomes_active: bool) {
        self.active = if becomes_active { self.active + 1 } else { self.active.saturating_sub(1) };
    }

    /// Until when it was told.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// V, up to now.
    pub fn v(&self) -> Fixed {
        self.v
    }

    /// V at `time`, if nothing changes until then; times before the latest one count as that.
    pub fn v_at(&self, time: u64) -> Fixed {
        self.v + share(time.saturating_sub(self.at), self.active)
    }

    /// r: how many threads are active.
    pub fn active(&self) -> u32 {
        self.active
    }
}

/// What one thread has gained of a [`Course`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Gained {
    total: Fixed,
    /// V when it became active, while it is.
    since: Option<Fixed>,
}

impl Gained {
    /// The thread is active from now on, or no longer. False if that is no change.
    pub fn set_active(&mut self, course: &mut Course, is_active: bool) -> bool {
        if self.is_active() == is_active {
            return false;
        }
        match self.since.take() {
            None => self.since = Some(course.v()),
            Some(since) => self.total += course.v() - since,
        }
        course.change(is_active);
        true
    }

    /// Whether the thread is active.
    pub fn is_active(&self) -> bool {
        self.since.is_some()
    }

    /// What it has had so far.
    pub fn so_far(&self, course: &Course) -> Fixed {
        self.total + self.since.map_or(0, |since| course.v() - since)
    }

    /// What it has had since the last time that this was asked; whether it is active stays as it is.
    pub fn take(&mut self, course: &Course) -> Fixed {
        let so_far = self.so_far(course);
        self.total = 0;
        self.since = self.since.map(|_| course.v());
        so_far
    }

    /// What was found out in another way than by changes.
    pub fn add(&mut self, part: Fixed) {
        self.total += part;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Eq. 1 by its words: each piece between two changes is divided among the active.
    fn by_definition(changes: &[(u64, usize, bool)], threads: usize, end: u64) -> Vec<Fixed> {
        let (mut gained, mut active, mut at) = (vec![0; threads], vec![false; threads], 0);
        for &(time, thread, is_active) in changes.iter().chain(&[(end, 0, false)]) {
            let number = active.iter().filter(|&&active| active).count() as u128;
            for (gained, _) in gained.iter_mut().zip(&active).filter(|(_, active)| **active) {
                *gained += u128::from(time - at) * ((1u128 << 64) / number);
            }
            at = time;
            active[thread] = is_active;
        }
        gained
    }

    #[test]
    fn each_moment_is_divided_among_the_active() {
        let (mut course, mut gained) = (Course::new(100), [Gained::default(); 2]);
        for (time, thread, is_active) in [(100, 0, true), (110, 1, true), (130, 1, false), (140, 1, false)] {
            course.advance(time);
            gained[thread].set_active(&mut course, is_active);
        }
        assert_eq!(
            gained.map(|one| from_fixed(one.so_far(&course))),
            [30.0, 10.0],
            "10 alone, 20 of two, 10 alone"
        );
        assert_eq!(from_fixed(course.v_at(150) - course.v()), 10.0);
        assert_eq!((course.active(), course.at()), (1, 140));
    }

    #[test]
    fn a_time_that_goes_back_counts_as_the_latest_one() {
        let (mut course, mut gained) = (Course::new(100), Gained::default());
        course.advance(120);
        gained.set_active(&mut course, true);
        assert_eq!(course.advance(90), 0);
        gained.set_active(&mut course, false);
        course.advance(130);
        assert_eq!(gained.so_far(&course), 0);
    }

    #[test]
    fn a_part_that_is_taken_is_not_had_again_and_whoever_is_active_stays_so() {
        let (mut course, mut gained) = (Course::new(0), Gained::default());
        assert!(gained.set_active(&mut course, true) && !gained.set_active(&mut course, true));
        course.advance(10);
        assert_eq!((from_fixed(gained.take(&course)), gained.so_far(&course)), (10.0, 0));
        course.advance(13);
        assert_eq!((from_fixed(gained.so_far(&course)), gained.is_active()), (3.0, true));
    }

    proptest! {
        #[test]
        fn it_is_what_the_definition_says(
            steps in prop::collection::vec((0u64..1_000_000, 0usize..6, any::<bool>()), 0..200),
        ) {
            let mut time = 0;
            let changes: Vec<_> = steps.iter().map(|&(step, thread, is_active)| {
                time += step;
                (time, thread, is_active)
            }).collect();
            let end = time + 1000;
            let (mut course, mut gained) = (Course::default(), [Gained::default(); 6]);
            for &(time, thread, is_active) in &changes {
                course.advance(time);
                gained[thread].set_active(&mut course, is_active);
            }
            course.advance(end);
            let found: Vec<Fixed> = gained.iter().map(|one| one.so_far(&course)).collect();
            prop_assert_eq!(found, by_definition(&changes, 6, end));
        }
    }
}
