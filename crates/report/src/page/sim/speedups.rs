//! Speedup stacks: a bar from the speedup that is reached to the perfect one.

use askama::Template;
use holdup_speedup::{SpeedupLoss, SpeedupStack, SpeedupStep};

use super::super::chart::{Color, Piece, across};
use super::super::text::LOOK;
use super::stacks::color;
use crate::escape;
use crate::sim::{told, words};

/// A piece that is smaller than this part has no gap beside it.
const LEAST_WITH_GAP: f64 = 0.006;

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
    bar: SpeedupBar,
    parts: Vec<Part>,
}

struct Part {
    color: Color,
    name: &'static str,
    amount: String,
    meaning: &'static str,
}

/// The parts of the perfect speedup; gains stand before the zero line.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<svg class="bar losses" width="100%" height="22" role="img" tabindex="0" aria-label="{{ label }}">{% for piece in pieces %}<rect class="c-{{ piece.color }}{% if piece.gap %} gap{% endif %}" x="{{ piece.x }}" width="{{ piece.width }}" height="100%"><title>{{ piece.title }}</title></rect>{% endfor %}{% if let Some(zero) = zero %}<line class="zero" x1="{{ zero }}" x2="{{ zero }}" y1="-3" y2="25"/>{% endif %}</svg>"#
)]
struct SpeedupBar {
    label: String,
    pieces: Vec<Piece>,
    zero: Option<String>,
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
    let reached = ("act", "speedup", told.speedup, "what the machine as it is reaches");
    let losses = told
        .losses
        .iter()
        .rev()
        .map(|(loss, amount)| (color_of(*loss), words::loss(*loss), *amount, words::loss_meaning(*loss)));
    let parts: Vec<(Color, &'static str, f64, &'static str)> = [reached].into_iter().chain(losses).collect();
    let gained: f64 = parts.iter().map(|(_, _, amount, _)| (-amount).max(0.0)).sum();
    let whole: f64 = parts.iter().map(|(_, _, amount, _)| amount.abs()).sum();
    let mut pieces = Vec::new();
    let (mut before, mut behind) = (0.0, gained);
    for (color, name, amount, _) in &parts {
        let length = amount.abs();
        let at = if *amount < 0.0 { &mut before } else { &mut behind };
        if length > 0.0 {
            pieces.push(Piece {
                x: across(*at, whole),
                width: across(length, whole),
                color,
                title: format!("{name}\n{}", words::factor(*amount)),
                gap: length >= LEAST_WITH_GAP * whole,
            });
        }
        *at += length;
    }
    let sentence = told::speedup(told, LOOK);
    Stack {
        machine: escape::name(&told.machine, LOOK),
        cores: told.cores,
        bar: SpeedupBar {
            label: sentence.clone(),
            pieces,
            zero: (gained > 0.0).then(|| across(gained, whole)),
        },
        sentence,
        parts: parts
            .into_iter()
            .map(|(color, name, amount, meaning)| Part {
                color,
                name,
                amount: words::factor(amount),
                meaning,
            })
            .collect(),
    }
}

fn color_of(loss: SpeedupLoss) -> Color {
    match loss {
        SpeedupLoss::Idle(component) => color(component),
        SpeedupLoss::ExtraWork => "kF",
        SpeedupLoss::Step(SpeedupStep::Caches) => "kn",
        SpeedupLoss::Step(SpeedupStep::Links) => "k3",
        SpeedupLoss::Step(SpeedupStep::Memory) => "km",
        SpeedupLoss::Step(SpeedupStep::Coherence) => "ko",
        SpeedupLoss::Step(SpeedupStep::Locks) => "kL",
    }
}
