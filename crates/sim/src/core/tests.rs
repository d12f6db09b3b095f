//! Known answers, and what holds for any code.

use std::rc::Rc;

use holdup_code::{OpClass, micro_ops};
use holdup_model::cycles::{CycleComponent, CyclePlace, CycleStack, Level};

use super::latency::default_latency;
use super::{CompiledCode, Core};
use crate::machine::{CoreModel, Machine, class_by_name};
use crate::program::{Access, Block, Code, Exit, Instruction};
use crate::served::Served;

mod any_code;
pub(super) use any_code::{Act, served};
mod memory;
mod speed;
mod stalls;

/// Instructions by their bytes.
const ADD: &[u8] = &[0x48, 0x01, 0xd8]; // add rax, rbx: depends on the one before
const LEA: &[u8] = &[0x48, 0x8d, 0x43, 0x01]; // lea rax, [rbx+1]: depends on none
const CHASE: &[u8] = &[0x48, 0x8b, 0x00]; // mov rax, [rax]
const LOAD: &[u8] = &[0x48, 0x8b, 0x07]; // mov rax, [rdi]
const STORE: &[u8] = &[0x48, 0x89, 0x07]; // mov [rdi], rax
const TEST: &[u8] = &[0x48, 0x85, 0xc0]; // test rax, rax
const TEST_RBX: &[u8] = &[0x48, 0x85, 0xdb]; // test rbx, rbx
const JUMP: &[u8] = &[0x75, 0x00]; // jne to the next
const FADD: &[u8] = &[0xf2, 0x0f, 0x58, 0xc1]; // addsd xmm0, xmm1
const FDIV: &[u8] = &[0xf2, 0x0f, 0x5e, 0xc1]; // divsd xmm0, xmm1
const FDIV_OTHER: &[u8] = &[0xf2, 0x0f, 0x5e, 0xd1]; // divsd xmm2, xmm1

/// Blocks of these bytes, at addresses of their own.
fn code(blocks: &[Vec<u8>]) -> Code {
    let mut code = Code::default();
    for (bytes, address) in blocks.iter().zip((0x1000..).step_by(0x1000)) {
        let ops = micro_ops(bytes, address);
        let (first_op, first) = (code.ops.len() as u32, code.instructions.len() as u32);
        for (number, _) in (first_op..).zip(&ops).filter(|(_, op)| op.is_first()) {
            let place = code.instructions.len() as u32;
            code.instructions.push(Instruction { address: u64::from(place), place, first_op: number });
        }
        code.ops.extend(ops);
        code.blocks.push(Block {
            address,
            length: bytes.len() as u32,
            ops: first_op..code.ops.len() as u32,
            instructions: first..code.instructions.len() as u32,
            accesses: 0..0,
            exit: Exit::Falls,
        });
    }
    code
}

fn joined(parts: &[(&[u8], usize)]) -> Vec<u8> {
    parts.iter().flat_map(|(bytes, times)| bytes.repeat(*times)).collect()
}

fn machine(width: u32, window: u32) -> Machine {
    let mut machine = Machine::named("dunnington").expect("a machine");
    machine.core.width = width;
    machine.core.window = window;
    machine.core.front_end = 15;
    machine.core.latency.clear();
    machine.core.busy.clear();
    machine.core.outstanding_misses = 0;
    machine.core.store_buffer = 0;
    machine
}

fn core(machine: &Machine, blocks: &[Vec<u8>]) -> Core {
    Core::new(&machine.core, Rc::new(CompiledCode::new(&code(blocks), machine)))
}

const HIT: Served =
    Served { latency: 3, tlb: 0, interconnect_queueing: 0, memory_queueing: 0, by: Level::L1 };

fn from(by: Level, latency: u32) -> Served {
    Served { latency, by, ..HIT }
}

/// The rest is waited for, and then all must be booked.
fn finished(mut core: Core) -> (u64, CycleStack) {
    core.settle();
    assert_eq!(core.stack().total(), core.now());
    (core.now(), core.stack())
}

/// The cycles of a block executed again and again, and their stack.
fn repeated(machine: &Machine, block: &[u8], times: u64) -> (u64, CycleStack) {
    let mut core = core(machine, &[block.to_vec()]);
    for _ in 0..times {
        core.execute(0, u32::MAX, &[], &[]);
    }
    finished(core)
}

