//! Callbacks for regions, worksharing, waits and tasks.
//!
//! What the runtime keeps for us: with a region its [`Encounter`], which stays where it is until the region ends; with
//! an explicit task its number, doubled, plus [`TOLD_OF`], and [`MAY_MOVE`] if the task is untied. Workers learn that a region has ended
//! when the next one begins: so what counts as a thread's end is its arrival at the join.

use core::ffi::{c_int, c_uint, c_void};

use holdup_agent::openmp::{self, Encounter, TaskTraits};
use holdup_agent::thread;
use holdup_trace::openmp::{DependCode, RuntimeCode, SyncCode, TaskEndCode, WorkCode};
use holdup_trace::wire::UNKNOWN;

use super::interface::{
    Data, Dependence, DispatchChunk, PARALLEL_LEAGUE, SCOPE_BEGIN, SCOPE_END, dependence, dispatch,
    sync_region, task, task_status, work,
};

/// Its address is kept for a region of which nothing is told.
static UNTOLD: u8 = 0;

/// The region that the runtime keeps, if it is told; `None` for what `parallel_begin` has not put there.
unsafe fn kept_region(parallel: *const Data) -> Option<Option<&'static Encounter>> {
    let kept = if parallel.is_null() { core::ptr::null() } else { (*parallel).pointer };
    if kept.is_null() {
        None
    } else if kept == (&raw const UNTOLD).cast() {
        Some(None)
    } else {
        // An encounter is a part of a static.
        Some(kept.cast::<Encounter>().as_ref())
    }
}

pub(crate) unsafe extern "C" fn parallel_begin(
    _task: *const Data,
    _frame: *const c_void,
    parallel: *mut Data,
    _requested: c_uint,
    flags: c_uint,
    caller: u64,
) {
    let function = thread::this().openmp.microtask.take();
    if function == 0 && caller == 0 {
        // The runtime's own, by which it starts each team of a league.
        return;
    }
    let met = openmp::region_begins(function, caller, RuntimeCode::Llvm, flags & PARALLEL_LEAGUE != 0);
    (*parallel).pointer =
        met.map_or((&raw const UNTOLD).cast(), |encounter| core::ptr::from_ref(encounter).cast());
}

pub(crate) unsafe extern "C" fn parallel_end(
    parallel: *const Data,
    _task: *const Data,
    _flags: c_int,
    _caller: u64,
) {
    if let Some(encounter) = kept_region(parallel) {
        openmp::region_ends(encounter, 0);
    }
}

pub(crate) unsafe extern "C" fn implicit_task(
    endpoint: c_int,
    parallel: *const Data,
    _task: *const Data,
    size: c_uint,
    index: c_uint,
    _flags: c_int,
) {
    if endpoint == SCOPE_BEGIN {
        // An initial task is in no region.
        if let Some(encounter) = kept_region(parallel) {
            if index == 0
                && let Some(encounter) = encounter
            {
                encounter.has_team_of(size);
            }
            openmp::share_begins(encounter, index);
        }
    } else if index == 0 {
        // A team of one has no join; in others this has been said.
        openmp::share_arrives();
    }
}

pub(crate) unsafe extern "C" fn sync_region_wait(
    kind: c_int,
    endpoint: c_int,
    _parallel: *const Data,
    _task: *const Data,
    caller: u64,
) {
    if matches!(kind, sync_region::BARRIER_IMPLICIT_PARALLEL | sync_region::BARRIER_TEAMS) {
        if endpoint == SCOPE_BEGIN {
            openmp::share_arrives();
        }
        return;
    }
    if !openmp::is_whole() {
        return;
    }
    let code = match kind {
        sync_region::BARRIER_EXPLICIT | sync_region::BARRIER => SyncCode::ExplicitBarrier,
        sync_region::BARRIER_IMPLICIT_WORKSHARE | sync_region::BARRIER_IMPLICIT => SyncCode::WorkBarrier,
        sync_region::TASKWAIT => {
            let no_wait = &thread::this().openmp.no_wait;
            match endpoint {
                SCOPE_BEGIN => no_wait.set(u32::from(!openmp::taskwait_begins(caller))),
                SCOPE_END if no_wait.replace(0) == 0 => openmp::sync_ends(),
                _ => {}
            }
            return;
        }
        sync_region::TASKGROUP => SyncCode::Taskgroup,
        _ => SyncCode::OtherBarrier,
    };
    match endpoint {
        SCOPE_BEGIN => openmp::sync_begins(code, caller),
        SCOPE_END => openmp::sync_ends(),
        _ => {}
    }
}

pub(crate) unsafe extern "C" fn work(
    kind: c_int,
    endpoint: c_int,
    _parallel: *const Data,
    _task: *const Data,
    count: u64,
    caller: u64,
) {
    if !openmp::is_whole() {
        return;
    }
    match kind {
        work::TASKLOOP => return openmp::taskloop(endpoint == SCOPE_BEGIN),
        // It only holds other constructs, and the barrier at its end is told.
        work::SCOPE => return,
        _ => {}
    }
    if endpoint != SCOPE_BEGIN {
        if endpoint == SCOPE_END {
            openmp::work_ends();
        }
        return;
    }
    let (code, iterations) = match kind {
        work::LOOP_STATIC => (WorkCode::StaticLoop, count),
        work::LOOP_DYNAMIC => (WorkCode::DynamicLoop, count),
        work::LOOP_GUIDED => (WorkCode::GuidedLoop, count),
        work::LOOP | work::LOOP_OTHER => (WorkCode::OtherLoop, count),
        work::SECTIONS => (WorkCode::Sections, count),
        work::SINGLE_EXECUTOR => (WorkCode::Single, UNKNOWN),
        work::SINGLE_OTHER => (WorkCode::SingleOther, UNKNOWN),
        work::WORKSHARE => (WorkCode::Workshare, UNKNOWN),
        work::DISTRIBUTE => (WorkCode::Distribute, count),
        _ => return,
    };
    let chunk = match code {
        WorkCode::DynamicLoop | WorkCode::GuidedLoop | WorkCode::OtherLoop => {
            thread::this().openmp.chunk.get().try_into().unwrap_or(0)
        }
        _ => 0,
    };
    openmp::work_begins(code, caller, iterations, chunk);
}

