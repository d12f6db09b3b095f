//! Speedup stacks: a bar from the speedup that is reached to the perfect one.

use askama::Template;
use holdup_speedup::SpeedupStack;

use super::super::chart::Color;
use super::super::stack_bar::{Reach, StackBar};
use super::super::text::LOOK;
use crate::escape;
use crate::sim::told;

/// The section of the page.
#[derive(Template)]
#[template(path = "sim_speedups.html")]
pub(in crate::page) struct Speedups {
    question: &'static str,
    stacks: Vec<Stack>,
}

struct Stack {
    machine: String,
    sentence: String,
    cores: u32,
    bar: StackBar,
    parts: Vec<Part>,
}

struct Part {
    color: Color,
    name: String,
    amount: String,
    meaning: &'static str,
}

impl Speedups {
    /// `None` without a stack.
    pub(in crate::page) fn new(stacks: &[SpeedupStack]) -> Option<Self> {
        Self::asked("What the speedup is lost to", stacks)
    }

    /// Beside a measured one.
    pub(in crate::page) fn beside_measured(stacks: &[SpeedupStack]) -> Option<Self> {
        Self::asked("What the simulator says", stacks)
    }

    fn asked(question: &'static str, stacks: &[SpeedupStack]) -> Option<Self> {
        let stacks: Vec<Stack> = stacks.iter().map(stack).collect();
        (!stacks.is_empty()).then_some(Self { question, stacks })
    }
}

fn stack(told: &SpeedupStack) -> Stack {
    let stack = told.stack();
    let sentence = told::speedup(told, LOOK);
    Stack {
        machine: escape::name(&told.machine, LOOK),
        cores: told.cores,
        bar: StackBar::new(&sentence, &stack, Reach::of([&stack]), 22),
        sentence,
        parts: stack
            .components()
            .iter()
            .map(|part| Part {
                color: part.color,
                name: part.label.to_string(),
                amount: stack.told_short(part.amount),
                meaning: part.meaning,
            })
            .collect(),
    }
}
