//! What a characterization means, in words and figures.

use holdup_characterize::{Gap, Labels, Move, MoveKind, Pca, Reduced};
use holdup_model::Arrange;

use super::CharacterizeTold;
use crate::numbers::{counted, figure, grouped, in_words, percent};
use crate::{Look, escape};

/// A weight that is smaller than this (of any sign) is a dash (paper 3, Table 5).
pub(crate) const SMALL_WEIGHT: f64 = 0.01;

/// The rows in words: their safe names.
pub(crate) fn names(told: &CharacterizeTold, look: Look) -> Vec<String> {
    told.found.table.names().iter().map(|name| escape::name(name, look)).collect()
}

/// A column's name, safe.
pub(crate) fn column(told: &CharacterizeTold, column: usize, look: Look) -> String {
    escape::name(&told.found.table.columns[column], look)
}

/// A component's name, from 1.
pub(crate) fn component(at: usize) -> String {
    format!("PC{}", at + 1)
}

/// A value in a component, or a weight: two decimals, or more significant digits where the unit is another one.
pub(crate) fn score(value: f64, look: Look) -> String {
    let size = value.abs();
    let text = match size {
        _ if size < 0.005 => "0.00".to_owned(),
        _ if size < 99.95 => format!("{value:.2}"),
        _ if size < 1e6 => format!("{value:.0}"),
        _ => format!("{value:.2e}"),
    };
    minus(&text, look)
}

/// A weight as in the paper's Table 5.
pub(crate) fn weight(value: f64, look: Look) -> String {
    if value.abs() < SMALL_WEIGHT {
        return if look.unicode { "—" } else { "-" }.to_owned();
    }
    minus(&format!("{value:.2}"), look)
}

fn minus(text: &str, look: Look) -> String {
    if look.unicode { text.replace('-', "−") } else { text.to_owned() }
}

/// What a column grew by: in points if it is a share.
pub(crate) fn grew(value: f64, is_share: bool, look: Look) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    let text = if is_share { figure(value * 100.0) } else { significant(value) };
    minus(&format!("{sign}{text}"), look)
}

/// A column's value: in per cent if it is a share.
pub(crate) fn value(value: f64, is_share: bool) -> String {
    if is_share { percent(value) } else { significant(value) }
}

/// Three significant digits.
fn significant(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e6).contains(&size) {
        format!("{value:.2e}")
    } else {
        let digits = (2 - size.log10().floor() as i32).max(0) as usize;
        format!("{value:.digits$}")
    }
}

/// The columns with the largest weights of a component, with these: `depend-fp 0.85, mem-dram −0.29`.
pub(crate) fn mostly(told: &CharacterizeTold, at: usize, most: usize, look: Look) -> String {
    let weights = told.found.pca.weights(at);
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.arrange_by(|a, b| weights[*b].abs().total_cmp(&weights[*a].abs()));
    let one = |at: &usize| format!("{} {}", column(told, *at, look), weight(weights[*at], look));
    let told: Vec<String> =
        order.iter().filter(|at| weights[**at].abs() >= 0.1).take(most).map(one).collect();
    told.join(", ")
}

/// What was found, in one or two sentences.
pub(crate) fn heading(told: &CharacterizeTold) -> String {
    let found = &told.found;
    let rows = found.table.rows.len();
    let mut programs: Vec<_> = found.table.rows.iter().map(|row| (&row.suite, &row.program)).collect();
    programs.sort_unstable();
    programs.dedup();
    let runs = counted(rows as u64, "run", "runs");
    let of = match programs.len() {
        same if same == rows => counted(rows as u64, "program", "programs"),
        other => format!("{runs} of {}", counted(other as u64, "program", "programs")),
    };
    if found.pca.components() == 0 {
        let all = if rows == 1 { "there is nothing to compare it with" } else { "they do not differ" };
        return format!("{of}: {all}.");
    }
    let share = found.pca.cumulative()[found.kept - 1];
    let columns = counted(found.table.columns.len() as u64, "column", "columns");
    let parts = match found.kept {
        1 => "one component tells".to_owned(),
        kept => format!("{} components tell", in_words(kept)),
    };
    let clusters = found.clusters.clusters.len();
    let covered = found.clusters.covered.last().copied().unwrap_or(1.0);
    let suffice = match clusters {
        1 => "one of them stands for all".to_owned(),
        all if all == rows => "none of them stands for another".to_owned(),
        _ => format!("{} of {} suffice to stand for all", in_words(clusters), grouped(rows as u64)),
    };
    let differ = if found.pca.options.centred { "how they differ" } else { "what they are" };
    format!(
        "{of}: {parts} {} of {differ} in {columns}, and {suffice} ({} of the spread).",
        percent(share),
        percent(covered)
    )
}

