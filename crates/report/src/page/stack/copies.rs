//! Copies of programs with one thread (paper 1, Figs. 5 and 6).

use askama::Template;
use holdup_speedup::instances::{InstancesPoint, InstancesProfile};
use holdup_speedup::{Component, Speedup, SpeedupProfile};

use super::super::chart::Color;
use super::super::scaling::unbroken;
use super::super::text::LOOK;
use super::bar::{Reach, StackBar};
use crate::stack::pieces::Part;
use crate::stack::{told, words};
use crate::{escape, numbers};

/// The section.
#[derive(Template)]
#[template(path = "stack_copies.html")]
pub(super) struct Copies {
    programs: Vec<Program>,
}

struct Program {
    name: String,
    rows: Vec<Row>,
    /// What the colours stand for.
    key: Vec<(Color, String)>,
    sentences: Vec<String>,
}

struct Row {
    copies: String,
    bar: StackBar,
    cache: String,
    throughput: String,
}

impl Copies {
    /// `None` where no copies were measured.
    pub(super) fn new(profile: &SpeedupProfile) -> Option<Self> {
        let programs: Vec<Program> =
            profile.instances.iter().filter(|of| !of.points.is_empty()).map(program).collect();
        (!programs.is_empty()).then_some(Self { programs })
    }
}

/// They add up to the number of copies, where anything is known.
fn pieces(point: &InstancesPoint) -> Vec<(Part, Speedup)> {
    let reached = match (point.measured, point.pirate) {
        (Some(measured), _) => Some((Part::Reached, measured)),
        (None, Some(pirate)) => Some((Part::Untold(Component::Memory), pirate)),
        (None, None) => None,
    };
    let lost = point.components.iter().rev().map(|(component, amount)| (Part::Lost(*component), *amount));
    reached.into_iter().chain(lost).collect()
}

fn program(of: &InstancesProfile) -> Program {
    let told_of: Vec<Vec<(Part, Speedup)>> = of.points.iter().map(pieces).collect();
    let reach = Reach::of(told_of.iter().map(Vec::as_slice));
    let rows = of.points.iter().zip(&told_of).map(|(point, pieces)| Row {
        copies: point.copies.to_string(),
        bar: StackBar::new(&format!("{} copies", point.copies), pieces, reach),
        cache: numbers::bytes(point.cache),
        throughput: point
            .measured
            .map_or_else(|| "not known".to_owned(), |measured| words::speedup(measured, LOOK)),
    });
    let missing = of.points.iter().flat_map(|point| &point.missing).map(|missing| missing.reason.clone());
    let mut key: Vec<(Color, String)> = Vec::new();
    for (part, _) in told_of.iter().flatten() {
        if !key.iter().any(|(color, _)| *color == part.color()) {
            key.push((part.color(), part.words()));
        }
    }
    Program {
        key,
        name: escape::name(&of.name, LOOK),
        rows: rows.collect(),
        sentences: of
            .points
            .iter()
            .filter_map(told::demand)
            .chain(missing)
            .map(|text| unbroken(&crate::scaling::words::sentences(&text, LOOK)))
            .collect(),
    }
}
