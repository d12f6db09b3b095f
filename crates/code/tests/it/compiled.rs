//! Loops as a compiler makes them, unoptimised and optimised: those that wait are told from those that work.

use holdup_code::{Code, Helper, Loop, loads_again, looks_before, waiting_loop, waiting_way};
use iced_x86::{Decoder, DecoderOptions, Instruction};
use proptest::prelude::*;
use proptest::sample::Index;

/// Where the functions are that give the core away, or ask for the time.
const YIELDS: [u64; 2] = [0x500000, 0x500200];

pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) level: &'static str,
    pub(crate) start: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Function {
    pub(crate) fn all() -> Vec<Self> {
        include_str!("compiled/gcc.txt").lines().map(Self::read).collect()
    }

    fn read(line: &'static str) -> Self {
        let fields: Vec<_> = line.split(' ').collect();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        Self {
            name: fields[0],
            level: fields[1],
            start: u64::from_str_radix(fields[2], 16).unwrap(),
            bytes: fields[3].as_bytes().chunks(2).map(byte).collect(),
        }
    }

    pub(crate) fn instructions(&self) -> Vec<Instruction> {
        Decoder::with_ip(64, &self.bytes, self.start, DecoderOptions::NONE).iter().collect()
    }

    fn waits_at(&self, ip: u64, helper: &dyn Fn(u64) -> Option<Helper>) -> bool {
        // As often at each instruction.
        waiting_loop(&Code { start: self.start, bytes: &self.bytes }, ip, helper, &|_| 1000).is_some()
    }
}

fn helper(address: u64) -> Option<Helper> {
    YIELDS.contains(&address).then_some(Helper::Waits)
}

#[test]
fn loops_that_wait_are_found() {
    let mut count = 0;
    for function in Function::all().iter().filter(|function| function.name.starts_with("w_")) {
        let is_back =
            |jump: &&Instruction| jump.near_branch_target() != 0 && jump.near_branch_target() <= jump.ip();
        let instructions = function.instructions();
        let jumps: Vec<_> = instructions.iter().filter(|jump| !jump.is_call_near()).filter(is_back).collect();
        assert!(!jumps.is_empty(), "{} {}", function.name, function.level);
        for jump in jumps {
            let offset = jump.ip() - function.start;
            let waits = function.waits_at(jump.ip(), &helper);
            assert!(waits, "{} {} +{offset:#x}", function.name, function.level);
        }
        // A jump alone is no loop: what it jumps to, and what is between, wait too.
        let waiting = instructions.iter().filter(|one| function.waits_at(one.ip(), &helper));
        assert!(waiting.count() >= 2, "{} {}", function.name, function.level);
        count += 1;
    }
    assert_eq!(count, 3 * 21 - 1);
}

#[test]
fn loops_that_work_are_not() {
    let mut count = 0;
    for function in Function::all().iter().filter(|function| function.name.starts_with("n_")) {
        for instruction in function.instructions() {
            let offset = instruction.ip() - function.start;
            let waits = function.waits_at(instruction.ip(), &helper);
            assert!(!waits, "{} {} +{offset:#x}", function.name, function.level);
        }
        count += 1;
    }
    assert_eq!(count, 3 * 28);
}

