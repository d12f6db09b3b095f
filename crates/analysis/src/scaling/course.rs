//! How long each thread was kept from working between any two moments, and by what.

use holdup_model::{ObjectKind, Process, Segment, State, Time, Timeline};

/// What keeps a thread from working.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hindrance {
    /// It could run and had no core.
    OffCore,
    /// Another thread has a lock that is not OpenMP's.
    Lock,
    /// Such a lock was given to it, and it does not run yet.
    Handover,
    /// Another thread has a lock of OpenMP's. Not all of these waits are told: [`holdup_model::openmp::Acquires`] has
    /// their sum.
    OmpLock,
    /// Such a lock was given to it, and it does not run yet.
    OmpHandover,
    /// Its turn at an `ordered` has not come.
    Ordered,
    /// It waits at a barrier, for its team or for tasks.
    Meeting,
    /// It waits for what another thread says: a condition, a semaphore, a futex; or spins.
    Condition,
    /// It waits for something else, or nothing is known.
    Outside,
}

const KINDS: usize = Hindrance::Outside as usize + 1;

/// Time by [`Hindrance`] (ns).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Hindered([u64; KINDS]);

impl Hindered {
    pub(super) fn by(&self, hindrance: Hindrance) -> u64 {
        self.0[hindrance as usize]
    }

    pub(super) fn add(&mut self, other: &Hindered) {
        for (sum, part) in self.0.iter_mut().zip(other.0) {
            *sum += part;
        }
    }

    /// This without another part of it.
    pub(super) fn without(&self, other: &Hindered) -> Hindered {
        let mut rest = *self;
        for (sum, part) in rest.0.iter_mut().zip(other.0) {
            *sum = sum.saturating_sub(part);
        }
        rest
    }

    /// The share `part` / `whole` of it.
    pub(super) fn share(&self, part: u64, whole: u64) -> Hindered {
        Hindered(self.0.map(|sum| scaled(sum, part.min(whole), whole)))
    }
}

fn scaled(value: u64, part: u64, whole: u64) -> u64 {
    (u128::from(value) * u128::from(part) / u128::from(whole.max(1))) as u64
}

/// One thread's hindrances as sums from its start.
struct Course {
    /// Where segments begin; the last one ends at the last entry.
    at: Vec<u64>,
    /// The sums at these moments.
    sums: Vec<Hindered>,
}

/// The courses of all threads of a process.
pub(super) struct Courses(Vec<Course>);

impl Courses {
    pub(super) fn of(process: &Process, timeline: &Timeline) -> Self {
        let course = |row: &holdup_model::Row| {
            let mut course = Course { at: vec![row.start.nanos()], sums: vec![Hindered::default()] };
            let mut sum = Hindered::default();
            for segment in &row.segments {
                if let Some((hindrance, time)) = hindrance(process, segment) {
                    sum.0[hindrance as usize] += time;
                }
                course.at.push(segment.end.nanos());
                course.sums.push(sum);
            }
            course
        };
        Self(timeline.threads.iter().map(course).collect())
    }

    /// What hindered the thread between two moments.
    pub(super) fn between(&self, thread: holdup_model::ThreadId, from: u64, to: u64) -> Hindered {
        let Some(course) = self.0.get(thread.index()).filter(|_| from < to) else {
            return Hindered::default();
        };
        course.until(to).without(&course.until(from))
    }
}

impl Course {
    fn until(&self, time: u64) -> Hindered {
        let after = self.at.partition_point(|&at| at <= time);
        let Some(before) = after.checked_sub(1) else { return Hindered::default() };
        let mut sum = self.sums[before];
        if let (Some(&end), Some(next)) = (self.at.get(after), self.sums.get(after)) {
            let start = self.at[before];
            sum.add(&next.without(&sum).share(time - start, end - start));
        }
        sum
    }
}

fn hindrance(process: &Process, segment: &Segment) -> Option<(Hindrance, u64)> {
    let kind = segment.object.map(|object| process.object(object).kind);
    let length = segment.length().get();
    let of_openmp = matches!(kind, Some(ObjectKind::Critical | ObjectKind::OmpLock));
    let hindrance = match (segment.state, kind) {
        (State::Active, _) => {
            let off = segment.cpu.map_or(0, |cpu| length.saturating_sub(cpu.get()));
            return (off > 0).then_some((Hindrance::OffCore, off));
        }
        (State::Descheduled, _) => Hindrance::OffCore,
        (State::Io | State::Asleep | State::NotRecorded, _) => Hindrance::Outside,
        (State::Waking, Some(kind)) if kind.is_lock() && of_openmp => Hindrance::OmpHandover,
        (State::Waking, Some(kind)) if kind.is_lock() => Hindrance::Handover,
        (_, Some(_)) if of_openmp => Hindrance::OmpLock,
        (_, Some(kind)) if kind.is_lock() => Hindrance::Lock,
        (_, Some(ObjectKind::Ordered)) => Hindrance::Ordered,
        (_, Some(ObjectKind::Barrier | ObjectKind::Team | ObjectKind::Tasks)) => Hindrance::Meeting,
        (_, Some(ObjectKind::ThreadEnd)) => Hindrance::Outside,
        (_, Some(_)) | (State::Spinning, None) => Hindrance::Condition,
        (State::Blocked | State::Waking, None) => Hindrance::Outside,
    };
    Some((hindrance, length))
}

/// The length of what two spans have in common.
pub(super) fn overlap(a: (u64, u64), b: (u64, u64)) -> u64 {
    a.1.min(b.1).saturating_sub(a.0.max(b.0))
}

/// A moment as a number.
pub(super) fn at(time: Time) -> u64 {
    time.nanos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdup_model::{Nanos, Row, ThreadId};

    #[test]
    fn hindrances_are_cut_at_any_moment() {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(100));
        let thread = process.add_thread("main", Time::from_nanos(0), None);
        let lock = process.add_object(ObjectKind::Mutex, 1);
        let segment = |start, end, state, object, cpu: Option<u64>| Segment {
            start: Time::from_nanos(start),
            end: Time::from_nanos(end),
            state,
            object,
            site: None,
            by: None,
            cpu: cpu.map(Nanos::new),
        };
        let segments = vec![
            segment(0, 40, State::Active, None, Some(20)),
            segment(40, 60, State::Blocked, Some(lock), None),
            segment(60, 100, State::Descheduled, None, None),
        ];
        let row = Row { start: Time::from_nanos(0), end: Time::from_nanos(100), segments };
        let timeline = Timeline {
            start: Time::from_nanos(0),
            end: Time::from_nanos(100),
            threads: vec![row],
            ..Timeline::default()
        };
        let courses = Courses::of(&process, &timeline);
        let between = courses.between(thread, 20, 70);
        assert_eq!(between.by(Hindrance::OffCore), 10 + 10);
        assert_eq!(between.by(Hindrance::Lock), 20);
        assert_eq!(courses.between(thread, 100, 400), Hindered::default());
        assert_eq!(courses.between(ThreadId::new(7), 0, 100), Hindered::default());
    }
}
