//! OMPT, the interface that the OpenMP specification (5.2, chapter 19) gives to tools: what of it is used here. Numbers
//! that a runtime passes are integers here, not enums: a newer runtime may pass ones that we do not know.

use core::ffi::{c_char, c_int, c_uint, c_void};

/// A word that the runtime keeps for the tool, for a thread, a task or a parallel region. 0 at first.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) union Data {
    pub(crate) value: u64,
    pub(crate) pointer: *const c_void,
}

/// `ompt_start_tool_result_t`.
#[repr(C)]
pub struct StartToolResult {
    pub(crate) initialize: unsafe extern "C" fn(Lookup, c_int, *mut Data) -> c_int,
    pub(crate) finalize: unsafe extern "C" fn(*mut Data),
    pub(crate) tool_data: Data,
}

/// `ompt_function_lookup_t`.
pub(crate) type Lookup = unsafe extern "C" fn(*const c_char) -> *const c_void;
/// `ompt_set_callback_t`.
pub(crate) type SetCallback = unsafe extern "C" fn(c_uint, *const c_void) -> c_int;

/// Numbers of callbacks.
pub(crate) mod callback {
    use core::ffi::c_uint;

    pub(crate) const PARALLEL_BEGIN: c_uint = 3;
    pub(crate) const PARALLEL_END: c_uint = 4;
    pub(crate) const TASK_CREATE: c_uint = 5;
    pub(crate) const TASK_SCHEDULE: c_uint = 6;
    pub(crate) const IMPLICIT_TASK: c_uint = 7;
    pub(crate) const SYNC_REGION_WAIT: c_uint = 16;
    pub(crate) const MUTEX_RELEASED: c_uint = 17;
    pub(crate) const DEPENDENCES: c_uint = 18;
    pub(crate) const WORK: c_uint = 20;
    pub(crate) const MASKED: c_uint = 21;
    pub(crate) const MUTEX_ACQUIRE: c_uint = 26;
    pub(crate) const MUTEX_ACQUIRED: c_uint = 27;
    pub(crate) const DISPATCH: c_uint = 32;
}

/// `ompt_scope_begin`, of a scope that also ends.
pub(crate) const SCOPE_BEGIN: c_int = 1;
/// `ompt_scope_end`.
pub(crate) const SCOPE_END: c_int = 2;

/// In the flags of a parallel region: it is a league of teams.
pub(crate) const PARALLEL_LEAGUE: c_uint = 0x4000_0000;

/// Flags of tasks.
pub(crate) mod task {
    pub(crate) const INITIAL: u32 = 1;
    pub(crate) const EXPLICIT: u32 = 4;
    pub(crate) const TASKWAIT: u32 = 0x10;
    pub(crate) const UNDEFERRED: u32 = 0x0800_0000;
    pub(crate) const UNTIED: u32 = 0x1000_0000;
    pub(crate) const MERGED: u32 = 0x8000_0000;
}

/// Why a thread leaves a task.
pub(crate) mod task_status {
    use core::ffi::c_int;

    pub(crate) const COMPLETE: c_int = 1;
    pub(crate) const YIELD: c_int = 2;
    pub(crate) const CANCEL: c_int = 3;
    pub(crate) const DETACH: c_int = 4;
    pub(crate) const SWITCH: c_int = 7;
}

/// What threads wait for.
pub(crate) mod sync_region {
    use core::ffi::c_int;

    /// A barrier, in OpenMP 5.0.
    pub(crate) const BARRIER: c_int = 1;
    /// An implicit barrier, in OpenMP 5.0, which does not say of what.
    pub(crate) const BARRIER_IMPLICIT: c_int = 2;
    pub(crate) const BARRIER_EXPLICIT: c_int = 3;
    pub(crate) const TASKWAIT: c_int = 5;
    pub(crate) const TASKGROUP: c_int = 6;
    pub(crate) const BARRIER_IMPLICIT_WORKSHARE: c_int = 8;
    /// The join.
    pub(crate) const BARRIER_IMPLICIT_PARALLEL: c_int = 9;
    /// The join of a league.
    pub(crate) const BARRIER_TEAMS: c_int = 10;
}

/// Worksharing constructs.
pub(crate) mod work {
    use core::ffi::c_int;

    pub(crate) const LOOP: c_int = 1;
    pub(crate) const SECTIONS: c_int = 2;
    pub(crate) const SINGLE_EXECUTOR: c_int = 3;
    pub(crate) const SINGLE_OTHER: c_int = 4;
    pub(crate) const WORKSHARE: c_int = 5;
    pub(crate) const DISTRIBUTE: c_int = 6;
    pub(crate) const TASKLOOP: c_int = 7;
    pub(crate) const SCOPE: c_int = 8;
    pub(crate) const LOOP_STATIC: c_int = 10;
    pub(crate) const LOOP_DYNAMIC: c_int = 11;
    pub(crate) const LOOP_GUIDED: c_int = 12;
    pub(crate) const LOOP_OTHER: c_int = 13;
}

/// What is dispatched.
pub(crate) mod dispatch {
    use core::ffi::c_int;

    pub(crate) const SECTION: c_int = 2;
    pub(crate) const LOOP_CHUNK: c_int = 3;
}

/// `ompt_dispatch_chunk_t`.
#[repr(C)]
pub(crate) struct DispatchChunk {
    pub(crate) start: u64,
    pub(crate) iterations: u64,
}

/// `ompt_dependence_t`.
#[repr(C)]
pub(crate) struct Dependence {
    pub(crate) variable: Data,
    pub(crate) kind: c_int,
}

/// Kinds of dependences.
pub(crate) mod dependence {
    use core::ffi::c_int;

    pub(crate) const IN: c_int = 1;
    pub(crate) const OUT: c_int = 2;
    pub(crate) const IN_OUT: c_int = 3;
    pub(crate) const MUTEX_IN_OUT_SET: c_int = 4;
    pub(crate) const IN_OUT_SET: c_int = 7;
}

/// Kinds of mutual exclusion.
pub(crate) mod mutex {
    use core::ffi::c_int;

    pub(crate) const NEST_LOCK: c_int = 3;
    pub(crate) const CRITICAL: c_int = 5;
    pub(crate) const ATOMIC: c_int = 6;
    pub(crate) const ORDERED: c_int = 7;
}

/// How LLVM's runtime makes a mutual exclusion: what its `ompt_enumerate_mutex_impls` lists.
pub(crate) mod mutex_implementation {
    use core::ffi::c_uint;

    pub(crate) const SPIN: c_uint = 1;
    pub(crate) const QUEUING: c_uint = 2;
}
