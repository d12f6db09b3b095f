//! The kernel collector in the recorder: a thread that drains the kernel's records, unwinds stacks while the program's
//! memory and files are at hand, looks at threads that are blocked, and hands over words for the recording.

mod images;
mod pace;
mod watcher;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};

use holdup_kernel::{Kind, Linux, Pid, Refusal, Sampling, Wanted, Watch};

pub use pace::MAX_COST;
use watcher::Watcher;

/// CPU time of a thread between two samples of it (ns), at least.
const LEAST_PERIOD: u64 = 4_997_003;
/// On machines with more cores than this, samples are further apart: a thousand a second are enough.
const CORES_AT_LEAST_PERIOD: u64 = 4;
/// How much of a stack is looked at, in bytes.
const STACK_BYTES: u32 = 8 << 10;

/// Room for records on each core, in bytes. What is written goes through the caches of the program: no more than a burst of
/// 200,000 switches a second needs, and what ordinary users get.
const RING_BYTES: usize = 512 << 10;

/// What to ask the kernel for on a machine with so many cores. Who wakes whom costs each switch half as much again, and the
/// library knows it better: it is asked of programs only that the library is not in.
pub(crate) fn wanted(cores: u32, has_library: bool) -> Wanted {
    let factor = u64::from(cores).div_ceil(CORES_AT_LEAST_PERIOD).max(1);
    let sampling = Sampling { period_ns: LEAST_PERIOD * factor, stack_bytes: STACK_BYTES };
    Wanted { samples: Some(sampling), wakings: !has_library, ring_bytes: RING_BYTES, ..Wanted::default() }
}

/// Events of what the calling thread starts; or why there are none, in a sentence with the way out.
pub(crate) fn over_children(cores: u32, has_library: bool) -> Result<Watch, String> {
    Watch::over_children(&Linux, wanted(cores, has_library)).map_err(|error| error.to_string())
}

/// A running collector.
pub(crate) struct Kernel {
    stop: Arc<AtomicBool>,
    words: Receiver<Vec<u64>>,
    /// What is not recorded here and why, a sentence each.
    pub(crate) missing: Vec<String>,
}

impl Kernel {
    /// Begins to drain. With `running`, the process was running before, and begins to be recorded now. `arguments` and
    /// `max_cost` as in [`crate::Options`].
    pub(crate) fn start(
        watch: Watch,
        running: Option<Pid>,
        arguments: bool,
        max_cost: Option<f64>,
    ) -> Kernel {
        let mut missing = missing(&watch);
        let has_switches = !watch.refused().iter().any(|(kind, _)| *kind == Kind::Switches);
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, words) = channel();
        let seen = Arc::clone(&stop);
        let drain = std::thread::Builder::new().name("holdup kernel".into()).spawn(move || {
            let mut watcher = Watcher::new(watch, sender, has_switches, arguments, max_cost);
            if let Some(pid) = running {
                watcher.begin_with(pid);
            }
            watcher.run(&seen);
        });
        if let Err(error) = drain {
            missing.push(format!(
                "the kernel's records were left out: no thread could be had to take them ({error}; ulimit -u)"
            ));
        }
        Kernel { stop, words, missing }
    }

    /// Words that are ready for the recording.
    pub(crate) fn words(&self) -> impl Iterator<Item = Vec<u64>> + '_ {
        self.words.try_iter()
    }

    /// Stops it, and gives the last words.
    pub(crate) fn finish(self) -> Vec<Vec<u64>> {
        self.stop.store(true, Ordering::Release);
        self.words.iter().collect()
    }
}

fn missing(watch: &Watch) -> Vec<String> {
    let sentence = |kind: Kind, refusal: &Refusal| {
        let what = match kind {
            Kind::Switches => "context switches are not recorded",
            Kind::Samples => "what threads execute is not sampled",
            // A luxury: without it no answer is wrong.
            _ => return None,
        };
        let remedy = refusal.remedy.as_ref().map_or_else(String::new, |remedy| format!(" ({remedy})"));
        Some(format!("{what}: {refusal}{remedy}"))
    };
    watch.refused().iter().filter_map(|(kind, refusal)| sentence(*kind, refusal)).collect()
}
