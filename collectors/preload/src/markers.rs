//! What the program says about itself: the functions of `holdup.h`, and the task and frame calls of Intel's ITT.

use core::ffi::{CStr, c_char, c_void};

use holdup_agent::marks::Listener;
use holdup_agent::{enter, life, listener, live, marks};
use holdup_trace::instructions::Mark;
use holdup_trace::wire::{self, MarkerCode, NO_STACK, ObjectCode, OutcomeCode};

unsafe fn mark(kind: MarkerCode, label: *const c_char) {
    const LONGEST: usize = 256;
    if !life::recording() {
        return;
    }
    let Some(recorder) = enter() else { return };
    match kind {
        MarkerCode::RegionBegin => marks::tell(Mark::InterestBegin),
        MarkerCode::RegionEnd => marks::tell(Mark::InterestEnd),
        MarkerCode::WorkBegin => marks::unit_begins(label as u64),
        MarkerCode::WorkEnd => marks::tell(Mark::UnitEnd),
        // A wait for nobody knows what.
        MarkerCode::SpinBegin => {
            let (stack, kind) = (NO_STACK, ObjectCode::SpinLock);
            marks::tell(Mark::WaitBegin { object: 0, kind, stack, mutex: 0, shared: false });
        }
        MarkerCode::SpinEnd => {
            marks::tell(Mark::WaitEnd { outcome: OutcomeCode::Granted, kind: ObjectCode::SpinLock });
        }
        MarkerCode::Phase => {}
    }
    let label = if label.is_null() { &[] } else { CStr::from_ptr(label).to_bytes() };
    let label = &label[..label.len().min(LONGEST)];
    recorder.write_text(&wire::marker_head(life::ticks(), kind, label.len()), label);
}

/// 1 while holdup records.
#[unsafe(no_mangle)]
pub extern "C" fn holdup_is_recording() -> i32 {
    i32::from(life::recording())
}

/// The region of interest begins.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdup_region_begin(label: *const c_char) {
    mark(MarkerCode::RegionBegin, label);
}

/// The region of interest ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdup_region_end(label: *const c_char) {
    mark(MarkerCode::RegionEnd, label);
}

/// A new phase of the program begins.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdup_phase(label: *const c_char) {
    mark(MarkerCode::Phase, label);
}

/// A unit of work begins on this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdup_work_begin(label: *const c_char) {
    mark(MarkerCode::WorkBegin, label);
}

/// The unit of work ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdup_work_end() {
    mark(MarkerCode::WorkEnd, core::ptr::null());
}

/// This thread begins to spin: its time from here on is not work.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdup_spin_begin() {
    mark(MarkerCode::SpinBegin, core::ptr::null());
    live::spin_begins();
}

/// The thread goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdup_spin_end() {
    live::spin_ends();
    mark(MarkerCode::SpinEnd, core::ptr::null());
}

/// A thread's criticality, as `holdup.h` declares it.
#[repr(C)]
pub struct ThreadCriticality {
    tid: i32,
    is_active: i32,
    criticality_ns: u64,
    active_ns: u64,
    changes: u64,
}

impl From<live::Figures> for ThreadCriticality {
    fn from(figures: live::Figures) -> ThreadCriticality {
        ThreadCriticality {
            tid: figures.tid as i32,
            is_active: i32::from(figures.is_active),
            criticality_ns: figures.criticality_ns,
            active_ns: figures.active_ns,
            changes: figures.changes,
        }
    }
}

/// Writes what up to `room` threads have had to `out`; gives how many threads there are, or -1 if that is not kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdup_criticality(out: *mut ThreadCriticality, room: i32) -> i32 {
    let room = if out.is_null() { 0 } else { room };
    let mut count: i32 = 0;
    let is_kept = live::all(|figures| {
        if count < room {
            out.add(count as usize).write(figures.into());
        }
        count += 1;
    });
    if is_kept { count } else { -1 }
}

/// Writes what the calling thread has had to `out`; gives 1, or -1 if that is not kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdup_own_criticality(out: *mut ThreadCriticality) -> i32 {
    match live::own() {
        Some(figures) if !out.is_null() => {
            out.write(figures.into());
            1
        }
        _ => -1,
    }
}

/// A program that its compiler made count by itself says that it is ready (`holdup_counts.c`): gives 1 if marks are told to
/// it from now on.
#[unsafe(no_mangle)]
pub extern "C" fn holdup_counts_join(version: u32, listener: Listener) -> i32 {
    i32::from(listener::listen_inside(version, listener))
}

/// The start of ITT's `__itt_string_handle`, as `ittnotify.h` declares it.
#[repr(C)]
struct StringHandle {
    text: *const c_char,
}

/// An id of ITT: passed by value in memory, and not used here.
#[repr(C)]
pub struct IttId {
    parts: [u64; 3],
}

/// ITT: its static part looks for tasks and frames only in a collector that has this, or else `__itt_api_init`.
#[unsafe(no_mangle)]
pub extern "C" fn __itt_api_version() -> *const c_char {
    c"3.0".as_ptr()
}

/// ITT: a task begins on this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __itt_task_begin(
    _domain: *const c_void,
    _task: IttId,
    _parent: IttId,
    name: *const c_void,
) {
    let label = if name.is_null() { core::ptr::null() } else { (*name.cast::<StringHandle>()).text };
    mark(MarkerCode::WorkBegin, label);
}

/// ITT: the innermost task of this thread ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __itt_task_end(_domain: *const c_void) {
    mark(MarkerCode::WorkEnd, core::ptr::null());
}

/// ITT: a frame begins.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __itt_frame_begin_v3(_domain: *const c_void, _id: *const c_void) {
    mark(MarkerCode::Phase, c"frame".as_ptr());
}

/// ITT: a frame ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __itt_frame_end_v3(_domain: *const c_void, _id: *const c_void) {
    mark(MarkerCode::Phase, c"between frames".as_ptr());
}
