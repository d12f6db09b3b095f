//! Stacks as bars of characters: each piece begins with the letter of its component.

use holdup_model::Arrange;
use holdup_model::cycles::{CycleComponent, CycleStack};
use textwrap::core::display_width;

use super::words::{Family, family, letter};
use crate::lines::Line;
use crate::look::Ink;
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
        line = bar(line, &row.stack, length, look);
        for (figure, end) in row.figures.iter().zip(&ends) {
            line = line.right_aligned(figure, *end, Ink::Text);
        }
        lines.push(line);
    }
    lines
}

/// The line with a bar of so many columns at its end.
fn bar(mut line: Line, stack: &CycleStack, length: usize, look: Look) -> Line {
    for (component, cells) in cells(stack, length) {
        let mut piece = String::from(letter(component));
        for _ in 1..cells {
            piece.push(fill(component, look));
        }
        line = line.with(&piece, Ink::Cycles(component));
    }
    line
}

/// What a piece is filled with, by the family of its component.
fn fill(component: CycleComponent, look: Look) -> char {
    match (family(component), look.unicode) {
        (Family::Core, true) => '█',
        (Family::Memory, true) => '▓',
        (Family::Sync, true) => '▒',
        (Family::Away, true) => '░',
        (Family::Core, false) => '#',
        (Family::Memory, false) => '=',
        (Family::Sync, false) => '~',
        (Family::Away, false) => '.',
    }
}

/// How many columns each component has: rounded so that they fill the bar. Empty for an empty stack.
pub(super) fn cells(stack: &CycleStack, length: usize) -> Vec<(CycleComponent, usize)> {
    let total = u128::from(stack.total());
    if total == 0 {
        return Vec::new();
    }
    let exact = |cycles: u64| u128::from(cycles) * length as u128;
    let mut parts: Vec<(CycleComponent, usize, u128)> = stack
        .parts()
        .map(|(component, cycles)| (component, (exact(cycles) / total) as usize, exact(cycles) % total))
        .collect();
    let left = length - parts.iter().map(|(_, cells, _)| cells).sum::<usize>();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.arrange_by_key(|&index| (std::cmp::Reverse(parts[index].2), index));
    for index in order.into_iter().take(left) {
        parts[index].1 += 1;
    }
    parts
        .into_iter()
        .filter(|(_, cells, _)| *cells > 0)
        .map(|(component, cells, _)| (component, cells))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_bar_is_as_long_as_it_should_be(cycles in prop::collection::vec(0u64..=u64::MAX / 64, 20), length in 1usize..100) {
            let mut stack = CycleStack::default();
            for (component, cycles) in CycleComponent::ALL.iter().zip(&cycles) {
                stack.book(*component, *cycles);
            }
            let sum: usize = cells(&stack, length).iter().map(|(_, cells)| cells).sum();
            prop_assert_eq!(sum, if stack.total() > 0 { length } else { 0 });
        }
    }
}
