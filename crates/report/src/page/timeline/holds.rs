//! When each thread is known to have held which lock.

use holdup_model::{ObjectId, Process, ThreadId, Time};

/// A lock was held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Held {
    pub(super) thread: ThreadId,
    pub(super) start: Time,
    pub(super) end: Time,
    pub(super) object: ObjectId,
}

/// The holds of a process.
pub(super) struct Holds {
    /// By thread, then start.
    all: Vec<Held>,
    /// By thread, then start; those of one thread do not overlap.
    outer: Vec<Held>,
}

impl Holds {
    /// All holds of some length. Of a hold whose beginning was not seen it is known that it had begun when the first
    /// wait for the lock since the release before it began.
    pub(super) fn of(process: &Process) -> Holds {
        let mut all: Vec<Held> = Vec::with_capacity(process.holds.len());
        let mut open: Vec<Held> = Vec::new();
        for hold in &process.holds {
            let end = hold.end.min(process.end);
            let held = |start: Time| Held { thread: hold.thread, start, end, object: hold.object };
            match hold.begin {
                Some(begin) => all.push(held(begin.max(process.start))),
                None => open.push(held(process.start)),
            }
        }
        if !open.is_empty() {
            begin_with_first_wait(process, &mut open);
            all.append(&mut open);
        }
        all.retain(|held| held.start < held.end);
        all.sort_unstable();
        let outer = outer(&all);
        Holds { all, outer }
    }

    /// Those of one thread, by start: where it held several locks the one that it held longest from then on.
    pub(super) fn outer(&self, thread: ThreadId) -> &[Held] {
        let from = self.outer.partition_point(|held| held.thread < thread);
        let until = self.outer.partition_point(|held| held.thread <= thread);
        &self.outer[from..until]
    }

    /// All of them, by thread, then start.
    pub(super) fn all(&self) -> &[Held] {
        &self.all
    }
}

fn outer(all: &[Held]) -> Vec<Held> {
    let mut outer: Vec<Held> = Vec::with_capacity(all.len());
    for held in all {
        match outer.last_mut().filter(|last| last.thread == held.thread && last.end > held.start) {
            Some(last) if last.end >= held.end => continue,
            Some(last) => last.end = held.start,
            None => {}
        }
        outer.push(*held);
    }
    outer.retain(|held| held.start < held.end);
    outer
}

fn begin_with_first_wait(process: &Process, open: &mut [Held]) {
    let mut releases: Vec<(ObjectId, Time)> =
        process.holds.iter().map(|hold| (hold.object, hold.end)).collect();
    releases.sort_unstable();
    let mut waits: Vec<(ObjectId, Time)> =
        process.waits.iter().map(|wait| (wait.object, wait.begin)).collect();
    waits.sort_unstable();
    for held in open {
        let before = releases.partition_point(|release| *release < (held.object, held.end));
        let before = before.checked_sub(1).map(|before| releases[before]);
        let since = before.filter(|before| before.0 == held.object).map_or(process.start, |before| before.1);
        let first = waits.partition_point(|wait| *wait < (held.object, since));
        let first = waits.get(first).filter(|wait| wait.0 == held.object);
        held.start = first.map_or(held.end, |wait| wait.1.max(process.start));
    }
}

#[cfg(test)]
mod tests {
    use holdup_model::{Hold, Mode, ObjectKind, Wait};

    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    fn hold(thread: ThreadId, begin: Option<u64>, end: u64, object: ObjectId) -> Hold {
        Hold {
            thread,
            begin: begin.map(at),
            end: at(end),
            object,
            acquired_at: None,
            released_at: None,
            waited_for: true,
            mode: Mode::Exclusive,
        }
    }

    #[test]
    fn a_hold_of_unknown_beginning_reaches_back_to_the_first_wait() {
        let mut process = Process::new(at(0), at(1000));
        let (a, b) = (process.add_thread("a", at(0), None), process.add_thread("b", at(0), None));
        let lock = process.add_object(ObjectKind::Mutex, 1);
        process.holds = vec![hold(a, Some(10), 30, lock), hold(a, None, 500, lock), hold(b, None, 800, lock)];
        let wait = |begin, end| Wait::granted(b, lock, at(begin), at(end));
        process.waits = vec![wait(20, 31), wait(450, 501)];
        let holds = Holds::of(&process);
        let spans: Vec<_> = holds.all().iter().map(|h| (h.start.nanos(), h.end.nanos())).collect();
        assert_eq!(spans, [(10, 30), (450, 500)], "nobody waited for the last one: nothing is known of it");
        assert_eq!(holds.outer(b), []);
    }

    #[test]
    fn of_nested_holds_the_outer_one_counts() {
        let held = |start, end, object| Held {
            thread: ThreadId::new(0),
            start: at(start),
            end: at(end),
            object: ObjectId::new(object),
        };
        let all = [held(0, 100, 0), held(10, 20, 1), held(90, 150, 2), held(150, 160, 0)];
        assert_eq!(outer(&all), [held(0, 90, 0), held(90, 150, 2), held(150, 160, 0)]);
    }
}
