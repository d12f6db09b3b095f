//! Loops as they were recorded in whole instances.

use std::collections::BTreeMap;

use holdup_model::openmp::{Chunk, Instance, OpenMp, Vendor, Work, WorkKind};
use holdup_model::{Nanos, SiteId, Time};

use super::redone::nanos;

/// A run of iterations that one thread got at once, or one of which only is known that several chunks lay there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopChunk {
    /// How many iterations.
    pub count: u64,
    /// What they took together.
    pub time: Nanos,
    /// How many chunks it stands for; 1 for one that was recorded.
    pub chunks: u64,
}

/// A loop, or sections, in one whole instance of its region.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordedLoop {
    /// The instance.
    pub instance: Instance,
    /// Which worksharing construct of it.
    pub sequence: u32,
    /// A place in it.
    pub place: Option<SiteId>,
    /// The place of the region around it.
    pub region: Option<SiteId>,
    /// How its iterations were dealt out.
    pub kind: WorkKind,
    /// Whose runtime dealt them out.
    pub vendor: Vendor,
    /// When each thread of the team entered it, after the first one.
    pub entries: Vec<Nanos>,
    /// From the first entry to the last end, barriers left out.
    pub time: Nanos,
    /// What each thread of the team took for its part.
    pub parts: Vec<Nanos>,
    /// Its chunks, in the order of their iterations; none of a loop with a static schedule. Of very many, those that
    /// were recorded, and what is between and behind them.
    pub chunks: Vec<LoopChunk>,
    /// All its iterations, recorded one by one or not; at least 1.
    pub iterations: u64,
    /// How many chunks the threads got, recorded one by one or not.
    pub dealt: u64,
    /// What getting a chunk took (ns): the lower median of the threads' means. What other threads needed beyond that (they
    /// lost their core meanwhile) counts as work.
    pub dealing: f64,
    /// By what the times of the chunks must be multiplied to be those of all iterations.
    pub(super) scale: f64,
    /// The share of the work that is not known chunk by chunk.
    pub(super) unseen: f64,
}

impl RecordedLoop {
    /// The threads of the team, at least 1.
    pub fn threads(&self) -> u32 {
        u32::try_from(self.entries.len()).unwrap_or(u32::MAX).max(1)
    }

    /// What all iterations take together (ns), without being dealt out.
    pub fn work(&self) -> f64 {
        if self.chunks.is_empty() {
            self.parts.iter().map(|part| part.get() as f64).sum()
        } else {
            self.chunks.iter().map(|chunk| chunk.time.get() as f64).sum::<f64>() * self.scale
        }
    }
}

/// The loops and sections of all whole instances of which every thread's part was recorded, by instance.
pub fn loops(openmp: &OpenMp) -> Vec<RecordedLoop> {
    let regions: BTreeMap<Instance, _> =
        openmp.regions.iter().filter(|region| region.whole).map(|region| (region.instance, region)).collect();
    let mut works: Vec<&Work> = openmp
        .works
        .iter()
        .filter(|work| work.kind.is_loop() || work.kind == WorkKind::Sections)
        .filter(|work| regions.contains_key(&work.instance))
        .collect();
    works.sort_by_key(|work| (work.instance, work.sequence, work.thread));
    let mut chunks: Vec<&Chunk> = openmp.chunks.iter().collect();
    chunks.sort_by_key(|chunk| (chunk.instance, chunk.sequence, chunk.thread, chunk.begin));
    let mut loops = Vec::new();
    for works in works.chunk_by(|one, next| (one.instance, one.sequence) == (next.instance, next.sequence)) {
        let key = (works[0].instance, works[0].sequence);
        let from = chunks.partition_point(|chunk| (chunk.instance, chunk.sequence) < key);
        let to = chunks.partition_point(|chunk| (chunk.instance, chunk.sequence) <= key);
        let region = regions[&key.0];
        if works.len() == region.size as usize {
            let mut recorded = recorded(works, &chunks[from..to]);
            recorded.region = region.place;
            recorded.vendor = region.vendor;
            loops.push(recorded);
        }
    }
    loops
}

