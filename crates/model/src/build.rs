//! From observed spans to abutting segments: the one place where a thread's state changes are decided.
//!
//! | from | span | becomes |
//! |---|---|---|
//! | active | wait, until its logical wake | blocked (spinning, for a spin lock) |
//! | active | condition wait, from the signal until the mutex is free | blocked on the mutex |
//! | active | wait, from its logical wake to its return | waking |
//! | active | blocking call | asleep (sleep) or I/O (the others) |
//! | active | spin begin to spin end | spinning |
//! | any | none | active |
//!
//! Where the kernel's records tell which threads were on a core, `on_core.rs` refines that. Then call stacks that come to
//! one line are one site (`places.rs`), a thread that lost its core while it spun has spun on (`interrupted.rs`), and the
//! parts of a runtime's lock are one object (`roles.rs`).

use crate::interrupted::spinning_goes_on;
use crate::on_core;
use crate::places::Places;
use crate::roles::Roles;
use crate::wakes::{self, Ending};
use crate::{
    Block, Call, Edge, EdgeKind, MarkerKind, Nanos, ObjectId, ObjectKind, Process, Row, Segment, SiteId,
    State, ThreadId, Time, Timeline, Wait,
};

/// A piece of a thread's time in which it is not active.
struct Piece {
    start: Time,
    end: Time,
    state: State,
    object: Option<ObjectId>,
    site: Option<SiteId>,
    by: Option<ThreadId>,
    cpu_start: Option<Nanos>,
    cpu_end: Option<Nanos>,
}

impl Timeline {
    /// Builds the timeline of a process. Spans that lie outside of their thread's life are cut to it, and where
    /// two spans of one thread overlap the later one begins when the earlier ends.
    pub fn build(process: &Process) -> Timeline {
        let endings = wakes::endings(process);
        let mut pieces: Vec<Vec<Piece>> = process.threads.iter().map(|_| Vec::new()).collect();
        let mut edges = Vec::new();
        for (wait, ending) in process.waits.iter().zip(&endings) {
            pieces_of_wait(process, wait, ending, &mut pieces[wait.thread.index()]);
            edges.extend(edge_of_wait(wait, ending));
        }
        for block in &process.blocks {
            pieces[block.thread.index()].push(piece_of_block(block));
        }
        pieces_of_spins(process, &mut pieces);
        let mut threads: Vec<Row> = process
            .threads
            .iter()
            .zip(pieces)
            .map(|(thread, pieces)| {
                let start = thread.start.clamp(process.start, process.end);
                let end = thread.end.unwrap_or(process.end).clamp(start, process.end);
                // CPU times count from the thread's start.
                let cpu = (thread.start >= process.start).then_some(Nanos::ZERO);
                row(start, end, pieces, cpu, thread.cpu)
            })
            .collect();
        on_core::refine(process, &mut threads);
        for (index, thread) in process.threads.iter().enumerate() {
            if let Some(parent) = thread.parent {
                edges.push(Edge {
                    from: parent,
                    from_time: thread.start,
                    to: ThreadId::new(index as u32),
                    to_time: thread.start,
                    kind: EdgeKind::Create,
                    object: None,
                });
            }
        }
        edges.retain(|edge| edge.to_time >= process.start && edge.from_time <= process.end);
        edges.sort_by_key(|edge| (edge.to_time, edge.to, edge.from_time, edge.from, edge.kind, edge.object));
        let places = Places::of(process);
        let roles = Roles::of(process);
        let mut timeline = Timeline {
            start: process.start,
            end: process.end,
            threads,
            edges,
            places: Places::default(),
            roles: Roles::default(),
        };
        places.put_into(&mut timeline);
        spinning_goes_on(process, &mut timeline);
        roles.put_into(&mut timeline);
        Timeline { places, roles, ..timeline }
    }
}