pub(crate) unsafe extern "C" fn masked(
    endpoint: c_int,
    _parallel: *const Data,
    _task: *const Data,
    caller: u64,
) {
    if !openmp::is_whole() {
        return;
    }
    match endpoint {
        SCOPE_BEGIN => openmp::work_begins(WorkCode::Masked, caller, UNKNOWN, 0),
        SCOPE_END => openmp::work_ends(),
        _ => {}
    }
}

pub(crate) unsafe extern "C" fn dispatch(
    _parallel: *const Data,
    _task: *const Data,
    kind: c_int,
    instance: Data,
) {
    if !openmp::is_whole() {
        return;
    }
    match kind {
        // Of static loops only the first chunk is told, and who gets which is known beforehand.
        dispatch::LOOP_CHUNK | dispatch::SECTION if openmp::work_kind() == Some(WorkCode::StaticLoop) => {}
        dispatch::LOOP_CHUNK => {
            let chunk = instance.pointer.cast::<DispatchChunk>();
            if let Some(chunk) = chunk.as_ref() {
                openmp::chunk_begins(chunk.start, chunk.iterations);
            }
        }
        dispatch::SECTION => openmp::chunk_begins(0, 0),
        _ => {}
    }
}

/// Set in what is kept with a task that we know of, whether it has a number or not.
const TOLD_OF: u64 = 1;
/// Set if another thread may go on with it.
const MAY_MOVE: u64 = 2;
/// Set once a thread has begun with one that another may go on with.
const BEGUN: u64 = 4;
/// Where the number begins.
const NUMBER_SHIFT: u32 = 3;

unsafe fn kept(data: *const Data) -> u64 {
    if data.is_null() { 0 } else { (*data).value }
}

pub(crate) unsafe extern "C" fn task_create(
    _task: *const Data,
    _frame: *const c_void,
    new: *mut Data,
    flags: c_int,
    depends: c_int,
    caller: u64,
) {
    let flags = flags as u32;
    if !openmp::is_whole() || flags & task::EXPLICIT == 0 || flags & (task::INITIAL | task::TASKWAIT) != 0 {
        return;
    }
    let undeferred = flags & (task::UNDEFERRED | task::MERGED) != 0;
    if !undeferred {
        openmp::child_made();
    }
    let function = thread::this().openmp.task_entry.get();
    let number = openmp::task_creates(
        function,
        caller,
        TaskTraits { undeferred, of_loop: openmp::is_in_taskloop(), depends: depends != 0 },
    );
    let moves = if flags & task::UNTIED != 0 { MAY_MOVE } else { 0 };
    (*new).value = number << NUMBER_SHIFT | moves | TOLD_OF;
}

pub(crate) unsafe extern "C" fn dependences(task: *const Data, dependences: *const Dependence, count: c_int) {
    let number = kept(task) >> NUMBER_SHIFT;
    if number == 0 || dependences.is_null() {
        return;
    }
    for index in 0..usize::try_from(count).unwrap_or(0) {
        let dependence = &*dependences.add(index);
        let kind = match dependence.kind {
            dependence::IN => DependCode::In,
            dependence::OUT | dependence::IN_OUT => DependCode::Out,
            dependence::MUTEX_IN_OUT_SET => DependCode::Exclusive,
            dependence::IN_OUT_SET => DependCode::OutSet,
            _ => continue,
        };
        openmp::task_depends(number, dependence.variable.value, kind);
    }
}

/// The thread leaves `prior`, or lays it aside, for `next`. Tasks lie on top of each other: that a task goes on which a
/// finished one lay on need not be said. An untied task that is left for the one that it lies on (an implicit task, of which nothing
/// is kept, or one that is known again) is suspended, not just covered by another.
pub(crate) unsafe extern "C" fn task_schedule(prior: *const Data, status: c_int, next: *const Data) {
    let (left, taken) = (kept(prior), kept(next));
    if (left | taken) & TOLD_OF == 0 {
        return;
    }
    match status {
        task_status::COMPLETE | task_status::DETACH if left != 0 => openmp::task_ends(TaskEndCode::Complete),
        task_status::CANCEL if left != 0 => openmp::task_ends(TaskEndCode::Cancelled),
        task_status::SWITCH if left & MAY_MOVE != 0 && (taken == 0 || openmp::is_beneath(next as u64)) => {
            openmp::task_ends(TaskEndCode::Suspended);
        }
        task_status::SWITCH | task_status::YIELD if taken != 0 => {
            openmp::task_begins(taken >> NUMBER_SHIFT, next as u64);
            if taken & MAY_MOVE != 0 {
                if taken & BEGUN != 0 {
                    // What it has made so far, this thread or another one has seen.
                    openmp::child_made();
                }
                (*next.cast_mut()).value |= BEGUN;
            }
        }
        _ => {}
    }
}
