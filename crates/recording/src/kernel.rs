//! What the kernel collector wrote, put in order: which threads there were, when each was on a core, what it was seen
//! doing.

use std::collections::BTreeMap;

use holdup_model::Left;
use holdup_trace::kernel::{
    CoverageCode, Record, Running, SAMPLE_COST, SWITCH_COST, SampleCode, TIMER_COST, WAKING_COST, records,
};
use holdup_trace::wire::Text;

/// Everything, by process image, with times in ns of CLOCK_MONOTONIC.
#[derive(Debug, Default)]
pub(crate) struct Kernel {
    /// Images of processes in the order in which they began.
    pub images: Vec<Image>,
    /// The images of each process, in that order.
    by_pid: BTreeMap<u32, Vec<usize>>,
    /// When context switches were recorded.
    pub covered: Vec<(u64, u64)>,
    /// When they were not, because there were too many: threads were looked at instead.
    pub paused: Vec<(u64, u64)>,
    /// Of these, those in which what threads execute was not sampled.
    unsampled: Vec<(u64, u64)>,
    /// How often recording backed off because there were too many.
    pub back_offs: u64,
    /// Records for which there was no room.
    pub lost: u64,
    /// What the records cost the program's threads (ns), by [`SWITCH_COST`] and the others.
    pub cost: u64,
    /// How many samples of running threads there are.
    pub running_samples: u64,
    /// Switches to or from a core whose counterpart is missing, and all switches.
    pub unpaired: (u64, u64),
    /// Call stacks.
    pub stacks: BTreeMap<(u32, u32), Stack>,
    /// Spans on a core, by kernel thread id, in order of time.
    spans: BTreeMap<u32, Vec<Span>>,
    samples: BTreeMap<u32, Vec<SampleFacts>>,
    /// By the thread that was woken: when and by whom (0: nobody).
    wakings: BTreeMap<u32, Vec<(u64, u32)>>,
    readings: BTreeMap<u32, Vec<(u64, u64, u64)>>,
}

/// A program that a process ran.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub number: u32,
    pub pid: u32,
    pub parent_pid: u32,
    pub start: u64,
    /// `None` if it lived until the end of the recording.
    pub end: Option<u64>,
    /// The program and its arguments; empty for a fork.
    pub command: Vec<String>,
    pub threads: Vec<ThreadSeen>,
}

/// A thread of an image.
#[derive(Clone, Debug)]
pub(crate) struct ThreadSeen {
    pub tid: u32,
    pub start: u64,
    pub end: Option<u64>,
    /// The thread that started it; 0 if it was there before.
    pub parent: u32,
    pub name: Option<String>,
}

/// A span on a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub begin: u64,
    pub end: u64,
    pub core: u32,
    pub left: Left,
}

/// A sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleFacts {
    pub time: u64,
    pub kind: SampleCode,
    pub weight: u64,
    pub stack: u32,
    pub call: u32,
    pub argument: u64,
    pub running: Running,
}

/// A call stack in an image.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub broken: bool,
    pub addresses: Vec<u64>,
}

#[derive(Clone, Copy)]
struct Switch {
    time: u64,
    core: u32,
    what: Way,
}

/// Which way a thread was switched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out(Left),
    /// It ended, on a core: its events end before it leaves that.
    Ended,
}

/// A change in what processes and threads there are.
enum Life {
    Start { pid: u32, tid: u32, parent_pid: u32, parent_tid: u32, image: u32 },
    Exit { pid: u32, tid: u32 },
    Name { pid: u32, tid: u32, name: String },
    Exec { pid: u32, image: u32, command: Vec<String> },
}

/// What a record costs the thread that it is about, in ns.
fn cost(record: &Record<'_>) -> u64 {
    match record {
        Record::Switch { .. } => SWITCH_COST,
        Record::Waking { .. } => WAKING_COST,
        Record::Sample { kind: SampleCode::Running, .. } => SAMPLE_COST,
        _ => 0,
    }
}

