//! The processor's counters of one thread.

use std::fs::File;
use std::io::{self, Read};

use perf_event_open_sys::bindings as sys;

use crate::linux;

/// What is counted, in user space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Accesses that came to the last level of cache.
    CacheReferences,
    /// Those that it did not have.
    CacheMisses,
}

/// A counter that runs.
#[derive(Debug)]
pub struct Counter {
    event: File,
}

impl Counter {
    /// Opens one for the calling thread, on whichever processor it runs.
    ///
    /// # Errors
    /// Those of `perf_event_open`: most virtual machines have no such counters.
    pub fn open(counted: Counted) -> io::Result<Counter> {
        let config = match counted {
            Counted::CacheReferences => sys::PERF_COUNT_HW_CACHE_REFERENCES,
            Counted::CacheMisses => sys::PERF_COUNT_HW_CACHE_MISSES,
        };
        let mut raw = sys::perf_event_attr::default();
        raw.size = size_of::<sys::perf_event_attr>() as u32;
        raw.type_ = sys::PERF_TYPE_HARDWARE;
        raw.config = config.into();
        raw.set_exclude_kernel(1);
        raw.set_exclude_hv(1);
        Ok(Counter { event: linux::open(raw, 0, -1)?.into() })
    }

    /// What it has counted so far.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn read(&mut self) -> io::Result<u64> {
        let mut count = [0; 8];
        self.event.read_exact(&mut count)?;
        Ok(u64::from_ne_bytes(count))
    }
}
