//! Samples of programs made by hand, against all of these.

use super::*;
use crate::{Plan, simulate_sampled};

/// Four threads that meet after each of many phases: two kinds of phases in turn, the work of which varies by a few per cent.
/// Each phase of the second kind uses data that are further on by `step` lines.
fn phases(step: u64) -> (Program, Vec<Vec<OwnedItem>>) {
    let mut shared = program(5);
    shared.barriers = vec![4];
    let side = |thread: u64| {
        let mut list = Vec::new();
        for phase in 0..1800u64 {
            let varies = (phase * 7919 + thread * 104_729) % 11;
            if phase % 2 == 0 {
                list.extend(work(100 + varies as usize));
            } else {
                for line in 0..300 + varies {
                    let address = 0x100_0000 * thread + 64 * ((line * 37 + phase * step) % 4096);
                    list.push(OwnedItem::Block(LOAD, vec![address]));
                    list.push(OwnedItem::Block(ADDS, Vec::new()));
                }
            }
            list.push(act(Act::Arrive(0)));
        }
        list
    };
    (shared, with_main((1..5).map(side).collect()))
}

/// The plan of a sample of these lists.
fn plan_of(shared: &Program, lists: &[Vec<OwnedItem>], units: &[Vec<OwnedItem>], cores: u32) -> Option<Plan> {
    let instructions = |list: &Vec<OwnedItem>| {
        let of = |item: &OwnedItem| match item {
            OwnedItem::Block(ADDS, _) => CHAIN,
            OwnedItem::Block(..) => 1,
            _ => 0,
        };
        list.iter().map(of).sum()
    };
    let mut executed: Vec<u64> = lists.iter().map(instructions).collect();
    let in_units: u64 = units.iter().map(instructions).sum();
    let workers = (executed.len() as u64).saturating_sub(1).max(1);
    executed.iter_mut().skip(1).for_each(|of| *of += in_units / workers);
    let machine = Machine::named("dunnington").expect("a machine");
    Plan::of(shared, ListFeed::new(lists.to_vec(), units.to_vec()), &machine, cores, &executed)
}

/// A sample of the program and all of it; and how far the sample is off, and what it says about that.
struct Compared {
    sampled: Simulated,
    whole: Simulated,
    off: f64,
    stated: f64,
}

/// Simulates not more than this `share` of the program, and all of it.
fn compared(
    shared: &Program,
    lists: Vec<Vec<OwnedItem>>,
    units: Vec<Vec<OwnedItem>>,
    cores: u32,
    share: f64,
) -> Compared {
    let machine = Machine::named("dunnington").expect("a machine");
    let options = Options { cores, ..Options::default() };
    let plan = plan_of(shared, &lists, &units, cores).expect("many slices");
    assert!(plan.share() < share, "{}", plan.share());
    let feed = ListFeed::new(lists, units);
    let sampled = simulate_sampled(shared, feed.clone(), &machine, &options, &plan, &mut |_| true);
    let whole = simulate(shared, feed, &machine, &options, &mut |_| true);
    let off = (sampled.cycles as f64 / whole.cycles as f64 - 1.0).abs();
    let stated = sampled.sampled.expect("an error").error;
    assert!(off <= stated, "{off} {stated}");
    Compared { sampled, whole, off, stated }
}

