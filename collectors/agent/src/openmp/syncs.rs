//! Waits for the team and for tasks.

use core::sync::atomic::Ordering;

use holdup_trace::instructions::Mark;
use holdup_trace::openmp::{SyncCode, TaskEndCode};

use super::activities::Wait;
use super::policy;
use super::standing::{enter_whole, is_whole};
use crate::thread::openmp::{Level, Standing, Tables};
use crate::{alone, life, marks, thread};

const fn is_barrier(kind: SyncCode) -> bool {
    matches!(
        kind,
        SyncCode::ExplicitBarrier | SyncCode::WorkBarrier | SyncCode::RegionBarrier | SyncCode::OtherBarrier
    )
}

/// The calling thread arrives at a barrier, or begins to wait for tasks. Barriers are counted here: all threads of the
/// team must say all of theirs. The join at the end of a region is not said.
#[inline]
pub fn sync_begins(kind: SyncCode, caller: u64) {
    let standing = &thread::this().openmp;
    if let Some((tables, level)) = standing.whole_level() {
        begin(standing, tables, level, kind, caller);
        alone::team_wait_begins();
    }
}

/// The calling thread begins to wait for all tasks that its task has made. False if there are none: nothing is said, and the end of the
/// wait must not be said either. Recursive programs wait so at each of their leaves.
#[inline]
pub fn taskwait_begins(caller: u64) -> bool {
    let standing = &thread::this().openmp;
    let children = standing.whole_level().and_then(|(tables, level)| tables.children(standing, level));
    if children.is_some_and(|children| !children.replace(false)) {
        return false;
    }
    sync_begins(SyncCode::Taskwait, caller);
    true
}

#[inline(never)]
fn begin(standing: &Standing, tables: &Tables, level: &Level, kind: SyncCode, caller: u64) {
    let (sequence, told) = if is_barrier(kind) {
        let sequence = level.barriers.get();
        level.barriers.set(sequence.wrapping_add(1));
        let window = window(level, sequence);
        decide_next(level, sequence, window);
        (sequence, window.told || policy::BARRIERS.tells(sequence))
    } else if standing.height.get() != 0 {
        // Of a task all is told or nothing.
        (0, !tables.runs_untold(standing))
    } else {
        let number = level.waits.get();
        level.waits.set(number.wrapping_add(1));
        (0, policy::TASK_WAITS.tells(number))
    };
    marks::tell(Mark::SyncBegin { instance: level.instance.get(), sequence, kind, code: caller });
    let wait = Wait { kind, sequence, caller, told };
    let recorder = if told { enter_whole() } else { None };
    if is_whole() {
        tables.push_wait(standing, level, &wait, recorder.as_ref());
    }
}

/// What is told of a window of barriers.
#[derive(Clone, Copy)]
pub(super) struct Window {
    /// All barriers and worksharing constructs.
    pub(super) told: bool,
    /// All chunks of these.
    pub(super) dealt: bool,
}

/// In an encounter's word for a window, beside the window's number + 1: see [`Window::dealt`].
const DEALT: u32 = 1 << 31;

/// What is told of the window that `barrier`, the next one of the calling thread, is in.
pub(super) fn window(level: &Level, barrier: u32) -> Window {
    let Some(encounter) = level.encounter() else {
        return Window { told: false, dealt: false };
    };
    let (window, _) = policy::window(barrier);
    let word = encounter.windows_told[window as usize % 2].load(Ordering::Relaxed);
    let told = word & !DEALT == window + 1;
    Window { told, dealt: told && word & DEALT != 0 }
}

/// The thread that met the region decides on the next window at the last barrier of each, before it goes through it: so
/// all threads of the team find the same.
fn decide_next(level: &Level, barrier: u32, present: Window) {
    let (window, is_last) = policy::window(barrier);
    let Some(encounter) = level.encounter() else { return };
    if is_last && level.index.get() == 0 {
        let now = life::ticks();
        let ticks = now.saturating_sub(level.window_begin.replace(now));
        let chunks = level.window_chunks.replace(0);
        let per_micro = life::ticks_of_micros(1);
        let next = if policy::are_rare(ticks, per_micro) { window + 2 } else { 0 };
        // Chunks are counted only in constructs that are told, as the first ones are.
        let dealt =
            next != 0 && (present.told || window == 0) && policy::are_rare_chunks(chunks, ticks, per_micro);
        encounter.windows_told[(window as usize + 1) % 2]
            .store(next | if dealt { DEALT } else { 0 }, Ordering::Relaxed);
    }
}

/// The wait that began last has ended.
#[inline]
pub fn sync_ends() {
    let standing = &thread::this().openmp;
    if let Some((tables, level)) = standing.whole_level()
        && tables.top_is_task(standing) != Some(true)
    {
        marks::tell(Mark::SyncEnd { instance: level.instance.get(), is_none: false });
        end(standing, tables, level, TaskEndCode::Complete);
    }
    alone::team_wait_ends();
}

/// The barrier at which the calling thread said to have arrived last is none for it.
pub fn sync_retracts() {
    let standing = &thread::this().openmp;
    if let Some((tables, level)) = standing.whole_level()
        && tables.top_is_task(standing) == Some(false)
    {
        marks::tell(Mark::SyncEnd { instance: level.instance.get(), is_none: true });
        level.barriers.set(level.barriers.get().wrapping_sub(1));
        tables.drop_top(standing);
    }
    alone::team_wait_ends();
}

/// What the thread began last ends.
#[inline(never)]
pub(super) fn end(standing: &Standing, tables: &Tables, level: &Level, how: TaskEndCode) {
    let recorder = if tables.top_is_told(standing) { enter_whole() } else { None };
    if is_whole() {
        tables.pop(standing, level, how, recorder.as_ref());
    }
}
