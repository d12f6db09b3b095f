//! Parallel regions and leagues of teams.
//!
//! The runtime gets a function of ours to run in each thread, with a block that says whose place it takes. It lies in
//! the frame of the call, which does not return before the last thread has left the region.

use core::ffi::{c_long, c_uint, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use holdup_agent::openmp::{self, Encounter};
use holdup_agent::thread;
use holdup_trace::openmp::{RuntimeCode, WorkCode};

use super::copy::{self, Copy, original};
use super::loops::{Iterations, begin_loop, code_of_schedule};
use super::stub::{caller, stubs};
use crate::front::fronts;

/// What the compiler makes of a region.
pub(crate) type Outlined = unsafe extern "C" fn(*mut c_void);

/// A worksharing construct that begins together with the region.
#[derive(Clone, Copy)]
enum Work {
    None,
    Loop(WorkCode, Iterations),
    Sections(c_uint),
}

#[repr(C)]
struct Block {
    /// What is first in the program's own data: the runtime looks there for reductions.
    first_word: usize,
    function: Outlined,
    data: *mut c_void,
    copy: &'static Copy,
    encounter: Option<&'static Encounter>,
    caller: u64,
    work: Work,
    league: bool,
    /// The thread that met the region, by its own block.
    owner: usize,
    size: AtomicU32,
}

fn own_block() -> usize {
    core::ptr::from_ref(thread::this()) as usize
}

/// Runs a region: `run` calls the runtime with the function and the data that it is given.
#[inline(always)]
unsafe fn region(
    function: Outlined,
    data: *mut c_void,
    caller: u64,
    work: Work,
    league: bool,
    run: impl FnOnce(&'static Copy, Outlined, *mut c_void) -> c_uint,
) -> c_uint {
    // The call can be in tail position; the compiler's function is in the module that made it.
    let copy = copy::of(function as usize as u64);
    if !copy.is_gnu() {
        if copy.is_missing() {
            function(data);
            return 0;
        }
        thread::this().openmp.microtask.set(function as usize as u64);
        return run(copy, function, data);
    }
    copy.announce();
    let encounter = openmp::region_begins(function as usize as u64, caller, RuntimeCode::Gnu, league);
    let block = Block {
        first_word: 0,
        function,
        data,
        copy,
        encounter,
        caller,
        work,
        league,
        owner: own_block(),
        size: AtomicU32::new(1),
    };
    let result = run(copy, share, (&raw const block).cast_mut().cast());
    openmp::region_ends(encounter, block.size.load(Ordering::Relaxed));
    result
}

/// What each thread of the team runs.
unsafe extern "C" fn share(block: *mut c_void) {
    let block = &*block.cast::<Block>();
    let standing = &thread::this().openmp;
    let (outer, first, step) = (standing.runtime.get(), standing.loop_first.get(), standing.loop_step.get());
    standing.runtime.set(core::ptr::from_ref(block.copy) as usize);
    if block.owner == own_block() {
        let size = if block.league {
            original!(block.copy, omp_get_num_teams: fn() -> c_uint)()
        } else {
            original!(block.copy, omp_get_num_threads: fn() -> c_uint)()
        };
        block.size.store(size, Ordering::Relaxed);
    }
    if block.encounter.is_some_and(Encounter::is_whole) {
        begin_whole(block);
    } else {
        openmp::share_begins(block.encounter, 0);
    }
    (block.function)(block.data);
    openmp::share_arrives();
    standing.runtime.set(outer);
    standing.loop_first.set(first);
    standing.loop_step.set(step);
}

#[inline(never)]
unsafe fn begin_whole(block: &Block) {
    let index = if block.league {
        original!(block.copy, omp_get_team_num: fn() -> c_uint)()
    } else {
        original!(block.copy, omp_get_thread_num: fn() -> c_uint)()
    };
    openmp::share_begins(block.encounter, index);
    match block.work {
        Work::None => {}
        Work::Loop(kind, iterations) => begin_loop(kind, block.caller, iterations),
        Work::Sections(count) => {
            openmp::work_begins(WorkCode::Sections, block.caller, u64::from(count), 0);
        }
    }
}

fronts! {
    /// Interposes `GOMP_parallel`.
    GOMP_parallel => parallel, "r8";
    /// Interposes `GOMP_parallel_reductions`.
    GOMP_parallel_reductions => parallel_reductions, "r8";
    /// Interposes `GOMP_parallel_sections`.
    GOMP_parallel_sections => parallel_sections, "r9";
    /// Interposes `GOMP_teams_reg`.
    GOMP_teams_reg => teams, "r9";
}

unsafe extern "C" fn parallel(
    function: Outlined,
    data: *mut c_void,
    threads: c_uint,
    flags: c_uint,
    caller: u64,
) {
    region(function, data, caller, Work::None, false, |copy, function, data| {
        original!(copy, GOMP_parallel: fn(Outlined, *mut c_void, c_uint, c_uint))(
            function, data, threads, flags,
        );
        0
    });
}

unsafe extern "C" fn parallel_reductions(
    function: Outlined,
    data: *mut c_void,
    threads: c_uint,
    flags: c_uint,
    caller: u64,
) -> c_uint {
    region(function, data, caller, Work::None, false, |copy, ours, block| {
        if block != data {
            (*block.cast::<Block>()).first_word = *data.cast::<usize>();
        }
        type Run = unsafe extern "C" fn(Outlined, *mut c_void, c_uint, c_uint) -> c_uint;
        let run: Run =
            original!(copy, GOMP_parallel_reductions: fn(Outlined, *mut c_void, c_uint, c_uint) -> c_uint);
        run(ours, block, threads, flags)
    })
}

unsafe extern "C" fn parallel_sections(
    function: Outlined,
    data: *mut c_void,
    threads: c_uint,
    count: c_uint,
    flags: c_uint,
    caller: u64,
) {
    region(function, data, caller, Work::Sections(count), false, |copy, function, data| {
        original!(copy, GOMP_parallel_sections: fn(Outlined, *mut c_void, c_uint, c_uint, c_uint))(
            function, data, threads, count, flags,
        );
        0
    });
}

unsafe extern "C" fn teams(
    function: Outlined,
    data: *mut c_void,
    count: c_uint,
    limit: c_uint,
    flags: c_uint,
    caller: u64,
) {
    // The host's runtime runs the teams one after the other, in this thread.
    region(function, data, caller, Work::None, true, |copy, function, data| {
        original!(copy, GOMP_teams_reg: fn(Outlined, *mut c_void, c_uint, c_uint, c_uint))(
            function, data, count, limit, flags,
        );
        0
    });
}

/// Regions that are a loop: the arguments of each, and its schedule.
macro_rules! parallel_loops {
    ($($(#[$doc:meta])* $name:ident => $implementation:ident ($schedule:expr $(, $chunk:ident)?);)*) => {
        stubs! { $($(#[$doc])* $name => $implementation;)* }
        $(
            #[allow(clippy::too_many_arguments, reason = "it is the runtime's function")]
            unsafe extern "C" fn $implementation(
                function: Outlined,
                data: *mut c_void,
                threads: c_uint,
                start: c_long,
                end: c_long,
                step: c_long,
                $($chunk: c_long,)?
                flags: c_uint,
            ) {
                #[allow(unused_mut, unused_assignments, reason = "not all schedules have a chunk size")]
                let mut size = 0;
                $(size = $chunk;)?
                let work = Work::Loop($schedule, Iterations::signed(start, end, step, size));
                let caller = caller();
                region(function, data, caller, work, false, |copy, function, data| {
                    original!(copy, $name: fn(
                        Outlined, *mut c_void, c_uint, c_long, c_long, c_long,
                        $(parallel_loops!(@type $chunk),)? c_uint
                    ))(function, data, threads, start, end, step, $($chunk,)? flags);
                    0
                });
            }
        )*
    };
    (@type $chunk:ident) => { c_long };
}

parallel_loops! {
    /// Interposes `GOMP_parallel_loop_static`.
    GOMP_parallel_loop_static => loop_static(WorkCode::StaticLoop, chunk);
    /// Interposes `GOMP_parallel_loop_dynamic`.
    GOMP_parallel_loop_dynamic => loop_dynamic(WorkCode::DynamicLoop, chunk);
    /// Interposes `GOMP_parallel_loop_guided`.
    GOMP_parallel_loop_guided => loop_guided(WorkCode::GuidedLoop, chunk);
    /// Interposes `GOMP_parallel_loop_nonmonotonic_dynamic`.
    GOMP_parallel_loop_nonmonotonic_dynamic => loop_nonmonotonic_dynamic(WorkCode::DynamicLoop, chunk);
    /// Interposes `GOMP_parallel_loop_nonmonotonic_guided`.
    GOMP_parallel_loop_nonmonotonic_guided => loop_nonmonotonic_guided(WorkCode::GuidedLoop, chunk);
    /// Interposes `GOMP_parallel_loop_runtime`.
    GOMP_parallel_loop_runtime => loop_runtime(code_of_schedule());
    /// Interposes `GOMP_parallel_loop_nonmonotonic_runtime`.
    GOMP_parallel_loop_nonmonotonic_runtime => loop_nonmonotonic_runtime(code_of_schedule());
    /// Interposes `GOMP_parallel_loop_maybe_nonmonotonic_runtime`.
    GOMP_parallel_loop_maybe_nonmonotonic_runtime => loop_maybe_nonmonotonic_runtime(code_of_schedule());
}
