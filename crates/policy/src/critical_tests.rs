//! Algorithm 1 against slices made by hand: each branch, both thresholds, both reactive rules.

use proptest::prelude::*;

use super::{Alone, Critical, Rules, ScheduledOut};
use crate::{Moment, Policy, Ratio, Slice, ThreadSlice, WaitTable};

fn slice(policy: &mut Critical, criticality: &[u128]) -> Vec<u32> {
    let thread = |&criticality: &u128| ThreadSlice { criticality, lives: true, joins: false, misses: [0; 3] };
    let threads: Vec<ThreadSlice> = criticality.iter().map(thread).collect();
    policy.decide(&Slice { length: 1000, threads: &threads, bottlenecks: &WaitTable::new(0) });
    policy.accelerated().to_vec()
}

fn react(policy: &mut Critical, active: &[u32]) -> Vec<u32> {
    let flags: Vec<bool> = (0..4).map(|thread| active.contains(&thread)).collect();
    policy.react(&Moment { now: 0, active: &flags, bottlenecks: &WaitTable::new(0) });
    (0..4).filter(|&thread| policy.is_fast(thread)).collect()
}

fn paper() -> Critical {
    Critical::new(Rules::default())
}

const NOBODY: [u32; 0] = [];

#[test]
fn without_an_accelerated_thread_the_most_critical_one_is_chosen_above_alpha() {
    assert_eq!(slice(&mut paper(), &[100, 121, 110, 100]), [1]);
    assert_eq!(slice(&mut paper(), &[100, 119, 110, 100]), NOBODY);
}

#[test]
fn at_alpha_nobody_is_chosen_and_just_above_somebody() {
    assert_eq!(slice(&mut paper(), &[1_000_000, 1_200_000]), NOBODY);
    assert_eq!(slice(&mut paper(), &[1_000_000, 1_200_001]), [1]);
}

#[test]
fn of_equals_the_first_is_chosen() {
    assert_eq!(slice(&mut paper(), &[100, 300, 300, 100]), [1]);
}

#[test]
fn an_accelerated_thread_stays_while_it_is_far_above_the_others() {
    let mut policy = paper();
    assert_eq!(slice(&mut policy, &[100, 300, 100]), [1]);
    assert_eq!(slice(&mut policy, &[100, 150, 100]), [1]);
}

#[test]
fn another_thread_takes_its_place_when_that_is_most_critical() {
    let mut policy = paper();
    assert_eq!(slice(&mut policy, &[100, 300, 100]), [1]);
    assert_eq!(slice(&mut policy, &[100, 120, 150]), [2]);
}

#[test]
fn the_smallest_is_that_of_the_others_when_one_is_accelerated() {
    let mut policy = paper();
    slice(&mut policy, &[100, 300, 100]);
    // 110 / 85 would be above α, but the 85 are those of the accelerated thread; and 85 / 110 is below β.
    assert_eq!(slice(&mut policy, &[100, 85, 110]), NOBODY);
    // The same again: now nobody is accelerated, and all count.
    assert_eq!(slice(&mut policy, &[100, 85, 110]), [2]);
}

#[test]
fn below_beta_the_accelerated_thread_is_slowed_down_and_at_beta_not() {
    let mut policy = paper();
    slice(&mut policy, &[100, 300, 100]);
    assert_eq!(slice(&mut policy, &[1_000_000, 800_000, 1_000_000]), [1]);
    assert_eq!(slice(&mut policy, &[1_000_000, 799_999, 1_000_000]), NOBODY);
}

#[test]
fn a_thread_without_criticality_makes_the_ratio_infinite() {
    assert_eq!(slice(&mut paper(), &[0, 1]), [1]);
    assert_eq!(slice(&mut paper(), &[0, 0]), NOBODY);
}

/// Threads with their criticality, of which some live, and some of those wait for the end of others.
fn with_others(threads: [(u128, bool, bool); 4]) -> Vec<u32> {
    let thread = |(criticality, lives, joins)| ThreadSlice { criticality, lives, joins, misses: [0; 3] };
    let mut policy = paper();
    let threads = threads.map(thread);
    policy.decide(&Slice { length: 1000, threads: &threads, bottlenecks: &WaitTable::new(0) });
    policy.accelerated().to_vec()
}

#[test]
fn threads_that_have_ended_are_neither_smallest_nor_chosen() {
    let threads = [(0, false, false), (100, true, false), (110, true, false), (900, false, false)];
    assert_eq!(with_others(threads), NOBODY);
}

#[test]
fn who_waits_for_the_end_of_others_is_not_the_smallest_but_can_be_chosen() {
    let with =
        |criticality| [(criticality, true, true), (100, true, false), (110, true, false), (100, true, false)];
    assert_eq!(with_others(with(0)), NOBODY);
    assert_eq!(with_others(with(130)), [0]);
}

