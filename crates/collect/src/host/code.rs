//! How fast a core computes: chains of operations, each of which needs the result of the one before.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use super::figure::{Figure, time};

/// Measurements of each chain.
const ROUNDS: u32 = 25;

/// Steps of a chain in one measurement: some hundred microseconds.
const STEPS: u64 = 100_000;

/// Steps for slow operations.
const FEW: u64 = 20_000;

/// Cycles in a nanosecond: additions and exclusive ors in turn, which take one cycle each on every processor. (Additions of
/// constants would not do: some processors make several at once when they rename registers.)
pub(super) fn frequency() -> Figure {
    let (first, second) = (black_box(0x9e37_79b9_7f4a_7c15_u64), black_box(0x0123_4567_89ab_cdef_u64));
    let mut value = black_box(1u64);
    let each = time(2 * ROUNDS, 2 * STEPS, || {
        for _ in 0..STEPS / 20 {
            for _ in 0..20 {
                value = value.wrapping_add(first) ^ second;
            }
        }
        value = black_box(value);
    });
    Figure { best: 1.0 / each.best.max(1e-9), median: 1.0 / each.median.max(1e-9) }
}

/// Operations on integers in a cycle, by eight chains side by side of operations that differ, so that no compiler makes
/// vectors of them.
pub(super) fn additions(frequency: f64) -> Figure {
    let (one, two) = (black_box(0x9e37_79b9_7f4a_7c15_u64), black_box(0x0123_4567_89ab_cdef_u64));
    let mut values = black_box([1u64, 2, 3, 4, 5, 6, 7, 8]);
    let each = time(ROUNDS, 16 * STEPS, || {
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = values;
        for _ in 0..STEPS / 10 {
            for _ in 0..10 {
                a = a.wrapping_add(one) ^ two;
                b = (b ^ two).wrapping_sub(one);
                c = c.wrapping_sub(one) ^ two;
                d = (d ^ one).wrapping_add(two);
                e = e.wrapping_add(two) ^ one;
                f = (f ^ one).wrapping_sub(two);
                g = g.wrapping_sub(two) ^ one;
                h = (h ^ two).wrapping_add(one);
            }
        }
        values = black_box([a, b, c, d, e, f, g, h]);
    });
    let rate = |nanos: f64| 1.0 / (nanos * frequency).max(1e-9);
    Figure { best: rate(each.best), median: rate(each.median) }
}

/// Cycles by the name of a class of micro-ops. That of atomic operations has the load in it.
pub(super) fn latencies(frequency: f64) -> BTreeMap<&'static str, Figure> {
    let mut all = BTreeMap::new();
    // Less the operations that keep compilers from folding the chain, and values from becoming easy ones.
    let mut insert = |class, figure: Figure, less: f64| {
        let Figure { best, median } = figure.times(frequency);
        all.insert(class, Figure { best: best - less, median: median - less });
        best - less
    };
    // Each step is a copy, a shift and an exclusive or; where registers are copied by renaming them, the copy takes no time.
    insert("move", integers(STEPS, 0, |value, _| value ^ (value >> 7)), 2.0);
    insert("multiply", integers(STEPS, 3, |value, other| value.wrapping_mul(other) ^ other), 1.0);
    insert("divide-long", integers(FEW, u64::MAX / 3, |value, other| other / (value | 1)), 1.0);
    insert(
        "divide",
        integers(FEW, 0xffff_fff1, |value, other| u64::from(other as u32 / (value as u32 | 1))),
        1.0,
    );
    let add = insert("float-add", doubles(STEPS, 1e-3, |value, other| value + other), 0.0);
    insert("float-multiply", doubles(STEPS, 1.000_000_1, |value, other| value * other), 0.0);
    insert("double-divide", doubles(FEW, 1.7, |value, other| other / (value + other)), add);
    insert("double-root", doubles(FEW, 1.7, |value, other| (value + other).sqrt()), add);
    insert("float-divide", singles(FEW, 1.7, |value, other| other / (value + other)), add);
    insert("float-root", singles(FEW, 1.7, |value, other| (value + other).sqrt()), add);
    let shared = AtomicU64::new(0);
    let atomic = time(ROUNDS, FEW, || {
        for _ in 0..FEW {
            black_box(&shared).fetch_add(1, Ordering::SeqCst);
        }
    });
    insert("atomic", atomic, 0.0);
    all
}

/// Cycles for which an operation keeps its unit from the next, by the name of its class: eight chains side by side.
pub(super) fn busy(frequency: f64) -> BTreeMap<&'static str, Figure> {
    let mut all = BTreeMap::new();
    all.insert("divide", eight_integers(|value, other| u64::from(other as u32 / (value as u32 | 1))));
    all.insert("divide-long", eight_integers(|value, other| other / (value | 1)));
    all.insert("float-divide", eight_singles(|value, other| other / (value + other)));
    all.insert("double-divide", eight_doubles(|value, other| other / (value + other)));
    all.insert("float-root", eight_singles(|value, other| (value + other).sqrt()));
    all.insert("double-root", eight_doubles(|value, other| (value + other).sqrt()));
    all.values_mut().for_each(|figure| *figure = figure.times(frequency));
    all
}

