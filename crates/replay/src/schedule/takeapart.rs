//! From what was recorded of a whole instance to the graph of its tasks.
//!
//! What a thread does at a moment belongs to the task that it began last and has not left. While it waits for others,
//! at a barrier or for tasks, that time belongs to nobody: in virtual time it is waited anew.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use holdup_model::openmp::{
    Depend, DependKind, Instance, OpenMp, Region, Share, Sync, SyncKind, Task, TaskId, TaskRun,
};
use holdup_model::{ThreadId, Time};

use super::graph::{Node, Step, TaskGraph};

/// At least this share of the tasks must be known, and seen at work, to do them all again.
const LEAST_SHARE: f64 = 0.9;

/// The graphs of all whole instances that made tasks and of which every thread's part was recorded, by instance. Where
/// there are very many tasks only some are recorded one by one: such instances are left out, since who waits for whom
/// cannot be told then.
pub fn task_graphs(openmp: &OpenMp) -> Vec<TaskGraph> {
    let mut parts: BTreeMap<Instance, Parts<'_>> = BTreeMap::new();
    for region in openmp.regions.iter().filter(|region| region.whole) {
        parts.insert(region.instance, Parts::new(region));
    }
    let mut instances: BTreeMap<TaskId, Instance> = BTreeMap::new();
    for task in &openmp.tasks {
        if let Some(instance) = task.instance
            && let Some(parts) = parts.get_mut(&instance)
        {
            instances.insert(task.id, instance);
            parts.tasks.push(task);
        }
    }
    parts.retain(|_, parts| !parts.tasks.is_empty());
    for share in &openmp.shares {
        if let Some(parts) = parts.get_mut(&share.instance) {
            parts.shares.push(share);
        }
    }
    for sync in &openmp.syncs {
        if let Some(parts) = parts.get_mut(&sync.instance) {
            parts.syncs.push(sync);
        }
    }
    for run in &openmp.task_runs {
        if let Some(parts) =
            run.task.and_then(|task| instances.get(&task)).and_then(|instance| parts.get_mut(instance))
        {
            parts.runs.push(run);
        }
    }
    for depend in &openmp.depends {
        if let Some(parts) = instances.get(&depend.task).and_then(|instance| parts.get_mut(instance)) {
            parts.depends.push(depend);
        }
    }
    parts.into_values().filter(Parts::is_complete).map(Parts::graph).collect()
}

/// What was recorded of one instance.
struct Parts<'a> {
    region: &'a Region,
    shares: Vec<&'a Share>,
    syncs: Vec<&'a Sync>,
    tasks: Vec<&'a Task>,
    runs: Vec<&'a TaskRun>,
    depends: Vec<&'a Depend>,
}

/// What lies on the time line of a thread.
#[derive(Clone, Copy)]
enum Piece {
    /// The implicit task or another, by its node.
    Of(usize),
    /// A wait, and what for where it begins.
    Waiting(Option<Step>),
    /// The task with this node was made, by the one with the first.
    Made(usize, usize),
}

