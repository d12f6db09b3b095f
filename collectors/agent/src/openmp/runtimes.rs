//! Which OpenMP runtimes work in the process, as the front-ends find them.

use holdup_trace::openmp::RuntimeCode;

use crate::{enter, runtimes};

/// An OpenMP runtime begins to work in the process, known by the address of one of its functions or data. `told` is
/// false if nothing can be learnt of its constructs. To be said once for each copy.
pub fn runtime_found(runtime: RuntimeCode, told: bool, address: u64) {
    if runtimes::add(runtime, told, address)
        && let Some(recorder) = enter()
    {
        runtimes::tell(&recorder, runtime, told, address);
    }
}
