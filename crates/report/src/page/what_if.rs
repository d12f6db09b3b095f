//! What would it give: how the run would change with the size of a change.

use std::fmt::Write;

use askama::Template;
use holdup_criticality::CurvePoint;
use holdup_model::Nanos;

use super::chart::{across, coordinate, ticks};
use super::text::{Told, range, sentence, time};
use crate::numbers;

/// The units in which a curve is drawn; the chart is stretched to the room there is.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 150.0;

/// The section.
#[derive(Template)]
#[template(path = "what_if.html")]
pub(super) struct WhatIf {
    /// Whether the recording was replayed at all.
    replayed: Option<String>,
    curves: Vec<Curve>,
    rows: Vec<(usize, String, String, String, String)>,
}

struct Curve {
    what: String,
    axis: &'static str,
    finding: Option<usize>,
    label: String,
    band: String,
    line: String,
    height: f64,
    /// Where each point is and what it says.
    dots: Vec<(String, String, String)>,
    /// The ranges of points that are not on the curve.
    whiskers: Vec<(String, String, String)>,
    /// Where the unchanged run is, and its length.
    unchanged: (String, String),
    grid: Vec<(String, String)>,
    names: Vec<(String, &'static str, String)>,
    numbers: Vec<(String, String, String)>,
}

impl WhatIf {
    pub(super) fn new(told: &Told<'_>) -> Self {
        let diagnosis = told.diagnosis;
        let what_if = diagnosis.what_if.as_ref();
        let rows = diagnosis.findings.iter().enumerate().filter_map(|(index, finding)| {
            let gain = finding.gain.as_ref().filter(|gain| !gain.expression.is_empty())?;
            let left = |gain: Nanos| time(diagnosis.wall.saturating_sub(gain));
            let [low, high] = [gain.high, gain.low].map(|gain| diagnosis.wall.saturating_sub(gain));
            let range = range(low, high);
            Some((index + 1, sentence(&finding.what), sentence(&gain.expression), left(gain.time), range))
        });
        Self {
            replayed: what_if.map(|what_if| {
                let off = what_if.replayed.get() as f64 - diagnosis.wall.get() as f64;
                let off = off.abs() / diagnosis.wall.get().max(1) as f64;
                format!(
                    "The replay of the unchanged run takes {}, {} off the recorded {}.",
                    time(what_if.replayed),
                    numbers::percent(off),
                    time(diagnosis.wall)
                )
            }),
            curves: what_if.map_or_else(Vec::new, |what_if| {
                let all = || what_if.curves.iter().flat_map(|curve| &curve.points);
                // One scale for all of them, so that they compare by eye.
                let most = all().map(|point| point.high.max(point.wall)).fold(what_if.replayed, Nanos::max);
                what_if
                    .curves
                    .iter()
                    .filter(|curve| !curve.points.is_empty())
                    .map(|curve| drawn(curve, diagnosis.findings.len(), what_if.replayed, most))
                    .collect()
            }),
            rows: rows.collect(),
        }
    }
}

/// A curve over the sizes of a change, which are as far apart as their order: the last one is infinite where a thing is
/// removed.
fn drawn(curve: &holdup_criticality::Curve, findings: usize, replayed: Nanos, most: Nanos) -> Curve {
    let most = most.get() as f64 * 1.04;
    let points = &curve.points;
    let steps = (points.len() - 1).max(1) as f64;
    let x = |index: usize| coordinate(index as f64, steps, WIDTH);
    let y = |wall: Nanos| coordinate(most - wall.get() as f64, most, HEIGHT);
    // What is removed is another change than one of some size: it has a place behind the curve, not on it.
    let sized = points.iter().take_while(|point| point.at.is_finite()).count();
    let mut line = String::new();
    let mut band = String::new();
    for (index, point) in points[..sized].iter().enumerate() {
        let to = if index == 0 { 'M' } else { 'L' };
        write!(line, "{to}{},{}", x(index), y(point.wall)).expect("a String takes all that is written to it");
        write!(band, "{to}{},{}", x(index), y(point.high)).expect("a String takes all that is written to it");
    }
    for (index, point) in points[..sized].iter().enumerate().rev() {
        write!(band, "L{},{}", x(index), y(point.low)).expect("a String takes all that is written to it");
    }
    if !band.is_empty() {
        band.push('Z');
    }
    let name = |point: &CurvePoint| match point.at {
        at if at.is_infinite() => "removed".to_owned(),
        at if at.fract() == 0.0 => format!("{at:.0}"),
        at => format!("{at:.2}"),
    };
    let range_of = |point: &CurvePoint| range(point.low, point.high);
    let every = points.len().div_ceil(8);
    let said: Vec<String> =
        points.iter().map(|point| format!("{} {}: {}", curve.axis, name(point), time(point.wall))).collect();
    Curve {
        what: sentence(&curve.what),
        axis: curve.axis,
        finding: curve.finding.filter(|rank| *rank < findings).map(|rank| rank + 1),
        label: format!("{}. {}", sentence(&curve.what), said.join("; ")),
        band,
        line,
        height: HEIGHT,
        dots: (points.iter().enumerate())
            .map(|(index, point)| {
                let title =
                    format!("{} {}\n{}\n({})", curve.axis, name(point), time(point.wall), range_of(point));
                (across(index as f64, steps), y(point.wall), title)
            })
            .collect(),
        whiskers: (points.iter().enumerate().skip(sized))
            .map(|(index, point)| (across(index as f64, steps), y(point.low), y(point.high)))
            .collect(),
        unchanged: (y(replayed), time(replayed)),
        grid: (ticks(most / 1e9, 3.0).into_iter())
            .map(|seconds| {
                let at = Nanos::new((seconds * 1e9).round() as u64);
                (y(at), if at == Nanos::ZERO { "0".to_owned() } else { time(at) })
            })
            .collect(),
        names: (points.iter().enumerate())
            .filter(|(index, _)| match points.len() - 1 - index {
                0 => true,
                // The last one stands left of its point, and may be a word.
                left => index % every == 0 && left > points.len() / 7,
            })
            .map(|(index, point)| {
                let anchor = match index {
                    0 => "start",
                    last if last + 1 == points.len() => "end",
                    _ => "middle",
                };
                (across(index as f64, steps), anchor, name(point))
            })
            .collect(),
        numbers: points.iter().map(|point| (name(point), time(point.wall), range_of(point))).collect(),
    }
}
