//! Functions of a program that may be barriers: those with a loop that waits, those that call one, and those that are called so.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::Path;

use holdup_code::{QuietLoop, Waits, may_wait};
use holdup_model::{Frame, RoutineKind, Site};
use holdup_symbols::{Files, Function, Functions, Options, Symbolizer, demangle};

use crate::image_names::waits;

/// Larger functions do more than wait for each other.
const MOST_BYTES: u64 = 2048;
/// A barrier calls what waits through so many functions at most.
const CALLS: usize = 2;
/// More are not watched.
const MOST: usize = 256;

/// Loops that are looked at closely.
struct Looks {
    /// Who is called must be found out by names, which takes a millisecond.
    with_calls: u32,
    without: u32,
}

const MOST_LOOKS: Looks = Looks { with_calls: 200, without: 5_000 };

/// Where they are in the program's file. None where it has no symbols, or is no program.
pub(super) fn places(program: &Path) -> Vec<Range<u64>> {
    let functions = fs::canonicalize(program).and_then(|program| Functions::of(&program, MOST_BYTES));
    let Ok(functions) = functions else { return Vec::new() };
    let mut symbolizer = Symbolizer::live(None, Options::default(), Files::default());
    for mapping in &functions.mappings {
        symbolizer.add(mapping);
    }
    let mut budget = MOST_LOOKS;
    let mut found: BTreeSet<u64> = BTreeSet::new();
    let mut all: Vec<(u64, Vec<u64>)> = Vec::with_capacity(functions.all.len());
    for function in &functions.all {
        let start = function.addresses.start;
        let waits = functions.code(function).map(|code| may_wait(code, start));
        let Some(Waits { loops, leads_to }) = waits else {
            continue;
        };
        if is_called_so(function) || loops.iter().any(|one| budget.is_wait(one, &mut symbolizer)) {
            found.insert(start);
        }
        all.push((start, leads_to));
    }
    // The wait itself may be another function's.
    for _ in 0..CALLS {
        let calls_one = |targets: &[u64]| targets.iter().any(|target| found.contains(target));
        let callers = all.iter().filter(|(_, leads_to)| calls_one(leads_to)).map(|(start, _)| *start);
        let callers: Vec<u64> = callers.collect();
        found.extend(callers);
    }
    let found = functions.all.iter().filter(|function| found.contains(&function.addresses.start));
    let size = |function: &Function| function.addresses.end - function.addresses.start;
    found.take(MOST).map(|function| function.offset..function.offset.saturating_add(size(function))).collect()
}

fn is_called_so(function: &Function) -> bool {
    let says_so = |part: &[u8]| part == b"barrier";
    if !function.name.windows(7).any(says_so) {
        return false;
    }
    let name = demangle(&String::from_utf8_lossy(&function.name));
    let frames = vec![Frame { function: Some(name), ..Frame::default() }];
    Site { frames, ..Site::default() }.routine(|kind| kind == RoutineKind::Barrier).is_some()
}

impl Looks {
    /// Looks at a loop, if that is not too much.
    fn is_wait(&mut self, found: &QuietLoop, symbolizer: &mut Symbolizer) -> bool {
        let left = if found.calls { &mut self.with_calls } else { &mut self.without };
        let is_looked_at = *left > 0;
        *left = left.saturating_sub(1);
        is_looked_at && waits(symbolizer, found.jump, &|_| 0).is_some()
    }
}
