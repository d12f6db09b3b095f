//! Words, letters and colours of components; sizes and speedups as people read them.

use holdup_speedup::{Beside, Component, PhaseKind, PhaseStack, Speedup};

use crate::scaling::words::place;
use crate::{Look, numbers};

/// What a component is, in a sentence.
pub(crate) fn meaning(component: Component) -> &'static str {
    match component {
        Component::Serial => "Only one thread can work: outside of parallel phases (Amdahl's law).",
        Component::ExtraWork => {
            "More CPU time for the same work, though each thread has the cache and the memory to itself: copies, splitting, \
             merging, the runtime."
        }
        Component::Cache => "Each thread has a share of the cache only.",
        Component::Memory => {
            "Threads share memory banks and busses. What it costs to keep caches coherent is in it: that is not measured \
             apart."
        }
        Component::Oversubscription => "More threads than cores: threads could run, and others did.",
        Component::Environment => {
            "Threads could run and had no core though there are enough: a CPU quota, other programs."
        }
        Component::Other => "Input and output, sleep, and what none of the others explains.",
        Component::Synchronization => {
            "Threads wait for each other: locks, barriers, conditions, joins, and work that is unevenly spread."
        }
    }
}

/// What it is lost by, as the subject of a sentence.
pub(crate) fn cause(component: Component) -> &'static str {
    match component {
        Component::Serial => "the serial part",
        Component::ExtraWork => "extra work",
        Component::Cache => "sharing the cache",
        Component::Memory => "sharing memory",
        Component::Oversubscription => "having more threads than cores",
        Component::Environment => "the environment",
        Component::Other => "waiting for input, output or time",
        Component::Synchronization => "synchronization",
    }
}

/// What to do about it, as a sentence.
pub(crate) fn advice(component: Component) -> &'static str {
    match component {
        Component::Serial => "Parallelize what one thread does alone: holdup scale says what that is.",
        Component::ExtraWork => {
            "Look for what each thread does again, copies or merges: holdup diff of two recordings shows it (holdup explain \
             extra-work)."
        }
        Component::Cache => {
            "Make what a thread uses at a time smaller (blocks, smaller types), or share what is only read (holdup explain \
             shared-cache)."
        }
        Component::Memory => {
            "Fetch less: use what is in the cache before it goes, pack data that is used together; look for lines that several \
             threads write (holdup explain shared-memory)."
        }
        Component::Oversubscription => "Use no more threads than there are cores.",
        Component::Environment => "Raise the CPU limit, or measure when nothing else runs.",
        Component::Other => "holdup report says what threads wait for besides each other.",
        Component::Synchronization => "holdup report says which lock or barrier, and in which line.",
    }
}

/// The word of JSON for what a phase is.
pub(crate) fn phase_kind(kind: PhaseKind) -> &'static str {
    match kind {
        PhaseKind::Whole => "whole",
        PhaseKind::Region => "region",
        PhaseKind::ForkJoin => "fork-join",
    }
}

/// What a phase is called.
pub(crate) fn phase(phase: &PhaseStack, look: Look) -> String {
    let at = phase.place.as_ref().map(|site| place(site, look));
    match (phase.kind, at) {
        (PhaseKind::Whole, _) => "the whole program".to_owned(),
        (PhaseKind::Region, Some(place)) => format!("parallel region {place}"),
        (PhaseKind::Region, None) => "parallel region without a known place".to_owned(),
        (PhaseKind::ForkJoin, Some(place)) => format!("threads joined in {place}"),
        (PhaseKind::ForkJoin, None) => "threads that are never joined".to_owned(),
    }
}

/// What ran beside a thread, by the word of JSON.
pub(crate) fn beside(beside: Beside) -> &'static str {
    match beside {
        Beside::Nothing => "nothing",
        Beside::Control => "control",
        Beside::Pirate => "pirate",
        Beside::Thief(_) => "thief",
    }
}

/// A speedup, or a part of one: `2.43`, `−0.12`.
pub(crate) fn speedup(speedup: Speedup, look: Look) -> String {
    let told = numbers::factor(speedup.value().abs());
    let is_nothing = told.chars().all(|c| matches!(c, '0' | '.'));
    match (speedup.value() < 0.0 && !is_nothing, look.unicode) {
        (false, _) => told,
        (true, true) => format!("−{told}"),
        (true, false) => format!("-{told}"),
    }
}

/// Bytes in a second: `10.6 GB/s`, in powers of ten as memory is sold.
pub(crate) fn bandwidth(bytes: f64) -> String {
    if bytes == 0.0 {
        "0".to_owned()
    } else if bytes < 1e9 {
        format!("{} MB/s", numbers::figure(bytes / 1e6))
    } else {
        format!("{} GB/s", numbers::figure(bytes / 1e9))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_two_or_three_digits() {
        assert_eq!([bandwidth(10.6e9), bandwidth(850e6)], ["10.6 GB/s", "850 MB/s"]);
    }

    #[test]
    fn what_rounds_to_nothing_has_no_sign() {
        let look = Look::plain(80);
        assert_eq!(speedup(Speedup::of(-0.001), look), "0.00");
        assert_eq!(speedup(Speedup::of(-0.12), look), "−0.12");
    }
}
