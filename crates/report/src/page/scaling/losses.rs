//! Where the time goes: at each number of threads a bar of what perfect scaling would take and of what is lost.

use askama::Template;
use holdup_model::Nanos;
use holdup_scaling::{Losses as Parts, Scaling};

use super::super::chart::{Color, across};
use super::super::text::{LOOK, percent, time};
use crate::scaling::words;

/// A part of a bar that is smaller than this share of it has no gap beside it, which would take all of it.
const LEAST_WITH_GAP: f64 = 0.006;

/// More than so many times its time is not drawn.
const FURTHEST: f64 = 8.0;

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
    parts: Vec<&'static str>,
}

struct Row {
    threads: String,
    bar: LossBar,
    wall: String,
    efficiency: String,
    amounts: Vec<String>,
}

/// What a colour stands for.
struct Part {
    color: Color,
    name: &'static str,
    meaning: &'static str,
}

/// One bar: perfect time and losses as shares of the time, gains (negative losses) left of the zero line.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<svg class="bar losses" width="100%" height="{{ height }}" role="img" aria-label="{{ label }}">{% for piece in pieces %}<rect class="c-{{ piece.color }}{% if piece.gap %} gap{% endif %}" x="{{ piece.x }}" width="{{ piece.width }}" height="100%"><title>{{ piece.title }}</title></rect>{% endfor %}{% for x in marks %}<line class="mark" x1="{{ x }}" x2="{{ x }}" y1="0" y2="100%"/>{% endfor %}</svg>"#
)]
pub(super) struct LossBar {
    pieces: Vec<Piece>,
    marks: Vec<String>,
    label: String,
    height: u32,
}

struct Piece {
    x: String,
    width: String,
    color: Color,
    title: String,
    gap: bool,
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
    fn rest(self) -> &'static str {
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

/// How far bars reach to both sides of zero, in times of what they are of.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    left: f64,
    right: f64,
}

/// A bar that reaches over more than so many times its time has a scale of its own beside others.
const WIDE: f64 = 1.5;

impl Reach {
    /// The reach of all these bars but the wide ones.
    pub(super) fn of_narrow<'a>(bars: impl IntoIterator<Item = (Nanos, &'a Parts)>) -> Self {
        Self::of(bars.into_iter().filter(|bar| !Self::of([*bar]).is_wide()))
    }

    fn is_wide(self) -> bool {
        self.left + self.right > WIDE
    }

    /// This reach, or that of a wide bar.
    pub(super) fn for_bar(self, bar: (Nanos, &Parts)) -> Self {
        let own = Self::of([bar]);
        if own.is_wide() { own } else { self }
    }

    /// The reach of all these bars.
    pub(super) fn of<'a>(bars: impl IntoIterator<Item = (Nanos, &'a Parts)>) -> Self {
        let mut reach = Self { left: 0.0, right: 1.0 };
        for (whole, losses) in bars {
            let sides = shares(whole, losses, Against::Perfect);
            let sum = |is_right: bool| {
                sides.iter().map(|(.., share)| *share).filter(|share| (*share > 0.0) == is_right).sum::<f64>()
            };
            reach.left = reach.left.max(-sum(false)).min(FURTHEST);
            reach.right = reach.right.max(sum(true)).min(FURTHEST);
        }
        reach
    }
}

/// The pieces of a bar: colour, name, and share of `whole`; all of them add up to 1.
fn shares(whole: Nanos, losses: &Parts, against: Against) -> Vec<(Color, &'static str, f64)> {
    let of = |nanos: f64| nanos / whole.get().max(1) as f64;
    let rest = ("act", against.rest(), of(whole.get() as f64 - losses.lost as f64));
    let parts = words::parts(losses).map(|part| (part.color, part.word, of(part.nanos as f64)));
    [rest].into_iter().chain(parts).collect()
}

impl LossBar {
    pub(super) fn new(
        title: &str,
        (whole, losses): (Nanos, &Parts),
        against: Against,
        reach: Reach,
        height: u32,
    ) -> Self {
        let shares = shares(whole, losses, against);
        let width = reach.left + reach.right;
        let x = |at: f64| across(reach.left + at, width);
        let (mut left, mut right) = (0.0, 0.0);
        let mut pieces = Vec::new();
        for (color, name, share) in shares.iter().copied().filter(|(.., share)| *share != 0.0) {
            let from = if share < 0.0 { left + share } else { right };
            let drawn = share.abs().min(width);
            let amount = words::signed((share * whole.get() as f64).round() as i64, LOOK);
            pieces.push(Piece {
                x: x(from.max(-reach.left)),
                width: across(drawn, width),
                color,
                title: format!("{name}\n{amount} · {}", percent(share)),
                gap: drawn >= LEAST_WITH_GAP * width,
            });
            *(if share < 0.0 { &mut left } else { &mut right }) += share;
        }
        let zero = (reach.left > 0.0).then(|| x(0.0));
        let all = (reach.right > 1.0).then(|| x(1.0));
        let said: Vec<String> = (shares.iter().filter(|(.., share)| *share != 0.0))
            .map(|(_, name, share)| format!("{name} {}", percent(*share)))
            .collect();
        Self {
            pieces,
            marks: zero.into_iter().chain(all).collect(),
            label: format!(
                "{title}: {}",
                if said.is_empty() { "nothing".to_owned() } else { said.join(", ") }
            ),
            height,
        }
    }
}

impl Stack {
    /// Bars of (threads, time, efficiency, losses), all on one scale.
    pub(super) fn new(
        caption: String,
        bars: &[(u32, Nanos, f64, &Parts)],
        against: Against,
        height: u32,
    ) -> Self {
        let reach = Reach::of(bars.iter().map(|(_, whole, _, losses)| (*whole, *losses)));
        let all: Vec<_> = bars.iter().map(|(.., losses)| words::parts(losses)).collect();
        let used: Vec<usize> = (0..words::parts(&Parts::default()).len())
            .filter(|&part| all.iter().any(|parts| parts[part].nanos != 0))
            .collect();
        let names = words::parts(&Parts::default());
        let rows = bars.iter().zip(&all).map(|(&(threads, whole, efficiency, losses), parts)| Row {
            threads: threads.to_string(),
            bar: LossBar::new(
                &format!("{threads} threads, {}", time(whole)),
                (whole, losses),
                against,
                reach,
                height,
            ),
            wall: time(whole),
            efficiency: percent(efficiency),
            amounts: used.iter().map(|&part| super::signed(parts[part].nanos)).collect(),
        });
        Self { caption, rows: rows.collect(), parts: used.iter().map(|&part| names[part].word).collect() }
    }
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
        let all: Vec<_> = bars.iter().map(|(.., told)| *told).chain(of_regions).map(words::parts).collect();
        let meaning = match against {
            Against::Perfect => "what the time would be without any loss",
            Against::Nothing => "what the time would be if threads did not have to work together",
        };
        let rest = Part { color: "act", name: against.rest(), meaning };
        let parts = words::parts(&Parts::default()).into_iter().enumerate();
        let parts = parts.filter(|(index, _)| all.iter().any(|parts| parts[*index].nanos != 0));
        let parts = parts.map(|(_, part)| Part { color: part.color, name: part.word, meaning: part.meaning });
        Self {
            has_base: against == Against::Perfect,
            stack: Stack::new("Where the time goes".to_owned(), &bars, against, 22),
            key: [rest].into_iter().chain(parts).collect(),
        }
    }
}
