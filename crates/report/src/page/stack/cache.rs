//! Time for the same work over the size of the cache (paper 1, Figs. 4 and 7), and over the bandwidth that a thief takes.

use std::fmt::Write;

use askama::Template;
use holdup_model::Arrange;
use holdup_speedup::{CachePoint, GroupCurve, PhasePoint, PhaseStack, SpeedupProfile};

use super::super::chart::{across, coordinate, ticks};
use super::super::text::{LOOK, counted, unbroken};
use crate::stack::{told, words};
use crate::{escape, numbers};

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 190.0;

/// At most so many curves are shown.
const MOST_CHARTS: usize = 24;

/// Less than this between the least and the most time looks like much where the axis is stretched to it.
const LEAST_SPAN: f64 = 0.2;

/// Sizes nearer to each other than this have no room for both names (share of the axis).
const NEAR: f64 = 0.12;

/// The section.
#[derive(Template)]
#[template(path = "stack_cache.html")]
pub(super) struct Cache {
    charts: Vec<Chart>,
    numbers: Vec<Row>,
}

struct Chart {
    title: String,
    note: String,
    label: String,
    height: f64,
    grid: Vec<(String, String)>,
    path: String,
    whiskers: Vec<(String, String, String)>,
    dots: Vec<(String, String, String)>,
    /// Where a thread stands when all run together.
    here: Option<(String, String, String)>,
    names: Vec<(String, &'static str, String)>,
    axis: &'static str,
    told: Option<String>,
}

struct Row {
    name: String,
    cells: [String; 6],
}

impl Cache {
    /// `None` where nothing was measured with less cache or bandwidth.
    pub(super) fn new(profile: &SpeedupProfile) -> Option<Self> {
        let mut charts = Vec::new();
        let mut numbers = Vec::new();
        for phase in told::phases(profile) {
            for point in phase.points.iter().rev() {
                for group in &point.groups {
                    let name = name(phase, point, group);
                    if group.curve.points().len() > 1 {
                        charts.push(cache_chart(&name, point, group));
                        charts.extend(counted_charts(&name, group));
                        numbers.extend(group.curve.points().iter().map(|at| row(&name, at)));
                    }
                    if !group.bandwidth.is_empty() {
                        charts.push(bandwidth_chart(&name, group));
                        numbers.extend(group.bandwidth.iter().map(|at| Row {
                            name: name.clone(),
                            cells: [
                                words::bandwidth(at.taken as f64),
                                numbers::factor(at.time),
                                String::new(),
                                String::new(),
                                String::new(),
                                String::new(),
                            ],
                        }));
                    }
                }
            }
        }
        charts.truncate(MOST_CHARTS);
        (!charts.is_empty()).then_some(Self { charts, numbers })
    }
}

fn name(phase: &PhaseStack, point: &PhasePoint, group: &GroupCurve) -> String {
    let group = match point.groups.len() {
        1 => String::new(),
        _ => format!(", {}", escape::name(&group.name, LOOK)),
    };
    format!("{}, {}{group}", words::phase(phase, LOOK), counted(point.threads as usize, "thread", "threads"))
}

fn row(name: &str, at: &CachePoint) -> Row {
    Row {
        name: name.to_owned(),
        cells: [
            numbers::bytes(at.bytes),
            numbers::factor(at.time),
            numbers::factor(at.high),
            at.runs.to_string(),
            at.cpi.map_or_else(String::new, numbers::factor),
            at.bandwidth.map_or_else(String::new, words::bandwidth),
        ],
    }
}

/// The chart of values over an axis, with the range of each.
struct Scale {
    most: f64,
    low: f64,
    high: f64,
}

impl Scale {
    fn of(points: &[(f64, f64, f64)]) -> Self {
        let low = points.iter().map(|point| point.1).fold(1.0, f64::min);
        let high = points.iter().map(|point| point.2.max(point.1)).fold(1.0 + LEAST_SPAN, f64::max);
        let most = points.iter().map(|point| point.0).fold(f64::MIN_POSITIVE, f64::max);
        Self { most, low: (low - 0.02).max(0.0), high: high + 0.02 }
    }

