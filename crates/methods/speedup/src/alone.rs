//! What a thread needs for its work when it runs by itself, against what it needs beside the others.
//!
//! All is told as *ratios*: CPU time alone divided by the CPU time that the same thread needs for the same work when all
//! run together. Where work is dealt out while the program runs, a lone thread takes over what the others would have
//! done; then it is CPU time for a unit of work on both sides, or, where units are not known, that of all threads.

use std::collections::BTreeMap;

use holdup_model::{AloneSpan, CACHE_LINE, Nanos, NotAlone, Process, ThreadId};

use super::groups::{Group, groups};
use super::phases::{Key, PhaseRun, Phased};
use super::{AloneRun, Beside, CacheCurve, CachePoint, Counters, ThiefPoint};

/// A profiled thread takes over work of others if its share of the CPU time is so much more than in the run in which all
/// run together: that many times, and so much beyond that.
const TAKES_OVER: (f64, f64) = (1.25, 0.05);

/// Or so many times, where it took locks that many times as often, too: who only needs longer for its own work does not.
const TAKES_MORE: f64 = 1.05;

/// With fewer acquisitions one more or less means nothing.
const LEAST_ACQUISITIONS: u64 = 50;

/// Less than this share of a thread's CPU time really alone is no measurement.
const LEAST_ALONE: f64 = 0.8;

/// A thread that was alone for less than this share of its CPU time is not the one that was chosen in the phase: when that
/// one has ended, another gets its turn for what is left.
const LEAST_CHOSEN: f64 = 0.1;

/// More than this share of the CPU time of a phase not known is too much to tell who did how much.
const MOST_UNKNOWN: f64 = 0.2;

/// One profiled thread in one phase of one run.
#[derive(Clone, Debug)]
pub(super) struct Lone {
    pub(super) which: u32,
    pub(super) cache: u64,
    pub(super) beside: Beside,
    pub(super) thread: ThreadId,
    /// Its CPU time (ns): what it did before it was chosen is work too.
    pub(super) cpu: f64,
    /// That in its stretches.
    in_stretches: f64,
    /// The share of that in which the others were held.
    pub(super) alone_share: f64,
    /// Why they mostly were not for the rest.
    disturbed: Option<NotAlone>,
    /// Stretches from one wait to the next.
    pub(super) stretches: u64,
    /// CPU time of all threads in the phase (ns), where it is known.
    total: Option<f64>,
    units: Option<u64>,
    /// How often it took locks, in the whole run.
    acquisitions: u64,
    counters: Option<Counters>,
}

impl Lone {
    /// Why it does not count, as the end of a sentence.
    pub(super) fn fault(&self) -> Option<String> {
        (self.alone_share < LEAST_ALONE).then(|| {
            let share = holdup_model::figures::percent(self.alone_share);
            let why = self.disturbed.map_or_else(String::new, |reason| format!(" ({})", reason.words()));
            format!("the thread was alone for {share} of its CPU time only{why}")
        })
    }
}

