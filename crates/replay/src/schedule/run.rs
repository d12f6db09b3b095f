//! Tasks in virtual time: list scheduling on a number of threads.
//!
//! A thread takes the task that it made last, and where it has none, the oldest of another thread, as the runtimes of
//! LLVM and Intel do (gcc's has one queue for the team, which gives other orders, not other bounds). While a task waits for
//! others its thread executes any that is ready.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use super::graph::{Node, Step, TaskChange, TaskGraph};
use super::redone::{Instance, Redone};

/// The tasks of these graphs with a change, on as many threads as they had or on `threads`. The graphs should be instances
/// of one region with one number of threads. `None` without graphs.
pub fn reschedule(graphs: &[TaskGraph], change: TaskChange, threads: Option<u32>) -> Option<Redone> {
    let instances: Vec<Instance> = graphs
        .iter()
        .map(|graph| Instance {
            recorded: graph.time as f64,
            unchanged: Team::new(graph, TaskChange::Unchanged, graph.threads()).run() as f64,
            changed: Team::new(graph, change, threads.unwrap_or(graph.threads())).run() as f64,
            unseen: 0.0,
        })
        .collect();
    Redone::of(&instances)
}

/// Where a task stands.
#[derive(Clone, Default)]
struct Standing {
    /// The next step.
    step: usize,
    /// Its making is paid for.
    paid: bool,
    /// How many tasks it still has to wait for, by `depend`.
    before: usize,
    /// How many that it made are not done, and how many of these, or what they made, are not.
    children: usize,
    beneath: usize,
    /// It was made, it is done.
    made: bool,
    done: bool,
    /// The thread that waits with it.
    waiting: Option<usize>,
}

#[derive(Default)]
struct Thread {
    /// What it executes, innermost last.
    stack: Vec<usize>,
    /// Tasks that it made and that are ready.
    ready: VecDeque<usize>,
    /// Implicit tasks that only it may go on with.
    own: VecDeque<usize>,
}

struct Team<'a> {
    nodes: &'a [Node],
    implicit: usize,
    standing: Vec<Standing>,
    /// For each task those that wait for it by `depend`.
    behind: Vec<Vec<usize>>,
    at_once: Vec<bool>,
    making: bool,
    fetching: u64,
    threads: Vec<Thread>,
    idle: BTreeSet<usize>,
    /// When which thread goes on.
    agenda: BinaryHeap<Reverse<(u64, usize)>>,
    /// Tasks in all queues.
    ready: usize,
    /// Tasks that were made and are not done.
    open: usize,
    /// Implicit tasks that are at the barrier, or done.
    arrived: Vec<usize>,
    ended: usize,
    end: u64,
}

