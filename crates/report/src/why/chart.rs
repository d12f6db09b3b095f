//! What each thread did, as a small chart of characters: its time, and beside that how often it took the causes' edges.

use holdup_imbalance::{Cause, SectionWhy};
use holdup_model::counts::TimeUnit;
use textwrap::core::display_width;

use super::{WhyScene, told, words};
use crate::ink::Ink;
use crate::lines::Line;
use crate::{Look, palette};

/// More threads than this have a mark each in the place of a row.
const MOST_ROWS: usize = 16;

/// At most so many causes have a column.
const MOST_CAUSES: usize = 3;

/// The longest bar (columns), and the shortest one that is drawn.
const LONGEST: usize = 16;
const SHORTEST: usize = 4;

/// Columns between two of the chart.
const GAP: usize = 2;

/// One row of figures, one figure for each thread.
struct Series {
    title: String,
    ink: Ink,
    values: Vec<u64>,
    shown: Vec<String>,
}

/// The chart of a section; `names` are what its causes are marked with. Empty for fewer than two threads.
pub(super) fn chart(
    section: &SectionWhy,
    unit: TimeUnit,
    scene: &WhyScene,
    causes: &[(String, &Cause)],
    indent: usize,
    look: Look,
) -> Vec<Line> {
    let threads = scene.threads(section, look);
    if threads.len() < 2 {
        return Vec::new();
    }
    let mut series =
        vec![Series::new("time", Ink::Color("act"), &section.time, |value| words::amount(value, unit, look))];
    if let Some(native) = &section.native {
        let times: Vec<u64> = native.time.iter().map(|time| time.get()).collect();
        series.push(Series::new("natively", Ink::Color("act"), &times, |value| {
            words::amount(value, TimeUnit::Nanos, look)
        }));
    }
    if let Some(worst) = section.worst.as_ref().filter(|_| told::differs_in_turn(section)) {
        let title = format!("in instance {}", worst.number);
        series.push(Series::new(&title, Ink::Color("act"), &worst.time, |value| {
            words::amount(value, unit, look)
        }));
    }
    series.extend(causes.iter().take(MOST_CAUSES).map(|(name, cause)| {
        Series::new(
            &format!("{name} {}", words::counted(cause.kind)),
            Ink::Warning,
            &cause.counts,
            words::count,
        )
    }));
    // What a damaged input says of more or fewer threads than there are cannot be shown beside them.
    series.retain(|series| {
        series.values.len() == threads.len() && series.values.iter().any(|value| *value > 0)
    });
    if threads.len() <= MOST_ROWS {
        rows(&threads, &series, indent, look)
    } else {
        marks(&series, indent, look)
    }
}

impl Series {
    fn new(title: &str, ink: Ink, values: &[u64], shown: impl Fn(u64) -> String) -> Self {
        let shown = values.iter().map(|value| shown(*value)).collect();
        Self { title: title.to_owned(), ink, values: values.to_vec(), shown }
    }

    fn most(&self) -> u64 {
        self.values.iter().copied().max().unwrap_or(0)
    }

    /// The columns of its figures.
    fn figures(&self) -> usize {
        self.shown.iter().map(|text| display_width(text)).max().unwrap_or(0)
    }
}

/// A row for each thread, a bar and a figure for each series. As many series as fit, the last ones go first.
fn rows(threads: &[String], series: &[Series], indent: usize, look: Look) -> Vec<Line> {
    let names = threads.iter().map(|name| display_width(name)).max().unwrap_or(0).max("thread".len());
    let room = look.columns().saturating_sub(indent + names);
    let mut told = series.len();
    let width = |told: usize, bar: usize| {
        series[..told]
            .iter()
            .map(|series| GAP + (bar + 1 + series.figures()).max(display_width(&series.title)))
            .sum::<usize>()
    };
    while told > 1 && width(told, SHORTEST) > room {
        told -= 1;
    }
    let Some(bar) = (1..=LONGEST).rev().find(|bar| width(told, *bar) <= room) else { return Vec::new() };
    let series = &series[..told];
    let column = |series: &Series| (bar + 1 + series.figures()).max(display_width(&series.title));
    let mut titles = Line::indented(indent).with("thread", Ink::Faint);
    let mut at = indent + names + GAP;
    for series in series {
        titles = titles.at_column(&series.title, at, Ink::Faint);
        at += column(series) + GAP;
    }
    let mut lines = vec![titles];
    for (index, name) in threads.iter().enumerate() {
        let mut line = Line::indented(indent).with(name, Ink::Text);
        let mut at = indent + names + GAP;
        for series in series {
            let cells = cells(series.values[index], series.most(), bar);
            line = line.at_column(&palette::fill("act", look).to_string().repeat(cells), at, series.ink);
            line = line.right_aligned(&series.shown[index], at + bar + 1 + series.figures(), Ink::Text);
            at += column(series) + GAP;
        }
        lines.push(line);
    }
    lines
}

/// How long a bar is; what is there at all has one.
fn cells(value: u64, most: u64, bar: usize) -> usize {
    let length = (value as f64 / most.max(1) as f64 * bar as f64).round() as usize;
    if value > 0 { length.max(1) } else { 0 }
}

/// A mark for each thread, or for some of them together where there are more than columns; a line for each series.
fn marks(series: &[Series], indent: usize, look: Look) -> Vec<Line> {
    let titles = series.iter().map(|series| display_width(&series.title)).max().unwrap_or(0);
    let ranges: Vec<String> = series
        .iter()
        .map(|series| {
            let order = |most: bool| {
                let index = (0..series.values.len()).max_by_key(|&index| {
                    let value = series.values[index];
                    if most { value } else { u64::MAX - value }
                });
                index.map_or("", |index| series.shown[index].as_str())
            };
            format!("{} to {}", order(false), order(true))
        })
        .collect();
    let widest = ranges.iter().map(|range| display_width(range)).max().unwrap_or(0);
    let threads = series.first().map_or(0, |series| series.values.len());
    let room = look.columns().saturating_sub(indent + titles + widest + 2 * GAP).max(8);
    let together = threads.div_ceil(room).max(1);
    let mut lines: Vec<Line> = series
        .iter()
        .zip(&ranges)
        .map(|(series, range)| {
            let marks: String = series
                .values
                .chunks(together)
                .map(|some| {
                    let mean = some.iter().map(|value| *value as f64).sum::<f64>() / some.len() as f64;
                    look.level(mean / series.most().max(1) as f64)
                })
                .collect();
            Line::indented(indent)
                .with(&series.title, Ink::Faint)
                .at_column(&marks, indent + titles + GAP, series.ink)
                .with(&format!("{}{range}", " ".repeat(GAP)), Ink::Text)
        })
        .collect();
    let each = if together > 1 { format!("each {together} threads") } else { "a thread each".to_owned() };
    lines.push(Line::indented(indent + titles + GAP).with(&format!("{each}, by number"), Ink::Faint));
    lines
}