    fn x(&self, at: f64) -> String {
        coordinate(at, self.most, WIDTH)
    }

    fn at(&self, at: f64) -> String {
        across(at, self.most)
    }

    fn y(&self, time: f64) -> String {
        coordinate(self.high - time, self.high - self.low, HEIGHT)
    }

    /// From 0 on: for values that are not relative to anything.
    fn from_zero(points: &[(f64, f64, f64)]) -> Self {
        let most = points.iter().map(|point| point.0).fold(f64::MIN_POSITIVE, f64::max);
        let high = points.iter().map(|point| point.1).fold(f64::MIN_POSITIVE, f64::max);
        Self { most, low: 0.0, high: high * 1.1 }
    }

    fn grid(&self) -> Vec<(String, String)> {
        ticks(self.high, 12.0 * self.high / (self.high - self.low) / 3.0)
            .into_iter()
            .filter(|tick| *tick >= self.low)
            .map(|tick| (self.y(tick), numbers::factor(tick)))
            .collect()
    }

    fn path(&self, points: &[(f64, f64, f64)]) -> String {
        let mut path = String::new();
        for (index, (at, time, _)) in points.iter().enumerate() {
            let to = if index == 0 { 'M' } else { 'L' };
            write!(path, "{to}{},{}", self.x(*at), self.y(*time)).expect("a String takes all");
        }
        path
    }

    fn whiskers(&self, points: &[(f64, f64, f64)]) -> Vec<(String, String, String)> {
        let wide = points.iter().filter(|point| point.2 > point.1);
        wide.map(|(at, low, high)| (self.at(*at), self.y(*low), self.y(*high))).collect()
    }