/// The loop of these parts, one for each thread, and these chunks, by thread and time.
fn recorded(works: &[&Work], chunks: &[&Chunk]) -> RecordedLoop {
    let first = works.iter().map(|work| work.begin).min().unwrap_or(Time::from_nanos(0));
    let last = works.iter().map(|work| work.end).max().unwrap_or(first);
    let kind = works[0].kind;
    let parts: Vec<Nanos> = works.iter().map(|work| work.end.since(work.begin)).collect();
    let (numbered, dealt) = if kind.is_dealt_out() { in_order(chunks) } else { (false, Vec::new()) };
    let told: u64 = works.iter().filter_map(|work| work.done).fold(0, u64::saturating_add);
    let seen = dealt.iter().map(|(_, chunk)| chunk.count).fold(0, u64::saturating_add);
    let iterations = works.iter().find_map(|work| work.iterations).unwrap_or(told).max(seen).max(1);
    let got: u64 = works.iter().map(|work| u64::from(work.chunks)).sum::<u64>().max(dealt.len() as u64);
    let busy: f64 = parts.iter().map(|part| part.get() as f64).sum();
    let in_chunks: f64 = dealt.iter().map(|(_, chunk)| chunk.time.get() as f64).sum();
    let complete = dealt.len() as u64 >= got;
    let dealing = Dealing::of(works, chunks, complete);
    let in_all = if complete { in_chunks } else { (busy - dealing.all).max(in_chunks) };
    let unseen = Unseen { time: in_all - in_chunks, chunks: got - dealt.len() as u64 };
    let filled = if numbered { filled(&dealt, iterations, unseen) } else { None };
    let scale = if filled.is_some() || in_chunks <= 0.0 { 1.0 } else { in_all / in_chunks };
    let beyond = (dealing.all - dealing.each * got as f64).max(0.0);
    let scale = if in_all > 0.0 { scale * (1.0 + beyond / in_all) } else { scale };
    RecordedLoop {
        instance: works[0].instance,
        sequence: works[0].sequence,
        place: works.iter().find_map(|work| work.place),
        region: None,
        kind,
        vendor: Vendor::Gnu,
        entries: works.iter().map(|work| work.begin.since(first)).collect(),
        time: last.since(first),
        parts,
        chunks: filled.unwrap_or_else(|| dealt.into_iter().map(|(_, chunk)| chunk).collect()),
        iterations,
        dealt: got,
        dealing: dealing.each,
        scale,
        unseen: if in_all > 0.0 { unseen.time / in_all } else { 0.0 },
    }
}

/// What getting chunks took (ns).
struct Dealing {
    each: f64,
    /// All threads together.
    all: f64,
}

impl Dealing {
    /// As it was timed, or else, where all chunks were recorded, what of a thread's time lies between them. `chunks` are
    /// sorted by thread.
    fn of(works: &[&Work], chunks: &[&Chunk], complete: bool) -> Dealing {
        let of_thread = |work: &&Work| -> Option<(f64, f64)> {
            if let Some(dealing) = work.dealing {
                return Some((dealing.get() as f64, f64::from(work.chunks)));
            }
            let from = chunks.partition_point(|chunk| chunk.thread < work.thread);
            let to = chunks.partition_point(|chunk| chunk.thread <= work.thread);
            let own = &chunks[from..to];
            let within: f64 = own.iter().map(|chunk| chunk.end.since(chunk.begin).get() as f64).sum();
            let part = work.end.since(work.begin).get() as f64;
            complete.then_some(((part - within).max(0.0), own.len() as f64))
        };
        let times: Vec<(f64, f64)> =
            works.iter().filter_map(of_thread).filter(|(_, chunks)| *chunks > 0.0).collect();
        let mut means: Vec<f64> = times.iter().map(|(time, chunks)| time / chunks).collect();
        means.sort_by(f64::total_cmp);
        let each = means.get(means.len().saturating_sub(1) / 2).copied().unwrap_or(0.0);
        Dealing { each, all: times.iter().map(|(time, _)| time).sum() }
    }
}