/// `while (flag != v) { #pragma omp flush }` as clang 19 compiles it: a call that orders accesses is no reason to call a loop
/// a wait, and none not to.
#[test]
fn a_call_that_orders_accesses_changes_nothing() {
    let flush = 0x1030;
    let helper = |to: u64| (to == flush).then_some(Helper::Orders);
    let spins = [0x4c, 0x89, 0xf7, 0xe8, 0x68, 0xfd, 0xff, 0xff, 0x3b, 0x1d, 0x8a, 0x2d, 0, 0, 0x75, 0xf0]; // mov rdi, r14; call flush; cmp ebx, [rip + x]; jne
    let code = Code { start: 0x12c0, bytes: &spins };
    assert_eq!(waiting_loop(&code, 0x12c8, &helper, &|_| 0), Some(Loop { start: 0x12c0, end: 0x12d0 }));
    assert_eq!(waiting_loop(&code, 0x12c8, &|_| None, &|_| 0), None);
    let counts = [
        0x4c, 0x89, 0xf7, 0xe8, 0x68, 0xfd, 0xff, 0xff, 0xff, 0xc3, 0x3b, 0x1d, 0x88, 0x2d, 0, 0, 0x75, 0xee,
    ]; // inc ebx before the comparison
    let code = Code { start: 0x12c0, bytes: &counts };
    assert_eq!(waiting_loop(&code, 0x12c8, &helper, &|_| 0), None);
}

#[test]
fn a_call_of_nobody_knows_what_is_no_wait() {
    let functions = Function::all();
    for function in functions.iter().filter(|function| ["w_yield", "w_clock"].contains(&function.name)) {
        for instruction in function.instructions() {
            assert!(!function.waits_at(instruction.ip(), &|_| None), "{} {}", function.name, function.level);
        }
    }
}

/// What rustc makes of a wait that asks for the time: the pointer to the function is loaded before the loop.
///
/// ```text
/// while start.elapsed().as_millis() < 5 { std::hint::spin_loop() }
/// ```
#[test]
fn a_call_by_a_pointer_that_was_loaded_before_is_looked_up() {
    let bytes = [
        0x48, 0x89, 0xe3, // mov rbx, rsp
        0x4c, 0x8b, 0x3d, 0x00, 0x01, 0x00, 0x00, // mov r15, [rip + 256]
        0x90, // nop
        0x48, 0x89, 0xdf, // mov rdi, rbx
        0x41, 0xff, 0xd7, // call r15
        0x48, 0x83, 0xf8, 0x05, // cmp rax, 5
        0x48, 0x83, 0xda, 0x00, // sbb rdx, 0
        0x72, 0xf0, // jb
    ];
    let code = Code { start: 0x1000, bytes: &bytes };
    let pointer = 0x1000 + 10 + 256;
    let expected = Some(Loop { start: 0x100b, end: 0x101b });
    assert_eq!(
        waiting_loop(&code, 0x1011, &|address| (address == pointer).then_some(Helper::Waits), &|_| 0),
        expected
    );
    assert_eq!(
        waiting_loop(&code, 0x1011, &|address| (address == pointer + 1).then_some(Helper::Waits), &|_| 0),
        None
    );
    // Loaded into another register.
    let mut other = bytes;
    other[5] = 0x35;
    assert_eq!(
        waiting_loop(
            &Code { bytes: &other, ..code },
            0x1011,
            &|address| (address == pointer).then_some(Helper::Waits),
            &|_| 0
        ),
        None
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_taken(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        start in prop_oneof![any::<u64>(), Just(u64::MAX - 100), Just(0)],
        at in any::<Index>(),
        yields in any::<bool>(),
    ) {
        let code = Code { start, bytes: &bytes };
        let ip = start.wrapping_add(at.index(bytes.len() + 1) as u64);
        if let Some(found) = waiting_loop(&code, ip, &|_| yields.then_some(Helper::Waits), &|_| u64::MAX / 2048) {
            prop_assert!(found.start <= ip && ip < found.end);
        }
    }

    #[test]
    fn damaged_code_is_taken(
        which in any::<Index>(),
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 0..6),
        cut in any::<Index>(),
        at in any::<Index>(),
    ) {
        let functions = Function::all();
        let mut function = functions.into_iter().nth(which.index(3 * 42 - 1)).unwrap();
        for (at, value) in changes {
            let at = at.index(function.bytes.len());
            function.bytes[at] = value;
        }
        let ip = function.start + at.index(function.bytes.len()) as u64;
        function.bytes.truncate(cut.index(function.bytes.len()) + 1);
        function.waits_at(ip, &helper);
    }
}

