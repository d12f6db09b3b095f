//! Tasks.
//!
//! In a whole instance the runtime gets a function of ours to run, and a copy function that puts a head in front of
//! the task's own data, which keep their alignment. Elsewhere tasks are left as they are, and so are those that can be
//! detached, since the runtime looks into their data.

use core::ffi::{c_int, c_long, c_uint, c_ulonglong, c_void};

use holdup_agent::openmp::{self, Making, TaskTraits};
use holdup_agent::thread;
use holdup_trace::openmp::{DependCode, SyncCode, TaskEndCode, WorkCode};
use holdup_trace::wire::UNKNOWN;

use super::copy::{self, Copy, original};
use super::parallel::Outlined;
use super::stub::{caller, stubs};
use crate::front::fronts;

type CopyData = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// `GOMP_TASK_FLAG_…`.
const FINAL: c_uint = 1 << 1;
const DEPENDS: c_uint = 1 << 3;
const DETACHABLE: c_uint = 1 << 13;
/// Of a `taskloop`: its data lead to reductions.
const REDUCTIONS: c_uint = 1 << 12;

/// What lies before a task's own data.
#[repr(C)]
struct Head {
    /// Of a `taskloop` the runtime puts the bounds here, which belong to the first two words of the data.
    bounds: [usize; 2],
    /// Its number. Of a `taskloop` whose tasks are numbered when they begin: what the runtime looks for in the third word.
    task: u64,
    function: Outlined,
    copy: &'static Copy,
    /// Of a `taskloop` whose tasks are numbered when they begin: the return address of the call; else 0.
    loop_caller: u64,
}

/// What the copy function gets in place of the task's data.
#[repr(C)]
struct Source {
    /// What is first in the data. Of a `taskloop` with reductions the runtime looks into the third word for these; the
    /// two before it are for the bounds.
    words: [usize; 3],
    function: Outlined,
    data: *mut c_void,
    copy_data: Option<CopyData>,
    size: usize,
    head: usize,
    task: u64,
    copy: &'static Copy,
    /// Of a `taskloop`, each of whose tasks is numbered when it is copied: the return address of the call; else 0.
    loop_caller: u64,
}

const ALIGNMENT: usize = 16;

/// The runtime puts the data of all tasks of a `taskloop` that are copied by a function on the stack at once, where there are too
/// many to be put off. So many bytes of it a stack is sure to have.
const MOST_COPIED: u64 = 64 << 10;

/// A head and a task's data, where no function copies them.
#[repr(C, align(16))]
struct InPlace([u8; 1024]);

/// Bytes from the head to the data.
fn head_size(alignment: usize) -> usize {
    size_of::<Head>().next_multiple_of(alignment.max(ALIGNMENT))
}

unsafe extern "C" fn copy_with_head(to: *mut c_void, source: *mut c_void) {
    let source = &*source.cast::<Source>();
    let task =
        if source.loop_caller == 0 { source.task } else { task_of_loop(source.function, source.loop_caller) };
    let head = Head { bounds: [0; 2], function: source.function, task, copy: source.copy, loop_caller: 0 };
    to.cast::<Head>().write(head);
    let data = to.byte_add(source.head);
    match source.copy_data {
        Some(copy_data) => copy_data(data, source.data),
        None => core::ptr::copy_nonoverlapping(source.data.cast::<u8>(), data.cast(), source.size),
    }
}

/// The next task of a `taskloop`, which is made now.
fn task_of_loop(function: Outlined, caller: u64) -> u64 {
    let traits = TaskTraits { of_loop: true, ..TaskTraits::default() };
    openmp::task_creates(function as usize as u64, caller, traits)
}

unsafe fn run(head: *mut c_void, data: *mut c_void) {
    let Head { function, task, copy, loop_caller, .. } = head.cast::<Head>().read();
    let task = if loop_caller == 0 { task } else { task_of_loop(function, loop_caller) };
    let standing = &thread::this().openmp;
    let outer = standing.runtime.replace(core::ptr::from_ref(copy) as usize);
    openmp::task_begins(task, 0);
    function(data);
    openmp::task_ends(TaskEndCode::Complete);
    standing.runtime.set(outer);
}

/// What is run in place of tasks whose data need the usual alignment.
unsafe extern "C" fn task_body(head: *mut c_void) {
    run(head, head.byte_add(head_size(ALIGNMENT)));
}

