//! LLVM's OpenMP runtime, which tells tools what happens: OMPT, a part of the OpenMP specification.
//!
//! The runtime looks for a function `ompt_start_tool` when it starts, and finds ours. [`constructs`] are the callbacks for
//! regions, worksharing, waits and tasks, [`locks`] those for mutual exclusion, with [`peek`] to see whether a lock
//! is free; [`entries`] learns which functions the compiler made of regions and tasks. If the program brings a tool of its
//! own it shall have the runtime to itself: then its constructs are not told, which is told.

mod constructs;
mod entries;
mod interface;
mod locks;
mod peek;

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use holdup_agent::{life, link, openmp};
use holdup_trace::openmp::RuntimeCode;

use crate::real::Original;
use interface::{Data, Lookup, SetCallback, StartToolResult, callback};

/// True once a runtime has taken us as its tool.
static TOLD: AtomicBool = AtomicBool::new(false);

/// Shared with the runtime, which writes to `tool_data`.
struct Start(core::cell::UnsafeCell<StartToolResult>);

// SAFETY: we never read or write it after its creation.
unsafe impl Sync for Start {}

static START: Start = Start(core::cell::UnsafeCell::new(StartToolResult {
    initialize,
    finalize,
    tool_data: Data { value: 0 },
}));

/// What LLVM's runtime calls when it starts, and other OMPT tools export too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompt_start_tool(version: c_uint, runtime: *const c_char) -> *mut StartToolResult {
    if let Some(other) = other_tool() {
        let start: unsafe extern "C" fn(c_uint, *const c_char) -> *mut StartToolResult =
            core::mem::transmute(other);
        let result = start(version, runtime);
        if !result.is_null() {
            return result;
        }
    }
    // What follows when nobody wants to be the tool: the runtime tries the libraries that are named here.
    if !life::in_session() || is_set(c"OMP_TOOL_LIBRARIES") { core::ptr::null_mut() } else { START.0.get() }
}

/// `ompt_start_tool` of the program or of a library of its own. Runtimes have one too, which only passes on.
fn other_tool() -> Option<*const c_void> {
    let own = ompt_start_tool as *const () as u64;
    let mut found = None;
    link::each_object(|object| {
        if !object.covers(own) && object.function(c"__kmpc_fork_call").is_none() {
            found = object.function(c"ompt_start_tool");
        }
        found.is_some()
    });
    found
}

/// True if an environment variable is there and not empty.
unsafe fn is_set(name: &CStr) -> bool {
    static GETENV: Original = Original::new(b"getenv\0");
    let address = GETENV.address();
    if address == 0 {
        return false;
    }
    let getenv: unsafe extern "C" fn(*const c_char) -> *const c_char = core::mem::transmute(address);
    let value = getenv(name.as_ptr());
    !value.is_null() && *value != 0
}

unsafe extern "C" fn initialize(lookup: Lookup, _device: c_int, _data: *mut Data) -> c_int {
    let set = lookup(c"ompt_set_callback".as_ptr());
    if set.is_null() {
        return 0;
    }
    let set: SetCallback = core::mem::transmute(set);
    let callbacks: [(c_uint, *const c_void); 13] = [
        (callback::PARALLEL_BEGIN, constructs::parallel_begin as *const c_void),
        (callback::PARALLEL_END, constructs::parallel_end as *const c_void),
        (callback::IMPLICIT_TASK, constructs::implicit_task as *const c_void),
        (callback::SYNC_REGION_WAIT, constructs::sync_region_wait as *const c_void),
        (callback::WORK, constructs::work as *const c_void),
        (callback::MASKED, constructs::masked as *const c_void),
        (callback::DISPATCH, constructs::dispatch as *const c_void),
        (callback::TASK_CREATE, constructs::task_create as *const c_void),
        (callback::TASK_SCHEDULE, constructs::task_schedule as *const c_void),
        (callback::DEPENDENCES, constructs::dependences as *const c_void),
        (callback::MUTEX_ACQUIRE, locks::acquire as *const c_void),
        (callback::MUTEX_ACQUIRED, locks::acquired as *const c_void),
        (callback::MUTEX_RELEASED, locks::released as *const c_void),
    ];
    for (number, function) in callbacks {
        set(number, function);
    }
    TOLD.store(true, Ordering::Relaxed);
    openmp::runtime_found(RuntimeCode::Llvm, true, lookup as *const () as u64);
    1
}

unsafe extern "C" fn finalize(_data: *mut Data) {}

/// True if LLVM's runtime has us as its tool. Where it has another one, that one shall see what the program does.
#[inline(always)]
pub(crate) fn is_told() -> bool {
    TOLD.load(Ordering::Relaxed)
}

/// A runtime is about to do something for the program. If it has not taken us as its tool by now it never will.
pub(crate) unsafe fn notice(entry: u64) {
    if is_told() {
        return;
    }
    // This starts the runtime if it has not been started, as nearly every entry of it does.
    if let Some(number) = link::in_object_of(entry, c"__kmpc_global_thread_num") {
        let number: unsafe extern "C" fn(*const c_void) -> c_int = core::mem::transmute(number);
        number(core::ptr::null());
    }
    if !is_told() {
        openmp::runtime_found(RuntimeCode::Llvm, false, entry);
    }
}
