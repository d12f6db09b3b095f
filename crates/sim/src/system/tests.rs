//! Threads, locks, barriers and joins in simulated time, on programs made by hand.

use holdup_code::micro_ops;
use holdup_model::Mode;
use holdup_model::cycles::{CycleComponent, Simulated};
use proptest::prelude::*;

use super::{Options, simulate};
use crate::program::{Access, Act, Block, CallWithin, Code, Exit, Instruction, Program, Reason, SimThread};
use crate::{Changes, ListFeed, Machine, OwnedItem};

mod sample;
mod steering;

/// Blocks of the programs here: 64 dependent additions; a load; a store.
const ADDS: u32 = 0;
const LOAD: u32 = 1;
const STORE: u32 = 2;
/// Instructions of a block of additions.
const CHAIN: u64 = 64;

fn code() -> Code {
    let mut code = Code::default();
    let texts: [(&[u8], u64, &[Access]); 3] = [
        (&[0x48, 0x01, 0xc0], CHAIN, &[]), // add rax, rax
        (&[0x48, 0x8b, 0x07], 1, &[Access { instruction: 0, size: 8, stores: false }]), // mov rax, [rdi]
        (&[0x48, 0x89, 0x07], 1, &[Access { instruction: 0, size: 8, stores: true }]), // mov [rdi], rax
    ];
    let mut address = 0x1000;
    for (bytes, times, accesses) in texts {
        let bytes = bytes.repeat(times as usize);
        let ops = micro_ops(&bytes, address);
        let first_op = code.ops.len() as u32;
        let first = code.instructions.len() as u32;
        for (number, op) in (first_op..).zip(&ops) {
            if op.is_first() {
                let place = code.instructions.len() as u32;
                let at = address + 3 * u64::from(place - first);
                code.instructions.push(Instruction { address: at, place, first_op: number });
            }
        }
        code.ops.extend(ops);
        let first_access = code.accesses.len() as u32;
        code.accesses.extend(accesses);
        code.blocks.push(Block {
            address,
            length: bytes.len() as u32,
            ops: first_op..code.ops.len() as u32,
            instructions: first..code.instructions.len() as u32,
            accesses: first_access..code.accesses.len() as u32,
            exit: Exit::Falls,
        });
        address += 0x1000;
    }
    code
}

fn threads(count: usize) -> Vec<SimThread> {
    (0..count as u32)
        .map(|number| SimThread { number, is_created: number > 0, ..SimThread::default() })
        .collect()
}

/// So many blocks of additions.
fn work(blocks: usize) -> Vec<OwnedItem> {
    vec![OwnedItem::Block(ADDS, Vec::new()); blocks]
}

fn act(act: Act) -> OwnedItem {
    OwnedItem::Act(act)
}

/// A first thread that creates the others and joins them.
fn with_main(others: Vec<Vec<OwnedItem>>) -> Vec<Vec<OwnedItem>> {
    let children = 1..=others.len() as u32;
    let creates = children.clone().map(|child| act(Act::Create(child)));
    let main = creates.chain(children.map(|child| act(Act::Join(child)))).collect();
    std::iter::once(main).chain(others).collect()
}

fn run_with(program: &Program, lists: Vec<Vec<OwnedItem>>, cores: u32, changes: Changes) -> Simulated {
    let machine = Machine::named("dunnington").expect("a machine");
    let options = Options { cores, changes, misses: true, ..Options::default() };
    let feed = ListFeed::new(lists, Vec::new());
    let result = simulate(program, feed, &machine, &options, &mut |_| true);
    for thread in &result.threads {
        assert_eq!(thread.stack.total(), result.cycles, "thread {}", thread.number);
    }
    result
}

fn run(program: &Program, lists: Vec<Vec<OwnedItem>>, cores: u32) -> Simulated {
    run_with(program, lists, cores, Changes::default())
}

fn program(count: usize) -> Program {
    Program { code: code(), threads: threads(count), ..Program::default() }
}

/// Within a per cent, and a few thousand cycles for creating and waking threads.
fn assert_near(found: u64, expected: u64, slack: u64) {
    assert!(found.abs_diff(expected) <= expected / 100 + slack, "{found} is not near {expected}");
}

#[test]
fn a_thread_alone_takes_a_cycle_for_each_dependent_addition() {
    let result = run(&program(1), vec![work(10_000)], 1);
    assert_near(result.cycles, 10_000 * CHAIN, 2000);
    assert_eq!(result.instructions, 10_000 * CHAIN);
    let chain = result.threads[0].stack.get(CycleComponent::DependInt);
    assert_near(chain, result.cycles, 2000);
    let at_places: u64 = result.places.iter().map(|place| place.stack.total()).sum();
    assert_near(at_places, result.cycles, 2000);
}

