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
//! one line are one site (`places.rs`), a thread that lost its core while it spun has spun on (`interrupted.rs`), one that spins
//! where it acquires a lock waits for that (`spun_locks.rs`), waits until others have done all that they were given are known as such
//! (`rounds.rs`), and the parts of a runtime's lock are one object (`roles.rs`).

use rayon::prelude::*;

use crate::interrupted::spinning_goes_on;
use crate::on_core;
use crate::places::Places;
use crate::roles::Roles;
use crate::rounds::completions;
use crate::spun_locks::spinning_for_locks;
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
        let mut edges: Vec<Edge> = Vec::with_capacity(process.waits.len() + process.threads.len());
        edges.extend(
            process.waits.iter().zip(&endings).filter_map(|(wait, ending)| edge_of_wait(wait, ending)),
        );
        let spans = spans_by_thread(process);
        let records = on_core::Records::of(process);
        let threads: Vec<Row> = (process.threads.par_iter().zip(spans).enumerate())
            .map(|(index, (thread, spans))| {
                let start = thread.start.clamp(process.start, process.end);
                let end = thread.end.unwrap_or(process.end).clamp(start, process.end);
                // CPU times count from the thread's start.
                let cpu = (thread.start >= process.start).then_some(Nanos::ZERO);
                let id = ThreadId::new(index as u32);
                let refined = records.refine(id, start, end, spans.len() * SEGMENTS + 1);
                let making = Making { end, at: start, cpu_at: cpu, read: Vec::new(), refined };
                making.row(process, &endings, spans, thread.cpu)
            })
            .collect();
        drop((endings, records));
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
        let mut timeline = Timeline {
            start: process.start,
            end: process.end,
            threads,
            edges,
            places: Places::default(),
            roles: Roles::default(),
        };
        timeline.take_places(Places::of(process));
        spinning_goes_on(process, &mut timeline);
        spinning_for_locks(process, &mut timeline);
        let found = completions(process, &timeline);
        timeline.places.take_completions(&found);
        timeline.take_roles(Roles::of(process, &timeline.places, found));
        timeline
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

/// A span of a thread's time from which pieces are made.
#[derive(Clone, Copy)]
enum Span {
    /// By its index.
    Wait(u32),
    /// By its index.
    Block(u32),
    /// The thread said that it spins.
    Spin(Time, Time),
    /// By its index: the moment at which a thread's share of a parallel region begins, where its CPU time was read.
    Share(u32),
}

impl Span {
    fn times(self, process: &Process) -> (Time, Time) {
        match self {
            Span::Wait(index) => (process.waits[index as usize].begin, process.waits[index as usize].end),
            Span::Block(index) => (process.blocks[index as usize].begin, process.blocks[index as usize].end),
            Span::Spin(start, end) => (start, end),
            Span::Share(index) => {
                let begin = process.openmp.shares[index as usize].begin;
                (begin, begin)
            }
        }
    }
}

/// How many segments a span gives, mostly: what was before it, the wait and the wake-up.
const SEGMENTS: usize = 3;

fn spans_by_thread(process: &Process) -> Vec<Vec<Span>> {
    let mut count = vec![0; process.threads.len()];
    let waits = process.waits.iter().map(|wait| wait.thread);
    for thread in waits.chain(process.blocks.iter().map(|block| block.thread)) {
        count[thread.index()] += 1;
    }
    let mut spans: Vec<Vec<Span>> = count.into_iter().map(Vec::with_capacity).collect();
    for (wait, index) in process.waits.iter().zip(0..) {
        spans[wait.thread.index()].push(Span::Wait(index));
    }
    for (block, index) in process.blocks.iter().zip(0..) {
        spans[block.thread.index()].push(Span::Block(index));
    }
    for (share, index) in process.openmp.shares.iter().zip(0..) {
        if share.cpu_begin.is_some() {
            spans[share.thread.index()].push(Span::Share(index));
        }
    }
    add_spins(process, &mut spans);
    spans
}

fn add_spins(process: &Process, spans: &mut [Vec<Span>]) {
    let mut markers: Vec<_> = process.markers.iter().collect();
    markers.sort_by_key(|marker| (marker.time, marker.thread, marker.kind));
    let mut since: Vec<Option<Time>> = vec![None; process.threads.len()];
    for marker in markers {
        let open = &mut since[marker.thread.index()];
        match marker.kind {
            MarkerKind::SpinBegin => *open = open.or(Some(marker.time)),
            MarkerKind::SpinEnd => {
                if let Some(start) = open.take() {
                    spans[marker.thread.index()].push(Span::Spin(start, marker.time));
                }
            }
            _ => {}
        }
    }
}

