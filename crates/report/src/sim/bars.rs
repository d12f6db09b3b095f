//! Stacks of cycles below each other, with figures beside them.

use holdup_model::cycles::CycleStack;
use textwrap::core::display_width;

use crate::bars::bar;
use crate::ink::Ink;
use crate::lines::Line;
use crate::{Look, escape};

/// The longest and the shortest bar in columns, and the columns between two things.
const LONGEST: usize = 60;
const SHORTEST: usize = 12;
const GAP: usize = 2;
const INDENT: usize = 2;

/// A bar with what stands beside it.
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) stack: CycleStack,
    /// Figures, a column each.
    pub(super) figures: Vec<String>,
}

/// Bars below each other, all of the same length, with the titles of their columns. Figures for which there is no room are
/// left out, the last ones first.
pub(super) fn bars(title: &str, titles: &[&str], rows: &[Bar], look: Look) -> Vec<Line> {
    let most_label = (look.columns() / 3).max(10);
    let labels: Vec<String> = rows.iter().map(|row| escape::cut(&row.label, most_label, look)).collect();
    let width =
        labels.iter().map(|label| display_width(label)).chain([display_width(title)]).max().unwrap_or(0);
    let columns: Vec<usize> = titles
        .iter()
        .enumerate()
        .map(|(index, title)| {
            let cells = rows.iter().filter_map(|row| row.figures.get(index)).map(|text| display_width(text));
            cells.chain([display_width(title)]).max().unwrap_or(0)
        })
        .collect();
    let room = look.columns().saturating_sub(INDENT + width + GAP);
    let mut told = columns.len();
    let taken = |told: usize| columns[..told].iter().map(|width| width + GAP).sum::<usize>();
    while told > 0 && room < taken(told) + SHORTEST {
        told -= 1;
    }
    let length = room.saturating_sub(taken(told)).clamp(1, LONGEST);
    let begin = INDENT + width + GAP;
    let mut head = Line::indented(INDENT).with(title, Ink::Faint);
    let mut end = begin + length;
    let mut ends = Vec::new();
    for (title, width) in titles.iter().zip(&columns).take(told) {
        end += GAP + width;
        ends.push(end);
        head = head.right_aligned(title, end, Ink::Faint);
    }
    let mut lines = vec![head];
    for (row, label) in rows.iter().zip(&labels) {
        let mut line = Line::indented(INDENT).with(label, Ink::Text);
        line = line.at_column("", begin, Ink::Text);
        let stack = row.stack.stack();
        line = bar(line, &stack, stack.total(), length, look);
        for (figure, end) in row.figures.iter().zip(&ends) {
            line = line.right_aligned(figure, *end, Ink::Text);
        }
        lines.push(line);
    }
    lines
}
