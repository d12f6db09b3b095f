//! Who holds each lock at each moment.

use holdup_model::{Arrange, Hold, ObjectId, Places, Process, SiteId, ThreadId, Time};

/// From `from` on this thread is who others wait for when they wait for `object`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder {
    pub(crate) from: Time,
    pub(crate) object: ObjectId,
    /// `None` where it is not known.
    pub(crate) thread: Option<ThreadId>,
    pub(crate) site: Option<SiteId>,
}

/// The timed holds of a process, in order.
pub(crate) struct Holders<'a> {
    /// By object, then end, then thread.
    holds: Vec<&'a Hold>,
    /// When each of `holds` began.
    begins: Vec<Time>,
    places: &'a Places,
}

impl<'a> Holders<'a> {
    pub(crate) fn new(process: &'a Process, places: &'a Places) -> Self {
        let mut holds: Vec<&Hold> = process.holds.iter().collect();
        holds.sort_unstable_by_key(|hold| {
            (hold.object, hold.end, hold.thread, hold.begin, hold.acquired_at, hold.released_at, hold.mode)
        });
        let mut begins: Vec<Time> = Vec::with_capacity(holds.len());
        for (index, hold) in holds.iter().enumerate() {
            // A hold of which only the release was seen lasted since the release before it.
            let before = index.checked_sub(1).map(|before| holds[before]);
            let released = before.filter(|before| before.object == hold.object).map(|before| before.end);
            begins.push(hold.begin.unwrap_or(released.unwrap_or(process.start)).min(hold.end));
        }
        Self { holds, begins, places }
    }

    /// For looking holds up backwards in time.
    pub(crate) fn cursor(&self, objects: usize) -> HolderCursor<'_> {
        let mut ends = vec![0; objects];
        for range in self.ranges() {
            ends[self.holds[range.start].object.index()] = range.end;
        }
        HolderCursor { holders: self, ends }
    }

    /// True for objects with timed holds, by id.
    pub(crate) fn covered(&self, objects: usize) -> Vec<bool> {
        let mut covered = vec![false; objects];
        for hold in &self.holds {
            covered[hold.object.index()] = true;
        }
        covered
    }

    /// The changes of holders of all objects, by time, then object.
    ///
    /// Between two releases the one who is waited for is the one who releases next, also before it has the lock:
    /// it was given it and is still waking. Where holds overlap (readers), the one that lasts longest counts.
    pub(crate) fn changes(&self) -> Vec<Holder> {
        let mut changes = Vec::with_capacity(self.holds.len() * 2);
        for range in self.ranges() {
            let first = range.start;
            let last = range.end - 1;
            let mut earliest_later_begin: Option<Time> = None;
            // Backwards: the end of each hold is where the holder of the next one takes over.
            let mut taken_over_from = Vec::with_capacity(range.len());
            for index in range.rev() {
                let begin = self.begins[index];
                if earliest_later_begin.is_some_and(|later| later <= begin) {
                    continue;
                }
                earliest_later_begin = Some(begin);
                taken_over_from.push(index);
            }
            let mut from = self.begins[taken_over_from.last().copied().unwrap_or(first)];
            for &index in taken_over_from.iter().rev() {
                let hold = self.holds[index];
                changes.push(Holder {
                    from,
                    object: hold.object,
                    thread: Some(hold.thread),
                    site: self.places.at(hold.acquired_at.or(hold.released_at)),
                });
                from = hold.end;
            }
            changes.push(Holder { from, object: self.holds[last].object, thread: None, site: None });
        }
        // Stable: several changes of one object at one time stay in their order.
        changes.arrange_by_key(|change| (change.from, change.object));
        changes
    }

    fn ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let mut start = 0;
        std::iter::from_fn(move || {
            let object = self.holds.get(start)?.object;
            let length = self.holds[start..].partition_point(|hold| hold.object == object);
            start += length;
            Some(start - length..start)
        })
    }
}

/// A place in the holds of each object, which moves backwards only.
pub(crate) struct HolderCursor<'a> {
    holders: &'a Holders<'a>,
    /// By object: one behind the last hold that was not passed yet.
    ends: Vec<usize>,
}

impl HolderCursor<'_> {
    /// When the hold of `object` by `thread` began that ended at `end`. To be called with times that do not
    /// increase: all calls together take as many steps as there are holds.
    pub(crate) fn begin_of(&mut self, object: ObjectId, thread: ThreadId, end: Time) -> Option<Time> {
        let cursor = &mut self.ends[object.index()];
        while let Some(index) = cursor.checked_sub(1) {
            let hold = self.holders.holds[index];
            if hold.object != object || hold.end < end {
                return None;
            }
            if hold.end == end && hold.thread == thread {
                return Some(self.holders.begins[index]);
            }
            *cursor = index;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdup_model::{Mode, ObjectKind};

    fn holds(spans: &[(u32, Option<u64>, u64)]) -> Process {
        let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(100));
        let object = process.add_object(ObjectKind::RwLock, 1);
        for &(thread, begin, end) in spans {
            process.holds.push(Hold {
                thread: ThreadId::new(thread),
                begin: begin.map(Time::from_nanos),
                end: Time::from_nanos(end),
                object,
                acquired_at: None,
                released_at: None,
                waited_for: true,
                mode: Mode::Shared,
            });
        }
        process
    }

    fn changes(spans: &[(u32, Option<u64>, u64)]) -> Vec<(u64, Option<usize>)> {
        let process = holds(spans);
        let places = holdup_model::Timeline::build(&process).places;
        let changes = Holders::new(&process, &places).changes();
        changes.iter().map(|change| (change.from.nanos(), change.thread.map(ThreadId::index))).collect()
    }

    #[test]
    fn a_lock_passes_on_at_the_release() {
        let spans = [(0, Some(10), 20), (1, Some(22), 30), (2, None, 50)];
        assert_eq!(changes(&spans), [(10, Some(0)), (20, Some(1)), (30, Some(2)), (50, None)]);
    }

    #[test]
    fn among_readers_the_last_one_counts() {
        let spans = [(0, Some(10), 40), (1, Some(12), 20), (2, Some(30), 50)];
        assert_eq!(changes(&spans), [(10, Some(0)), (40, Some(2)), (50, None)]);
    }
}