/// The profiled threads of a run, by phase.
pub(super) fn lones(run: &AloneRun<'_>, phased: &Phased<'_>) -> BTreeMap<Key, Vec<Lone>> {
    let process = phased.main.process;
    let mut found = BTreeMap::new();
    for (key, phase) in &phased.phases {
        // The stretches of each, with their CPU time in the phase.
        let mut threads: BTreeMap<ThreadId, Vec<(&AloneSpan, f64)>> = BTreeMap::new();
        for span in &process.alone {
            let (begin, end) = (span.begin.nanos(), span.end.nanos());
            let inside = phase.overlap(begin, end);
            if inside == 0 {
                continue;
            }
            let cpu = span.cpu.get() as f64 * inside as f64 / (end - begin) as f64;
            threads.entry(span.thread).or_default().push((span, cpu));
        }
        // Who creates the others, or only meets them, may have had a turn before they came.
        let groups = groups(process, key.kind, phase);
        threads.retain(|thread, _| groups.iter().any(|group| group.threads.contains(thread)));
        let sum = phase.sum();
        let is_known = sum.unknown as f64 <= MOST_UNKNOWN * sum.cpu as f64;
        let lones = threads.into_iter().filter_map(|(thread, stretches)| {
            let cpu: f64 = stretches.iter().map(|(_, cpu)| cpu).sum();
            let alone: f64 = stretches.iter().filter(|(span, _)| span.alone).map(|(_, cpu)| cpu).sum();
            // What it did before it was chosen is not among its stretches.
            let spent = phase.threads.get(&thread);
            let spent = spent.filter(|spent| spent.unknown as f64 <= MOST_UNKNOWN * spent.cpu as f64);
            let whole = spent.map_or(cpu, |spent| cpu.max(spent.cpu as f64));
            let counters = counted(process, phase, thread);
            (cpu > 0.0 && cpu >= LEAST_CHOSEN * whole).then(|| Lone {
                which: run.which,
                cache: run.cache,
                beside: run.beside,
                thread,
                cpu: whole,
                in_stretches: cpu,
                alone_share: alone / whole,
                disturbed: main_reason(stretches.iter().copied()),
                stretches: stretches.len() as u64,
                total: is_known.then_some(sum.cpu as f64),
                units: phase.units(process, thread),
                acquisitions: acquisitions(process, thread),
                counters,
            })
        });
        found.insert(key.clone(), lones.collect());
    }
    found
}

/// How often a thread took locks.
fn acquisitions(process: &Process, thread: ThreadId) -> u64 {
    let own = process.uses.iter().filter(|used| used.thread == Some(thread));
    own.fold(0, |all: u64, used| all.saturating_add(used.acquisitions))
}

/// What counters said of a thread in a phase: of each time that it was the chosen one the part that is as large as the
/// part of its CPU time that it spent in the phase.
fn counted(process: &Process, phase: &PhaseRun, thread: ThreadId) -> Option<Counters> {
    let mut sum = Counters::default();
    for count in &process.alone_counts {
        let (from, to) = (count.begin.nanos(), count.end.nanos());
        let (mut all, mut here) = (0.0, 0.0);
        for span in process.alone.iter().filter(|span| span.thread == thread) {
            let (begin, end) = (span.begin.nanos().max(from), span.end.nanos().min(to));
            let length = span.end.nanos().saturating_sub(span.begin.nanos()).max(1) as f64;
            if begin < end {
                all += span.cpu.get() as f64 * (end - begin) as f64 / length;
                here += span.cpu.get() as f64 * phase.overlap(begin, end) as f64 / length;
            }
        }
        if here > 0.0 {
            let part = |count: u64| (count as f64 * (here / all)).round() as u64;
            // What is not counted once is not known of the whole.
            let first = sum.instructions == 0;
            // Each miss fetches a line.
            let bytes = count.misses.map(|misses| part(misses * CACHE_LINE));
            sum.bytes = if first { bytes } else { sum.bytes.zip(bytes).map(|(sum, more)| sum + more) };
            sum.cycles += part(count.cycles);
            sum.instructions += part(count.instructions);
            sum.time = Nanos::new(sum.time.get() + part(count.time.get()));
        }
    }
    (sum.instructions > 0).then_some(sum)
}

/// What is known of a group of threads when they run alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// CPU time alone with all of the cache, divided by that of all together.
    pub(super) full: Option<f64>,
    /// The same beside a pirate that takes no cache, divided by that with nothing beside it.
    pub(super) control: Option<f64>,
    pub(super) curve: CacheCurve,
    pub(super) bandwidth: Vec<ThiefPoint>,
    pub(super) takes_over: bool,
    /// The least share in which a thread was really alone.
    pub(super) alone_share: Option<f64>,
    /// The mean length of a stretch.
    pub(super) stretch: Option<Nanos>,
    /// By how much what was measured of its threads differs, beside nothing or a pirate that takes nothing.
    pub(super) spread: Option<f64>,
}

/// The run in which all threads ran together.
pub(super) struct Together<'a> {
    pub(super) process: &'a Process,
    pub(super) phase: &'a PhaseRun,
    pub(super) cpu: f64,
}

