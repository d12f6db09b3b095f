//! Bytes that nobody's compiler wrote: always an answer, in a bounded number of reads and little stack.

use std::cell::Cell;
use std::hint::black_box;

use holdup_program::{Caller, Facts, FileBytes, Reason, Sanitizer, Verdict, classify};
use proptest::prelude::*;

/// Counts reads, and the stack below the caller's frame at the deepest of them.
struct Watched<'a> {
    bytes: &'a [u8],
    reads: Cell<usize>,
    lowest: Cell<usize>,
}

impl FileBytes for Watched<'_> {
    #[inline(never)]
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Option<usize> {
        let here = 0_u8;
        self.lowest.set(self.lowest.get().min(black_box(&raw const here).addr()));
        self.reads.set(self.reads.get() + 1);
        self.bytes.read_at(offset, buf)
    }
}

#[inline(never)]
fn classify_watched(bytes: &[u8]) -> (Verdict, usize, usize) {
    let file = Watched { bytes, reads: Cell::new(0), lowest: Cell::new(usize::MAX) };
    let caller = Caller {
        real_user: 1,
        effective_user: 1,
        real_group: 1,
        effective_group: 1,
        privileges_fixed: false,
    };
    let facts = Facts { mode: 0o100755, owner: 0, group: 0, has_capabilities: false, caller };
    let top = 0_u8;
    let top = black_box(&raw const top).addr();
    let verdict = classify(&file, facts);
    (verdict, file.reads.get(), top.saturating_sub(file.lowest.get()))
}

/// 4,096 dynamic entries, each a name of 4,096 bytes read 64 at a time, seven looks along a hash chain
/// of 1,024 symbols, three reads each, and 16,384 undefined symbols, two reads each.
const MOST_READS: usize = 4096 * 64 + 7 * 1024 * 3 + 16_384 * 2 + 2000;

const DYNAMIC: usize = 64 + 3 * 56 + 32;
const STRINGS: usize = DYNAMIC + 6 * 16;
const SYMBOLS: usize = STRINGS + 64;
const HASH: usize = SYMBOLS + 2 * 24;

/// The smallest program with every table: it needs libc and defines `symbol`, found by `hash` under `tag`.
fn tiny_program(symbol: &str, tag: u64, hash: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    let machine: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
    for half in [3, machine, 1, 0] {
        bytes.extend(half.to_le_bytes());
    }
    for word in [0_u64, 64, 0] {
        bytes.extend(word.to_le_bytes());
    }
    for half in [0_u16, 0, 64, 56, 3, 0, 0, 0] {
        bytes.extend(half.to_le_bytes());
    }
    let end = HASH + 4 * hash.len();
    let interpreter = DYNAMIC - 32;
    for (kind, offset, size) in [(1_u64, 0, end), (3, interpreter, 32), (2, DYNAMIC, 6 * 16)] {
        for word in [kind, offset as u64, offset as u64, 0, size as u64, size as u64, 8] {
            bytes.extend(word.to_le_bytes());
        }
    }
    let loader = if cfg!(target_arch = "aarch64") {
        "/lib/ld-linux-aarch64.so.1"
    } else {
        "/lib64/ld-linux-x86-64.so.2"
    };
    bytes.extend(loader.bytes());
    bytes.resize(DYNAMIC, 0);
    for entry in [(1, 1), (5, STRINGS as u64), (6, SYMBOLS as u64), (tag, HASH as u64), (24, 0), (0, 0)] {
        bytes.extend(entry.0.to_le_bytes());
        bytes.extend(u64::to_le_bytes(entry.1));
    }
    bytes.extend(b"\0libc.so.6\0");
    bytes.extend(symbol.bytes());
    bytes.resize(SYMBOLS + 24, 0);
    bytes.extend(11_u32.to_le_bytes());
    bytes.extend([0x12, 0, 1, 0]);
    bytes.resize(HASH, 0);
    bytes.extend(hash.iter().flat_map(|word| word.to_le_bytes()));
    bytes
}

const SYSV: u64 = 4;
const GNU: u64 = 0x6fff_fef5;

