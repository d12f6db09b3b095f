//! Which line: where threads are at work, and the lines of the program with their cost beside them.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use holdup_criticality::Diagnosis;
use holdup_model::{Arrange, Nanos, Process, Run, SiteId};

use super::PageOptions;
use super::chart::across;
use super::text::{LOOK, Told, counted, grouped, percent, time};
use crate::{escape, names, shares};

/// At most so many functions have a row.
const MOST_FUNCTIONS: usize = 12;

/// At most so many pieces of source are shown.
const MOST_EXCERPTS: usize = 8;

/// So many lines before the first and behind the last line with a cost.
const AROUND: u32 = 3;

/// Lines with a cost that are as far apart are in one piece of source.
const APART: u32 = 8;

/// A line that costs less than this share of its kind of cost is not one to show source for.
const SMALL: f64 = 0.004;

/// The most columns of a line of source.
const COLUMNS: usize = 240;

/// The most columns of a file's name.
const FILE: usize = 96;

/// The section.
#[derive(Template)]
#[template(path = "lines.html")]
pub(super) struct Lines {
    /// How many samples there are, or `None` where no running thread was sampled.
    sampled: Option<String>,
    functions: Vec<Function>,
    excerpts: Vec<Excerpt>,
    remark: Option<String>,
}

struct Function {
    place: String,
    inside: Option<String>,
    critical: (u64, String),
    critical_width: String,
    active: (u64, String),
    samples: u64,
    threads: String,
}

/// Some lines of a file that follow one another.
struct Excerpt {
    file: String,
    function: String,
    is_newer: bool,
    has_samples: bool,
    has_waits: bool,
    lines: Vec<Line>,
}

struct Line {
    number: u32,
    critical: Option<(String, String)>,
    active: Option<String>,
    waited: Option<(String, String)>,
    text: String,
}

/// What one line cost.
#[derive(Clone, Copy, Default)]
struct Cost {
    critical: f64,
    active: f64,
    waited: Nanos,
}

/// A place in a file.
struct Place<'a> {
    file: &'a str,
    line: u32,
    function: &'a str,
}

impl Lines {
    pub(super) fn new(told: &Told<'_>, options: &PageOptions) -> Self {
        let diagnosis = told.diagnosis;
        let hot = diagnosis.hot.as_ref();
        let functions = hot.map_or_else(Vec::new, |hot| {
            let most = hot.functions.first().map_or(0.0, |spot| spot.critical);
            hot.functions
                .iter()
                .take(MOST_FUNCTIONS)
                .map(|spot| Function {
                    place: names::by_function(told.process, spot.place, None, LOOK),
                    inside: spot.inside.as_deref().map(|inside| escape::name(inside, LOOK)),
                    critical: (spot.critical as u64, percent(shares::of_critical(spot, hot))),
                    critical_width: across(spot.critical, most),
                    active: (spot.active.get(), percent(spot.active.share_of(hot.active))),
                    samples: spot.samples,
                    threads: threads(told, &spot.threads),
                })
                .collect()
        });
        let costs = costs(told.process, diagnosis);
        let excerpts = excerpts(&costs, options);
        Self {
            sampled: hot.map(|hot| {
                format!(
                    "{} of running threads{}",
                    counted(hot.samples as usize, "sample", "samples"),
                    if hot.broken_stacks > 0.0 {
                        format!(", {} of them with a broken call stack", percent(hot.broken_stacks))
                    } else {
                        String::new()
                    }
                )
            }),
            functions,
            remark: remark(&costs, &excerpts, options),
            excerpts,
        }
    }
}

fn threads(told: &Told<'_>, threads: &[(holdup_model::ThreadId, Nanos)]) -> String {
    let ids: Vec<_> = threads.iter().map(|(thread, _)| *thread).collect();
    told.threads(&ids, 3)
}

/// Why there is no source where there is none.
fn remark(costs: &Costs<'_>, excerpts: &[Excerpt], options: &PageOptions) -> Option<String> {
    if !options.with_sources {
        return Some("The source was left out of this page (--no-source).".to_owned());
    }
    if !excerpts.is_empty() {
        return None;
    }
    Some(if costs.is_empty() {
        "No line is known: build the program with debug information (-g), and record it again.".to_owned()
    } else {
        "The source files were not readable where this page was made: make it on the machine that has them, under the same paths."
            .to_owned()
    })
}

