//! Stacks as bars of characters: each piece begins with the letter of its component, where it has one.

use holdup_model::{Stack, StackComponent};

use crate::ink::Ink;
use crate::lines::Line;
use crate::{Look, palette};

/// The line with a stack at its end, so long that `most` (in the stack's unit) takes `length` columns. What helps has no
/// length: the figures have it.
pub(crate) fn bar(mut line: Line, stack: &Stack, most: f64, length: usize, look: Look) -> Line {
    for (component, cells) in cells(stack, most, length) {
        let mut text: String = component.letter.into_iter().collect();
        let fill = palette::fill(component.color, look);
        text.extend(std::iter::repeat_n(fill, cells - text.chars().count()));
        line = line.with(&text, Ink::Color(component.color));
    }
    line
}

/// The components that have a length, and how many columns each has: the end of each is rounded, so that together they are
/// as long as they should be.
pub(crate) fn cells(stack: &Stack, most: f64, length: usize) -> Vec<(&StackComponent, usize)> {
    let (mut at, mut drawn) = (0.0, 0);
    let mut cells = Vec::new();
    for component in stack.components() {
        at += component.amount.max(0.0);
        let end = ((at / most * length as f64).round() as usize).min(length);
        if end > drawn {
            cells.push((component, end - drawn));
            drawn = end;
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use holdup_model::Unit;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_bar_is_as_long_as_it_should_be(
            amounts in prop::collection::vec(0.0..1e18_f64, 1..20),
            length in 1usize..100,
        ) {
            let component = |(index, &amount): (usize, &f64)| StackComponent::new(index.to_string(), "", "act", amount);
            let stack = Stack::of(Unit::Cycles, amounts.iter().enumerate().map(component).collect());
            let sum: usize = cells(&stack, stack.total(), length).iter().map(|(_, cells)| cells).sum();
            prop_assert_eq!(sum, if stack.total() > 0.0 { length } else { 0 });
        }
    }
}
