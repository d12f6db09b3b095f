//! Words that the schema allows, out of the functions that give them.

use holdup_model::NotAlone::{Asleep, Bound, GivenUp, Spun, Unready, Watchdog, Woken};
use holdup_speedup::Beside::{Control, Nothing, Pirate, Thief};
use holdup_speedup::PhaseKind::{ForkJoin, Region, Whole};

use crate::stack::words;

pub(super) fn phase_kinds() -> [&'static str; 3] {
    [Whole, Region, ForkJoin].map(words::phase_kind)
}

pub(super) fn besides() -> [&'static str; 4] {
    [Nothing, Control, Pirate, Thief(0)].map(words::beside)
}

pub(super) fn reasons() -> [&'static str; 7] {
    [Bound, Asleep, Watchdog, Woken, GivenUp, Spun, Unready].map(|reason| reason.name())
}
