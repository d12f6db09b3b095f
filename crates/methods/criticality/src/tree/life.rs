//! When each process of a run was at work, and which started which.

use std::collections::BTreeMap;

use holdup_model::{Call, Nanos, Process, Run, State, Time, Timeline};

/// What is known of one process, or of one program that it executed.
pub(super) struct Life {
    pub start: Time,
    pub end: Time,
    /// When each of its threads was active, thread after thread.
    pub active: Vec<(Time, Time)>,
    /// When any of its threads was able to run: spans that do not touch, in order.
    pub able: Vec<(Time, Time)>,
    /// CPU time of its threads, as far as it is known.
    pub cpu: Nanos,
    /// Who was before it: the program that executed this one, else the process that started it.
    pub origin: Option<usize>,
    /// The program that the same process executed after this one.
    pub next: Option<usize>,
    /// System calls that blocked: when they returned, and which.
    calls: Vec<(Time, Call)>,
}

/// The processes of a run, by their index in [`Run::processes`]. One that executes another program is there once for each.
pub(super) struct Lives {
    pub all: Vec<Life>,
    /// By process: the first programs of those that it started, in order of their end.
    pub children: Vec<Vec<usize>>,
}

/// What happens so shortly after something else can come of that.
pub(super) const SLACK: Nanos = Nanos::new(1_000_000);

/// The CPU time of a process's threads, as far as it is known.
pub(crate) fn cpu_of(process: &Process) -> Nanos {
    let on_core = || process.on_core.iter().map(|span| span.end.since(span.begin)).sum::<Nanos>();
    let told: Nanos = process.threads.iter().filter_map(holdup_model::Thread::known_cpu).sum();
    if told > Nanos::ZERO { told } else { on_core() }
}

impl Life {
    fn of(run: &Run, process: &Process) -> Life {
        let (start, end) = (process.start.clamp(run.start, run.end), process.end.clamp(run.start, run.end));
        let timeline = Timeline::build(process);
        let within = |from: Time, to: Time| {
            let from = from.clamp(start, end);
            (from, to.clamp(from, end))
        };
        let (mut active, mut able) = (Vec::new(), Vec::new());
        for segment in timeline.threads.iter().flat_map(|row| &row.segments) {
            let span = within(segment.start, segment.end);
            if span.0 < span.1 && segment.state.is_active() {
                active.push(span);
            }
            if span.0 < span.1 && (segment.state.is_able_to_run() || segment.state == State::Spinning) {
                able.push(span);
            }
        }
        let mut calls: Vec<(Time, Call)> =
            process.blocks.iter().map(|block| (block.end, block.call)).collect();
        calls.sort_unstable_by_key(|call| call.0);
        Life { start, end, active, able: merged(able), cpu: cpu_of(process), origin: None, next: None, calls }
    }

    /// The span in which it was able to run last before `time`.
    pub(super) fn last_able(&self, time: Time) -> Option<(Time, Time)> {
        let next = self.able.partition_point(|span| span.0 < time);
        next.checked_sub(1).map(|index| self.able[index])
    }

    /// True if it was able to run right before `time`, and since `since`.
    pub(super) fn is_able_before(&self, since: Time, time: Time) -> bool {
        self.last_able(time).is_some_and(|(_, end)| end > since && end + SLACK >= time)
    }

    /// For how long of a time it was able to run.
    pub(super) fn able_within(&self, from: Time, to: Time) -> Nanos {
        let first = self.able.partition_point(|span| span.1 <= from);
        let spans = self.able[first..].iter().take_while(|span| span.0 < to);
        spans.map(|&(begin, end)| end.min(to).since(begin.max(from))).sum()
    }

    /// The call that kept it from running until `time`.
    pub(super) fn call_until(&self, time: Time) -> Option<Call> {
        let next = self.calls.partition_point(|call| call.0 < time + SLACK);
        let (end, call) = next.checked_sub(1).map(|index| self.calls[index])?;
        (end + SLACK >= time).then_some(call)
    }
}

