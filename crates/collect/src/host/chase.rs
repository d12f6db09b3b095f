//! How long loads take: each needs the address that the one before loads.

use std::cell::Cell;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use holdup_model::CACHE_LINE;

use super::families::Family;
use super::figure::{Figure, time};
use super::threads::Confined;
use super::topology::{CacheKind, Topology};
use crate::files::Files;

const PAGE: u64 = 4096;

/// Loads in one measurement: from some microseconds to some hundred, so that many a one is not interrupted.
const LOADS: u64 = 2_000;

/// Measurements of each footprint.
const ROUNDS: u32 = 200;

/// Words that are read in one go when bandwidth is measured, 4 MiB, and how many times.
const PIECE: usize = 512 << 10;
const PIECES: usize = 40;

/// A line that names the next.
#[repr(align(64))]
struct Node<'a> {
    next: Cell<Option<&'a Node<'a>>>,
}

impl Node<'_> {
    fn new() -> Self {
        Node { next: Cell::new(None) }
    }
}

/// The footprints that are measured: half of the first level; of each other level, from twice the level before in steps of
/// two, up to half of it or 32 MiB.
pub(super) fn footprints(topology: &Topology) -> Vec<u64> {
    let sizes: Vec<u64> =
        (1..=3).filter_map(|level| topology.cache(level, CacheKind::Data)).map(|cache| cache.size).collect();
    let mut all = vec![sizes.first().map_or(16 << 10, |size| size / 2)];
    for (inner, size) in sizes.iter().zip(sizes.iter().skip(1)) {
        let steps = (0..).map(|step| (inner * 2) << step);
        all.extend(steps.take_while(|bytes| *bytes <= (size / 2).min(32 << 20)));
    }
    all
}

/// Numbers of pages around the reach of the first and of the second translation buffer.
pub(super) fn page_counts(family: &Family) -> Vec<u64> {
    let (first, second) = (u64::from(family.dtlb.0), u64::from(family.stlb.0));
    vec![first / 2, (first * 4).min(second / 2), second * 4]
}

/// A dependent load within so many bytes. Within a page lines come in any order, and pages too, so that neither neighbouring
/// lines nor strides can be guessed.
pub(super) fn loads(bytes: u64) -> Figure {
    let count = (bytes / CACHE_LINE).max(2) as usize;
    chased(count, &order(count))
}

/// A dependent load with one line in each of so many pages, at different places of the pages so that all sets of caches are
/// used.
pub(super) fn pages(pages: u64) -> Figure {
    let lines = PAGE / CACHE_LINE;
    let order: Vec<usize> = order(pages as usize)
        .into_iter()
        .map(|page| (page as u64 * lines + page as u64 * 7 % lines) as usize)
        .collect();
    chased((pages * lines) as usize, &order)
}

fn chased(count: usize, order: &[usize]) -> Figure {
    let nodes: Vec<Node<'_>> = (0..count).map(|_| Node::new()).collect();
    link(&nodes, order);
    let Some(first) = order.first().map(|first| &nodes[*first]) else { return Figure::default() };
    let mut at = first;
    for _ in 0..2 * order.len() {
        at = at.next.get().unwrap_or(first);
    }
    time(ROUNDS, LOADS, || {
        for _ in 0..LOADS {
            // A branch, which is guessed: to choose between two addresses takes cycles of the chain.
            let Some(next) = at.next.get() else { break };
            at = next;
        }
        at = black_box(at);
    })
}

fn link<'a>(nodes: &'a [Node<'a>], order: &[usize]) {
    for (one, next) in order.iter().zip(order.iter().cycle().skip(1)) {
        nodes[*one].next.set(nodes.get(*next));
    }
}

/// A permutation of so many, the same each time.
fn order(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for at in (1..count).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(at, (state % (at as u64 + 1)) as usize);
    }
    order
}

/// Memory that is larger than the last cache, if the machine has it to spare.
pub(super) struct Buffer {
    words: Vec<u64>,
}

impl Buffer {
    /// Four times the last cache, but at most a quarter of what is available, and at most 1 GiB.
    pub(super) fn beyond(last: u64, root: &Path) -> Buffer {
        let available = Files::below(root)
            .field("proc/meminfo", "MemAvailable")
            .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
            .map_or(64 << 20, |kilobytes| kilobytes << 10);
        let limit = crate::cgroups::memory_left(root).unwrap_or(u64::MAX).min(available) / 4;
        let bytes = (4 * last).clamp(16 << 20, 1 << 30).min(limit).max(1 << 20);
        Buffer { words: vec![1; (bytes / 8) as usize] }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.words.len() as u64 * 8
    }

    /// A dependent load without translation: what each of two further lines of a page takes, after the one that pays for the
    /// translation. (With more lines of a page, prefetchers begin to guess.)
    pub(super) fn latency(&self) -> Figure {
        let (one, three) = (self.lines_of_pages(1), self.lines_of_pages(3));
        let further = |three: f64, one: f64| (3.0 * three - one) / 2.0;
        Figure { best: further(three.best, one.best), median: further(three.median, one.median) }
    }

    /// A dependent load: of so many lines of a page in any order, then of another page. Each word that is loaded, always 1,
    /// takes part in the next address.
    fn lines_of_pages(&self, lines: u64) -> Figure {
        const PAGES: u64 = 200;
        let pages = self.bytes() / PAGE;
        let (mut state, mut line) = (0x9e37_79b9_7f4a_7c15_u64, 0);
        time(ROUNDS, lines * PAGES, || {
            for _ in 0..PAGES {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(line | 1);
                let page = ((state >> 32) * pages) >> 32;
                for _ in 0..lines {
                    // A linear congruential generator that comes to each of 64 lines.
                    line = (5 * line + self.words[((page * 64 + line) * 8) as usize]) % 64;
                }
            }
            line = black_box(line);
        })
    }

    /// GB/s that these CPUs read together, each its part.
    pub(super) fn bandwidth(&self, cpus: &[u32]) -> Figure {
        let part = self.words.len() / cpus.len().max(1);
        let piece = part.min(PIECE);
        if piece == 0 {
            return Figure::default();
        }
        let barrier = std::sync::Barrier::new(cpus.len());
        // Beginning and end of each piece, of each CPU, in nanoseconds from here.
        let origin = Instant::now();
        let read = |cpu: u32, words: &[u64]| {
            let _confined = Confined::to(Some(cpu));
            let one = |words: &[u64]| {
                barrier.wait();
                let begin = origin.elapsed().as_nanos() as f64;
                black_box(words.iter().fold(0u64, |sum, word| sum.wrapping_add(*word)));
                (begin, origin.elapsed().as_nanos() as f64)
            };
            words.chunks_exact(piece).take(PIECES).map(one).collect::<Vec<_>>()
        };
        let read: Vec<Vec<(f64, f64)>> = std::thread::scope(|scope| {
            let parts = self.words.chunks_exact(part).zip(cpus);
            let read = &read;
            let threads: Vec<_> = parts.map(|(words, cpu)| scope.spawn(move || read(*cpu, words))).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        let rate = |round: usize| {
            let begin = read.iter().map(|of| of[round].0).fold(f64::MAX, f64::min);
            let end = read.iter().map(|of| of[round].1).fold(0.0, f64::max);
            (piece * 8 * read.len()) as f64 / (end - begin)
        };
        Figure::of_rates((0..read.first().map_or(0, Vec::len)).map(rate).collect())
    }
}
