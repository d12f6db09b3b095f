//! Speedup stacks as bars of characters: each piece begins with the letter of its component.

use holdup_speedup::PointStack;

use super::pieces::{Part, pieces};
use super::words;
use crate::Look;
use crate::lines::Line;
use crate::look::Ink;

/// The line with a stack at its end, so long that `most` (a speedup) takes `length` columns. What helps has no length: the
/// figures have it.
pub(super) fn bar(mut line: Line, stack: &PointStack, most: f64, length: usize, look: Look) -> Line {
    for (part, cells) in cells(stack, most, length) {
        let (letter, fill, ink) = match &part {
            Part::Reached => (None, if look.unicode { '█' } else { '#' }, Ink::Active),
            Part::Lost(component) => {
                (Some(words::letter(*component)), if look.unicode { '▒' } else { '~' }, Ink::Lost(*component))
            }
            Part::Together(_) | Part::Untold(_) => {
                (Some('&'), if look.unicode { '░' } else { '.' }, Ink::Nobody)
            }
        };
        let mut text: String = letter.into_iter().collect();
        text.extend(std::iter::repeat_n(fill, cells - text.chars().count()));
        line = line.with(&text, ink);
    }
    line
}

/// The pieces that have a length, and how many columns each has: the end of each is rounded, so that together they are as
/// long as they should be.
pub(super) fn cells(stack: &PointStack, most: f64, length: usize) -> Vec<(Part, usize)> {
    let (mut at, mut drawn) = (0.0, 0);
    let mut cells = Vec::new();
    for (part, amount) in pieces(stack) {
        at += amount.value().max(0.0);
        let end = ((at / most * length as f64).round() as usize).min(length);
        if end > drawn {
            cells.push((part, end - drawn));
            drawn = end;
        }
    }
    cells
}

/// The longest of these stacks: what all that is not gained adds up to.
pub(super) fn longest<'a>(stacks: impl IntoIterator<Item = &'a PointStack>) -> f64 {
    let sums = stacks
        .into_iter()
        .map(|stack| pieces(stack).iter().map(|(_, amount)| amount.value().max(0.0)).sum::<f64>());
    sums.fold(f64::MIN_POSITIVE, f64::max)
}
