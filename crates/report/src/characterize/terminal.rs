//! The answer of `holdup characterize` for a terminal.

use std::collections::BTreeMap;

use holdup_characterize::{Move, extremes};
use holdup_model::Arrange;

use super::dendrogram::Dendrogram;
use super::plot::plot;
use super::{CharacterizeTold, words};
use crate::escape::sentences;
use crate::ink::Ink;
use crate::lines::{Line, labelled, painted, wrapped, wrapped_whole};
use crate::numbers::{counted, percent};
use crate::tabular::{Column, table};
use crate::{Look, escape};

/// At most so many of each are told; `--all` tells all of them.
const MOST_COMPONENTS: usize = 6;
const MOST_WEIGHTS: usize = 40;
const MOST_CLUSTERS: usize = 12;
const MOST_MOVES: usize = 6;
const MOST_NOTES: usize = 6;
const MOST_MEMBERS: usize = 6;

/// How many programs are told of each end of a component (paper 3, Table 3).
const OUTERMOST: usize = 5;

/// So many leaves of the dendrogram are told, and with `--all`.
const MOST_LEAVES: usize = 40;
const ALL_LEAVES: usize = 400;

/// The columns that branches of the dendrogram take at the most.
const BRANCHES: usize = 56;

/// The sides of a cell at which a line of the dendrogram leaves it.
const RIGHT: u8 = 1;
const LEFT: u8 = 2;
const UP: u8 = 4;
const DOWN: u8 = 8;

/// The answer for a terminal, each line at most [`Look::width`] columns wide, with a line break at its end.
pub fn render_characterize(told: &CharacterizeTold, look: Look) -> String {
    let mut lines = wrapped(&words::heading(told), 0, Ink::Strong, look);
    lines.extend(wrapped(&words::method(&told.found.pca), 0, Ink::Text, look));
    for part in
        [components, weights, plot, outermost, suites, clusters, dendrogram, scaling, inputs, gaps, foot]
    {
        let part = part(told, look);
        if !part.is_empty() {
            lines.push(Line::default());
            lines.extend(part);
        }
    }
    painted(&lines, look)
}

/// How many components are told.
fn told_components(told: &CharacterizeTold) -> usize {
    let all = told.found.pca.components();
    let kept = told.found.kept.max(2).min(all);
    if told.in_full { all } else { kept.min(MOST_COMPONENTS) }
}

/// What the components are, and how much they tell.
fn components(told: &CharacterizeTold, look: Look) -> Vec<Line> {
    let pca = &told.found.pca;
    let count = told_components(told);
    if count == 0 {
        return Vec::new();
    }
    let sums = pca.cumulative();
    let kept = |at: usize| if at < told.found.kept { "" } else { "not used" };
    let mut lines = table(
        vec![
            Column::words("component", (0..count).map(words::component)),
            Column::numbers("variance", pca.shares[..count].iter().map(|share| percent(*share))),
            Column::numbers("sum", sums[..count].iter().map(|sum| percent(*sum))),
            Column::words("mostly", (0..count).map(|at| words::mostly(told, at, 3, look))),
            Column::words("", (0..count).map(|at| kept(at).to_owned())).optional(),
        ],
        look,
    );
    if told.found.kept > count {
        let more = told.found.kept - count;
        let text = format!("and {} used: --all", counted(more as u64, "more is", "more are"));
        lines.extend(wrapped(&text, 2, Ink::Faint, look));
    }
    lines
}

