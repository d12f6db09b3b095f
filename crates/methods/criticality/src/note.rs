//! What is said of the environment beside the findings.

use holdup_model::Nanos;

/// What a note is about. The words are the `kind` of `--json`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NoteKind {
    /// A CPU quota stopped CPUs, and it is not known what threads lost by that.
    Quota,
    /// Two threads on one core slow each other down.
    Smt,
    /// Some cores are faster than others.
    Hybrid,
    /// CPUs may not run as fast as they could.
    Frequency,
    /// Memory of another node is slower.
    Numa,
    /// Memory had to come back from swap.
    Swap,
    /// A memory limit was reached.
    Memory,
    /// Others used the CPUs.
    Load,
}

impl NoteKind {
    /// The word for it in JSON.
    pub fn word(self) -> &'static str {
        match self {
            NoteKind::Quota => "quota",
            NoteKind::Smt => "smt",
            NoteKind::Hybrid => "hybrid",
            NoteKind::Frequency => "frequency",
            NoteKind::Numa => "numa",
            NoteKind::Swap => "swap",
            NoteKind::Memory => "memory",
            NoteKind::Load => "load",
        }
    }
}

/// One thing of the environment that may have slowed the program down.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnvironmentNote {
    /// Which sort.
    pub kind: NoteKind,
    /// What it is, in a line.
    pub what: String,
    /// What can be done.
    pub hint: String,
    /// How much longer the run took by that; `None` where it is not known.
    pub cost: Option<Nanos>,
}
