//! The processor's counters of one thread.

use std::fs::File;
use std::io::{self, Read};

use perf_event_open_sys::bindings as sys;

use crate::linux;

/// What is counted, in user space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Cycles in which it ran.
    Cycles,
    /// Instructions that it executed.
    Instructions,
    /// Accesses that came to the last level of cache.
    CacheReferences,
    /// Those that it did not have.
    CacheMisses,
}

/// What a counter has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// How many.
    pub count: u64,
    /// How long it was wanted while its thread ran (ns).
    pub enabled_ns: u64,
    /// How long it really counted (ns): less, where there are fewer counters than are wanted at once.
    pub running_ns: u64,
}

impl Reading {
    /// The count for the whole of the time, if what was counted is like the rest; `None` where nothing was counted.
    pub fn whole(&self) -> Option<u64> {
        let part = self.running_ns as f64 / self.enabled_ns.max(1) as f64;
        if part > 0.0 { Some((self.count as f64 / part) as u64) } else { None }
    }
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
        Counter::of(counted, 0)
    }

    /// Opens one for a thread by its kernel id.
    ///
    /// # Errors
    /// Those of `perf_event_open`; a thread of another user's is refused.
    pub fn of_thread(counted: Counted, thread: u32) -> io::Result<Counter> {
        match i32::try_from(thread) {
            Ok(thread @ 1..) => Counter::of(counted, thread),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn of(counted: Counted, thread: i32) -> io::Result<Counter> {
        let config = match counted {
            Counted::Cycles => sys::PERF_COUNT_HW_CPU_CYCLES,
            Counted::Instructions => sys::PERF_COUNT_HW_INSTRUCTIONS,
            Counted::CacheReferences => sys::PERF_COUNT_HW_CACHE_REFERENCES,
            Counted::CacheMisses => sys::PERF_COUNT_HW_CACHE_MISSES,
        };
        let mut raw = sys::perf_event_attr::default();
        raw.size = size_of::<sys::perf_event_attr>() as u32;
        raw.type_ = sys::PERF_TYPE_HARDWARE;
        raw.config = config.into();
        raw.read_format =
            u64::from(sys::PERF_FORMAT_TOTAL_TIME_ENABLED | sys::PERF_FORMAT_TOTAL_TIME_RUNNING);
        raw.set_exclude_kernel(1);
        raw.set_exclude_hv(1);
        Ok(Counter { event: linux::open(raw, thread, -1)?.into() })
    }

    /// What it has counted so far.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn read(&mut self) -> io::Result<u64> {
        Ok(self.reading()?.count)
    }

    /// The same, with how long it counted.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn reading(&mut self) -> io::Result<Reading> {
        let mut words = [[0; 8]; 3];
        self.event.read_exact(words.as_flattened_mut())?;
        let [count, enabled_ns, running_ns] = words.map(u64::from_ne_bytes);
        Ok(Reading { count, enabled_ns, running_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_for_a_part_of_the_time_is_taken_for_the_whole() {
        let reading = Reading { count: 50, enabled_ns: 1000, running_ns: 250 };
        assert_eq!(reading.whole(), Some(200));
        assert_eq!(Reading { running_ns: 0, ..reading }.whole(), None);
    }
}