fn string(text: Text<'_>) -> String {
    String::from_utf8_lossy(&text.bytes().collect::<Vec<_>>()).into_owned()
}

impl Kernel {
    /// Puts the records of all frames in order; `end` is when the recording ended.
    pub(crate) fn of(frames: &[Vec<u64>], end: u64) -> Kernel {
        let mut kernel = Kernel::default();
        let mut lives: Vec<(u64, Life)> = Vec::new();
        let mut switches: BTreeMap<u32, Vec<Switch>> = BTreeMap::new();
        let mut coverage: Vec<(u64, CoverageCode)> = Vec::new();
        for record in frames.iter().flat_map(|words| records(words)) {
            kernel.cost += cost(&record);
            kernel.running_samples +=
                u64::from(matches!(record, Record::Sample { kind: SampleCode::Running, .. }));
            match record {
                Record::Switch { time, tid, core, out, preempted, .. } => {
                    let what = match (out, preempted) {
                        (false, _) => Way::In,
                        (true, false) => Way::Out(Left::Blocked),
                        (true, true) => Way::Out(Left::Preempted),
                    };
                    switches.entry(tid).or_default().push(Switch { time, core, what });
                }
                Record::Start { time, pid, tid, parent_pid, parent_tid, image } => {
                    lives.push((time, Life::Start { pid, tid, parent_pid, parent_tid, image }));
                }
                Record::Exit { time, pid, tid } => {
                    switches.entry(tid).or_default().push(Switch { time, core: 0, what: Way::Ended });
                    lives.push((time, Life::Exit { pid, tid }));
                }
                Record::Name { time, pid, tid, text } => {
                    lives.push((time, Life::Name { pid, tid, name: string(text) }));
                }
                Record::Exec { time, pid, image, text } => {
                    let bytes: Vec<u8> = text.bytes().collect();
                    let command = bytes
                        .split(|byte| *byte == 0)
                        .filter(|part| !part.is_empty())
                        .map(|part| String::from_utf8_lossy(part).into_owned())
                        .collect();
                    lives.push((time, Life::Exec { pid, image, command }));
                }
                Record::Sample { time, tid, kind, weight, stack, call, argument, running, .. } => {
                    let sample = SampleFacts { time, kind, weight, stack, call, argument, running };
                    kernel.samples.entry(tid).or_default().push(sample);
                }
                Record::Stack { id, image, broken, addresses } => {
                    kernel.stacks.insert((image, id), Stack { broken, addresses: addresses.to_vec() });
                }
                Record::Waking { time, tid, by } => {
                    kernel.wakings.entry(tid).or_default().push((time, by));
                }
                Record::Reading { time, tid, cpu, delay, .. } => {
                    kernel.readings.entry(tid).or_default().push((time, cpu, delay));
                }
                Record::Coverage { time, kind } => coverage.push((time, kind)),
                Record::Lost { count, .. } => kernel.lost += count,
                Record::Mapping { .. } => {}
            }
        }
        let is_of_processors = |change: &&(u64, CoverageCode)| change.1 == CoverageCode::BackOffWithSamples;
        let timers_until = coverage.iter().filter(is_of_processors).map(|change| change.0).min();
        let with_timer = |switch: &&Switch| {
            switch.what != Way::Ended && timers_until.is_none_or(|until| switch.time <= until)
        };
        if kernel.running_samples > 0 {
            kernel.cost += switches.values().flatten().filter(with_timer).count() as u64 * TIMER_COST;
        }
        kernel.cover(coverage, end);
        for (tid, mut switches) in switches {
            switches.sort_by_key(|switch| switch.time);
            let spans = kernel.spans_of(&switches);
            kernel.spans.insert(tid, spans);
        }
        for (tid, samples) in &kernel.samples {
            // A thread that was on a core when the records began, and never lost it.
            if samples.iter().any(|sample| sample.kind == SampleCode::Running) {
                kernel.spans.entry(*tid).or_insert_with(|| {
                    let whole =
                        |&(begin, end): &(u64, u64)| Span { begin, end, core: 0, left: Left::Unknown };
                    kernel.covered.iter().map(whole).collect()
                });
            }
        }
        kernel.samples.values_mut().for_each(|samples| samples.sort_by_key(|sample| sample.time));
        kernel.wakings.values_mut().for_each(|wakings| wakings.sort_unstable());
        kernel.readings.values_mut().for_each(|readings| readings.sort_unstable());
        lives.sort_by_key(|(time, _)| *time);
        for (time, life) in lives {
            kernel.live(time, life);
        }
        kernel
    }