impl<'a> Parts<'a> {
    fn new(region: &'a Region) -> Parts<'a> {
        let (shares, syncs, tasks) = (Vec::new(), Vec::new(), Vec::new());
        Parts { region, shares, syncs, tasks, runs: Vec::new(), depends: Vec::new() }
    }

    /// Tasks are numbered by the thread that makes them, in the lower 32 bits: those that are not told leave gaps.
    fn is_complete(&self) -> bool {
        let mut spans: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for task in &self.tasks {
            let number = task.id.number();
            let span = spans.entry(number >> 32).or_insert((number, number));
            *span = (span.0.min(number), span.1.max(number));
        }
        let made: u64 = spans.into_values().map(|(first, last)| last - first + 1).sum();
        let seen: BTreeSet<TaskId> = self.runs.iter().filter_map(|run| run.task).collect();
        self.shares.len() == self.region.size as usize
            && self.tasks.len() as f64 >= LEAST_SHARE * made as f64
            && seen.len() as f64 >= LEAST_SHARE * self.tasks.len() as f64
    }

    fn graph(mut self) -> TaskGraph {
        self.shares.sort_by_key(|share| (share.index, share.thread));
        self.tasks.sort_by_key(|task| (task.time, task.id));
        let begin = self.shares.iter().map(|share| share.begin).min().unwrap_or(self.region.begin);
        let ends = self.shares.iter().map(|share| share.end).chain(self.runs.iter().map(|run| run.end));
        let end = ends.max().unwrap_or(begin);
        let implicit = self.shares.len();
        let numbers: BTreeMap<TaskId, usize> =
            self.tasks.iter().enumerate().map(|(index, task)| (task.id, implicit + index)).collect();
        let threads: BTreeMap<ThreadId, usize> =
            self.shares.iter().enumerate().map(|(index, share)| (share.thread, index)).collect();
        let mut nodes: Vec<Node> = self
            .shares
            .iter()
            .map(|share| Node { cost: share.begin.since(begin).get(), ..Node::default() })
            .collect();
        for (index, task) in self.tasks.iter().enumerate() {
            let own_thread = threads.get(&task.thread).copied().unwrap_or(0);
            let parent = task.parent.and_then(|parent| numbers.get(&parent).copied());
            // A task made before the one that is said to have made it would wait for ever.
            let parent = parent.filter(|&parent| parent < implicit + index).unwrap_or(own_thread);
            let cost = task.making.map_or(0, |making| making.get());
            nodes.push(Node { parent: Some(parent), cost, at_once: task.undeferred, ..Node::default() });
        }
        let mut acts: Vec<Vec<(Time, Step)>> = vec![Vec::new(); nodes.len()];
        let mut gaps = Vec::new();
        for (thread, lines) in self.lines(&nodes, &numbers, &threads) {
            trace(lines, thread, &mut acts, &mut gaps);
        }
        for (node, mut acts) in acts.into_iter().enumerate() {
            acts.sort_by_key(|(time, _)| *time);
            nodes[node].steps = acts.into_iter().map(|(_, step)| step).collect();
            if node < implicit {
                // The join.
                nodes[node].steps.push(Step::Barrier);
            }
        }
        self.order(&mut nodes, &numbers);
        price(&mut nodes, implicit, self.tasks.iter().any(|task| task.making.is_some()));
        let fetching = quick(&mut gaps);
        let time = end.since(begin).get();
        let (instance, region) = (self.region.instance, self.region.place);
        TaskGraph { instance, region, time, nodes, implicit, fetching }
    }

    /// For each thread of the team what lies on its time line, outer before inner.
    fn lines(
        &self,
        nodes: &[Node],
        numbers: &BTreeMap<TaskId, usize>,
        threads: &BTreeMap<ThreadId, usize>,
    ) -> BTreeMap<usize, Vec<(Time, Time, Piece)>> {
        let mut lines: BTreeMap<usize, Vec<(Time, Time, Piece)>> = BTreeMap::new();
        let mut add = |thread: ThreadId, begin: Time, end: Time, piece: Piece| {
            if let Some(&index) = threads.get(&thread) {
                lines.entry(index).or_default().push((begin, end.max(begin), piece));
            }
        };
        for (index, share) in self.shares.iter().enumerate() {
            add(share.thread, share.begin, share.end, Piece::Of(index));
        }
        for run in &self.runs {
            if let Some(task) = run.task {
                add(run.thread, run.begin, run.end, Piece::Of(numbers[&task]));
            }
        }
        for sync in &self.syncs {
            let what = match sync.kind {
                _ if sync.continued => None,
                SyncKind::Taskwait => Some(Step::Children),
                SyncKind::Taskgroup => Some(Step::Descendants),
                SyncKind::Reduction => None,
                _ => Some(Step::Barrier),
            };
            add(sync.thread, sync.begin, sync.end, Piece::Waiting(what));
        }
        for task in &self.tasks {
            let number = numbers[&task.id];
            let maker = nodes[number].parent.unwrap_or(0);
            add(task.thread, task.time, task.time, Piece::Made(maker, number));
        }
        for line in lines.values_mut() {
            line.sort_by_key(|(begin, end, piece)| {
                (*begin, rank(begin == end, *piece), Reverse(*end), matches!(piece, Piece::Of(_)))
            });
        }
        lines
    }

    /// Who must wait for whom by `depend`: tasks of one maker that name one address, in the order in which they were made.
    fn order(&self, nodes: &mut [Node], numbers: &BTreeMap<TaskId, usize>) {
        /// Tasks that may run side by side, those before them, and whether they write.
        #[derive(Default)]
        struct Address {
            together: Vec<usize>,
            before: Vec<usize>,
            kind: Option<DependKind>,
        }
        let mut depends: Vec<(usize, &Depend)> =
            self.depends.iter().map(|depend| (numbers[&depend.task], *depend)).collect();
        depends.sort_by_key(|(task, depend)| (*task, depend.address));
        let mut addresses: BTreeMap<(Option<usize>, u64), Address> = BTreeMap::new();
        for (task, depend) in depends {
            let address = addresses.entry((nodes[task].parent, depend.address)).or_default();
            let side_by_side = matches!(depend.kind, DependKind::In | DependKind::OutSet);
            if !side_by_side || address.kind != Some(depend.kind) {
                address.before = std::mem::take(&mut address.together);
                address.kind = Some(depend.kind);
            }
            let before = address.before.iter().filter(|&&before| before != task);
            nodes[task].after.extend(before);
            address.together.push(task);
        }
        for node in nodes {
            node.after.sort_unstable();
            node.after.dedup();
        }
    }
}

/// What comes first of what begins at one moment: a wait for nothing, which ends before it, then what a task makes before
/// it begins to wait, then the longer before the shorter (and of two as long as each other the wait: it is waited while
/// the other is executed).
fn rank(empty: bool, piece: Piece) -> u8 {
    match piece {
        Piece::Waiting(_) if empty => 0,
        Piece::Made(..) => 1,
        Piece::Waiting(_) | Piece::Of(_) => 2,
    }
}

/// Says of each piece of a thread's time line to which task it belongs, and how long it took from one task to the next
/// where the thread did little else in between.
fn trace(line: Vec<(Time, Time, Piece)>, thread: usize, acts: &mut [Vec<(Time, Step)>], gaps: &mut Vec<u64>) {
    let mut open: Vec<(Time, Piece)> = Vec::new();
    let mut now = Time::from_nanos(0);
    // When the last task ended, and for how long some other was gone on with since.
    let mut ended: Option<(Time, u64)> = None;
    for (begin, end, piece) in line {
        close(&mut open, begin, &mut now, acts, &mut ended);
        match piece {
            Piece::Of(_) => {
                if let Some((last, worked)) = ended.take() {
                    let gap = begin.since(last).get();
                    gaps.extend((worked <= gap / 2).then_some(gap));
                }
                open.push((end, piece));
            }
            Piece::Waiting(what) => {
                let owner = open.iter().rev().find_map(|(_, piece)| match piece {
                    Piece::Of(node) => Some(*node),
                    _ => None,
                });
                acts[owner.unwrap_or(thread)].extend(what.map(|step| (begin, step)));
                open.push((end, piece));
            }
            Piece::Made(maker, made) => acts[maker].push((begin, Step::Make(made))),
        }
    }
    let last = open.iter().map(|(end, _)| *end).max().unwrap_or(now);
    close(&mut open, last, &mut now, acts, &mut ended);
}

/// Goes on to a moment, and leaves what has ended until then.
fn close(
    open: &mut Vec<(Time, Piece)>,
    until: Time,
    now: &mut Time,
    acts: &mut [Vec<(Time, Step)>],
    ended: &mut Option<(Time, u64)>,
) {
    while let Some(&(end, piece)) = open.last() {
        let to = end.min(until).max(*now);
        if let Piece::Of(node) = piece
            && to > *now
        {
            let time = to.since(*now).get();
            acts[node].push((*now, Step::Work(time)));
            if let Some((_, worked)) = ended {
                *worked += time;
            }
        }
        *now = to;
        if end > until {
            break;
        }
        open.pop();
        if matches!(piece, Piece::Of(_)) {
            *ended = Some((end, 0));
        }
    }
    *now = until.max(*now);
}

/// So many tasks must be made one right after the other before what lies between says what making one takes,
const ENOUGH_TASKS: usize = 10;
/// and if even the least of that is more than this (ns), it is something else.
const MOST_MAKING: u64 = 5_000;

/// Takes the cost of making tasks out of the work of those that make them. Where it was not timed, the least that a
/// task needed from making one to making the next is taken for it: as with locks (paper 5, section 3.3), the fastest has
/// nothing else in it.
fn price(nodes: &mut [Node], implicit: usize, timed: bool) {
    if !timed {
        let between = nodes.iter().flat_map(|node| node.steps.windows(3)).filter_map(|steps| match steps {
            [Step::Make(_), Step::Work(time), Step::Make(_)] => Some(*time),
            _ => None,
        });
        let between: Vec<u64> = between.collect();
        let least = between.iter().copied().min().filter(|&least| least <= MOST_MAKING);
        if let Some(least) = least.filter(|_| between.len() >= ENOUGH_TASKS) {
            for node in nodes.iter_mut().skip(implicit) {
                node.cost = least;
            }
        }
    }
    let costs: Vec<u64> = nodes.iter().map(|node| node.cost).collect();
    for node in nodes {
        let mut owed = 0u64;
        for step in &mut node.steps {
            match step {
                Step::Make(made) => owed = owed.saturating_add(costs[*made]),
                Step::Work(time) => {
                    let paid = owed.min(*time);
                    *time -= paid;
                    owed -= paid;
                }
                _ => {}
            }
        }
    }
}

/// A duration such as the quickest tenth has: what fetching the next task takes where there is one.
fn quick(gaps: &mut [u64]) -> u64 {
    if gaps.is_empty() {
        return 0;
    }
    let place = gaps.len() / 10;
    *gaps.select_nth_unstable(place).1
}