#[test]
fn an_accelerated_thread_that_is_out_is_slow_until_it_is_back() {
    let mut policy = paper();
    slice(&mut policy, &[100, 300, 100]);
    assert_eq!(react(&mut policy, &[0, 1, 2]), [1]);
    assert_eq!(react(&mut policy, &[0, 2]), NOBODY);
    assert_eq!(react(&mut policy, &[0, 1, 2]), [1]);
}

#[test]
fn it_can_be_told_to_stay_slow_or_fast_instead() {
    let with = |scheduled_out| {
        let mut policy = Critical::new(Rules { scheduled_out, ..Rules::default() });
        slice(&mut policy, &[100, 300, 100]);
        [react(&mut policy, &[0, 2]), react(&mut policy, &[0, 1, 2])]
    };
    assert_eq!(with(ScheduledOut::Ends), [NOBODY, NOBODY]);
    assert_eq!(with(ScheduledOut::Ignored), [[1], [1]]);
}

#[test]
fn who_runs_alone_is_fast_and_stays_so_up_to_the_end_of_the_slice() {
    let mut policy = paper();
    assert_eq!(react(&mut policy, &[0, 2]), NOBODY);
    assert_eq!(react(&mut policy, &[2]), [2]);
    assert_eq!(react(&mut policy, &[0, 1, 2, 3]), [2]);
    assert_eq!(slice(&mut policy, &[100, 100, 79, 100]), NOBODY);
}

#[test]
fn who_runs_alone_is_fast_while_the_accelerated_thread_is_out() {
    let mut policy = paper();
    slice(&mut policy, &[100, 300, 100]);
    assert_eq!(react(&mut policy, &[0]), [0]);
    assert_eq!(react(&mut policy, &[0, 1]), [1]);
    assert_eq!(policy.accelerated(), [1]);
}

#[test]
fn who_runs_alone_can_be_told_to_take_the_place_of_the_accelerated_thread() {
    for rules in [
        Rules { alone: Alone::TakesOver, ..Rules::default() },
        Rules { scheduled_out: ScheduledOut::Ends, ..Rules::default() },
    ] {
        let mut policy = Critical::new(rules);
        slice(&mut policy, &[100, 300, 100]);
        assert_eq!(react(&mut policy, &[0]), [0]);
        assert_eq!(react(&mut policy, &[0, 1]), [0]);
    }
}

#[test]
fn without_the_second_rule_who_runs_alone_is_not_fast() {
    let mut policy = Critical::new(Rules { alone: Alone::Ignored, ..Rules::default() });
    assert_eq!(react(&mut policy, &[2]), NOBODY);
}

#[test]
fn several_are_accelerated_if_several_are_critical() {
    let mut policy = Critical::new(Rules { most: 2, ..Rules::default() });
    assert_eq!(slice(&mut policy, &[100, 300, 400, 200]), [2, 1]);
    // 1 and 2 are no longer above α, one of them is below β.
    assert_eq!(slice(&mut policy, &[100, 95, 70, 100]), [1]);
    assert_eq!(react(&mut policy, &[3]), [3]);
    assert_eq!(react(&mut policy, &[1, 3]), [1, 3]);
}

/// The paper's algorithm word by word, for one thread.
fn algorithm_1(f: Option<usize>, c: &[u128], alpha: Ratio, beta: Ratio) -> Option<usize> {
    let maxindex = (0..c.len()).rev().max_by_key(|&index| c[index])?;
    let least =
        |but: Option<usize>| (0..c.len()).filter(|&index| Some(index) != but).map(|index| c[index]).min();
    let is_above = |least: Option<u128>| least.is_some_and(|least| alpha.is_exceeded(c[maxindex], least));
    match f {
        None if is_above(least(None)) => Some(maxindex),
        None => None,
        Some(f) if is_above(least(Some(f))) => Some(maxindex),
        Some(f) if beta.is_missed(c[f], c[maxindex]) => None,
        Some(f) => Some(f),
    }
}

proptest! {
    #[test]
    fn with_one_thread_it_is_the_papers_algorithm(
        slices in prop::collection::vec(prop::collection::vec(0u128..300, 5), 1..20),
        alpha in 1000u32..2000,
        beta in 500u32..1000,
    ) {
        let (alpha, beta) = (Ratio::thousandths(alpha), Ratio::thousandths(beta));
        let mut policy = Critical::new(Rules { alpha, beta, ..Rules::default() });
        let mut f = None;
        for criticality in slices {
            f = algorithm_1(f, &criticality, alpha, beta);
            let found = slice(&mut policy, &criticality);
            prop_assert_eq!(found.first().map(|&index| index as usize), f);
            prop_assert!(found.len() <= 1);
        }
    }

    #[test]
    fn never_are_more_accelerated_than_allowed(
        steps in prop::collection::vec((prop::collection::vec(0u128..300, 4), prop::collection::vec(0u32..4, 0..4)), 1..20),
        most in 0usize..5,
    ) {
        let mut policy = Critical::new(Rules { most, ..Rules::default() });
        for (criticality, active) in steps {
            slice(&mut policy, &criticality);
            prop_assert!(react(&mut policy, &active).len() <= most);
            prop_assert!(policy.accelerated().len() <= most);
        }
    }
}
