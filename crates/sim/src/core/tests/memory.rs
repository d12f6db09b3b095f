//! Loads and stores.

use super::*;

/// A block with one access, which goes elsewhere each time.
fn accesses(machine: &Machine, block: &[u8], served: Served, times: u64) -> (u64, CycleStack) {
    let mut core = core(machine, &[block.to_vec()]);
    for round in 0..times {
        core.execute(0, u32::MAX, &[served], &[round * 64]);
    }
    finished(core)
}

#[test]
fn a_chase_takes_the_latency_of_where_its_data_are() {
    for by in Level::ALL {
        let latency = 3 + 40 * by as u32;
        let (cycles, stack) = accesses(&machine(4, 96), CHASE, from(by, latency), 1000);
        assert_eq!(cycles, 1000 * u64::from(latency), "{by:?}");
        let other = cycles - stack.get(by.component());
        assert!(other <= 32, "{by:?}: {other} cycles are something else");
    }
}

#[test]
fn loads_that_do_not_depend_on_each_other_overlap_as_far_as_the_window_reaches() {
    // A load in 16 instructions: six in a window of 96, twelve in one of 192.
    let block = joined(&[(LOAD, 1), (LEA, 15)]);
    for (window, together) in [(96, 6), (192, 12), (16, 1)] {
        let (cycles, stack) = accesses(&machine(4, window), &block, from(Level::Dram, 600), 1200);
        // The window moves on as the load at its head is done, four instructions each cycle.
        let expected = 1200 / together * 600;
        assert!(cycles.abs_diff(expected) <= 1200 / together * 5, "{window}: {cycles}, not {expected}");
        assert!(stack.get(CycleComponent::MemDram) > cycles * 9 / 10, "{window}");
    }
}

#[test]
fn fill_buffers_limit_how_many_lines_are_under_way() {
    let mut machine = machine(4, 256);
    machine.core.outstanding_misses = 4;
    let (cycles, _) = accesses(&machine, &joined(&[(LOAD, 1), (LEA, 7)]), from(Level::Dram, 600), 1000);
    assert!(cycles.abs_diff(1000 / 4 * 600) < 600, "{cycles}");
}

#[test]
fn a_load_of_a_line_under_way_waits_for_it() {
    // mov rcx, [rax]; mov rax, [rax+8]: the value first, then the next of a list, in one line.
    let block = joined(&[(&[0x48, 0x8b, 0x08], 1), (&[0x48, 0x8b, 0x40, 0x08], 1)]);
    let mut core = core(&machine(4, 96), &[block]);
    for round in 0..1000 {
        core.execute(0, 2, &[from(Level::Dram, 600), HIT], &[round * 64, round * 64 + 8]);
    }
    let (cycles, stack) = finished(core);
    assert_eq!(cycles, 600 * 1000);
    assert!(stack.get(CycleComponent::MemDram) > cycles - 100);
}

#[test]
fn a_load_waits_for_the_store_to_the_same_place() {
    // A variable in memory: add rax, rbx; mov [rdi], rax; mov rax, [rdi].
    let block = joined(&[(ADD, 1), (STORE, 1), (LOAD, 1)]);
    let run = |addresses: [u64; 2]| {
        let mut core = core(&machine(4, 96), std::slice::from_ref(&block));
        for _ in 0..1000 {
            core.execute(0, 3, &[HIT, HIT], &addresses);
        }
        finished(core).0
    };
    assert_eq!(run([0x100, 0x100]), 5 * 1000);
    assert!(run([0x100, 0x200]) < 1000);
}

#[test]
fn a_load_that_always_reads_the_same_store_has_its_data_at_once() {
    // add rax, rbx; mov [rdi], rax; mov [rdi], rax; mov rax, [rdi]: of two stores the one or the other is read.
    let block = joined(&[(ADD, 1), (STORE, 2), (LOAD, 1)]);
    let mut learning = machine(4, 96);
    learning.core.forward = Some(0);
    let run = |machine: &Machine, which: fn(u64) -> bool| {
        let mut core = core(machine, std::slice::from_ref(&block));
        for round in 0..1000 {
            let addresses = if which(round) { [0x100, 0x200, 0x100] } else { [0x200, 0x100, 0x100] };
            core.execute(0, 4, &[HIT, HIT, HIT], &addresses);
        }
        finished(core).0
    };
    let always = run(&learning, |_| true);
    assert!(always.abs_diff(2 * 1000) < 10, "an addition and a store: {always}");
    assert_eq!(run(&learning, |round| round % 2 == 0), 5 * 1000, "it reads another one each time");
    assert_eq!(run(&machine(4, 96), |_| true), 5 * 1000, "a processor that does not learn");
    // Stores so long ago have left the store buffer: what is loaded comes from the cache.
    learning.core.store_buffer = 1;
    assert_eq!(run(&learning, |_| true), 5 * 1000);
}

