//! A part of a run, as if only that had been recorded.
//!
//! Waits, and what ended them, are kept whole where the part cuts them: who was waited for, and when that was over, is
//! told by what happened at their ends. [`crate::Timeline::build`] cuts them to the process. Everything that is counted
//! or summed (holds, blocking calls, spans on a core, samples) is cut here. What is known only of the whole run is left
//! out: how often locks were used, CPU times of threads that began before the part or go on after it. Where the part ends
//! between two times of spinning, what lies between them may be work in it and spinning in the whole.

use std::collections::{BTreeMap, BTreeSet};

use crate::wakes::{self, Ending};
use crate::{
    Block, CpuReading, EdgeKind, Hold, Left, Marker, MarkerKind, Nanos, ObjectId, ObjectKind, OnCore,
    Outcome, Process, Run, Thread, ThreadId, Time, Wait, Wake, WakeCount,
};

impl Run {
    /// The part of the run from `from` to `to`. Processes that did not live then are left out.
    pub fn window(&self, from: Time, to: Time) -> Run {
        let (start, end) = (from.max(self.start), to.min(self.end));
        let lives = |process: &&Process| process.start < to && process.end > from;
        Run {
            start,
            end: end.max(start),
            exit: self.exit.filter(|_| to >= self.end),
            environment: self.environment.part(end.since(start)),
            cost: self.cost.filter(|_| from <= self.start && to >= self.end),
            processes: self.processes.iter().filter(lives).map(|process| process.window(from, to)).collect(),
            ..self.clone_without_processes()
        }
    }

    fn clone_without_processes(&self) -> Run {
        Run {
            recorded_by: self.recorded_by.clone(),
            command: self.command.clone(),
            cores: self.cores,
            collectors: self.collectors.clone(),
            clock: self.clock.clone(),
            unseen: self.unseen.clone(),
            warnings: self.warnings.clone(),
            unnamed: self.unnamed.clone(),
            ..Run::default()
        }
    }
}

impl Process {
    /// The part of the process from `from` to `to`. Threads, objects and sites keep their ids.
    pub fn window(&self, from: Time, to: Time) -> Process {
        if from <= self.start && to >= self.end {
            return self.clone();
        }
        let start = from.clamp(self.start, self.end);
        let window = Window { start, end: to.clamp(start, self.end) };
        let endings = wakes::endings(self);
        let kept = window.kept_waits(self);
        let causes = Causes::of(self, &endings, &kept);
        Process {
            pid: self.pid,
            parent_pid: self.parent_pid,
            joined: self.joined.clone(),
            command: self.command.clone(),
            start: window.start,
            end: window.end,
            threads: self.threads.iter().map(|thread| window.thread(thread)).collect(),
            objects: self.objects.clone(),
            sites: self.sites.clone(),
            waits: kept.iter().map(|&index| window.wait(self, &self.waits[index])).collect(),
            holds: window.holds(self, &causes),
            wakes: window.wakes(self, causes),
            blocks: self.blocks.iter().filter_map(|block| window.block(block)).collect(),
            markers: window.markers(self),
            uses: Vec::new(),
            lock_costs: Vec::new(),
            busy_locks: Vec::new(),
            on_core: window.on_core(self),
            covered: self.covered.iter().filter_map(|&(from, until)| window.cut(from, until)).collect(),
            estimated: self.estimated.iter().filter_map(|&(from, until)| window.cut(from, until)).collect(),
            samples: self.samples.iter().filter(|sample| window.has_end(sample.time)).copied().collect(),
            variables: self.variables.clone(),
            readings: window.readings(self),
            openmp: self.openmp.within(window.start, window.end),
            // A stretch has one CPU time, which cannot be cut.
            alone: self
                .alone
                .iter()
                .filter(|span| span.begin >= window.start && span.end <= window.end)
                .copied()
                .collect(),
            alone_counts: self
                .alone_counts
                .iter()
                .filter(|count| count.begin >= window.start && count.end <= window.end)
                .copied()
                .collect(),
            seen_by: self.seen_by,
            lost: self.lost,
        }
    }
}

/// The wake-ups and releases that ended kept waits.
#[derive(Default)]
struct Causes {
    /// By object, time and thread: how many waits.
    wakes: BTreeMap<(ObjectId, Time, ThreadId), u32>,
    releases: BTreeSet<(ObjectId, Time, ThreadId)>,
}

