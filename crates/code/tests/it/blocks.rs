//! Translated blocks become basic blocks, and steps between them edges.

use std::collections::BTreeMap;

use holdup_code::{Block, BlockTable, Helper, RawBlock};
use holdup_model::counts::{BlockExit, BlockId};
use proptest::prelude::*;

fn raw(address: u64, bytes: &[u8]) -> RawBlock<'_> {
    RawBlock { address, bytes, generated: false }
}

fn table(raw: &[RawBlock<'_>]) -> BlockTable {
    BlockTable::new(raw, &|_| None)
}

fn only(bytes: &[u8]) -> Block {
    let table = table(&[raw(0x1000, bytes)]);
    assert_eq!(table.blocks().len(), 1);
    table.blocks()[0].clone()
}

#[test]
fn a_block_knows_how_it_ends_and_where_it_goes() {
    use BlockExit::*;
    let cases: &[(&[u8], BlockExit, Option<u64>)] = &[
        (&[0x90, 0x74, 0x10], Branch, Some(0x1013)),
        (&[0xe2, 0xfe], Branch, Some(0x1000)), // loop
        (&[0xeb, 0x02], Jump, Some(0x1004)),
        (&[0xff, 0xe0], IndirectJump, None),
        (&[0xff, 0x24, 0xc5, 0, 0x20, 0, 0], IndirectJump, None),
        (&[0xe8, 0x0b, 0, 0, 0], Call, Some(0x1010)),
        (&[0xff, 0xd0], IndirectCall, None),
        (&[0xff, 0x15, 0, 1, 0, 0], IndirectCall, None),
        (&[0xc3], Return, None),
        (&[0xf3, 0xc3], Return, None),
        (&[0xf2, 0xc3], Return, None),
        (&[0x0f, 0x05], System, None),
        (&[0xcd, 0x80], System, None),
        (&[0x90], Falls, None),
        (&[0x0f, 0x0b], Falls, None), // ud2
        (&[0xf3, 0x90], Falls, None), // pause
    ];
    for (bytes, exit, target) in cases {
        let block = only(bytes);
        assert_eq!((block.exit, block.target), (*exit, *target), "{bytes:x?}");
        assert_eq!(block.next(), 0x1000 + bytes.len() as u64);
    }
}

#[test]
fn a_block_knows_its_instructions() {
    let block = only(&[0x48, 0x89, 0xd8, 0x90, 0x74, 0x10]);
    assert_eq!((block.address, block.length, block.instructions, block.last), (0x1000, 6, 3, 0x1004));
    let nothing = only(&[]);
    assert_eq!((nothing.length, nothing.instructions, nothing.last), (0, 1, 0x1000));
    // A byte that begins no instruction, and an instruction that is cut off.
    assert_eq!(only(&[0x90, 0x06, 0x90]).instructions, 2);
    assert_eq!(only(&[0x90, 0xe8, 0x00]).instructions, 2);
}

#[test]
fn atomic_accesses_are_told_from_plain_ones() {
    assert!(only(&[0xf0, 0x0f, 0xc1, 0x07]).atomic); // lock xadd [rdi], eax
    assert!(only(&[0x90, 0x87, 0x07]).atomic); // xchg [rdi], eax
    assert!(!only(&[0x87, 0xc1]).atomic); // xchg ecx, eax
    assert!(!only(&[0x0f, 0xb1, 0x0f]).atomic); // cmpxchg [rdi], ecx
}

#[test]
fn stubs_of_linkers_are_known() {
    let stubs: &[&[u8]] = &[
        &[0xff, 0x25, 0x10, 0, 0, 0],
        &[0xf2, 0xff, 0x25, 0x10, 0, 0, 0],
        &[0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0x10, 0, 0, 0],
        &[0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x10, 0, 0, 0],
        &[0x68, 3, 0, 0, 0, 0xe9, 0, 0xff, 0xff, 0xff],
        &[0xf3, 0x0f, 0x1e, 0xfa, 0x68, 3, 0, 0, 0, 0xe9, 0, 0xff, 0xff, 0xff],
        &[0xff, 0x35, 0x10, 0, 0, 0, 0xff, 0x25, 0x10, 0, 0, 0],
    ];
    for stub in stubs {
        assert!(only(stub).is_stub, "{stub:x?}");
    }
    let others: &[&[u8]] = &[
        &[0xe9, 0, 0xff, 0xff, 0xff],                         // a tail call
        &[0xff, 0xe0],                                        // jmp rax
        &[0x53, 0xe9, 0, 0xff, 0xff, 0xff],                   // push rbx; jmp
        &[0xff, 0x15, 0x10, 0, 0, 0],                         // call [rip + 16]
        &[0x31, 0xc0, 0x90, 0x90, 0xff, 0x25, 0x10, 0, 0, 0], // work before it
    ];
    for other in others {
        assert!(!only(other).is_stub, "{other:x?}");
    }
}

#[test]
fn repeated_string_instructions_are_known() {
    assert!(only(&[0xf3, 0xa4]).repeats); // rep movsb
    assert!(only(&[0xf2, 0xae]).repeats); // repne scasb
    assert!(!only(&[0xa4]).repeats);
    assert!(!only(&[0x90, 0xf3, 0xa4]).repeats);
    assert!(!only(&[0xf3, 0x90]).repeats);
}

#[test]
fn blocks_are_split_where_others_begin() {
    // nop; nop; xor eax, eax; ret, entered at its beginning, at the second instruction and inside the third.
    let code = [0x90, 0x90, 0x31, 0xc0, 0xc3];
    let table = table(&[raw(0x1000, &code), raw(0x1001, &code[1..]), raw(0x1003, &code[3..])]);
    let shape: Vec<_> = table.blocks().iter().map(|block| (block.address, block.length)).collect();
    assert_eq!(shape, [(0x1000, 1), (0x1001, 4), (0x1003, 2)]);
    assert_eq!(table.parts(0), [BlockId(0), BlockId(1)]);
    assert_eq!(table.parts(1), [BlockId(1)]);
    assert_eq!(table.parts(2), [BlockId(2)]);
    assert_eq!(table.inner(0).collect::<Vec<_>>(), [(BlockId(0), BlockId(1))]);
    assert_eq!(table.bytes(BlockId(1)), &code[1..]);
    assert_eq!(table.blocks()[0].exit, BlockExit::Falls);
    assert_eq!(table.listing(BlockId(1)).len(), 3);
}

#[test]
fn blocks_are_split_where_others_stop_for_no_reason() {
    // The first ends at the border of a page, the second was entered before it and goes on behind it.
    let code = [0x90; 8];
    let table = table(&[raw(0xffc, &code[..4]), raw(0xffe, &code[..6])]);
    let shape: Vec<_> = table.blocks().iter().map(|block| (block.address, block.length)).collect();
    assert_eq!(shape, [(0xffc, 2), (0xffe, 2), (0x1000, 4)]);
    assert_eq!(table.parts(0), [BlockId(0), BlockId(1)]);
    assert_eq!(table.parts(1), [BlockId(1), BlockId(2)]);
}

#[test]
fn code_that_took_the_place_of_other_code_is_its_own() {
    let generated = |address, bytes| RawBlock { address, bytes, generated: true };
    let (one, other) = ([0x90, 0x31, 0xc0, 0xc3], [0x90, 0x31, 0xc9, 0xc3]);
    let table = table(&[generated(0x1000, &one), generated(0x1000, &other), generated(0x1001, &other[1..])]);
    assert_eq!(table.parts(0).len(), 1);
    assert_eq!(table.parts(1).len(), 2);
    assert_eq!(table.parts(1)[1], table.parts(2)[0]);
    assert_eq!(table.bytes(table.parts(0)[0]), one);
    assert!(table.blocks().iter().all(|block| block.generated));
}

#[test]
fn returns_count_for_the_call_that_they_return_to() {
    // 1000: call 1010; 1005: call 1010; 100a: jmp. 1010: ret.
    let blocks = [
        raw(0x1000, &[0xe8, 0x0b, 0, 0, 0]),
        raw(0x1005, &[0xe8, 0x06, 0, 0, 0]),
        raw(0x100a, &[0xeb, 0x10]),
        raw(0x1010, &[0xc3]),
        raw(0x2000, &[0x90]),
    ];
    let table = table(&blocks);
    assert_eq!(table.edge(0, 3), (BlockId(0), BlockId(3)));
    assert_eq!(table.edge(3, 1), (BlockId(0), BlockId(1)));
    assert_eq!(table.edge(3, 2), (BlockId(1), BlockId(2)));
    // To where no call was seen.
    assert_eq!(table.edge(3, 4), (BlockId(3), BlockId(4)));
}

/// A function whose last act is the call of a library's: that returns to who called the function.
#[test]
fn a_jump_to_code_that_is_left_out_returns_from_there() {
    // 1000: call 1010; 1005: jmp 1005. 1010: jmp 5000; 1018: je 5000.
    let blocks = [
        raw(0x1000, &[0xe8, 0x0b, 0, 0, 0]),
        raw(0x1005, &[0xeb, 0xfe]),
        raw(0x1010, &[0xe9, 0xeb, 0x3f, 0, 0]),
        raw(0x1018, &[0x0f, 0x84, 0xe2, 0x3f, 0, 0]),
    ];
    let table = table(&blocks);
    assert_eq!(table.edge(2, 1), (BlockId(0), BlockId(1)));
    assert_eq!(table.edge(3, 1), (BlockId(0), BlockId(1)));
    assert_eq!(table.edge(1, 1), (BlockId(1), BlockId(1)), "a jump to itself");
}

#[test]
fn loops_that_wait_are_marked_and_their_surroundings_are_not() {
    // 1000: nop; 1001: pause; 1003: mov eax, [rdi]; 1005: test eax, eax; 1007: je 1001; 1009: ret
    let code = [0x90, 0xf3, 0x90, 0x8b, 0x07, 0x85, 0xc0, 0x74, 0xf8, 0xc3];
    let blocks = [
        raw(0x1000, &code[..3]),
        raw(0x1001, &code[1..3]),
        raw(0x1003, &code[3..9]),
        raw(0x1009, &code[9..]),
    ];
    let waiting = |table: &BlockTable| {
        table.blocks().iter().filter(|block| block.waits).map(|block| block.address).collect::<Vec<_>>()
    };
    assert_eq!(waiting(&table(&blocks)), [0x1001, 0x1003]);
    // The same loop with a store in it works.
    let mut works = code;
    works[3..5].copy_from_slice(&[0x89, 0x07]);
    let blocks = [raw(0x1001, &works[1..3]), raw(0x1003, &works[3..9])];
    assert!(waiting(&table(&blocks)).is_empty());
    // A call that gives the core away: 1000: call 2000; 1005: cmp [rdi], 0; 1008: je 1000
    let code = [0xe8, 0xfb, 0x0f, 0, 0, 0x80, 0x3f, 0, 0x74, 0xf6];
    let blocks = [raw(0x1000, &code[..5]), raw(0x1005, &code[5..])];
    assert!(waiting(&table(&blocks)).is_empty());
    assert_eq!(
        waiting(&BlockTable::new(&blocks, &|to| (to == 0x2000).then_some(Helper::Waits))),
        [0x1000, 0x1005]
    );
}

#[test]
fn work_that_never_ran_does_not_keep_a_loop_from_waiting() {
    // 1000: mov eax, [rdi]; 1002: test eax, eax; 1004: jne 100a; 1006: (never ran); 1008: jmp 1000; 100a: jmp 1000
    let polls = [0x8b, 0x07, 0x85, 0xc0, 0x75, 0x04];
    let blocks = [raw(0x1000, &polls), raw(0x100a, &[0xeb, 0xf4])];
    assert!(table(&blocks).blocks().iter().all(|block| block.waits));
}

/// A straight piece of code of random instructions.
#[derive(Debug, Clone, Copy)]
enum Op {
    Nop,
    LongNop,
    Branch(usize),
    Jump(usize),
    Call(usize),
    Return,
}

#[derive(Debug)]
struct Program {
    ops: Vec<Op>,
    /// The offset of each instruction, and of the end.
    at: Vec<u64>,
    bytes: Vec<u8>,
}

const START: u64 = 0x40_0000;

impl Program {
    fn new(ops: Vec<Op>) -> Self {
        let mut at = vec![0];
        for op in &ops {
            let length = match op {
                Op::Nop | Op::Return => 1,
                Op::LongNop => 2,
                Op::Branch(_) => 6,
                Op::Jump(_) | Op::Call(_) => 5,
            };
            at.push(at[at.len() - 1] + length);
        }
        let mut bytes = Vec::new();
        for (index, op) in ops.iter().enumerate() {
            let opcode: &[u8] = match op {
                Op::Nop => &[0x90],
                Op::LongNop => &[0x66, 0x90],
                Op::Branch(_) => &[0x0f, 0x84],
                Op::Jump(_) => &[0xe9],
                Op::Call(_) => &[0xe8],
                Op::Return => &[0xc3],
            };
            bytes.extend_from_slice(opcode);
            if let Op::Branch(to) | Op::Jump(to) | Op::Call(to) = op {
                bytes.extend_from_slice(&(at[*to] as i32 - at[index + 1] as i32).to_le_bytes());
            }
        }
        Self { ops, at, bytes }
    }

    fn ends_block(&self, at: usize) -> bool {
        !matches!(self.ops[at], Op::Nop | Op::LongNop)
    }

    /// The instructions executed, and for each that a return led to the call that it returned to.
    fn run(&self, choices: &[bool]) -> Vec<(usize, Option<usize>)> {
        let mut trace = Vec::new();
        let mut calls = Vec::new();
        let (mut at, mut returned_to) = (0, None);
        let mut choices = choices.iter();
        while at < self.ops.len() && trace.len() < 400 {
            trace.push((at, returned_to.take()));
            at = match self.ops[at] {
                Op::Nop | Op::LongNop => at + 1,
                Op::Branch(to) => match choices.next() {
                    Some(true) => to,
                    Some(false) => at + 1,
                    None => break,
                },
                Op::Jump(to) => to,
                Op::Call(to) => {
                    calls.push(at);
                    to
                }
                Op::Return => match calls.pop() {
                    Some(call) => {
                        returned_to = Some(call);
                        call + 1
                    }
                    None => break,
                },
            };
        }
        trace
    }
}

fn programs() -> impl Strategy<Value = (Program, Vec<bool>, usize)> {
    let ops = (4usize..40).prop_flat_map(|length| {
        let op = prop_oneof![
            4 => Just(Op::Nop),
            2 => Just(Op::LongNop),
            3 => (0..length).prop_map(Op::Branch),
            1 => (0..length).prop_map(Op::Jump),
            2 => (0..length).prop_map(Op::Call),
            2 => Just(Op::Return),
        ];
        prop::collection::vec(op, length)
    });
    (ops.prop_map(Program::new), prop::collection::vec(any::<bool>(), 0..60), 1usize..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// An emulator translates from wherever control goes to up to the next jump, or up to some number of instructions.
    /// Edges counted by its blocks are those counted instruction by instruction.
    #[test]
    fn edges_are_those_that_instructions_take((program, choices, most) in programs()) {
        let trace = program.run(&choices);
        let mut starts: BTreeMap<usize, (u32, usize)> = BTreeMap::new();
        let mut executed: Vec<u32> = Vec::new();
        let mut at = 0;
        while at < trace.len() {
            let start = trace[at].0;
            let mut length = 1;
            while !program.ends_block(start + length - 1) && length < most && start + length < program.ops.len() {
                length += 1;
            }
            let next = starts.len() as u32;
            executed.push(starts.entry(start).or_insert((next, length)).0);
            if at + length > trace.len() {
                break;
            }
            at += length;
        }
        // The last one may have been left before its end.
        let whole = if at > trace.len() || at < trace.len() { executed.len() - 1 } else { executed.len() };
        let mut blocks = vec![raw(0, &[]); starts.len()];
        for (start, (raw_index, length)) in &starts {
            let (from, to) = (program.at[*start], program.at[start + length]);
            blocks[*raw_index as usize] = raw(START + from, &program.bytes[from as usize..to as usize]);
        }
        let table = table(&blocks);

        // Each instruction is in one block, and blocks do not overlap.
        for pair in table.blocks().windows(2) {
            prop_assert!(pair[0].next() <= pair[1].address);
        }
        for (index, block) in (0..).zip(&blocks) {
            let parts: Vec<u8> = table.parts(index).iter().flat_map(|part| table.bytes(*part)).copied().collect();
            prop_assert_eq!(&parts, block.bytes);
        }

        let mut counted: BTreeMap<(BlockId, BlockId), u64> = BTreeMap::new();
        for (index, raw) in executed[..whole].iter().enumerate() {
            for edge in table.inner(*raw) {
                *counted.entry(edge).or_default() += 1;
            }
            if index > 0 {
                *counted.entry(table.edge(executed[index - 1], *raw)).or_default() += 1;
            }
        }

        let block_of = |instruction: usize| {
            let address = START + program.at[instruction];
            let after = table.blocks().partition_point(|block| block.address <= address);
            BlockId(after as u32 - 1)
        };
        let is_first = |instruction: usize| {
            table.blocks()[block_of(instruction).index()].address == START + program.at[instruction]
        };
        let complete: usize = executed[..whole]
            .iter()
            .map(|raw| table.parts(*raw).iter().map(|part| table.blocks()[part.index()].instructions as usize).sum::<usize>())
            .sum();
        let mut expected: BTreeMap<(BlockId, BlockId), u64> = BTreeMap::new();
        for pair in trace[..complete].windows(2) {
            let ((from, _), (to, returned_to)) = (pair[0], pair[1]);
            if is_first(to) {
                let from = block_of(returned_to.unwrap_or(from));
                *expected.entry((from, block_of(to))).or_default() += 1;
            }
        }
        prop_assert_eq!(counted, expected);
    }

    #[test]
    fn any_bytes_give_a_table(
        blocks in prop::collection::vec((0u64..64, prop::collection::vec(any::<u8>(), 0..24), any::<bool>()), 0..12),
        high in any::<bool>(),
    ) {
        let base = if high { u64::MAX - 70 } else { 0x1000 };
        let blocks: Vec<_> = blocks
            .iter()
            .map(|(offset, bytes, generated)| RawBlock { address: base + offset, bytes, generated: *generated })
            .collect();
        let table = BlockTable::new(&blocks, &|_| Some(Helper::Waits));
        for index in 0..blocks.len() as u32 {
            prop_assert!(!table.parts(index).is_empty());
            let length: usize = table.parts(index).iter().map(|part| table.bytes(*part).len()).sum();
            prop_assert_eq!(length, blocks[index as usize].bytes.len());
            for other in 0..blocks.len() as u32 {
                let (from, to) = table.edge(index, other);
                prop_assert!(from.index() < table.blocks().len() && to.index() < table.blocks().len());
            }
            for part in table.parts(index) {
                table.listing(*part);
            }
        }
    }
}
