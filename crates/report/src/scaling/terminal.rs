//! The short answer of `holdup scale`: how it scales, what is lost and where, what helps, and what more threads would do.

use holdup_model::{Arrange, Efficiency, Nanos};
use holdup_scaling::{Hint, Losses, Measured, RegionPoint, RegionScaling, Scaling};
use textwrap::core::display_width;

use super::{plot, told, words};
use crate::ink::Ink;
use crate::lines::{Line, broken_short, labelled, painted, wrapped, wrapped_short};
use crate::numbers;
use crate::numbers::{counted, percent, time};
use crate::tabular::{Column, table};
use crate::{Look, escape};

/// At most so many numbers of threads, regions, hints and notes are told.
const MOST_RUNS: usize = 12;
const MOST_REGIONS: usize = 5;
const MOST_HINTS: usize = 5;
const MOST_NOTES: usize = 6;

/// At most so many losses of a region are told, and none below this share of its time.
const MOST_LOSSES: usize = 3;
const SMALL: f64 = 0.01;

/// A region that could save less than this share of the wall time is not told, but counted.
const SMALL_REGION: f64 = 0.001;

/// The columns that a figure takes.
const CELL: usize = 12;

/// What details are indented by.
const INDENT: usize = 4;

/// The answer for a terminal, each line at most [`Look::width`] columns wide, with a line break at its end.
pub fn render_scale(scaling: &Scaling, look: Look) -> String {
    let mut lines = wrapped(&told::heading(scaling, look), 0, Ink::Strong, look);
    for sentence in
        [told::shared(scaling), told::lost(scaling, look), told::helps(scaling, look)].into_iter().flatten()
    {
        lines.extend(wrapped(&sentence, 0, Ink::Text, look));
    }
    let parts = match scaling.ignored {
        None => vec![runs, plot::speedup, regions, hints, efficiencies, foot],
        Some(_) => vec![runs, foot],
    };
    for part in parts {
        let part = part(scaling, look);
        if !part.is_empty() {
            lines.push(Line::default());
            lines.extend(part);
        }
    }
    painted(&lines, look)
}

/// So many of `count` things as may be told, evenly chosen, with the first and the last.
fn chosen(count: usize, most: usize) -> Vec<usize> {
    if count <= most {
        return (0..count).collect();
    }
    (0..most).map(|index| index * (count - 1) / (most - 1).max(1)).collect()
}

fn runs(scaling: &Scaling, look: Look) -> Vec<Line> {
    if scaling.points.len() < 2 {
        return Vec::new();
    }
    let told = chosen(scaling.points.len(), MOST_RUNS);
    let repeats = scaling.points.iter().map(|point| point.wall.runs).max().unwrap_or(0);
    let range = match scaling.points.iter().all(|point| point.wall.runs == repeats) {
        true => format!("range of {}", counted(u64::from(repeats), "run", "runs")),
        false => "range".to_owned(),
    };
    let points = || told.iter().map(|&index| &scaling.points[index]);
    let mostly = |losses: &Losses, wall: Nanos| {
        let mut parts =
            words::largest(losses).into_iter().filter(|part| share(part.amount as i64, wall) >= SMALL);
        parts.next().map_or_else(String::new, |part| {
            format!("{} {}", part.label, words::signed(part.amount as i64, look))
        })
    };
    let mut columns = vec![
        Column::numbers("threads", points().map(|point| point.threads.to_string())),
        Column::numbers("time", points().map(|point| time(point.wall.median, look))),
        Column::words(&range, points().map(|point| spread(&point.wall, look))).optional(),
    ];
    if scaling.ignored.is_none() {
        columns.extend([
            Column::numbers("speedup", points().map(|point| numbers::factor(point.speedup))).optional(),
            Column::numbers("efficiency", points().map(|point| words::efficiency(point.efficiency))),
            Column::numbers("lost", points().map(|point| words::signed(point.losses.lost, look))),
            Column::words("mostly to", points().map(|point| mostly(&point.losses, point.wall.median)))
                .optional(),
        ]);
    }
    let mut lines = table(columns, look);
    if let Some(more @ 1..) = scaling.points.len().checked_sub(told.len()) {
        lines.extend(more_of(more, "number of threads", "numbers of threads", look));
    }
    lines
}

/// The least and the most of several times; empty where there was one, or no difference.
fn spread(time: &Measured, look: Look) -> String {
    if time.runs < 2 || time.low >= time.high {
        return String::new();
    }
    words::range(signed(time.low), signed(time.high), look)
}

fn signed(time: Nanos) -> i64 {
    i64::try_from(time.get()).unwrap_or(i64::MAX)
}

fn share(nanos: i64, whole: Nanos) -> f64 {
    nanos as f64 / whole.get().max(1) as f64
}

fn more_of(count: usize, one: &str, many: &str, look: Look) -> Vec<Line> {
    let text = format!(
        "and {}: holdup scale --json",
        counted(count as u64, &format!("more {one}"), &format!("more {many}"))
    );
    wrapped(&text, 2, Ink::Faint, look)
}

