//! Which OpenMP runtimes work in the process.

use core::sync::atomic::{AtomicU64, Ordering};

use holdup_trace::openmp::{Runtime, RuntimeCode};

use crate::{Recorder, life};

/// How many copies of runtimes in a process are told.
const COPIES: usize = 8;
static ADDRESSES: [AtomicU64; COPIES] = [const { AtomicU64::new(0) }; COPIES];
/// Of each the [`RuntimeCode`], and [`TOLD`] or not.
static KINDS: [AtomicU64; COPIES] = [const { AtomicU64::new(0) }; COPIES];
const TOLD: u64 = 1 << 8;

/// A runtime is known from now on by the address of one of its functions or data; `told` is false if nothing can be learnt of its
/// constructs. False if it was known before.
pub(crate) fn add(runtime: RuntimeCode, told: bool, address: u64) -> bool {
    for (known, kind) in ADDRESSES.iter().zip(&KINDS) {
        match known.compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                kind.store(runtime as u64 | if told { TOLD } else { 0 }, Ordering::Relaxed);
                break;
            }
            Err(known) if known == address => return false,
            Err(_) => {}
        }
    }
    true
}

/// Tells of one.
pub(crate) fn tell(recorder: &Recorder, runtime: RuntimeCode, told: bool, address: u64) {
    recorder.write(&Runtime { time: life::ticks(), runtime, told, address }.words());
}

/// Tells all of them again: in the child of a fork, which has a recording of its own.
pub(crate) fn tell_again(recorder: &Recorder) {
    for (known, kind) in ADDRESSES.iter().zip(&KINDS) {
        let (address, kind) = (known.load(Ordering::Relaxed), kind.load(Ordering::Relaxed));
        if address != 0
            && let Some(runtime) = RuntimeCode::from_code(kind as u8)
        {
            tell(recorder, runtime, kind & TOLD != 0, address);
        }
    }
}