impl Causes {
    fn of(process: &Process, endings: &[Ending], kept: &[usize]) -> Self {
        let mut causes = Self::default();
        for &index in kept {
            let (wait, ending) = (&process.waits[index], &endings[index]);
            if let Some(by) = ending.by {
                match ending.kind {
                    EdgeKind::Signal => *causes.wakes.entry((wait.object, ending.at, by)).or_default() += 1,
                    EdgeKind::Release => {
                        causes.releases.insert((wait.object, ending.at, by));
                    }
                    _ => {}
                }
            }
            if let (Some(mutex), Some((time, holder))) = (wait.mutex, ending.then_lock) {
                causes.releases.insert((mutex, time, holder));
            }
        }
        causes
    }
}

/// A part of a process's life.
#[derive(Clone, Copy)]
struct Window {
    start: Time,
    end: Time,
}

impl Window {
    fn has(self, time: Time) -> bool {
        self.start <= time && time <= self.end
    }

    /// True for the end of a span that reaches into the window.
    fn has_end(self, time: Time) -> bool {
        self.start < time && time <= self.end
    }

    fn cut(self, begin: Time, end: Time) -> Option<(Time, Time)> {
        let (begin, end) = (begin.max(self.start), end.min(self.end));
        (begin < end).then_some((begin, end))
    }

    fn thread(self, thread: &Thread) -> Thread {
        let end = thread.end.filter(|&end| end <= self.end);
        let is_inside = thread.start >= self.start && end.is_some();
        let is_elsewhere = thread.start > self.end || thread.end.is_some_and(|end| end < self.start);
        let cpu = |cpu: Option<Nanos>| {
            if is_elsewhere { Some(Nanos::ZERO) } else { cpu.filter(|_| is_inside) }
        };
        Thread {
            parent: thread.parent.filter(|_| self.has(thread.start)),
            end,
            cpu: cpu(thread.cpu),
            cpu_when_last_read: cpu(thread.cpu_when_last_read),
            ..thread.clone()
        }
    }

    /// Waits that reach into the window, and those of the same rounds of barriers: by their number a reader tells the
    /// rounds apart.
    fn kept_waits(self, process: &Process) -> Vec<usize> {
        let reaches = |index: usize| {
            let wait = &process.waits[index];
            wait.end >= self.start && wait.begin <= self.end
        };
        let mut barriers: BTreeMap<ObjectId, Vec<usize>> = BTreeMap::new();
        let mut kept = Vec::new();
        for (index, wait) in process.waits.iter().enumerate() {
            match process.object(wait.object).kind {
                ObjectKind::Barrier => barriers.entry(wait.object).or_default().push(index),
                _ if reaches(index) => kept.push(index),
                _ => {}
            }
        }
        for (barrier, waits) in barriers {
            let rounds = wakes::rounds(process, barrier, waits).into_iter();
            kept.extend(rounds.filter(|round| round.iter().any(|&index| reaches(index))).flatten());
        }
        kept
    }

    fn wait(self, process: &Process, wait: &Wait) -> Wait {
        let mut wait = wait.clone();
        if wait.begin < self.start {
            wait.cpu_begin = None;
        }
        if wait.end > self.end {
            wait.cpu_end = None;
        }
        // A wait of which nobody is known to have ended it is told by its beginning.
        if wait.outcome != Outcome::Granted && process.object(wait.object).kind != ObjectKind::Barrier {
            wait.begin = wait.begin.max(self.start);
            wait.end = wait.end.min(self.end).max(wait.begin);
        }
        wait
    }

    fn holds(self, process: &Process, causes: &Causes) -> Vec<Hold> {
        let mut holds = Vec::new();
        for hold in &process.holds {
            let begin = hold.begin.unwrap_or(hold.end);
            let is_cause = causes.releases.contains(&(hold.object, hold.end, hold.thread));
            if hold.begin.is_none() && self.has_end(hold.end) {
                holds.push(hold.clone());
            } else if let Some((begin, end)) = self.cut(begin, hold.end) {
                holds.push(Hold { begin: Some(begin), end, ..hold.clone() });
            }
            if is_cause && !self.has_end(hold.end) {
                // Only the release matters.
                holds.push(Hold { begin: Some(hold.end), ..hold.clone() });
            }
        }
        holds
    }

