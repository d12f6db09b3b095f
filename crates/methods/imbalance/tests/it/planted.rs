//! One planted cause each: it must come first, with its kind, a high score and a high charge.

use holdup_imbalance::{Cause, CauseKind, Verdict, Why, WhyOptions, why};

use crate::synthetic::{Do, Here, Synthetic, call_one, either, library, turns, until, when};

/// The lines that a cause shows.
pub(crate) fn lines(cause: &Cause) -> Vec<u32> {
    let latch = cause.latch.iter().flatten();
    cause.at.iter().chain(&cause.to).chain(latch).filter_map(|frame| frame.line).collect()
}

fn answer(body: Vec<Vec<Do>>, threads: u64, instances: u64) -> Why {
    why(&Synthetic::new(body).run(threads, instances, 7), &WhyOptions::default())
}

/// Demands the planted line first with this kind, a score above 0.7 and nearly all of the charge, from 8 to 64 threads.
fn first(body: &dyn Fn() -> Vec<Vec<Do>>, line: u32, kind: CauseKind) {
    for threads in [8, 16, 32, 64] {
        for instances in [1, 4] {
            let why = answer(body(), threads, instances);
            let section = &why.sections[0];
            let case = format!("{threads} threads, {instances} instances: {:#?}", section.causes);
            assert_eq!(section.verdict, Verdict::Found, "{case}");
            let cause = &section.causes[0];
            assert!(lines(cause).contains(&line), "{case}");
            assert_eq!(cause.kind, kind, "{case}");
            assert!(cause.score > 0.7 && cause.charge > 0.7 && !cause.minor, "{case}");
            assert!(section.explained > 0.7 && section.unexplained < 0.3, "{case}");
            let (low, high) = cause.interval.expect("there are enough threads");
            assert!(low <= cause.score + 0.05 && high >= cause.score - 0.05, "{case}");
        }
    }
}

/// The same work for all, with a little noise that is nobody's.
pub(crate) fn balanced() -> Do {
    turns(500, |_| 20, vec![Do::Work(30), when(501, |here| here.below(2) == 0, vec![Do::Work(1)])])
}

/// All programs here with one place.
pub(crate) fn all() -> Vec<Vec<Vec<Do>>> {
    vec![
        owner(),
        shared(),
        extra(),
        several(),
        both_ways(),
        triangle(),
        tree(),
        functions(),
        longer(),
        more_often(),
        conditions(),
        two(),
        uneven(),
        uneven_until(),
    ]
}

fn uneven() -> Vec<Vec<Do>> {
    vec![vec![balanced(), turns(40, |here| 100 + 37 * (here.me * 7 % 29), vec![Do::Work(12)])]]
}

fn uneven_until() -> Vec<Vec<Do>> {
    vec![vec![balanced(), until(40, |here| 100 + 37 * (here.me * 7 % 29), vec![Do::Work(12)])]]
}

fn owner() -> Vec<Vec<Do>> {
    let owner = |here: &mut Here<'_>| (here.turns[0] + here.turns[1]) % here.threads == here.me;
    let mine = when(668, owner, vec![Do::Call(671, 1)]);
    vec![
        vec![balanced(), turns(10, |_| 15, vec![turns(11, |_| 15, vec![mine])])],
        vec![turns(20, |_| 30, vec![turns(21, |_| 30, vec![Do::Work(8)])])],
    ]
}

fn shared() -> Vec<Vec<Do>> {
    let mine = when(668, |here| here.turn() % 16 <= here.me % 16, vec![Do::Call(671, 1)]);
    vec![
        vec![Do::Call(5, 1), turns(10, |_| 40, vec![mine]), Do::Call(6, 1)],
        vec![turns(20, |_| 100, vec![Do::Work(8)])],
    ]
}

fn extra() -> Vec<Vec<Do>> {
    vec![vec![balanced(), when(300, |here| here.me == 0, vec![turns(301, |_| 900, vec![Do::Work(10)])])]]
}

