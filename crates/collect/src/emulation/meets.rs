//! Functions of a program that may be barriers: those with a loop that waits, those that call one, and those that are called so.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::Path;

use holdup_code::{jumps_back, leads_to};
use holdup_model::{Frame, RoutineKind, Site};
use holdup_symbols::{Files, Function, Functions, Options, Symbolizer};

use crate::image_names::waits;

/// Larger functions do more than wait for each other.
const MOST_BYTES: u64 = 2048;
/// A barrier calls what waits through so many functions at most.
const CALLS: usize = 2;
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
    let mut found: BTreeSet<u64> = BTreeSet::new();
    for function in &functions.all {
        if is_called_so(function) || has_wait(function, &mut symbolizer) {
            found.insert(function.addresses.start);
        }
    }
    // The wait itself may be another function's.
    for _ in 0..CALLS {
        let calls_one = |function: &&Function| {
            let code = code_of(function, &symbolizer);
            code.is_some_and(|(bytes, start)| {
                leads_to(bytes, start).iter().any(|target| found.contains(target))
            })
        };
        let callers = functions.all.iter().filter(calls_one).map(|function| function.addresses.start);
        let callers: Vec<u64> = callers.collect();
        found.extend(callers);
    }
    let found = functions.all.iter().filter(|function| found.contains(&function.addresses.start));
    let size = |function: &Function| function.addresses.end - function.addresses.start;
    found.take(MOST).map(|function| function.offset..function.offset + size(function)).collect()
}

fn is_called_so(function: &Function) -> bool {
    let frames = vec![Frame { function: Some(function.name.clone()), ..Frame::default() }];
    Site { frames, ..Site::default() }.routine(|kind| kind == RoutineKind::Barrier).is_some()
}

fn has_wait(function: &Function, symbolizer: &mut Symbolizer) -> bool {
    let Some((bytes, start)) = code_of(function, symbolizer) else { return false };
    let loops = jumps_back(bytes, start);
    loops.into_iter().any(|jump| waits(symbolizer, jump, &|_| 0).is_some())
}

/// Its instructions, and where they begin.
fn code_of<'a>(function: &Function, symbolizer: &'a Symbolizer) -> Option<(&'a [u8], u64)> {
    let Range { start, end } = function.addresses;
    let code = symbolizer.code_bytes(start, 0, end - start)?;
    Some((code.bytes, code.start))
}