/// With one number of threads there is no gain to tell, but what working together costs.
fn regions(scaling: &Scaling, look: Look) -> Vec<Line> {
    let wall = scaling.points.last().map_or(Nanos::ZERO, |point| point.wall.median);
    let is_alone = scaling.points.len() < 2;
    let mut told: Vec<(&RegionScaling, &RegionPoint, i64)> = (scaling.regions.iter())
        .filter_map(|region| {
            let last = region.points.last()?;
            Some((region, last, if is_alone { last.costs.lost } else { signed(region.potential_gain) }))
        })
        .filter(|(.., gain)| share(*gain, wall) >= SMALL_REGION)
        .collect();
    if told.is_empty() {
        return Vec::new();
    }
    if is_alone {
        told.arrange_by_key(|(.., lost)| std::cmp::Reverse(*lost));
    }
    told.truncate(MOST_REGIONS);
    let columns = Columns::of(look);
    let titles = if is_alone { ["time", "useful", "lost"] } else { ["time", "efficiency", "could save"] };
    let mut lines = columns.titles("where", titles);
    for (index, &(region, last, gain)) in told.iter().enumerate() {
        let useful = if is_alone { 1.0 - share(last.costs.lost, last.time.median) } else { last.efficiency };
        let cells = [time(last.time.median, look), words::efficiency(useful), words::signed(gain, look)];
        lines.extend(columns.row(titles, &format!("{} ", index + 1), &words::region(region, look), cells));
        let losses = if is_alone { &last.costs } else { &last.losses };
        lines.extend(wrapped_short(&why(last, losses, look), INDENT, Ink::Text, look));
        if let Some(standing) = told::standing(last, look).filter(|_| !is_alone) {
            lines.extend(wrapped_short(&standing, INDENT, Ink::Text, look));
        }
    }
    if let Some(more @ 1..) = scaling.regions.len().checked_sub(told.len()) {
        lines.extend(more_of(more, "region", "regions", look));
    }
    lines
}

/// What is lost in a region, and how well that is known.
fn why(point: &RegionPoint, losses: &Losses, look: Look) -> String {
    let whole = point.time.median;
    let losses: Vec<String> = words::largest(losses)
        .into_iter()
        .filter(|part| share(part.amount as i64, whole) >= SMALL)
        .take(MOST_LOSSES)
        .map(|part| {
            format!(
                "{} {} ({})",
                part.label,
                words::signed(part.amount as i64, look),
                percent(share(part.amount as i64, whole))
            )
        })
        .collect();
    let lost = if losses.is_empty() { "no loss of a size to name".to_owned() } else { losses.join(", ") };
    let sampled = match (point.instances, point.whole) {
        (instances, whole) if whole < instances => {
            let error = match point.error {
                // Of so few nothing is known of the rest.
                error if error >= 1.0 => ", too few to say what all of them lose".to_owned(),
                error if error > 0.0 => format!(", give or take {}", percent(error)),
                _ => String::new(),
            };
            format!(
                "; executed {}, {} of them recorded whole{error}",
                counted(instances, "time", "times"),
                crate::numbers::grouped(whole)
            )
        }
        _ => String::new(),
    };
    format!("{lost}{sampled}.")
}

fn hints(scaling: &Scaling, look: Look) -> Vec<Line> {
    if scaling.hints.is_empty() {
        return Vec::new();
    }
    let wall = scaling.points.last().map_or(Nanos::ZERO, |point| point.wall.median);
    let mut lines = vec![Line::indented(2).with("what to do", Ink::Faint)];
    for (index, hint) in scaling.hints.iter().take(MOST_HINTS).enumerate() {
        let rank = format!("{} ", index + 1);
        let place = words::hint_place(scaling, hint, look);
        let place = if place.is_empty() { place } else { format!(": {place}") };
        let heading = format!("{}{place}", words::advice(hint.kind));
        lines.extend(numbered(&rank, wrapped_short(&heading, rank.len(), Ink::Strong, look)));
        lines.extend(wrapped(&saves(hint, wall, look), INDENT, Ink::Text, look));
        lines.extend(wrapped(&crate::escape::sentences(&hint.text, look), INDENT, Ink::Text, look));
    }
    if let Some(more @ 1..) = scaling.hints.len().checked_sub(MOST_HINTS) {
        lines.extend(more_of(more, "hint", "hints", look));
    }
    lines
}

/// What a hint saves, and how that is known.
fn saves(hint: &Hint, wall: Nanos, look: Look) -> String {
    let method = escape::sentence(&hint.method, look);
    let method = if method.is_empty() { String::new() } else { format!(" ({method})") };
    match hint.gain {
        Some(gain) if gain.time <= 0 => {
            format!("Saves nothing: {}{method}.", words::range(gain.low, gain.high, look))
        }
        Some(_) => format!("Saves {}{method}.", told::gain(hint, wall, look)),
        None => format!("What it saves is not known{method}."),
    }
}