stubs! {
    /// Interposes `GOMP_task`.
    GOMP_task => task;
    /// Interposes `GOMP_taskloop`.
    GOMP_taskloop => taskloop;
    /// Interposes `GOMP_taskloop_ull`.
    GOMP_taskloop_ull => taskloop_ull;
}

type Task = unsafe extern "C" fn(
    Outlined,
    *mut c_void,
    Option<CopyData>,
    c_long,
    c_long,
    bool,
    c_uint,
    *mut *mut c_void,
    c_int,
    *mut c_void,
);

#[allow(clippy::too_many_arguments, reason = "it is the runtime's function")]
unsafe extern "C" fn task(
    function: Outlined,
    data: *mut c_void,
    copy_data: Option<CopyData>,
    size: c_long,
    alignment: c_long,
    deferred: bool,
    flags: c_uint,
    depends: *mut *mut c_void,
    priority: c_int,
    detach: *mut c_void,
) {
    let caller = caller();
    let copy = copy::of(function as usize as u64);
    let original: Task = core::mem::transmute(copy.address(copy::Entry::GOMP_task));
    if deferred {
        openmp::child_made();
    }
    let ordinary = flags & DETACHABLE == 0 && alignment <= ALIGNMENT as c_long;
    if !ordinary || !copy.tells() {
        if copy.is_missing() {
            return function(data);
        }
        thread::this().openmp.task_entry.set(function as usize as u64);
        return original(
            function, data, copy_data, size, alignment, deferred, flags, depends, priority, detach,
        );
    }
    let traits = TaskTraits {
        undeferred: !deferred || flags & FINAL != 0,
        of_loop: false,
        depends: flags & DEPENDS != 0,
    };
    let making = openmp::task_making(function as usize as u64);
    if !deferred && making.task == 0 && !traits.depends {
        // It is over when the call is: nothing need be put before its data. (A final one may be put off all the same.)
        openmp::task_begins(0, 0);
        original(function, data, copy_data, size, alignment, deferred, flags, depends, priority, detach);
        return openmp::task_ends(TaskEndCode::Complete);
    }
    let mut source = source(function, data, copy_data, size, making, copy);
    let size = size + source.head as c_long;
    if traits.depends {
        tell_dependences(making.task, depends);
    }
    let ours = (&raw mut source).cast();
    original(
        task_body,
        ours,
        Some(copy_with_head),
        size,
        ALIGNMENT as c_long,
        deferred,
        flags,
        depends,
        priority,
        detach,
    );
    openmp::task_made(making, function as usize as u64, caller, traits);
}

fn source(
    function: Outlined,
    data: *mut c_void,
    copy_data: Option<CopyData>,
    size: c_long,
    making: Making,
    copy: &'static Copy,
) -> Source {
    let head = head_size(ALIGNMENT);
    let size = usize::try_from(size).unwrap_or(0);
    Source { words: [0; 3], function, data, copy_data, size, head, task: making.task, copy, loop_caller: 0 }
}

/// Dependences that are told of one task.
const DEPENDENCES: usize = 16;

/// What a task depends on: a count of all and of those that are written, then the addresses, these first; or 0, and
/// four counts (all, written, exclusive, read), after which come, at the end, those whose kind lies elsewhere.
unsafe fn tell_dependences(task: u64, depends: *mut *mut c_void) {
    if task == 0 || depends.is_null() {
        return;
    }
    let word = |index: usize| *depends.add(index) as usize;
    let (first, all, written, exclusive, read) = match word(0) {
        0 => (5, word(1), word(2), word(3), word(4)),
        all => (2, all, word(1), 0, all.saturating_sub(word(1))),
    };
    for index in 0..all.min(written + exclusive + read).min(DEPENDENCES) {
        let kind = match index {
            index if index < written => DependCode::Out,
            index if index < written + exclusive => DependCode::Exclusive,
            _ => DependCode::In,
        };
        openmp::task_depends(task, word(first + index) as u64, kind);
    }
}

/// Of a `taskloop` the first two words of a task's data are the bounds of its iterations.
unsafe extern "C" fn loop_body(head: *mut c_void) {
    let data = head.byte_add(head_size(ALIGNMENT));
    data.cast::<[usize; 2]>().write((*head.cast::<Head>()).bounds);
    run(head, data);
}

