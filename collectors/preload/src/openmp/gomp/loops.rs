//! Loops whose iterations the runtime deals out.

use core::ffi::{c_long, c_uint, c_ulonglong, c_void};

use holdup_agent::{openmp, thread};
use holdup_trace::openmp::WorkCode;
use holdup_trace::wire::UNKNOWN;

use super::copy::{self, original};
use super::stub::{caller, stubs};
use crate::front::fronts;

/// The iterations of a loop.
#[derive(Clone, Copy)]
pub(crate) struct Iterations {
    first: u64,
    step: u64,
    count: u64,
    chunk: u32,
}

impl Iterations {
    pub(crate) fn signed(start: c_long, end: c_long, step: c_long, chunk: c_long) -> Iterations {
        let span = if step < 0 { start.wrapping_sub(end) } else { end.wrapping_sub(start) };
        let count = if span <= 0 { 0 } else { (span as u64).div_ceil(step.unsigned_abs().max(1)) };
        let chunk = u32::try_from(chunk).unwrap_or(u32::MAX);
        Iterations { first: start as u64, step: step as u64, count, chunk }
    }

    fn unsigned(up: bool, start: u64, end: u64, step: u64, chunk: u64) -> Iterations {
        let (span, by) =
            if up { (end.checked_sub(start), step) } else { (start.checked_sub(end), step.wrapping_neg()) };
        let count = span.unwrap_or(0).div_ceil(by.max(1));
        Iterations { first: start, step, count, chunk: u32::try_from(chunk).unwrap_or(u32::MAX) }
    }

    /// Of the outermost of the loops that depend on each other, which is what is dealt.
    fn outermost(count: u64, chunk: u64) -> Iterations {
        Iterations { first: 0, step: 1, count, chunk: u32::try_from(chunk).unwrap_or(u32::MAX) }
    }
}

/// The schedule of a loop whose schedule the environment says.
pub(crate) fn code_of_schedule() -> WorkCode {
    WorkCode::OtherLoop
}

/// As the newer entry points get it (`enum gomp_schedule_type`); the upper bit says only that chunks come in order.
fn code_of(schedule: c_long) -> WorkCode {
    match schedule & 0x7fff_ffff {
        1 => WorkCode::StaticLoop,
        2 => WorkCode::DynamicLoop,
        3 => WorkCode::GuidedLoop,
        _ => WorkCode::OtherLoop,
    }
}

/// The calling thread enters a loop.
pub(crate) fn begin_loop(kind: WorkCode, caller: u64, iterations: Iterations) {
    let standing = &thread::this().openmp;
    standing.loop_first.set(iterations.first);
    standing.loop_step.set(iterations.step);
    let count = if iterations.count == 0 { UNKNOWN } else { iterations.count };
    openmp::work_begins(kind, caller, count, iterations.chunk);
}

/// What the runtime has dealt: from `start` up to, not including, `end`. Both are counted with the loop's own step.
#[inline]
fn dealt(got: bool, start: u64, end: u64) {
    if !got {
        return openmp::work_ends();
    }
    let standing = &thread::this().openmp;
    let step = standing.loop_step.get() as i64;
    let (from, length) =
        ((start.wrapping_sub(standing.loop_first.get())) as i64, end.wrapping_sub(start) as i64);
    if step == 0 {
        return openmp::chunk_begins(start, 0);
    }
    // The end of the last chunk is the loop's, not always a whole step behind its last iteration.
    let (first, rest) = (from.wrapping_div(step), length.wrapping_rem(step));
    let count = length.wrapping_div(step).wrapping_add(i64::from(rest != 0));
    openmp::chunk_begins(first.max(0) as u64, count.max(0) as u64);
}

