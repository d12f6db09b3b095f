//! The shape of `holdup policies --json`, of which `docs/json-schema/policies.schema.json` is made.

use serde::Serialize;

/// The version of the JSON that [`policies_json`](crate::policies_json) gives. It grows only where a member changes
/// its meaning; members may be added at any time.
pub const POLICIES_SCHEMA: u32 = 1;

/// What making threads fast while a program runs would give, under every policy. Members may be added at any time; a member
/// that changes its meaning raises `schema`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(title = "holdup policies --json"))]
pub(crate) struct Policies<'a> {
    /// The version of this schema.
    #[cfg_attr(test, schemars(extend("const" = POLICIES_SCHEMA)))]
    pub(crate) schema: u32,
    /// The version of holdup.
    pub(crate) holdup: &'static str,
    /// The simulated machine.
    pub(crate) machine: &'a str,
    /// The machine's frequency.
    pub(crate) frequency_ghz: f64,
    /// The frequency of a fast core.
    pub(crate) fast_ghz: f64,
    /// Threshold of Algorithm 1.
    pub(crate) alpha: f64,
    /// Threshold of Algorithm 1.
    pub(crate) beta: f64,
    /// How many threads are fast at once, at most.
    pub(crate) fast_threads: u32,
    /// Each program, with each number of threads.
    pub(crate) programs: Vec<Program<'a>>,
    /// By number of threads.
    pub(crate) means: Vec<Means>,
    /// What the reader must know.
    pub(crate) notes: &'a [String],
}

/// What policies give one program.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Program<'a> {
    /// The recording's name.
    pub(crate) name: &'a str,
    /// The command line.
    pub(crate) command: &'a [String],
    /// How many threads that execute at least a twentieth of what the busiest one does work at once, at most.
    pub(crate) threads_that_work: u32,
    /// Simulated cores.
    pub(crate) cores: u32,
    /// Nanoseconds from one decision to the next.
    pub(crate) slice_ns: f64,
    /// Whether slice_ns is 10 ms.
    pub(crate) slice_is_the_papers: bool,
    /// The run under each policy.
    pub(crate) policies: Vec<Policy<'a>>,
    /// Each thread.
    pub(crate) threads: Vec<Thread<'a>>,
    /// The number of the most critical thread.
    pub(crate) most_critical: Option<u32>,
    /// The number of the thread for which most is predicted.
    pub(crate) predicted_best: Option<u32>,
    /// The number of the thread with which the simulated run is shortest.
    pub(crate) simulated_best: Option<u32>,
    /// Why the most critical thread is not the best one: it waits for memory, or others hide it.
    pub(crate) better_because: Option<BetterBecause>,
    /// The most critical threads, accelerated one by one; empty without --validate.
    pub(crate) validation: Vec<Validated>,
    /// Null without --sweep.
    pub(crate) sweep: Option<Sweep<'a>>,
    /// What the reader must know of this program.
    pub(crate) notes: &'a [String],
}

/// Why another thread is the better one to make fast.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum BetterBecause {
    Memory,
    Hidden,
}

/// The run under one policy.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Policy<'a> {
    /// The policy.
    #[cfg_attr(test, schemars(extend("enum" = ["none", "all", "offline", "single", "tcp", "bis", "dynamic"])))]
    pub(crate) policy: &'a str,
    /// The numbers of the threads that are fast for the whole run; empty where the policy decides while the program runs.
    pub(crate) chosen: &'a [u32],
    /// Simulated seconds.
    pub(crate) seconds: f64,
    /// Against the run in which nobody is fast.
    pub(crate) speedup: Option<f64>,
    /// For how much of the run a thread was fast, summed over threads.
    pub(crate) fast_share: f64,
    /// How often the frequency of a core changed while it had a thread.
    pub(crate) transitions: u64,
    /// Slices; the last may be shorter.
    pub(crate) slices: u64,
    /// Updates of the unit that computes criticality.
    pub(crate) updates: u64,
    /// What the divisions and additions of that unit took, in nanojoules.
    pub(crate) update_energy_nj: f64,
    /// Null on machines without constants.
    pub(crate) energy: Option<Energy>,
}