/// A sample says what all of the program takes, for each thread, within the error that it states.
fn assert_stands_for_all(
    shared: &Program,
    lists: Vec<Vec<OwnedItem>>,
    units: Vec<Vec<OwnedItem>>,
    cores: u32,
) {
    let Compared { sampled, whole, stated, .. } = compared(shared, lists, units, cores, 0.5);
    assert!(stated < 0.15, "{stated}");
    let instructions = sampled.instructions as f64 / whole.instructions as f64;
    assert!((instructions - 1.0).abs() < 0.02, "{instructions}");
    assert!(sampled.doubts.is_empty(), "{:?}", sampled.doubts);
    for (thread, all) in sampled.threads.iter().zip(&whole.threads) {
        assert_eq!(thread.stack.total(), sampled.cycles);
        assert!(thread.begin.abs_diff(all.begin) < whole.cycles / 10, "{} {}", thread.begin, all.begin);
        assert!(thread.end.abs_diff(all.end) < whole.cycles / 10, "{} {}", thread.end, all.end);
        for component in CycleComponent::ALL {
            let (one, other) = (thread.stack.get(*component), all.stack.get(*component));
            let differ = one.abs_diff(other) as f64 / whole.cycles as f64;
            assert!(differ < stated + 0.07, "{component:?}: {one} {other}");
        }
    }
}

/// A number that depends on two others.
fn scattered(one: u64, other: u64, below: u64) -> usize {
    ((one * 7919 + other * 104_729) % 9973 % below) as usize
}

#[test]
fn one_thread_can_be_sampled() {
    let list: Vec<OwnedItem> = (0..2000u64)
        .flat_map(|round| match round % 3 {
            0 => (0..2000)
                .map(|line| OwnedItem::Block(LOAD, vec![64 * ((line * 37 + round) % 8192)]))
                .collect(),
            _ => work(100 + scattered(round, 3, 60)),
        })
        .collect();
    assert_stands_for_all(&program(1), vec![list], Vec::new(), 1);
}

#[test]
fn a_pool_without_barriers_can_be_sampled() {
    const TASKS: u64 = 3000;
    let mut shared = program(4);
    shared.locks = vec!["results".to_owned()];
    // Work that was given, and what was done.
    shared.tokens = vec![0, 0];
    let worker = |worker: u64| {
        let mut list = Vec::new();
        for task in 0..TASKS / 3 {
            list.push(act(Act::Take(0, Reason::Condition)));
            list.extend(work(60 + scattered(task, worker, 40)));
            list.push(act(Act::Acquire(0, Mode::Exclusive)));
            list.extend(work(5));
            list.push(act(Act::Release(0)));
            list.push(act(Act::Give(1)));
        }
        list
    };
    let mut lists = with_main((1..4).map(worker).collect());
    let joins = lists[0].split_off(3);
    for _ in 0..TASKS / 30 {
        (0..30).for_each(|_| lists[0].push(act(Act::Give(0))));
        lists[0].extend(work(200));
        (0..30).for_each(|_| lists[0].push(act(Act::Take(1, Reason::Condition))));
    }
    lists[0].extend(joins);
    assert_stands_for_all(&shared, lists, Vec::new(), 4);
}

#[test]
fn threads_that_are_made_anew_in_each_round_can_be_sampled() {
    const ROUNDS: u32 = 100;
    let shared = program(1 + 2 * ROUNDS as usize);
    let mut lists = vec![Vec::new()];
    for round in 0..ROUNDS {
        let (first, second) = (1 + 2 * round, 2 + 2 * round);
        lists.push(work(900 + scattered(round.into(), 1, 100)));
        lists.push(work(600 + scattered(round.into(), 2, 100)));
        lists[0].extend([act(Act::Create(first)), act(Act::Create(second))]);
        lists[0].extend([act(Act::Join(first)), act(Act::Join(second))]);
        lists[0].extend(work(200));
    }
    assert_stands_for_all(&shared, lists, Vec::new(), 3);
}