fn pieces_of_wait(process: &Process, wait: &Wait, ending: &Ending, pieces: &mut Vec<Piece>) {
    let state = match process.object(wait.object).kind {
        ObjectKind::SpinLock => State::Spinning,
        _ => State::Blocked,
    };
    let piece = |start, end, state, object, by| Piece {
        start,
        end,
        state,
        object: Some(object),
        site: wait.site,
        by,
        cpu_start: (start == wait.begin).then_some(wait.cpu_begin).flatten(),
        cpu_end: (end == wait.end).then_some(wait.cpu_end).flatten(),
    };
    pieces.push(piece(wait.begin, ending.at, state, wait.object, ending.by));
    let mut at = ending.at;
    let (mut object, mut by) = (wait.object, ending.by);
    if let (Some((until, holder)), Some(mutex)) = (ending.then_lock, wait.mutex) {
        pieces.push(piece(at, until, State::Blocked, mutex, Some(holder)));
        (at, object, by) = (until, mutex, Some(holder));
    }
    pieces.push(piece(at, wait.end, State::Waking, object, by));
}

fn edge_of_wait(wait: &Wait, ending: &Ending) -> Option<Edge> {
    let (from_time, from, kind, object) = match (ending.then_lock, wait.mutex) {
        (Some((until, holder)), Some(mutex)) => (until, holder, EdgeKind::Release, mutex),
        _ => (ending.at, ending.by?, ending.kind, wait.object),
    };
    // The last thread at a barrier releases itself: that is no edge.
    (from != wait.thread).then_some(Edge {
        from,
        from_time: from_time.min(wait.end),
        to: wait.thread,
        to_time: wait.end,
        kind,
        object: Some(object),
    })
}

fn piece_of_block(block: &Block) -> Piece {
    Piece {
        start: block.begin,
        end: block.end,
        state: if block.call == Call::Sleep { State::Asleep } else { State::Io },
        object: None,
        site: block.site,
        by: None,
        cpu_start: block.cpu_begin,
        cpu_end: block.cpu_end,
    }
}

fn pieces_of_spins(process: &Process, pieces: &mut [Vec<Piece>]) {
    let mut markers: Vec<_> = process.markers.iter().collect();
    markers.sort_by_key(|marker| (marker.time, marker.thread, marker.kind));
    let mut since: Vec<Option<Time>> = vec![None; process.threads.len()];
    for marker in markers {
        let open = &mut since[marker.thread.index()];
        match marker.kind {
            MarkerKind::SpinBegin => *open = open.or(Some(marker.time)),
            MarkerKind::SpinEnd => {
                if let Some(start) = open.take() {
                    pieces[marker.thread.index()].push(Piece {
                        start,
                        end: marker.time,
                        state: State::Spinning,
                        object: None,
                        site: None,
                        by: None,
                        cpu_start: None,
                        cpu_end: None,
                    });
                }
            }
            _ => {}
        }
    }
}

fn row(
    start: Time,
    end: Time,
    mut pieces: Vec<Piece>,
    cpu_at_start: Option<Nanos>,
    total_cpu: Option<Nanos>,
) -> Row {
    // By all that a piece is, so that the order of the columns does not matter where spans overlap.
    pieces.sort_by_key(|piece| {
        let Piece { start, end, state, object, site, by, cpu_start, cpu_end } = *piece;
        (start, end, state, object, site, by, cpu_start, cpu_end)
    });
    let mut segments = Vec::with_capacity(pieces.len() * 2 + 1);
    let mut at = start;
    // CPU time at `at`, where it is known.
    let mut cpu_at = cpu_at_start;
    for piece in pieces {
        let from = piece.start.clamp(at, end);
        let to = piece.end.clamp(from, end);
        if from > at {
            segments.push(Segment {
                start: at,
                end: from,
                state: State::Active,
                object: None,
                site: piece.site,
                by: None,
                cpu: difference(cpu_at, piece.cpu_start),
            });
            cpu_at = piece.cpu_start;
        }
        at = to;
        if to == from {
            // The last to arrive at a barrier does not wait, but its work ends there all the same.
            continue;
        }
        segments.push(Segment {
            start: from,
            end: to,
            state: piece.state,
            object: piece.object,
            site: piece.site,
            by: piece.by,
            cpu: difference(piece.cpu_start.or(cpu_at), piece.cpu_end),
        });
        cpu_at = piece.cpu_end;
    }
    if at < end {
        segments.push(Segment {
            start: at,
            end,
            state: State::Active,
            object: None,
            site: None,
            by: None,
            cpu: difference(cpu_at, total_cpu),
        });
    }
    Row { start, end, segments }
}

fn difference(from: Option<Nanos>, to: Option<Nanos>) -> Option<Nanos> {
    Some(to?.saturating_sub(from?))
}