#[test]
fn the_papers_example_is_a_third_dependence_and_two_thirds_load() {
    // Instructions 1 and 2 run in cycle 0; the path is 3 long: 1 of it from the addition, 2 from the load in its shadow.
    let block = joined(&[
        (&[0x31, 0xc0], 1),          // xor eax, eax
        (&[0x31, 0xdb], 1),          // xor ebx, ebx
        (&[0x05, 0x01, 0, 0, 0], 1), // add eax, 1
        (&[0x8b, 0x0b], 1),          // mov ecx, [rbx]
        (&[0x83, 0xc0, 0x02], 1),    // add eax, 2
    ]);
    let mut core = core(&machine(8, 96), &[block]);
    core.execute(0, 5, &[HIT], &[0x5000]);
    let (cycles, stack) = finished(core);
    assert_eq!(cycles, 3);
    assert_eq!(stack.get(CycleComponent::DependInt), 1);
    assert_eq!(stack.get(CycleComponent::MemL1d), 2);
}

#[test]
fn a_chain_of_additions_takes_a_cycle_each() {
    let (cycles, stack) = repeated(&machine(4, 96), &ADD.repeat(10), 1000);
    assert_eq!(cycles, 10_000);
    // Dispatch is at its width until it is a window ahead: 128 additions.
    assert!(stack.get(CycleComponent::DispatchWidth) <= 128 / 4);
    assert_eq!(stack.get(CycleComponent::DependInt), 10_000 - stack.get(CycleComponent::DispatchWidth));
}

#[test]
fn independent_instructions_are_dispatched_at_the_width() {
    for width in 1..=8 {
        let (cycles, stack) = repeated(&machine(width, 96), &LEA.repeat(8), 1000);
        assert_eq!(cycles, 8000_u64.div_ceil(u64::from(width)), "width {width}");
        assert_eq!(stack.get(CycleComponent::DispatchWidth), 8000 / u64::from(width), "width {width}");
    }
}

#[test]
fn the_effective_rate_is_the_window_over_the_critical_path() {
    // 8 additions in a chain and 24 that depend on nothing: over a window of 96, a path of 24 if it could be hidden. With a chain
    // of 16 in 32 the path is 48 for each 96: a rate of 2.
    for (chain, others, per_cycle) in [(8, 24, 4.0), (16, 16, 2.0), (24, 8, 4.0 / 3.0), (32, 0, 1.0)] {
        let (cycles, _) = repeated(&machine(4, 96), &joined(&[(ADD, chain), (&LEA_RCX, others)]), 3000);
        let rate = 32.0 * 3000.0 / cycles as f64;
        assert!((rate - per_cycle).abs() < 0.01, "{chain} of 32: {rate}");
    }
}

/// lea rcx, [rbx+1]: does not break the chain of [`ADD`].
const LEA_RCX: [u8; 4] = [0x48, 0x8d, 0x4b, 0x01];

#[test]
fn a_chain_of_floating_point_operations_is_booked_as_such() {
    for (bytes, latency) in [(FADD, 3), (FDIV, 21)] {
        let (cycles, stack) = repeated(&machine(4, 96), bytes, 1000);
        assert_eq!(cycles, latency * 1000);
        assert!(stack.get(CycleComponent::DependFp) >= cycles - 32);
        assert_eq!(stack.get(CycleComponent::DependInt), 0);
    }
}

#[test]
fn divisions_that_do_not_depend_on_each_other_wait_for_the_divider() {
    let (cycles, _) = repeated(&machine(4, 96), &joined(&[(FDIV, 1), (FDIV_OTHER, 1)]), 1000);
    assert_eq!(cycles, 1999 * 20 + 21);
    let mut fast = machine(4, 96);
    fast.core.latency.insert("double-divide".into(), 13);
    fast.core.busy.insert("double-divide".into(), 4);
    assert_eq!(repeated(&fast, &joined(&[(FDIV, 1), (FDIV_OTHER, 1)]), 1000).0, 13_000 + 4);
}

