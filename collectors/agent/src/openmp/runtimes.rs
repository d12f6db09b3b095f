//! Which OpenMP runtimes work in the process.

use core::sync::atomic::{AtomicU64, Ordering};

use holdup_trace::openmp::{Runtime, RuntimeCode};

use crate::{Recorder, enter, life};

/// How many copies of runtimes in a process are told.
const COPIES: usize = 8;
static ADDRESSES: [AtomicU64; COPIES] = [const { AtomicU64::new(0) }; COPIES];
/// Of each the [`RuntimeCode`], and [`TOLD`] or not.
static KINDS: [AtomicU64; COPIES] = [const { AtomicU64::new(0) }; COPIES];
const TOLD: u64 = 1 << 8;

/// An OpenMP runtime begins to work in the process, known by the address of one of its functions or data. `told` is
/// false if nothing can be learnt of its constructs. To be said once for each copy.
pub fn runtime_found(runtime: RuntimeCode, told: bool, address: u64) {
    for (known, kind) in ADDRESSES.iter().zip(&KINDS) {
        match known.compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                kind.store(runtime as u64 | if told { TOLD } else { 0 }, Ordering::Relaxed);
                break;
            }
            Err(known) if known == address => return,
            Err(_) => {}
        }
    }
    if let Some(recorder) = enter() {
        recorder.write(&Runtime { time: life::ticks(), runtime, told, address }.words());
    }
}

/// Tells all of them again: in the child of a fork, which has a recording of its own.
pub(crate) fn tell_again(recorder: &Recorder) {
    for (known, kind) in ADDRESSES.iter().zip(&KINDS) {
        let (address, kind) = (known.load(Ordering::Relaxed), kind.load(Ordering::Relaxed));
        if address != 0
            && let Some(runtime) = RuntimeCode::from_code(kind as u8)
        {
            let told = kind & TOLD != 0;
            recorder.write(&Runtime { time: life::ticks(), runtime, told, address }.words());
        }
    }
}