impl Lives {
    pub(super) fn of(run: &Run) -> Lives {
        let mut all: Vec<Life> = run.processes.iter().map(|process| Life::of(run, process)).collect();
        let mut by_pid: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (index, process) in run.processes.iter().enumerate() {
            by_pid.entry(process.pid).or_default().push(index);
        }
        for indices in by_pid.values_mut() {
            indices.sort_by_key(|&index| (all[index].start, index));
        }
        let origins: Vec<Option<Origin>> =
            (0..all.len()).map(|index| origin(run, &all, &by_pid, index)).collect();
        let mut children = vec![Vec::new(); all.len()];
        for (index, origin) in origins.into_iter().enumerate() {
            match origin {
                Some(Origin::Executed(before)) => {
                    all[index].origin = Some(before);
                    all[before].next = Some(index);
                }
                Some(Origin::Started(by)) => {
                    all[index].origin = Some(by);
                    children[by].push(index);
                }
                None => {}
            }
        }
        let mut lives = Lives { all, children: Vec::new() };
        for list in &mut children {
            list.sort_by_key(|&index| (lives.end(index), index));
        }
        lives.children = children;
        lives
    }

    /// How many processes there were, whatever they executed.
    pub(super) fn processes(&self) -> usize {
        self.all.len() - self.all.iter().filter(|life| life.next.is_some()).count()
    }

    /// The last program that a process executed.
    pub(super) fn last(&self, mut index: usize) -> usize {
        while let Some(next) = self.all[index].next {
            index = next;
        }
        index
    }

    /// When a process ended, whatever it executed.
    pub(super) fn end(&self, index: usize) -> Time {
        self.all[self.last(index)].end
    }

    /// What a process executed up to a program of it, the last first.
    pub(super) fn programs_back(&self, index: usize) -> impl Iterator<Item = usize> {
        let before = |&at: &usize| self.all[at].origin.filter(|&before| self.all[before].next == Some(at));
        std::iter::successors(Some(index), before)
    }

    /// The process that started this one, by what it executed then.
    pub(super) fn starter(&self, index: usize) -> Option<usize> {
        self.programs_back(index).last().and_then(|first| self.all[first].origin)
    }

    /// The child that ended last of those that ended in a time, whatever the process executed when it started them.
    pub(super) fn ended_within(&self, index: usize, from: Time, to: Time) -> Option<usize> {
        let last_of = |program: usize| {
            let children = &self.children[program];
            let next = children.partition_point(|&child| self.end(child) <= to);
            next.checked_sub(1).map(|last| children[last])
        };
        let ended = self.programs_back(index).filter_map(last_of).filter(|&child| self.end(child) > from);
        ended.max_by_key(|&child| (self.end(child), child))
    }

    /// Those that this process started and that were there at a time, by what they executed then.
    pub(super) fn children_at(&self, index: usize, time: Time) -> impl Iterator<Item = usize> {
        let there = move |program: usize| {
            let children = &self.children[program];
            let first = children.partition_point(|&child| self.end(child) < time);
            children[first..].iter().copied().filter(move |&child| self.all[child].start <= time)
        };
        self.programs_back(index).flat_map(there).map(move |mut child| {
            while let Some(next) = self.all[child].next.filter(|&next| self.all[next].start <= time) {
                child = next;
            }
            child
        })
    }

    /// A process with all that it executed and started, and what they did.
    pub(super) fn subtree(&self, root: usize) -> Vec<usize> {
        let mut found = vec![root];
        let mut at = 0;
        while let Some(&index) = found.get(at) {
            found.extend(self.all[index].next);
            found.extend_from_slice(&self.children[index]);
            at += 1;
        }
        found
    }
}

/// Where a process comes from.
enum Origin {
    /// The same process executed this program before.
    Executed(usize),
    /// This process started it.
    Started(usize),
}

/// The program that the same process executed before, or the process that started it: the last that began before it.
fn origin(run: &Run, all: &[Life], by_pid: &BTreeMap<u32, Vec<usize>>, index: usize) -> Option<Origin> {
    let process = &run.processes[index];
    let began_before =
        |&&other: &&usize| other != index && (all[other].start, other) < (all[index].start, index);
    let of = |pid: u32| by_pid.get(&pid).into_iter().flatten();
    let same = of(process.pid).rfind(began_before).copied().filter(|&other| {
        run.processes[other].parent_pid == process.parent_pid && all[other].end <= all[index].start
    });
    match same {
        Some(before) => Some(Origin::Executed(before)),
        None => of(process.parent_pid).rfind(began_before).copied().map(Origin::Started),
    }
}

/// Spans of several threads as those in which any of them is: in order, and none touches another.
pub(super) fn merged(mut spans: Vec<(Time, Time)>) -> Vec<(Time, Time)> {
    spans.sort_unstable();
    let mut merged: Vec<(Time, Time)> = Vec::new();
    for (begin, end) in spans {
        match merged.last_mut().filter(|last| begin <= last.1) {
            Some(last) => last.1 = last.1.max(end),
            None => merged.push((begin, end)),
        }
    }
    merged
}