/// A row on its way.
struct Making<'a> {
    /// The thread's end.
    end: Time,
    /// Up to where the row is made.
    at: Time,
    /// CPU time at `at`, where it is known.
    cpu_at: Option<Nanos>,
    /// Moments behind `at` at which the thread's CPU time was read.
    read: Vec<(Time, Nanos)>,
    refined: on_core::Refined<'a>,
}

impl Making<'_> {
    /// The row of the thread that these spans are of. Only those that overlap are in hand at a time.
    fn row(mut self, process: &Process, endings: &[Ending], mut spans: Vec<Span>, cpu: Option<Nanos>) -> Row {
        spans.sort_by_key(|span| span.times(process));
        let mut pieces: Vec<Piece> = Vec::new();
        let mut until = None;
        for span in spans {
            let (begin, end) = span.times(process);
            if until.is_some_and(|until| begin > until) {
                self.take(&mut pieces);
            }
            until = until.max(Some(end.max(begin)));
            match span {
                Span::Wait(index) => {
                    let index = index as usize;
                    pieces_of_wait(process, &process.waits[index], &endings[index], &mut pieces);
                }
                Span::Block(index) => pieces.push(piece_of_block(&process.blocks[index as usize])),
                Span::Spin(start, end) => pieces.push(piece_of_spin(start, end)),
                Span::Share(index) => {
                    let share = &process.openmp.shares[index as usize];
                    self.read.extend(share.cpu_begin.map(|cpu| (share.begin, cpu)));
                }
            }
        }
        self.take(&mut pieces);
        self.work(self.end, None, cpu);
        self.refined.finish()
    }

    /// The thread works up to here, where its CPU time is this: in parts between the moments at which that was read.
    fn work(&mut self, to: Time, site: Option<SiteId>, cpu: Option<Nanos>) {
        let until = self.read.partition_point(|read| read.0 < to);
        let read: Vec<_> = self.read.drain(..until).map(|(time, cpu)| (time, Some(cpu))).collect();
        for (time, cpu) in read.into_iter().chain([(to, cpu)]) {
            if time > self.at {
                let cpu = difference(std::mem::replace(&mut self.cpu_at, cpu), cpu);
                self.refined.push(Segment { start: self.at, end: time, ..active(site, cpu) });
                self.at = time;
            } else if time == self.at && time < to {
                self.cpu_at = cpu;
            }
        }
    }

    /// Takes the pieces that come next.
    fn take(&mut self, pieces: &mut Vec<Piece>) {
        // By all that a piece is, so that the order of the columns does not matter where spans overlap.
        pieces.sort_by_key(|piece| {
            let Piece { start, end, state, object, site, by, cpu_start, cpu_end } = *piece;
            (start, end, state, object, site, by, cpu_start, cpu_end)
        });
        for piece in pieces.drain(..) {
            let from = piece.start.clamp(self.at, self.end);
            let to = piece.end.clamp(from, self.end);
            self.work(from, piece.site, piece.cpu_start);
            self.at = to;
            if to == from {
                // The last to arrive at a barrier does not wait, but its work ends there all the same.
                continue;
            }
            self.refined.push(Segment {
                start: from,
                end: to,
                state: piece.state,
                object: piece.object,
                site: piece.site,
                by: piece.by,
                cpu: difference(piece.cpu_start.or(self.cpu_at), piece.cpu_end),
            });
            self.cpu_at = piece.cpu_end;
        }
    }
}

fn piece_of_spin(start: Time, end: Time) -> Piece {
    Piece {
        start,
        end,
        state: State::Spinning,
        object: None,
        site: None,
        by: None,
        cpu_start: None,
        cpu_end: None,
    }
}

/// Work that ends at `site`, of no length yet.
fn active(site: Option<SiteId>, cpu: Option<Nanos>) -> Segment {
    let none = Time::default();
    Segment { start: none, end: none, state: State::Active, object: None, site, by: None, cpu }
}

fn difference(from: Option<Nanos>, to: Option<Nanos>) -> Option<Nanos> {
    Some(to?.saturating_sub(from?))
}
