//! A sweep's table of components: a row for each component of each stack.

use holdup_model::Arrange;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use holdup_characterize::Labels;

use super::labels::{LABELS, set};
use super::rows::{Found, Gathered, Kind};
use super::stacks::StackKind;

/// The stacks of such a table.
#[derive(Default)]
pub(super) struct Components {
    /// With the order in which they came.
    stacks: BTreeMap<StackOfSweep, (usize, Vec<(String, f64)>)>,
}

/// Which stack of a sweep: its kind, the run's labels, on how many cores, and which of its repetitions.
type StackOfSweep = (String, Labels, Option<u32>, String);

impl Components {
    /// Whether a table with these columns is one.
    pub(super) fn are_in(names: &[String]) -> bool {
        ["stack", "component", "share"].iter().all(|name| names.iter().any(|known| known == name))
    }

    /// Takes a row: the columns' names with their values, empty where there is none.
    pub(super) fn push<'a>(&mut self, row: impl Iterator<Item = (&'a str, Cow<'a, str>)>) {
        let (mut labels, mut repeat, mut cores) = (Labels::default(), String::new(), None);
        let (mut stack, mut component, mut share) = (String::new(), String::new(), f64::NAN);
        for (name, text) in row {
            match name {
                "repeat" => repeat = text.into_owned(),
                "cores" => cores = text.parse().ok(),
                "stack" => stack = text.into_owned(),
                "component" => component = text.into_owned(),
                "share" => share = text.parse().unwrap_or(f64::NAN),
                other => {
                    if let Some(label) = LABELS.iter().position(|label| *label == other) {
                        set(&mut labels, label, &text);
                    }
                }
            }
        }
        let number = self.stacks.len();
        let rows = self.stacks.entry((stack, labels, cores, repeat)).or_insert((number, Vec::new()));
        rows.1.push((component, share));
    }

    /// The stacks of the kind that was asked for, or else of the first kind that is there, cycles before losses. The error is what
    /// is wrong with the table.
    pub(super) fn gathered(self, of: Option<StackKind>) -> Result<Gathered, String> {
        let stacks = self.stacks;
        let kinds = [StackKind::Cycles, StackKind::Losses, StackKind::Criticality, StackKind::Speedup];
        let has = |kind: &StackKind| stacks.keys().any(|(stack, ..)| stack == of_sweep(*kind));
        let kind = match of {
            Some(kind) => Some(kind).filter(has),
            None => kinds.into_iter().find(has),
        };
        let Some(kind) = kind else {
            return Err("it has no such stacks; --of chooses others".to_owned());
        };
        let mut gathered = Gathered::new(Kind::Stack(kind));
        gathered.repeated = true;
        let mut found: Vec<_> =
            stacks.into_iter().filter(|((stack, ..), _)| stack == of_sweep(kind)).collect();
        found.arrange_by_key(|(_, (number, _))| *number);
        let numbers: BTreeSet<u32> = found.iter().filter_map(|((_, _, cores, _), _)| *cores).collect();
        for ((_, mut labels, cores, _), (_, parts)) in found {
            match (labels.threads, cores) {
                (None, cores) => labels.threads = cores,
                // Threads on another number of cores are on another machine, where there are several.
                (Some(threads), Some(cores)) if threads != cores && numbers.len() > 1 => {
                    let machine = labels.machine.unwrap_or_default();
                    labels.machine = Some(format!("{machine} with {cores} cores").trim_start().to_owned());
                }
                _ => {}
            }
            gathered.push(Found { labels, parts });
        }
        Ok(gathered)
    }
}

/// What the sweep calls a kind of stack.
fn of_sweep(kind: StackKind) -> &'static str {
    match kind {
        StackKind::Cycles => "cycles",
        StackKind::Losses => "loss",
        StackKind::Criticality => "criticality",
        StackKind::Speedup => "speedup",
    }
}