    fn cover(&mut self, mut coverage: Vec<(u64, CoverageCode)>, end: u64) {
        coverage.sort_by_key(|(time, _)| *time);
        let mut since = None;
        let mut paused_since: Option<(u64, bool)> = None;
        for (time, kind) in coverage {
            if let Some((paused, has_samples)) = paused_since.take().filter(|paused| paused.0 < time) {
                self.paused.push((paused, time));
                self.unsampled.extend((!has_samples).then_some((paused, time)));
            }
            paused_since = match kind {
                CoverageCode::BackOff => Some((time, false)),
                CoverageCode::BackOffWithSamples => Some((time, true)),
                CoverageCode::Begin | CoverageCode::End => None,
            };
            match kind {
                CoverageCode::Begin => since = since.or(Some(time)),
                _ => {
                    self.back_offs += u64::from(kind != CoverageCode::End);
                    self.covered
                        .extend(since.take().filter(|since| *since < time).map(|since| (since, time)));
                }
            }
        }
        self.covered.extend(since.filter(|since| *since < end).map(|since| (since, end)));
        let last = paused_since.filter(|paused| paused.0 < end);
        self.paused.extend(last.map(|(paused, _)| (paused, end)));
    }

    /// What looks at a thread while records paused stand for: each for the time up to the middle between it and its
    /// neighbours, within `from..until`.
    pub(crate) fn looks(&self, tid: u32, from: u64, until: u64) -> Vec<(u64, u64, SampleFacts)> {
        let mut looks = Vec::new();
        for &(begin, end) in &self.paused {
            let (begin, end) = (begin.max(from), end.min(until));
            if begin >= end {
                continue;
            }
            let seen: Vec<&SampleFacts> = self
                .samples(tid, begin, end)
                .iter()
                .filter(|sample| sample.kind != SampleCode::Running)
                .collect();
            for (index, look) in seen.iter().enumerate() {
                let middle = |other: &SampleFacts| other.time.midpoint(look.time);
                let before = index.checked_sub(1).map_or(begin, |before| middle(seen[before]));
                let after = seen.get(index + 1).map_or(end, |after| middle(after));
                looks.push((before, after, **look));
            }
        }
        looks
    }

    /// For how many times its weight a sample at this moment stands: those taken between two pauses stand for the pause
    /// before, too, if there were none in it.
    pub(crate) fn times_its_weight(&self, time: u64) -> f64 {
        let after = self.covered.partition_point(|span| span.0 <= time);
        let Some(&(from, until)) = after.checked_sub(1).and_then(|index| self.covered.get(index)) else {
            return 1.0;
        };
        let before = self.unsampled.iter().find(|pause| pause.1 == from);
        before.map_or(1.0, |pause| (until - pause.0) as f64 / (until - from).max(1) as f64)
    }

    /// Of the time in which a thread was able to run around a moment, the share in which it had a core; 1 where that is
    /// not known.
    pub(crate) fn share_on_core(&self, tid: u32, time: u64) -> f64 {
        let readings = self.readings.get(&tid).map_or(&[][..], Vec::as_slice);
        let after = readings.partition_point(|reading| reading.0 <= time);
        let Some((first, last)) =
            after.checked_sub(1).and_then(|first| readings.get(first)).zip(readings.get(after))
        else {
            return 1.0;
        };
        let (cpu, delay) = (last.1.saturating_sub(first.1), last.2.saturating_sub(first.2));
        if cpu + delay == 0 { 1.0 } else { cpu as f64 / (cpu + delay) as f64 }
    }

