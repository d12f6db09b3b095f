//! The predictor with tagged tables.

use proptest::prelude::*;

use super::{Random, pattern_misses, pentium_m};
use crate::branch::Predictor;
use crate::machine::{PredictorFacts, TageFacts};

fn tage() -> PredictorFacts {
    let tables = TageFacts { tables: 6, entries: 2048, tag_bits: 12, shortest: 4, longest: 194 };
    PredictorFacts {
        bimodal: 8192,
        global: 0,
        global_ways: 0,
        loops: 0,
        loop_ways: 0,
        indirect: 2048,
        returns: 32,
        perfect: false,
        tage: Some(tables),
    }
}

/// The share of mispredictions of a branch with a row of random outcomes that comes again and again, in a loop: in the last
/// four of twenty rounds.
fn period_misses(facts: &PredictorFacts, period: usize) -> f64 {
    let mut random = Random(0x1234_5678_9abc_def1);
    let row: Vec<bool> = (0..period).map(|_| random.next() >> 40 & 1 == 1).collect();
    let mut predictor = Predictor::new(facts);
    let mut misses = 0;
    for round in 0..20 {
        for taken in &row {
            let missed = !predictor.conditional(0x40_1230, *taken);
            misses += usize::from(round >= 16 && missed);
            predictor.conditional(0x40_1274, true);
        }
    }
    misses as f64 / (4 * period) as f64
}

#[test]
fn a_long_row_that_comes_again_is_learned() {
    for period in [10, 100, 1000, 2000] {
        let missed = period_misses(&tage(), period);
        assert!(missed < 0.01, "{period}: {missed}");
    }
    let missed = period_misses(&pentium_m(), 2000);
    assert!(missed > 0.1, "{missed}");
}

/// As on a Golden Cove, where such a row costs no more than others up to 8,192 outcomes, and four times as much with 16,384.
#[test]
fn rows_are_learned_as_far_as_there_are_entries() {
    let (fits, does_not) = (period_misses(&tage(), 8192), period_misses(&tage(), 16_384));
    assert!(fits < 0.02 && does_not > 0.1, "{fits} {does_not}");
}

#[test]
fn a_row_with_more_outcomes_than_entries_is_not_learned() {
    let missed = period_misses(&tage(), 100_000);
    assert!((0.4..0.6).contains(&missed), "{missed}");
}

#[test]
fn ends_of_loops_are_known_as_far_as_the_longest_history_reaches() {
    // Of a loop in a loop: in the last fifty of two hundred rounds.
    let misses = |iterations: u64| {
        let mut predictor = Predictor::new(&tage());
        let mut missed = 0;
        for round in 0..200 {
            for iteration in 1..=iterations {
                let hit = predictor.conditional(0x40_1234, iteration < iterations);
                missed += u32::from(round >= 150 && !hit);
            }
            predictor.conditional(0x40_1300, true);
        }
        missed
    };
    for iterations in [2, 3, 10, 64, 150] {
        assert_eq!(misses(iterations), 0, "{iterations}");
    }
    assert_eq!(misses(1000), 50);
}

#[test]
fn short_patterns_are_learned() {
    assert_eq!(pattern_misses(&tage(), &[true, false]), 0);
    assert_eq!(pattern_misses(&tage(), &[true, true, false, true, false, false]), 0);
}

#[test]
fn coins_are_missed_as_often_as_their_rare_side_comes() {
    for (mask, least, most) in [(1, 0.48, 0.53), (15, 0.06, 0.085)] {
        let mut predictor = Predictor::new(&tage());
        let mut random = Random(0x1234_5678_9abc_def1);
        let missed = (0..100_000)
            .filter(|_| !predictor.conditional(0x40_1234, random.next() >> 40 & mask != 0))
            .count();
        let share = missed as f64 / 1e5;
        assert!((least..most).contains(&share), "{mask}: {share}");
    }
}

#[test]
fn targets_that_follow_each_other_are_learned_whatever_their_bits() {
    let mut predictor = Predictor::new(&tage());
    let targets = [0x50_0000, 0x50_0140, 0x50_0240, 0x50_0140, 0x50_0340, 0x50_0140, 0x50_0240];
    let mut rounds = |count: usize| {
        (0..count).filter(|round| !predictor.indirect(0x40_1234, targets[round % targets.len()])).count()
    };
    rounds(700);
    assert_eq!(rounds(700), 0);
}

#[test]
fn a_branch_that_repeats_one_far_behind_is_predicted() {
    let mut predictor = Predictor::new(&tage());
    let mut random = Random(99);
    let mut misses = 0;
    for round in 0..40_000 {
        let taken = random.next() >> 40 & 1 == 1;
        predictor.conditional(0x40_1230, taken);
        for other in 0..6 {
            predictor.conditional(0x40_2000 + 16 * other, true);
        }
        misses += usize::from(!predictor.conditional(0x40_1254, taken) && round >= 20_000);
    }
    assert!(misses < 400, "{misses}");
}

proptest! {
    #[test]
    fn any_geometry_of_tables_works_and_gives_the_same_twice(
        tables in 0u32..20, entries in 0u32..300, tag_bits in 0u32..20, shortest in 0u32..50, longest in 0u32..300, seed in 1u64..,
    ) {
        let facts = TageFacts { tables, entries, tag_bits, shortest, longest };
        let facts = PredictorFacts { bimodal: 64, tage: Some(facts), ..tage() };
        let run = || {
            let mut predictor = Predictor::new(&facts);
            let mut random = Random(seed);
            (0..2000).map(|_| {
                let any = random.next();
                let address = 0x40_0000 + (any & 0xfff);
                match any >> 60 {
                    0 => predictor.indirect(address, any >> 20 & 0xffff),
                    1 => { predictor.call(address); true }
                    2 => predictor.returns(address),
                    _ => predictor.conditional(address, any >> 40 & 3 != 0),
                }
            }).collect::<Vec<bool>>()
        };
        prop_assert_eq!(run(), run());
    }
}
