//! Threads that are made fast, against speedups computed by hand.

use holdup_model::Steered;
use holdup_policy::energy::Point;
use holdup_policy::{Choice, Rules};

use super::*;
use crate::Steering;

/// Of the machine of paper 4: 2 GHz.
const FAST: f64 = 2.5;

fn steered(program: &Program, lists: Vec<Vec<OwnedItem>>, choice: Option<Choice>, fast: f64) -> Simulated {
    let machine = Machine::named("criticality").expect("a machine");
    let cores = lists.len() as u32;
    // Slices of 20,000 cycles.
    let steering = choice.map(|choice| Steering { choice, fast, slice_ns: 10_000.0, most: 1 });
    let options = Options { cores, steering, ..Options::default() };
    let result = simulate(program, ListFeed::new(lists, Vec::new()), &machine, &options, &mut |_| true);
    for thread in &result.threads {
        assert_eq!(thread.stack.total(), result.cycles, "thread {}", thread.number);
    }
    result
}

fn policy(result: &Simulated) -> &Steered {
    result.steered.as_ref().expect("a policy")
}

/// A worker with so much to do and one with a third of it, before a barrier, again and again.
fn unequal(rounds: usize, blocks: usize) -> (Program, Vec<Vec<OwnedItem>>) {
    let mut shared = program(3);
    shared.barriers = vec![2];
    let side = |blocks| {
        let round = work(blocks).into_iter().chain([act(Act::Arrive(0))]).collect::<Vec<_>>();
        std::iter::repeat_n(round, rounds).flatten().collect::<Vec<_>>()
    };
    (shared, with_main(vec![side(blocks / 3), side(blocks)]))
}

/// Loads of so many lines that are in no cache, and depend on nothing.
fn loads(lines: u64) -> Vec<OwnedItem> {
    (0..lines).map(|line| OwnedItem::Block(LOAD, vec![0x10_0000 + line * 64 * 67])).collect()
}

#[test]
fn a_computing_critical_thread_gains_what_the_frequency_gives() {
    let lists = || with_main(vec![work(10_000), work(30_000)]);
    let with = |choice| steered(&program(3), lists(), choice, FAST);
    let plain = with(None);
    assert_near(plain.cycles, 30_000 * CHAIN, 60_000);
    let critical = with(Some(Choice::Single(2)));
    assert_near(critical.cycles, 30_000 * CHAIN * 4 / 5, 60_000);
    // The one that nobody waits for gains nothing.
    assert_near(with(Some(Choice::Single(1))).cycles, plain.cycles, 1000);
    assert_near(with(Some(Choice::All)).cycles, critical.cycles, 20_000);
    // Twice the frequency is too much: then the other one decides.
    let twice =
        steered(&program(3), with_main(vec![work(20_000), work(30_000)]), Some(Choice::Single(2)), 4.0);
    assert_near(twice.cycles, 20_000 * CHAIN, 60_000);
}

#[test]
fn a_thread_that_waits_for_memory_gains_nothing() {
    let with = |choice| steered(&program(2), with_main(vec![loads(20_000)]), choice, 4.0);
    let plain = with(None);
    let dram = plain.threads[1].stack.get(CycleComponent::MemDram);
    assert!(dram * 10 > (plain.threads[1].end - plain.threads[1].begin) * 9, "it is bound by memory: {dram}");
    let fast = with(Some(Choice::Single(1)));
    // Of some 230 cycles of each access 12 are those in which its own caches find that they miss; they are 6 now.
    assert!(
        fast.cycles <= plain.cycles && fast.cycles > plain.cycles * 97 / 100,
        "{} {}",
        fast.cycles,
        plain.cycles
    );
    assert_eq!(policy(&fast).fast_cycles(), fast.threads[1].end - fast.threads[1].begin);
}

#[test]
fn algorithm_1_finds_the_thread_that_the_other_waits_for() {
    let (shared, lists) = unequal(20, 3000);
    let plain = steered(&shared, lists.clone(), None, FAST);
    let offline = steered(&shared, lists.clone(), Some(Choice::Offline(vec![2])), FAST);
    let dynamic = steered(&shared, lists, Some(Choice::Dynamic(Rules::default())), FAST);
    let gain = |result: &Simulated| plain.cycles as f64 / result.cycles as f64;
    // Waking the other at each barrier is no faster.
    assert!((1.2..1.25).contains(&gain(&offline)), "{}", gain(&offline));
    assert!(gain(&offline) - gain(&dynamic) < 0.01, "{} {}", gain(&offline), gain(&dynamic));
    let told = policy(&dynamic);
    let of_critical = told.spans.iter().filter(|span| span.thread == 2).map(|span| span.end - span.begin);
    assert!(of_critical.sum::<u64>() * 10 > dynamic.cycles * 8);
}

#[test]
fn a_policy_that_makes_nobody_fast_changes_nothing() {
    let (shared, lists) = unequal(5, 900);
    let plain = steered(&shared, lists.clone(), None, FAST);
    let nobody = steered(&shared, lists.clone(), Some(Choice::Nobody), FAST);
    assert_eq!(Simulated { steered: None, ..nobody }, plain);
    // Nor does one whose fast is no faster.
    let all = steered(&shared, lists, Some(Choice::All), 2.0);
    assert_eq!(policy(&all).transitions, 0);
    assert_eq!(Simulated { steered: None, ..all }, plain);
}

