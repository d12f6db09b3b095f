//! A thread's share of an instance: from the start of its implicit task to its arrival at the join.

use holdup_trace::instructions::Mark;
use holdup_trace::openmp::{NO_INSTANCE, Share};

use super::standing::enter_whole;
use crate::thread::openmp::{Encounter, Level};
use crate::{alone, enter, life, marks, thread};

/// The calling thread begins its part of the region, of which it is number `index`.
#[inline]
pub fn share_begins(encounter: Option<&Encounter>, index: u32) {
    alone::share_begins();
    let standing = &thread::this().openmp;
    let Some(tables) = standing.tables() else { return };
    let level = standing.level.get();
    let mut depth = standing.depth.get();
    let (instance, function, whole) = match encounter {
        Some(encounter) => (encounter.instance(), encounter.function(), encounter.is_whole()),
        None => (NO_INSTANCE, 0, false),
    };
    // SAFETY: a part of a static.
    if let Some(level) = unsafe { level.as_ref() }
        && level.arrived.get()
    {
        if standing.encounters.get() == 0 {
            // A worker does not learn when the region ends: it does when the next one begins.
            if level.whole.get() {
                tables.leave(level);
            }
            depth = depth.saturating_sub(1);
            standing.height.set(0);
            tables.owner.set(0);
        } else if level.instance.get() == instance {
            // One thread runs the teams of a league one after the other.
            depth = depth.saturating_sub(1);
        }
    }
    let Some(level) = tables.levels.get(depth as usize) else {
        standing.return_to(tables, depth + 1);
        return;
    };
    level.instance.set(instance);
    level.function.set(function);
    level.whole.set(whole);
    level.arrived.set(false);
    standing.depth.set(depth + 1);
    standing.level.set(level);
    standing.function.set(function);
    standing.whole.set(u32::from(whole));
    if whole {
        begin_whole(level, encounter, index);
    }
}

#[inline(never)]
fn begin_whole(level: &Level, encounter: Option<&Encounter>, index: u32) {
    level.index.set(index);
    level.works.set(0);
    level.barriers.set(0);
    level.waits.set(0);
    level.children.set(false);
    level.tasks.set(0);
    level.edges.set(0);
    level.chunks.set(0);
    level.taskloop.set(false);
    level.work.close();
    level.cpu_begin.set(enter().map_or(0, |recorder| recorder.thread().cpu.read(life::ticks())));
    level.begin.set(life::ticks());
    level.encounter.set(encounter.map_or(core::ptr::null(), core::ptr::from_ref));
    level.window_begin.set(level.begin.get());
    level.window_chunks.set(0);
    let size = encounter.map_or(0, |encounter| encounter.size.load(core::sync::atomic::Ordering::Relaxed));
    marks::tell(Mark::ShareBegin { instance: level.instance.get(), index, size });
}

/// The calling thread has done its part and arrives at the join. It may run tasks of the region there.
#[inline]
pub fn share_arrives() {
    let standing = &thread::this().openmp;
    let level = standing.level.get();
    if level.is_null() {
        return;
    }
    // SAFETY: a part of a static.
    let level = unsafe { &*level };
    if !level.arrived.replace(true) {
        if level.whole.get() {
            tell();
        }
        alone::team_wait_begins();
    }
}

#[inline(never)]
fn tell() {
    let end = life::ticks();
    super::work_ends();
    let Some(recorder) = enter_whole() else { return };
    let standing = &recorder.thread().openmp;
    let Some((tables, level)) = standing.whole_level() else { return };
    marks::tell(Mark::ShareEnd { instance: level.instance.get() });
    tables.arrive();
    recorder.write(
        &Share {
            begin: level.begin.get(),
            end,
            instance: level.instance.get(),
            index: level.index.get(),
            cpu_begin: level.cpu_begin.get(),
            cpu_end: recorder.thread().cpu.read(end),
        }
        .words(),
    );
    if let Some(met) = standing.encounters.get().checked_sub(1)
        && let Some(encounter) = tables.encounters.get(met as usize)
        && encounter.instance() == level.instance.get()
    {
        encounter.edges.store(level.edges.get(), core::sync::atomic::Ordering::Relaxed);
        encounter.chunks.store(level.chunks.get(), core::sync::atomic::Ordering::Relaxed);
    }
}
