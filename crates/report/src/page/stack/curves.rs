//! Speedup curves on machines with some of the bottlenecks only; what lies between two of them has the colour of its
//! component (paper 1, Fig. 3).

use std::fmt::Write;

use holdup_model::{Stack, StackComponent};
use holdup_speedup::{Curves, PhasePoint, PhaseStack, PointStack, REACHED, Speedup};

use super::super::chart::{Color, across, coordinate, ticks};
use super::super::text::{LOOK, time};
use crate::stack::words;

/// The units in which curves are drawn; the chart is stretched to the room there is.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 240.0;

/// More speedup than so many times the perfect one is not drawn.
const FURTHEST: f64 = 2.0;

/// The chart.
pub(super) struct Chart {
    pub(super) label: String,
    pub(super) height: f64,
    pub(super) grid: Vec<(String, String)>,
    /// What lies between two curves: the colour and the path.
    pub(super) areas: Vec<(Color, String)>,
    pub(super) perfect: String,
    pub(super) pirate: String,
    pub(super) free: String,
    pub(super) measured: String,
    pub(super) dots: Vec<(String, String, String)>,
    pub(super) names: Vec<(String, &'static str, String)>,
}

struct Axes {
    first: f64,
    span: f64,
    top: f64,
}

impl Axes {
    fn x(&self, threads: u32) -> String {
        coordinate(f64::from(threads) - self.first, self.span, WIDTH)
    }

    fn at(&self, threads: u32) -> String {
        across(f64::from(threads) - self.first, self.span)
    }

    fn y(&self, speedup: Speedup) -> String {
        coordinate(self.top - speedup.value(), self.top, HEIGHT)
    }

    /// A path through the points that are known.
    fn path(&self, points: &[(u32, Speedup)]) -> String {
        let mut path = String::new();
        for (index, (threads, speedup)) in points.iter().enumerate() {
            let to = if index == 0 { 'M' } else { 'L' };
            write!(path, "{to}{},{}", self.x(*threads), self.y(*speedup)).expect("a String takes all");
        }
        path
    }

    /// What lies between two curves.
    fn area(&self, low: &[(u32, Speedup)], high: &[(u32, Speedup)]) -> String {
        let mut path = self.path(low);
        for (threads, speedup) in high.iter().rev() {
            write!(path, "L{},{}", self.x(*threads), self.y(*speedup)).expect("a String takes all");
        }
        path.push('Z');
        path
    }
}

/// The chart of a phase; `None` with fewer than two numbers of threads.
pub(super) fn chart(phase: &PhaseStack) -> Option<Chart> {
    let points: Vec<(&PhasePoint, &PointStack)> =
        phase.points.iter().filter_map(|point| Some((point, point.stack.as_ref()?))).collect();
    let (first, last) = (points.first()?.0.threads, points.last()?.0.threads);
    if first == last {
        return None;
    }
    let highest = points.iter().flat_map(|(_, stack)| {
        let Curves { perfect, measured, no_sync, .. } = stack.curves;
        [perfect, measured, no_sync]
    });
    let highest = highest.map(Speedup::value).fold(1.0, f64::max);
    let axes = Axes {
        first: f64::from(first),
        span: f64::from(last - first),
        top: highest.min(FURTHEST * f64::from(last)) * 1.04,
    };
    let curve = |of: fn(&PointStack) -> Option<Speedup>| -> Vec<(u32, Speedup)> {
        points.iter().filter_map(|(point, stack)| Some((point.threads, of(stack)?))).collect()
    };
    let pirate = curve(|stack| stack.curves.pirate);
    let label: Vec<String> = points
        .iter()
        .map(|(point, stack)| {
            format!("{} threads: {}", point.threads, words::speedup(stack.curves.measured, LOOK))
        })
        .collect();
    Some(Chart {
        label: format!("Measured speedup. {}", label.join("; ")),
        height: HEIGHT,
        grid: ticks(axes.top, 5.0)
            .into_iter()
            .map(|tick| (axes.y(Speedup::of(tick)), number(tick)))
            .collect(),
        areas: areas(&axes, &points),
        perfect: axes.path(&curve(|stack| Some(stack.curves.perfect))),
        // One point alone is no curve.
        pirate: if pirate.len() > 1 { axes.path(&pirate) } else { String::new() },
        free: axes.path(&curve(|stack| Some(stack.curves.no_sync))),
        measured: axes.path(&curve(|stack| Some(stack.curves.measured))),
        dots: points
            .iter()
            .map(|(point, stack)| {
                let measured = words::speedup(stack.curves.measured, LOOK);
                let free = words::speedup(stack.curves.no_sync, LOOK);
                let pirate = stack.curves.pirate.map_or_else(String::new, |pirate| {
                    format!("\n{} alone with its share of the cache", words::speedup(pirate, LOOK))
                });
                let title = format!(
                    "{} threads, {}\n{measured} times as fast\n{free} without synchronization{pirate}",
                    point.threads,
                    time(point.time)
                );
                (axes.at(point.threads), axes.y(stack.curves.measured), title)
            })
            .collect(),
        names: points
            .iter()
            .map(|(point, _)| {
                let anchor = match point.threads {
                    threads if threads == first => "start",
                    threads if threads == last => "end",
                    _ => "middle",
                };
                (axes.at(point.threads), anchor, point.threads.to_string())
            })
            .collect(),
    })
}

/// From the measured curve up to the perfect one. A part that is not told of at a number of threads has no height there.
fn areas(axes: &Axes, points: &[(&PhasePoint, &PointStack)]) -> Vec<(Color, String)> {
    let stacks: Vec<Stack> = points.iter().map(|(_, stack)| stack.stack()).collect();
    let mut parts: Vec<&StackComponent> = Vec::new();
    for part in stacks.iter().flat_map(Stack::components) {
        if part.key != REACHED && !parts.iter().any(|known| known.key == part.key) {
            parts.push(part);
        }
    }
    let mut low: Vec<(u32, Speedup)> =
        points.iter().map(|(point, stack)| (point.threads, stack.curves.measured)).collect();
    let mut areas = Vec::new();
    for part in parts {
        let amount =
            |stack: &Stack| stack.get(&part.key).map_or(Speedup::ZERO, |part| Speedup::of(part.amount));
        let amounts: Vec<Speedup> = stacks.iter().map(amount).collect();
        let high: Vec<(u32, Speedup)> = low
            .iter()
            .zip(&amounts)
            .map(|((threads, speedup), amount)| (*threads, *speedup + *amount))
            .collect();
        if amounts.iter().any(|amount| *amount != Speedup::ZERO) {
            areas.push((part.color, axes.area(&low, &high)));
        }
        low = high;
    }
    areas
}

fn number(value: f64) -> String {
    format!("{}", (value * 100.0).round() / 100.0)
}
