//! Copies of programs with one thread (paper 1, Figs. 5 and 6).

use askama::Template;
use holdup_model::Stack;
use holdup_speedup::SpeedupProfile;
use holdup_speedup::instances::{InstancesPoint, InstancesProfile};

use super::super::chart::Color;
use super::super::stack_bar::{Reach, StackBar};
use super::super::text::{LOOK, unbroken};
use crate::escape;
use crate::stack::{told, words};

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

fn program(of: &InstancesProfile) -> Program {
    let told_of: Vec<Stack> = of.points.iter().map(InstancesPoint::stack).collect();
    let reach = Reach::of(&told_of);
    let rows = of.points.iter().zip(&told_of).map(|(point, stack)| Row {
        copies: point.copies.to_string(),
        bar: StackBar::new(&format!("{} copies", point.copies), stack, reach, 20),
        cache: told::cache_of(point),
        throughput: point
            .measured
            .map_or_else(|| "not known".to_owned(), |measured| words::speedup(measured, LOOK)),
    });
    let missing = of.points.iter().flat_map(|point| &point.missing).map(|missing| missing.reason.clone());
    let mut key: Vec<(Color, String)> = Vec::new();
    for part in told_of.iter().flat_map(Stack::components) {
        if !key.iter().any(|(color, _)| *color == part.color) {
            key.push((part.color, part.label.to_string()));
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
            .map(|text| unbroken(&crate::escape::sentences(&text, LOOK)))
            .collect(),
    }
}