    fn wakes(self, process: &Process, mut causes: Causes) -> Vec<Wake> {
        let mut wakes = Vec::new();
        for wake in &process.wakes {
            let released = causes.wakes.remove(&(wake.object, wake.time, wake.thread));
            if self.has(wake.time) {
                wakes.push(wake.clone());
            } else if let Some(released) = released {
                let count = match wake.count {
                    WakeCount::All => WakeCount::All,
                    WakeCount::AtMost(_) => WakeCount::AtMost(released),
                };
                wakes.push(Wake { count, ..wake.clone() });
            }
        }
        wakes
    }

    fn block(self, block: &Block) -> Option<Block> {
        let (begin, end) = self.cut(block.begin, block.end)?;
        Some(Block {
            begin,
            end,
            cpu_begin: block.cpu_begin.filter(|_| begin == block.begin),
            cpu_end: block.cpu_end.filter(|_| end == block.end),
            ..block.clone()
        })
    }

    /// The markers in the window; spinning that goes on at its ends begins and ends there.
    fn markers(self, process: &Process) -> Vec<Marker> {
        let mut ordered: Vec<&Marker> = process.markers.iter().collect();
        ordered.sort_by_key(|marker| (marker.time, marker.thread, marker.kind));
        let mut spins: Vec<Option<&Marker>> = vec![None; process.threads.len()];
        let mut markers = Vec::new();
        let mut kept = Vec::new();
        for marker in ordered {
            let spin = &mut spins[marker.thread.index()];
            let begun = *spin;
            match marker.kind {
                MarkerKind::SpinBegin => *spin = spin.or(Some(marker)),
                MarkerKind::SpinEnd => *spin = None,
                _ => {}
            }
            let began_before =
                begun.filter(|begun| begun.time < self.start && marker.kind == MarkerKind::SpinEnd);
            if let Some(begun) = began_before.filter(|_| marker.time > self.start) {
                markers.push(Marker { time: self.start, ..begun.clone() });
                markers.push(Marker { time: marker.time.min(self.end), ..marker.clone() });
            } else if let Some(begun) = begun.filter(|begun| self.has(begun.time) && marker.time > self.end) {
                if marker.kind == MarkerKind::SpinEnd {
                    markers.push(Marker { time: self.end, kind: MarkerKind::SpinEnd, ..begun.clone() });
                }
            } else if self.has(marker.time) {
                kept.push(marker.clone());
            }
        }
        markers.extend(kept);
        markers
    }

    /// Readings in the window, and each thread's last one before and first one after it.
    fn readings(self, process: &Process) -> Vec<CpuReading> {
        let mut around: Vec<[Option<CpuReading>; 2]> = vec![[None; 2]; process.threads.len()];
        let mut readings = Vec::new();
        for reading in &process.readings {
            let [before, after] = &mut around[reading.thread.index()];
            if reading.time < self.start {
                *before = Some(
                    before.map_or(*reading, |known| if reading.time > known.time { *reading } else { known }),
                );
            } else if reading.time > self.end {
                *after = Some(
                    after.map_or(*reading, |known| if reading.time < known.time { *reading } else { known }),
                );
            } else {
                readings.push(*reading);
            }
        }
        readings.extend(around.into_iter().flatten().flatten());
        readings
    }

    /// Spans in the window. The last one before it is told, without length, at its start, as long as nothing was lost
    /// in between: it says what its thread was without a core for.
    /// A thread that has begun and had no core yet waits for its first one.
    fn on_core(self, process: &Process) -> Vec<OnCore> {
        let covered = process.covered.iter().find(|&&(from, until)| from <= self.start && self.start < until);
        let mut spans = Vec::new();
        let mut last: Vec<Option<OnCore>> = vec![None; process.threads.len()];
        for span in &process.on_core {
            if let Some((begin, end)) = self.cut(span.begin, span.end) {
                spans.push(OnCore { begin, end, ..*span });
            } else if span.end <= self.start && covered.is_some_and(|covered| covered.0 <= span.end) {
                let last = &mut last[span.thread.index()];
                *last = (*last).max(Some(*span));
            }
        }
        for (index, last) in last.into_iter().enumerate() {
            let thread = ThreadId::new(index as u32);
            let began = process.thread(thread).start;
            let (begin, end) = (self.start, self.start);
            let waits_for_first = covered.is_some_and(|covered| covered.0 < began && began <= self.start);
            spans.extend(match last {
                Some(last) => Some(OnCore { begin, end, ..last }),
                None => {
                    waits_for_first.then_some(OnCore { thread, begin, end, core: 0, left: Left::Preempted })
                }
            });
        }
        spans
    }
}
