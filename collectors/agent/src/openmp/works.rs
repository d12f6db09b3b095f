//! Worksharing constructs and the chunks that are dealt in them.

use core::sync::atomic::Ordering;

use holdup_trace::instructions::Mark;
use holdup_trace::openmp::{Chunk, Work, WorkCode};
use holdup_trace::wire::UNKNOWN;

use super::policy;
use super::standing::enter_whole;
use crate::thread::openmp::{Level, OpenWork};
use crate::{alone, life, marks, thread};

const CLOSED: u8 = 0;
/// Nothing of it is told.
const PASSED_OVER: u8 = 1;
/// Its chunks are only counted.
const TOLD: u8 = 2;
/// Its chunks are told one by one.
const DEALT: u8 = 3;

impl OpenWork {
    pub(crate) fn close(&self) {
        self.state.set(CLOSED);
    }
}

fn level() -> Option<&'static Level> {
    thread::this().openmp.whole_level().map(|(_, level)| level)
}

/// The calling thread enters a worksharing construct. `iterations` are all of it ([`UNKNOWN`] if not known), `chunk` is
/// the size that the program asked for (0 if it did not).
#[inline]
pub fn work_begins(kind: WorkCode, caller: u64, iterations: u64, chunk: u32) {
    if let Some(level) = level() {
        alone::point();
        begin(level, kind, caller, iterations, chunk);
    }
}

#[inline(never)]
fn begin(level: &Level, kind: WorkCode, caller: u64, iterations: u64, chunk: u32) {
    let work = &level.work;
    if work.state.get() != CLOSED {
        // It was cancelled, or its end has no call.
        end(level);
    }
    let sequence = level.works.get();
    // All threads of a team count alike: these are met by one.
    if !matches!(kind, WorkCode::Masked | WorkCode::Taskloop) {
        level.works.set(sequence + 1);
    }
    // Between two barriers all threads of the team are in the same window.
    let window = super::syncs::window(level, level.barriers.get());
    let told = window.told || policy::WORKS.tells(sequence);
    let dealt = level.encounter().is_none_or(|encounter| encounter.dealt.load(Ordering::Relaxed))
        && (window.dealt || policy::DEALT_WORKS.tells(sequence));
    work.state.set(match (told, dealt) {
        (false, _) => return work.state.set(PASSED_OVER),
        (true, false) => TOLD,
        (true, true) => DEALT,
    });
    let instance = level.instance.get();
    marks::tell(Mark::WorkBegin { instance, sequence, kind, iterations, code: caller });
    work.kind.set(kind as u8);
    work.sequence.set(sequence);
    work.caller.set(caller);
    work.iterations.set(iterations);
    work.chunk.set(chunk);
    work.chunks.set(0);
    work.done.set(0);
    work.dealing.set(0);
    work.got.set(0);
    let now = life::ticks();
    let dealt = matches!(
        kind,
        WorkCode::DynamicLoop | WorkCode::GuidedLoop | WorkCode::OtherLoop | WorkCode::Sections
    );
    work.asked.set(if work.state.get() == DEALT && dealt { now } else { 0 });
    work.begin.set(now);
}

/// True if what is dealt to the calling thread matters: it is in a worksharing construct that is told.
#[inline]
pub fn is_dealt_to() -> bool {
    level().is_some_and(|level| level.work.state.get() >= TOLD)
}

/// The calling thread has done its chunk and asks for the next one.
#[inline]
pub fn chunk_ends() {
    if let Some(level) = level()
        && level.work.state.get() == DEALT
    {
        let now = life::ticks();
        tell_chunk(level, now);
        level.work.asked.set(now);
    }
}

