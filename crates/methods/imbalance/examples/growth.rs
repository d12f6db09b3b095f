//! How the time of `lime::why` grows with events, threads and how many events are distinct. Prints a table; asserts nothing.

use std::hint::black_box;
use std::time::Instant;

use holdup_imbalance::{Method, WhyOptions, why};
use holdup_model::counts::{
    BasicBlock, BlockExit, BlockId, CountedThread, Counts, EventId, EventTable, Instance, Section,
    ThreadLabel,
};

/// Numbers that look random: splitmix64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (value ^ (value >> 31)) % bound
    }
}

/// Events like those of a program: each distinct one is near one of some `kinds` of behaviour, with noise, the rest are
/// multiples of distinct ones. Blocks are in a row, with a branch around every second one.
fn program(events: usize, threads: usize, distinct: usize, kinds: usize) -> Counts {
    let mut numbers = Numbers(7);
    let kind: Vec<Vec<u64>> =
        (0..kinds).map(|_| (0..threads).map(|_| 1_000 + numbers.below(9_000)).collect()).collect();
    let columns: Vec<Vec<u64>> = (0..distinct)
        .map(|at| {
            let near = &kind[at % kinds];
            near.iter().map(|count| count * 100 + numbers.below(100_000)).collect()
        })
        .collect();
    let mut entries = Vec::with_capacity(events * threads);
    let mut time = vec![0; threads];
    for event in 0..events {
        let times = 1 + (event / distinct) as u64;
        for (row, count) in columns[event % distinct].iter().enumerate() {
            entries.push((EventId(event as u32), row as u32, count * times));
            time[row] += count * times * 5;
        }
    }
    let block = |at: usize| BasicBlock {
        address: 64 * at as u64,
        instructions: 5,
        exit: if at.is_multiple_of(2) { BlockExit::Branch } else { BlockExit::Falls },
        ..BasicBlock::default()
    };
    Counts {
        threads: (0..threads as u32).map(|number| ThreadLabel { number, name: None }).collect(),
        blocks: (0..events + 2).map(block).collect(),
        edges: (0..events as u32)
            .map(|at| {
                if at % 3 == 2 {
                    (BlockId(at / 3 * 2), BlockId(at / 3 * 2 + 2))
                } else {
                    let from = at / 3 * 2 + at % 3;
                    (BlockId(from), BlockId(from + 1))
                }
            })
            .collect(),
        sections: vec![Section {
            instances: vec![Instance {
                threads: (0..threads as u32).map(CountedThread).collect(),
                time,
                executed: EventTable { entries },
                ..Instance::default()
            }],
            ..Section::default()
        }],
        ..Counts::default()
    }
}

/// The least of some runs, in ms.
fn least(counts: &Counts, options: &WhyOptions) -> f64 {
    let once = || {
        let start = Instant::now();
        black_box(why(black_box(counts), options));
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..3).map(|_| once()).fold(f64::INFINITY, f64::min)
}

fn main() {
    println!(
        "{:>8} {:>8} {:>9} {:>6} {:>12} {:>12}",
        "events", "threads", "distinct", "kinds", "stacked ms", "paper ms"
    );
    let paper = WhyOptions { method: Method::Paper, ..WhyOptions::default() };
    let cases = [
        (1_000, 64, 1_000, 20),
        (2_000, 64, 2_000, 20),
        (5_000, 64, 5_000, 20),
        (10_000, 64, 10_000, 20),
        (20_000, 64, 20_000, 20),
        (10_000, 8, 1_000, 20),
        (10_000, 16, 1_000, 20),
        (10_000, 32, 1_000, 20),
        (10_000, 64, 1_000, 20),
        (10_000, 64, 1_000, 1_000),
        (10_000, 64, 10_000, 1),
        (10_000, 64, 10_000, 200),
        (10_000, 64, 10_000, 10_000),
    ];
    for (events, threads, distinct, kinds) in cases {
        let counts = program(events, threads, distinct, kinds);
        println!(
            "{events:>8} {threads:>8} {distinct:>9} {kinds:>6} {:>12.1} {:>12.1}",
            least(&counts, &WhyOptions::default()),
            least(&counts, &paper)
        );
    }
}
