//! Tasks of OpenMP that are there, or would be, but may not begin: since they depend on each other, or since the thread that makes
//! them waits for the last ones first.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::openmp::{DependKind, Instance, OpenMp, SyncKind, TaskId};
use holdup_model::{Nanos, ObjectId, Segment, SiteId, State, ThreadId, Time, Timeline};
use holdup_sections::begins;

/// It is so for this share of the waits at least.
const MOSTLY: f64 = 0.5;
/// Waits that are looked at, of each object: the longest ones.
const MOST_WAITS: usize = 1 << 16;

/// Why threads that wait for tasks get none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Held {
    pub(crate) by: HeldBy,
    /// It is so for this share of the time that threads wait there.
    pub(crate) share: f64,
    /// The longest task that was recorded: so long a thread may be the only one at work, however tasks are made.
    pub(crate) longest: Nanos,
}

/// What holds tasks back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HeldBy {
    /// They were made, but depend on others.
    Dependences {
        /// So many of those recorded with dependences...
        tasks: u64,
        /// ...and of these so many write what one and the same dependence names.
        one: u64,
    },
    /// They are made behind a `taskwait`, or the end of a `taskgroup`, for others.
    Wait {
        kind: SyncKind,
        place: Option<SiteId>,
        /// How often the thread waited there.
        rounds: u64,
    },
}

/// Why threads get no task at each of these objects, where that is so for most of the time that they wait there.
pub(super) fn held(
    openmp: &OpenMp,
    timeline: &Timeline,
    objects: &BTreeSet<ObjectId>,
) -> BTreeMap<ObjectId, Held> {
    if openmp.tasks.is_empty() || objects.is_empty() {
        return BTreeMap::new();
    }
    let chained = Chained::of(openmp);
    let rounds = Rounds::of(openmp);
    let mut waits: BTreeMap<ObjectId, Vec<&Segment>> = BTreeMap::new();
    for segment in timeline.threads.iter().flat_map(|row| &row.segments) {
        let object = segment.object.filter(|_| matches!(segment.state, State::Blocked | State::Spinning));
        if let Some(object) = object.filter(|object| objects.contains(object)) {
            waits.entry(object).or_default().push(segment);
        }
    }
    let mut lengths: BTreeMap<TaskId, Nanos> = BTreeMap::new();
    for run in &openmp.task_runs {
        if let Some(task) = run.task {
            *lengths.entry(task).or_default() += run.end.since(run.begin);
        }
    }
    let longest = lengths.into_values().max().unwrap_or_default();
    let mut found = BTreeMap::new();
    for (object, mut segments) in waits {
        segments.sort_unstable_by_key(|segment| std::cmp::Reverse(segment.length()));
        segments.truncate(MOST_WAITS);
        let (mut all, mut dependent) = (Nanos::ZERO, Nanos::ZERO);
        let mut behind: BTreeMap<(SyncKind, Option<SiteId>), Nanos> = BTreeMap::new();
        for segment in segments {
            let (length, at) = (segment.length(), segment.start + Nanos::new(segment.length().get() / 2));
            all += length;
            if chained.waits_one(at) {
                dependent += length;
            } else if let Some(round) = rounds.at(at) {
                *behind.entry(round).or_default() += length;
            }
        }
        let wait = behind.into_iter().max_by_key(|(_, time)| *time);
        let depend = HeldBy::Dependences { tasks: chained.tasks, one: chained.one };
        let wait = wait.map(|((kind, place), time)| {
            (HeldBy::Wait { kind, place, rounds: rounds.count(kind, place) }, time.share_of(all))
        });
        let both = [Some((depend, dependent.share_of(all))), wait];
        if let Some((by, share)) = both.into_iter().flatten().find(|(_, share)| *share >= MOSTLY) {
            found.insert(object, Held { by, share, longest });
        }
    }
    found
}

/// Tasks that depend on something.
struct Chained {
    /// When they were made, and when they began, each in order.
    made: Vec<Time>,
    begun: Vec<Time>,
    tasks: u64,
    one: u64,
}

