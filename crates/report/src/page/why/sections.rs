//! All parallel sections as a table (paper 2, Table 1).

use askama::Template;
use holdup_imbalance::{SectionWhy, Why};
use holdup_model::Frame;

use super::super::text::{LOOK, grouped, percent};
use super::causes::MOST_SECTIONS;
use crate::why::{told, words};

/// At most so many sections have a row.
const MOST: usize = 200;

/// The section of the page.
#[derive(Template)]
#[template(path = "why_sections.html")]
pub(super) struct Sections {
    rows: Vec<Row>,
    more: usize,
    has_native: bool,
}

struct Row {
    id: usize,
    /// Whether its causes are told above.
    is_told: bool,
    place: String,
    kind: &'static str,
    from: String,
    instances: Cell,
    threads: Cell,
    imbalance: Cell,
    spread: Cell,
    native: Option<Cell>,
    share: Cell,
    explained: Option<Cell>,
    cause: String,
}

/// What is shown, and what the table is sorted by.
struct Cell {
    text: String,
    key: u64,
}

impl Cell {
    fn count(value: u64) -> Self {
        Self { text: grouped(value), key: value }
    }

    fn share(value: f64) -> Self {
        // Shares are sorted by their millionths; more than all of it is possible.
        Self { text: percent(value), key: (value.max(0.0) * 1e6) as u64 }
    }
}

impl Sections {
    pub(super) fn new(why: &Why) -> Self {
        let mut detailed = 0;
        let rows = why.sections.iter().take(MOST).enumerate().map(|(index, section)| {
            let is_told = (index == 0 || !told::is_quiet(section)) && detailed < MOST_SECTIONS;
            detailed += usize::from(is_told);
            row(index, is_told, section)
        });
        Self {
            rows: rows.collect(),
            more: why.sections.len().saturating_sub(MOST),
            has_native: why.sections.iter().any(|section| section.native.is_some()),
        }
    }
}

fn row(index: usize, is_told: bool, section: &SectionWhy) -> Row {
    let first = section.causes.iter().find(|cause| !cause.minor);
    Row {
        id: index + 1,
        is_told,
        place: words::section_place(section, LOOK),
        kind: words::section_kind_short(section.kind),
        from: match Frame::place_of(&section.begin.frames) {
            Some(_) => words::line(&section.begin.frames, LOOK),
            None => String::new(),
        },
        instances: Cell::count(u64::from(section.instances)),
        threads: Cell::count(u64::from(section.threads)),
        imbalance: Cell::share(section.imbalance),
        spread: Cell::share(section.spread),
        native: section
            .native
            .as_ref()
            .filter(|native| !native.is_little())
            .map(|native| Cell::share(native.imbalance)),
        share: Cell::share(section.share),
        explained: (!section.causes.is_empty()).then(|| Cell::share(section.explained)),
        cause: first.map_or_else(String::new, |cause| {
            format!("{} {}", words::cause_word(cause.kind), words::line(&cause.at, LOOK))
        }),
    }
}
