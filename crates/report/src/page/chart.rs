//! Marks of charts. Lengths across are shares of the chart's width in per cent, so that a chart fills whatever room
//! there is, text in it keeps its size, and nothing has to be drawn again when the room changes, nor by a script.

use askama::Template;
use holdup_model::{ObjectKind, State};

use super::shade::Shade;

/// The colour of a mark: the name of a variable of the page's palette, behind `c-`.
pub(super) type Color = &'static str;

/// A piece of a bar.
pub(super) struct Piece {
    pub(super) x: String,
    pub(super) width: String,
    pub(super) color: Color,
    pub(super) title: String,
    /// Whether it is wide enough to spare a gap to its neighbours.
    pub(super) gap: bool,
}

/// A part of a bar that is smaller than this has no gap beside it, which would take all of it.
const LEAST_WITH_GAP: f64 = 0.006;

/// True for a piece of a bar that is wide enough to spare a gap to its neighbours.
pub(super) fn has_gap(length: f64, whole: f64) -> bool {
    length >= LEAST_WITH_GAP * whole
}

/// A bar of pieces that abut.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<svg class="bar" width="100%" height="{{ height }}" role="img" aria-label="{{ label }}">{% for piece in pieces %}<rect class="c-{{ piece.color }}{% if piece.gap %} gap{% endif %}" x="{{ piece.x }}" width="{{ piece.width }}" height="100%"><title>{{ piece.title }}</title></rect>{% endfor %}</svg>"#
)]
pub(super) struct Bar {
    pub(super) pieces: Vec<Piece>,
    pub(super) label: String,
    pub(super) height: u32,
}

impl Bar {
    /// Lays out `parts` (length, colour, title) one behind the other; all of the bar is `whole`. Parts without a
    /// length are left out.
    pub(super) fn new(
        label: impl Into<String>,
        height: u32,
        whole: f64,
        parts: impl IntoIterator<Item = (f64, Color, String)>,
    ) -> Self {
        let mut at = 0.0;
        let mut pieces = Vec::new();
        for (length, color, title) in parts {
            if length > 0.0 {
                let gap = has_gap(length, whole);
                pieces.push(Piece { x: across(at, whole), width: across(length, whole), color, title, gap });
            }
            at += length;
        }
        Self { pieces, label: label.into(), height }
    }
}

/// A part of a whole as a length for SVG: `12.5%`; never more than all of it.
pub(super) fn across(part: f64, whole: f64) -> String {
    format!("{}%", coordinate(part, whole, 100.0))
}

/// A part of a whole as a coordinate from 0 to `size`.
pub(super) fn coordinate(part: f64, whole: f64, size: f64) -> String {
    let share = Some(part / whole).filter(|share| share.is_finite()).unwrap_or(0.0).clamp(0.0, 1.0);
    number(share * size)
}

/// A number for SVG, with at most three digits behind the point.
pub(super) fn number(value: f64) -> String {
    format!("{value:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The colour of what a thread did; for a wait by the role of what it waited for, if that is known.
pub(super) fn color_of_state(state: State, role: Option<ObjectKind>) -> Color {
    Shade::of(state, role).color()
}

/// Round values for an axis from 0 to `most`, at most `count` steps: the smallest step of 1, 2, 5 × 10ⁿ that does.
pub(super) fn ticks(most: f64, count: f64) -> Vec<f64> {
    if most <= 0.0 || !most.is_finite() {
        return vec![0.0];
    }
    let rough = most / count;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|k| k * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(10.0 * power);
    (0..=((most / step + 1e-9).floor() as u32)).map(|k| f64::from(k) * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_abut_and_fill_the_bar() {
        let parts = [(30.0, "act", String::new()), (0.0, "io", String::new()), (10.0, "lock", String::new())];
        let bar = Bar::new("", 10, 40.0, parts);
        let told: Vec<_> = bar.pieces.iter().map(|p| (p.x.as_str(), p.width.as_str())).collect();
        assert_eq!(told, [("0%", "75%"), ("75%", "25%")]);
    }

    #[test]
    fn lengths_stay_inside() {
        assert_eq!(across(5.0, 0.0), "0%");
        assert_eq!(across(50.0, 40.0), "100%");
        assert_eq!(across(f64::NAN, 40.0), "0%");
        assert_eq!(across(1.0, 3.0), "33.333%");
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(8.0, 4.0), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(ticks(64.0, 4.0), [0.0, 20.0, 40.0, 60.0]);
        assert_eq!(ticks(1.0, 4.0).len(), 3);
        assert_eq!(ticks(0.0, 4.0), [0.0]);
    }
}