/// How the components were made, and why so.
pub(crate) fn method(pca: &Pca) -> String {
    let centred = if pca.options.centred {
        "Components are of differences from the mean (centred)"
    } else {
        "Components are of the distance from zero (uncentred, as in paper 3): the first one is mostly what all have in common, and \
         shares are of the sum of squares"
    };
    let scaled = if pca.options.scaled {
        "each column counts alike (scaled)"
    } else {
        "columns are in their own unit (not scaled)"
    };
    format!("{centred}; {scaled}.")
}

/// How large a part of the variance one column has; told where it drowns the others.
pub(crate) fn loudest(told: &CharacterizeTold, look: Look) -> Option<String> {
    let found = &told.found;
    if told.is_share || found.pca.options.scaled || found.table.columns.len() < 3 {
        return None;
    }
    let pca = &found.pca;
    let part = |column: usize| -> f64 {
        (0..pca.components()).map(|at| pca.variances[at] * pca.weights(at)[column].powi(2)).sum()
    };
    let parts: Vec<f64> = (0..found.table.columns.len()).map(part).collect();
    let total: f64 = parts.iter().sum();
    let largest = (0..parts.len()).reduce(|a, b| if parts[b] > parts[a] { b } else { a })?;
    let share = parts[largest] / total;
    (share > 0.95).then(|| {
        format!(
            "{} alone has {} of all variance: if columns have different units, --scaled makes them count alike.",
            column(told, largest, look),
            percent(share)
        )
    })
}

/// What was done so that the distances of all pairs fit.
pub(crate) fn reduced(told: &CharacterizeTold) -> Option<String> {
    let tree = &told.found.tree;
    let leaves = counted(tree.leaves.len() as u64, "leaf", "leaves");
    let limit = grouped(holdup_characterize::MOST_LEAVES as u64);
    match tree.reduced {
        Reduced::No => None,
        Reduced::Equal => {
            Some(format!("Clustered by {leaves}, one for all rows that are equal (the limit is {limit})."))
        }
        Reduced::Cells(width) => Some(format!(
            "Clustered by {leaves} instead of each row: one for all rows in the same cell of a grid {} wide (the limit is {limit}); \
             such a leaf counts once in mean distances.",
            significant(width)
        )),
    }
}

/// From what to what: `4 → 16 threads`, `small → large`.
pub(crate) fn ends(told: &CharacterizeTold, moved: &Move, look: Look) -> String {
    let rows = &told.found.table.rows;
    let (Some(first), Some(last)) = (moved.rows.first(), moved.rows.last()) else { return String::new() };
    let arrow = if look.unicode { "→" } else { "->" };
    let threads = |row: usize| rows[row].threads.unwrap_or(0);
    let input = |row: usize| escape::short_name(rows[row].input.as_deref().unwrap_or_default(), look);
    match moved.kind {
        MoveKind::Threads => format!("{} {arrow} {}", threads(*first), threads(*last)),
        MoveKind::Input => format!("{} {arrow} {}", input(*first), input(*last)),
    }
}

/// Which labels differ between rows: only those are told.
pub(crate) struct Movers<'a> {
    told: &'a CharacterizeTold,
    input: bool,
    threads: bool,
    machine: bool,
    what_if: bool,
}

impl<'a> Movers<'a> {
    pub(crate) fn of(told: &'a CharacterizeTold) -> Self {
        let rows = &told.found.table.rows;
        let differs =
            |differ: fn(&Labels, &Labels) -> bool| rows.windows(2).any(|pair| differ(&pair[0], &pair[1]));
        Self {
            told,
            input: differs(|one, other| one.input != other.input),
            threads: differs(|one, other| one.threads != other.threads),
            machine: differs(|one, other| one.machine != other.machine),
            what_if: differs(|one, other| one.what_if != other.what_if),
        }
    }

    /// Whose move it is: its program and the labels that stay and differ between rows.
    pub(crate) fn name(&self, moved: &Move, look: Look) -> String {
        let rows = &self.told.found.table.rows;
        let Some(row) = moved.rows.first().map(|row| &rows[*row]) else { return String::new() };
        let mut name = escape::name(&row.program, look);
        let mut add = |differs: bool, text: Option<String>| {
            if let Some(text) = text.filter(|text| differs && !text.is_empty()) {
                name.push(' ');
                name.push_str(&text);
            }
        };
        let safe = |text: &Option<String>| text.as_ref().map(|text| escape::short_name(text, look));
        match moved.kind {
            MoveKind::Threads => add(self.input, safe(&row.input)),
            MoveKind::Input => {
                let times = if look.unicode { "×" } else { "x" };
                add(self.threads, row.threads.map(|threads| format!("{times}{threads}")));
            }
        }
        add(self.machine, safe(&row.machine).map(|text| format!("on {text}")));
        add(self.what_if, safe(&row.what_if).map(|text| format!("with {text}")));
        name
    }
}

