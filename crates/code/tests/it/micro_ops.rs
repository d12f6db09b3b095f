//! Instructions and the micro-ops that they are for a simulated core.

use std::fs;

use holdup_code::{MicroOp, MicroRegister, OpClass, listing, micro_ops};
use iced_x86::{Decoder, DecoderOptions};
use proptest::prelude::*;

const START: u64 = 0x40_1000;

/// The rows of the table: the bytes, the instruction, its micro-ops.
fn rows() -> Vec<(Vec<u8>, &'static str, &'static str)> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    let row = |line: &'static str| {
        let fields: Vec<_> = line.split(" | ").collect();
        (fields[0].as_bytes().chunks(2).map(byte).collect(), fields[1], fields[2])
    };
    include_str!("micro_ops/instructions.txt").lines().map(row).collect()
}

fn text(found: &[MicroOp]) -> String {
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The rules that hold for the micro-ops of any bytes.
fn check(bytes: &[u8], found: &[MicroOp]) {
    let instructions = Decoder::with_ip(64, bytes, START, DecoderOptions::NONE).iter().count();
    assert_eq!(found.iter().filter(|one| one.is_first()).count(), instructions);
    let mut next = 0;
    for one in found {
        assert_eq!(one.slot().is_some(), matches!(one.class, OpClass::Load | OpClass::Store), "{one}");
        if let Some(slot) = one.slot() {
            assert!(slot == next || slot + 1 == next, "{one} after slot {next}");
            next = slot + 1;
        }
    }
    let mut made = 0u64;
    for one in found {
        if one.is_first() {
            made = 0;
        }
        for source in one.sources.iter().filter(|source| source.is_temporary()) {
            assert!(made & 1 << source.number() != 0, "{one} uses what its instruction has not made");
        }
        let gaps = one.sources.windows(2).chain(one.destinations.windows(2));
        assert!(
            gaps.clone().all(|pair| pair[0] != MicroRegister::NONE || pair[1] == MicroRegister::NONE),
            "{one}"
        );
        made |= one.destinations.iter().fold(0, |set, register| set | 1 << register.number());
    }
}

#[test]
fn a_micro_op_has_eight_bytes() {
    assert_eq!(size_of::<MicroOp>(), 8);
}

#[test]
fn every_instruction_of_the_table_is_split_as_it_says() {
    let rows = rows();
    assert!(rows.len() >= 60);
    let mut wrong = Vec::new();
    for (bytes, instruction, expected) in rows {
        assert_eq!(listing(&bytes, START).len(), 1, "{instruction}");
        let found = micro_ops(&bytes, START);
        check(&bytes, &found);
        if text(&found) != expected {
            wrong.push(format!("{instruction}\n  expected {expected}\n  found    {}", text(&found)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn slots_and_beginnings_go_on_through_a_block() {
    // mov rax, [rdi]; add [rsi], rax; push rax; ret
    let bytes = [0x48, 0x8b, 0x07, 0x48, 0x01, 0x06, 0x50, 0xc3];
    let found = micro_ops(&bytes, START);
    let slots: Vec<_> = found.iter().map(|one| one.slot()).collect();
    assert_eq!(slots, [Some(0), Some(1), None, Some(2), Some(3), Some(4), None]);
    let firsts: Vec<_> = found.iter().map(|one| one.is_first()).collect();
    assert_eq!(firsts, [true, true, false, false, true, true, false]);
}

#[test]
fn more_accesses_than_slots_are_taken() {
    let found = micro_ops(&[0xaa; 40_000], START);
    let stores: Vec<_> = found.iter().filter(|one| one.class == OpClass::Store).collect();
    assert_eq!(stores.len(), 40_000);
    assert_eq!(stores[32_766].slot(), Some(32_766));
    assert_eq!(stores[32_767].slot(), None);
}

#[test]
fn classes_have_names_of_their_own() {
    let mut names: Vec<_> = OpClass::ALL.iter().map(|class| class.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), OpClass::ALL.len());
}

/// All code that is mapped into this process (this test, the C library, …), which is read from the files.
#[test]
fn hardly_any_instruction_of_real_programs_has_no_class() {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mut files = 0;
    for line in maps.lines() {
        let fields: Vec<_> = line.split_whitespace().collect();
        let [range, "r-xp", offset, _, _, path] = fields[..] else { continue };
        let Ok(file) = fs::read(path) else { continue };
        let number = |text| usize::from_str_radix(text, 16).unwrap();
        let (start, end) = range.split_once('-').unwrap();
        let bytes = &file[number(offset)..file.len().min(number(offset) + number(end) - number(start))];
        let (mut all, mut unknown) = (0u64, 0u64);
        // Instruction by instruction, as bytes between functions are none.
        let decoder = Decoder::with_ip(64, bytes, START, DecoderOptions::NONE);
        for instruction in decoder.into_iter().filter(|instruction| !instruction.is_invalid()) {
            let at = (instruction.ip() - START) as usize;
            let found = micro_ops(&bytes[at..at + instruction.len()], instruction.ip());
            all += 1;
            unknown += u64::from(found.iter().any(|one| one.class == OpClass::Other));
        }
        assert!(unknown * 100 <= all, "{path}: {unknown} of {all}");
        files += 1;
    }
    assert!(files >= 1);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2048, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&bytes, &micro_ops(&bytes, START));
    }

    /// Rows of the table with other bytes in them: more of the rare encodings than chance gives.
    #[test]
    fn instructions_with_other_bytes_are_taken(
        row in any::<prop::sample::Index>(),
        place in any::<prop::sample::Index>(),
        to in any::<u8>(),
        prefix in prop::option::of(prop::sample::select(&[0xf0u8, 0xf2, 0xf3, 0x66, 0x67, 0x48, 0x62, 0xc4][..])),
    ) {
        let rows = rows();
        let mut bytes = row.get(&rows).0.clone();
        let place = place.index(bytes.len());
        bytes[place] = to;
        bytes.splice(0..0, prefix);
        check(&bytes, &micro_ops(&bytes, START));
    }
}
