//! The criticality stack as one bar: who the run time belongs to.

use std::collections::BTreeMap;

use holdup_criticality::{Criticality, Diagnosis};
use holdup_model::{Arrange, Process, ThreadId, by_sort};

use crate::ink::Ink;
use crate::lines::{Line, labelled};
use crate::numbers::{in_words, percent};
use crate::{Look, names, palette};

/// At most so many threads have a piece of their own.
const MOST_THREADS: usize = 3;

/// Below this share of the run a thread has no piece of its own, nor a cause a place in *nobody*.
const SMALL: f64 = 0.05;

/// Where threads without a piece of their own have this share of the run, or more, those that do the same are one piece.
const MOST: f64 = 0.5;

/// Below this share of the run *nobody* is left out of the bar; JSON has it in any case.
const NOBODY: f64 = 0.01;

/// From this difference of any share on, the criticality that is not the one to go by is told too.
const DIFFERS: f64 = 0.1;

/// The criticality stack to go by, and where others had cores that by who had one too.
/// Empty where nothing was ever active and nobody's time is not known either.
pub(crate) fn criticality(process: &Process, diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    let (on_core, runnable) = (&diagnosis.criticality, &diagnosis.runnable);
    let mut lines = stack("criticality", diagnosis.told_criticality(), process, look);
    if diagnosis.is_by_runnable() && most_apart(on_core, runnable) >= DIFFERS {
        lines.extend(stack("on a core", on_core, process, look));
    }
    lines
}

/// The largest difference of a share.
fn most_apart(one: &Criticality, other: &Criticality) -> f64 {
    let threads = one.threads.iter().zip(&other.threads).map(|(one, other)| one - other);
    let apart = threads.chain([one.nobody_total() - other.nobody_total()]).map(f64::abs).fold(0.0, f64::max);
    apart / one.total.get().max(1) as f64
}

/// A stack as one bar: the largest threads by name, the others merged, and *nobody* with what ended it.
fn stack(label: &str, criticality: &Criticality, process: &Process, look: Look) -> Vec<Line> {
    let total = criticality.total.get() as f64;
    if total == 0.0 {
        return Vec::new();
    }
    let stack = criticality.stack(&names::threads(process, look));
    let threads = &stack.components()[..criticality.threads.len()];
    let mut groups: Vec<Group> = (0..)
        .map(ThreadId::new)
        .zip(threads)
        .map(|(id, thread)| Group { members: vec![id], share: thread.amount / total, color: thread.color })
        .filter(|group| group.share > 0.0)
        .collect();
    groups.arrange_by(|a, b| b.share.total_cmp(&a.share));
    let mut own = with_own_piece(&groups);
    if groups[own..].iter().map(|group| group.share).sum::<f64>() >= MOST {
        groups = of_the_same_sort(process, &groups);
        own = with_own_piece(&groups);
    }
    let (own, others) = groups.split_at(own);
    let names = names::of(process, None, look);
    let called = |group: &Group| match group.members.as_slice() {
        [only] => threads[only.index()].label.to_string(),
        members => names.threads_in_a_row(members),
    };
    let mut pieces: Vec<Line> =
        own.iter().map(|group| piece(&called(group), group.share, group.color, look)).collect();
    if let Some(largest) = others.first() {
        let count = in_words(others.iter().map(|group| group.members.len()).sum());
        let share = percent(others.iter().map(|group| group.share).sum());
        pieces.push(Line::default().with(
            &if own.is_empty() {
                format!("{count} threads {share}, at most {} each", percent(largest.share))
            } else {
                format!("{count} others {share}")
            },
            Ink::Text,
        ));
    }
    let nobody = criticality.nobody_total() / total;
    if nobody >= NOBODY {
        pieces.push(piece("nobody", nobody, "io", look));
        pieces.extend(causes(criticality, nobody, total));
    }
    if pieces.is_empty() { pieces } else { labelled(label, Ink::Faint, pieces, look) }
}

/// Threads that have one piece.
struct Group {
    members: Vec<ThreadId>,
    /// Of the run time.
    share: f64,
    color: &'static str,
}

/// How many of these have a piece of their own: the largest come first.
fn with_own_piece(groups: &[Group]) -> usize {
    let own = groups.iter().take(MOST_THREADS).take_while(|group| group.share >= SMALL).count();
    // To merge a single one would hide its name and save nothing.
    if groups.len() - own == 1 { own + 1 } else { own }
}

/// Single threads that do the same in one group, in the colour of the largest: the largest group first.
fn of_the_same_sort(process: &Process, groups: &[Group]) -> Vec<Group> {
    let of: BTreeMap<ThreadId, &Group> = groups.iter().map(|group| (group.members[0], group)).collect();
    let ids: Vec<ThreadId> = groups.iter().map(|group| group.members[0]).collect();
    let merge = |(_, members): (Option<String>, Vec<ThreadId>)| {
        let share = members.iter().map(|member| of[member].share).sum();
        Group { share, color: of[&members[0]].color, members }
    };
    let mut merged: Vec<Group> = by_sort(process, &ids).into_iter().map(merge).collect();
    merged.arrange_by(|a, b| b.share.total_cmp(&a.share));
    merged
}

fn piece(label: &str, share: f64, color: &'static str, look: Look) -> Line {
    let full = if look.is_narrow() { 10.0 } else { 20.0 };
    let blocks = (share * full).round() as usize;
    let mut line = Line::default().with(&format!("{label} "), Ink::Text);
    if blocks > 0 {
        let filled = palette::fill(color, look).to_string().repeat(blocks);
        line = line.with(&filled, Ink::Color(color)).with(" ", Ink::Text);
    }
    line.with(&percent(share), Ink::Text)
}

/// What ended nobody's time, where that is more than one thing: its larger parts, most first.
fn causes(criticality: &Criticality, nobody: f64, total: f64) -> Option<Line> {
    let mut causes: Vec<(&str, f64)> = criticality
        .nobody
        .iter()
        .map(|(cause, amount)| (cause.word(), amount / total))
        .filter(|(_, share)| *share >= SMALL * nobody)
        .collect();
    causes.arrange_by(|a, b| b.1.total_cmp(&a.1));
    let told = match causes.as_slice() {
        [] => return None,
        [(word, _)] => (*word).to_owned(),
        many => many
            .iter()
            .map(|(word, share)| format!("{word} {}", percent(*share)))
            .collect::<Vec<_>>()
            .join(", "),
    };
    Some(Line::default().with(&format!("(until: {told})"), Ink::Text))
}
