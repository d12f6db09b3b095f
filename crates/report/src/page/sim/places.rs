//! Cycles by line, by function and by parallel section.

use askama::Template;
use holdup_cycles::{PlaceCycles, SectionCycles, by_function};
use holdup_model::cycles::CycleStack;
use holdup_model::{Arrange, Frame};

use super::super::stack_bar::StackBar;
use super::super::text::{LOOK, grouped, percent};
use super::stacks::bar;
use crate::escape;
use crate::sim::view::View;
use crate::sim::{SimTold, told};
use crate::why::words as why;

/// At most so many rows.
const MOST: usize = 60;
const MOST_FUNCTIONS: usize = 20;

/// The most columns of a line of source.
const SOURCE: usize = 120;

/// The section of the page.
#[derive(Template)]
#[template(path = "sim_places.html")]
pub(super) struct Places {
    tables: Vec<Table>,
}

struct Table {
    title: Option<&'static str>,
    caption: &'static str,
    head: &'static str,
    count: &'static str,
    rows: Vec<Row>,
    more: usize,
}

struct Row {
    name: String,
    source: Option<String>,
    bar: StackBar,
    cycles: u64,
    share: String,
    mostly: String,
    count: u64,
    counted: String,
}

impl Places {
    /// `None` where no cycles have a place.
    pub(super) fn new(view: &View) -> Option<Self> {
        let run = view.main()?;
        let simulated = &run.simulated;
        let all: u64 = simulated.threads.iter().map(|thread| thread.stack.total()).sum();
        let mut tables = Vec::new();
        let lines = view.places();
        let places = |places: &[PlaceCycles], most: usize, with_source: bool| -> Vec<Row> {
            let told = places.iter().take(most);
            told.map(|place| {
                let name = match with_source {
                    true => why::frames(&place.at, LOOK),
                    false => function(place),
                };
                let source = if with_source { source(place, view.told) } else { None };
                row(name, source, &place.stack, all, place.executions)
            })
            .collect()
        };
        if !lines.is_empty() {
            let functions = by_function(simulated, &view.told.names);
            tables.push(Table {
                title: None,
                caption: "Source lines by cycles",
                head: "Line",
                count: "Executed",
                rows: places(&lines, MOST, true),
                more: lines.len().saturating_sub(MOST),
            });
            tables.push(Table {
                title: Some("Functions"),
                caption: "Functions by cycles",
                head: "Function",
                count: "Executed",
                rows: places(&functions, MOST_FUNCTIONS, false),
                more: functions.len().saturating_sub(MOST_FUNCTIONS),
            });
        }
        if !run.sections.is_empty() {
            let mut sections: Vec<&SectionCycles> = run.sections.iter().collect();
            sections.arrange_by_key(|section| std::cmp::Reverse(section.stack.total()));
            tables.push(Table {
                title: Some("Parallel sections"),
                caption: "Parallel sections by cycles",
                head: "Up to",
                count: "Instances",
                more: sections.len().saturating_sub(MOST_FUNCTIONS),
                rows: sections
                    .iter()
                    .take(MOST_FUNCTIONS)
                    .map(|one| row(section(one), None, &one.stack, all, u64::from(one.instances)))
                    .collect(),
            });
        }
        (!tables.is_empty()).then_some(Self { tables })
    }
}

fn row(name: String, source: Option<String>, stack: &CycleStack, all: u64, count: u64) -> Row {
    let cycles = stack.total();
    Row {
        bar: bar(&name, stack, 12),
        name,
        source,
        cycles,
        share: percent(cycles as f64 / all.max(1) as f64),
        mostly: super::super::text::unbroken(&told::mostly(stack, 2)),
        count,
        counted: grouped(count),
    }
}

/// A function without the line of its most costly instruction.
fn function(place: &PlaceCycles) -> String {
    match Frame::place_of(&place.at).and_then(|frame| frame.function.as_deref()) {
        Some(name) => escape::name(name, LOOK),
        None => why::frames(&place.at, LOOK),
    }
}

fn section(section: &SectionCycles) -> String {
    let place = why::place(&section.end, LOOK).unwrap_or_else(|| "at an unknown place".to_owned());
    format!("{} {place}", why::section_kind(section.kind))
}

/// The source of a line, where it is at hand and not older than what ran.
fn source(place: &PlaceCycles, told: &SimTold) -> Option<String> {
    let frame = Frame::place_of(&place.at)?;
    let file = told.sources.get(frame.file.as_deref()?).filter(|file| !file.is_newer)?;
    let line = file.line(frame.line?)?.trim();
    (!line.is_empty()).then(|| escape::cut_end(&escape::visible(line, LOOK), SOURCE, LOOK))
}
