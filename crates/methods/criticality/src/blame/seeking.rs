//! Threads that wait for nobody in particular, as far as is known: those that search for work in a runtime's loop,
//! those that are blocked in a way that was not recorded, and idle workers that nobody woke.
//!
//! What they lose while one thread alone is able to run is charged to that one. How long that was, and how long no
//! thread was able to run, are two integrals for the whole process, so that each of them costs two subtractions.

use holdup_model::{
    Arrange, Doing, Nanos, ObjectId, Process, Row, Segment, SiteId, State, ThreadId, Time, Timeline,
};

use super::Pass;

/// What a thread does that waits for nobody in particular.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SoughtKey {
    pub(crate) thread: ThreadId,
    /// [`State::Spinning`] or [`State::Blocked`].
    pub(crate) state: State,
    pub(crate) object: Option<ObjectId>,
    pub(crate) site: Option<SiteId>,
}

/// How long it did that, by who else was able to run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sought {
    /// One thread: charged to that in [`Blame::serial`].
    pub(crate) with_one: Nanos,
    /// No thread.
    pub(crate) with_none: Nanos,
    /// No thread, but one had been released, and did not run yet: charged to that in [`Blame::sought_of_woken`].
    pub(crate) with_woken: Nanos,
    /// Several.
    pub(crate) with_more: Nanos,
}

/// A thread that waits for nobody in particular: since when, and what [`Pass::one_able`], [`Pass::none_able`] and
/// [`Pass::one_woken`] were.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seeking {
    key: SoughtKey,
    since: Time,
    one_able: Nanos,
    none_able: Nanos,
    one_woken: Nanos,
}

/// A sample stands for the time since the one before, up to [`holdup_model::Sample::reach`], in which a thread may have come to
/// a barrier a hundred times. Only where so many samples in a row find it spinning is it known to have done nothing else, and so
/// who worked alone meanwhile.
const FEWEST_SAMPLES: usize = 3;

/// When threads spun without a break, as several samples in a row say: by thread, in order of time.
pub(super) struct LongSpins(Vec<Vec<(Time, Time)>>);

impl LongSpins {
    pub(super) fn of(process: &Process, timeline: &Timeline) -> Self {
        let mut taken: Vec<Vec<Time>> = vec![Vec::new(); timeline.threads.len()];
        for sample in process.samples.iter().filter(|sample| sample.doing == Doing::Running) {
            taken[sample.thread.index()].push(sample.time);
        }
        let of_thread = |(row, taken): (&Row, &mut Vec<Time>)| {
            taken.arrange_by_key(|time| *time);
            let mut spins: Vec<(Time, Time)> = Vec::new();
            let spinning = |segment: &&Segment| segment.state == State::Spinning && segment.object.is_none();
            for segment in row.segments.iter().filter(spinning) {
                match spins.last_mut() {
                    Some(last) if last.1 == segment.start => last.1 = segment.end,
                    _ => spins.push((segment.start, segment.end)),
                }
            }
            // A sample is at the end of the time that it stands for.
            let before = |until: Time| taken.partition_point(|time| *time <= until);
            spins.retain(|(start, end)| before(*end) - before(*start) >= FEWEST_SAMPLES);
            spins
        };
        Self(timeline.threads.iter().zip(&mut taken).map(of_thread).collect())
    }

    /// Whether a thread spins for long at this time.
    pub(super) fn contain(&self, thread: ThreadId, time: Time) -> bool {
        let spins = &self.0[thread.index()];
        let begun = spins.partition_point(|(start, _)| *start <= time);
        spins[..begun].last().is_some_and(|(_, end)| time < *end)
    }
}

impl Pass<'_> {
    /// The thread waits for nobody in particular.
    pub(super) fn seek(&mut self, thread: ThreadId, segment: &Segment) {
        if !self.doing[thread.index()].takes_place {
            return;
        }
        if let Some(object) = segment.object {
            self.blame.objects[object.index()].enter(self.now);
        }
        let key = SoughtKey { thread, state: segment.state, object: segment.object, site: segment.site };
        let &mut Self { one_able, none_able, one_woken, .. } = self;
        self.doing[thread.index()].seeks =
            Some(Seeking { key, since: self.now, one_able, none_able, one_woken });
        self.seekers += 1;
    }

    pub(super) fn end_seeking(&mut self, thread: ThreadId) {
        let Some(seeking) = self.doing[thread.index()].seeks.take() else { return };
        self.seekers -= 1;
        let with_one = self.one_able - seeking.one_able;
        let with_none = self.none_able - seeking.none_able;
        let with_woken = self.one_woken - seeking.one_woken;
        let length = self.now.since(seeking.since);
        if let Some(object) = seeking.key.object {
            let object = &mut self.blame.objects[object.index()];
            object.leave(self.now);
            object.direct += length;
        }
        let sought = self.blame.sought.entry(seeking.key).or_default();
        sought.with_one += with_one;
        sought.with_none += with_none;
        sought.with_woken += with_woken;
        sought.with_more += length - with_one - with_none - with_woken;
    }
}