#[test]
fn threads_on_cores_of_their_own_run_side_by_side_and_share_one_core_otherwise() {
    let lists = || with_main(vec![work(50_000), work(50_000)]);
    let two = run(&program(3), lists(), 3);
    let one = run(&program(3), lists(), 1);
    assert_near(two.cycles, 50_000 * CHAIN, 100_000);
    assert_near(one.cycles, 2 * 50_000 * CHAIN, 100_000);
    let without: u64 = one.threads.iter().map(|thread| thread.stack.get(CycleComponent::NoCore)).sum();
    assert!(without > 40_000 * CHAIN, "{without}");
    assert!(two.threads[0].stack.get(CycleComponent::SyncJoin) > 40_000 * CHAIN);
}

#[test]
fn creating_threads_is_work_of_who_does_it_and_no_call_that_blocks() {
    let result = run(&program(3), with_main(vec![work(10), work(10)]), 3);
    let each = Machine::named("dunnington").expect("a machine").system.create_ns * result.frequency;
    let main = &result.threads[0].stack;
    assert_near(main.get(CycleComponent::SyncCreate), (2.0 * each) as u64, 2);
    assert_eq!(main.get(CycleComponent::Io), 0);
    let others: u64 =
        result.threads[1..].iter().map(|thread| thread.stack.get(CycleComponent::SyncCreate)).sum();
    assert_eq!(others, 0);
}

#[test]
fn who_has_less_to_do_waits_at_the_barrier() {
    let mut shared = program(3);
    shared.barriers = vec![2];
    let side = |blocks| work(blocks).into_iter().chain([act(Act::Arrive(0))]).collect::<Vec<_>>();
    let result = run(&shared, with_main(vec![side(10_000), side(4_000)]), 3);
    assert_near(result.threads[2].stack.get(CycleComponent::SyncBarrier), 6_000 * CHAIN, 40_000);
    assert!(result.threads[1].stack.get(CycleComponent::SyncBarrier) < 40_000);
}

fn critical(blocks: usize) -> Vec<OwnedItem> {
    let mut list = vec![act(Act::Acquire(0, Mode::Exclusive))];
    list.extend(work(blocks));
    list.push(act(Act::Release(0)));
    list
}

#[test]
fn a_lock_lets_one_in_at_a_time_and_a_free_one_all() {
    let mut shared = program(4);
    shared.locks = vec!["lock".to_owned()];
    shared.lock_addresses = vec![0x7000];
    let lists = || with_main(vec![critical(50_000), critical(50_000), critical(50_000)]);
    let result = run(&shared, lists(), 4);
    assert_near(result.cycles, 3 * 50_000 * CHAIN, 150_000);
    let waited: u64 =
        result.threads.iter().map(|thread| thread.stack.get(CycleComponent::SyncCritSect)).sum();
    assert_near(waited, 3 * 50_000 * CHAIN, 150_000);
    let changes = Changes { free_locks: Some(Default::default()), ..Changes::default() };
    assert_near(run_with(&shared, lists(), 4, changes).cycles, 50_000 * CHAIN, 150_000);
}

#[test]
fn tokens_and_gates_are_waited_for_and_a_call_takes_its_time() {
    let mut shared = program(3);
    shared.tokens = vec![0];
    shared.gates = vec![1];
    let giver = work(3_000).into_iter().chain([act(Act::Give(0)), act(Act::Open(0))]).collect();
    let taker = vec![
        act(Act::Take(0, Reason::Condition)),
        act(Act::Pass(0, Reason::Condition)),
        act(Act::Call { nanos: 100_000 }),
    ];
    let result = run(&shared, with_main(vec![giver, taker]), 3);
    let stack = &result.threads[2].stack;
    assert_near(stack.get(CycleComponent::SyncCond), 3_000 * CHAIN, 40_000);
    assert_near(stack.get(CycleComponent::Io), (100_000.0 * result.frequency) as u64, 10_000);
}

#[test]
fn a_call_that_others_end_is_over_on_one_core_too_once_all_others_are() {
    let mut shared = program(3);
    shared.calls = vec![CallWithin { nanos: 100_000_000, instructions: 30_000 * CHAIN, alone: 0 }];
    // Who works last wakes the first thread, which then only waits for the one in the call.
    let caller = vec![act(Act::CallWithin(0))];
    for lists in [vec![caller.clone(), work(20_000)], vec![work(20_000), caller]] {
        let result = run(&shared, with_main(lists), 1);
        assert_near(result.cycles, 20_000 * CHAIN, 200_000);
    }
}

