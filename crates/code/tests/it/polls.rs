//! Loops that look for work, as a compiler makes them: those that found none are told from those that work.

use std::collections::BTreeMap;

use holdup_code::{Code, Helper, Look, look, polls};
use iced_x86::{Mnemonic, OpKind, Register};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::compiled::Function;

/// Where the functions are that take a lock and free it.
const LOCKS: [u64; 2] = [0x500700, 0x500800];

/// All functions of one level of optimisation.
struct Program(BTreeMap<u64, Function>);

impl Program {
    fn all() -> Vec<Program> {
        let of = |level: &str| {
            let functions = Function::all().into_iter().filter(|function| function.level == level);
            Program(functions.map(|function| (function.start, function)).collect())
        };
        ["-O0", "-O1", "-O2"].into_iter().map(of).collect()
    }

    fn look(&self, start: u64, depth: usize) -> Option<Look> {
        let Function { bytes, .. } = self.0.get(&start)?;
        look(&Code { start, bytes }, &|called| self.helper(called, depth))
    }

    fn helper(&self, start: u64, depth: usize) -> Option<Helper> {
        if LOCKS.contains(&start) {
            return Some(Helper::Orders);
        }
        self.look(start, depth.checked_sub(1)?).as_ref().map(Look::as_helper)
    }

    /// The instructions of a function, by their distance from its beginning, at which threads may be that go round and find nothing.
    fn polls(&self, function: &Function) -> Vec<u64> {
        let Function { start, bytes, .. } = function;
        let code = Code { start: *start, bytes };
        let is_at = |ip: u64| way(&code, ip, &|called| self.helper(called, 2)).is_some();
        let all = function.instructions();
        all.iter().map(|one| one.ip()).filter(|ip| is_at(*ip)).map(|ip| ip - start).collect()
    }

    fn beginning_with<'a>(&'a self, prefix: &'static str) -> impl Iterator<Item = &'a Function> {
        self.0.values().filter(move |function| function.name.starts_with(prefix))
    }
}

/// The instructions of the largest way round that an instruction is on.
fn way(code: &Code<'_>, ip: u64, helper: &dyn Fn(u64) -> Option<Helper>) -> Option<Vec<u64>> {
    let ways = polls(code, ip, helper).ways.into_iter().map(|way| way.instructions);
    ways.filter(|instructions| instructions.contains(&ip)).max_by_key(Vec::len)
}

#[test]
fn who_looks_for_work_and_finds_none_waits() {
    for program in Program::all() {
        let found: Vec<_> =
            program.beginning_with("p_").map(|function| (function, program.polls(function))).collect();
        assert_eq!(found.len(), 4);
        for (function, at) in found {
            assert!(at.len() >= 4, "{} {}: {at:x?}", function.name, function.level);
            // Not where something is done: calls of `work`, stores.
            let acts = function.instructions().into_iter().filter(|one| {
                one.near_branch_target() == 0x500100
                    || one.op0_kind() == OpKind::Memory
                        && one.mnemonic() == Mnemonic::Mov
                        && !matches!(one.memory_base(), Register::RBP | Register::RSP)
                        && one.op1_kind() != OpKind::Memory
            });
            for act in acts.map(|one| one.ip() - function.start) {
                assert!(!at.contains(&act), "{} {}: {act:x}", function.name, function.level);
            }
        }
    }
}

#[test]
fn who_works_does_not() {
    for program in Program::all() {
        // It looks whether there is something before it takes it.
        for function in program.beginning_with("n_").filter(|function| function.name != "n_pop") {
            let at = program.polls(function);
            assert!(at.is_empty(), "{} {}: {at:x?}", function.name, function.level);
        }
    }
}

/// What clang 19 makes of `for (;;) { if (!me) { read(); ready = r + 1; } while (ready <= r) pause(); … meet(); if (++r >= n) break; }`: what
/// is between the meeting and the loop that waits is no part of that, though the loop is entered from there behind its first instruction.
#[test]
fn what_leads_into_a_loop_that_waits_is_no_part_of_it() {
    let bytes = [
        0x48, 0x85, 0xdb, // 1000: test rbx, rbx
        0x75, 0x09, // 1003: jne 100e
        0xe8, 0xf6, 0xff, 0x00, 0x00, // 1005: call 11000
        0xeb, 0x02, // 100a: jmp 100e
        0xf3, 0x90, // 100c: pause
        0x48, 0x8b, 0x05, 0xeb, 0x0f, 0x00, 0x00, // 100e: mov rax, [rip + 4075]
        0x4c, 0x39, 0xf0, // 1015: cmp rax, r14
        0x7e, 0xf2, // 1018: jle 100c
        0xe8, 0xe1, 0xff, 0x00, 0x00, // 101a: call 11000
        0x49, 0x39, 0xc6, // 101f: cmp r14, rax
        0x7c, 0xdc, // 1022: jl 1000
        0xc3,
    ];
    let code = Code { start: 0x1000, bytes: &bytes };
    let turn = |ip| way(&code, ip, &|_| None);
    assert_eq!(turn(0x100e), Some(vec![0x100c, 0x100e, 0x1015, 0x1018]));
    assert_eq!([0x1000, 0x101f, 0x1022].map(turn), [None, None, None]);
}

#[test]
fn a_function_can_come_back_without_having_done_anything() {
    for program in Program::all() {
        let of = |name: &'static str| {
            let function = program.beginning_with(name).next().unwrap();
            (function, program.look(function.start, 1))
        };
        let (take, found) = of("k_take");
        let found = found.unwrap();
        let last = take.instructions().last().unwrap().ip();
        assert!(found.instructions.contains(&take.start), "{}", take.level);
        assert!(
            found.instructions.len() < take.instructions().len() && found.calls.is_empty(),
            "{}",
            take.level
        );
        assert!(found.instructions.iter().all(|address| (take.start..=last).contains(address)));
        assert!(matches!(found.as_helper(), Helper::Looks { reads: true, .. }));
        // It has the end of a list without having gone on in it.
        let (next, found) = of("k_next");
        let is_zero = matches!(found.unwrap().as_helper(), Helper::Looks { gives_zero: true, .. });
        assert!(is_zero, "{}", next.level);
        assert!(matches!(of("k_is_done").1.unwrap().as_helper(), Helper::Looks { gives_zero: false, .. }));
        let (call, found) = of("n_call");
        assert_eq!(found.map(|found| found.calls), Some(Vec::new()), "{}: if all is done", call.level);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn damaged_code_is_taken(
        which in any::<Index>(),
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 0..6),
        at in any::<Index>(),
        start in prop_oneof![any::<u64>(), Just(u64::MAX - 100), Just(0)],
    ) {
        let functions = Function::all();
        let mut bytes = functions[which.index(functions.len())].bytes.clone();
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        let helper = |address: u64| address.is_multiple_of(3).then_some(Helper::Waits);
        let code = Code { start, bytes: &bytes };
        let ip = start.wrapping_add(at.index(bytes.len() + 1) as u64);
        let found = polls(&code, ip, &helper);
        // What is settled is settled: no other ways are found from there.
        for settled in found.settled {
            let again = polls(&code, settled, &helper).ways;
            prop_assert!(again.iter().all(|way| found.ways.contains(way) || !way.instructions.contains(&settled)));
        }
        if let Some(found) = look(&code, &helper) {
            prop_assert!(found.instructions.contains(&start));
        }
    }
}
