//! Pieces that a condition variable cuts.
//!
//! Condition variables that are barriers ([`holdup_model::Process::find_condition_barriers`]) end sections. Others, those of
//! queues, end none: what a thread does before and after them belongs together.

use std::collections::BTreeSet;

use holdup_sections::Boundary;

use crate::course::{Course, Piece};

/// Joins the pieces that a condition variable cuts and that is no barrier, those of a thread that looks again, and those
/// that the marks of the part of interest cut. `barriers` are the addresses of condition variables that are such.
pub(crate) fn keep_barriers(courses: &mut [Course], barriers: &BTreeSet<u64>) {
    for course in &mut *courses {
        merge(&mut course.pieces, false, |piece| {
            matches!(piece.opens, Boundary::Interest { .. }) || piece.looks_again
        });
    }
    // The mutex of a barrier is a part of it: its last thread takes it once, and the others once more after their wait.
    let mutexes: BTreeSet<u64> = courses
        .iter()
        .flat_map(|course| &course.mutexes)
        .filter(|(object, _)| barriers.contains(object))
        .map(|(_, mutex)| *mutex)
        .collect();
    for piece in courses.iter_mut().flat_map(|course| &mut course.pieces) {
        piece.locks.retain(|lock, _| !mutexes.contains(lock));
    }
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

/// Joins each piece that `continues` the one before to that one; `queues` says whether waits in between are those of a
/// queue.
pub(crate) fn merge(pieces: &mut Vec<Piece>, queues: bool, continues: impl Fn(&Piece) -> bool) {
    let mut merged: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces.drain(..) {
        match merged.last_mut() {
            Some(before) if before.closes == piece.opens && continues(&piece) => {
                let waited = matches!(piece.opens, Boundary::Condition { broadcasts: false, .. });
                before.queued |= piece.queued || queues && waited;
                before.closes = piece.closes;
                before.recorded.end = piece.recorded.end;
                before.tally.merge(&piece.tally);
                before.waited += piece.waited;
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
