//! What the processor's counters say of a thread while it is the profiled one.

use std::fmt;
use std::sync::Arc;

use holdup_kernel::{Counted, Counter};
use holdup_recording::facts::AloneCounted;

/// Counters of a thread, from when they were opened.
pub trait Counting: Send {
    /// What they have counted: cycles, instructions, misses of the last level and time of the thread; `None` where that
    /// cannot be told. When and where is not theirs to say.
    fn read(&mut self) -> Option<AloneCounted>;
}

/// Opens counters of a thread by its kernel id; `None` where there are none.
type Opener = dyn Fn(u32) -> Option<Box<dyn Counting>> + Send + Sync;

/// Where counters come from.
#[derive(Clone)]
pub struct CounterSource(Arc<Opener>);

impl fmt::Debug for CounterSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CounterSource")
    }
}

impl CounterSource {
    /// Those that `open` gives.
    pub fn new(open: impl Fn(u32) -> Option<Box<dyn Counting>> + Send + Sync + 'static) -> CounterSource {
        CounterSource(Arc::new(open))
    }

    /// The processor's. Most virtual machines have none.
    pub fn hardware() -> CounterSource {
        CounterSource::new(|thread| {
            let open = |counted| Counter::of_thread(counted, thread).ok();
            let (cycles, instructions) = (open(Counted::Cycles)?, open(Counted::Instructions)?);
            let misses = open(Counted::CacheMisses);
            Some(Box::new(Hardware { cycles, instructions, misses }) as Box<dyn Counting>)
        })
    }

    pub(super) fn open(&self, thread: u32) -> Option<Box<dyn Counting>> {
        (self.0)(thread)
    }
}

struct Hardware {
    cycles: Counter,
    instructions: Counter,
    misses: Option<Counter>,
}

impl Counting for Hardware {
    fn read(&mut self) -> Option<AloneCounted> {
        let cycles = self.cycles.reading().ok()?;
        Some(AloneCounted {
            cycles: cycles.whole()?,
            instructions: self.instructions.reading().ok()?.whole()?,
            misses: self.misses.as_mut().and_then(|misses| misses.reading().ok()?.whole()),
            time_ns: cycles.enabled_ns,
            ..AloneCounted::default()
        })
    }
}
