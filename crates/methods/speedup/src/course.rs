//! Where each thread's time goes between any two moments: t, t_wait (paper 1, section 6.3), and what is left of it.

use holdup_model::{ClassTimes, LossClass, ThreadId, ThreadSums, Timeline};
use holdup_sections::Working;

use super::crowd::Crowd;

/// One thread's time in a span, in ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Spent {
    /// On a core, at work.
    pub(super) cpu: u64,
    /// It could run and had no core.
    pub(super) off_core: u64,
    /// Input and output, sleep, and what nobody knows, of threads that do work.
    pub(super) outside: u64,
    /// Waits for other threads, from the call to its return: locks, barriers, joins, conditions, tasks; and spinning.
    pub(super) waiting: u64,
    /// What of `waiting` is for locks of OpenMP: not all of these waits are told one by one.
    pub(super) omp_locks: u64,
    /// What of `cpu` was not seen as such: the thread was at work, and how much of it on a core is not known.
    pub(super) unknown: u64,
}

impl Spent {
    /// t − t_wait.
    pub(super) fn active(&self) -> u64 {
        self.cpu + self.off_core + self.outside
    }

    pub(super) fn add(&mut self, other: &Spent) {
        self.cpu += other.cpu;
        self.off_core += other.off_core;
        self.outside += other.outside;
        self.waiting += other.waiting;
        self.omp_locks += other.omp_locks;
        self.unknown += other.unknown;
    }

    fn combined(&self, other: &Spent, of: impl Fn(u64, u64) -> u64) -> Spent {
        Spent {
            cpu: of(self.cpu, other.cpu),
            off_core: of(self.off_core, other.off_core),
            outside: of(self.outside, other.outside),
            waiting: of(self.waiting, other.waiting),
            omp_locks: of(self.omp_locks, other.omp_locks),
            unknown: of(self.unknown, other.unknown),
        }
    }

    /// This without another part of it.
    pub(super) fn without(&self, other: &Spent) -> Spent {
        self.combined(other, u64::saturating_sub)
    }

    /// The share `part` / `whole` of it.
    pub(super) fn share(&self, part: u64, whole: u64) -> Spent {
        let scaled = |value: u64, _: u64| {
            (u128::from(value) * u128::from(part.min(whole)) / u128::from(whole.max(1))) as u64
        };
        self.combined(self, scaled)
    }

    /// More of it was waiting for locks of OpenMP than was told wait by wait: it was taken for work on a core.
    pub(super) fn wait_for_omp_locks(&mut self, waiting: u64) {
        self.omp_locks += self.pay_for_locks(waiting.saturating_sub(self.omp_locks));
    }

    /// So much of what was taken for work on a core is the cost of locks: t_wait has it, from the call that takes a lock to
    /// its return, whether the thread waits there or not. Gives how much that could be.
    pub(super) fn pay_for_locks(&mut self, cost: u64) -> u64 {
        let cost = cost.min(self.cpu);
        self.cpu -= cost;
        self.unknown = self.unknown.min(self.cpu);
        self.waiting += cost;
        cost
    }
}

impl From<ClassTimes> for Spent {
    fn from(times: ClassTimes) -> Spent {
        use LossClass::{
            Handover, Io, Join, Lock, Meeting, OffCore, OmpHandover, OmpLock, OnCore, Signal, Sleep, Spin,
            Turn, Unknown, Work,
        };
        let omp_locks = times.of_all(&[OmpLock, OmpHandover]);
        Spent {
            cpu: times.of_all(&[OnCore, Work]),
            off_core: times.by(OffCore),
            outside: times.of_all(&[Io, Sleep, Unknown]),
            waiting: omp_locks + times.of_all(&[Lock, Handover, Turn, Meeting, Join, Signal, Spin]),
            omp_locks,
            unknown: times.by(Work),
        }
    }
}

/// The courses of all threads of a process.
pub(super) struct Courses {
    threads: ThreadSums,
    /// By thread: it does work.
    works: Vec<bool>,
    crowd: Crowd,
}