fn gnu_hash(name: &str) -> u32 {
    name.bytes().fold(5381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
}

/// One bucket that starts with symbol 1, no Bloom filter, then the chain.
fn gnu_table(chain: &[u32]) -> Vec<u32> {
    [&[1, 1, 0, 0, 1], chain].concat()
}

/// A program with many symbols and libraries: the running test itself.
fn this_program() -> Vec<u8> {
    std::fs::read(std::env::current_exe().unwrap()).unwrap()
}

#[test]
fn an_ordinary_program_takes_few_reads_and_little_stack() {
    // Unoptimised code copies its buffers about; the injected library is always optimised.
    let limit = if cfg!(debug_assertions) { 8 * 1024 } else { 1536 };
    for bytes in [this_program(), b"#!/bin/sh".to_vec()] {
        let (_, reads, stack) = classify_watched(&bytes);
        assert!(reads < 60, "{reads} reads");
        assert!(stack < limit, "{stack} bytes of stack");
        eprintln!("{reads} reads, {stack} bytes of stack");
    }
    assert_eq!(classify_watched(&this_program()).0, Verdict::Enter);
}

#[test]
fn a_symbol_is_found_by_either_hash_table() {
    let address = Verdict::LeaveAlone(Reason::Sanitizer(Sanitizer::Address));
    let gnu = gnu_table(&[gnu_hash("__asan_init") | 1]);
    let sysv = [1, 2, 1, 0, 0];
    for (tag, table) in [(GNU, gnu.as_slice()), (SYSV, &sysv)] {
        assert_eq!(classify_watched(&tiny_program("__asan_init", tag, table)).0, address, "tag {tag:#x}");
        assert_eq!(classify_watched(&tiny_program("__asan_initial", tag, table)).0, Verdict::Enter);
        assert_eq!(classify_watched(&tiny_program("main", tag, table)).0, Verdict::Enter);
        let mut undefined = tiny_program("__asan_init", tag, table);
        undefined[SYMBOLS + 24 + 6] = 0;
        assert_eq!(classify_watched(&undefined).0, Verdict::Enter, "tag {tag:#x}");
    }
}

#[test]
fn hash_chains_without_an_end_are_damage() {
    let damaged = Verdict::LeaveAlone(Reason::Damaged);
    let endless = gnu_table(&[2; 100_000]);
    let (verdict, reads, _) = classify_watched(&tiny_program("main", GNU, &endless));
    assert_eq!(verdict, damaged);
    assert!(reads < 2000, "{reads} reads");
    let circle = [1, 2, 1, 0, 1];
    let (verdict, reads, _) = classify_watched(&tiny_program("main", SYSV, &circle));
    assert_eq!(verdict, damaged);
    assert!(reads < 4000, "{reads} reads");
}

#[test]
fn empty_hash_tables_define_nothing() {
    for tag in [GNU, SYSV] {
        assert_eq!(classify_watched(&tiny_program("__asan_init", tag, &[0; 8])).0, Verdict::Enter);
    }
    assert_eq!(classify_watched(&tiny_program("__asan_init", 25, &[0; 8])).0, Verdict::Enter);
}

/// Overwrites bytes at random places, half of the time with the extremes that arithmetic trips over.
fn spoilt(bytes: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let value = prop_oneof![any::<u8>(), Just(0), Just(0xff), Just(0x7f), Just(0x80)];
    let places = prop::collection::vec((0..bytes.len(), 1..9_usize, value), 1..12);
    places.prop_map(move |places| {
        let mut bytes = bytes.clone();
        for (at, length, value) in places {
            let end = bytes.len().min(at + length);
            bytes[at..end].fill(value);
        }
        bytes
    })
}

fn head_of_this_program() -> Vec<u8> {
    let mut bytes = this_program();
    bytes.truncate(4096);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn spoilt_tables_end_in_bounded_reads(
        bytes in prop_oneof![
            spoilt(tiny_program("__asan_init", GNU, &gnu_table(&[gnu_hash("__asan_init") | 1]))),
            spoilt(tiny_program("__tsan_init", SYSV, &[1, 2, 1, 0, 0])),
        ]
    ) {
        prop_assert!(classify_watched(&bytes).1 < MOST_READS);
    }

    #[test]
    fn spoilt_heads_of_a_real_program_end_in_bounded_reads(bytes in spoilt(head_of_this_program())) {
        prop_assert!(classify_watched(&bytes).1 < MOST_READS);
    }

    #[test]
    fn random_bytes_are_never_entered(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        prop_assert_ne!(classify_watched(&bytes).0, Verdict::Enter);
    }

    #[test]
    fn first_lines_give_a_path_without_blanks(line in "#![ \t]{0,3}[ -~\t\n]{0,300}") {
        if let Verdict::Script(interpreter) = classify_watched(line.as_bytes()).0 {
            let path = interpreter.path();
            prop_assert!(!path.is_empty() && path.len() <= 253);
            prop_assert!(!path.iter().any(|byte| matches!(byte, b' ' | b'\t' | b'\n' | 0)));
        }
    }
}
