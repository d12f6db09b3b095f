//! Functions, and pieces of them, that are barriers, whatever they are made of.
//!
//! The plugin says when each thread comes to a function that may be one, and when it leaves it ([`Boundary::Meet`]). It is a barrier
//! if nobody leaves it before all have come as often, and if who comes last has hardly anything to do there. Then what threads do
//! inside is waiting, spinning included, and their sections end where they come: the pieces inside are left out. Else the marks cut
//! nothing.

use std::collections::{BTreeMap, BTreeSet};

use holdup_sections::Boundary;
use holdup_trace::instructions::DEEPEST_MEETING;

use crate::conditions::merge;
use crate::course::{Course, Piece};
use crate::tally::Tally;

/// Instructions that who comes last may execute in a barrier, with waking all others, and waiting for them to leave.
const MOST_OF_LAST: u64 = 2_000;
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

/// Ends pieces where threads come to a function that is a barrier, and joins those that are cut at others. `executed` says how many
/// of the program's own instructions a tally has, without those of loops that wait, and of these.
pub(crate) fn settle(courses: &mut [Course], executed: &dyn Fn(&Tally) -> (u64, u64)) {
    let mut functions: BTreeMap<u64, Vec<Vec<Visit>>> = BTreeMap::new();
    let mut within = BTreeSet::new();
    let mut pieces = BTreeSet::new();
    for course in &*courses {
        for (function, visits) in visits(&course.pieces, executed, &mut within) {
            functions.entry(function).or_default().push(visits);
        }
        pieces.extend(course.pieces.iter().filter_map(|piece| match piece.opens {
            Boundary::Meet { function, inside: 1.., .. } => Some(function),
            _ => None,
        }));
    }
    functions.retain(|_, threads| is_barrier(threads));
    let (pieces, functions): (Vec<_>, Vec<_>) =
        functions.into_iter().partition(|(place, _)| pieces.contains(place));
    // Who calls a barrier meets the others in it.
    let is_around = |function: &u64| {
        let mut inside = within.range((*function, 0)..=(*function, u64::MAX));
        inside.any(|(_, inner)| functions.iter().any(|(place, _)| place == inner))
    };
    let mut barriers: BTreeSet<u64> =
        functions.iter().map(|(place, _)| *place).filter(|place| !is_around(place)).collect();
    // Of pieces the smallest are barriers. What a function that is one has in it is how it is made, and what is around its call has
    // it in it.
    let size =
        |visits: &[Vec<Visit>]| -> u64 { visits.iter().flatten().map(|visit| visit.instructions).sum() };
    let mut pieces: Vec<(u64, u64)> =
        pieces.into_iter().map(|(place, visits)| (size(&visits), place)).collect();
    pieces.sort_unstable();
    for (_, piece) in pieces {
        let meets_one = |one: &u64| within.contains(&(*one, piece)) || within.contains(&(piece, *one));
        if !barriers.iter().any(meets_one) {
            barriers.insert(piece);
        }
    }
    for course in courses {
        let pieces = std::mem::take(&mut course.pieces);
        let mut within_one = None;
        for mut piece in pieces {
            let leaves = |function| matches!(piece.opens, Boundary::Meet { function: left, begins: false, .. } if left == function);
            match within_one {
                Some((function, _)) if !leaves(function) => {
                    if let Some(before) = course.pieces.last_mut() {
                        before.waited += executed(&piece.tally).1;
                    }
                    continue;
                }
                Some((_, closes)) => (piece.opens, within_one) = (closes, None),
                None => {}
            }
            if let Boundary::Meet { function, inside, caller, begins: true, .. } = piece.closes
                && barriers.contains(&function)
            {
                piece.closes = Boundary::Met { function, inside, caller };
                within_one = Some((function, piece.closes));
            }
            course.pieces.push(piece);
        }
        merge(&mut course.pieces, false, |piece| matches!(piece.opens, Boundary::Meet { .. }));
    }
}