fn several() -> Vec<Vec<Do>> {
    let small = |line| when(line, |here| here.me == 0, vec![Do::Work(2)]);
    let large = when(302, |here| here.me == 0, vec![turns(303, |_| 900, vec![Do::Work(10)])]);
    vec![vec![balanced(), small(300), small(301), large, small(304)]]
}

/// Zones of so many slabs for each of eight threads, with so many bodies in each.
fn zones(slabs: [u64; 8], bodies: [u64; 8]) -> Vec<Vec<Do>> {
    let slabs = move |here: &mut Here<'_>| slabs[here.me as usize % 8];
    let bodies = move |here: &mut Here<'_>| bodies[here.me as usize % 8];
    vec![
        vec![balanced(), turns(177, slabs, vec![Do::Call(178, 1)])],
        vec![turns(67, bodies, vec![Do::Work(20)])],
    ]
}

fn both_ways() -> Vec<Vec<Do>> {
    let test = |here: &mut Here<'_>| here.turn() < here.me * 4 % 61;
    vec![vec![turns(10, |_| 64, vec![either(11, test, vec![Do::Work(100)], vec![Do::Work(80)])])]]
}

fn triangle() -> Vec<Vec<Do>> {
    let row = |here: &mut Here<'_>| here.me * 8 + here.turns[0];
    vec![vec![until(50, |_| 8, vec![until(51, row, vec![Do::Work(9)])])]]
}

pub(crate) fn tree() -> Vec<Vec<Do>> {
    let goes_on = |here: &mut Here<'_>| {
        let depth = here.turn();
        depth < 3 || (depth < 25 && here.below(1000) < 420 + 5 * (here.me * 5 % 13))
    };
    let walk = either(72, goes_on, vec![Do::Work(40), Do::Call(73, 1), Do::Call(74, 1)], vec![Do::Work(2)]);
    vec![vec![turns(70, |_| 30, vec![Do::Call(71, 1)])], vec![walk]]
}

fn functions() -> Vec<Vec<Do>> {
    let which = |here: &mut Here<'_>| u64::from(here.turn() < here.me * 3 % 31);
    vec![
        vec![turns(80, |_| 32, vec![call_one(81, which, vec![1, 2])])],
        vec![Do::Work(10)],
        vec![turns(90, |_| 10, vec![Do::Work(30)])],
    ]
}

fn longer() -> Vec<Vec<Do>> {
    vec![vec![balanced(), turns(95, |_| 12, vec![library(96, |here| 200 + 41 * (here.me * 11 % 17))])]]
}

fn more_often() -> Vec<Vec<Do>> {
    let mine = when(97, |here| here.turn() % 16 < here.me % 16, vec![library(98, |_| 500)]);
    vec![vec![turns(95, |_| 48, vec![mine])]]
}

fn conditions() -> Vec<Vec<Do>> {
    let a = |here: &mut Here<'_>| here.turn().is_multiple_of(2) && here.turn() / 2 < here.me * 5 % 23;
    let b = |here: &mut Here<'_>| here.turn() % 2 == 1 && here.turn() / 2 < here.me * 9 % 23;
    let work = || vec![Do::Call(60, 1)];
    vec![
        vec![turns(56, |_| 48, vec![when(57, a, work()), when(58, b, work())])],
        vec![turns(61, |_| 9, vec![Do::Work(20)])],
    ]
}

fn two() -> Vec<Vec<Do>> {
    let extra = when(31, |here| here.me.is_multiple_of(3), vec![turns(32, |_| 300, vec![Do::Work(10)])]);
    vec![vec![extra, turns(40, |here| 10 + 23 * (here.me * 7 % 11), vec![Do::Work(12)])]]
}

#[test]
fn owner_of_blocks() {
    // LU, paper 2 section 5.5.1: blocks go to (i + j) mod P.
    first(&owner, 668, CauseKind::Branch);
}