    /// Pairs switches to a core with those from it, in each time that is covered.
    fn spans_of(&mut self, switches: &[Switch]) -> Vec<Span> {
        let mut spans = Vec::with_capacity(switches.len() / 2 + 1);
        let mut next = 0;
        for index in 0..self.covered.len() {
            let (from, until) = self.covered[index];
            while switches.get(next).is_some_and(|switch| switch.time < from) {
                next += 1;
            }
            let mut open: Option<Switch> = None;
            let mut is_first = true;
            while let Some(switch) = switches.get(next).filter(|switch| switch.time <= until) {
                next += 1;
                let opened = open.take();
                match switch.what {
                    Way::In => {
                        self.unpaired.1 += 1;
                        if let Some(Switch { time: begin, core, .. }) = opened {
                            self.unpaired.0 += 1;
                            spans.push(Span { begin, end: begin, core, left: Left::Unknown });
                        }
                        open = Some(*switch);
                    }
                    Way::Out(left) => {
                        self.unpaired.1 += 1;
                        // A thread that was on a core when the records began.
                        let begin = opened.map(|opened| opened.time).or(is_first.then_some(from));
                        self.unpaired.0 += u64::from(begin.is_none());
                        let begin = begin.unwrap_or(switch.time);
                        spans.push(Span { begin, end: switch.time, core: switch.core, left });
                    }
                    Way::Ended => {
                        let begin = opened.map(|opened| opened.time).or(is_first.then_some(from));
                        let core = opened.map_or(switch.core, |opened| opened.core);
                        spans.extend(begin.map(|begin| Span {
                            begin,
                            end: switch.time,
                            core,
                            left: Left::Unknown,
                        }));
                    }
                }
                is_first = false;
            }
            if let Some(open) = open {
                spans.push(Span { begin: open.time, end: until, core: open.core, left: Left::Unknown });
            }
        }
        spans
    }

    fn live(&mut self, time: u64, life: Life) {
        match life {
            Life::Start { pid, tid, parent_pid, parent_tid, image } => {
                let thread = ThreadSeen { tid, start: time, end: None, parent: parent_tid, name: None };
                let known = self.running(pid).filter(|running| running.number == image);
                match known {
                    Some(running) => running.threads.push(thread),
                    None => self.begin(Image {
                        number: image,
                        pid,
                        parent_pid,
                        start: time,
                        end: None,
                        command: Vec::new(),
                        threads: vec![thread],
                    }),
                }
            }
            Life::Exit { pid, tid } => {
                let Some(running) = self.running(pid) else { return };
                if let Some(thread) = running.threads.iter_mut().rev().find(|thread| thread.tid == tid) {
                    thread.end = thread.end.or(Some(time));
                }
                if running.threads.iter().all(|thread| thread.end.is_some()) {
                    running.end = Some(time);
                }
            }
            Life::Name { pid, tid, name } => {
                let Some(running) = self.running(pid) else { return };
                if let Some(thread) = running.threads.iter_mut().rev().find(|thread| thread.tid == tid) {
                    thread.name = Some(name);
                }
            }
            Life::Exec { pid, image, command } => {
                let mut parent_pid = 0;
                if let Some(running) = self.running(pid) {
                    parent_pid = running.parent_pid;
                    running.end = Some(time);
                    for thread in &mut running.threads {
                        thread.end = thread.end.or(Some(time));
                    }
                }
                let main = ThreadSeen { tid: pid, start: time, end: None, parent: 0, name: None };
                let (start, threads) = (time, vec![main]);
                self.begin(Image { number: image, pid, parent_pid, start, end: None, command, threads });
            }
        }
    }

    fn begin(&mut self, image: Image) {
        self.by_pid.entry(image.pid).or_default().push(self.images.len());
        self.images.push(image);
    }

