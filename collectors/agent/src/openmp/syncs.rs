//! Waits for the team and for tasks.

use core::sync::atomic::Ordering;

use holdup_trace::openmp::{SyncCode, TaskEndCode};

use super::activities::Wait;
use super::policy;
use super::standing::{Level, Standing, Tables, enter_whole, is_whole};
use crate::{life, thread};

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
    }
}

#[inline(never)]
fn begin(standing: &Standing, tables: &Tables, level: &Level, kind: SyncCode, caller: u64) {
    let (sequence, told) = if is_barrier(kind) {
        let sequence = level.barriers.get();
        level.barriers.set(sequence.wrapping_add(1));
        (sequence, is_rare(level, sequence) || policy::BARRIERS.tells(sequence))
    } else if standing.height.get() != 0 {
        // Of a task all is told or nothing.
        (0, !tables.runs_untold(standing))
    } else {
        let number = level.waits.get();
        level.waits.set(number.wrapping_add(1));
        (0, policy::TASK_WAITS.tells(number))
    };
    let wait = Wait { kind, sequence, caller, told };
    let recorder = if told { enter_whole() } else { None };
    if is_whole() {
        tables.push_wait(standing, level, &wait, recorder.as_ref());
    }
}

/// True if all barriers of this window are told. The thread that met the region decides on the next window at the last
/// barrier of each, before it goes through it: so all threads of the team find the same.
fn is_rare(level: &Level, sequence: u32) -> bool {
    // SAFETY: a part of a static.
    let Some(encounter) = (unsafe { level.encounter.get().as_ref() }) else { return false };
    let (window, is_last) = policy::window(sequence);
    let told = encounter.windows_told[window as usize % 2].load(Ordering::Relaxed) == window + 1;
    if is_last && level.index.get() == 0 {
        let now = life::ticks();
        let ticks = now.saturating_sub(level.window_begin.replace(now));
        let next = if policy::are_rare(ticks, life::ticks_of_micros(1)) { window + 2 } else { 0 };
        encounter.windows_told[(window as usize + 1) % 2].store(next, Ordering::Relaxed);
    }
    told
}

/// The wait that began last has ended.
#[inline]
pub fn sync_ends() {
    let standing = &thread::this().openmp;
    if let Some((tables, level)) = standing.whole_level()
        && tables.top_is_task(standing) != Some(true)
    {
        end(standing, tables, level, TaskEndCode::Complete);
    }
}

/// The barrier at which the calling thread said to have arrived last is none for it.
pub fn sync_retracts() {
    let standing = &thread::this().openmp;
    if let Some((tables, level)) = standing.whole_level()
        && tables.top_is_task(standing) == Some(false)
    {
        level.barriers.set(level.barriers.get().wrapping_sub(1));
        tables.drop_top(standing);
    }
}

/// What the thread began last ends.
#[inline(never)]
pub(super) fn end(standing: &Standing, tables: &Tables, level: &Level, how: TaskEndCode) {
    let recorder = if tables.top_is_told(standing) { enter_whole() } else { None };
    if is_whole() {
        tables.pop(standing, level, how, recorder.as_ref());
    }
}
