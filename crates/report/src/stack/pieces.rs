//! A speedup stack as pieces of a bar: what is reached, and what it is lost to, from there to the perfect speedup.

use holdup_model::Arrange;
use holdup_speedup::{Component, PointStack, Speedup};

/// What a piece stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// The measured speedup.
    Reached,
    /// One component.
    Lost(Component),
    /// Several that cannot be told apart.
    Together(Vec<Component>),
    /// What is reached, or lost to this one: the first was not measured.
    Untold(Component),
}

impl Part {
    /// What it is called.
    pub(crate) fn words(&self) -> String {
        match self {
            Part::Reached => "measured speedup".to_owned(),
            Part::Lost(component) => component.words().to_owned(),
            Part::Untold(component) => format!("reached, or lost to {}: not measured", component.words()),
            Part::Together(components) => format!("{} together", super::words::several(components)),
        }
    }

    pub(crate) fn color(&self) -> &'static str {
        match self {
            Part::Reached => "act",
            Part::Lost(component) => super::words::color(*component),
            Part::Together(_) | Part::Untold(_) => "hatch",
        }
    }
}

/// All of a stack, from the bottom to the top: what was introduced last is next to the measured speedup. They add up to the
/// number of threads; nothing that is 0 is left out.
pub(crate) fn pieces(stack: &PointStack) -> Vec<(Part, Speedup)> {
    let mut pieces = vec![(Part::Reached, stack.curves.measured)];
    pieces.extend(stack.components.iter().rev().map(|(component, amount)| (Part::Lost(*component), *amount)));
    if let Some(together) = &stack.together {
        pieces.push((Part::Together(together.of.clone()), together.amount));
    }
    pieces
}

/// What is lost, most first; nothing that helps or is next to nothing.
pub(crate) fn largest(stack: &PointStack) -> Vec<(Part, Speedup)> {
    let mut lost: Vec<(Part, Speedup)> = pieces(stack)
        .into_iter()
        .filter(|(part, amount)| *part != Part::Reached && amount.millionths() >= 5_000)
        .collect();
    lost.arrange_by_key(|(_, amount)| std::cmp::Reverse(*amount));
    lost
}