    fn running(&mut self, pid: u32) -> Option<&mut Image> {
        let last = *self.by_pid.get(&pid)?.last()?;
        self.images.get_mut(last).filter(|image| image.end.is_none())
    }

    /// The images that a process of this id had.
    pub(crate) fn images_of(&self, pid: u32) -> impl Iterator<Item = (usize, &Image)> {
        let indices = self.by_pid.get(&pid).map_or(&[][..], Vec::as_slice);
        indices.iter().map(|&index| (index, &self.images[index]))
    }

    /// What the reader of an answer must know of these records, a sentence each.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.lost > 0 {
            warnings.push(format!(
                "{} of the kernel's records were lost (the machine was too busy to fetch them in time)",
                self.lost
            ));
        }
        let (missing, all) = self.unpaired;
        if all > 0 && missing as f64 > LEAST_UNPAIRED * all as f64 {
            warnings.push(format!(
                "the kernel left out {missing} of {} context switches: time on a core is not sure",
                all + missing
            ));
        }
        if self.back_offs > 0 {
            warnings.push(format!(
                "there were too many context switches to record them all: {} threads were looked at now and then \
                 instead, so that what they did is an estimate for that time (--max-cost of recording allows more)",
                if self.back_offs == 1 { "once" } else { "several times" }
            ));
        }
        warnings
    }

    /// Spans of a thread on a core that reach into `from..until`, cut to it.
    pub(crate) fn spans(&self, tid: u32, from: u64, until: u64) -> impl Iterator<Item = Span> {
        let spans = self.spans.get(&tid).map_or(&[][..], Vec::as_slice);
        let first = spans.partition_point(|span| span.end <= from);
        spans[first..]
            .iter()
            .take_while(move |span| span.begin < until)
            .filter(move |span| span.end > from && from < until)
            .map(move |span| Span {
                begin: span.begin.max(from),
                end: span.end.min(until),
                left: if span.end > until { Left::Unknown } else { span.left },
                ..*span
            })
    }

    /// Samples of a thread in `from..until`.
    pub(crate) fn samples(&self, tid: u32, from: u64, until: u64) -> &[SampleFacts] {
        within(self.samples.get(&tid), from, until, |sample| sample.time)
    }

    /// When a thread was woken in `from..until`, and by whom.
    pub(crate) fn wakings(&self, tid: u32, from: u64, until: u64) -> &[(u64, u32)] {
        within(self.wakings.get(&tid), from, until, |waking| waking.0)
    }

    /// CPU times of a thread in `from..until`: when, on a core, without one though able to run.
    pub(crate) fn readings(&self, tid: u32, from: u64, until: u64) -> &[(u64, u64, u64)] {
        within(self.readings.get(&tid), from, until, |reading| reading.0)
    }
}

/// Above this share of missing context switches they are told of: a few are cut off where records begin and end.
const LEAST_UNPAIRED: f64 = 0.01;

/// The last moment that records of these frames name.
pub(crate) fn last_time(frames: &[Vec<u64>]) -> u64 {
    let time = |record| match record {
        Record::Switch { time, .. }
        | Record::Sample { time, .. }
        | Record::Exit { time, .. }
        | Record::Reading { time, .. } => time,
        _ => 0,
    };
    frames.iter().flat_map(|words| records(words)).map(time).max().unwrap_or(0)
}