impl Together<'_> {
    /// CPU time (ns) for a unit of work of the group's threads.
    fn unit(&self, group: &Group) -> Option<f64> {
        let mut units = 0;
        for &thread in &group.threads {
            units += self.phase.units(self.process, thread)?;
        }
        Some(group.cpu as f64 / units as f64)
    }

    fn takes_over(&self, group: &Group, lone: &Lone) -> bool {
        let Some(total) = lone.total.filter(|total| *total > 0.0 && self.cpu > 0.0) else { return false };
        let count = group.threads.len().max(1) as f64;
        let (share, together) = (lone.cpu / total, group.cpu as f64 / count / self.cpu);
        let taken: u64 = group.threads.iter().map(|&thread| acquisitions(self.process, thread)).sum();
        let takes_more =
            taken >= LEAST_ACQUISITIONS && lone.acquisitions as f64 > TAKES_MORE * taken as f64 / count;
        share > TAKES_OVER.0 * together + TAKES_OVER.1 || takes_more && share > TAKES_MORE * together
    }

    /// CPU time alone divided by that of all together, for the same work.
    fn ratio(&self, group: &Group, lone: &Lone, takes_over: bool) -> Option<f64> {
        if !takes_over {
            let own = self.phase.threads.get(&lone.thread).filter(|_| group.threads.contains(&lone.thread));
            let cpu =
                own.map_or(group.cpu as f64 / group.threads.len().max(1) as f64, |spent| spent.cpu as f64);
            return (cpu > 0.0).then(|| lone.cpu / cpu);
        }
        if let Some((unit, units)) = self.unit(group).zip(lone.units) {
            return Some(lone.cpu / units as f64 / unit);
        }
        lone.total.map(|total| total / self.cpu)
    }
}

/// The measurements of the same thing: by thread the least and the most, and how often.
type Ratios<'a> = BTreeMap<ThreadId, (f64, f64, u32, &'a Lone)>;

/// What runs with one of the group's threads alone tell of it. `bytes` is the whole cache.
pub(super) fn measured(
    together: &Together<'_>,
    group: &Group,
    lones: &[&Lone],
    bytes: Option<u64>,
) -> Measured {
    let is_plain = |lone: &&&Lone| matches!(lone.beside, Beside::Nothing | Beside::Control);
    let takes_over = match lones.iter().filter(is_plain).count() {
        // A pirate slows the thread down, which makes its share larger, too.
        0 => false,
        _ => lones.iter().filter(is_plain).any(|lone| together.takes_over(group, lone)),
    };
    let by_units =
        takes_over && together.unit(group).is_some() && lones.iter().all(|lone| lone.units.is_some());
    let mut by_setting: BTreeMap<(Beside, u64), Ratios<'_>> = BTreeMap::new();
    for &lone in lones {
        let Some(ratio) = together.ratio(group, lone, takes_over) else { continue };
        let cache = if lone.beside == Beside::Pirate { lone.cache } else { 0 };
        let ratios = by_setting.entry((lone.beside, cache)).or_default();
        let known = ratios.entry(lone.thread).or_insert((ratio, ratio, 0, lone));
        if ratio < known.0 {
            (known.0, known.3) = (ratio, lone);
        }
        known.1 = known.1.max(ratio);
        known.2 += 1;
    }
    let nothing = by_setting.get(&(Beside::Nothing, 0));
    let control = by_setting.get(&(Beside::Control, 0));
    let full = nothing.or(control).map(least);
    let mut measured = Measured {
        full,
        control: control.zip(nothing).map(|(control, nothing)| relative(control, nothing, 1.0).0),
        takes_over,
        alone_share: lones.iter().map(|lone| lone.alone_share).min_by(f64::total_cmp),
        stretch: stretch(lones),
        spread: nothing.into_iter().chain(control).filter_map(spread).reduce(f64::max),
        ..Measured::default()
    };
    // Where the others do a part of the work, and it is not known how much, they do it without a pirate.
    let share =
        lones.iter().filter(is_plain).filter_map(|lone| Some(lone.cpu / lone.total?)).fold(0.0, f64::max);
    let share = if takes_over && !by_units && share > 0.0 { share.min(1.0) } else { 1.0 };
    let Some(base) = control.or(nothing) else { return measured };
    if let Some(bytes) = bytes {
        let mut points = vec![point(base, base, bytes, 1.0)];
        points.extend(
            by_setting
                .iter()
                .filter(|((beside, _), _)| *beside == Beside::Pirate)
                .map(|((_, cache), ratios)| point(ratios, base, *cache, share)),
        );
        measured.curve = CacheCurve::of(points);
    }
    for ((beside, _), ratios) in &by_setting {
        if let Beside::Thief(taken) = *beside {
            let time = relative(ratios, nothing.unwrap_or(base), share).0;
            measured.bandwidth.push(ThiefPoint { taken, time });
        }
    }
    measured
}

