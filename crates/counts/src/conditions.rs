//! Which condition variables are barriers.
//!
//! A barrier made of a mutex and a condition variable: of each round all threads but one wait, and the last one broadcasts.
//! So each of its threads comes to it equally often, and there are as many broadcasts as rounds. Other conditions, those of
//! queues, end no section: what a thread does before and after them belongs together.

use std::collections::{BTreeMap, BTreeSet};

use crate::course::{Boundary, Course, Piece};

/// A thread that was woken, looks again and waits on does no more than this in between (instructions).
const LOOKS_AGAIN: u64 = 200;

#[derive(Default)]
struct Use {
    /// By course: arrivals.
    arrivals: BTreeMap<usize, u64>,
    broadcasts: u64,
}

/// Joins the pieces that a condition variable cuts and that is no barrier, those of a thread that looks again, and those
/// that the marks of the part of interest cut.
pub(crate) fn keep_barriers(courses: &mut [Course]) {
    for course in &mut *courses {
        merge(&mut course.pieces, false, |piece| match (piece.opens, piece.closes) {
            (Boundary::Interest { .. }, _) => true,
            (
                Boundary::Condition { object: opened, broadcasts: false, .. },
                Boundary::Condition { object: closed, broadcasts: false, .. },
            ) => opened == closed && piece.tally.instructions <= LOOKS_AGAIN,
            _ => false,
        });
    }
    let mut uses: BTreeMap<u64, Use> = BTreeMap::new();
    for (index, course) in courses.iter().enumerate() {
        for piece in &course.pieces {
            if let Boundary::Condition { object, broadcasts, .. } = piece.closes {
                let entry = uses.entry(object).or_default();
                *entry.arrivals.entry(index).or_default() += 1;
                entry.broadcasts += u64::from(broadcasts);
            }
        }
    }
    let barriers: BTreeSet<u64> =
        uses.into_iter().filter(|(_, found)| is_barrier(found)).map(|(object, _)| object).collect();
    let is_of_queue =
        |boundary| matches!(boundary, Boundary::Condition { object, .. } if !barriers.contains(&object));
    for course in courses {
        merge(&mut course.pieces, true, |piece| is_of_queue(piece.opens));
        // A thread of a pool that waits for more work when the program ends has done its part.
        if let Some(last) = course.pieces.last_mut().filter(|last| is_of_queue(last.closes)) {
            last.closes = Boundary::End;
            last.queued = true;
        }
    }
}

fn is_barrier(found: &Use) -> bool {
    let mut arrivals = found.arrivals.values();
    let first = arrivals.next().copied().unwrap_or(0);
    found.arrivals.len() >= 2 && arrivals.all(|count| *count == first) && found.broadcasts == first
}

/// Joins each piece that `continues` the one before to that one; `queues` says whether waits in between are those of a
/// queue.
fn merge(pieces: &mut Vec<Piece>, queues: bool, continues: impl Fn(&Piece) -> bool) {
    let mut merged: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces.drain(..) {
        match merged.last_mut() {
            Some(before) if before.closes == piece.opens && continues(&piece) => {
                let waited = matches!(piece.opens, Boundary::Condition { broadcasts: false, .. });
                before.queued |= piece.queued || queues && waited;
                before.closes = piece.closes;
                before.recorded.end = piece.recorded.end;
                before.tally.merge(&piece.tally);
                before.units.extend(piece.units);
                for (lock, count) in piece.locks {
                    *before.locks.entry(lock).or_default() += count;
                }
            }
            _ => merged.push(piece),
        }
    }
    *pieces = merged;
}
