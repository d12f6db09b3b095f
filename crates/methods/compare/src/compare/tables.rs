//! The things of several runs on two sides, each with what changed.

use holdup_model::Arrange;

use super::amounts::{Change, Scale};
use super::entries::Entry;
use super::ledger::{Ledger, Subject};
use super::matching::pairs;
use super::names::{Name, Place};

/// On which sides a thing is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// On both.
    Both,
    /// Only after.
    New,
    /// Only before.
    Gone,
}

/// One thing, and what changed of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The sort of thing: `mutex`, `imbalance`, `thread`.
    pub sort: &'static str,
    /// What it is called; as after where it is there. Hostile.
    pub what: String,
    /// Where it was before.
    pub place_before: Option<Place>,
    /// Where it is after.
    pub place_after: Option<Place>,
    /// On which sides it is.
    pub presence: Presence,
    /// In how many runs before and after it was.
    pub runs: (usize, usize),
    /// In the order of [`Subject::measures`]; `None` where a run does not tell.
    pub changes: Vec<Option<Change>>,
}

impl Row {
    /// The change of what its table is ranked by.
    pub fn change(&self) -> Option<Change> {
        self.changes.first().copied().flatten()
    }
}

/// What changed of the things of one sort, the greatest differences first.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Which sort.
    pub subject: Subject,
    /// The things; all that were on either side.
    pub rows: Vec<Row>,
}

/// A thing of the runs of one side: its entry in each run.
pub(crate) struct Merged<'a> {
    /// The entry that tells its name, the first one seen.
    pub(crate) first: &'a Entry,
    pub(crate) by_run: Vec<Option<&'a Entry>>,
}

/// The things of all runs of one side.
pub(crate) fn merged<'a>(runs: &[&'a Ledger], subject: Subject) -> Vec<Merged<'a>> {
    let mut all: Vec<Merged<'a>> = Vec::new();
    for (run, ledger) in runs.iter().enumerate() {
        let entries = &ledger.entries(subject).all;
        let known: Vec<&Name> = all.iter().map(|merged| &merged.first.name).collect();
        let names: Vec<&Name> = entries.iter().map(|entry| &entry.name).collect();
        for pair in pairs(&known, &names) {
            match pair {
                (Some(index), Some(other)) => all[index].by_run[run] = Some(&entries[other]),
                (None, Some(other)) => {
                    let mut by_run = vec![None; runs.len()];
                    by_run[run] = Some(&entries[other]);
                    all.push(Merged { first: &entries[other], by_run });
                }
                (_, None) => {}
            }
        }
    }
    all
}

/// What a thing has of a measure in each run of a side. `name` is the thing's where it is not on this side at all.
/// `None` where one of the runs does not tell.
pub(crate) fn amounts(
    runs: &[&Ledger],
    subject: Subject,
    measure: usize,
    merged: Option<&Merged<'_>>,
    name: &Name,
) -> Option<Vec<i64>> {
    let of = |(run, ledger): (usize, &&Ledger)| match merged.and_then(|merged| merged.by_run[run]) {
        Some(entry) => entry.amounts[measure],
        None if subject == Subject::Findings && measure == 0 => Some(cost_of_untold(ledger, name)),
        None => ledger.entries(subject).absent[measure],
    };
    runs.iter().enumerate().map(of).collect()
}

/// What a finding costs in a run that does not tell it, since it is too small there: of locks it is known all the same.
fn cost_of_untold(ledger: &Ledger, finding: &Name) -> i64 {
    if finding.sort != holdup_criticality::FindingKind::Lock.word() {
        return 0;
    }
    let objects = &ledger.entries(Subject::Objects).all;
    let is_it = |entry: &&Entry| finding.symbol.is_some() && entry.name.told() == finding.symbol;
    objects.iter().find(is_it).and_then(|entry| entry.amounts[0]).unwrap_or(0)
}

/// The table of a subject. `scale` is what costs before are multiplied by.
pub(crate) fn table(before: &[&Ledger], after: &[&Ledger], subject: Subject, scale: Scale) -> Table {
    let (ours, theirs) = (merged(before, subject), merged(after, subject));
    let names =
        |merged: &[Merged<'_>]| merged.iter().map(|thing| thing.first.name.clone()).collect::<Vec<_>>();
    let (our_names, their_names) = (names(&ours), names(&theirs));
    let found = pairs(&our_names.iter().collect::<Vec<_>>(), &their_names.iter().collect::<Vec<_>>());
    let scale = if subject.is_per_worker() { scale } else { Scale::NONE };
    let mut rows: Vec<Row> = found
        .into_iter()
        .filter_map(|(one, other)| {
            let (one, other) = (one.map(|index| &ours[index]), other.map(|index| &theirs[index]));
            let first = other.or(one)?.first;
            let changes = (0..subject.measures().len()).map(|measure| {
                let old = amounts(before, subject, measure, one, &first.name)?;
                let new = amounts(after, subject, measure, other, &first.name)?;
                Some(Change::between(&old, &new, scale))
            });
            let seen = |merged: Option<&Merged<'_>>| {
                merged.map_or(0, |merged| merged.by_run.iter().flatten().count())
            };
            Some(Row {
                sort: first.name.sort,
                what: first.told.clone(),
                place_before: one.and_then(|merged| merged.first.place.clone()),
                place_after: other.and_then(|merged| merged.first.place.clone()),
                presence: match (one, other) {
                    (Some(_), Some(_)) => Presence::Both,
                    (None, _) => Presence::New,
                    (_, None) => Presence::Gone,
                },
                runs: (seen(one), seen(other)),
                changes: changes.collect(),
            })
        })
        .collect();
    let size = |row: &Row| row.change().map(|change| change.difference.unsigned_abs());
    rows.arrange_by(|a, b| size(b).cmp(&size(a)).then_with(|| (a.sort, &a.what).cmp(&(b.sort, &b.what))));
    Table { subject, rows }
}
