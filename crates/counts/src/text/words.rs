//! Words of the format for the model's kinds.

use holdup_model::counts::{BlockExit, CountSource, HardwareKind, SectionKind, TimeUnit};

/// A kind that is written as a word.
pub(super) trait Worded: Copy + PartialEq + 'static {
    /// All kinds with their words.
    const WORDS: &'static [(Self, &'static str)];

    fn of_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| *known == word).map(|(kind, _)| *kind)
    }

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(kind, _)| *kind == self).map_or("", |(_, word)| word)
    }

    /// The words, for an error.
    fn choices() -> String {
        let words: Vec<&str> = Self::WORDS.iter().map(|(_, word)| *word).collect();
        words.join(", ")
    }
}

impl Worded for TimeUnit {
    const WORDS: &'static [(Self, &'static str)] =
        &[(TimeUnit::Instructions, "instructions"), (TimeUnit::Nanos, "ns"), (TimeUnit::Cycles, "cycles")];
}

impl Worded for CountSource {
    const WORDS: &'static [(Self, &'static str)] = &[
        (CountSource::Text, "text"),
        (CountSource::Emulated, "emulated"),
        (CountSource::Instrumented, "instrumented"),
        (CountSource::Simulated, "simulated"),
    ];
}

impl Worded for BlockExit {
    const WORDS: &'static [(Self, &'static str)] = &[
        (BlockExit::Falls, "falls"),
        (BlockExit::Branch, "branch"),
        (BlockExit::Jump, "jump"),
        (BlockExit::IndirectJump, "indirect-jump"),
        (BlockExit::Call, "call"),
        (BlockExit::IndirectCall, "indirect-call"),
        (BlockExit::Return, "return"),
        (BlockExit::System, "system"),
    ];
}

impl Worded for SectionKind {
    const WORDS: &'static [(Self, &'static str)] = &[
        (SectionKind::Barrier, "barrier"),
        (SectionKind::ConditionBarrier, "condition-barrier"),
        (SectionKind::Join, "join"),
        (SectionKind::TeamBarrier, "team-barrier"),
        (SectionKind::Region, "region"),
        (SectionKind::Other, "other"),
    ];
}

impl Worded for HardwareKind {
    const WORDS: &'static [(Self, &'static str)] = &[
        (HardwareKind::Access, "access"),
        (HardwareKind::MissL1, "miss-l1"),
        (HardwareKind::MissL2, "miss-l2"),
        (HardwareKind::MissLast, "miss-last"),
        (HardwareKind::BranchMiss, "branch-miss"),
        (HardwareKind::TlbMiss, "tlb-miss"),
        (HardwareKind::Queueing, "queueing"),
    ];
}