type Costs<'a> = BTreeMap<(&'a str, u32), (&'a str, Cost)>;

/// What lines cost: work by samples, and how long others waited for who took a lock there, or worked up to there.
fn costs<'a>(process: &'a Process, diagnosis: &'a Diagnosis) -> Costs<'a> {
    let mut costs: Costs<'a> = BTreeMap::new();
    let mut add = |site: SiteId, more: Cost| {
        let Some(place) = place(process, site) else { return };
        let (_, cost) =
            costs.entry((place.file, place.line)).or_insert_with(|| (place.function, Cost::default()));
        cost.critical += more.critical;
        cost.active += more.active;
        cost.waited += more.waited;
    };
    if let Some(hot) = &diagnosis.hot {
        for spot in &hot.lines {
            let critical = shares::of_critical(spot, hot);
            add(spot.place, Cost { critical, active: spot.active.share_of(hot.active), ..Cost::default() });
        }
    }
    for holder in diagnosis.objects.iter().flat_map(|object| &object.holders) {
        if let Some(site) = holder.site {
            add(site, Cost { waited: holder.time, ..Cost::default() });
        }
    }
    costs
}

fn place(process: &Process, site: SiteId) -> Option<Place<'_>> {
    let frame = process.site(site).place()?;
    Some(Place {
        file: frame.file.as_deref()?,
        line: frame.line.filter(|line| *line > 0)?,
        function: frame.function.as_deref().unwrap_or_default(),
    })
}

/// The files of which lines are shown, as the compilers named them: what [`PageOptions::sources`] is asked for. Hostile:
/// whoever made the recording chose these names.
pub fn source_files(run: &Run, diagnoses: &[Diagnosis]) -> BTreeSet<String> {
    let Some(diagnosis) = diagnoses.first() else { return BTreeSet::new() };
    let process = &run.processes[diagnosis.process];
    costs(process, diagnosis).keys().map(|(file, _)| (*file).to_owned()).collect()
}

fn excerpts(costs: &Costs<'_>, options: &PageOptions) -> Vec<Excerpt> {
    let all_waited: Nanos = costs.values().map(|(_, cost)| cost.waited).sum();
    let worth = |cost: &Cost| cost.critical.max(cost.waited.share_of(all_waited));
    // Pieces: file, first and last line with a cost, and what its lines cost together.
    let mut pieces: Vec<(&str, u32, u32, f64)> = Vec::new();
    for (&(file, line), (_, cost)) in costs.iter().filter(|(_, (_, cost))| worth(cost) >= SMALL) {
        match pieces.last_mut().filter(|piece| piece.0 == file && line - piece.2 <= APART) {
            Some(piece) => (piece.2, piece.3) = (line, piece.3 + worth(cost)),
            None => pieces.push((file, line, line, worth(cost))),
        }
    }
    pieces.arrange_by(|a, b| b.3.total_cmp(&a.3).then_with(|| (a.0, a.1).cmp(&(b.0, b.1))));
    let scale = Scale {
        critical: costs.values().map(|(_, cost)| cost.critical).fold(0.0, f64::max),
        waited: costs.values().map(|(_, cost)| cost.waited).max().unwrap_or_default(),
    };
    pieces
        .into_iter()
        .filter_map(|(file, first, last, _)| excerpt(file, (first, last), costs, &scale, options))
        .take(MOST_EXCERPTS)
        .collect()
}

/// The largest of each kind of cost, which has a full bar.
struct Scale {
    critical: f64,
    waited: Nanos,
}

fn excerpt(
    file: &str,
    (first, last): (u32, u32),
    costs: &Costs<'_>,
    scale: &Scale,
    options: &PageOptions,
) -> Option<Excerpt> {
    let source = options.sources.get(file).filter(|_| options.with_sources)?;
    let cost_of = |number: u32| costs.get(&(file, number)).map(|(_, cost)| *cost);
    let lines = source.shown(first, last, AROUND)?.into_iter().map(|(number, text)| {
        let cost = cost_of(number).unwrap_or_default();
        Line {
            number,
            critical: (cost.critical > 0.0)
                .then(|| (across(cost.critical, scale.critical), percent(cost.critical))),
            active: (cost.active > 0.0).then(|| percent(cost.active)),
            waited: (cost.waited > Nanos::ZERO)
                .then(|| (across(cost.waited.get() as f64, scale.waited.get() as f64), time(cost.waited))),
            text: escape::cut(&escape::visible(&text, LOOK), COLUMNS, LOOK),
        }
    });
    let lines: Vec<Line> = lines.collect();
    let function = (first..=last)
        .filter_map(|number| costs.get(&(file, number)))
        .max_by(|a, b| a.1.critical.total_cmp(&b.1.critical).then(a.1.waited.cmp(&b.1.waited)))
        .map_or("", |(function, _)| *function);
    Some(Excerpt {
        file: escape::cut(&escape::visible(file, LOOK), FILE, LOOK),
        function: escape::name(function, LOOK),
        is_newer: source.is_newer,
        has_samples: lines.iter().any(|line| line.critical.is_some()),
        has_waits: lines.iter().any(|line| line.waited.is_some()),
        lines,
    })
}

impl Function {
    fn samples(&self) -> String {
        grouped(self.samples)
    }
}