macro_rules! taskloops {
    ($($name:ident => $implementation:ident($bound:ty);)*) => {$(
        #[allow(clippy::too_many_arguments, reason = "it is the runtime's function")]
        unsafe extern "C" fn $implementation(
            function: Outlined,
            data: *mut c_void,
            copy_data: Option<CopyData>,
            size: c_long,
            alignment: c_long,
            flags: c_uint,
            tasks: usize,
            priority: c_int,
            start: $bound,
            end: $bound,
            step: $bound,
        ) {
            let caller = caller();
            let copy = copy::of(function as usize as u64);
            openmp::child_made();
            type Taskloop = unsafe extern "C" fn(
                Outlined, *mut c_void, Option<CopyData>, c_long, c_long, c_uint, usize, c_int, $bound, $bound, $bound,
            );
            let original: Taskloop = core::mem::transmute(copy.address(copy::Entry::$name));
            if !copy.tells() || alignment > ALIGNMENT as c_long {
                thread::this().openmp.task_entry.set(function as usize as u64);
                return original(
                    function, data, copy_data, size, alignment, flags, tasks, priority, start, end, step,
                );
            }
            let mut source = source(function, data, copy_data, size, Making::default(), copy);
            let reductions =
                if flags & REDUCTIONS != 0 && !data.is_null() { *data.cast::<usize>().add(2) } else { 0 };
            source.words[2] = reductions;
            source.loop_caller = caller;
            let own = source.size;
            let all = size.saturating_add(source.head as c_long);
            // As many tasks as iterations, at most.
            let iterations = end.abs_diff(start) as u64;
            let is_copied = iterations.saturating_mul(all as u64) <= MOST_COPIED;
            let mut in_place = InPlace([0; 1024]);
            if !is_copied && (copy_data.is_some() || own < 16 || all as usize > size_of::<InPlace>()) {
                thread::this().openmp.task_entry.set(function as usize as u64);
                return original(
                    function, data, copy_data, size, alignment, flags, tasks, priority, start, end, step,
                );
            }
            let (ours, copy_data): (*mut c_void, Option<CopyData>) = if is_copied {
                ((&raw mut source).cast(), Some(copy_with_head))
            } else {
                let ours: *mut c_void = (&raw mut in_place).cast();
                let head = Head { bounds: [0, 0], function, task: reductions as u64, copy, loop_caller: caller };
                ours.cast::<Head>().write(head);
                core::ptr::copy_nonoverlapping(data.cast::<u8>(), ours.byte_add(source.head).cast(), own);
                (ours, None)
            };
            openmp::work_begins(WorkCode::Taskloop, caller, UNKNOWN, 0);
            original(
                loop_body, ours, copy_data, all, ALIGNMENT as c_long, flags, tasks, priority, start, end, step,
            );
            openmp::work_ends();
        }
    )*};
}

taskloops! {
    GOMP_taskloop => taskloop(c_long);
    GOMP_taskloop_ull => taskloop_ull(c_ulonglong);
}

fronts! {
    /// Interposes `GOMP_taskwait`.
    GOMP_taskwait => taskwait, "rdi";
    /// Interposes `GOMP_taskwait_depend`.
    GOMP_taskwait_depend => taskwait_depend, "rsi";
    /// Interposes `GOMP_taskgroup_end`.
    GOMP_taskgroup_end => taskgroup_end, "rdi";
}

unsafe extern "C" fn taskwait(caller: u64) {
    let copy = copy::of(caller);
    let original = original!(copy, GOMP_taskwait: fn());
    if !copy.tells() {
        return original();
    }
    if !openmp::taskwait_begins(caller) {
        return original();
    }
    original();
    openmp::sync_ends();
}

unsafe extern "C" fn taskwait_depend(depends: *mut *mut c_void, caller: u64) {
    let copy = copy::of(caller);
    let original = original!(copy, GOMP_taskwait_depend: fn(*mut *mut c_void));
    if !copy.tells() {
        return original(depends);
    }
    openmp::sync_begins(SyncCode::Taskwait, caller);
    original(depends);
    openmp::sync_ends();
}

unsafe extern "C" fn taskgroup_end(caller: u64) {
    let copy = copy::of(caller);
    let original = original!(copy, GOMP_taskgroup_end: fn());
    if !copy.tells() {
        return original();
    }
    openmp::sync_begins(SyncCode::Taskgroup, caller);
    original();
    openmp::sync_ends();
}