fn within<T>(all: Option<&Vec<T>>, from: u64, until: u64, time: impl Fn(&T) -> u64) -> &[T] {
    let all = all.map_or(&[][..], Vec::as_slice);
    let first = all.partition_point(|one| time(one) < from);
    let last = all.partition_point(|one| time(one) < until);
    &all[first..last.max(first)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdup_trace::kernel;

    fn words(write: impl FnOnce(&mut Vec<u64>)) -> Vec<Vec<u64>> {
        let mut words = Vec::new();
        write(&mut words);
        vec![words]
    }

    #[test]
    fn switches_become_spans_and_what_is_missing_is_counted() {
        let frames = words(|out| {
            kernel::coverage(out, 0, CoverageCode::Begin);
            kernel::switch(out, 30, (1, 1), 0, false, false);
            kernel::switch(out, 10, (1, 1), 0, true, false);
            kernel::switch(out, 50, (1, 1), 0, true, true);
            kernel::switch(out, 60, (1, 1), 1, false, false);
            kernel::switch(out, 70, (1, 1), 1, false, false);
        });
        let kernel = Kernel::of(&frames, 100);
        let span = |begin, end, core, left| Span { begin, end, core, left };
        let expected = [
            span(0, 10, 0, Left::Blocked),
            span(30, 50, 0, Left::Preempted),
            span(60, 60, 1, Left::Unknown),
            span(70, 100, 1, Left::Unknown),
        ];
        assert_eq!(kernel.spans(1, 0, 100).collect::<Vec<_>>(), expected);
        assert_eq!(kernel.unpaired, (1, 5));
        assert_eq!(kernel.spans(1, 5, 40).count(), 2);
    }

    #[test]
    fn switches_cost_more_while_threads_have_timers_for_samples() {
        let cost = |pause: CoverageCode, samples: bool| {
            let frames = words(|out| {
                kernel::coverage(out, 0, CoverageCode::Begin);
                if samples {
                    kernel::sample(out, 5, (7, 7), SampleCode::Running, 9, 0, u32::MAX, 0);
                }
                kernel::switch(out, 10, (7, 7), 0, true, false);
                kernel::coverage(out, 100, pause);
                kernel::coverage(out, 300, CoverageCode::Begin);
                kernel::switch(out, 310, (7, 7), 0, false, false);
            });
            Kernel::of(&frames, 1000).cost
        };
        let (switches, sample) = (2 * SWITCH_COST, SAMPLE_COST);
        assert_eq!(cost(CoverageCode::BackOff, false), switches);
        assert_eq!(cost(CoverageCode::BackOff, true), switches + 2 * TIMER_COST + sample);
        assert_eq!(cost(CoverageCode::BackOffWithSamples, true), switches + TIMER_COST + sample);
    }

    #[test]
    fn a_sample_stands_for_the_pause_before_if_there_were_none_in_it() {
        for (pause, times) in
            [(CoverageCode::BackOff, 3.0), (CoverageCode::BackOffWithSamples, 1.0), (CoverageCode::End, 1.0)]
        {
            let frames = words(|out| {
                kernel::coverage(out, 0, CoverageCode::Begin);
                kernel::coverage(out, 100, pause);
                kernel::coverage(out, 300, CoverageCode::Begin);
                kernel::coverage(out, 400, pause);
            });
            let kernel = Kernel::of(&frames, 1000);
            assert_eq!(kernel.covered, [(0, 100), (300, 400)]);
            assert_eq!([50, 350].map(|time| kernel.times_its_weight(time)), [1.0, times], "{pause:?}");
            let paused = if pause == CoverageCode::End { 0 } else { 2 };
            assert_eq!((kernel.paused.len(), kernel.back_offs), (paused, paused as u64), "{pause:?}");
        }
    }

    #[test]
    fn a_program_that_executes_another_is_two_images() {
        let frames = words(|out| {
            kernel::start(out, 1, (7, 7), (3, 3), 1);
            kernel::start(out, 2, (7, 8), (7, 7), 1);
            kernel::exec(out, 5, 7, 2, b"app\0-x\0");
            kernel::name(out, 5, (7, 7), b"app");
            kernel::exit(out, 9, (7, 7));
        });
        let kernel = Kernel::of(&frames, 10);
        let facts: Vec<_> = kernel
            .images
            .iter()
            .map(|image| (image.number, image.start, image.end, image.threads.len()))
            .collect();
        assert_eq!(facts, [(1, 1, Some(5), 2), (2, 5, Some(9), 1)]);
        assert_eq!(kernel.images[1].command, ["app", "-x"]);
        assert_eq!(kernel.images[1].threads[0].name.as_deref(), Some("app"));
    }
}
