//! Loops and tasks that were dealt out as a runtime would, as columns of a recording.

use holdup_model::openmp::{
    Chunk, Depend, DependKind, Instance, OpenMp, Region, Share, Sync, SyncKind, Task, TaskId, TaskRun,
    Vendor, Work, WorkKind,
};
use holdup_model::{Nanos, ThreadId, Time};
use proptest::collection::vec;
use proptest::prelude::*;

/// How the test's own runtime deals out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deal {
    Static,
    StaticChunks(u64),
    Dynamic(u64),
    Guided(u64),
}

/// A loop with the cost of each iteration (ns).
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    costs: Vec<u64>,
    deal: Deal,
    entries: Vec<u64>,
    dealing: u64,
    number: u64,
}

/// What a thread got: first iteration, how many, from when to when.
type Got = (u64, u64, u64, u64);

impl Loop {
    pub(crate) fn new(costs: Vec<u64>, threads: u32, deal: Deal) -> Loop {
        Loop { costs, deal, entries: vec![0; threads as usize], dealing: 0, number: 1 }
    }

    pub(crate) fn entering(self, entries: &[u64]) -> Loop {
        assert_eq!(entries.len(), self.entries.len());
        Loop { entries: entries.to_vec(), ..self }
    }

    pub(crate) fn dealing(self, dealing: u64) -> Loop {
        Loop { dealing, ..self }
    }

    pub(crate) fn numbered(self, number: u64) -> Loop {
        Loop { number, ..self }
    }

    /// From the first entry to the last end.
    pub(crate) fn takes(&self) -> u64 {
        let last = |(got, entry): (Vec<Got>, &u64)| got.last().map_or(*entry, |got| got.3);
        self.dealt().into_iter().zip(&self.entries).map(last).max().unwrap_or(0)
    }

    fn dealt(&self) -> Vec<Vec<Got>> {
        let threads = self.entries.len() as u64;
        let all = self.costs.len() as u64;
        let mut free = self.entries.clone();
        let mut got: Vec<Vec<Got>> = vec![Vec::new(); self.entries.len()];
        let mut first = 0;
        let mut number = 0;
        while first < all {
            let left = all - first;
            let (who, count, dealing) = match self.deal {
                Deal::Static => {
                    let count = all / threads + u64::from(number < all % threads);
                    (number as usize, count, 0)
                }
                Deal::StaticChunks(chunk) => ((number % threads) as usize, chunk.min(left), 0),
                Deal::Dynamic(chunk) => (soonest(&free), chunk.min(left), self.dealing),
                Deal::Guided(chunk) => {
                    (soonest(&free), left.div_ceil(threads).max(chunk).min(left), self.dealing)
                }
            };
            let begin = free[who] + dealing;
            let cost: u64 = self.costs[first as usize..(first + count) as usize].iter().sum();
            free[who] = begin + cost;
            got[who].push((first, count, begin, free[who]));
            first += count;
            number += 1;
        }
        got
    }

    pub(crate) fn record(&self) -> OpenMp {
        let instance = Instance::new(self.number);
        let threads = self.entries.len() as u32;
        let kind = match self.deal {
            Deal::Static | Deal::StaticChunks(_) => WorkKind::StaticLoop,
            Deal::Dynamic(_) => WorkKind::DynamicLoop,
            Deal::Guided(_) => WorkKind::GuidedLoop,
        };
        let mut recorded = OpenMp { regions: vec![region(instance, threads)], ..OpenMp::default() };
        for (index, (got, &entry)) in self.dealt().into_iter().zip(&self.entries).enumerate() {
            let dealt_out = kind.is_dealt_out();
            recorded.works.push(Work {
                thread: thread(index as u32),
                instance,
                sequence: 3,
                kind,
                place: None,
                begin: time(entry),
                end: time(got.last().map_or(entry, |got| got.3)),
                iterations: Some(self.costs.len() as u64),
                chunk: None,
                chunks: if dealt_out { got.len() as u32 } else { 0 },
                done: None,
                dealing: None,
            });
            for (first, count, begin, end) in got.into_iter().filter(|_| dealt_out) {
                let (begin, end) = (time(begin), time(end));
                let thread = thread(index as u32);
                recorded.chunks.push(Chunk { thread, instance, sequence: 3, begin, end, first, count });
            }
        }
        recorded
    }
}

