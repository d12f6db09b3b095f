//! Explicit tasks: who made them, and who ran them when.

use core::sync::atomic::Ordering;

use holdup_trace::instructions::Mark;
use holdup_trace::openmp::{Depend, DependCode, TaskCreate, TaskEndCode};

use super::policy;
use super::standing::{enter_whole, is_whole};
use crate::{alone, life, marks, thread};

/// A task that is being made.
#[derive(Clone, Copy, Default)]
pub struct Making {
    /// Its number; 0 if it is not told by itself.
    pub task: u64,
    begin: u64,
}

/// What is known of a task when it is made.
#[derive(Clone, Copy, Default)]
pub struct TaskTraits {
    /// It is executed at once, by the thread that makes it.
    pub undeferred: bool,
    /// It belongs to a `taskloop`.
    pub of_loop: bool,
    /// Others may have to wait for it by `depend`, or it for them.
    pub depends: bool,
}

/// A task is about to be made by the calling thread: chooses its number. Only in whole instances. `function` is what the
/// compiler made of it, 0 if that is not known.
#[inline]
pub fn task_making(function: u64) -> Making {
    const UNTOLD: Making = Making { task: 0, begin: 0 };
    let thread = thread::this();
    let Some((tables, level)) = thread.openmp.whole_level() else { return UNTOLD };
    let (number, made) = (level.tasks.get(), thread.openmp.made.get() + 1);
    level.tasks.set(number.wrapping_add(1));
    thread.openmp.made.set(made);
    if !policy::TASKS.tells(number) || thread.slot.get().is_null() {
        return UNTOLD;
    }
    // SAFETY: a thread's slot is in the process's file, which stays mapped while recording.
    let owner = unsafe { &*thread.slot.get() }.thread.load(Ordering::Relaxed);
    let task = u64::from(owner) << 32 | u64::from(made);
    if marks::heard() {
        let parent = tables.running_task(&thread.openmp);
        marks::tell(Mark::TaskCreate { task, parent, function });
    }
    Making { task, begin: life::ticks() }
}

/// The task that the calling thread runs makes another one, for which it may have to wait.
#[inline]
pub fn child_made() {
    let standing = &thread::this().openmp;
    if let Some((tables, level)) = standing.whole_level()
        && let Some(children) = tables.children(standing, level)
    {
        children.set(true);
    }
}

/// The task has been made (and, if it is undeferred, executed). `function` is what the compiler made of it, 0 if that
/// is not known; `caller` the return address of the call that made it.
#[inline]
pub fn task_made(making: Making, function: u64, caller: u64, traits: TaskTraits) {
    if making.task != 0 {
        let ticks = if traits.undeferred { 0 } else { life::ticks().saturating_sub(making.begin) };
        tell(making, function, caller, traits, ticks);
    }
}

/// A task is made at this moment; gives its number, 0 if it is not told by itself.
#[inline]
pub fn task_creates(function: u64, caller: u64, traits: TaskTraits) -> u64 {
    let making = task_making(function);
    if making.task != 0 {
        tell(making, function, caller, traits, 0);
    }
    making.task
}

#[inline(never)]
fn tell(making: Making, function: u64, caller: u64, traits: TaskTraits, ticks: u64) {
    let Some(recorder) = enter_whole() else { return };
    let standing = &recorder.thread().openmp;
    let Some((tables, level)) = standing.whole_level() else { return };
    recorder.write(
        &TaskCreate {
            time: making.begin,
            task: making.task,
            parent: tables.running_task(standing),
            instance: level.instance.get(),
            function,
            caller,
            ticks,
            undeferred: traits.undeferred,
            of_loop: traits.of_loop,
            depends: traits.depends,
        }
        .words(),
    );
}

/// The task depends on what lies at the address.
#[inline]
pub fn task_depends(task: u64, address: u64, kind: DependCode) {
    if task != 0
        && let Some(recorder) = enter_whole()
    {
        recorder.write(&Depend { task, address, kind }.words());
    }
}

/// The calling thread begins to execute the task with this number (0 for one that is not told), or goes on with it, on
/// top of what it was doing. `identity` is what the front-end knows the task by, as long as it lives; 0 where it need not.
#[inline]
pub fn task_begins(task: u64, identity: u64) {
    alone::task_begins();
    let standing = &thread::this().openmp;
    let Some((tables, level)) = standing.whole_level() else { return };
    marks::tell(Mark::TaskBegin { task });
    let recorder = if task == 0 { None } else { enter_whole() };
    if is_whole() {
        tables.push_task(standing, level, task, identity, recorder.as_ref());
    }
}

/// The calling thread stops to execute the task that it began last. What lies beneath goes on.
#[inline]
pub fn task_ends(how: TaskEndCode) {
    let standing = &thread::this().openmp;
    if let Some((tables, level)) = standing.whole_level()
        && tables.top_is_task(standing) != Some(false)
    {
        if marks::heard() {
            let is_complete = matches!(how, TaskEndCode::Complete | TaskEndCode::Cancelled);
            marks::tell(Mark::TaskEnd { task: tables.running_task(standing), is_complete });
        }
        super::syncs::end(standing, tables, level, how);
    }
    alone::task_ends();
}

/// True if the task with this identity, which is not 0, lies beneath the one that the calling thread runs.
pub fn is_beneath(identity: u64) -> bool {
    let standing = &thread::this().openmp;
    identity != 0 && standing.whole_level().is_some_and(|(tables, _)| tables.beneath(standing) == identity)
}
