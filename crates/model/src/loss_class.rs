//! What a thread's time went to: one classification of the segments of a timeline, and its sums over time.

use crate::{Nanos, ObjectKind, Row, Segment, State, ThreadId, Timeline};

/// What a part of a thread's time went to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum LossClass {
    /// Work on a core.
    OnCore,
    /// Work of which it is not known how long the thread had a core.
    Work,
    /// It could run and had no core.
    OffCore,
    /// Another thread has a lock that is not OpenMP's.
    Lock,
    /// Such a lock was given to it, and it does not run yet.
    Handover,
    /// Another thread has a lock of OpenMP's, or the turn. Not all of these waits are told: [`crate::openmp::Acquires`] has their sum.
    OmpLock,
    /// Such a lock was given to it, and it does not run yet.
    OmpHandover,
    /// Its turn has not come: at an `ordered`, or where one thread initializes something.
    Turn,
    /// It waits at a barrier, for its team or for tasks.
    Meeting,
    /// It waits for the end of a thread.
    Join,
    /// It waits for what another thread says: a condition, a semaphore, a futex.
    Signal,
    /// It spins, for nobody knows what.
    Spin,
    /// Input and output.
    Io,
    /// It waits for time to pass.
    Sleep,
    /// Nothing is known.
    Unknown,
}

impl LossClass {
    /// All, in the order of [`ClassTimes`].
    pub const ALL: [LossClass; 15] = [
        LossClass::OnCore,
        LossClass::Work,
        LossClass::OffCore,
        LossClass::Lock,
        LossClass::Handover,
        LossClass::OmpLock,
        LossClass::OmpHandover,
        LossClass::Turn,
        LossClass::Meeting,
        LossClass::Join,
        LossClass::Signal,
        LossClass::Spin,
        LossClass::Io,
        LossClass::Sleep,
        LossClass::Unknown,
    ];

    /// The class of a wait for an object of this role.
    pub fn of_wait(role: ObjectKind) -> LossClass {
        match role {
            ObjectKind::Critical | ObjectKind::OmpLock => LossClass::OmpLock,
            role if role.is_lock() => LossClass::Lock,
            ObjectKind::Ordered | ObjectKind::Once => LossClass::Turn,
            ObjectKind::Barrier | ObjectKind::Team | ObjectKind::TeamStart | ObjectKind::Tasks => {
                LossClass::Meeting
            }
            ObjectKind::ThreadEnd => LossClass::Join,
            _ => LossClass::Signal,
        }
    }

    /// The class of a segment, all of which is lost or work; `role` is that of its object. Work is partly
    /// [`LossClass::OnCore`] and partly [`LossClass::OffCore`] where its CPU time is known: see [`ClassTimes::of`].
    fn of(segment: &Segment, role: Option<ObjectKind>) -> LossClass {
        let waited_for = role.map(LossClass::of_wait);
        match segment.state {
            State::Active => LossClass::Work,
            State::Descheduled => LossClass::OffCore,
            State::Io => LossClass::Io,
            State::Asleep => LossClass::Sleep,
            State::NotRecorded => LossClass::Unknown,
            State::Waking => match waited_for {
                Some(LossClass::Lock) => LossClass::Handover,
                Some(LossClass::OmpLock) => LossClass::OmpHandover,
                class => class.unwrap_or(LossClass::Unknown),
            },
            State::Spinning => waited_for.unwrap_or(LossClass::Spin),
            State::Blocked => waited_for.unwrap_or(LossClass::Unknown),
        }
    }
}

/// Time by [`LossClass`] (ns).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassTimes([u64; LossClass::ALL.len()]);

impl ClassTimes {
    /// Those of a segment of this timeline: they add up to its length.
    pub fn of(timeline: &Timeline, segment: &Segment) -> ClassTimes {
        let role = segment.object.and_then(|object| timeline.roles.kinds.get(object.index()).copied());
        let length = segment.length().get();
        let mut times = ClassTimes::default();
        let spins_in = timeline.places.spin(segment.site).filter(|_| segment.state == State::Spinning);
        let class = match LossClass::of(segment, role) {
            LossClass::Spin if spins_in.is_some_and(|routine| routine.is_of_openmp) => LossClass::OmpLock,
            class => class,
        };
        match (class, segment.cpu) {
            (LossClass::Work, Some(cpu)) => {
                let cpu = cpu.get().min(length);
                times.0[LossClass::OnCore as usize] = cpu;
                times.0[LossClass::OffCore as usize] = length - cpu;
            }
            (class, _) => times.0[class as usize] = length,
        }
        times
    }

    /// The time of a class.
    pub fn by(&self, class: LossClass) -> u64 {
        self.0[class as usize]
    }

    /// The time of several classes together.
    pub fn of_all(&self, classes: &[LossClass]) -> u64 {
        classes.iter().map(|class| self.by(*class)).sum()
    }

    /// All of it.
    pub fn total(&self) -> Nanos {
        Nanos::new(self.0.iter().sum())
    }

    /// Adds other time.
    pub fn add(&mut self, other: &ClassTimes) {
        for (sum, part) in self.0.iter_mut().zip(other.0) {
            *sum += part;
        }
    }