fn soonest(free: &[u64]) -> usize {
    (0..free.len()).min_by_key(|&index| free[index]).expect("there are threads")
}

pub(crate) fn nanos(time: u64) -> Nanos {
    Nanos::new(time)
}

pub(crate) fn time(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

pub(crate) fn thread(index: u32) -> ThreadId {
    ThreadId::new(index)
}

pub(crate) fn region(instance: Instance, size: u32) -> Region {
    Region {
        thread: thread(0),
        begin: time(0),
        end: time(1_000_000_000),
        instance,
        place: None,
        met_at: None,
        parent: None,
        size,
        count: 1,
        timed: 1,
        time: nanos(1_000_000_000),
        vendor: Vendor::Gnu,
        whole: true,
        league: false,
        open: false,
    }
}

pub(crate) fn share(instance: Instance, index: u32, begin: u64, end: u64) -> Share {
    Share {
        thread: thread(index),
        instance,
        index,
        begin: time(begin),
        end: time(end),
        cpu: None,
        cpu_begin: None,
    }
}

/// Tasks on one thread: each of `shape` works so long, then makes as many of the next as its number says, and waits for
/// them while it executes them. The implicit task is the first.
pub(crate) fn forked(shape: &[(u8, u64)], making: u64, fetching: u64) -> OpenMp {
    let instance = Instance::new(1);
    let mut fork = Fork {
        shape,
        next: 1,
        now: 0,
        making,
        fetching,
        recorded: OpenMp { regions: vec![region(instance, 1)], ..OpenMp::default() },
    };
    fork.execute(0, None);
    // What is left of the shape would be nobody's: one more generation of the implicit task.
    while fork.next < shape.len() {
        let children = fork.make(None, (shape.len() - fork.next).min(7));
        fork.wait(children);
    }
    let end = fork.now;
    fork.recorded.shares.push(share(instance, 0, 0, end));
    fork.recorded
}

struct Fork<'a> {
    shape: &'a [(u8, u64)],
    next: usize,
    now: u64,
    making: u64,
    fetching: u64,
    recorded: OpenMp,
}

impl Fork<'_> {
    fn execute(&mut self, task: usize, id: Option<TaskId>) {
        let Some(&(children, work)) = self.shape.get(task) else { return };
        self.now += work;
        let children = self.make(id, usize::from(children));
        self.wait(children);
    }

    fn make(&mut self, parent: Option<TaskId>, count: usize) -> Vec<usize> {
        let end = (self.next + count).min(self.shape.len());
        let children: Vec<usize> = (self.next..end).collect();
        self.next = end;
        for &child in &children {
            self.recorded.tasks.push(Task {
                id: TaskId::new(child as u64),
                parent,
                thread: thread(0),
                time: time(self.now),
                instance: Some(Instance::new(1)),
                place: None,
                making: Some(nanos(self.making)),
                undeferred: false,
                of_loop: false,
            });
            self.now += self.making;
        }
        children
    }

    fn wait(&mut self, children: Vec<usize>) {
        let mut piece = (self.now, false);
        for child in children {
            self.now += self.fetching;
            self.sync(piece.0, piece.1, true);
            let begin = self.now;
            let id = TaskId::new(child as u64);
            self.execute(child, Some(id));
            let (begin, end) = (time(begin), time(self.now));
            let (thread, instance) = (thread(0), Some(Instance::new(1)));
            self.recorded.task_runs.push(TaskRun {
                thread,
                task: Some(id),
                instance,
                begin,
                end,
                complete: true,
            });
            piece = (self.now, true);
        }
        self.sync(piece.0, piece.1, false);
    }

    fn sync(&mut self, begin: u64, continued: bool, interrupted: bool) {
        self.recorded.syncs.push(Sync {
            thread: thread(0),
            instance: Instance::new(1),
            sequence: 0,
            kind: SyncKind::Taskwait,
            place: None,
            begin: time(begin),
            end: time(self.now),
            continued,
            interrupted,
        });
    }
}

