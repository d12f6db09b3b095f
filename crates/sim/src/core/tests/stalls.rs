//! The front end: mispredicted branches, misses of the instruction cache, and what loads hide of them.

use super::*;

/// Block 0 is a load and a branch that depends on it or not; block 1 is what follows.
fn loads_and_branches(test: &[u8], load: Served, is_mispredicted: bool) -> (u64, CycleStack) {
    let blocks = [joined(&[(LOAD, 1), (test, 1), (JUMP, 1)]), LEA.repeat(197)];
    let mut core = core(&machine(4, 96), &blocks);
    for round in 0..100 {
        core.execute(0, 3, &[load], &[round * 64]);
        if is_mispredicted {
            core.mispredicted(0);
        }
        core.execute(1, 197, &[], &[]);
    }
    finished(core)
}

#[test]
fn a_mispredicted_branch_costs_its_resolution_and_the_front_end() {
    let (without, _) = loads_and_branches(TEST_RBX, HIT, false);
    let (with, stack) = loads_and_branches(TEST_RBX, HIT, true);
    // Comparison and branch take two cycles from their dispatch, which is in the cycle before the next.
    assert!((with - without).abs_diff(100 * (15 + 2)) <= 100, "{with} and {without}");
    assert!(stack.get(CycleComponent::Branch).abs_diff(100 * (15 + 2)) <= 100, "{stack:?}");
}

#[test]
fn a_chain_in_front_of_a_mispredicted_branch_is_its_resolution() {
    let block = joined(&[(ADD, 40), (TEST, 1), (JUMP, 1)]);
    let mut core = core(&machine(4, 96), &[block]);
    core.execute(0, 42, &[], &[]);
    core.mispredicted(0);
    // The additions, the comparison, the branch, the front end; the 42 were dispatched in ten cycles and a half.
    assert_eq!(core.now(), 40 + 2 + 15);
    assert_eq!(core.stack().get(CycleComponent::Branch), 57 - 10);
    finished(core);
}

#[test]
fn a_mispredicted_branch_behind_a_load_costs_the_load_and_the_front_end_and_no_more() {
    let load = from(Level::Dram, 600);
    let (without, _) = loads_and_branches(TEST, load, false);
    let (with, stack) = loads_and_branches(TEST, load, true);
    let (hit, _) = loads_and_branches(TEST, HIT, false);
    // The load alone costs what the window does not hide.
    assert!((without - hit).abs_diff(100 * (600 - 96 / 4)) <= 200, "{without} and {hit}");
    // With the branch, it hides nothing.
    assert!((with - hit).abs_diff(100 * (600 + 2 + 15)) <= 300, "{with} and {hit}");
    let (load, branch) = (stack.get(CycleComponent::MemDram), stack.get(CycleComponent::Branch));
    assert!(load.abs_diff(100 * (600 - 96 / 4)) <= 300, "{load}");
    assert!(branch.abs_diff(100 * (96 / 4 + 2 + 15)) <= 300, "{branch}");
}

#[test]
fn a_mispredicted_branch_under_a_load_that_it_does_not_depend_on_is_hidden() {
    let load = from(Level::Dram, 600);
    let (without, before) = loads_and_branches(TEST_RBX, load, false);
    let (with, after) = loads_and_branches(TEST_RBX, load, true);
    assert!(with.abs_diff(without) <= 200, "{with} and {without}");
    assert_eq!(after.get(CycleComponent::Branch), 0);
    assert!(after.get(CycleComponent::MemDram).abs_diff(before.get(CycleComponent::MemDram)) <= 200);
}

#[test]
fn what_the_window_hides_of_a_load_does_not_hide_a_branch() {
    // 20 cycles, in which a window of 96 is not filled: the load costs nothing, so the branch costs all.
    let load = from(Level::L2, 20);
    let (without, before) = loads_and_branches(TEST_RBX, load, false);
    let (with, after) = loads_and_branches(TEST_RBX, load, true);
    assert_eq!(before.get(CycleComponent::MemL2), 0);
    assert!((with - without).abs_diff(100 * 17) <= 100);
    assert!(after.get(CycleComponent::Branch).abs_diff(100 * 17) <= 100);
}

#[test]
fn instruction_fetch_is_booked_at_the_block_and_hidden_under_a_load() {
    let mut core = core(&machine(4, 96), &[LOAD.to_vec(), LEA.repeat(200)]);
    core.execute(1, 200, &[], &[]);
    core.fetch_stall(1, 30);
    assert_eq!(core.now(), 80);
    assert_eq!(core.stack().get(CycleComponent::Ifetch), 30);
    core.execute(0, 1, &[from(Level::Dram, 600)], &[0]);
    core.fetch_stall(1, 50);
    core.execute(1, 200, &[], &[]);
    let (cycles, stack) = finished(core);
    assert_eq!(stack.get(CycleComponent::Ifetch), 30);
    assert!(cycles.abs_diff(80 + 600 + (200 - 96) / 4) <= 2, "{cycles}");
}

#[test]
fn entering_the_kernel_waits_for_all_and_is_a_call() {
    let mut core = core(&machine(4, 96), &[joined(&[(CHASE, 1), (&[0x0f, 0x05], 1)])]); // …; syscall
    core.execute(0, 2, &[from(Level::L3, 100)], &[0]);
    assert_eq!(core.now(), 250);
    assert_eq!(core.stack().get(CycleComponent::Io), 150);
    assert_eq!(core.stack().get(CycleComponent::MemL3), 100);
}

#[test]
fn a_pause_holds_up_dispatch() {
    let (cycles, _) = repeated(&machine(4, 96), &[0xf3, 0x90], 100);
    assert!(cycles >= 800, "{cycles}");
}