#[test]
fn a_call_that_others_end_takes_as_long_as_they_need_for_what_they_did_meanwhile() {
    let took = |call: CallWithin, others: Vec<OwnedItem>| {
        let mut shared = program(3);
        shared.calls = vec![call];
        let result = run(&shared, with_main(vec![others, vec![act(Act::CallWithin(0))]]), 3);
        (result.threads[2].stack.get(CycleComponent::Io), result.frequency)
    };
    // Creating threads takes some ten thousand cycles.
    const SLACK: u64 = 40_000;
    let millis = 1_000_000;
    let call = CallWithin { nanos: 100 * millis, instructions: 30_000 * CHAIN, alone: 0 };
    assert_near(took(call, work(60_000)).0, 30_000 * CHAIN, SLACK);
    // Nobody is at work any more: then they have done their part too.
    assert_near(took(call, work(20_000)).0, 20_000 * CHAIN, SLACK);
    let (alone, frequency) = took(CallWithin { alone: millis, ..call }, work(60_000));
    assert_near(alone, 30_000 * CHAIN + (1e6 * frequency) as u64, SLACK);
    // At most what it took.
    let (all, frequency) = took(CallWithin { nanos: 10_000, alone: millis, ..call }, work(60_000));
    assert_near(all, (1e4 * frequency) as u64, 1_000);
    // Who is in a call of known length goes on by himself.
    let sleep = vec![act(Act::Call { nanos: millis })].into_iter().chain(work(60_000)).collect();
    let (behind, frequency) = took(call, sleep);
    assert_near(behind, 30_000 * CHAIN + (1e6 * frequency) as u64, SLACK);
}

#[test]
fn a_wait_with_a_limit_ends_with_what_comes_first() {
    let took = |nanos| {
        let mut shared = program(3);
        shared.gates = vec![1];
        let opener = work(3_000).into_iter().chain([act(Act::Open(0))]).chain(work(1_000)).collect();
        let waiter =
            [act(Act::PassWithin(0, Reason::Condition, nanos)), act(Act::Pass(0, Reason::Condition))];
        let waiter = [waiter[0].clone()].into_iter().chain(work(100)).chain([waiter[1].clone()]).collect();
        let result = run(&shared, with_main(vec![opener, waiter]), 3);
        assert_eq!(result.warnings, Vec::<String>::new());
        (result.threads[2].stack.get(CycleComponent::SyncCond), result.frequency)
    };
    // First the time is up, and the rest is waited for behind the work.
    let (early, frequency) = took(10_000);
    assert!(early >= (1e4 * frequency) as u64);
    assert_near(early + 100 * CHAIN, 3_000 * CHAIN, 40_000);
    assert_near(took(1_000_000_000).0, 3_000 * CHAIN, 40_000);
}

#[test]
fn padding_is_as_if_threads_had_lines_of_their_own() {
    let side = |address: u64| -> Vec<OwnedItem> {
        let step = [OwnedItem::Block(LOAD, vec![address]), OwnedItem::Block(STORE, vec![address])];
        std::iter::repeat_n(step, 20_000).flatten().collect()
    };
    let cycles = |second: u64, changes| {
        run_with(&program(3), with_main(vec![side(0x10_0000), side(second)]), 3, changes)
    };
    let shared = cycles(0x10_0008, Changes::default());
    assert_eq!(shared.shared_lines.len(), 1);
    let line = &shared.shared_lines[0];
    assert!(line.address == 0x10_0000 && line.false_cycles > line.cycles / 2, "{line:?}");
    let padded = crate::Padding::of(&shared.shared_lines, 64);
    let padded = cycles(0x10_0008, Changes { padded, ..Changes::default() });
    let apart = cycles(0x20_0008, Changes::default());
    assert_eq!(padded.cycles, apart.cycles);
    assert!(padded.cycles < shared.cycles, "{} of {}", padded.cycles, shared.cycles);
    assert_eq!(padded.shared_lines, []);
}

#[test]
fn threads_that_wait_for_each_other_for_ever_are_let_through_and_that_is_said() {
    let mut shared = program(2);
    shared.gates = vec![1, 1];
    let lists = vec![
        vec![act(Act::Create(1)), act(Act::Pass(0, Reason::Condition)), act(Act::Open(1))],
        vec![act(Act::Pass(1, Reason::Condition)), act(Act::Open(0))],
    ];
    let result = run(&shared, lists, 2);
    assert_eq!((result.warnings.len(), result.doubts.len()), (0, 1), "{:?}", result.doubts);
}