#[test]
fn what_atomic_operations_wait_for_depends_on_the_processor() {
    // mov rax, [rdi]; imul rax, rbx, thirty times; lock add [rdi], rcx.
    let multiply = &[0x48, 0x0f, 0xaf, 0xc3][..];
    let block = joined(&[(LOAD, 1), (multiply, 30), (&[0xf0, 0x48, 0x01, 0x0f], 1)]);
    let run = |machine: &Machine| {
        let mut core = core(machine, std::slice::from_ref(&block));
        for _ in 0..1000 {
            core.execute(0, u32::MAX, &[HIT, HIT, HIT], &[0x100, 0x200, 0x200]);
        }
        finished(core).0
    };
    let mut machine = machine(4, 96);
    let one_after_the_other = run(&machine);
    assert!(one_after_the_other >= 1000 * (3 + 90 + 20), "{one_after_the_other}");
    machine.core.atomics_wait = false;
    let beside = run(&machine);
    assert!(beside < 1000 * 60, "{beside}");
    // The atomic operations themselves still follow each other.
    assert!(beside >= 1000 * (3 + 20), "{beside}");
}

#[test]
fn stores_that_miss_cost_nothing_until_the_store_buffer_is_full() {
    let block = joined(&[(STORE, 1), (LEA, 7)]);
    let (free, _) = accesses(&machine(4, 96), &block, from(Level::Dram, 600), 1000);
    assert_eq!(free, 2000);
    let mut limited = machine(4, 96);
    limited.core.store_buffer = 10;
    let (cycles, stack) = accesses(&limited, &block, from(Level::Dram, 600), 1000);
    assert!(cycles.abs_diff(1000 / 10 * 600) < 1200, "{cycles}");
    assert!(stack.get(CycleComponent::MemDram) > cycles * 9 / 10);
}

#[test]
fn the_translation_of_an_address_is_booked_apart_from_its_data() {
    let served = Served { tlb: 30, ..from(Level::L2, 14) };
    let (cycles, stack) = accesses(&machine(4, 96), CHASE, served, 1000);
    assert_eq!(cycles, 44 * 1000);
    assert!(stack.get(CycleComponent::Tlb).abs_diff(30 * 1000) <= 30);
    assert!(stack.get(CycleComponent::MemL2).abs_diff(14 * 1000) <= 30);
}

#[test]
fn atomic_operations_do_not_overlap() {
    // lock add [rdi], rax, which goes elsewhere each time.
    let atomic = [0xf0, 0x48, 0x01, 0x07];
    let (cycles, _) = accesses(&machine(4, 96), &atomic, HIT, 1000);
    assert!(cycles >= 1000 * (20 + 3), "{cycles}");
    let (cycles, stack) = accesses(&machine(4, 96), &atomic, from(Level::OffSocket, 200), 1000);
    assert!(cycles >= 1000 * (20 + 200), "{cycles}");
    assert!(stack.get(CycleComponent::MemOffSocket) > 1000 * 195);
}

#[test]
fn a_fence_keeps_loads_behind_it_and_waits_for_stores() {
    // mfence; mov rax, [rdi].
    let fenced = joined(&[(&[0x0f, 0xae, 0xf0], 1), (LOAD, 1)]);
    let (cycles, _) = accesses(&machine(4, 96), &fenced, from(Level::L3, 100), 100);
    assert!(cycles >= 100 * (9 + 100), "{cycles}");
    let stored = joined(&[(STORE, 1), (&[0x0f, 0xae, 0xf0], 1)]);
    let (cycles, stack) = accesses(&machine(4, 96), &stored, from(Level::L3, 100), 100);
    assert!(cycles >= 100 * (9 + 100), "{cycles}");
    assert!(stack.get(CycleComponent::MemL3) > 100 * 90, "{stack:?}");
}

#[test]
fn rounds_of_string_instructions_move_sixteen_bytes_with_a_micro_op() {
    // rep stosb
    let mut core = core(&machine(1, 96), &[vec![0xf3, 0xaa]]);
    core.execute(0, 1, &[HIT], &[0x100]);
    let begun = core.now();
    for _ in 1..=1600 {
        core.extra_access(0, Access { instruction: 0, size: 1, stores: true }, HIT);
    }
    assert_eq!(core.now() - begun, 100);
    // Those of a line that is on its way, too.
    for _ in 1..=16 {
        core.extra_access(0, Access { instruction: 0, size: 1, stores: true }, from(Level::Dram, 600));
    }
    assert_eq!(core.now() - begun, 101);
    finished(core);
}