/// Columns that need not fit together.
pub(crate) fn any_records() -> impl Strategy<Value = OpenMp> {
    let instance = || (1..3u64).prop_map(Instance::new);
    let moment = || prop_oneof![0..2_000u64, Just(u64::MAX)].prop_map(Time::from_nanos);
    let who = || (0..4u32).prop_map(ThreadId::new);
    let regions = (instance(), 0..4u32).prop_map(|(instance, size)| region(instance, size));
    let shares =
        (instance(), who(), 0..4u32, moment(), moment()).prop_map(|(instance, thread, index, begin, end)| {
            Share { thread, instance, index, begin, end, cpu: None, cpu_begin: None }
        });
    let kinds =
        prop_oneof![Just(WorkKind::DynamicLoop), Just(WorkKind::StaticLoop), Just(WorkKind::Sections)];
    let numbers = (any::<Option<u64>>(), 0..9u32, any::<Option<u64>>(), prop::option::of(0..999u64));
    let works = (instance(), who(), kinds, moment(), moment(), numbers).prop_map(
        |(instance, thread, kind, begin, end, (iterations, chunks, done, dealing))| Work {
            thread,
            instance,
            sequence: 0,
            kind,
            place: None,
            begin,
            end,
            iterations,
            chunk: None,
            chunks,
            done,
            dealing: dealing.map(Nanos::new),
        },
    );
    let chunks = (instance(), who(), moment(), moment(), any::<u64>(), prop_oneof![0..9u64, any::<u64>()])
        .prop_map(|(instance, thread, begin, end, first, count)| Chunk {
            thread,
            instance,
            sequence: 0,
            begin,
            end,
            first,
            count,
        });
    let sync_kinds = prop_oneof![
        Just(SyncKind::Taskwait),
        Just(SyncKind::Taskgroup),
        Just(SyncKind::RegionBarrier),
        Just(SyncKind::Reduction)
    ];
    let syncs = (instance(), who(), sync_kinds, moment(), moment(), any::<bool>()).prop_map(
        |(instance, thread, kind, begin, end, continued)| Sync {
            thread,
            instance,
            sequence: 0,
            kind,
            place: None,
            begin,
            end,
            continued,
            interrupted: false,
        },
    );
    let id = || (1..9u64).prop_map(TaskId::new);
    let tasks = (id(), prop::option::of(id()), who(), moment(), instance(), any::<bool>()).prop_map(
        |(id, parent, thread, time, instance, undeferred)| Task {
            id,
            parent,
            thread,
            time,
            instance: Some(instance),
            place: None,
            making: undeferred.then_some(Nanos::new(7)),
            undeferred,
            of_loop: false,
        },
    );
    let task_runs = (who(), id(), moment(), moment()).prop_map(|(thread, task, begin, end)| TaskRun {
        thread,
        task: Some(task),
        instance: None,
        begin,
        end,
        complete: true,
    });
    let depend_kinds = prop_oneof![
        Just(DependKind::In),
        Just(DependKind::Out),
        Just(DependKind::Exclusive),
        Just(DependKind::OutSet)
    ];
    let depends =
        (id(), 0..3u64, depend_kinds).prop_map(|(task, address, kind)| Depend { task, address, kind });
    let loops = (vec(regions, 0..3), vec(works, 0..5), vec(chunks, 0..12), vec(shares, 0..5));
    let rest = (vec(syncs, 0..9), vec(tasks, 0..12), vec(task_runs, 0..16), vec(depends, 0..9));
    (loops, rest).prop_map(|((regions, works, chunks, shares), (syncs, tasks, task_runs, depends))| OpenMp {
        regions,
        works,
        chunks,
        shares,
        syncs,
        tasks,
        task_runs,
        depends,
        ..OpenMp::default()
    })
}
