//! What a policy that makes threads fast did in a simulated run.

/// A time for which a thread was fast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FastSpan {
    /// Which, by its index.
    pub thread: u32,
    /// The cycle from which on.
    pub begin: u64,
    /// The cycle up to which.
    pub end: u64,
}

/// Joules of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunEnergy {
    /// What cores switched.
    pub dynamic: f64,
    /// What leaked through cores.
    pub leaked: f64,
    /// What is shared on the chip.
    pub uncore: f64,
    /// Memory.
    pub memory: f64,
}

impl RunEnergy {
    /// All of it.
    pub fn joules(&self) -> f64 {
        self.dynamic + self.leaked + self.uncore + self.memory
    }
}

/// What was foreseen in a run of making a thread faster. Cycles, as [`Steered`]'s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThreadProspect {
    /// For how long it was active.
    pub active: u64,
    /// For how long no other thread was.
    pub alone: u64,
    /// What of its active time takes as long at each frequency: waiting for what lies beyond its own caches, and for the
    /// system.
    pub stalled: u64,
    /// Its criticality without that of such stalls.
    pub scaling: f64,
    /// By how much the run would be shorter with its core fast all the time.
    pub saved: f64,
}

/// What a policy did in a run. Cycles are those of the machine's frequency.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steered {
    /// Its name.
    pub policy: String,
    /// The frequency of a fast core, in GHz.
    pub fast: f64,
    /// Cycles of a slice.
    pub slice: u64,
    /// Slices; the last may be shorter.
    pub slices: u64,
    /// When which threads were fast while they were on a core, by their begin.
    pub spans: Vec<FastSpan>,
    /// How often the frequency of a core changed while it had a thread, which then waited.
    pub transitions: u64,
    /// The criticality of each thread, in cycles, computed while the program ran.
    pub criticality: Vec<f64>,
    /// What making each thread faster would give.
    pub prospects: Vec<ThreadProspect>,
    /// Cycles in which no thread was active.
    pub nobody: u64,
    /// How often that was updated, and what it took in nanojoules.
    pub updates: (u64, f64),
    /// What the run took, on machines whose constants are known.
    pub energy: Option<RunEnergy>,
}

impl Steered {
    /// Cycles for which a thread was fast, of all threads.
    pub fn fast_cycles(&self) -> u64 {
        self.spans.iter().map(|span| span.end - span.begin).sum()
    }
}
