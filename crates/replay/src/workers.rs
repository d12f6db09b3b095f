//! The threads that replays share.

use std::sync::Once;

use rayon::ThreadPoolBuilder;

/// Sees to it that there are some: where no more threads can be had, the one that asks is the only one.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if ThreadPoolBuilder::new().build_global().is_err() {
            // Fails too where there are threads already: then nothing was missing.
            let _ = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
        }
    });
}