impl Courses {
    pub(super) fn of(timeline: &Timeline, working: &Working) -> Self {
        let (threads, works) = (ThreadSums::of(timeline), working.is.clone());
        Self { threads, works, crowd: Crowd::of(timeline, working.cores) }
    }

    /// Where the thread's time between two moments went. A thread that does no work, but waits for a signal, a timer or a
    /// connection, waits.
    pub(super) fn between(&self, thread: ThreadId, from: u64, to: u64) -> Spent {
        let mut spent = Spent::from(self.threads.between(thread, from, to));
        if !self.works.get(thread.index()).copied().unwrap_or(false) {
            spent.waiting += std::mem::take(&mut spent.outside);
        }
        spent
    }

    /// For how long more threads could run than there are cores, between two moments (ns, of all threads together).
    pub(super) fn crowded(&self, from: u64, to: u64) -> u64 {
        self.crowd.between(from, to)
    }

    pub(super) fn threads(&self) -> impl Iterator<Item = ThreadId> + use<> {
        self.threads.threads()
    }
}

#[cfg(test)]
mod tests {
    use holdup_model::{ObjectKind, Process};
    use holdup_testkit::{Op, Script};

    use super::*;
    use holdup_model::ThreadTimes;

    /// t and t − t_wait of the thread over its life.
    fn times(process: &Process, thread: ThreadId) -> (u64, u64) {
        let timeline = Timeline::build(process);
        let row = timeline.row(thread);
        let working = Working::of(process, &timeline, &ThreadTimes::of_all(&timeline), 4);
        let courses = Courses::of(&timeline, &working);
        let spent = courses.between(thread, row.start.nanos(), row.end.nanos());
        (row.end.since(row.start).get(), spent.active())
    }

    #[test]
    fn waits_for_locks_are_left_out() {
        let mut script = Script::new();
        let lock = script.object(ObjectKind::Mutex, "lock");
        let site = script.site("work", 7);
        let ops = vec![Op::Work(30), Op::Lock(lock, site), Op::Work(40), Op::Unlock(lock), Op::Work(5)];
        let workers = [script.thread("work", ops.clone()), script.thread("work", ops)];
        script.main_runs(&workers);
        let process = script.play();
        assert_eq!(times(&process, workers[0]), (75, 75));
        assert_eq!(times(&process, workers[1]), (115, 75));
    }

    #[test]
    fn waits_at_barriers_and_for_the_ends_of_threads_are_left_out() {
        let mut script = Script::new();
        let barrier = script.barrier("barrier", 2);
        let site = script.site("work", 7);
        let first = script.thread("work", vec![Op::Work(10), Op::Meet(barrier, site), Op::Work(60)]);
        let second = script.thread("work", vec![Op::Work(50), Op::Meet(barrier, site), Op::Work(20)]);
        script.main_runs(&[first, second]);
        let process = script.play();
        assert_eq!(times(&process, first), (110, 70));
        assert_eq!(times(&process, second), (70, 70));
        // Main only joins.
        assert_eq!(times(&process, ThreadId::new(0)), (110, 0));
    }

    #[test]
    fn waits_on_conditions_are_left_out_and_input_is_not() {
        let mut script = Script::new();
        let queue = script.queue("jobs", 1);
        let site = script.site("work", 7);
        let maker = script.thread("make", vec![Op::Work(40), Op::Put(queue, site)]);
        let taker = script.thread("take", vec![Op::Get(queue, site), Op::Read(15, site), Op::Work(5)]);
        script.main_runs(&[maker, taker]);
        let process = script.play();
        assert_eq!(times(&process, taker), (60, 20));
    }
    #[test]
    fn the_sleep_of_a_thread_that_does_nothing_else_is_no_work() {
        let mut script = Script::new();
        let site = script.site("work", 7);
        let worker = script.thread("work", vec![Op::Work(1000), Op::Sleep(500, site), Op::Work(1000)]);
        let clock = script.thread("clock", vec![Op::Sleep(2400, site), Op::Work(1)]);
        script.main_runs(&[worker, clock]);
        let process = script.play();
        assert_eq!(times(&process, worker), (2500, 2500));
        assert_eq!(times(&process, clock), (2401, 1));
    }
}
