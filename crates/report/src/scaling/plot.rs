//! The speedup as a plot of characters: both axes count in powers of two, so that perfect scaling is a straight line.

use holdup_scaling::Scaling;

use super::{told, words};
use crate::Look;
use crate::ink::Ink;
use crate::lines::{Line, wrapped};

/// Rows of the plot, and the columns that it takes at the most.
const ROWS: usize = 9;
const COLUMNS: usize = 64;

/// Columns left of the axis.
const MARGIN: usize = 9;

/// More speedup than this (as a power of two) is not drawn.
const MOST_OCTAVES: f64 = 20.0;

/// What is drawn in a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Nothing,
    Perfect,
    Predicted,
    Measured,
}

/// The marks of a look: perfect, predicted, measured.
fn signs(look: Look) -> [&'static str; 3] {
    if look.unicode { ["·", "+", "●"] } else { [".", "+", "o"] }
}

/// The plot with its axes and its legend; empty for fewer than two numbers of threads.
pub(super) fn speedup(scaling: &Scaling, look: Look) -> Vec<Line> {
    let (Some(base), Some(last)) = (scaling.points.first(), scaling.points.last()) else { return Vec::new() };
    let beyond = scaling.law.as_ref().map_or_else(Vec::new, |law| told::beyond(scaling, law));
    let furthest = beyond.last().map_or(last.threads, |prediction| prediction.threads);
    let octaves = |threads: u32| (f64::from(threads.max(1)) / f64::from(base.threads.max(1))).log2().max(0.0);
    let span = octaves(furthest);
    if span <= 0.0 {
        return Vec::new();
    }
    let base_time = base.wall.median.get().max(1) as f64;
    let measured: Vec<(f64, f64)> =
        scaling.points.iter().map(|point| (octaves(point.threads), height(point.speedup))).collect();
    let predicted: Vec<(f64, f64)> = beyond
        .iter()
        .map(|point| (octaves(point.threads), height(base_time / point.time.get().max(1) as f64)))
        .collect();
    let all = || measured.iter().chain(&predicted).map(|(_, y)| *y);
    let (bottom, top) = (all().fold(0.0, f64::min).floor(), all().fold(span, f64::max));

    let columns = (look.columns() - MARGIN - 2).min(COLUMNS);
    let column = |x: f64| ((x / span) * (columns - 1) as f64).round() as usize;
    let row = |y: f64| (((top - y) / (top - bottom)) * (ROWS - 1) as f64).round() as usize;
    let mut marks = vec![[Mark::Nothing; COLUMNS]; ROWS];
    for at in 0..columns {
        marks[row(span * at as f64 / (columns - 1) as f64)][at] = Mark::Perfect;
    }
    for (points, mark) in [(&predicted, Mark::Predicted), (&measured, Mark::Measured)] {
        for (x, y) in points {
            marks[row(*y)][column(*x)] = mark;
        }
    }
    let mut lines = vec![Line::indented(2).with("speedup", Ink::Faint)];
    let labels = labelled_rows(bottom, top, row);
    lines.extend(marks.iter().zip(labels).map(|(marks, label)| drawn(&marks[..columns], label, look)));
    let threads = scaling.points.iter().map(|point| point.threads);
    let threads = threads.chain(beyond.iter().map(|point| point.threads));
    lines.extend(axis(threads.map(|threads| (column(octaves(threads)), threads)), columns, look));
    let [perfect, plus, point] = signs(look);
    let law = scaling.law.as_ref().filter(|_| !predicted.is_empty());
    let law = law.map_or_else(String::new, |law| format!("   {plus} {}", words::law(law.kind)));
    let legend = format!("{point} measured   {perfect} perfect{law}");
    lines.extend(wrapped(&legend, MARGIN + 1, Ink::Faint, look));
    lines
}

/// A speedup as a power of two.
fn height(speedup: f64) -> f64 {
    let octaves = speedup.log2();
    if octaves.is_nan() { 0.0 } else { octaves.clamp(-MOST_OCTAVES, MOST_OCTAVES) }
}

/// A label for each row in which a power of two lies.
fn labelled_rows(bottom: f64, top: f64, row: impl Fn(f64) -> usize) -> Vec<String> {
    let mut labels = vec![String::new(); ROWS];
    let (first, last) = (bottom.ceil() as i32, top.floor() as i32);
    let every = (last - first + 1).div_euclid(ROWS as i32 / 2 + 1) + 1;
    for power in (first..=last).filter(|power| power % every == 0) {
        let value = 2f64.powi(power);
        labels[row(f64::from(power))] =
            if power < 0 { format!("1/{:.0}", 1.0 / value) } else { format!("{value:.0}") };
    }
    labels
}

fn drawn(marks: &[Mark], label: String, look: Look) -> Line {
    let [perfect, predicted, measured] = signs(look);
    let edge = match (label.is_empty(), look.unicode) {
        (true, true) => "│",
        (false, true) => "┤",
        (_, false) => "|",
    };
    let mut line =
        Line::default().right_aligned(&label, MARGIN - 1, Ink::Faint).with(&format!(" {edge}"), Ink::Faint);
    for same in marks.chunk_by(|a, b| a == b) {
        let (sign, ink) = match same[0] {
            Mark::Nothing => (" ", Ink::Text),
            Mark::Perfect => (perfect, Ink::Faint),
            Mark::Predicted => (predicted, Ink::Color("act")),
            Mark::Measured => (measured, Ink::Strong),
        };
        line = line.with(&sign.repeat(same.len()), ink);
    }
    line
}

/// The axis of threads: each number below its place, where there is room.
fn axis(threads: impl Iterator<Item = (usize, u32)>, columns: usize, look: Look) -> [Line; 2] {
    let mut ticks = vec![' '; columns];
    let mut names = " ".repeat(columns);
    let mut free = 0;
    let (flat, tick, corner) = if look.unicode { ('─', '┬', "└") } else { ('-', '+', "+") };
    ticks.fill(flat);
    for (at, threads) in threads {
        let name = threads.to_string();
        let start = (at + 1).saturating_sub(name.len().div_ceil(2)).min(columns.saturating_sub(name.len()));
        ticks[at] = tick;
        if start >= free {
            names.replace_range(start..start + name.len(), &name);
            free = start + name.len() + 1;
        }
    }
    let ticks: String = ticks.into_iter().collect();
    let names = names.trim_end();
    let unit = if MARGIN + 1 + names.len() + 8 <= look.columns() { " threads" } else { "" };
    [
        Line::indented(MARGIN).with(&format!("{corner}{ticks}"), Ink::Faint),
        Line::indented(MARGIN + 1).with(&format!("{names}{unit}"), Ink::Faint),
    ]
}
