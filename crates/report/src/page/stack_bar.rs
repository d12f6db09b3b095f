//! A stack as a bar: its components one behind the other, and what helps left of the zero line.

use askama::Template;
use holdup_model::Stack;

use super::chart::{Piece, across, has_gap};

/// How far bars of one scale reach to both sides of zero, in the unit of their stacks.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    left: f64,
    right: f64,
}

/// Further than so many times its total no bar is drawn to either side.
const FURTHEST: f64 = 8.0;

impl Reach {
    /// The reach of all these stacks.
    pub(super) fn of<'a>(stacks: impl IntoIterator<Item = &'a Stack>) -> Self {
        Self::in_parts(stacks, |_| 1.0)
    }

    /// The reach of all these stacks, each in parts of its own total.
    pub(super) fn of_shares<'a>(stacks: impl IntoIterator<Item = &'a Stack>) -> Self {
        Self::in_parts(stacks, |stack| 1.0 / stack.total())
    }

    fn in_parts<'a>(stacks: impl IntoIterator<Item = &'a Stack>, part: impl Fn(&Stack) -> f64) -> Self {
        let mut reach = Self { left: 0.0, right: f64::MIN_POSITIVE };
        for stack in stacks.into_iter().filter(|stack| stack.total() > 0.0) {
            let (left, right) = stack.reach();
            let most = FURTHEST * stack.total();
            reach.left = reach.left.max(left.min(most) * part(stack));
            reach.right = reach.right.max(right.min(most) * part(stack));
        }
        reach
    }

    /// A reach in parts of a total as one in the unit of a stack of that total.
    pub(super) fn times(self, total: f64) -> Self {
        Self { left: self.left * total, right: self.right * total }
    }

    /// The length of a bar.
    pub(super) fn length(self) -> f64 {
        self.left + self.right
    }
}

/// A stack as a bar. Of one whose length a script sets, `data` are its lengths in the two units to choose from.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<svg class="bar {{ class }}" width="100%" height="{{ height }}" role="img" aria-label="{{ label }}"{% if let Some((absolute, cpi)) = data %} data-absolute="{{ absolute }}" data-cpi="{{ cpi }}"{% endif %}>{% for piece in pieces %}<rect class="c-{{ piece.color }}{% if piece.gap %} gap{% endif %}" x="{{ piece.x }}" width="{{ piece.width }}" height="100%"><title>{{ piece.title }}</title></rect>{% endfor %}{% for x in marks %}<line class="mark" x1="{{ x }}" x2="{{ x }}" y1="0" y2="100%"/>{% endfor %}</svg>"#
)]
pub(super) struct StackBar {
    class: &'static str,
    pieces: Vec<Piece>,
    /// Where zero is, and where the total is, for stacks in which something helps.
    marks: Vec<String>,
    label: String,
    height: u32,
    data: Option<(String, String)>,
}

impl StackBar {
    /// The bar of a stack with a name, on a scale.
    pub(super) fn new(name: &str, stack: &Stack, reach: Reach, height: u32) -> Self {
        let width = reach.length();
        let (mut left, mut right) = (0.0, 0.0);
        let mut pieces = Vec::new();
        let mut said = Vec::new();
        for component in stack.components().iter().filter(|component| component.amount != 0.0) {
            let amount = component.amount;
            let (from, to) = if amount < 0.0 { (left + amount, left) } else { (right, right + amount) };
            *(if amount < 0.0 { &mut left } else { &mut right }) += amount;
            said.push(format!("{} {}", component.label, stack.told_short(amount)));
            let (from, to) = (from.clamp(-reach.left, reach.right), to.clamp(-reach.left, reach.right));
            if to > from {
                pieces.push(Piece {
                    x: across(reach.left + from, width),
                    width: across(to - from, width),
                    color: component.color,
                    title: format!("{}\n{}", component.label, stack.told(amount)),
                    gap: has_gap(to - from, width),
                });
            }
        }
        let said = if said.is_empty() { "nothing".to_owned() } else { said.join(", ") };
        let marks = if reach.left > 0.0 { vec![0.0, stack.total()] } else { Vec::new() };
        Self {
            class: "losses",
            pieces,
            marks: marks.into_iter().map(|at| across(reach.left + at, width)).collect(),
            label: format!("{name}: {said}"),
            height,
            data: None,
        }
    }

    /// A bar of cycles: a script makes it as long as its cycles, or its cycles per instruction, are beside those of others.
    pub(super) fn scaled(self, absolute: String, cpi: String) -> Self {
        Self { class: "cycles", data: Some((absolute, cpi)), ..self }
    }
}