impl<'a> Team<'a> {
    fn new(graph: &'a TaskGraph, change: TaskChange, threads: u32) -> Team<'a> {
        let nodes = &graph.nodes;
        let mut standing = vec![Standing::default(); nodes.len()];
        let mut behind = vec![Vec::new(); nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            standing[index].before = node.after.len();
            for &before in &node.after {
                behind[before].push(index);
            }
        }
        let mut at_once: Vec<bool> = nodes.iter().map(|node| node.at_once).collect();
        if let TaskChange::Cutoff(least) = change {
            for (at_once, total) in at_once.iter_mut().zip(graph.totals()) {
                *at_once |= total < least.get();
            }
        }
        let count = threads.max(1) as usize;
        let mut team = Team {
            nodes,
            implicit: graph.implicit,
            standing,
            behind,
            at_once,
            making: change != TaskChange::FreeMaking,
            fetching: if change == TaskChange::FreeMaking { 0 } else { graph.fetching },
            threads: std::iter::repeat_with(Thread::default).take(count).collect(),
            idle: BTreeSet::new(),
            agenda: BinaryHeap::new(),
            ready: 0,
            open: 0,
            arrived: Vec::new(),
            ended: 0,
            end: 0,
        };
        for index in 0..graph.implicit {
            team.threads[index % count].own.push_back(index);
        }
        for thread in 0..count {
            // Threads that the recording did not have begin when those that it had did, in turns.
            let like = thread % graph.implicit.max(1);
            team.agenda.push(Reverse((nodes.get(like).map_or(0, |node| node.cost), thread)));
        }
        team
    }

    /// When the last task ends (ns).
    fn run(mut self) -> u64 {
        while let Some(Reverse((now, thread))) = self.agenda.pop() {
            self.end = self.end.max(now);
            self.go_on(thread, now);
        }
        self.end
    }

    /// The thread does what takes no time, until it works or has nothing to do.
    fn go_on(&mut self, thread: usize, now: u64) {
        loop {
            let Some(&task) = self.threads[thread].stack.last() else {
                if self.fetch(thread, now) {
                    continue;
                }
                return;
            };
            match self.nodes[task].steps.get(self.standing[task].step) {
                None => {
                    self.threads[thread].stack.pop();
                    self.finish(task, now);
                }
                Some(&Step::Work(time)) => {
                    self.standing[task].step += 1;
                    if time > 0 {
                        self.agenda.push(Reverse((now.saturating_add(time), thread)));
                        return;
                    }
                }
                Some(&Step::Make(child)) => {
                    let cost = self.nodes[child].cost;
                    let free = !self.making || cost == 0 || self.at_once[child] != self.nodes[child].at_once;
                    if !free && !self.standing[child].paid {
                        self.standing[child].paid = true;
                        self.agenda.push(Reverse((now.saturating_add(cost), thread)));
                        return;
                    }
                    if !self.make(task, child, thread, now) && !self.fetch_meanwhile(task, thread, now) {
                        return;
                    }
                }
                Some(Step::Children) if self.standing[task].children > 0 => {
                    if !self.fetch_meanwhile(task, thread, now) {
                        return;
                    }
                }
                Some(Step::Descendants) if self.standing[task].beneath > 0 => {
                    if !self.fetch_meanwhile(task, thread, now) {
                        return;
                    }
                }
                Some(Step::Barrier) if task < self.implicit => {
                    self.threads[thread].stack.pop();
                    self.standing[task].step += 1;
                    self.arrived.push(task);
                    self.open_barrier(now);
                }
                Some(Step::Children | Step::Descendants | Step::Barrier) => self.standing[task].step += 1,
            }
        }
    }

    /// Makes a task. False if it must be executed at once and cannot be yet.
    fn make(&mut self, maker: usize, child: usize, thread: usize, now: u64) -> bool {
        if !self.standing[child].made {
            self.standing[child].made = true;
            self.standing[maker].children += 1;
            self.standing[maker].beneath += 1;
            self.open += 1;
            let possible = self.standing[child].before == 0;
            if self.at_once[child] && possible {
                self.standing[maker].step += 1;
                self.threads[thread].stack.push(child);
                return true;
            }
            if possible {
                self.offer(child, thread, now);
            }
        }
        if self.at_once[child] && !self.standing[child].done {
            return false;
        }
        self.standing[maker].step += 1;
        true
    }

    /// The task is ready: somebody who has nothing to do comes for it.
    fn offer(&mut self, task: usize, thread: usize, now: u64) {
        self.threads[thread].ready.push_back(task);
        self.ready += 1;
        if let Some(idle) = self.idle.pop_first() {
            self.agenda.push(Reverse((now, idle)));
        }
    }

    /// The task waits, and its thread does another meanwhile. False if there is none.
    fn fetch_meanwhile(&mut self, task: usize, thread: usize, now: u64) -> bool {
        self.standing[task].waiting = Some(thread);
        self.fetch(thread, now)
    }

    /// The thread takes a task; true if it can go on with it now. Else it comes back when it has fetched it, or is idle.
    fn fetch(&mut self, thread: usize, now: u64) -> bool {
        if let Some(own) = self.threads[thread].own.pop_front() {
            self.threads[thread].stack.push(own);
            return true;
        }
        let Some(task) = self.next(thread) else {
            self.idle.insert(thread);
            return false;
        };
        self.ready -= 1;
        self.threads[thread].stack.push(task);
        if self.fetching > 0 {
            self.agenda.push(Reverse((now.saturating_add(self.fetching), thread)));
        }
        self.fetching == 0
    }

    fn next(&mut self, thread: usize) -> Option<usize> {
        if self.ready == 0 {
            return None;
        }
        if let Some(task) = self.threads[thread].ready.pop_back() {
            return Some(task);
        }
        let count = self.threads.len();
        (1..count).find_map(|step| self.threads[(thread + step) % count].ready.pop_front())
    }

    fn finish(&mut self, task: usize, now: u64) {
        self.standing[task].done = true;
        if task < self.implicit {
            self.ended += 1;
            self.open_barrier(now);
            return;
        }
        self.open -= 1;
        for index in 0..self.behind[task].len() {
            let next = self.behind[task][index];
            self.standing[next].before -= 1;
            if self.standing[next].before == 0 && self.standing[next].made {
                let home = self.home(next);
                self.offer(next, home, now);
            }
        }
        if let Some(maker) = self.nodes[task].parent {
            self.standing[maker].children -= 1;
            self.wake(maker, now);
        }
        self.settle(task, now);
        self.open_barrier(now);
    }

    /// Tells makers that a task is done with all that it made.
    fn settle(&mut self, mut task: usize, now: u64) {
        while self.standing[task].done && self.standing[task].beneath == 0 {
            let Some(maker) = self.nodes[task].parent else { return };
            self.standing[maker].beneath -= 1;
            self.wake(maker, now);
            task = maker;
        }
    }

    /// Whose queue a task goes to that became ready because another is done: its maker's, where that waits.
    fn home(&self, task: usize) -> usize {
        let maker = self.nodes[task].parent.unwrap_or(0);
        self.standing[maker].waiting.unwrap_or(maker % self.threads.len())
    }

    /// A task that may go on: its thread looks, if it has nothing else to do.
    fn wake(&mut self, task: usize, now: u64) {
        if let Some(thread) = self.standing[task].waiting
            && self.idle.remove(&thread)
        {
            self.agenda.push(Reverse((now, thread)));
        }
    }

    /// If all implicit tasks have come and no other is left, all go on.
    fn open_barrier(&mut self, now: u64) {
        if self.open > 0 || self.arrived.is_empty() || self.arrived.len() + self.ended < self.implicit {
            return;
        }
        let count = self.threads.len();
        for task in std::mem::take(&mut self.arrived) {
            self.threads[task % count].own.push_back(task);
        }
        for thread in std::mem::take(&mut self.idle) {
            self.agenda.push(Reverse((now, thread)));
        }
    }
}
