//! How it scales: speedup and efficiency over the number of threads, measured, perfect, and as the law says.

use std::fmt::Write;

use askama::Template;
use holdup_model::{Arrange, Nanos};
use holdup_scaling::Scaling;

use super::super::chart::{across, coordinate};
use super::super::text::{LOOK, counted, percent, range, time};
use crate::numbers;
use crate::scaling::{told, words};

/// The units in which a curve is drawn; the chart is stretched to the room there is.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 220.0;

/// More speedup than this, as a power of two, is not drawn.
const MOST_OCTAVES: f64 = 20.0;

/// More efficiency than this is not drawn.
const MOST_EFFICIENCY: f64 = 8.0;

/// An interval that reaches below a line by less than this (a power of two) needs no further line.
const SLACK: f64 = 0.2;

/// At most so many lines across a chart.
const MOST_LINES: i32 = 6;

/// At most so many numbers of threads are written below a chart.
const MOST_NAMES: usize = 9;

/// Numbers of threads nearer to each other than this have no room for both names (share of the axis).
const NEAR: f64 = 0.055;

/// The section.
#[derive(Template)]
#[template(path = "scaling_curves.html")]
pub(super) struct Curves {
    lead: String,
    charts: Vec<Chart>,
    law: Option<&'static str>,
    numbers: Vec<Row>,
}

struct Chart {
    title: &'static str,
    note: &'static str,
    label: String,
    height: f64,
    grid: Vec<(String, String)>,
    perfect: String,
    law: String,
    band: String,
    line: String,
    /// The ranges of measured points: where, from, to.
    whiskers: Vec<(String, String, String)>,
    dots: Vec<(String, String, String)>,
    predicted: Vec<(String, String, String)>,
    names: Vec<(String, &'static str, String)>,
    /// Where there are as many threads as cores, and how many these are.
    cores: Option<(String, String)>,
}

struct Row {
    threads: String,
    wall: String,
    range: String,
    runs: u32,
    speedup: String,
    efficiency: String,
}

/// A point of a curve with the ends of its interval.
struct Point {
    threads: u32,
    value: f64,
    low: f64,
    high: f64,
    title: String,
}

impl Curves {
    pub(super) fn new(scaling: &Scaling) -> Self {
        let several = scaling.points.iter().any(|point| point.wall.runs > 1);
        Self {
            lead: super::super::text::unbroken(&told::lost(scaling, LOOK).unwrap_or_default()),
            charts: if scaling.points.len() < 2 { Vec::new() } else { charts(scaling) },
            law: scaling.law.as_ref().map(|law| words::law(law.kind)),
            numbers: (scaling.points.iter())
                .map(|point| Row {
                    threads: point.threads.to_string(),
                    wall: time(point.wall.median),
                    range: if several && point.wall.runs > 1 {
                        range(point.wall.low, point.wall.high)
                    } else {
                        String::new()
                    },
                    runs: point.wall.runs,
                    speedup: numbers::factor(point.speedup),
                    efficiency: words::efficiency(point.efficiency),
                })
                .collect(),
        }
    }
}

fn charts(scaling: &Scaling) -> Vec<Chart> {
    let base = &scaling.points[0];
    let base_time = base.wall.median.get() as f64;
    let faster = |wall: Nanos| base_time / wall.get().max(1) as f64;
    let ideal = |threads: u32| f64::from(threads) / f64::from(base.threads.max(1));
    let said = |threads: u32, wall: Nanos, speedup: f64, efficiency: f64| {
        format!(
            "{threads} threads\n{}\n{} times as fast\nefficiency {}",
            time(wall),
            numbers::factor(speedup),
            words::efficiency(efficiency)
        )
    };
    let measured: Vec<Point> = (scaling.points.iter())
        .map(|point| Point {
            threads: point.threads,
            value: point.speedup,
            low: faster(point.wall.high),
            high: faster(point.wall.low),
            title: said(point.threads, point.wall.median, point.speedup, point.efficiency),
        })
        .collect();
    let most = measured.last().map_or(0, |point| point.threads);
    let predictions = scaling.law.as_ref().map_or(&[][..], |law| law.predictions.as_slice());
    let mut law: Vec<Point> = (predictions.iter())
        .filter(|prediction| prediction.threads >= base.threads)
        .map(|prediction| Point {
            threads: prediction.threads,
            value: faster(prediction.time),
            low: faster(prediction.high),
            high: faster(prediction.low),
            title: format!(
                "predicted for {}\nefficiency {}",
                said(prediction.threads, prediction.time, faster(prediction.time), prediction.efficiency),
                words::shares(prediction.efficiency_low, prediction.efficiency_high, LOOK)
            ),
        })
        .collect();
    law.arrange_by_key(|point| point.threads);
    let furthest = law.last().map_or(most, |point| point.threads.max(most));
    let (first, span) = (f64::from(base.threads.max(1)).log2(), ideal(furthest).log2());
    let axis = Axis { first, span, cores: scaling.cores };

    let octaves = |value: f64| {
        let octaves = value.log2();
        if octaves.is_nan() { 0.0 } else { octaves.clamp(-MOST_OCTAVES, MOST_OCTAVES) }
    };
    let ends = |pick: fn(&Point) -> f64| measured.iter().chain(&law).map(move |point| octaves(pick(point)));
    // The base itself varies a little: that is no reason for another line.
    let bottom = (ends(|point| point.low).fold(0.0, f64::min) + SLACK).floor();
    let top = ends(|point| point.value).fold(span, f64::max);
    let every = ((top - bottom) as i32 / MOST_LINES) + 1;
    let powers = (bottom.ceil() as i32..=top.floor() as i32).filter(|power| power % every == 0);
    let height = |value: f64| coordinate(top - octaves(value), top - bottom, HEIGHT);
    let speedup = Chart {
        title: "Speedup",
        note: "times as fast as with the fewest threads; both axes double from line to line",
        grid: powers.map(|power| (height(2f64.powi(power)), power_of_two(power))).collect(),
        perfect: format!("M0,{}L{WIDTH},{}", height(1.0), height(ideal(furthest))),
        ..axis.drawn(&measured, &law, most, height)
    };

    let share = |mut point: Point| {
        let ideal = ideal(point.threads).max(f64::MIN_POSITIVE);
        (point.value, point.low, point.high) = (point.value / ideal, point.low / ideal, point.high / ideal);
        point
    };
    let [measured, law] = [measured, law].map(|points| points.into_iter().map(share).collect::<Vec<_>>());
    let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
    let ends = measured.iter().map(|point| point.high).chain(law.iter().map(|point| point.value));
    let top = ends.map(finite).fold(1.0, f64::max).min(MOST_EFFICIENCY) * 1.04;
    let height = |value: f64| coordinate(top - finite(value), top, HEIGHT);
    let step = if top > 2.0 { 1.0 } else { 0.25 };
    let lines = (0..=(top / step) as u32).map(|line| f64::from(line) * step);
    let efficiency = Chart {
        title: "Efficiency",
        note: "speedup for each thread: 100 % is perfect scaling",
        grid: lines.map(|share| (height(share), percent(share))).collect(),
        perfect: format!("M0,{0}L{WIDTH},{0}", height(1.0)),
        ..axis.drawn(&measured, &law, most, height)
    };
    vec![speedup, efficiency]
}

fn power_of_two(power: i32) -> String {
    let value = 2f64.powi(power.abs());
    if power < 0 { format!("1/{value:.0}") } else { format!("{value:.0}") }
}

/// The axis of threads: powers of two are equally far apart.
struct Axis {
    first: f64,
    span: f64,
    cores: u32,
}

impl Axis {
    fn place(&self, threads: u32) -> f64 {
        f64::from(threads.max(1)).log2() - self.first
    }