/// The weights table (paper 3, Table 5).
fn weights(told: &CharacterizeTold, look: Look) -> Vec<Line> {
    let (pca, count) = (&told.found.pca, told_components(told));
    if count == 0 {
        return Vec::new();
    }
    let most = |column: usize| {
        let of = |at| pca.weights(at)[column].abs();
        (0..count).map(of).fold(0.0, f64::max)
    };
    let weighty = (0..told.found.table.columns.len()).map(|column| (column, most(column)));
    let mut shown: Vec<(usize, f64)> = weighty.filter(|(_, weight)| *weight >= words::SMALL_WEIGHT).collect();
    let more = if told.in_full { 0 } else { shown.len().saturating_sub(MOST_WEIGHTS) };
    if more > 0 {
        // Those that weigh most in any component, in their own order.
        shown.arrange_by(|a, b| b.1.total_cmp(&a.1));
        shown.truncate(MOST_WEIGHTS);
        shown.arrange_by(|a, b| a.0.cmp(&b.0));
    }
    let shown: Vec<usize> = shown.into_iter().map(|(column, _)| column).collect();
    let mut columns =
        vec![Column::words("weights", shown.iter().map(|column| words::column(told, *column, look)))];
    for at in 0..count {
        let cells = shown.iter().map(|column| words::weight(pca.weights(at)[*column], look));
        let column = Column::numbers(&words::component(at), cells);
        columns.push(if at < 2 { column } else { column.optional() });
    }
    let mut lines = table(columns, look);
    if more > 0 {
        let text = format!("and {} of less weight: --all", counted(more as u64, "column", "columns"));
        lines.extend(wrapped(&text, 2, Ink::Faint, look));
    }
    lines
}

