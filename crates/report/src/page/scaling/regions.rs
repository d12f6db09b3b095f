//! Which region: a sortable row for each, with its course, its losses, and what would help it.

use std::fmt::Write;

use askama::Template;
use holdup_model::Nanos;
use holdup_scaling::{RegionPoint, RegionScaling, Scaling};

use super::super::chart::coordinate;
use super::super::stack_bar::{Reach, StackBar};
use super::super::text::{LOOK, grouped, percent, sentence, time};
use super::losses::{self, Against, Stack};
use crate::scaling::{told, words};

/// At most so many regions have a row.
pub(super) const MOST: usize = 120;

/// At most so many of them can be opened.
const MOST_OPEN: usize = 40;

/// The box of the course of a region's efficiency.
const WIDTH: f64 = 72.0;
const HEIGHT: f64 = 20.0;

/// The section.
#[derive(Template)]
#[template(path = "scaling_regions.html")]
pub(super) struct Regions {
    has_base: bool,
    threads: u32,
    rows: Vec<Row>,
    more: usize,
    sampled: bool,
}

struct Row {
    id: usize,
    name: String,
    kind: &'static str,
    time: Cell,
    efficiency: Cell,
    gain: Cell,
    instances: Cell,
    /// The courses of its efficiency and of the perfect one; empty for one number of threads.
    course: String,
    perfect: String,
    bar: Option<StackBar>,
    open: Option<Open>,
}

/// What is shown, and what the table is sorted by.
struct Cell {
    text: String,
    key: u64,
}

struct Open {
    stack: Option<Stack>,
    hints: Vec<(String, String)>,
    law: Option<String>,
    facts: Vec<String>,
}

impl Regions {
    pub(super) fn new(scaling: &Scaling) -> Self {
        let last = scaling.points.last();
        let wall = last.map_or(Nanos::ZERO, |point| point.wall.median);
        let ends = || scaling.regions.iter().take(MOST).filter_map(|region| region.points.last());
        let against = Against::of(scaling);
        let stack = |point: &RegionPoint| {
            against.pick(&point.losses, &point.costs).stack(point.time.median, against.rest())
        };
        let reach = losses::reach_of_narrow(&ends().map(stack).collect::<Vec<_>>());
        let span =
            last.zip(scaling.points.first()).map_or(0.0, |(last, base)| octaves(last.threads, base.threads));
        let base = scaling.points.first().map_or(1, |point| point.threads);
        Self {
            has_base: against == Against::Perfect,
            threads: last.map_or(0, |point| point.threads),
            rows: (scaling.regions.iter().take(MOST).enumerate())
                .map(|(index, region)| row(index, region, wall, (against, reach), (base, span)))
                .collect(),
            more: scaling.regions.len().saturating_sub(MOST),
            sampled: ends().any(|point| point.whole < point.instances),
        }
    }
}

fn gain(gain: Nanos) -> String {
    if gain == Nanos::ZERO { "0".to_owned() } else { time(gain) }
}

/// The difference of two numbers of threads in powers of two.
fn octaves(threads: u32, base: u32) -> f64 {
    (f64::from(threads.max(1)) / f64::from(base.max(1))).log2().max(0.0)
}

fn row(
    index: usize,
    region: &RegionScaling,
    wall: Nanos,
    (against, reach): (Against, Reach),
    axis: (u32, f64),
) -> Row {
    let last = region.points.last();
    let length = last.map_or(Nanos::ZERO, |point| point.time.median);
    let efficiency = last.map_or(0.0, |point| point.efficiency);
    let instances = last.map_or(0, |point| point.instances);
    let name = words::region_in_short(region, LOOK);
    let (course, perfect) = course(region, axis);
    Row {
        id: index + 1,
        kind: words::region_kind(region.kind),
        time: Cell { text: time(length), key: length.get() },
        // Shares are sorted by their thousandths.
        efficiency: Cell { text: words::efficiency(efficiency), key: (efficiency.max(0.0) * 1e6) as u64 },
        gain: Cell { text: gain(region.potential_gain), key: region.potential_gain.get() },
        instances: Cell { text: grouped(instances), key: instances },
        course,
        perfect,
        bar: last.map(|point| {
            let stack = against.pick(&point.losses, &point.costs).stack(length, against.rest());
            losses::bar(&format!("{name} with {} threads", point.threads), &stack, reach, 12)
        }),
        open: (index < MOST_OPEN).then(|| open(region, wall, against)),
        name,
    }
}

/// The efficiency over the numbers of threads, and where 100 % is, in a box.
fn course(region: &RegionScaling, (base, span): (u32, f64)) -> (String, String) {
    if region.points.len() < 2 || span <= 0.0 {
        return Default::default();
    }
    let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
    let top = region.points.iter().map(|point| finite(point.efficiency)).fold(1.0, f64::max);
    let y = |share: f64| coordinate(top - finite(share), top, HEIGHT);
    let mut path = String::new();
    for (index, point) in region.points.iter().enumerate() {
        let to = if index == 0 { 'M' } else { 'L' };
        let x = coordinate(octaves(point.threads, base), span, WIDTH);
        write!(path, "{to}{x},{}", y(point.efficiency)).expect("a String takes all that is written to it");
    }
    (path, format!("M0,{0}L{WIDTH},{0}", y(1.0)))
}

fn open(region: &RegionScaling, wall: Nanos, against: Against) -> Open {
    let bars: Vec<_> = (region.points.iter())
        .map(|point| {
            let told = against.pick(&point.losses, &point.costs);
            (point.threads, point.time.median, point.efficiency, told)
        })
        .collect();
    let mut facts = Vec::new();
    if let Some(last) = region.points.last() {
        facts.push(format!("A team of {} on average.", crate::numbers::figure(last.team)));
        facts.extend(
            told::standing(last, LOOK)
                .filter(|_| against == Against::Perfect)
                .map(|text| super::super::text::unbroken(&text)),
        );
        if last.whole < last.instances {
            facts.push(format!(
                "Executed {} times, {} of them recorded whole; its losses are known give or take {}.",
                grouped(last.instances),
                grouped(last.whole),
                percent(last.error)
            ));
        }
    }
    Open {
        stack: (!bars.is_empty()).then(|| Stack::new(words::region(region, LOOK), &bars, against, 14)),
        hints: (region.hints.iter())
            .map(|hint| {
                (
                    super::super::text::unbroken(&crate::escape::sentences(&hint.text, LOOK)),
                    super::super::text::unbroken(&told::gain(hint, wall, LOOK)),
                )
            })
            .collect(),
        law: region.law.as_ref().map(|law| sentence(&told::law(law, LOOK))),
        facts,
    }
}