#[test]
fn the_machine_says_how_long_a_class_takes() {
    let mut slow = machine(4, 96);
    slow.core.latency.insert("integer".into(), 2);
    assert_eq!(repeated(&slow, ADD, 1000).0, 2000);
}

#[test]
fn every_class_has_a_name_of_its_own_and_a_latency() {
    for &class in OpClass::ALL {
        assert_eq!(class_by_name(class.name()), Some(class));
        let is_nothing = matches!(class, OpClass::Nothing | OpClass::Join);
        assert_eq!(default_latency(class) == 0, is_nothing, "{class:?}");
    }
    assert_eq!(class_by_name("integers"), None);
}

#[test]
fn the_cycles_of_all_places_are_those_of_the_core() {
    let blocks = [joined(&[(ADD, 5), (CHASE, 1)]), joined(&[(FADD, 2), (TEST, 1), (JUMP, 1)])];
    let mut core = core(&machine(4, 96), &blocks);
    for round in 0..500_u64 {
        let served = if round % 7 == 0 { from(Level::Dram, 600) } else { HIT };
        core.execute(0, 6, &[Served { tlb: 30 * u32::from(round % 3 == 0), ..served }], &[round * 64]);
        core.fetch_stall(1, 5);
        core.execute(1, 4, &[], &[]);
        if round % 4 == 0 {
            core.mispredicted(1);
        }
    }
    core.settle();
    let mut places = vec![CyclePlace::default(); 10];
    core.add_to_places(&mut places);
    let mut sum = CycleStack::default();
    places.iter().for_each(|place| sum.add(&place.stack));
    assert_eq!(sum, core.stack());
    assert_eq!(sum.total(), core.now());
    assert!(places[5].stack.get(CycleComponent::MemDram) > 0);
    assert!(places[5].stack.get(CycleComponent::Tlb) > 0);
    assert_eq!(places[6].stack.get(CycleComponent::Ifetch), sum.get(CycleComponent::Ifetch));
    assert_eq!(places[9].stack.get(CycleComponent::Branch), sum.get(CycleComponent::Branch));
    assert_eq!(core.instructions(), 5000);
    // They have been given.
    let mut again = vec![CyclePlace::default(); 10];
    core.add_to_places(&mut again);
    assert!(again.iter().all(|place| place.stack.total() == 0));
}

#[test]
fn waiting_is_booked_as_said_and_the_window_is_empty_behind_it() {
    let mut core = core(&machine(4, 96), &[CHASE.to_vec()]);
    core.execute(0, 1, &[from(Level::Dram, 500)], &[0x40]);
    core.idle_until(400, CycleComponent::SyncBarrier);
    assert_eq!(core.now(), 500);
    core.idle_until(700, CycleComponent::SyncBarrier);
    core.idle_until(600, CycleComponent::SyncBarrier);
    assert_eq!(core.now(), 700);
    assert_eq!(core.stack().get(CycleComponent::SyncBarrier), 200);
    assert_eq!(core.stack().get(CycleComponent::MemDram), 500);
}

#[test]
fn only_the_first_instructions_of_a_block_are_executed_if_that_is_asked_for() {
    let mut core = core(&machine(1, 96), &[LEA.repeat(8)]);
    core.execute(0, 3, &[], &[]);
    core.execute(0, 0, &[], &[]);
    assert_eq!((core.now(), core.instructions()), (3, 3));
}

#[test]
fn the_one_ipc_core_takes_a_cycle_for_each_instruction_and_blocks_on_misses() {
    let mut machine = machine(4, 96);
    machine.core.model = CoreModel::OneIpc;
    let mut core = core(&machine, &[joined(&[(ADD, 9), (LOAD, 1)])]);
    for _ in 0..10 {
        core.execute(0, 10, &[HIT], &[0]);
    }
    assert_eq!(core.now(), 100);
    core.execute(0, 10, &[Served { tlb: 20, ..from(Level::L2, 14) }], &[0]);
    core.mispredicted(0);
    core.fetch_stall(0, 7);
    let (cycles, stack) = finished(core);
    assert_eq!(cycles, 110 + 34 + 15 + 7);
    let parts =
        [CycleComponent::DispatchWidth, CycleComponent::Tlb, CycleComponent::MemL2].map(|c| stack.get(c));
    assert_eq!(parts, [110, 20, 14]);
}