/// What gcc makes of a lambda that waits for a variable of its caller, and then works, again and again: the pointer to the
/// variable is read anew in each round, and both loops begin with the same instruction.
#[test]
fn a_wait_at_the_beginning_of_a_loop_that_works() {
    let bytes = [
        0x48, 0x8b, 0x47, 0x10, // again: mov rax, [rdi + 0x10]
        0x8b, 0x00, // mov eax, [rax]
        0x39, 0xc1, // cmp ecx, eax
        0x75, 0xf6, // jne again
        0xb8, 0x20, 0xa1, 0x07, 0x00, // mov eax, 500000
        0xf2, 0x0f, 0x59, 0xc2, // work: mulsd xmm0, xmm2
        0x83, 0xe8, 0x01, // sub eax, 1
        0x75, 0xf7, // jne work
        0x48, 0x8b, 0x47, 0x10, // mov rax, [rdi + 0x10]
        0x89, 0x30, // mov [rax], esi
        0x83, 0xea, 0x01, // sub edx, 1
        0x75, 0xdd, // jne again
        0xc3,
    ];
    let code = Code { start: 0x1000, bytes: &bytes };
    // Most of the time it works, in a loop within.
    let seen = |ip: u64| match ip {
        0x1000..0x100a => 100,
        0x100f..0x1018 => 2000,
        _ => 3,
    };
    for ip in [0x1000, 0x1004, 0x1006, 0x1008] {
        assert!(waiting_loop(&code, ip, &|_| None, &seen).is_some(), "{ip:#x}");
        assert_eq!(waiting_loop(&code, ip, &|_| None, &|_| 1000), None, "the other way is gone as often");
    }
    for ip in [0x100a, 0x100f, 0x1013, 0x1018, 0x101e, 0x1021] {
        assert_eq!(waiting_loop(&code, ip, &|_| None, &seen), None, "{ip:#x}");
    }
    // A step that is taken now and then: what decides is what the other way left.
    let steps = [
        0x8b, 0x07, // again: mov eax, [rdi]
        0x85, 0xc9, // test ecx, ecx
        0x75, 0x07, // jne other
        0xb9, 0x01, 0x00, 0x00, 0x00, // mov ecx, 1
        0xeb, 0xf3, // jmp again
        0x01, 0xc2, // other: add edx, eax
        0x31, 0xc9, // xor ecx, ecx
        0x39, 0xf2, // cmp edx, esi
        0x75, 0xeb, // jne again
        0xc3,
    ];
    let code = Code { start: 0x1000, bytes: &steps };
    for ip in [0x1000, 0x1002, 0x1004, 0x1006, 0x100b, 0x100d] {
        assert_eq!(waiting_loop(&code, ip, &|_| None, &seen), None, "{ip:#x}");
    }
}

