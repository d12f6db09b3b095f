//! Functions that are barriers, whatever they are made of.
//!
//! The plugin tells when each thread comes to a function that may be one, and when it leaves it ([`Boundary::Meet`]). It is a barrier
//! if nobody leaves it before all have come as often, and if who comes last has hardly anything to do there. Then what threads do
//! inside is waiting, spinning included, and their sections end where they come: the pieces inside are left out. Else the marks cut
//! nothing.

use std::collections::{BTreeMap, BTreeSet};

use holdup_sections::Boundary;

use crate::conditions::merge;
use crate::course::{Course, Piece};
use crate::events::Events;

/// Instructions that who comes last may execute in a barrier, with waking all others, and waiting for them to leave.
const MOST_OF_LAST: u64 = 20_000;
/// A barrier is met so often at least: what is left once by all, when all have come, may be so by chance.
const FEWEST_ROUNDS: usize = 2;

/// A visit of a function: when it began and ended, in the order of all threads' visits, and the program's own instructions that were
/// executed in it, without those of loops that wait.
#[derive(Clone, Copy, Debug)]
struct Visit {
    comes: u64,
    leaves: u64,
    instructions: u64,
}

/// Ends pieces where threads come to a function that is a barrier, and joins those that are cut at others.
pub(crate) fn settle(courses: &mut [Course], events: &Events) {
    let mut functions: BTreeMap<u64, Vec<Vec<Visit>>> = BTreeMap::new();
    let mut within = BTreeSet::new();
    for course in &*courses {
        for (function, visits) in visits(&course.pieces, events, &mut within) {
            functions.entry(function).or_default().push(visits);
        }
    }
    functions.retain(|_, threads| is_barrier(threads));
    // Who calls a barrier meets the others in it.
    let is_around = |function: &u64| {
        within.iter().any(|(outer, inner)| outer == function && functions.contains_key(inner))
    };
    let barriers: BTreeSet<u64> = functions.keys().copied().filter(|function| !is_around(function)).collect();
    for course in courses {
        let pieces = std::mem::take(&mut course.pieces);
        let mut inside = None;
        for mut piece in pieces {
            let leaves = |function| matches!(piece.opens, Boundary::Meet { function: left, begins: false, .. } if left == function);
            match inside {
                Some((function, _)) if !leaves(function) => continue,
                Some((_, closes)) => (piece.opens, inside) = (closes, None),
                None => {}
            }
            if let Boundary::Meet { function, caller, begins: true, .. } = piece.closes
                && barriers.contains(&function)
            {
                piece.closes = Boundary::Met { function, caller };
                inside = Some((function, piece.closes));
            }
            course.pieces.push(piece);
        }
        merge(&mut course.pieces, false, |piece| matches!(piece.opens, Boundary::Meet { .. }));
    }
}

/// The visits of one thread, by function; one that it is in at its end is none. Puts functions and those that it came to in them into
/// `within`.
fn visits(pieces: &[Piece], events: &Events, within: &mut BTreeSet<(u64, u64)>) -> BTreeMap<u64, Vec<Visit>> {
    let mut all: BTreeMap<u64, Vec<Visit>> = BTreeMap::new();
    let mut open: Vec<(u64, Visit)> = Vec::new();
    for piece in pieces {
        match piece.opens {
            Boundary::Meet { function, ticket, begins: true, .. } => {
                within.extend(open.iter().map(|(outer, _)| (*outer, function)));
                open.push((function, Visit { comes: ticket, leaves: 0, instructions: 0 }));
            }
            Boundary::Meet { function, ticket, begins: false, .. } => {
                if let Some(at) = open.iter().rposition(|(entered, _)| *entered == function) {
                    let (_, visit) = open[at];
                    open.truncate(at);
                    all.entry(function).or_default().push(Visit { leaves: ticket, ..visit });
                }
            }
            _ => {}
        }
        if !open.is_empty() {
            let (instructions, _) = events.own_instructions(&piece.tally);
            for (_, visit) in &mut open {
                visit.instructions = visit.instructions.saturating_add(instructions);
            }
        }
    }
    all
}

/// True if all threads came equally often, nobody left before all had come, and who came last had little to do.
fn is_barrier(threads: &[Vec<Visit>]) -> bool {
    let rounds = threads.first().map_or(0, Vec::len);
    let are_whole = threads.iter().all(|visits| visits.len() == rounds);
    if threads.len() < 2 || rounds < FEWEST_ROUNDS || !are_whole {
        return false;
    }
    let mut of_last = Vec::with_capacity(rounds);
    for round in 0..rounds {
        let visits = || threads.iter().map(|visits| visits[round]);
        let last = visits().max_by_key(|visit| visit.comes);
        let leaves = visits().map(|visit| visit.leaves).min();
        match last.zip(leaves) {
            Some((last, leaves)) if last.comes < leaves => of_last.push(last.instructions),
            _ => return false,
        }
    }
    of_last.sort_unstable();
    of_last[rounds / 2] <= MOST_OF_LAST
}