/// What a run took, in joules.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Energy {
    /// All of it.
    pub(crate) joules: f64,
    /// What cores switched, in joules.
    pub(crate) dynamic: f64,
    /// What leaked through cores, in joules.
    pub(crate) leaked: f64,
    /// What cores share, in joules.
    pub(crate) uncore: f64,
    /// Memory, in joules.
    pub(crate) memory: f64,
    /// Against the run in which nobody is fast.
    pub(crate) relative: Option<f64>,
    /// Energy times delay against the run in which nobody is fast.
    pub(crate) delay_relative: Option<f64>,
    /// Energy times delay against the run in which all cores are fast.
    pub(crate) delay_relative_to_all: Option<f64>,
}

/// A thread, and what making it fast gives.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Thread<'a> {
    /// Its number in the recorded process.
    pub(crate) thread: u32,
    /// Its name, as the program gave it.
    pub(crate) name: Option<&'a str>,
    /// Its criticality as a share of the run (paper 4, Eq. 1), with nobody fast.
    pub(crate) criticality: f64,
    /// Its criticality without what it waits for memory.
    pub(crate) criticality_without_memory: f64,
    /// For how much of the run all others wait and are not being woken.
    pub(crate) alone: f64,
    /// How many times as fast the program would be if `alone` were divided among all threads that work.
    pub(crate) divided_speedup: f64,
    /// With this thread fast: memory stalls held constant, where no other thread hides it.
    pub(crate) predicted_speedup: f64,
    /// With this thread fast, simulated; null for threads that do next to nothing.
    pub(crate) simulated_speedup: Option<f64>,
}

/// The run with one thread accelerated.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Validated {
    /// The thread's number.
    pub(crate) thread: u32,
    /// The thread's frequency.
    pub(crate) ghz: f64,
    /// Of the program.
    pub(crate) speedup: f64,
}

/// The run with one thread at frequencies that rise.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Sweep<'a> {
    /// The thread's number.
    pub(crate) thread: u32,
    pub(crate) kind: SweepKind,
    /// Above this frequency nothing or less is gained.
    pub(crate) knee_ghz: Option<f64>,
    /// From the machine's frequency on.
    pub(crate) points: Vec<SweepPoint<'a>>,
}

/// The kind of criticality by the curve's shape (paper 4, section 5.3).
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum SweepKind {
    None,
    InterThread,
    Sequential,
    Mixed,
}

/// The run with the thread at one frequency.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SweepPoint<'a> {
    /// The thread's frequency.
    pub(crate) ghz: f64,
    /// Of the program.
    pub(crate) speedup: f64,
    /// Of each thread, as shares of this run, in the order of threads.
    pub(crate) criticality: &'a [f64],
}

/// Programs with the same number of threads together.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Means {
    /// The number of threads that work.
    pub(crate) threads: u32,
    /// How many programs have it.
    pub(crate) programs: usize,
    /// Each policy but none.
    pub(crate) policies: Vec<PolicyMean>,
    /// What the paper has over its own programs, for 8 and 16 threads.
    pub(crate) paper: Option<PaperMeans>,
}

/// What a policy gives on the average.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PolicyMean {
    /// The policy.
    pub(crate) policy: &'static str,
    /// Mean of speedup - 1.
    pub(crate) gain: Option<f64>,
    /// Mean of the relative energies.
    pub(crate) relative_energy: Option<f64>,
}

/// The means of the paper.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PaperMeans {
    /// Mean of speedup - 1 with the policy dynamic.
    pub(crate) dynamic_gain: f64,
    /// Mean of speedup - 1 with the policy bis.
    pub(crate) bis_gain: f64,
    /// Mean of the relative energies with the policy dynamic.
    pub(crate) dynamic_relative_energy: f64,
    /// Mean of the relative energies with all threads fast.
    pub(crate) all_relative_energy: f64,
}