/// The columns that grew and shrank most in a move: `mem-l3 +12, depend-fp −9.1 points`.
pub(crate) fn changes(told: &CharacterizeTold, moved: &Move, most: usize, look: Look) -> String {
    let mut order: Vec<usize> = (0..moved.grew.len()).collect();
    order.arrange_by(|a, b| moved.grew[*b].abs().total_cmp(&moved.grew[*a].abs()));
    let seen = |at: &&usize| {
        let size = moved.grew[**at].abs();
        if told.is_share { size >= 0.005 } else { size > 0.0 }
    };
    let one =
        |at: &usize| format!("{} {}", column(told, *at, look), grew(moved.grew[*at], told.is_share, look));
    let parts: Vec<String> = order.iter().filter(seen).take(most).map(one).collect();
    match parts.is_empty() {
        true => "stays where it is".to_owned(),
        false => format!("{}{}", parts.join(", "), if told.is_share { " points" } else { "" }),
    }
}

/// How far a move with the input goes, by what programs differ.
pub(crate) fn verdict(moved: &Move) -> Option<String> {
    if moved.kind != MoveKind::Input {
        return None;
    }
    let cluster = if moved.stays { "" } else { ", to another cluster" };
    let far =
        moved.of_apart.map(|share| format!("{} of the squared distance that programs have", percent(share)));
    Some(format!("{}{cluster}", far.unwrap_or_else(|| "there is no other program".to_owned())))
}

/// A place where no program lies: `mem-dram 41 %, depend-fp 22 %`.
pub(crate) fn gap(told: &CharacterizeTold, gap: &Gap, look: Look) -> String {
    let mut order: Vec<usize> = (0..gap.columns.len()).collect();
    order.arrange_by(|a, b| gap.columns[*b].abs().total_cmp(&gap.columns[*a].abs()));
    let one = |at: &usize| format!("{} {}", column(told, *at, look), value(gap.columns[*at], told.is_share));
    let parts: Vec<String> = order.iter().take(4).map(one).collect();
    format!(
        "around {}, {} (as wide as {}): {}",
        score(gap.centre[0], look),
        score(gap.centre[1], look),
        score(gap.radius, look),
        parts.join(", ")
    )
}

/// Columns of which no run has much: the largest value of any of them.
pub(crate) fn unreached(told: &CharacterizeTold, look: Look) -> Option<String> {
    if !told.is_share {
        return None;
    }
    let table = &told.found.table;
    let mut low: Vec<(f64, usize)> =
        (0..table.columns.len()).map(|at| (table.range(at).1, at)).filter(|(most, _)| *most < 0.05).collect();
    low.arrange_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let names: Vec<String> =
        low.iter().map(|(most, at)| format!("{} ({})", column(told, *at, look), percent(*most))).collect();
    (!names.is_empty()).then(|| format!("No run has 5 % or more of {}.", names.join(", ")))
}

/// How the number of clusters was chosen, and how good it is.
pub(crate) fn chosen(told: &CharacterizeTold, look: Look) -> String {
    let clusters = &told.found.clusters;
    let count = clusters.clusters.len();
    let covered = clusters.covered.last().copied().unwrap_or(1.0);
    let mut text = format!(
        "{} for {} of the spread",
        counted(count as u64, "representative", "representatives"),
        percent(covered)
    );
    if let Some(before) = count.checked_sub(2).and_then(|at| clusters.covered.get(at)) {
        text.push_str(&format!(" (one fewer: {})", percent(*before)));
    }
    if let Some(silhouette) = clusters.silhouette {
        text.push_str(&format!("; silhouette {}", score(silhouette, look)));
    }
    if let Some(correlation) = told.found.tree.cophenetic {
        text.push_str(&format!("; cophenetic correlation {}", score(correlation, look)));
    }
    text
}

/// All that is to be known besides.
pub(crate) fn notes(told: &CharacterizeTold, look: Look) -> Vec<String> {
    let mut notes = Vec::new();
    let left_out = &told.found.table.left_out;
    if let Some(first) = left_out.first() {
        let rows = counted(left_out.len() as u64, "row has", "rows have");
        let (program, column) =
            (escape::name(&first.labels.program, look), escape::name(&first.column, look));
        notes.push(format!(
            "{rows} no number in some column and are left out; the first is {program}, without {column}."
        ));
    }
    if !told.found.clusters.is_enough {
        notes.push(format!(
            "No number of clusters up to {} covers what was asked for; --clusters chooses another number.",
            holdup_characterize::MOST_CLUSTERS
        ));
    }
    notes.extend(reduced(told));
    notes.extend(loudest(told, look));
    notes.extend(told.notes.iter().cloned());
    notes
}
