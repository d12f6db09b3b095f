//! What to do: what helps, best first, with what it saves.

use askama::Template;
use holdup_model::Nanos;
use holdup_scaling::{Hint, Scaling};

use super::super::chart::across;
use super::super::text::{LOOK, sentence};
use crate::scaling::{told, words};

/// At most so many hints have a place.
const MOST: usize = 20;

/// The section.
#[derive(Template)]
#[template(path = "scaling_hints.html")]
pub(super) struct Hints {
    threads: u32,
    rows: Vec<Row>,
    more: usize,
}

struct Row {
    rank: usize,
    advice: &'static str,
    text: String,
    place: String,
    /// The region that it is for, where that has a row.
    region: Option<usize>,
    kind: &'static str,
    gain: String,
    method: String,
    given: Option<Given>,
}

/// A gain on the scale that all hints share.
struct Given {
    cost: Option<String>,
    low: String,
    width: String,
    at: String,
    range: String,
    label: String,
}

impl Hints {
    pub(super) fn new(scaling: &Scaling) -> Self {
        let last = scaling.points.last();
        let wall = last.map_or(Nanos::ZERO, |point| point.wall.median);
        let most = (scaling.hints.iter().take(MOST))
            .filter_map(|hint| hint.gain)
            .map(|gain| gain.high.max(gain.time))
            .fold(0, i64::max);
        Self {
            threads: last.map_or(0, |point| point.threads),
            rows: (scaling.hints.iter().take(MOST).enumerate())
                .map(|(index, hint)| row(scaling, index, hint, wall, most as f64))
                .collect(),
            more: scaling.hints.len().saturating_sub(MOST),
        }
    }
}

fn row(scaling: &Scaling, index: usize, hint: &Hint, wall: Nanos, most: f64) -> Row {
    let gain = told::gain(hint, wall, LOOK);
    let given = hint.gain.filter(|_| most > 0.0).map(|range| {
        let across = |nanos: i64| across(nanos as f64, most);
        // A bound says nothing of how little it may be.
        let low = if hint.bound { 0 } else { range.low.max(0) };
        Given {
            cost: None,
            low: across(low),
            width: across(range.high.saturating_sub(low)),
            at: across(range.time),
            range: words::range(low, range.high, LOOK),
            label: gain.clone(),
        }
    });
    Row {
        rank: index + 1,
        advice: words::advice(hint.kind),
        text: super::super::text::unbroken(&crate::escape::sentences(&hint.text, LOOK)),
        place: words::hint_place(scaling, hint, LOOK),
        region: hint
            .region
            .filter(|&index| index < scaling.regions.len().min(super::regions::MOST))
            .map(|index| index + 1),
        kind: words::hint_kind(hint.kind),
        gain: super::super::text::unbroken(&gain).replace(" times faster", "\u{a0}times\u{a0}faster"),
        method: sentence(&hint.method),
        given,
    }
}