/// `for (…) { while (!queue.put(data + i, batch)) {} }` in a lambda, as gcc compiles it: there is no room, so it looks again, and reads how
/// much it has to put for the next look at the end of each.
#[test]
fn what_a_look_reads_for_the_next_one_others_can_change_too() {
    let bytes = [
        0x49, 0x8b, 0x40, 0x08, // again: mov rax, [r8 + 8]
        0x48, 0x8b, 0x48, 0x20, // mov rcx, [rax + 0x20]
        0x48, 0x2b, 0x48, 0x18, // sub rcx, [rax + 0x18]
        0x48, 0x8b, 0x50, 0x08, // mov rdx, [rax + 8]
        0x48, 0x29, 0xf2, // sub rdx, rsi
        0x48, 0x39, 0xd1, // cmp rcx, rdx
        0x72, 0x09, // jb to the work
        0x49, 0x8b, 0x40, 0x10, // mov rax, [r8 + 0x10]
        0x0f, 0xb7, 0x30, // movzx esi, word [rax]
        0xeb, 0xdf, // jmp again
        0x48, 0x89, 0x4f, 0x40, // work: mov [rdi + 0x40], rcx
        0x48, 0x87, 0x70, 0x20, // xchg [rax + 0x20], rsi
        0x49, 0x01, 0xf2, // add r10, rsi
        0x4d, 0x3b, 0x10, // cmp r10, [r8]
        0x72, 0xcf, // jb again
        0xc3,
    ];
    let code = Code { start: 0x1000, bytes: &bytes };
    let seen = |ip: u64| if ip < 0x1021 { 100 } else { 1 };
    for ip in [0x1000, 0x1008, 0x1010, 0x1016, 0x1018, 0x101c] {
        assert!(waiting_loop(&code, ip, &|_| None, &seen).is_some(), "{ip:#x}");
        assert_eq!(waiting_loop(&code, ip, &|_| None, &|_| 1000), None, "the other way is gone as often");
    }
    for ip in [0x1021, 0x1025, 0x102c] {
        assert_eq!(waiting_loop(&code, ip, &|_| None, &seen), None, "{ip:#x}");
    }
    // What is put there for the next look, but is not read, is a step of something: `mov esi, 7` in place of the MOVZX and the MOV.
    let mut steps = bytes;
    steps[0x18..0x1f].copy_from_slice(&[0xbe, 7, 0, 0, 0, 0x66, 0x90]);
    assert_eq!(waiting_loop(&Code { bytes: &steps, ..code }, 0x1008, &|_| None, &seen), None);
    // And so is what is read from where the look before ended: `mov r8, [r8 + 0x10]`.
    let mut chases = bytes;
    chases[0x18..0x1c].copy_from_slice(&[0x4d, 0x8b, 0x40, 0x10]);
    assert_eq!(waiting_loop(&Code { bytes: &chases, ..code }, 0x1008, &|_| None, &seen), None);
}

/// `for (…) { while (load(&lock) || swap(&lock, 1)) PAUSE; … }` as gcc compiles it at -O2: to try again and to come for the next
/// round are two ways to the same first instruction.
#[test]
fn a_way_with_a_pause_is_a_wait_also_where_it_is_hardly_gone() {
    let bytes = [
        0x8b, 0x05, 0x00, 0x01, 0x00, 0x00, // mov eax, [rip + 256]
        0x85, 0xc0, // test eax, eax
        0x75, 0x0c, // jne to the PAUSE
        0x89, 0xc8, // mov eax, ecx
        0x87, 0x05, 0xf6, 0x00, 0x00, 0x00, // xchg eax, the same word
        0x85, 0xc0, // test eax, eax
        0x74, 0x04, // je to the work
        0xf3, 0x90, // pause
        0xeb, 0xe6, // jmp
        0x48, 0xff, 0x05, 0x00, 0x02, 0x00, 0x00, // inc [rip + 512]
        0xeb, 0xdd, // jmp
    ];
    let code = Code { start: 0x1000, bytes: &bytes };
    let seldom = |address: u64| if address < 0x101a { 1000 } else { 999 };
    assert_eq!(waiting_way(&code, 0x1000, &|_| None, &seldom), Some(Loop { start: 0x1000, end: 0x101a }));
    assert_eq!(waiting_loop(&code, 0x1000, &|_| None, &seldom), None);
    // A thread that was always found there waits.
    let always = |address: u64| if address < 0x101a { 1000 } else { 0 };
    assert_eq!(waiting_loop(&code, 0x1000, &|_| None, &always), Some(Loop { start: 0x1000, end: 0x101a }));
}

