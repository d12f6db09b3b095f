//! A speedup stack as a bar: what is reached, then what is lost; what helps hangs out on the left.

use askama::Template;
use holdup_speedup::Speedup;

use super::super::chart::{Color, Piece, across};
use super::super::text::LOOK;
use crate::stack::pieces::Part;
use crate::stack::words;

/// A piece that is smaller than this share of the bar has no gap beside it, which would take all of it.
const LEAST_WITH_GAP: f64 = 0.006;

/// Further than so many times its number of threads no bar is drawn to either side.
const FURTHEST: f64 = 3.0;

/// How far bars of one scale reach to both sides of zero, as speedups.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    left: f64,
    right: f64,
}

impl Reach {
    /// The reach of all these stacks.
    pub(super) fn of<'a>(stacks: impl Iterator<Item = &'a [(Part, Speedup)]>) -> Self {
        let mut reach = Self { left: 0.0, right: f64::MIN_POSITIVE };
        for stack in stacks {
            let perfect: f64 = stack.iter().map(|(_, amount)| amount.value()).sum();
            let side =
                |sign: f64| stack.iter().map(|(_, amount)| (sign * amount.value()).max(0.0)).sum::<f64>();
            let most = FURTHEST * perfect.max(0.0);
            reach.left = reach.left.max(side(-1.0).min(most));
            reach.right = reach.right.max(side(1.0).min(most));
        }
        reach
    }
}

/// The bar.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<svg class="bar losses" width="100%" height="20" role="img" aria-label="{{ label }}">{% for piece in pieces %}<rect class="c-{{ piece.color }}{% if piece.gap %} gap{% endif %}" x="{{ piece.x }}" width="{{ piece.width }}" height="100%"><title>{{ piece.title }}</title></rect>{% endfor %}{% if let Some(x) = zero %}<line class="mark" x1="{{ x }}" x2="{{ x }}" y1="0" y2="100%"/>{% endif %}</svg>"#
)]
pub(super) struct StackBar {
    pieces: Vec<Piece>,
    label: String,
    zero: Option<String>,
}

impl StackBar {
    pub(super) fn new(name: &str, stack: &[(Part, Speedup)], reach: Reach) -> Self {
        let width = reach.left + reach.right;
        let (mut left, mut right) = (0.0, 0.0);
        let mut drawn = Vec::new();
        let mut said = Vec::new();
        for (part, amount) in stack.iter().filter(|(_, amount)| *amount != Speedup::ZERO) {
            let amount_told = words::speedup(*amount, LOOK);
            let value = amount.value();
            let (from, to) = if value < 0.0 { (left + value, left) } else { (right, right + value) };
            *(if value < 0.0 { &mut left } else { &mut right }) += value;
            said.push(format!("{} {amount_told}", part.words()));
            let (from, to) = (from.clamp(-reach.left, reach.right), to.clamp(-reach.left, reach.right));
            if to > from {
                let color: Color = part.color();
                drawn.push(Piece {
                    x: across(reach.left + from, width),
                    width: across(to - from, width),
                    color,
                    title: format!("{}\n{amount_told}", part.words()),
                    gap: to - from >= LEAST_WITH_GAP * width,
                });
            }
        }
        let said = if said.is_empty() { "nothing".to_owned() } else { said.join(", ") };
        let zero = (reach.left > 0.0).then(|| across(reach.left, width));
        Self { pieces: drawn, label: format!("{name}: {said}"), zero }
    }
}
