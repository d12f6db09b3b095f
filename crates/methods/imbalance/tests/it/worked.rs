//! The paper's own example: radix (Fig. 1 and 2).

use holdup_imbalance::{CauseKind, Method, WhyOptions, why};

use crate::planted::lines;
use crate::synthetic::{Do, Here, Synthetic, either, turns, when};

/// Fig. 1, with its lines. Thread 0 takes the way at 535; the others walk up a tree, along the bits of `offset`.
fn radix() -> Vec<Vec<Do>> {
    let radix = |_: &mut Here<'_>| 256;
    let trailing = |here: &mut Here<'_>| u64::from((here.me + here.threads).trailing_ones());
    let first = vec![
        turns(540, |_| 3, vec![Do::Work(6)]),
        turns(549, |_| 3, vec![Do::Work(6)]),
        turns(557, |_| 64, vec![Do::Work(9)]),
    ];
    let last = vec![turns(566, trailing, vec![Do::Work(5)])];
    let bit_is_set = |here: &mut Here<'_>| (here.me + here.threads) >> here.turn() & 1 == 1;
    let bits = |here: &mut Here<'_>| u64::from(64 - (here.me + here.threads).leading_zeros());
    let tree = turns(578, bits, vec![when(579, bit_is_set, vec![turns(582, radix, vec![Do::Work(9)])])]);
    vec![vec![
        either(535, |here| here.me == 0, first, last),
        turns(575, radix, vec![Do::Work(4)]),
        tree,
        turns(590, radix, vec![Do::Work(4)]),
        when(594, |here| here.me == 0, vec![Do::Work(2)]),
    ]]
}

#[test]
fn radix_is_two_decisions() {
    for threads in [8, 16, 32, 64] {
        let counts = Synthetic::new(radix()).run(threads, 1, 1);
        let section = &why(&counts, &WhyOptions::default()).sections[0];
        let cause = &section.causes[0];
        assert!(
            lines(cause).contains(&579) && cause.kind == CauseKind::Branch,
            "{threads}: {:#?}",
            section.causes
        );
        assert!(cause.score > 0.7 && cause.charge > 0.9, "{threads}: {cause:#?}");
        // The loop at 582 has as many turns as the branch decides: it is the branch's cluster, not a cause of its own.
        assert!(section.causes.iter().skip(1).all(|cause| cause.minor || !lines(cause).contains(&582)));
        // What is the same for all threads is no cause.
        assert!(
            section.causes.iter().all(|cause| !lines(cause).iter().any(|line| [575, 590].contains(line)))
        );
    }
}

#[test]
fn the_literal_method_finds_the_place() {
    // Threads walk up equally many levels, so that "true" and "false" at 579 mirror each other: the score's sign is that of
    // the one that comes first.
    let options = WhyOptions { method: Method::Paper, least_score: -2.0, ..WhyOptions::default() };
    let counts = Synthetic::new(radix()).run(32, 1, 1);
    let section = &why(&counts, &options).sections[0];
    let at_branch = section.causes.iter().find(|cause| lines(cause).contains(&579));
    assert!(at_branch.is_some_and(|cause| cause.score.abs() > 0.7), "{section:#?}");
}
