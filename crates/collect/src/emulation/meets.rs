//! Functions of a program that may be barriers: those with a loop that waits, and those that are called so.

use std::fs;
use std::ops::Range;
use std::path::Path;

use holdup_code::jumps_back;
use holdup_model::{Frame, RoutineKind, Site};
use holdup_symbols::{Files, Function, Functions, Options, Symbolizer};

use crate::image_names::waits;

/// Larger functions do more than wait for each other.
const MOST_BYTES: u64 = 2048;
/// More are not watched.
const MOST: usize = 256;

/// Where they are in the program's file. None where it has no symbols, or is no program.
pub(super) fn places(program: &Path) -> Vec<Range<u64>> {
    let functions = fs::canonicalize(program).and_then(|program| Functions::of(&program, MOST_BYTES));
    let Ok(functions) = functions else { return Vec::new() };
    let mut symbolizer = Symbolizer::live(None, Options::default(), Files::default());
    for mapping in &functions.mappings {
        symbolizer.add(mapping);
    }
    let may_be_one = |function: &&Function| is_called_so(function) || has_wait(function, &mut symbolizer);
    let found = functions.all.iter().filter(may_be_one).take(MOST);
    found
        .map(|function| {
            function.offset..function.offset + (function.addresses.end - function.addresses.start)
        })
        .collect()
}

fn is_called_so(function: &Function) -> bool {
    let frames = vec![Frame { function: Some(function.name.clone()), ..Frame::default() }];
    Site { frames, ..Site::default() }.routine(|kind| kind == RoutineKind::Barrier).is_some()
}

fn has_wait(function: &Function, symbolizer: &mut Symbolizer) -> bool {
    let Range { start, end } = function.addresses;
    let Some(code) = symbolizer.code_bytes(start, 0, end - start) else { return false };
    let loops = jumps_back(code.bytes, code.start);
    loops.into_iter().any(|jump| waits(symbolizer, jump, &|_| 0).is_some())
}