#[test]
fn a_function_that_others_call_too() {
    first(&shared, 668, CauseKind::Branch);
}

#[test]
fn an_extra_task_of_one() {
    first(&extra, 300, CauseKind::Branch);
}

#[test]
fn several_tests_for_the_same_thread() {
    // Each `if (me == 0)` has the score 1: the charge tells which matters.
    first(&several, 302, CauseKind::Branch);
    let causes = &answer(several(), 16, 1).sections[0].causes;
    assert!(causes[1..].iter().filter(|cause| cause.score > 0.7).all(|cause| cause.minor), "{causes:#?}");
}

#[test]
fn both_ways_cost() {
    // Only the difference of the two ways makes threads unequal.
    first(&both_ways, 11, CauseKind::Branch);
}

#[test]
fn numbers_of_turns() {
    first(&uneven, 40, CauseKind::Loop);
    first(&uneven_until, 40, CauseKind::Loop);
}

#[test]
fn a_triangle() {
    // Rows in blocks; the inner loop is longer in later rows.
    first(&triangle, 51, CauseKind::Loop);
}

#[test]
fn a_skewed_tree() {
    // Trees of random shape, of different size for each thread.
    first(&tree, 72, CauseKind::Recursion);
}

#[test]
fn one_of_several_functions() {
    first(&functions, 81, CauseKind::Call);
}

#[test]
fn a_library_takes_longer() {
    first(&longer, 96, CauseKind::Library);
}

#[test]
fn a_library_that_is_called_more_often() {
    first(&more_often, 97, CauseKind::Branch);
}

#[test]
fn a_test_with_two_conditions() {
    // if (a || b): two branches lead to the same block, and neither explains all.
    for threads in [16, 32, 64] {
        let why = answer(conditions(), threads, 1);
        let section = &why.sections[0];
        let places: Vec<u32> = section.causes.iter().filter(|cause| !cause.minor).flat_map(lines).collect();
        assert!(places.contains(&57) && places.contains(&58), "{threads}: {:#?}", section.causes);
        assert!(section.explained > 0.9, "{threads}: {}", section.explained);
    }
}

#[test]
fn two_causes() {
    for threads in [16, 32, 64] {
        let why = answer(two(), threads, 1);
        let causes = &why.sections[0].causes;
        let places: Vec<Vec<u32>> = causes.iter().take(2).map(lines).collect();
        assert!(places.iter().any(|lines| lines.contains(&31)), "{threads}: {causes:#?}");
        assert!(places.iter().any(|lines| lines.contains(&40)), "{threads}: {causes:#?}");
        assert!(why.sections[0].explained > 0.95, "{threads}: {causes:#?}");
    }
}

/// Who has more slabs has smaller ones: one of the two decides more than all, and the other makes up for what is more.
#[test]
fn a_loop_decides_with_those_in_and_around_it_where_more_turns_are_shorter_ones() {
    let wide = ([30, 8, 7, 6, 5, 6, 8, 80], [28, 116, 163, 252, 334, 327, 335, 57]);
    let deep = ([40, 36, 33, 30, 28, 26, 24, 22], [21, 26, 35, 50, 60, 75, 112, 209]);
    for ((slabs, bodies), line) in [(wide, 177), (deep, 67)] {
        for instances in [1, 4] {
            let why = answer(zones(slabs, bodies), 8, instances);
            let section = &why.sections[0];
            let cause = section.causes.first().expect("there is one");
            assert_eq!(
                (section.verdict, cause.kind, cause.with_nest),
                (Verdict::Found, CauseKind::Loop, true)
            );
            assert!(lines(cause).contains(&line), "{line}: {cause:#?}");
            assert!((0.95..1.05).contains(&cause.charge) && cause.score > 0.9, "{cause:#?}");
            assert!(
                section.explained > 0.95 && section.causes.iter().skip(1).all(|cause| cause.minor),
                "{section:#?}"
            );
        }
    }
}