#[test]
fn criticality_while_it_runs_is_the_time_shared_by_who_works() {
    let lists = with_main(vec![work(10_000), work(30_000)]);
    let result = steered(&program(3), lists, Some(Choice::Nobody), FAST);
    let told = policy(&result);
    let together = 5_000 * CHAIN;
    assert_near(told.criticality[1] as u64, together, 60_000);
    assert_near(told.criticality[2] as u64, together + 20_000 * CHAIN, 60_000);
    let sum: f64 = told.criticality.iter().sum::<f64>() + told.nobody as f64;
    assert!((sum - result.cycles as f64).abs() < 1e-3, "{sum} {}", result.cycles);
    assert_eq!(told.slices, result.cycles.div_ceil(20_000));
}

#[test]
fn when_a_call_that_ended_early_was_to_end_nothing_happens() {
    let mut shared = program(3);
    shared.calls = vec![CallWithin { nanos: 100_000_000, instructions: 10_000 * CHAIN, alone: 0 }];
    let lists = with_main(vec![vec![act(Act::CallWithin(0))], work(30_000)]);
    let told = |choice| {
        let result = steered(&shared, lists.clone(), Some(choice), FAST);
        assert_near(result.cycles, 30_000 * CHAIN, 400_000);
        policy(&result).energy.expect("constants").joules()
    };
    // No core goes on taking energy until then.
    let (nobody, dynamic) = (told(Choice::Nobody), told(Choice::Dynamic(Rules::default())));
    assert!(dynamic < 1.2 * nobody, "{nobody} {dynamic}");
}

#[test]
fn the_system_code_that_puts_threads_to_sleep_and_wakes_them_takes_energy_as_the_threads_do() {
    let mut machine = Machine::named("criticality").expect("a machine");
    let energy = machine.energy.as_mut().expect("constants");
    energy.points = vec![Point { frequency: machine.frequency, voltage: 1.0 }];
    // A nanojoule for each busy cycle.
    (energy.busy_nf, energy.idle_nf) = (1.0, 0.0);
    let (shared, lists) = unequal(20, 3000);
    let steering = Steering { choice: Choice::All, fast: machine.frequency, slice_ns: 10_000.0, most: 1 };
    let options = Options { cores: 3, steering: Some(steering), ..Options::default() };
    let result = simulate(&shared, ListFeed::new(lists, Vec::new()), &machine, &options, &mut |_| true);
    let told = policy(&result);
    let busy = told.energy.expect("energy").dynamic * 1e9;
    // One of the two is woken at each barrier, and main when it ends.
    let system = 21 * machine.cycles(machine.system.sleep_ns + machine.system.wake_up_ns);
    assert_near(busy.round() as u64 - told.fast_cycles(), system, 10);
}

/// Three workers that most of the time want the same lock.
fn contended() -> (Program, Vec<Vec<OwnedItem>>) {
    let mut shared = program(4);
    shared.locks = vec!["lock".to_owned()];
    shared.lock_addresses = vec![0x7000];
    let side = || (0..20).flat_map(|_| critical(1000).into_iter().chain(work(100))).collect::<Vec<_>>();
    (shared, with_main(vec![side(), side(), side()]))
}

#[test]
fn the_holder_of_a_lock_is_fast_while_others_wait_for_it() {
    let (shared, lists) = contended();
    let plain = steered(&shared, lists.clone(), None, FAST);
    let fast = steered(&shared, lists, Some(Choice::Bottlenecks), FAST);
    let gain = plain.cycles as f64 / fast.cycles as f64;
    assert!((1.15..1.25).contains(&gain), "{gain}");
    let threads: std::collections::BTreeSet<u32> =
        policy(&fast).spans.iter().map(|span| span.thread).collect();
    assert_eq!(threads.into_iter().filter(|&thread| thread > 0).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn who_misses_most_is_fast_by_cache_misses_though_it_gains_nothing() {
    let lists = with_main(vec![loads(20_000), work(30_000)]);
    let result = steered(&program(3), lists, Some(Choice::CacheMisses), FAST);
    let of = |thread: u32| -> u64 {
        let spans = policy(&result).spans.iter().filter(|span| span.thread == thread);
        spans.map(|span| span.end - span.begin).sum()
    };
    assert!(of(1) > 10 * of(2), "{} {}", of(1), of(2));
}

#[test]
fn one_fast_core_takes_less_energy_than_all_and_the_same_time() {
    let (shared, lists) = unequal(20, 3000);
    let with = |choice| {
        let result = steered(&shared, lists.clone(), Some(choice), FAST);
        (result.cycles, policy(&result).energy.expect("constants").joules())
    };
    let (none, one, all) = (with(Choice::Nobody), with(Choice::Dynamic(Rules::default())), with(Choice::All));
    assert!(one.1 < all.1 && one.0 < none.0, "{none:?} {one:?} {all:?}");
    assert!(one.1 * (one.0 as f64) < none.1 * none.0 as f64, "energy times delay: {none:?} {one:?}");
}

#[test]
fn a_change_of_frequency_costs_its_time() {
    let (shared, lists) = contended();
    let result = steered(&shared, lists, Some(Choice::Bottlenecks), FAST);
    let told = policy(&result);
    let io: u64 = result.threads.iter().map(|thread| thread.stack.get(CycleComponent::Io)).sum();
    // 100 ns are 200 cycles.
    assert!(told.transitions > 10, "{}", told.transitions);
    assert_near(io, told.transitions * 200, 2 * told.transitions);
}
