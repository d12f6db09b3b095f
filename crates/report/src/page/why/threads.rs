//! What each thread did in a section: its time, and beside it how often it took the causes' edges.

use askama::Template;
use holdup_imbalance::SectionWhy;
use holdup_model::counts::TimeUnit;

use super::super::chart::{Color, across};
use super::super::text::{LOOK, grouped};
use crate::why::{WhyScene, letter, told, words};

/// At most so many causes have a column, and so many threads a row.
const MOST_CAUSES: usize = 4;
const MOST_THREADS: usize = 1024;

/// With more rows than this the table scrolls in a box of its own.
const MANY: usize = 24;

/// The table.
#[derive(Template)]
#[template(path = "why_threads.html")]
pub(super) struct Threads {
    titles: Vec<String>,
    rows: Vec<Row>,
    many: bool,
    more: usize,
    caption: String,
}

struct Row {
    number: u32,
    name: String,
    cells: Vec<Cell>,
}

struct Cell {
    width: String,
    color: Color,
    text: String,
    key: u64,
}

/// Figures of all threads.
struct Series {
    title: String,
    color: Color,
    values: Vec<u64>,
    shown: Vec<String>,
}

impl Threads {
    pub(super) fn new(section: &SectionWhy, unit: TimeUnit, scene: &WhyScene) -> Option<Self> {
        let names = scene.threads(section, LOOK);
        if names.len() < 2 {
            return None;
        }
        let time = match unit {
            TimeUnit::Instructions => "Executed instructions",
            TimeUnit::Nanos => "Time",
            TimeUnit::Cycles => "Cycles",
        };
        let amount = |value: u64| words::amount(value, unit, LOOK).replace(' ', "\u{a0}");
        let mut series = vec![Series::new(time.to_owned(), "act", &section.time, amount)];
        if let Some(native) = &section.native {
            let times: Vec<u64> = native.time.iter().map(|time| time.get()).collect();
            let amount = |value: u64| words::amount(value, TimeUnit::Nanos, LOOK).replace(' ', "\u{a0}");
            series.push(Series::new("Time natively".to_owned(), "act", &times, amount));
        }
        if let Some(worst) = section.worst.as_ref().filter(|_| told::differs_in_turn(section)) {
            series.push(Series::new(
                format!("{time} in instance {}", worst.number),
                "act",
                &worst.time,
                amount,
            ));
        }
        for (index, cause) in section.causes.iter().take(MOST_CAUSES).enumerate() {
            let title = format!("{} {}", letter(index), words::counted(cause.kind));
            series.push(Series::new(title, "bar", &cause.counts, grouped));
        }
        series.retain(|series| series.values.len() == names.len());
        let rows = names.iter().take(MOST_THREADS).enumerate().map(|(index, name)| Row {
            number: section.thread_numbers[index],
            name: name.clone(),
            cells: series.iter().map(|series| series.cell(index)).collect(),
        });
        Some(Self {
            titles: series.iter().map(|series| series.title.clone()).collect(),
            rows: rows.collect(),
            many: names.len() > MANY,
            more: names.len().saturating_sub(MOST_THREADS),
            caption: format!("What each thread did: {}", words::section_name(section, LOOK)),
        })
    }
}

impl Series {
    fn new(title: String, color: Color, values: &[u64], shown: impl Fn(u64) -> String) -> Self {
        Self {
            title,
            color,
            values: values.to_vec(),
            shown: values.iter().map(|value| shown(*value)).collect(),
        }
    }

    fn cell(&self, index: usize) -> Cell {
        let most = self.values.iter().copied().max().unwrap_or(0);
        let key = self.values[index];
        Cell {
            width: across(key as f64, most as f64),
            color: self.color,
            text: self.shown[index].clone(),
            key,
        }
    }
}
