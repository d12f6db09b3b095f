//! What of a run is held against other runs: things with names, and amounts of each.

use holdup_model::{Arrange, Nanos};

use super::names::{Name, Place};

/// One thing of a run.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Entry {
    pub(crate) name: Name,
    /// What it is called. Hostile.
    pub(crate) told: String,
    /// Where to look.
    pub(crate) place: Option<Place>,
    /// By measure; `None` for what is not known.
    pub(crate) amounts: Vec<Option<i64>>,
}

/// The things of one sort of one run, and what is known of those that are not among them.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Entries {
    /// Most first.
    pub(crate) all: Vec<Entry>,
    /// By measure: how much a thing has that is not among them, at most.
    pub(crate) absent: Vec<Option<i64>>,
}

/// A time as an amount (ns).
pub(crate) fn whole(time: Nanos) -> i64 {
    i64::try_from(time.get()).unwrap_or(i64::MAX)
}

/// Entries of the same name, added up; most first.
pub(crate) fn added_up(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.arrange_by(|a, b| a.name.cmp(&b.name));
    let mut sums: Vec<Entry> = Vec::new();
    for entry in entries {
        match sums.last_mut() {
            Some(sum) if sum.name == entry.name => {
                for (sum, amount) in sum.amounts.iter_mut().zip(entry.amounts) {
                    *sum = sum.zip(amount).map(|(a, b)| a.saturating_add(b));
                }
            }
            _ => sums.push(entry),
        }
    }
    sums.arrange_by(|a, b| b.amounts.cmp(&a.amounts).then_with(|| a.name.cmp(&b.name)));
    sums
}