/// Who lies furthest out (paper 3, Table 3).
fn outermost(told: &CharacterizeTold, look: Look) -> Vec<Line> {
    let names = words::names(told, look);
    let mut lines = Vec::new();
    for at in 0..told_components(told) {
        let pca = &told.found.pca;
        let ends = extremes(pca, names.len(), at, OUTERMOST);
        let list = |rows: &[usize]| {
            let one = |row: &usize| format!("{} {}", names[*row], words::score(pca.scores(*row)[at], look));
            rows.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        let title = format!("{} ({})", words::component(at), words::column(told, pca.main(at), look));
        lines.extend(wrapped_whole(&title, 2, Ink::Strong, look));
        for (label, rows) in [("highest", &ends.highest), ("lowest", &ends.lowest)] {
            if !rows.is_empty() {
                lines.extend(wrapped_whole(&format!("{label}: {}", list(rows)), 4, Ink::Text, look));
            }
        }
    }
    lines
}

/// Where suites lie (paper 3, Table 4).
fn suites(told: &CharacterizeTold, look: Look) -> Vec<Line> {
    let suites = &told.found.suites;
    if suites.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![
        Column::words("suite", suites.iter().map(|suite| escape::name(&suite.name, look))),
        Column::numbers("runs", suites.iter().map(|suite| suite.rows.to_string())),
    ];
    let give = if look.unicode { "±" } else { "+-" };
    for at in 0..told_components(told) {
        let cell = |suite: &holdup_characterize::Suite| {
            let mean = words::score(suite.means[at], look);
            suite.deviations[at]
                .map_or_else(|| mean.clone(), |off| format!("{mean} {give} {}", words::score(off, look)))
        };
        let column = Column::numbers(&words::component(at), suites.iter().map(cell));
        columns.push(if at < 2 { column } else { column.optional() });
    }
    table(columns, look)
}

/// Which runs are alike, and which one stands for them.
fn clusters(told: &CharacterizeTold, look: Look) -> Vec<Line> {
    let found = &told.found;
    let names = words::names(told, look);
    let all = found.clusters.clusters.len();
    let count = if told.in_full { all } else { all.min(MOST_CLUSTERS) };
    let members = |cluster: &holdup_characterize::Cluster| {
        let of = |leaf: &usize| found.tree.leaves[*leaf].clone();
        let mut rows: Vec<usize> =
            cluster.leaves.iter().filter(|leaf| **leaf != cluster.representative).flat_map(of).collect();
        rows.extend(found.tree.leaves[cluster.representative].iter().skip(1));
        rows.sort_unstable();
        if told.in_full {
            return rows.iter().map(|row| names[*row].clone()).collect::<Vec<_>>().join(", ");
        }
        let labels = |row: usize| &found.table.rows[row];
        let mut programs: Vec<(usize, usize)> = Vec::new();
        let mut places = BTreeMap::new();
        for row in rows {
            let place = *places.entry((&labels(row).suite, &labels(row).program)).or_insert(programs.len());
            match programs.get_mut(place) {
                Some((_, runs)) => *runs += 1,
                None => programs.push((row, 1)),
            }
        }
        let of_program = |(first, runs): &(usize, usize)| match runs {
            1 => names[*first].clone(),
            runs => format!("{} ({runs} runs)", escape::name(&labels(*first).program, look)),
        };
        let mut told: Vec<String> = programs.iter().take(MOST_MEMBERS).map(of_program).collect();
        if let Some(more @ 1..) = programs.len().checked_sub(MOST_MEMBERS) {
            told.push(format!("{more} more"));
        }
        told.join(", ")
    };
    let mut lines = Vec::new();
    for (number, cluster) in found.clusters.clusters.iter().take(count).enumerate() {
        let row = found.tree.leaves[cluster.representative][0];
        let rest = members(cluster);
        let text = match rest.is_empty() {
            true => format!("{} {}, alone", number + 1, names[row]),
            false => format!("{} {} stands for {rest}", number + 1, names[row]),
        };
        lines.extend(wrapped_whole(&text, 2, Ink::Text, look));
    }
    if count < all {
        lines.extend(wrapped(&format!("and {} more: --all", all - count), 2, Ink::Faint, look));
    }
    lines.extend(wrapped(&words::chosen(told, look), 2, Ink::Faint, look));
    lines
}

/// The dendrogram.
fn dendrogram(told: &CharacterizeTold, look: Look) -> Vec<Line> {
    let drawn = Dendrogram::of(told, if told.in_full { ALL_LEAVES } else { MOST_LEAVES });
    if drawn.branches.is_empty() || drawn.most <= 0.0 || look.is_narrow() {
        return Vec::new();
    }
    let names = words::names(told, look);
    let labels: Vec<String> = drawn
        .leaves
        .iter()
        .map(|leaf| match leaf.rows {
            1 => format!("{} {}", leaf.cluster + 1, names[leaf.row]),
            rows => format!("{} {} (+{})", leaf.cluster + 1, names[leaf.row], rows - 1),
        })
        .collect();
    let widest = labels.iter().map(|label| textwrap::core::display_width(label)).max().unwrap_or(0);
    let begin = 2 + widest + 1;
    let width = look.columns().saturating_sub(begin + 8).clamp(12, BRANCHES);
    let column = |distance: f64| (distance / drawn.most * (width - 1) as f64).round() as usize;
    let mut grid = vec![vec![0u8; width]; labels.len()];
    for branch in &drawn.branches {
        let at = column(branch.at);
        let rows = branch.from.map(|(row, _)| row.floor() as usize);
        for ((_, begin), row) in branch.from.iter().zip(rows) {
            for (cell, mark) in grid[row].iter_mut().enumerate().take(at + 1).skip(column(*begin)) {
                *mark |= if cell < at { RIGHT } else { 0 }
                    | if cell > column(*begin) || *begin == 0.0 { LEFT } else { 0 };
            }
        }
        let [first, last] = rows;
        for (row, cells) in grid.iter_mut().enumerate().take(last + 1).skip(first) {
            cells[at] |= if row > first { UP } else { 0 } | if row < last { DOWN } else { 0 };
        }
    }
    let sign = |mark: u8| match (mark, look.unicode) {
        (0, _) => ' ',
        (mark, false) if mark & (UP | DOWN) == 0 => '-',
        (mark, false) if mark & (LEFT | RIGHT) == 0 => '|',
        (_, false) => '+',
        (mark, true) => ['?', '─', '─', '─', '│', '└', '┘', '┴', '│', '┌', '┐', '┬', '│', '├', '┤', '┼']
            [usize::from(mark)],
    };
    let mut lines =
        vec![Line::indented(2).with("which are alike: the further right two meet, the less", Ink::Faint)];
    for (label, row) in labels.iter().zip(&grid) {
        let row: String = row.iter().map(|mark| sign(*mark)).collect();
        lines.push(Line::indented(2).with(label, Ink::Text).at_column(row.trim_end(), begin, Ink::Faint));
    }
    let cut = found_cut(told, &drawn, width);
    let end = words::score(drawn.most, look);
    let axis = Line::default().at_column("0", begin, Ink::Faint);
    let axis = match cut {
        Some(at) => axis.at_column("^ cut", begin + at, Ink::Faint),
        None => axis,
    };
    lines.push(axis.right_aligned(&end, begin + width, Ink::Faint));
    lines
}

/// The column at which the dendrogram is cut, if there is room for a mark.
fn found_cut(told: &CharacterizeTold, drawn: &Dendrogram, width: usize) -> Option<usize> {
    let cut = told.found.clusters.cut;
    let at = (cut / drawn.most * (width - 1) as f64).round();
    (cut.is_finite() && at >= 2.0 && at + 12.0 < width as f64).then_some(at as usize)
}

/// How programs move with threads.
fn scaling(told: &CharacterizeTold, look: Look) -> Vec<Line> {
    let moves: Vec<&Move> = told.found.scaling.iter().collect();
    moved(told, moves, "with more threads", look)
}

/// How programs move with their input, and of which a small one stands for the large one.
fn inputs(told: &CharacterizeTold, look: Look) -> Vec<Line> {
    let (stand, differ): (Vec<&Move>, Vec<&Move>) =
        told.found.inputs.iter().partition(|one| one.stands_for());
    let mut lines = moved(told, differ, "where a small input does not stand for the large one", look);
    if !stand.is_empty() {
        let movers = words::Movers::of(told);
        let names: Vec<String> = stand.iter().map(|one| movers.name(one, look)).collect();
        lines.extend(wrapped("where a small input stands for the large one", 2, Ink::Strong, look));
        lines.extend(wrapped_whole(&names.join(", "), 4, Ink::Text, look));
    }
    lines
}

fn moved(told: &CharacterizeTold, mut order: Vec<&Move>, title: &str, look: Look) -> Vec<Line> {
    if order.is_empty() {
        return Vec::new();
    }
    order.arrange_by(|a, b| b.length.total_cmp(&a.length));
    let count = if told.in_full { order.len() } else { order.len().min(MOST_MOVES) };
    let mut lines = wrapped(title, 2, Ink::Strong, look);
    let movers = words::Movers::of(told);
    for one in &order[..count] {
        let mut text = format!(
            "{} {}: {}",
            movers.name(one, look),
            words::ends(told, one, look),
            words::changes(told, one, 3, look)
        );
        if let Some(verdict) = words::verdict(one) {
            text.push_str(&format!("; {verdict}"));
        }
        lines.extend(wrapped_whole(&text, 4, Ink::Text, look));
    }
    if count < order.len() {
        let more = order.len() - count;
        lines.extend(wrapped(&format!("and {more} that move less: --all"), 4, Ink::Faint, look));
    }
    lines
}

/// Where no program lies.
fn gaps(told: &CharacterizeTold, look: Look) -> Vec<Line> {
    let mut lines = Vec::new();
    for gap in &told.found.gaps {
        lines.extend(wrapped_whole(&words::gap(told, gap, look), 4, Ink::Text, look));
    }
    if let Some(text) = words::unreached(told, look) {
        lines.extend(wrapped_whole(&text, 4, Ink::Text, look));
    }
    if !lines.is_empty() {
        lines.insert(0, Line::indented(2).with("where no program lies", Ink::Strong));
    }
    lines
}

/// What else to know.
fn foot(told: &CharacterizeTold, look: Look) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |text: &str| {
        lines.extend(labelled("note", Ink::Warning, vec![Line::default().with(text, Ink::Text)], look));
    };
    let notes = words::notes(told, look);
    let most = if told.in_full { notes.len() } else { MOST_NOTES };
    notes.iter().take(most).for_each(|note| add(&sentences(note, look)));
    if let Some(more @ 1..) = notes.len().checked_sub(most) {
        add(&format!("and {}: --all", counted(more as u64, "more note", "more notes")));
    }
    lines
}