#[test]
fn wake_ups_and_units_of_work_that_are_dealt_can_be_sampled() {
    const ROUNDS: u32 = 60;
    let mut shared = program(4);
    shared.gates = vec![1; ROUNDS as usize];
    shared.barriers = vec![3];
    shared.constructs = (0..ROUNDS).map(|round| (20 * round..20 * round + 20).collect()).collect();
    let units: Vec<Vec<OwnedItem>> =
        (0..20 * u64::from(ROUNDS)).map(|unit| work(100 + scattered(unit, 5, 100))).collect();
    let worker = |_: u64| {
        let mut list = Vec::new();
        for round in 0..ROUNDS {
            list.push(act(Act::Pass(round, Reason::Condition)));
            list.push(act(Act::Deal(round)));
            list.push(act(Act::Arrive(0)));
        }
        list
    };
    let mut lists = with_main((1..4).map(worker).collect());
    let joins = lists[0].split_off(3);
    for round in 0..ROUNDS {
        lists[0].extend(work(300));
        lists[0].push(act(Act::Open(round)));
    }
    lists[0].extend(joins);
    assert_stands_for_all(&shared, lists, units, 4);
}

#[test]
fn more_threads_than_cores_can_be_sampled() {
    let side =
        |thread: u64| (0..40u64).flat_map(|round| work(1200 + scattered(round, thread, 200))).collect();
    let lists = with_main((1..5).map(side).collect());
    // Who has a core when depends on how much each executes until a time slice ends, which only all of a simulation tells.
    let Compared { sampled, whole, stated, .. } = compared(&program(5), lists, Vec::new(), 2, 0.5);
    assert!(stated < 0.1, "{stated}");
    let waits = |of: &Simulated| {
        of.threads[1..].iter().any(|thread| thread.stack.get(CycleComponent::NoCore) > of.cycles / 3)
    };
    assert!(waits(&sampled) && waits(&whole));
}

#[test]
fn a_sample_on_data_that_caches_lose_meanwhile_states_its_error() {
    let (shared, lists) = phases(911);
    let Compared { stated, .. } = compared(&shared, lists, Vec::new(), 5, 0.15);
    assert!(stated < 0.1, "{stated}");
}

#[test]
fn a_sample_gives_the_cycles_of_all_within_its_error() {
    let (shared, lists) = phases(0);
    let Compared { sampled, whole, off, stated } = compared(&shared, lists, Vec::new(), 5, 0.15);
    assert!(off < 0.02 && stated < 0.05, "{off} {stated}");
    for (thread, all) in sampled.threads.iter().zip(&whole.threads) {
        assert_eq!(thread.stack.total(), sampled.cycles);
        for component in CycleComponent::ALL {
            let (one, other) = (thread.stack.get(*component), all.stack.get(*component));
            assert!(one.abs_diff(other) < whole.cycles / 25, "{component:?}: {one} {other}");
        }
    }
    let instructions = sampled.instructions as f64 / whole.instructions as f64;
    assert!((instructions - 1.0).abs() < 0.01, "{instructions}");
}

/// What it takes to wake those who slept is as long as what they do: where it belongs to one slice here and to the next one
/// there, slices of the same work differ by a third.
#[test]
fn wake_ups_behind_a_barrier_belong_to_the_slice_behind_it() {
    let mut shared = program(5);
    shared.barriers = vec![4];
    let side = |thread: u64| {
        let mut list = Vec::new();
        for phase in 0..1800 {
            // Blocks of other lengths before the barrier, so that it is reached anywhere in a quantum.
            list.extend(work(70 + scattered(phase, thread, 4)));
            list.extend((0..scattered(phase, thread, 60)).map(|_| OwnedItem::Block(LOAD, vec![64 * thread])));
            list.push(act(Act::Arrive(0)));
        }
        list
    };
    let lists = with_main((1..5).map(side).collect());
    let Compared { off, stated, .. } = compared(&shared, lists, Vec::new(), 5, 0.25);
    assert!(off < 0.01 && stated < 0.042, "{off} {stated}");
}

#[test]
fn a_short_program_is_not_sampled() {
    let mut shared = program(3);
    shared.barriers = vec![2];
    let side = || work(10).into_iter().chain([act(Act::Arrive(0))]).collect::<Vec<_>>();
    let lists = with_main(vec![side(), side()]);
    assert!(plan_of(&shared, &lists, &[], 2).is_none());
}
