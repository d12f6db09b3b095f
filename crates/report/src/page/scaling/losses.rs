//! Where the time goes: at each number of threads a bar of what perfect scaling would take and of what is lost.

use askama::Template;
use holdup_model::{Nanos, Stack as Bars, StackComponent};
use holdup_scaling::{Losses as Parts, Scaling};

use super::super::chart::Color;
use super::super::stack_bar::{Reach, StackBar};
use super::super::text::time;
use crate::scaling::words;

/// The section.
#[derive(Template)]
#[template(path = "scaling_losses.html")]
pub(super) struct Losses {
    has_base: bool,
    stack: Stack,
    key: Vec<Part>,
}

/// Bars below each other, on one scale.
#[derive(Template)]
#[template(path = "scaling_stack.html")]
pub(super) struct Stack {
    caption: String,
    rows: Vec<Row>,
    parts: Vec<String>,
}

struct Row {
    threads: String,
    bar: StackBar,
    wall: String,
    efficiency: String,
    amounts: Vec<String>,
}

/// What a colour stands for.
struct Part {
    color: Color,
    name: String,
    meaning: &'static str,
}

/// What bars tell of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Against {
    /// Losses against perfect scaling from the base.
    Perfect,
    /// What it costs that threads work together, where there is no base.
    Nothing,
}

impl Against {
    /// What is left without losses.
    pub(super) fn rest(self) -> &'static str {
        match self {
            Self::Perfect => "perfect scaling",
            Self::Nothing => "useful time",
        }
    }

    /// Which of the two amounts is told.
    pub(super) fn pick<'a>(self, losses: &'a Parts, costs: &'a Parts) -> &'a Parts {
        match self {
            Self::Perfect => losses,
            Self::Nothing => costs,
        }
    }

    /// What is told of an analysis.
    pub(super) fn of(scaling: &Scaling) -> Self {
        if scaling.points.len() > 1 { Self::Perfect } else { Self::Nothing }
    }
}

/// A bar that reaches over more than so many times its time has a scale of its own beside others.
const WIDE: f64 = 1.5;

/// The reach, in parts of their times, of all these bars but the wide ones.
pub(super) fn reach_of_narrow(bars: &[Bars]) -> Reach {
    Reach::of_shares(bars.iter().filter(|bar| Reach::of_shares([*bar]).length() <= WIDE))
}

/// A bar of this stack on a common scale, or on its own where it is a wide one.
pub(super) fn bar(name: &str, stack: &Bars, reach: Reach, height: u32) -> StackBar {
    let own = Reach::of_shares([stack]);
    let reach = if own.length() > WIDE { own } else { reach };
    StackBar::new(name, stack, reach.times(stack.total()), height)
}

impl Stack {
    /// Bars of (threads, time, efficiency, losses), all on one scale.
    pub(super) fn new(
        caption: String,
        bars: &[(u32, Nanos, f64, &Parts)],
        against: Against,
        height: u32,
    ) -> Self {
        let stacks: Vec<Bars> =
            bars.iter().map(|(_, whole, _, losses)| losses.stack(*whole, against.rest())).collect();
        let reach = Reach::of_shares(&stacks);
        let names = Parts::default().components();
        let used: Vec<&StackComponent> = names.iter().filter(|part| is_used(part, &stacks)).collect();
        let amount =
            |stack: &Bars, part: &StackComponent| stack.get(&part.key).map_or(0, |part| part.amount as i64);
        let rows = bars.iter().zip(&stacks).map(|(&(threads, whole, efficiency, _), stack)| Row {
            threads: threads.to_string(),
            bar: StackBar::new(
                &format!("{threads} threads, {}", time(whole)),
                stack,
                reach.times(stack.total()),
                height,
            ),
            wall: time(whole),
            efficiency: words::efficiency(efficiency),
            amounts: used.iter().map(|part| super::signed(amount(stack, part))).collect(),
        });
        Self {
            caption,
            rows: rows.collect(),
            parts: used.iter().map(|part| part.label.to_string()).collect(),
        }
    }
}

/// True for a part of which there is any in these stacks.
fn is_used(part: &StackComponent, stacks: &[Bars]) -> bool {
    stacks.iter().any(|stack| stack.get(&part.key).is_some_and(|part| part.amount != 0.0))
}

impl Losses {
    pub(super) fn new(scaling: &Scaling) -> Self {
        let against = Against::of(scaling);
        let bars: Vec<_> = (scaling.points.iter())
            .map(|point| {
                let told = against.pick(&point.losses, &point.costs);
                (point.threads, point.wall.median, point.efficiency, told)
            })
            .collect();
        let of_regions = scaling.regions.iter().flat_map(|region| &region.points);
        let of_regions = of_regions.map(|point| against.pick(&point.losses, &point.costs));
        let all = bars.iter().map(|(.., told)| *told).chain(of_regions);
        let all: Vec<Bars> = all.map(|losses| losses.stack(Nanos::ZERO, against.rest())).collect();
        let meaning = match against {
            Against::Perfect => "what the time would be without any loss",
            Against::Nothing => "what the time would be if threads did not have to work together",
        };
        let rest = Part { color: "act", name: against.rest().to_owned(), meaning };
        let names = Parts::default().components();
        let parts = names.iter().filter(|part| is_used(part, &all));
        let parts =
            parts.map(|part| Part { color: part.color, name: part.label.to_string(), meaning: part.meaning });
        Self {
            has_base: against == Against::Perfect,
            stack: Stack::new("Where the time goes".to_owned(), &bars, against, 22),
            key: [rest].into_iter().chain(parts).collect(),
        }
    }
}