macro_rules! starts {
    ($($(#[$doc:meta])* $name:ident => $implementation:ident($($argument:ident: $type:ty),*)
        [$from:ident, $to:ident] $schedule:expr, $iterations:expr;)*) => {
        stubs! { $($(#[$doc])* $name => $implementation;)* }
        $(
            #[allow(clippy::too_many_arguments, reason = "it is the runtime's function")]
            #[allow(unused_variables, reason = "not all of them matter here")]
            unsafe extern "C" fn $implementation($($argument: $type),*) -> bool {
                let caller = caller();
                let copy = copy::of(caller);
                let original = original!(copy, $name: fn($($type),*) -> bool);
                if !copy.tells() {
                    return original($($argument),*);
                }
                begin_loop($schedule, caller, $iterations);
                let got = original($($argument),*);
                // With no place for the bounds the call only says that there is a loop.
                if !$from.is_null() {
                    let (start, end) = if got { (*$from, *$to) } else { (0, 0) };
                    dealt(got, start as u64, end as u64);
                }
                got
            }
        )*
    };
}

type Long = *mut c_long;
type Ull = *mut c_ulonglong;

macro_rules! signed_starts {
    ($($(#[$doc:meta])* $name:ident => $implementation:ident $schedule:expr;)*) => {
        starts! { $($(#[$doc])* $name => $implementation(
            start: c_long, end: c_long, step: c_long, chunk: c_long, from: Long, to: Long
        ) [from, to] $schedule, Iterations::signed(start, end, step, chunk);)* }
    };
}

macro_rules! signed_runtime_starts {
    ($($(#[$doc:meta])* $name:ident => $implementation:ident;)*) => {
        starts! { $($(#[$doc])* $name => $implementation(
            start: c_long, end: c_long, step: c_long, from: Long, to: Long
        ) [from, to] code_of_schedule(), Iterations::signed(start, end, step, 0);)* }
    };
}

macro_rules! unsigned_starts {
    ($($(#[$doc:meta])* $name:ident => $implementation:ident $schedule:expr;)*) => {
        starts! { $($(#[$doc])* $name => $implementation(
            up: bool, start: c_ulonglong, end: c_ulonglong, step: c_ulonglong, chunk: c_ulonglong, from: Ull, to: Ull
        ) [from, to] $schedule, Iterations::unsigned(up, start, end, step, chunk);)* }
    };
}

macro_rules! unsigned_runtime_starts {
    ($($(#[$doc:meta])* $name:ident => $implementation:ident;)*) => {
        starts! { $($(#[$doc])* $name => $implementation(
            up: bool, start: c_ulonglong, end: c_ulonglong, step: c_ulonglong, from: Ull, to: Ull
        ) [from, to] code_of_schedule(), Iterations::unsigned(up, start, end, step, 0);)* }
    };
}

signed_starts! {
    /// Interposes the function of this name, as all of these do.
    GOMP_loop_static_start => static_start WorkCode::StaticLoop;
    /// See above.
    GOMP_loop_dynamic_start => dynamic_start WorkCode::DynamicLoop;
    /// See above.
    GOMP_loop_guided_start => guided_start WorkCode::GuidedLoop;
    /// See above.
    GOMP_loop_nonmonotonic_dynamic_start => nonmonotonic_dynamic_start WorkCode::DynamicLoop;
    /// See above.
    GOMP_loop_nonmonotonic_guided_start => nonmonotonic_guided_start WorkCode::GuidedLoop;
    /// See above.
    GOMP_loop_ordered_static_start => ordered_static_start WorkCode::StaticLoop;
    /// See above.
    GOMP_loop_ordered_dynamic_start => ordered_dynamic_start WorkCode::DynamicLoop;
    /// See above.
    GOMP_loop_ordered_guided_start => ordered_guided_start WorkCode::GuidedLoop;
}

signed_runtime_starts! {
    /// See above.
    GOMP_loop_runtime_start => runtime_start;
    /// See above.
    GOMP_loop_nonmonotonic_runtime_start => nonmonotonic_runtime_start;
    /// See above.
    GOMP_loop_maybe_nonmonotonic_runtime_start => maybe_nonmonotonic_runtime_start;
    /// See above.
    GOMP_loop_ordered_runtime_start => ordered_runtime_start;
}

unsigned_starts! {
    /// See above.
    GOMP_loop_ull_static_start => ull_static_start WorkCode::StaticLoop;
    /// See above.
    GOMP_loop_ull_dynamic_start => ull_dynamic_start WorkCode::DynamicLoop;
    /// See above.
    GOMP_loop_ull_guided_start => ull_guided_start WorkCode::GuidedLoop;
    /// See above.
    GOMP_loop_ull_nonmonotonic_dynamic_start => ull_nonmonotonic_dynamic_start WorkCode::DynamicLoop;
    /// See above.
    GOMP_loop_ull_nonmonotonic_guided_start => ull_nonmonotonic_guided_start WorkCode::GuidedLoop;
    /// See above.
    GOMP_loop_ull_ordered_static_start => ull_ordered_static_start WorkCode::StaticLoop;
    /// See above.
    GOMP_loop_ull_ordered_dynamic_start => ull_ordered_dynamic_start WorkCode::DynamicLoop;
    /// See above.
    GOMP_loop_ull_ordered_guided_start => ull_ordered_guided_start WorkCode::GuidedLoop;
}

unsigned_runtime_starts! {
    /// See above.
    GOMP_loop_ull_runtime_start => ull_runtime_start;
    /// See above.
    GOMP_loop_ull_nonmonotonic_runtime_start => ull_nonmonotonic_runtime_start;
    /// See above.
    GOMP_loop_ull_maybe_nonmonotonic_runtime_start => ull_maybe_nonmonotonic_runtime_start;
    /// See above.
    GOMP_loop_ull_ordered_runtime_start => ull_ordered_runtime_start;
}

/// Loops that depend on each other's iterations, of which only the outermost is dealt.
macro_rules! doacross_starts {
    ($($(#[$doc:meta])* $name:ident => $implementation:ident($count:ty, $bounds:ty) $schedule:expr;)*) => {
        starts! { $($(#[$doc])* $name => $implementation(
            counters: c_uint, counts: *const $count, chunk: $count, from: $bounds, to: $bounds
        ) [from, to] $schedule, Iterations::outermost(*counts as u64, chunk as u64);)* }
    };
}

doacross_starts! {
    /// See above.
    GOMP_loop_doacross_static_start => doacross_static_start(c_long, Long) WorkCode::StaticLoop;
    /// See above.
    GOMP_loop_doacross_dynamic_start => doacross_dynamic_start(c_long, Long) WorkCode::DynamicLoop;
    /// See above.
    GOMP_loop_doacross_guided_start => doacross_guided_start(c_long, Long) WorkCode::GuidedLoop;
    /// See above.
    GOMP_loop_ull_doacross_static_start => ull_doacross_static_start(c_ulonglong, Ull) WorkCode::StaticLoop;
    /// See above.
    GOMP_loop_ull_doacross_dynamic_start => ull_doacross_dynamic_start(c_ulonglong, Ull) WorkCode::DynamicLoop;
    /// See above.
    GOMP_loop_ull_doacross_guided_start => ull_doacross_guided_start(c_ulonglong, Ull) WorkCode::GuidedLoop;
}

type Memory = *mut *mut c_void;

starts! {
    /// See above.
    GOMP_loop_doacross_runtime_start => doacross_runtime_start(
        counters: c_uint, counts: *const c_long, from: Long, to: Long
    ) [from, to] code_of_schedule(), Iterations::outermost(*counts as u64, 0);
    /// See above.
    GOMP_loop_ull_doacross_runtime_start => ull_doacross_runtime_start(
        counters: c_uint, counts: *const c_ulonglong, from: Ull, to: Ull
    ) [from, to] code_of_schedule(), Iterations::outermost(*counts, 0);
    /// See above.
    GOMP_loop_start => start(
        start: c_long, end: c_long, step: c_long, schedule: c_long, chunk: c_long, from: Long, to: Long,
        reductions: *mut usize, memory: Memory
    ) [from, to] code_of(schedule), Iterations::signed(start, end, step, chunk);
    /// See above.
    GOMP_loop_ordered_start => ordered_start(
        start: c_long, end: c_long, step: c_long, schedule: c_long, chunk: c_long, from: Long, to: Long,
        reductions: *mut usize, memory: Memory
    ) [from, to] code_of(schedule), Iterations::signed(start, end, step, chunk);
    /// See above.
    GOMP_loop_doacross_start => doacross_start(
        counters: c_uint, counts: *const c_long, schedule: c_long, chunk: c_long, from: Long, to: Long,
        reductions: *mut usize, memory: Memory
    ) [from, to] code_of(schedule), Iterations::outermost(*counts as u64, chunk as u64);
    /// See above.
    GOMP_loop_ull_start => ull_start(
        up: bool, start: c_ulonglong, end: c_ulonglong, step: c_ulonglong, schedule: c_long, chunk: c_ulonglong,
        from: Ull, to: Ull, reductions: *mut usize, memory: Memory
    ) [from, to] code_of(schedule), Iterations::unsigned(up, start, end, step, chunk);
    /// See above.
    GOMP_loop_ull_ordered_start => ull_ordered_start(
        up: bool, start: c_ulonglong, end: c_ulonglong, step: c_ulonglong, schedule: c_long, chunk: c_ulonglong,
        from: Ull, to: Ull, reductions: *mut usize, memory: Memory
    ) [from, to] code_of(schedule), Iterations::unsigned(up, start, end, step, chunk);
    /// See above.
    GOMP_loop_ull_doacross_start => ull_doacross_start(
        counters: c_uint, counts: *const c_ulonglong, schedule: c_long, chunk: c_ulonglong, from: Ull, to: Ull,
        reductions: *mut usize, memory: Memory
    ) [from, to] code_of(schedule), Iterations::outermost(*counts, chunk);
}

macro_rules! nexts {
    ($($(#[$doc:meta])* $name:ident => $implementation:ident($bounds:ty);)*) => {
        fronts! { $($(#[$doc])* $name => $implementation, "rdx";)* }
        $(
            unsafe extern "C" fn $implementation(from: $bounds, to: $bounds, caller: u64) -> bool {
                let copy = copy::of(caller);
                let original = original!(copy, $name: fn($bounds, $bounds) -> bool);
                if !copy.tells() || !openmp::is_dealt_to() {
                    return original(from, to);
                }
                openmp::chunk_ends();
                let got = original(from, to);
                let (start, end) = if got { (*from, *to) } else { (0, 0) };
                dealt(got, start as u64, end as u64);
                got
            }
        )*
    };
}

nexts! {
    /// See above.
    GOMP_loop_static_next => static_next(Long);
    /// See above.
    GOMP_loop_dynamic_next => dynamic_next(Long);
    /// See above.
    GOMP_loop_guided_next => guided_next(Long);
    /// See above.
    GOMP_loop_runtime_next => runtime_next(Long);
    /// See above.
    GOMP_loop_nonmonotonic_dynamic_next => nonmonotonic_dynamic_next(Long);
    /// See above.
    GOMP_loop_nonmonotonic_guided_next => nonmonotonic_guided_next(Long);
    /// See above.
    GOMP_loop_nonmonotonic_runtime_next => nonmonotonic_runtime_next(Long);
    /// See above.
    GOMP_loop_maybe_nonmonotonic_runtime_next => maybe_nonmonotonic_runtime_next(Long);
    /// See above.
    GOMP_loop_ordered_static_next => ordered_static_next(Long);
    /// See above.
    GOMP_loop_ordered_dynamic_next => ordered_dynamic_next(Long);
    /// See above.
    GOMP_loop_ordered_guided_next => ordered_guided_next(Long);
    /// See above.
    GOMP_loop_ordered_runtime_next => ordered_runtime_next(Long);
    /// See above.
    GOMP_loop_ull_static_next => ull_static_next(Ull);
    /// See above.
    GOMP_loop_ull_dynamic_next => ull_dynamic_next(Ull);
    /// See above.
    GOMP_loop_ull_guided_next => ull_guided_next(Ull);
    /// See above.
    GOMP_loop_ull_runtime_next => ull_runtime_next(Ull);
    /// See above.
    GOMP_loop_ull_nonmonotonic_dynamic_next => ull_nonmonotonic_dynamic_next(Ull);
    /// See above.
    GOMP_loop_ull_nonmonotonic_guided_next => ull_nonmonotonic_guided_next(Ull);
    /// See above.
    GOMP_loop_ull_nonmonotonic_runtime_next => ull_nonmonotonic_runtime_next(Ull);
    /// See above.
    GOMP_loop_ull_maybe_nonmonotonic_runtime_next => ull_maybe_nonmonotonic_runtime_next(Ull);
    /// See above.
    GOMP_loop_ull_ordered_static_next => ull_ordered_static_next(Ull);
    /// See above.
    GOMP_loop_ull_ordered_dynamic_next => ull_ordered_dynamic_next(Ull);
    /// See above.
    GOMP_loop_ull_ordered_guided_next => ull_ordered_guided_next(Ull);
    /// See above.
    GOMP_loop_ull_ordered_runtime_next => ull_ordered_runtime_next(Ull);
}
