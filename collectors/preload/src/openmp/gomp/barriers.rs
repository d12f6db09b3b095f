//! Barriers, and the ends of worksharing constructs, which are barriers too.

use holdup_agent::openmp;
use holdup_trace::openmp::{SyncCode, WorkCode};

use super::copy::{self, original};
use crate::front::fronts;

/// The compiler calls the same function for the barrier after a `single` as for one in the source.
fn kind_of_barrier() -> SyncCode {
    match openmp::work_kind() {
        Some(WorkCode::Single | WorkCode::SingleOther) => SyncCode::WorkBarrier,
        _ => SyncCode::ExplicitBarrier,
    }
}

macro_rules! barriers {
    ($($(#[$doc:meta])* $name:ident => $implementation:ident() -> $result:ty, $kind:expr;)*) => {
        fronts! { $($(#[$doc])* $name => $implementation, "rdi";)* }
        $(
            unsafe extern "C" fn $implementation(caller: u64) -> $result {
                let copy = copy::of(caller);
                let original = original!(copy, $name: fn() -> $result);
                if !copy.tells() {
                    return original();
                }
                let kind = $kind;
                openmp::work_ends();
                openmp::sync_begins(kind, caller);
                let result = original();
                openmp::sync_ends();
                result
            }
        )*
    };
}

barriers! {
    /// Interposes `GOMP_barrier`.
    GOMP_barrier => barrier() -> (), kind_of_barrier();
    /// Interposes `GOMP_barrier_cancel`.
    GOMP_barrier_cancel => barrier_cancel() -> bool, kind_of_barrier();
    /// Interposes `GOMP_loop_end`.
    GOMP_loop_end => loop_end() -> (), SyncCode::WorkBarrier;
    /// Interposes `GOMP_loop_end_cancel`.
    GOMP_loop_end_cancel => loop_end_cancel() -> bool, SyncCode::WorkBarrier;
    /// Interposes `GOMP_sections_end`.
    GOMP_sections_end => sections_end() -> (), SyncCode::WorkBarrier;
    /// Interposes `GOMP_sections_end_cancel`.
    GOMP_sections_end_cancel => sections_end_cancel() -> bool, SyncCode::WorkBarrier;
}

fronts! {
    /// Interposes `GOMP_loop_end_nowait`.
    GOMP_loop_end_nowait => loop_end_nowait, "rdi";
    /// Interposes `GOMP_sections_end_nowait`.
    GOMP_sections_end_nowait => sections_end_nowait, "rdi";
}

unsafe extern "C" fn loop_end_nowait(caller: u64) {
    let copy = copy::of(caller);
    if copy.tells() {
        openmp::work_ends();
    }
    original!(copy, GOMP_loop_end_nowait: fn())();
}

unsafe extern "C" fn sections_end_nowait(caller: u64) {
    let copy = copy::of(caller);
    if copy.tells() {
        openmp::work_ends();
    }
    original!(copy, GOMP_sections_end_nowait: fn())();
}