/// The calling thread got a chunk: `count` iterations (0 if not known) from `first`, or section number `first`.
#[inline]
pub fn chunk_begins(first: u64, count: u64) {
    let Some(level) = level() else { return };
    alone::point();
    let work = &level.work;
    if work.state.get() < TOLD {
        return;
    }
    marks::tell(Mark::Chunk { first, iterations: count, code: work.caller.get() });
    let chunks = work.chunks.get();
    work.chunks.set(chunks.saturating_add(1));
    level.window_chunks.set(level.window_chunks.get().saturating_add(1));
    work.done.set(if count == 0 { UNKNOWN } else { work.done.get().saturating_add(count) });
    if work.state.get() == DEALT {
        let now = life::ticks();
        tell_chunk(level, now);
        let asked = work.asked.replace(0);
        if asked != 0 {
            work.dealing.set(work.dealing.get() + now.saturating_sub(asked));
        }
        work.first.set(first);
        work.count.set(count);
        work.got.set(if chunks < policy::CHUNKS { now } else { 0 });
        if chunks >= policy::CHUNKS {
            // From here on they are counted.
            work.state.set(TOLD);
        }
    }
}

/// Writes the chunk that the thread has, if it is told, as done at `now`.
fn tell_chunk(level: &Level, now: u64) {
    let work = &level.work;
    let got = work.got.replace(0);
    if got == 0 {
        return;
    }
    let Some(recorder) = enter_whole() else { return };
    level.chunks.set(level.chunks.get() + 1);
    recorder.write(
        &Chunk {
            begin: got,
            end: now,
            instance: level.instance.get(),
            sequence: work.sequence.get(),
            first: work.first.get(),
            count: work.count.get(),
        }
        .words(),
    );
}

/// There is nothing left in the construct for the calling thread.
#[inline]
pub fn work_ends() {
    if let Some(level) = level()
        && level.work.state.get() != CLOSED
    {
        end(level);
    }
}

#[inline(never)]
fn end(level: &Level) {
    let work = &level.work;
    let now = life::ticks();
    let state = work.state.replace(CLOSED);
    if state < TOLD {
        return;
    }
    marks::tell(Mark::WorkEnd { instance: level.instance.get(), sequence: work.sequence.get() });
    tell_chunk(level, now);
    let asked = work.asked.get();
    // Of sections LLVM's runtime does not tell who gets which.
    if asked != 0 && work.chunks.get() != 0 {
        // The answer was that there is none.
        work.dealing.set(work.dealing.get() + now.saturating_sub(asked));
    }
    let Some(recorder) = enter_whole() else { return };
    let (chunks, done) = (work.chunks.get(), work.done.get());
    let kind = WorkCode::from_code(work.kind.get()).unwrap_or(WorkCode::OtherLoop);
    let counted = matches!(kind, WorkCode::Single | WorkCode::SingleOther) || chunks != 0;
    recorder.write(
        &Work {
            begin: work.begin.get(),
            end: now,
            instance: level.instance.get(),
            sequence: work.sequence.get(),
            caller: work.caller.get(),
            kind,
            iterations: work.iterations.get(),
            chunk: work.chunk.get(),
            chunks,
            done: if counted { done } else { UNKNOWN },
            dealing: if is_dealt_out(kind) { work.dealing.get() } else { 0 },
        }
        .words(),
    );
}

/// True for constructs whose parts the runtime gives out.
fn is_dealt_out(kind: WorkCode) -> bool {
    !matches!(kind, WorkCode::Single | WorkCode::SingleOther | WorkCode::Masked | WorkCode::Scope)
}

/// The calling thread makes the tasks of a `taskloop`, or has made them. That lies within another construct, mostly a
/// `single`, and is no place where the team meets.
pub fn taskloop(begins: bool) {
    if let Some(level) = level() {
        level.taskloop.set(begins);
    }
}

/// True if the calling thread makes the tasks of a `taskloop`.
pub fn is_in_taskloop() -> bool {
    level().is_some_and(|level| level.taskloop.get())
}

/// What kind of worksharing construct the calling thread is in, if that is told.
pub fn work_kind() -> Option<WorkCode> {
    let work = &level()?.work;
    if work.state.get() < TOLD { None } else { WorkCode::from_code(work.kind.get()) }
}
