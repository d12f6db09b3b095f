mod tage;

use proptest::prelude::*;

use super::*;

fn pentium_m() -> PredictorFacts {
    PredictorFacts {
        bimodal: 4096,
        global: 2048,
        global_ways: 4,
        loops: 128,
        loop_ways: 2,
        indirect: 256,
        returns: 16,
        perfect: false,
        tage: None,
    }
}

/// A generator with a fixed seed (xorshift, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Mispredictions of one branch with these outcomes.
fn misses(predictor: &mut Predictor, address: u64, outcomes: impl Iterator<Item = bool>) -> usize {
    outcomes.filter(|taken| !predictor.conditional(address, *taken)).count()
}

#[test]
fn a_branch_that_is_always_taken_is_missed_once() {
    let mut predictor = Predictor::new(&pentium_m());
    assert_eq!(misses(&mut predictor, 0x40_1234, std::iter::repeat_n(true, 1000)), 1);
    assert_eq!(misses(&mut predictor, 0x40_2000, std::iter::repeat_n(false, 1000)), 0);
}

#[test]
fn a_branch_that_alternates_is_learned() {
    let mut predictor = Predictor::new(&pentium_m());
    let alternating = |count| (0..count).map(|n| n % 2 == 0);
    let learning = misses(&mut predictor, 0x40_1234, alternating(20));
    assert!(learning < 10, "{learning}");
    assert_eq!(misses(&mut predictor, 0x40_1234, alternating(10_000)), 0);
}

/// Mispredictions of a loop's branch in 100 runs of the loop, after 10 of them.
fn loop_misses(facts: &PredictorFacts, iterations: u64) -> usize {
    let mut predictor = Predictor::new(facts);
    let run = |count: u64| (0..count * iterations).map(|n| (n + 1) % iterations != 0);
    misses(&mut predictor, 0x40_1234, run(10));
    misses(&mut predictor, 0x40_1234, run(100))
}

#[test]
fn constant_loops_are_learned_up_to_64_iterations() {
    for iterations in 2..=64 {
        assert_eq!(loop_misses(&pentium_m(), iterations), 0, "{iterations}");
    }
    for iterations in [65, 66, 100, 1000] {
        assert_eq!(loop_misses(&pentium_m(), iterations), 100, "{iterations}");
    }
}

#[test]
fn without_a_loop_predictor_each_end_of_a_loop_is_missed() {
    let facts = PredictorFacts { loops: 0, ..pentium_m() };
    assert_eq!(loop_misses(&facts, 30), 100);
}

#[test]
fn a_loop_that_changes_its_length_is_learned_anew() {
    let mut predictor = Predictor::new(&pentium_m());
    let run = |length: u64, count: u64| (0..count * length).map(move |n| (n + 1) % length != 0);
    misses(&mut predictor, 0x40_1234, run(10, 10));
    let changed = misses(&mut predictor, 0x40_1234, run(20, 100));
    // Once when it goes on after the tenth iteration, and at the ends of loops until the new length was seen twice.
    assert!((1..=4).contains(&changed), "{changed}");
}

#[test]
fn fair_coins_are_missed_half_of_the_time() {
    let mut predictor = Predictor::new(&pentium_m());
    let mut random = Random(0x1234_5678_9abc_def1);
    let misses = misses(&mut predictor, 0x40_1234, (0..100_000).map(|_| random.next() >> 40 & 1 == 1));
    assert!((48_500..51_500).contains(&misses), "{misses}");
}

#[test]
fn a_biased_coin_is_missed_about_as_often_as_its_rare_side_comes() {
    let mut predictor = Predictor::new(&pentium_m());
    let mut random = Random(0x1234_5678_9abc_def1);
    let misses = misses(&mut predictor, 0x40_1234, (0..100_000).map(|_| random.next() >> 40 & 15 != 0));
    assert!((6_000..12_500).contains(&misses), "{misses}");
}