/// `while (!flags[n]) PAUSE;` as clang compiles it: a first look, by other registers, before the loop, and what aligns that.
#[test]
fn a_first_look_belongs_to_its_loop() {
    let bytes = [
        0x41, 0x8b, 0x0c, 0x0f, // mov ecx, [r15 + rcx]
        0x85, 0xc9, // test ecx, ecx
        0x75, 0x0a, // jne behind the loop
        0x66, 0x90, // xchg ax, ax
        0xf3, 0x90, // pause
        0x8b, 0x08, // mov ecx, [rax]
        0x85, 0xc9, // test ecx, ecx
        0x74, 0xf8, // je
        0xc3,
    ];
    let (load, look) = (0x1000, 0x100c);
    let code = Code { start: load, bytes: &bytes };
    let found = waiting_way(&code, look, &|_| None, &|_| 0).expect("the loop");
    assert_eq!(loads_again(&code, load), [look]);
    assert_eq!(loads_again(&code, look), [look]);
    assert!(looks_before(&code, load, look, found));
    assert!(!looks_before(&code, look, look, found));
    // What writes before the branch is no look: `inc dword [rax]` in place of the comparison.
    let mut writes = bytes;
    writes[4..6].copy_from_slice(&[0xff, 0x00]);
    assert!(!looks_before(&Code { start: load, bytes: &writes }, load, look, found));
}

/// `for (…) { while (!flag) PAUSE; … }` as gcc compiles it: a `jmp` over the first PAUSE enters the loop behind its header.
#[test]
fn a_loop_that_is_entered_behind_its_first_instruction_waits() {
    let bytes = [
        0xeb, 0x02, // jmp over the PAUSE
        0xf3, 0x90, // pause
        0x8b, 0x05, 0x00, 0x01, 0x00, 0x00, // mov eax, [rip + 256]
        0x85, 0xc0, // test eax, eax
        0x74, 0xf4, // je to the PAUSE
        0xff, 0x05, 0x00, 0x02, 0x00, 0x00, // inc [rip + 512]
        0xff, 0xcb, // dec ebx
        0x75, 0xe8, // jne to the jmp
        0xc3,
    ];
    let code = Code { start: 0x1000, bytes: &bytes };
    let found = Some(Loop { start: 0x1002, end: 0x100e });
    assert_eq!(waiting_loop(&code, 0x1004, &|_| None, &|_| 0), found);
    assert_eq!(waiting_loop(&code, 0x100e, &|_| None, &|_| 0), None);
}

/// `for (…) { volatile int i = 0; while (!flag && i < 350) i++; … }`: as that, without a PAUSE.
#[test]
fn what_waits_for_a_number_of_turns_at_most_waits() {
    let bytes = [
        0xeb, 0x16, // jmp to the second comparison
        0x8b, 0x44, 0x24, 0x0c, // mov eax, [rsp + 12]
        0x83, 0xc0, 0x01, // add eax, 1
        0x89, 0x44, 0x24, 0x0c, // mov [rsp + 12], eax
        0x0f, 0xb6, 0x05, 0x00, 0x01, 0x00, 0x00, // movzx eax, byte [rip + 256]
        0x84, 0xc0, // test al, al
        0x75, 0x0b, // jne behind the loop
        0x8b, 0x44, 0x24, 0x0c, // mov eax, [rsp + 12]
        0x3d, 0x5d, 0x01, 0x00, 0x00, // cmp eax, 349
        0x7e, 0xdf, // jle to the first instruction
        0xff, 0x05, 0x00, 0x02, 0x00, 0x00, // inc [rip + 512]
        0xff, 0xcb, // dec ebx
        0x75, 0xd3, // jne to the jmp
        0xc3,
    ];
    let code = Code { start: 0x1000, bytes: &bytes };
    let found = Some(Loop { start: 0x1002, end: 0x1023 });
    assert_eq!(waiting_loop(&code, 0x1021, &|_| None, &|_| 0), found);
    assert_eq!(waiting_loop(&code, 0x102b, &|_| None, &|_| 0), None);
    // Where only the count ends it, it is a pause in the program's own time.
    let mut counts = bytes;
    counts[0x16..0x18].copy_from_slice(&[0x66, 0x90]);
    assert_eq!(waiting_loop(&Code { start: 0x1000, bytes: &counts }, 0x1021, &|_| None, &|_| 0), None);
}