impl Chained {
    fn of(openmp: &OpenMp) -> Self {
        let depend: BTreeSet<TaskId> = openmp.depends.iter().map(|depend| depend.task).collect();
        let begins = begins(&openmp.task_runs);
        let tasks = openmp.tasks.iter().filter(|task| !task.undeferred && depend.contains(&task.id));
        let spans = tasks.filter_map(|task| Some((task.time, begins.get(&task.id)?.0)));
        let (mut made, mut begun): (Vec<Time>, Vec<Time>) = spans.unzip();
        made.sort_unstable();
        begun.sort_unstable();
        let mut writers: BTreeMap<u64, BTreeSet<TaskId>> = BTreeMap::new();
        for depend in openmp.depends.iter().filter(|depend| depend.kind == DependKind::Out) {
            writers.entry(depend.address).or_default().insert(depend.task);
        }
        let one = writers.values().map(BTreeSet::len).max().unwrap_or_default() as u64;
        Self { made, begun, tasks: depend.len() as u64, one }
    }

    /// True if one had been made at this time, and had not begun.
    fn waits_one(&self, at: Time) -> bool {
        let until = |times: &[Time]| times.partition_point(|time| *time <= at);
        until(&self.made) > until(&self.begun)
    }
}

/// A wait for tasks, by what and where it is.
type Wait = (SyncKind, Option<SiteId>);

/// Waits for tasks behind which the same thread made more, outside of tasks.
struct Rounds {
    /// From when until when, and where; in order.
    spans: Vec<(Time, Time, Wait)>,
}

impl Rounds {
    fn of(openmp: &OpenMp) -> Self {
        let mut made: BTreeMap<(ThreadId, Instance), Vec<Time>> = BTreeMap::new();
        for task in openmp.tasks.iter().filter(|task| task.parent.is_none() && !task.undeferred) {
            if let Some(instance) = task.instance {
                made.entry((task.thread, instance)).or_default().push(task.time);
            }
        }
        let waits_for_tasks = |kind| matches!(kind, SyncKind::Taskwait | SyncKind::Taskgroup);
        let mut syncs: BTreeMap<(ThreadId, Instance), Vec<_>> = BTreeMap::new();
        for sync in openmp.syncs.iter().filter(|sync| waits_for_tasks(sync.kind)) {
            syncs.entry((sync.thread, sync.instance)).or_default().push(sync);
        }
        let mut spans = Vec::new();
        for (by, times) in &mut made {
            let Some(syncs) = syncs.get_mut(by) else { continue };
            times.sort_unstable();
            syncs.sort_unstable_by_key(|sync| sync.begin);
            let mut own: Vec<(Time, Time, Wait)> = Vec::new();
            for sync in syncs.iter() {
                match own.last_mut().filter(|last| sync.continued && last.2 == (sync.kind, sync.place)) {
                    Some(last) => last.1 = sync.end,
                    None => own.push((sync.begin, sync.end, (sync.kind, sync.place))),
                }
            }
            let is_made = |from: Time, to: Option<Time>| {
                let next = times.get(times.partition_point(|time| *time < from));
                next.is_some_and(|next| to.is_none_or(|to| *next < to))
            };
            let all = (0..own.len()).filter(|&at| is_made(own[at].1, own.get(at + 1).map(|next| next.0)));
            spans.extend(all.map(|at| own[at]));
        }
        spans.sort_unstable();
        Self { spans }
    }

    /// The wait that goes on at this time.
    fn at(&self, at: Time) -> Option<Wait> {
        let begun = self.spans.partition_point(|(begin, ..)| *begin <= at);
        self.spans[..begun].last().filter(|(_, end, _)| at < *end).map(|(.., wait)| *wait)
    }

    fn count(&self, kind: SyncKind, place: Option<SiteId>) -> u64 {
        self.spans.iter().filter(|(.., wait)| *wait == (kind, place)).count() as u64
    }
}