/// Mispredictions of the last 1000 rounds of a loop with a branch in it that follows a pattern.
fn pattern_misses(facts: &PredictorFacts, pattern: &[bool]) -> usize {
    let mut predictor = Predictor::new(facts);
    let mut misses = 0;
    for round in 0..3000 {
        let patterned = predictor.conditional(0x40_1230, pattern[round % pattern.len()]);
        let back = predictor.conditional(0x40_1274, true);
        misses += if round >= 2000 { usize::from(!patterned) + usize::from(!back) } else { 0 };
    }
    misses
}

#[test]
fn a_pattern_is_learned_from_the_path() {
    let pattern = [true, true, false, true, false, false];
    assert_eq!(pattern_misses(&pentium_m(), &pattern), 0);
    // With one set the path has six bits: three taken branches.
    let small = PredictorFacts { global: 4, ..pentium_m() };
    assert!(pattern_misses(&small, &pattern) > 100, "{}", pattern_misses(&small, &pattern));
}

#[test]
fn a_branch_that_repeats_an_earlier_one_is_predicted() {
    let mut predictor = Predictor::new(&pentium_m());
    let mut random = Random(99);
    let (mut first, mut second) = (0, 0);
    for round in 0..20_000 {
        let taken = random.next() >> 40 & 1 == 1;
        let counts = usize::from(round >= 10_000);
        first += counts * usize::from(!predictor.conditional(0x40_1230, taken));
        second += counts * usize::from(!predictor.conditional(0x40_1254, taken));
        predictor.conditional(0x40_1298, true);
    }
    assert!((4_500..5_500).contains(&first), "{first}");
    assert!(second < 500, "{second}");
}

#[test]
fn returns_are_right_down_to_the_depth_of_the_stack() {
    let mut predictor = Predictor::new(&pentium_m());
    for depth in [1, 2, 16, 17, 20, 40] {
        for level in 0..depth {
            predictor.call(0x1000 + 8 * level);
        }
        let right: Vec<bool> = (0..depth).rev().map(|level| predictor.returns(0x1000 + 8 * level)).collect();
        let expected: Vec<bool> = (0..depth).map(|popped| popped < 16).collect();
        assert_eq!(right, expected, "{depth}");
    }
}

#[test]
fn a_return_without_a_call_is_missed() {
    let mut predictor = Predictor::new(&pentium_m());
    assert!(!predictor.returns(0x1234));
    predictor.call(0x1238);
    assert!(predictor.returns(0x1238));
    assert!(!predictor.returns(0x1234));
}

#[test]
fn an_indirect_branch_with_one_target_is_missed_once() {
    let mut predictor = Predictor::new(&pentium_m());
    let mut random = Random(7);
    let mut misses = 0;
    for _ in 0..1000 {
        // Different paths to it do not matter.
        predictor.conditional(0x40_1000, random.next() >> 40 & 1 == 1);
        misses += u32::from(!predictor.indirect(0x40_1234, 0x50_0000));
    }
    assert_eq!(misses, 1);
}

#[test]
fn an_indirect_branch_whose_targets_follow_each_other_is_learned() {
    let mut predictor = Predictor::new(&pentium_m());
    let targets = [0x50_0000, 0x50_0140, 0x50_0240, 0x50_0140, 0x50_0340];
    let mut rounds = |count: usize| {
        (0..count).filter(|round| !predictor.indirect(0x40_1234, targets[round % targets.len()])).count()
    };
    rounds(100);
    // Targets that differ in none of the lower six bits cannot be told apart by the path.
    assert!(rounds(1000) > 100);

    let mut predictor = Predictor::new(&pentium_m());
    let targets = [0x50_0000, 0x50_0114, 0x50_0228, 0x50_0114, 0x50_033c];
    let mut rounds = |count: usize| {
        (0..count).filter(|round| !predictor.indirect(0x40_1234, targets[round % targets.len()])).count()
    };
    assert!(rounds(100) < 30);
    assert_eq!(rounds(1000), 0);
}

#[test]
fn an_indirect_branch_with_random_targets_is_mostly_missed() {
    let mut predictor = Predictor::new(&pentium_m());
    let mut random = Random(5);
    let misses = (0..10_000)
        .filter(|_| !predictor.indirect(0x40_1234, 0x50_0000 + (random.next() >> 40 & 7) * 20))
        .count();
    assert!((8_000..9_500).contains(&misses), "{misses}");
}