/// The visits of one thread, by function; one that it is in at its end is none. Puts functions and those that it came to in them into
/// `within`.
fn visits(
    pieces: &[Piece],
    executed: &dyn Fn(&Tally) -> (u64, u64),
    within: &mut BTreeSet<(u64, u64)>,
) -> BTreeMap<u64, Vec<Visit>> {
    let mut all: BTreeMap<u64, Vec<Visit>> = BTreeMap::new();
    let mut open: Vec<(u64, bool, Visit)> = Vec::new();
    for piece in pieces {
        match piece.opens {
            Boundary::Meet { function, inside, ticket, begins: true, .. } if open.len() < DEEPEST_MEETING => {
                within.extend(open.iter().map(|(outer, ..)| (*outer, function)));
                open.push((function, inside > 0, Visit { comes: ticket, leaves: 0, instructions: 0 }));
            }
            Boundary::Meet { function, ticket, begins: false, .. } => {
                if let Some(at) = open.iter().rposition(|(entered, ..)| *entered == function) {
                    let (_, is_piece, visit) = open.remove(at);
                    if !is_piece {
                        open.truncate(at);
                    }
                    all.entry(function).or_default().push(Visit { leaves: ticket, ..visit });
                }
            }
            _ => {}
        }
        if !open.is_empty() {
            let (instructions, _) = executed(&piece.tally);
            for (.., visit) in &mut open {
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

#[cfg(test)]
mod tests {
    use super::*;

    const BARRIER: u64 = 0x1000;
    const CALLS_IT: u64 = 0x2000;
    const PIECE: u64 = 3;

    fn comes(function: u64, ticket: u64) -> Boundary {
        Boundary::Meet { function, inside: 0, caller: function + 0x500, ticket, begins: true }
    }

    fn leaves(function: u64, ticket: u64) -> Boundary {
        Boundary::Meet { function, inside: 0, caller: 0, ticket, begins: false }
    }

    fn met() -> Boundary {
        Boundary::Met { function: BARRIER, inside: 0, caller: BARRIER + 0x500 }
    }

    fn waits() -> Boundary {
        Boundary::Condition { object: 7, stack: 1, broadcasts: false }
    }

    /// Each thread executes so many instructions before each of these boundaries. Gives those of the pieces that are left, with how they end.
    fn settled(threads: &[&[(u64, Boundary)]]) -> Vec<Vec<(u64, Boundary)>> {
        let mut courses: Vec<Course> = threads.iter().map(|steps| Course::of_steps(0, steps)).collect();
        settle(&mut courses, &|tally| (tally.instructions, tally.instructions / 2));
        let pieces = |course: Course| -> Vec<(u64, Boundary)> {
            for pair in course.pieces.windows(2) {
                assert_eq!(pair[0].closes, pair[1].opens);
            }
            course.pieces.into_iter().map(|piece| (piece.tally.instructions, piece.closes)).collect()
        };
        courses.into_iter().map(pieces).collect()
    }

    #[test]
    fn what_is_done_where_all_meet_is_waiting() {
        let first = [
            (500, comes(BARRIER, 0)),
            (90_000, waits()),
            (10, leaves(BARRIER, 3)),
            (400, comes(BARRIER, 4)),
            (20, leaves(BARRIER, 6)),
            (30, Boundary::End),
        ];
        let second = [
            (700, comes(BARRIER, 1)),
            (20, leaves(BARRIER, 2)),
            (100, comes(BARRIER, 5)),
            (20, leaves(BARRIER, 7)),
            (40, Boundary::End),
        ];
        let of = |instructions: [u64; 3]| {
            vec![(instructions[0], met()), (instructions[1], met()), (instructions[2], Boundary::End)]
        };
        assert_eq!(settled(&[&first, &second]), [of([500, 400, 30]), of([700, 100, 40])]);
        let mut courses = [&first[..], &second].map(|steps| Course::of_steps(0, steps));
        settle(&mut courses, &|tally| (0, tally.instructions));
        let waited = courses.map(|course| course.pieces.iter().map(|piece| piece.waited).collect::<Vec<_>>());
        assert_eq!(waited, [vec![90_010, 20, 0], vec![20, 20, 0]], "how long they spun is known");
    }

    /// Two threads come to `outer`, in it to a piece, and leave both; twice.
    fn with_a_piece(outer: u64, work: u64) -> [Vec<(u64, Boundary)>; 2] {
        let piece = |ticket| Boundary::Meet {
            function: PIECE,
            inside: 0x1080,
            caller: PIECE + 0x500,
            ticket,
            begins: true,
        };
        [0, 1].map(|at: u64| {
            let round = |from: u64| {
                [
                    (100, comes(outer, from + at)),
                    (work, piece(from + 2 + at)),
                    (20, leaves(PIECE, from + 4 + at)),
                    (work, leaves(outer, from + 6 + at)),
                ]
            };
            [&round(0)[..], &round(10)[..], &[(9, Boundary::End)][..]].concat()
        })
    }

    #[test]
    fn a_piece_of_a_function_is_a_barrier_where_the_function_is_none() {
        let met = |at| Boundary::Met {
            function: at,
            inside: if at == PIECE { 0x1080 } else { 0 },
            caller: at + 0x500,
        };
        let [first, second] = with_a_piece(BARRIER, 10);
        let whole = vec![(100, met(BARRIER)), (100, met(BARRIER)), (9, Boundary::End)];
        assert_eq!(settled(&[&first, &second]), [whole.clone(), whole], "how the barrier is made");
        let [first, second] = with_a_piece(CALLS_IT, 50_000);
        let inlined = vec![(50_100, met(PIECE)), (100_100, met(PIECE)), (50_009, Boundary::End)];
        assert_eq!(settled(&[&first, &second]), [inlined.clone(), inlined]);
    }

    #[test]
    fn of_pieces_that_overlap_the_smallest_is_the_barrier() {
        const WIDE: u64 = 4;
        let piece = |function, ticket| Boundary::Meet {
            function,
            inside: 0x1080,
            caller: function + 0x500,
            ticket,
            begins: true,
        };
        // Both begin at once; one of the threads leaves the wider one after more work, which is none of the barrier's.
        let thread = |at: u64, work: u64| {
            let round = |from: u64| {
                [
                    (100, piece(PIECE, from + at)),
                    (0, piece(WIDE, from + 2 + at)),
                    (10, leaves(PIECE, from + 4 + at)),
                    (work, leaves(WIDE, from + 6 + at)),
                ]
            };
            [&round(0)[..], &round(10)[..], &[(9, Boundary::End)][..]].concat()
        };
        let met = || Boundary::Met { function: PIECE, inside: 0x1080, caller: PIECE + 0x500 };
        let of = |work: u64| vec![(100, met()), (work + 100, met()), (work + 9, Boundary::End)];
        assert_eq!(settled(&[&thread(0, 700), &thread(1, 0)]), [of(700), of(0)]);
    }

    #[test]
    fn a_function_that_one_leaves_before_another_comes_cuts_nothing() {
        let takes = |tickets: [u64; 4]| {
            [
                (500, comes(BARRIER, tickets[0])),
                (20, leaves(BARRIER, tickets[1])),
                (400, comes(BARRIER, tickets[2])),
                (20, leaves(BARRIER, tickets[3])),
                (30, Boundary::End),
            ]
        };
        let whole = vec![(970, Boundary::End)];
        let lock = settled(&[&takes([0, 2, 4, 5]), &takes([1, 3, 6, 7])]);
        assert_eq!(lock, [whole.clone(), whole.clone()]);
        let alone = settled(&[&takes([0, 1, 2, 3]), &[(5, Boundary::End)]]);
        assert_eq!(alone, [whole, vec![(5, Boundary::End)]]);
    }

    #[test]
    fn a_function_in_which_all_meet_is_no_barrier_if_more_is_done_there() {
        // All are in it before one leaves, since it calls the barrier.
        let thread = |at: u64, work: u64| {
            let round = |from: u64| {
                [
                    (100, comes(CALLS_IT, from + at)),
                    (work, comes(BARRIER, from + 2 + at)),
                    (20, leaves(BARRIER, from + 4 + at)),
                    (work, leaves(CALLS_IT, from + 6 + at)),
                ]
            };
            [&round(0)[..], &round(10)[..], &[(9, Boundary::End)][..]].concat()
        };
        for work in [50, 50_000] {
            let met_there = vec![(100 + work, met()), (work + 100 + work, met()), (work + 9, Boundary::End)];
            let settled = settled(&[&thread(0, work), &thread(1, work)]);
            assert_eq!(settled, [met_there.clone(), met_there]);
        }
        // With a barrier in its midst that nobody sees.
        let inlined = |at: u64| {
            let round =
                |from: u64| [(100, comes(CALLS_IT, from + at)), (50_000, leaves(CALLS_IT, from + 2 + at))];
            [&round(0)[..], &round(10)[..], &[(9, Boundary::End)][..]].concat()
        };
        let whole = vec![(100_209, Boundary::End)];
        assert_eq!(settled(&[&inlined(0), &inlined(1)]), [whole.clone(), whole]);
    }
}