    fn drawn(&self, measured: &[Point], law: &[Point], most: u32, y: impl Fn(f64) -> String) -> Chart {
        let x = |threads: u32| coordinate(self.place(threads), self.span, WIDTH);
        let at = |threads: u32| across(self.place(threads), self.span);
        let path = |points: &[Point], value: fn(&Point) -> f64| {
            let mut path = String::new();
            for (index, point) in points.iter().enumerate() {
                let to = if index == 0 { 'M' } else { 'L' };
                write!(path, "{to}{},{}", x(point.threads), y(value(point))).expect("a String takes all");
            }
            path
        };
        let mut band = path(law, |point| point.high);
        for point in law.iter().rev() {
            write!(band, "L{},{}", x(point.threads), y(point.low)).expect("a String takes all");
        }
        if !law.is_empty() {
            band.push('Z');
        }
        let dot = |point: &Point| (at(point.threads), y(point.value), point.title.clone());
        let beyond = || law.iter().filter(|point| point.threads > most);
        let said: Vec<String> =
            (measured.iter().chain(beyond())).map(|point| point.title.replace('\n', ", ")).collect();
        Chart {
            title: "",
            note: "",
            label: said.join("; "),
            height: HEIGHT,
            grid: Vec::new(),
            perfect: String::new(),
            law: path(law, |point| point.value),
            band,
            line: path(measured, |point| point.value),
            whiskers: (measured.iter().filter(|point| point.low < point.high))
                .map(|point| (at(point.threads), y(point.low), y(point.high)))
                .collect(),
            dots: measured.iter().map(dot).collect(),
            predicted: beyond().map(dot).collect(),
            cores: Some(self.place(self.cores) / self.span)
                .filter(|share| self.cores > 0 && (0.0..0.99).contains(share))
                .map(|_| (at(self.cores), counted(self.cores as usize, "core", "cores"))),
            names: self.names(measured.iter().chain(beyond()).map(|point| point.threads)),
        }
    }

    /// The numbers of threads, as many as have room, with the last one in any case.
    fn names(&self, threads: impl Iterator<Item = u32>) -> Vec<(String, &'static str, String)> {
        let all: Vec<u32> = threads.collect();
        let share = |threads: u32| self.place(threads) / self.span;
        let mut names: Vec<u32> = Vec::new();
        let every = all.len().div_ceil(MOST_NAMES);
        for (index, threads) in all.iter().enumerate().rev() {
            let is_near = names.last().is_some_and(|&last| share(last) - share(*threads) < NEAR);
            if !is_near && ((all.len() - 1 - index).is_multiple_of(every) || index == 0) {
                names.push(*threads);
            }
        }
        (names.into_iter().rev())
            .map(|threads| {
                let anchor = match share(threads) {
                    share if share < 0.02 => "start",
                    share if share > 0.98 => "end",
                    _ => "middle",
                };
                (across(self.place(threads), self.span), anchor, threads.to_string())
            })
            .collect()
    }
}