#[test]
fn a_perfect_predictor_is_never_wrong() {
    let mut predictor = Predictor::new(&PredictorFacts { perfect: true, ..pentium_m() });
    let mut random = Random(3);
    for _ in 0..1000 {
        let any = random.next();
        assert!(predictor.conditional(any, any >> 40 & 1 == 1));
        assert!(predictor.indirect(any, random.next()));
        assert!(predictor.returns(any));
    }
}

proptest! {
    #[test]
    fn any_geometry_works_and_gives_the_same_twice(
        bimodal in 0u32..5000, global in 0u32..3000, global_ways in 0u32..9, loops in 0u32..200, loop_ways in 0u32..9,
        indirect in 0u32..300, returns in 0u32..20, seed in 1u64..,
    ) {
        let facts = PredictorFacts { bimodal, global, global_ways, loops, loop_ways, indirect, returns, perfect: false, tage: None };
        let run = || {
            let mut predictor = Predictor::new(&facts);
            let mut random = Random(seed);
            (0..2000).map(|_| {
                let any = random.next();
                let (address, taken) = (0x40_0000 + (any & 0xfff), any >> 40 & 3 != 0);
                match any >> 60 {
                    0 => predictor.indirect(address, any >> 20 & 0xffff),
                    1 => { predictor.call(address); true }
                    2 => predictor.returns(address),
                    _ => predictor.conditional(address, taken),
                }
            }).collect::<Vec<bool>>()
        };
        prop_assert_eq!(run(), run());
    }

    /// The words of the global predictor against lists that say the same plainly.
    #[test]
    fn the_global_predictor_is_a_list_for_each_set(
        ways in 1u32..=4, steps in prop::collection::vec((0u32..512, 0u64..4, any::<bool>(), any::<bool>()), 1..400),
    ) {
        let mut global = Global::new(8 * ways, ways);
        let mut lists: Vec<Vec<((u32, u64), u8)>> = vec![Vec::new(); 8];
        for (hash, offset, taken, mispredicted) in steps {
            let found = global.find(hash, 0x40_0000 + offset);
            let list = &mut lists[(hash >> 6) as usize];
            let at = list.iter().position(|(tag, _)| *tag == (hash & 63, offset));
            let says = |otherwise| at.map_or(otherwise, |at| list[at].1 >= 2);
            prop_assert_eq!([true, false].map(|otherwise| found.says_taken(otherwise)), [true, false].map(says));
            global.train(found, taken, mispredicted);
            let counter = match at {
                Some(at) => {
                    let (_, counter) = list.remove(at);
                    if taken { (counter + 1).min(3) } else { counter.saturating_sub(1) }
                }
                None if mispredicted => 1 + u8::from(taken),
                None => continue,
            };
            list.insert(0, ((hash & 63, offset), counter));
            list.truncate(ways as usize);
        }
    }
}

/// Prints how long a prediction takes: `cargo test --release -p holdup-sim --lib -- --ignored --nocapture predictions_a_second`.
#[test]
#[ignore = "measures, and has nothing to say of right or wrong"]
fn predictions_a_second() {
    for (name, rare) in [("regular", 0), ("one in 16 random", 15), ("random", 1)] {
        let mut random = Random(11);
        let branches: Vec<(u64, bool)> = (0..1_000_000u64)
            .map(|n| {
                (
                    0x40_0000 + n % 97 * 12,
                    if rare == 0 { n % 7 != 0 } else { random.next() >> 40 & rare != 0 },
                )
            })
            .collect();
        let mut predictor = Predictor::new(&pentium_m());
        let mut misses = 0;
        let begin = std::time::Instant::now();
        for _ in 0..20 {
            misses +=
                branches.iter().filter(|(address, taken)| !predictor.conditional(*address, *taken)).count();
        }
        let nanos = begin.elapsed().as_nanos() as f64 / 2e7;
        println!("{name}: {nanos:.2} ns a prediction, {:.3} missed", misses as f64 / 2e7);
    }
}