/// The chunks with their first iterations, in the order of these, upwards or downwards as the threads got them, and
/// whether all of that is known. A chunk whose size is not known is as large as any other such.
fn in_order(chunks: &[&Chunk]) -> (bool, Vec<(u64, LoopChunk)>) {
    // Numbers of iterations may be a loop variable's own, which may be negative.
    let first = |chunk: &Chunk| chunk.first.cast_signed();
    let steps = chunks.windows(2).filter(|pair| pair[0].thread == pair[1].thread);
    let upwards: i64 = steps.map(|pair| first(pair[1]).cmp(&first(pair[0])) as i64).sum();
    let mut order: Vec<&&Chunk> = chunks.iter().collect();
    order.sort_by_key(|chunk| (first(chunk), chunk.begin));
    if upwards < 0 {
        order.reverse();
    }
    let chunk = |chunk: &&&Chunk| {
        let time = chunk.end.since(chunk.begin);
        (chunk.first, LoopChunk { count: chunk.count.max(1), time, chunks: 1 })
    };
    let numbered = upwards >= 0 && chunks.iter().all(|chunk| chunk.count > 0 && first(chunk) >= 0);
    (numbered, order.iter().map(chunk).collect())
}

/// What is known of the chunks that were not recorded one by one.
#[derive(Clone, Copy)]
struct Unseen {
    /// What they took together (ns).
    time: f64,
    /// How many they are.
    chunks: u64,
}

/// The chunks with those that were not recorded in the places that they leave free. There iterations cost as those
/// before and behind; where the last chunk that was recorded is far from the end, those behind it have what is left of
/// the time. `None` if the chunks' numbers do not fit together.
fn filled(dealt: &[(u64, LoopChunk)], iterations: u64, unseen: Unseen) -> Option<Vec<LoopChunk>> {
    // Each gap lies before the chunk of the same place; the last lies behind all.
    let mut gaps = Vec::with_capacity(dealt.len() + 1);
    let mut next = 0u64;
    for (first, chunk) in dealt {
        gaps.push(first.checked_sub(next)?);
        next = first.checked_add(chunk.count)?;
    }
    let behind = iterations.checked_sub(next)?;
    let widest = gaps.iter().copied().max().unwrap_or(0);
    gaps.push(behind);
    let each = |place: usize| dealt.get(place).map(|(_, chunk)| chunk.time.get() as f64 / chunk.count as f64);
    let costs = gaps.iter().enumerate().map(|(place, &gap)| {
        let (before, after) = (place.checked_sub(1).and_then(each), each(place));
        let near = before.or(after).unwrap_or(0.0) + after.or(before).unwrap_or(0.0);
        gap as f64 * near / 2.0
    });
    let mut costs: Vec<f64> = costs.collect();
    let within: f64 = costs[..dealt.len()].iter().sum();
    if behind > widest.saturating_mul(2)
        && let Some(last) = costs.last_mut()
    {
        *last = (unseen.time - within).max(0.0);
    }
    let all: f64 = costs.iter().sum();
    let scale = if all > 0.0 { unseen.time / all } else { 0.0 };
    let free: f64 = gaps.iter().map(|&gap| gap as f64).sum();
    let gap = |place: usize| {
        let chunks = (gaps[place] as f64 / free * unseen.chunks as f64).round() as u64;
        let time = nanos(costs[place] * scale);
        (gaps[place] > 0).then_some(LoopChunk { count: gaps[place], time, chunks: chunks.max(1) })
    };
    let mut filled = Vec::with_capacity(dealt.len() + 1);
    for (place, (_, chunk)) in dealt.iter().enumerate() {
        filled.extend(gap(place));
        filled.push(*chunk);
    }
    filled.extend(gap(dealt.len()));
    Some(filled)
}
