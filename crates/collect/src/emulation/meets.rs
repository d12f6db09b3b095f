//! What of a program may be barriers: functions with a loop that waits, those that call one, and those that are called so; and, for
//! barriers that are inlined, pieces of functions with a loop that waits.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::Path;

use holdup_code::{Loop, MeetingPlace, QuietLoop, Waits, may_wait, meeting_places};
use holdup_model::{Frame, RoutineKind, Site};
use holdup_symbols::{Files, Function, Functions, Options, Symbolizer, demangle};

use crate::image_names::waits;

/// Larger functions do more than wait for each other.
const MOST_BYTES: u64 = 2048;
/// In larger ones no inlined barriers are looked for.
const MOST_BYTES_AROUND: u64 = 1 << 16;
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

/// What may be a barrier, by where it is in the program's file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    Function(Range<u64>),
    /// A piece of a function.
    Piece(MeetingPlace),
}

impl fmt::Display for Place {
    /// As the plugin wants it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Function(range) => write!(f, "{:x}-{:x}", range.start, range.end),
            Self::Piece(MeetingPlace { behind, comes, leaves }) => {
                let all = |all: &[u64]| all.iter().map(|at| format!("{at:x}")).collect::<Vec<_>>().join("+");
                write!(f, "{behind:x}/{}/{}", all(comes), all(leaves))
            }
        }
    }
}

/// What of a program may be barriers. None where it has no symbols, or is no program.
pub(super) fn places(program: &Path) -> Vec<Place> {
    let functions = fs::canonicalize(program).and_then(|program| Functions::of(&program, MOST_BYTES_AROUND));
    let Ok(functions) = functions else { return Vec::new() };
    let mut symbolizer = Symbolizer::live(None, Options::default(), Files::default());
    for mapping in &functions.mappings {
        symbolizer.add(mapping);
    }
    let mut budget = MOST_LOOKS;
    let mut found: BTreeSet<u64> = BTreeSet::new();
    let mut all: Vec<Looked<'_>> = Vec::with_capacity(functions.all.len());
    for function in &functions.all {
        let start = function.addresses.start;
        let waits = functions.code(function).map(|code| may_wait(code, start));
        let Some(Waits { loops, leads_to }) = waits else {
            continue;
        };
        let waits: Vec<Loop> = loops.iter().filter_map(|one| budget.wait(one, &mut symbolizer)).collect();
        if is_small(function) && (is_called_so(function) || !waits.is_empty()) {
            found.insert(start);
        }
        all.push(Looked { function, waits, leads_to });
    }
    // The wait itself may be another function's.
    for _ in 0..CALLS {
        let is_one =
            |looked: &&Looked<'_>| is_small(looked.function) && looked.calls_of(&found).next().is_some();
        let callers: Vec<u64> =
            all.iter().filter(is_one).map(|looked| looked.function.addresses.start).collect();
        found.extend(callers);
    }
    let pieces = |looked: &Looked<'_>, waits: &[Loop]| {
        let Range { start, .. } = looked.function.addresses;
        let in_file = |address: u64| looked.function.offset.saturating_add(address - start);
        let places = meeting_places(functions.code(looked.function).unwrap_or_default(), start, waits);
        let place = |piece: MeetingPlace| MeetingPlace {
            behind: in_file(piece.behind),
            comes: piece.comes.into_iter().map(in_file).collect(),
            leaves: piece.leaves.into_iter().map(in_file).collect(),
        };
        places.into_iter().map(place).map(Place::Piece).collect::<Vec<_>>()
    };
    let own = all.iter().flat_map(|looked| pieces(looked, &looked.waits));
    let calling = all.iter().flat_map(|looked| pieces(looked, &looked.calls_of(&found).collect::<Vec<_>>()));
    let pieces = own.chain(calling).take(MOST);
    let found = functions.all.iter().filter(|function| found.contains(&function.addresses.start));
    let range = |function: &Function| {
        function.offset..function.offset.saturating_add(function.addresses.end - function.addresses.start)
    };
    found.take(MOST).map(|function| Place::Function(range(function))).chain(pieces).collect()
}

/// A function, and what was found in it.
struct Looked<'a> {
    function: &'a Function,
    /// Loops that wait.
    waits: Vec<Loop>,
    /// Its calls and jumps that leave it, and where these go.
    leads_to: Vec<(Loop, u64)>,
}

impl Looked<'_> {
    /// The calls of one of these functions.
    fn calls_of(&self, functions: &BTreeSet<u64>) -> impl Iterator<Item = Loop> {
        self.leads_to.iter().filter(|(_, target)| functions.contains(target)).map(|(call, _)| *call)
    }
}

/// True for a function that may do nothing but wait.
fn is_small(function: &Function) -> bool {
    function.addresses.end - function.addresses.start <= MOST_BYTES
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
    /// The loop around a jump if it waits, and looking is not too much.
    fn wait(&mut self, found: &QuietLoop, symbolizer: &mut Symbolizer) -> Option<Loop> {
        let left = if found.calls { &mut self.with_calls } else { &mut self.without };
        let is_looked_at = *left > 0;
        *left = left.saturating_sub(1);
        if is_looked_at { waits(symbolizer, found.jump, &|_| 0) } else { None }
    }
}