#[test]
fn units_of_work_go_to_who_is_free() {
    let mut shared = program(3);
    shared.constructs = vec![(0..30).collect()];
    let dealt = || vec![act(Act::Deal(0))];
    let late = work(10_000).into_iter().chain(dealt()).collect();
    let units = vec![work(1_000); 30];
    let machine = Machine::named("dunnington").expect("a machine");
    let feed = ListFeed::new(with_main(vec![dealt(), late]), units);
    let result =
        simulate(&shared, feed, &machine, &Options { cores: 3, ..Options::default() }, &mut |_| true);
    // 40,000 blocks on two cores; with the units dealt out evenly beforehand the second would take 25,000.
    assert_near(result.cycles, 20_000 * CHAIN, 100_000);
}

#[test]
fn a_thread_that_is_made_faster_needs_less_time_and_its_stack_still_adds_up() {
    let lists = || with_main(vec![work(8_000), work(8_000)]);
    let changes = Changes { faster_threads: [(1, 2.0)].into(), ..Changes::default() };
    let result = run_with(&program(3), lists(), 3, changes);
    let lengths: Vec<u64> = result.threads.iter().map(|thread| thread.end - thread.begin).collect();
    assert_near(lengths[1], 4_000 * CHAIN, 2_000);
    assert_near(lengths[2], 8_000 * CHAIN, 2_000);
}

#[test]
fn a_thousand_threads_on_four_cores_all_end() {
    let result = run(&program(1001), with_main(vec![work(10); 1000]), 4);
    assert_eq!(result.instructions, 1000 * 10 * CHAIN);
    assert!(result.threads.iter().all(|thread| thread.instructions > 0 || thread.number == 0));
}

#[test]
fn erased_misses_are_hits_and_pieces_have_their_misses() {
    let mut chase: Vec<OwnedItem> = Vec::new();
    for line in 0..2_000u64 {
        chase.push(OwnedItem::Block(LOAD, vec![0x10_0000 + line * 4096]));
        chase.extend(work(4));
    }
    let as_it_is = run(&program(1), vec![chase.clone()], 1);
    let piece = &as_it_is.threads[0].pieces[0];
    let load = code().blocks[LOAD as usize].address;
    let found = piece.misses.iter().find(|found| found.address == load).expect("misses of the load");
    assert_eq!((found.accesses, found.served.iter().sum::<u64>(), found.served[0]), (2_000, 2_000, 0));
    let changes = Changes { erased: [load].into(), ..Changes::default() };
    let erased = run_with(&program(1), vec![chase], 1, changes);
    assert!(erased.threads[0].stack.get(CycleComponent::MemDram) == 0);
    assert!(erased.cycles < as_it_is.cycles);
}

#[test]
fn two_runs_of_one_program_are_equal() {
    let mut shared = program(5);
    shared.locks = vec!["lock".to_owned()];
    shared.barriers = vec![4];
    let side = |thread: u64| {
        let mut list = Vec::new();
        for round in 0..50 {
            list.extend(work(thread as usize));
            list.extend(critical(1));
            list.push(OwnedItem::Block(STORE, vec![0x2_0000 + 8 * thread]));
            list.push(OwnedItem::Block(LOAD, vec![0x4_0000 + 64 * (round * thread)]));
            list.push(act(Act::Arrive(0)));
        }
        list
    };
    let lists = || with_main((1..5).map(side).collect());
    assert_eq!(run(&shared, lists(), 4), run(&shared, lists(), 4));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever threads do: it ends, and every thread's components add up to the cycles of the run.
    #[test]
    fn any_acts_end_and_add_up(
        lists in prop::collection::vec(prop::collection::vec((0u8..10, 0u64..6), 0..40), 1..6),
        cores in 1u32..5,
    ) {
        let count = lists.len() + 1;
        let mut shared = program(count);
        shared.locks = vec!["a".to_owned(), "b".to_owned()];
        shared.barriers = vec![2, 3];
        shared.gates = vec![1, 2];
        shared.tokens = vec![0, 3];
        let item = |&(kind, number): &(u8, u64)| {
            let object = (number % 2) as u32;
            match kind {
                0 => act(Act::Acquire(object, if number > 3 { Mode::Shared } else { Mode::Exclusive })),
                1 => act(Act::Release(object)),
                2 => act(Act::Arrive(object)),
                3 => act(Act::Pass(object, Reason::Condition)),
                4 => act(Act::Open(object)),
                5 => act(Act::Take(object, Reason::Lock)),
                6 => act(Act::Give(object)),
                7 => act(Act::Cut),
                8 => OwnedItem::Block(STORE, vec![0x1000 * number]),
                _ => OwnedItem::Block(ADDS, Vec::new()),
            }
        };
        let lists = lists.iter().map(|list| list.iter().map(item).collect()).collect();
        run(&shared, with_main(lists), cores);
    }
}