    /// This without another part of it.
    pub fn without(&self, other: &ClassTimes) -> ClassTimes {
        let mut rest = *self;
        for (sum, part) in rest.0.iter_mut().zip(other.0) {
            *sum = sum.saturating_sub(part);
        }
        rest
    }

    /// The share `part` / `whole` of it.
    pub fn share(&self, part: u64, whole: u64) -> ClassTimes {
        let part = u128::from(part.min(whole));
        ClassTimes(self.0.map(|sum| (u128::from(sum) * part / u128::from(whole.max(1))) as u64))
    }
}

/// What each thread's time went to between any two moments.
#[derive(Clone, Debug)]
pub struct ThreadSums(Vec<PrefixSums>);

impl ThreadSums {
    /// Those of all threads of a timeline.
    pub fn of(timeline: &Timeline) -> ThreadSums {
        ThreadSums(timeline.threads.iter().map(|row| PrefixSums::of(timeline, row)).collect())
    }

    /// What the thread's time between two moments (ns) went to: nothing of a thread that is not there.
    pub fn between(&self, thread: ThreadId, from: u64, to: u64) -> ClassTimes {
        self.0.get(thread.index()).map_or_else(ClassTimes::default, |sums| sums.between(from, to))
    }

    /// The threads.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.0.len() as u32).map(ThreadId::new)
    }
}

/// One thread's [`ClassTimes`] as sums from its start, so that those between any two moments are found at once.
#[derive(Clone, Debug)]
struct PrefixSums {
    /// Where segments begin (ns); the last one ends at the last entry.
    at: Vec<u64>,
    /// The sums at these moments.
    sums: Vec<ClassTimes>,
}

impl PrefixSums {
    fn of(timeline: &Timeline, row: &Row) -> PrefixSums {
        let mut sum = ClassTimes::default();
        let (mut at, mut sums) = (vec![row.start.nanos()], vec![sum]);
        for segment in &row.segments {
            sum.add(&ClassTimes::of(timeline, segment));
            at.push(segment.end.nanos());
            sums.push(sum);
        }
        PrefixSums { at, sums }
    }

    /// A segment that is cut gives its share.
    fn between(&self, from: u64, to: u64) -> ClassTimes {
        if from >= to { ClassTimes::default() } else { self.until(to).without(&self.until(from)) }
    }

    fn until(&self, time: u64) -> ClassTimes {
        let after = self.at.partition_point(|&at| at <= time);
        let Some(before) = after.checked_sub(1) else { return ClassTimes::default() };
        let mut sum = self.sums[before];
        if let (Some(&end), Some(next)) = (self.at.get(after), self.sums.get(after)) {
            let start = self.at[before];
            sum.add(&next.without(&sum).share(time - start, end - start));
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ObjectId, Process, Time};

    fn segment(start: u64, end: u64, state: State, object: Option<ObjectId>, cpu: Option<u64>) -> Segment {
        let [start, end] = [start, end].map(Time::from_nanos);
        Segment { start, end, state, object, site: None, by: None, cpu: cpu.map(Nanos::new) }
    }

    #[test]
    fn a_part_of_the_time_is_known_at_any_moment() {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(100));
        process.add_thread("main", Time::from_nanos(0), None);
        let lock = process.add_object(ObjectKind::Mutex, 1);
        let segments = vec![
            segment(0, 40, State::Active, None, Some(20)),
            segment(40, 60, State::Blocked, Some(lock), None),
            segment(60, 100, State::Descheduled, None, None),
        ];
        let row = Row { start: Time::from_nanos(0), end: Time::from_nanos(100), segments };
        let timeline = Timeline { threads: vec![row], ..Timeline::build(&process) };
        let sums = ThreadSums::of(&timeline);
        let main = ThreadId::new(0);
        let between = sums.between(main, 20, 70);
        assert_eq!(between.by(LossClass::OffCore), 10 + 10);
        assert_eq!(between.by(LossClass::OnCore), 10);
        assert_eq!(between.by(LossClass::Lock), 20);
        assert_eq!(between.total(), Nanos::new(50));
        assert_eq!(sums.between(main, 100, 400), ClassTimes::default());
        assert_eq!(sums.between(main, 60, 60), ClassTimes::default());
        assert_eq!(sums.between(ThreadId::new(7), 0, 100), ClassTimes::default());
    }

    #[test]
    fn classes_are_in_the_order_of_their_numbers() {
        for (number, class) in LossClass::ALL.into_iter().enumerate() {
            assert_eq!(class as usize, number);
        }
    }

    #[test]
    fn waking_after_a_lock_is_its_handover() {
        let of = |state, role| LossClass::of(&segment(0, 1, state, None, None), role);
        assert_eq!(of(State::Waking, Some(ObjectKind::Mutex)), LossClass::Handover);
        assert_eq!(of(State::Waking, Some(ObjectKind::OmpLock)), LossClass::OmpHandover);
        assert_eq!(of(State::Waking, Some(ObjectKind::Barrier)), LossClass::Meeting);
        assert_eq!(of(State::Blocked, Some(ObjectKind::ThreadEnd)), LossClass::Join);
        assert_eq!(of(State::Spinning, None), LossClass::Spin);
        assert_eq!(of(State::Blocked, None), LossClass::Unknown);
    }
}