/// The first of these lines begins with a number in the place of its indentation.
fn numbered(rank: &str, lines: Vec<Line>) -> Vec<Line> {
    let mut lines = lines.into_iter();
    let first = lines.next().map(|line| line.begun_with(rank, Ink::Faint));
    first.into_iter().chain(lines).collect()
}

/// The tree of efficiencies, a column for each number of threads.
fn efficiencies(scaling: &Scaling, look: Look) -> Vec<Line> {
    let Some(last) = scaling.pop.last() else { return Vec::new() };
    let mut rows = Vec::new();
    flattened(&last.root, 0, &mut Vec::new(), &mut rows);
    let names = rows.iter().map(|(depth, path)| {
        let name = path.last().map_or("", |(_, name)| name);
        let name = format!("{}{}", "  ".repeat(*depth), escape::name(name, look));
        escape::cut(&name, look.columns() / 2, look)
    });
    let mut columns = vec![Column::words("efficiencies", names)];
    for index in chosen(scaling.pop.len(), MOST_RUNS) {
        let point = &scaling.pop[index];
        let values =
            rows.iter().map(|(_, path)| value(&point.root, path).map_or_else(String::new, words::efficiency));
        let column = Column::numbers(&point.threads.to_string(), values.collect::<Vec<_>>());
        columns.push(if index + 1 < scaling.pop.len() { column.optional() } else { column });
    }
    table(columns, look)
}

/// The way to an efficiency from the root: its place among the factors, and its name, at each level.
type Path<'a> = Vec<(usize, &'a str)>;

/// Deeper trees than this are cut: the hierarchy has four levels.
const DEEPEST: usize = 8;

fn flattened<'a>(node: &'a Efficiency, place: usize, path: &mut Path<'a>, out: &mut Vec<(usize, Path<'a>)>) {
    let depth = path.len();
    path.push((place, &node.name));
    out.push((depth, path.clone()));
    if depth < DEEPEST {
        for (index, factor) in node.factors.iter().enumerate() {
            flattened(factor, index, path, out);
        }
    }
    path.pop();
}

/// The value at the end of a path; `None` where this tree has another shape.
fn value(root: &Efficiency, path: &Path<'_>) -> Option<f64> {
    let mut node = root;
    for (place, name) in &path[1..] {
        node = node.factors.get(*place).filter(|factor| factor.name == *name)?;
    }
    Some(node.value)
}

/// The law, and what a reader must know.
fn foot(scaling: &Scaling, look: Look) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |label: &str, ink: Ink, text: String| {
        lines.extend(labelled(label, ink, vec![Line::default().with(&text, Ink::Text)], look));
    };
    if let Some(law) = &scaling.law {
        if let Some(outlook) = told::outlook(scaling, law, look) {
            add("more threads", Ink::Faint, outlook);
        }
        add("model", Ink::Faint, told::law(law, look));
    } else if scaling.points.len() > 1 && scaling.ignored.is_none() {
        add("model", Ink::Faint, told::no_law(scaling));
    }
    for note in scaling.notes.iter().filter(|note| !note.trim().is_empty()).take(MOST_NOTES) {
        add("note", Ink::Warning, crate::escape::sentences(note, look));
    }
    if let Some(more @ 1..) = scaling.notes.len().checked_sub(MOST_NOTES) {
        add(
            "",
            Ink::Faint,
            format!("and {}: holdup scale --json", counted(more as u64, "more note", "more notes")),
        );
    }
    lines
}

/// Where the columns of the regions end.
struct Columns {
    look: Look,
    ends: [usize; 3],
}

impl Columns {
    fn of(look: Look) -> Self {
        let width = look.columns();
        Self { look, ends: [width - 2 * CELL, width - CELL, width] }
    }

    fn titles(&self, what: &str, titles: [&str; 3]) -> Vec<Line> {
        let line = Line::indented(2).with(what, Ink::Faint);
        if self.look.is_narrow() {
            return vec![line];
        }
        let line = titles
            .iter()
            .zip(self.ends)
            .fold(line, |line, (title, end)| line.right_aligned(title, end, Ink::Faint));
        vec![line]
    }

    fn row(&self, titles: [&str; 3], rank: &str, what: &str, cells: [String; 3]) -> Vec<Line> {
        let narrow = self.look.is_narrow() || cells.iter().any(|cell| display_width(cell) >= CELL);
        let room = if narrow { self.look.columns() } else { self.ends[0] - 10 };
        let text = broken_short(what, room - rank.len(), self.look);
        let text = text.iter().map(|text| Line::indented(rank.len()).with(text, Ink::Strong));
        let mut lines = numbered(rank, text.collect());
        if narrow {
            let figures: Vec<String> =
                titles.iter().zip(&cells).map(|(title, cell)| format!("{title} {cell}")).collect();
            let figures = figures.join(", ");
            lines.extend(wrapped(&figures, INDENT, Ink::Text, self.look));
        } else if let Some(first) = lines.first_mut() {
            *first = cells
                .iter()
                .zip(self.ends)
                .fold(first.clone(), |line, (cell, end)| line.right_aligned(cell, end, Ink::Text));
        }
        lines
    }
}