macro_rules! chain {
    ($name:ident, $eight:ident, $number:ty, $start:literal, $other:literal) => {
        fn $eight(step: impl Fn($number, $number) -> $number) -> Figure {
            let other: $number = black_box($other);
            let start: [$number; 8] = black_box([$start; 8]);
            time(ROUNDS, 8 * (FEW / 4), || {
                let mut values = start;
                for _ in 0..FEW / 4 {
                    for value in &mut values {
                        // One after the other, not several in a vector.
                        *value = black_box(step(*value, other));
                    }
                }
                black_box(values);
            })
        }

        fn $name(steps: u64, other: $number, step: impl Fn($number, $number) -> $number) -> Figure {
            let other = black_box(other);
            let start: $number = black_box($start);
            time(ROUNDS, steps, || {
                let mut value = start;
                for _ in 0..steps / 10 {
                    for _ in 0..10 {
                        value = step(value, other);
                    }
                }
                black_box(value);
            })
        }
    };
}

chain!(integers, eight_integers, u64, 0x1234_5677, 0xffff_fff1);
chain!(doubles, eight_doubles, f64, 1.3, 1.7);
chain!(singles, eight_singles, f32, 1.3, 1.7);

/// Cycles that a mispredicted branch costs more than a predicted one. The same code runs with coins and with the same side
/// always; half of the coins are guessed wrongly.
pub(super) fn misprediction(frequency: f64) -> Figure {
    let mut state = black_box(0x853c_49e6_748f_ea9b_u64);
    let mut walk = |mask: u64| {
        let mask = black_box(mask);
        time(ROUNDS, STEPS, || {
            let mut taken = 0u64;
            for _ in 0..STEPS {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                if state >> 40 & mask == 0 {
                    // Neither side may become a conditional move.
                    taken = black_box(taken + 1);
                } else {
                    black_box(());
                }
            }
            black_box(taken);
        })
    };
    let (never, coins) = (walk(0), walk(1));
    let cycles = |coins: f64, never: f64| (coins - never).max(0.0) * 2.0 * frequency;
    Figure { best: cycles(coins.best, never.best), median: cycles(coins.median, never.median) }
}

/// Rows of outcomes that are tried, and how often each comes before it is measured.
const ROWS: [usize; 6] = [2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];
const LAPS: u32 = 12;
/// A row is known if this share of its branches is guessed wrongly, at most: of coins it is half.
const KNOWN: f64 = 0.1;

/// How many outcomes without a pattern the branch predictor knows when they come again, in the same order: the longest such row
/// of those that are tried, 0 if that is none. `misprediction` is what one costs, in cycles.
pub(super) fn known_outcomes(frequency: f64, misprediction: f64) -> u64 {
    let mut state = 0x853c_49e6_748f_ea9b_u64;
    let mut coin = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as u8 & 1
    };
    let walk = |row: &[u8]| {
        let lap = || {
            let mut taken = 0u64;
            for outcome in black_box(row) {
                if *outcome != 0 {
                    // Neither side may become a conditional move.
                    taken = black_box(taken + 1);
                } else {
                    black_box(());
                }
            }
            black_box(taken);
        };
        (0..LAPS).for_each(|_| lap());
        time(LAPS, row.len() as u64, lap).best
    };
    let is_known = |length: &usize| {
        let row: Vec<u8> = (0..*length).map(|_| coin()).collect();
        // Half of them are taken; what that takes comes in one piece.
        let mut sorted = row.clone();
        sorted.sort_unstable();
        let missed = (walk(&row) - walk(&sorted)) * frequency / misprediction.max(1.0);
        missed <= KNOWN
    };
    ROWS.iter().copied().take_while(is_known).last().unwrap_or(0) as u64
}

/// Cycles of an addition to a number in memory that each has to wait for the one before: until a store's data are in memory for a load
/// that always reads them, the addition, and the store.
pub(super) fn addition_in_memory(frequency: f64) -> Figure {
    let (number, other) = (AtomicU64::new(0), black_box(3u64));
    let added = time(ROUNDS, STEPS, || {
        for _ in 0..STEPS {
            number.store(number.load(Ordering::Relaxed).wrapping_add(other), Ordering::Relaxed);
        }
    });
    black_box(number);
    added.times(frequency)
}

/// How long a chain of multiplications takes between atomic operations, as a share of both alone: 1 if these wait for all that is
/// before them, less if they only wait for what was stored.
pub(super) fn beside_atomics() -> f64 {
    const LENGTH: u64 = 30;
    let (shared, other) = (AtomicU64::new(0), black_box(0x9e37_79b9_7f4a_7c15_u64));
    let chain = |mut value: u64| {
        for _ in 0..LENGTH {
            value = value.wrapping_mul(other) ^ other;
        }
        value
    };
    let mut value = black_box(1u64);
    let alone = time(ROUNDS, FEW, || {
        for _ in 0..FEW {
            value = chain(value);
        }
        value = black_box(value);
    });
    let atomic = time(ROUNDS, FEW, || {
        for _ in 0..FEW {
            black_box(&shared).fetch_add(1, Ordering::SeqCst);
        }
    });
    let mut sum = 0;
    let both = time(ROUNDS, FEW, || {
        for step in 0..FEW {
            shared.fetch_add(1, Ordering::SeqCst);
            sum ^= chain(other.wrapping_add(step));
        }
        sum = black_box(sum);
    });
    both.best / (alone.best + atomic.best).max(1e-9)
}