    /// Names below the axis, as many as have room, the last in any case.
    fn names(&self, sizes: &[f64], name: impl Fn(f64) -> String) -> Vec<(String, &'static str, String)> {
        let mut told: Vec<f64> = Vec::new();
        for &size in sizes.iter().rev() {
            if told.last().is_none_or(|last| (last - size) / self.most >= NEAR) {
                told.push(size);
            }
        }
        let anchored = told.into_iter().rev().map(|size| {
            let anchor = match size / self.most {
                share if share < 0.04 => "start",
                share if share > 0.96 => "end",
                _ => "middle",
            };
            (self.at(size), anchor, name(size))
        });
        anchored.collect()
    }
}

fn cache_chart(name: &str, point: &PhasePoint, group: &GroupCurve) -> Chart {
    let measured = group.curve.points();
    let points: Vec<(f64, f64, f64)> =
        measured.iter().map(|at| (at.bytes as f64, at.time, at.high)).collect();
    let scale = Scale::of(&points);
    let said = |at: &CachePoint| {
        let cpi = at.cpi.map_or_else(String::new, |cpi| format!("\nCPI {}", numbers::factor(cpi)));
        let memory = at
            .bandwidth
            .map_or_else(String::new, |bytes| format!("\n{} from memory", words::bandwidth(bytes)));
        format!(
            "{} of the cache\n{} times the time{cpi}{memory}",
            numbers::bytes(at.bytes),
            numbers::factor(at.time)
        )
    };
    let label: Vec<String> = measured.iter().map(|at| said(at).replace('\n', ", ")).collect();
    let here = group.cache.and_then(|bytes| {
        let time = group.curve.at(bytes as f64)?;
        let title = format!(
            "{} for each when all run together\n{} times the time",
            numbers::bytes(bytes),
            numbers::factor(time)
        );
        Some((scale.at(bytes as f64), scale.y(time), title))
    });
    let takes_over = if group.takes_over { ", for a unit of work or its share of all" } else { "" };
    let sizes: Vec<f64> = points.iter().map(|point| point.0).collect();
    Chart {
        title: name.to_owned(),
        note: format!("time for the same work against that with the whole cache{takes_over}"),
        label: format!("{name}. {}", label.join("; ")),
        height: HEIGHT,
        grid: scale.grid(),
        path: scale.path(&points),
        whiskers: scale.whiskers(&points),
        dots: measured.iter().map(|at| (scale.at(at.bytes as f64), scale.y(at.time), said(at))).collect(),
        here,
        names: scale.names(&sizes, |size| numbers::bytes(size as u64)),
        axis: "cache left to the thread",
        told: told::sensitivity(group, point.groups.len() == 1, LOOK).map(|text| unbroken(&text)),
    }
}

/// A value that counters give.
struct Counted {
    title: &'static str,
    note: &'static str,
    value: fn(&CachePoint) -> Option<f64>,
    told: fn(f64) -> String,
}

/// What counters say over the size of the cache (paper 1, Figs. 4 and 8): cycles per instruction, and what is fetched from
/// memory.
fn counted_charts(name: &str, group: &GroupCurve) -> Vec<Chart> {
    let kinds = [
        Counted {
            title: "cycles per instruction",
            note: "cycles per instruction, by counters",
            value: |at| at.cpi,
            told: numbers::factor,
        },
        Counted {
            title: "fetched from memory",
            note: "bytes a second that are fetched from memory, by counters",
            value: |at| at.bandwidth,
            told: words::bandwidth,
        },
    ];
    let charts = kinds.into_iter().filter_map(|Counted { title, note, value, told }| {
        let measured = group.curve.points().iter().filter_map(|at| Some((at.bytes as f64, value(at)?)));
        let points: Vec<(f64, f64, f64)> = measured.map(|(bytes, value)| (bytes, value, value)).collect();
        if points.len() < 2 {
            return None;
        }
        let scale = Scale::from_zero(&points);
        let said = |(bytes, value, _): &(f64, f64, f64)| {
            format!("{} of the cache\n{}", numbers::bytes(*bytes as u64), told(*value))
        };
        let label: Vec<String> = points.iter().map(|at| said(at).replace('\n', ", ")).collect();
        let sizes: Vec<f64> = points.iter().map(|point| point.0).collect();
        let grid = [0.0, 0.5, 1.0].map(|part| (scale.y(part * scale.high), told(part * scale.high)));
        Some(Chart {
            title: format!("{name}: {title}"),
            note: note.to_owned(),
            label: format!("{name}, {title}. {}", label.join("; ")),
            height: HEIGHT,
            grid: grid.to_vec(),
            path: scale.path(&points),
            whiskers: Vec::new(),
            dots: points.iter().map(|at| (scale.at(at.0), scale.y(at.1), said(at))).collect(),
            here: None,
            names: scale.names(&sizes, |size| numbers::bytes(size as u64)),
            axis: "cache left to the thread",
            told: None,
        })
    });
    charts.collect()
}

fn bandwidth_chart(name: &str, group: &GroupCurve) -> Chart {
    let mut points: Vec<(f64, f64, f64)> = vec![(0.0, 1.0, 1.0)];
    points.extend(group.bandwidth.iter().map(|at| (at.taken as f64, at.time, at.time)));
    points.arrange_by(|a, b| a.0.total_cmp(&b.0));
    let scale = Scale::of(&points);
    let said = |(taken, time, _): &(f64, f64, f64)| {
        format!("a thief takes {}\n{} times the time", words::bandwidth(*taken), numbers::factor(*time))
    };
    let label: Vec<String> = points.iter().map(|at| said(at).replace('\n', ", ")).collect();
    let sizes: Vec<f64> = points.iter().map(|point| point.0).collect();
    Chart {
        title: format!("{name}: bandwidth"),
        note: "time for the same work while a thief takes memory bandwidth".to_owned(),
        label: format!("{name}, bandwidth. {}", label.join("; ")),
        height: HEIGHT,
        grid: scale.grid(),
        path: scale.path(&points),
        whiskers: Vec::new(),
        dots: points.iter().map(|at| (scale.at(at.0), scale.y(at.1), said(at))).collect(),
        here: None,
        names: scale.names(&sizes, words::bandwidth),
        axis: "memory bandwidth that is taken",
        told: None,
    }
}