/// The mean over threads of the least ratio of each.
fn least(ratios: &Ratios<'_>) -> f64 {
    ratios.values().map(|known| known.0).sum::<f64>() / ratios.len().max(1) as f64
}

/// By how much the ratios of threads that do the same differ.
fn spread(ratios: &Ratios<'_>) -> Option<f64> {
    let low = ratios.values().map(|known| known.0).reduce(f64::min)?;
    let high = ratios.values().map(|known| known.1).reduce(f64::max)?;
    (ratios.values().map(|known| known.2).sum::<u32>() > 1 && low > 0.0).then(|| high / low - 1.0)
}

/// Times with something beside the thread divided by those without: the least and the most. Of the same threads where
/// there are any that were measured both ways.
fn relative(ratios: &Ratios<'_>, base: &Ratios<'_>, share: f64) -> (f64, f64) {
    let pairs: Vec<(f64, f64)> = ratios
        .iter()
        .filter_map(|(thread, known)| {
            let without = base.get(thread)?.0;
            Some((known.0 / without, known.1 / without))
        })
        .collect();
    let (low, high) = if pairs.is_empty() {
        let without = least(base);
        let most = ratios.values().map(|known| known.1).sum::<f64>() / ratios.len().max(1) as f64;
        (least(ratios) / without, most / without)
    } else {
        let count = pairs.len() as f64;
        (
            pairs.iter().map(|pair| pair.0).sum::<f64>() / count,
            pairs.iter().map(|pair| pair.1).sum::<f64>() / count,
        )
    };
    (1.0 + (low - 1.0) / share, 1.0 + (high - 1.0) / share)
}

fn point(ratios: &Ratios<'_>, base: &Ratios<'_>, bytes: u64, share: f64) -> CachePoint {
    let (time, high) = relative(ratios, base, share);
    let counted: Vec<Counters> = ratios.values().filter_map(|known| known.3.counters).collect();
    let mean = |value: fn(&Counters) -> Option<f64>| {
        let values: Vec<f64> = counted.iter().filter_map(value).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    CachePoint {
        bytes,
        time,
        high,
        runs: ratios.values().map(|known| known.2).sum(),
        cpi: mean(Counters::cpi),
        bandwidth: mean(Counters::bandwidth),
    }
}

fn stretch(lones: &[&Lone]) -> Option<Nanos> {
    let stretches: u64 = lones.iter().map(|lone| lone.stretches).sum();
    let cpu: f64 = lones.iter().map(|lone| lone.in_stretches).sum();
    (stretches > 0).then(|| Nanos::new((cpu / stretches as f64) as u64))
}

/// The commonest reason why threads were not alone, by CPU time.
fn main_reason<'a>(spans: impl Iterator<Item = (&'a AloneSpan, f64)>) -> Option<NotAlone> {
    let mut sums: BTreeMap<NotAlone, f64> = BTreeMap::new();
    for (span, cpu) in spans.filter(|(span, _)| !span.alone) {
        if let Some(reason) = span.reason {
            *sums.entry(reason).or_default() += cpu;
        }
    }
    sums.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(reason, _)| reason)
}
