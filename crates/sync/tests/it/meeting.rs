//! Barriers, gates and tokens.

use holdup_model::ThreadId;
use holdup_sync::{Answer, Barrier, Gate, Tokens};
use proptest::collection::vec;
use proptest::prelude::*;

fn thread(number: usize) -> ThreadId {
    ThreadId::new(number as u32)
}

#[test]
fn a_barrier_begins_anew_after_each_round() {
    let mut barrier = Barrier::new(3);
    for _ in 0..4 {
        let mut released = Vec::new();
        assert_eq!(barrier.arrive(thread(2), &mut released), Answer::Wait);
        assert_eq!(barrier.arrive(thread(0), &mut released), Answer::Wait);
        assert_eq!(released, []);
        assert_eq!(barrier.arrive(thread(1), &mut released), Answer::Go);
        assert_eq!(released, [thread(2), thread(0)]);
    }
}

#[test]
fn a_barrier_for_nobody_is_one_for_one() {
    for parties in [0, 1] {
        let (mut barrier, mut released) = (Barrier::new(parties), Vec::new());
        assert_eq!(barrier.arrive(thread(0), &mut released), Answer::Go);
        assert_eq!(released, []);
    }
}

#[test]
fn who_leaves_a_barrier_does_not_count() {
    let (mut barrier, mut released) = (Barrier::new(2), Vec::new());
    assert_eq!(barrier.arrive(thread(0), &mut released), Answer::Wait);
    barrier.forget(thread(0));
    assert_eq!(barrier.arrive(thread(1), &mut released), Answer::Wait);
    assert_eq!(barrier.arrive(thread(0), &mut released), Answer::Go);
    assert_eq!(released, [thread(1)]);
}

#[test]
fn a_gate_lets_through_who_came_before_and_who_comes_after() {
    let (mut gate, mut released) = (Gate::default(), Vec::new());
    assert_eq!(gate.pass(thread(0)), Answer::Wait);
    assert_eq!(gate.pass(thread(1)), Answer::Wait);
    gate.open(&mut released);
    assert_eq!(released, [thread(0), thread(1)]);
    assert_eq!(gate.pass(thread(2)), Answer::Go);
    released.clear();
    gate.open(&mut released);
    assert_eq!(released, []);
}

#[test]
fn a_gate_of_several_acts_opens_with_the_last() {
    let (mut gate, mut released) = (Gate::new(3), Vec::new());
    gate.open(&mut released);
    assert_eq!(gate.pass(thread(0)), Answer::Wait);
    gate.open(&mut released);
    assert_eq!(released, []);
    gate.open(&mut released);
    assert_eq!(released, [thread(0)]);
}

#[test]
fn a_gate_of_no_acts_is_open_and_a_forgotten_thread_is_not_released() {
    assert_eq!(Gate::new(0).pass(thread(0)), Answer::Go);
    let (mut gate, mut released) = (Gate::default(), Vec::new());
    assert_eq!(gate.pass(thread(0)), Answer::Wait);
    gate.forget(thread(0));
    gate.open(&mut released);
    assert_eq!(released, []);
}

#[test]
fn tokens_come_to_those_who_waited_first() {
    let (mut tokens, mut released) = (Tokens::new(1, 0), Vec::new());
    assert_eq!(tokens.take(thread(0)), Answer::Go);
    assert_eq!(tokens.take(thread(1)), Answer::Wait);
    assert_eq!(tokens.take(thread(2)), Answer::Wait);
    tokens.give(&mut released);
    assert_eq!(released, [thread(1)]);
    tokens.forget(thread(2));
    tokens.give(&mut released);
    assert_eq!((released.len(), tokens.available()), (1, 1));
    assert_eq!(tokens.take(thread(2)), Answer::Go);
}

#[test]
fn tokens_are_closed_by_the_last_giver() {
    let (mut tokens, mut released) = (Tokens::new(0, 2), Vec::new());
    assert_eq!(tokens.take(thread(0)), Answer::Wait);
    tokens.close(&mut released);
    assert_eq!(released, []);
    assert_eq!(tokens.take(thread(1)), Answer::Wait);
    tokens.close(&mut released);
    assert_eq!(released, [thread(0), thread(1)]);
    assert_eq!(tokens.take(thread(2)), Answer::Go);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// However threads come to a barrier: no one is a round ahead of another that waits.
    #[test]
    fn nobody_passes_a_barrier_early(parties in 1..6usize, choices in vec(any::<u8>(), 0..200)) {
        let mut barrier = Barrier::new(parties as u32);
        let mut rounds = vec![0u32; parties];
        let mut waits = vec![false; parties];
        for choice in choices {
            let able: Vec<usize> = (0..parties).filter(|&index| !waits[index]).collect();
            prop_assert!(!able.is_empty());
            let index = able[usize::from(choice) % able.len()];
            let mut released = Vec::new();
            rounds[index] += 1;
            waits[index] = barrier.arrive(thread(index), &mut released) == Answer::Wait;
            if !waits[index] {
                prop_assert_eq!(released.len(), parties - 1);
                prop_assert!(rounds.iter().all(|&round| round == rounds[index]));
            }
            for other in released {
                prop_assert!(std::mem::take(&mut waits[other.index()]));
            }
        }
    }

    /// Takes that went on = tokens at the start + given − those that are left; nobody waits while there are some.
    #[test]
    fn tokens_are_conserved(at_start in 0..5u64, acts in vec((any::<bool>(), 0..8usize), 0..200)) {
        let mut tokens = Tokens::new(at_start, 0);
        let mut waits = [false; 8];
        let (mut taken, mut given) = (0, 0);
        for (takes, index) in acts {
            let mut released = Vec::new();
            if !takes {
                given += 1;
                tokens.give(&mut released);
            } else if !waits[index] {
                waits[index] = tokens.take(thread(index)) == Answer::Wait;
                taken += u64::from(!waits[index]);
            }
            for other in released {
                prop_assert!(std::mem::take(&mut waits[other.index()]));
                taken += 1;
            }
            prop_assert_eq!(taken + tokens.available(), at_start + given);
            prop_assert!(tokens.available() == 0 || !waits.contains(&true));
        }
    }

    /// Whatever comes before and after: who passes an open gate never waits, and all who waited go when it opens.
    #[test]
    fn a_gate_forgets_nobody(acts in 0..4u32, comes in vec(any::<bool>(), 0..20)) {
        let mut gate = Gate::new(acts);
        let (mut left, mut waiting, mut next) = (acts, 0, 0);
        for passes in comes {
            let mut released = Vec::new();
            if passes {
                let answer = gate.pass(thread(next));
                prop_assert_eq!(answer, if left == 0 { Answer::Go } else { Answer::Wait });
                waiting += usize::from(left > 0);
                next += 1;
            } else {
                let opens = left == 1;
                left = left.saturating_sub(1);
                gate.open(&mut released);
                prop_assert_eq!(released.len(), if opens { waiting } else { 0 });
                waiting -= released.len();
            }
        }
    }
}
