//! What changed, for a terminal: the wall time, what its difference consists of, then locks, places, threads, marked parts
//! and functions whose differences matter.

use holdup_compare::{
    Against, Cause, Change, Class, Comparison, Contribution, Place, Presence, Row, Side, Subject, Table,
};
use holdup_model::{Arrange, Nanos};

use super::table::{Columns, signed};
use crate::ink::Ink;
use crate::lines::{Line, labelled, painted, wrapped};
use crate::numbers::{counted, figure, percent, time};
use crate::{Look, escape};

/// A difference below this share of the longer wall time is not told, but counted.
const LEAST_SHARE: f64 = 0.01;

/// At most so many things of a sort are told.
const MOST_ROWS: usize = 5;

/// At most so many causes of one part of the wall time are told.
const MOST_CAUSES: usize = 3;

/// At most so many differences of the surroundings, and so many warnings, are told.
const MOST_LISTED: usize = 6;

/// The comparison for a terminal, each line at most [`Look::width`] columns wide, with a line break at its end.
pub fn render_diff(comparison: &Comparison, look: Look) -> String {
    let mut lines = wrapped(&headline(comparison, look), 0, Ink::Strong, look);
    lines.extend(wrapped(&runs(comparison), 0, Ink::Text, look));
    lines.push(Line::default());
    lines.extend(consists_of(comparison, look));
    for subject in [Subject::Objects, Subject::Sites, Subject::Threads, Subject::Labels, Subject::Functions] {
        if let Some(table) = comparison.table(subject) {
            lines.extend(section(comparison, table, look));
        }
    }
    lines.push(Line::default());
    let surroundings = comparison.surroundings.iter().take(MOST_LISTED).map(|surrounding| {
        format!("{}: {} before, {} after", surrounding.what, surrounding.before, surrounding.after)
    });
    lines.extend(list("environment", Ink::Faint, surroundings, look));
    lines.extend(list("warning", Ink::Warning, comparison.warnings.iter().take(MOST_LISTED).cloned(), look));
    while lines.last().is_some_and(|line| line.width() == 0) {
        lines.pop();
    }
    painted(&lines, look)
}

fn list(label: &str, ink: Ink, texts: impl Iterator<Item = String>, look: Look) -> Vec<Line> {
    texts
        .flat_map(|text| {
            let piece = Line::default().with(&escape::sentence(&text, look), Ink::Text);
            labelled(label, ink, vec![piece], look)
        })
        .collect()
}

fn headline(comparison: &Comparison, look: Look) -> String {
    let (before, after) = (&comparison.before, &comparison.after);
    let program = match escape::name(&after.program, look) {
        name if name.is_empty() => "the program".to_owned(),
        name => name,
    };
    if let Some(scaling) = comparison.scaling {
        let threads = |side: &Side| counted(u64::from(side.workers), "thread", "threads");
        let lost = comparison.wall.difference;
        return format!(
            "{program} ran {} with {} at work and {} with {}: {} as fast (efficiency {}). Shared without loss it would \
             have run {}; {}.",
            time(mean(before), look),
            threads(before),
            time(mean(after), look),
            threads(after),
            times(scaling.speedup),
            percent(scaling.efficiency),
            time(scaling.ideal, look),
            match lost {
                1.. => format!(
                    "it lost {}{}",
                    time(Nanos::new(lost.unsigned_abs()), look),
                    interval(comparison, look)
                ),
                _ => "it lost nothing".to_owned(),
            }
        );
    }
    let wall = &comparison.wall;
    let was =
        format!("{program} ran {} before and {} after", time(mean(before), look), time(mean(after), look));
    if wall.is_beyond_noise() == Some(false) {
        return format!("{was}: no difference beyond noise ({}).", super::table::difference(wall, look));
    }
    let size = time(Nanos::new(wall.difference.unsigned_abs()), look);
    let how = match wall.difference {
        0 => return format!("{was}: no difference."),
        1.. => "longer",
        _ => "less",
    };
    let speed = wall.before as f64 / (wall.after.max(1)) as f64;
    let factor = if speed >= 1.0 {
        format!("{} as fast", times(speed))
    } else {
        format!("{} as long", times(1.0 / speed.max(f64::MIN_POSITIVE)))
    };
    format!("{was}: {size} {how}{}, {factor}.", interval(comparison, look))
}

/// ` (+1.2 s to +1.6 s)`, the interval of the difference of the wall times; empty without one.
fn interval(comparison: &Comparison, look: Look) -> String {
    let interval = comparison.wall.interval;
    interval
        .map_or(String::new(), |(low, high)| format!(" ({} to {})", signed(low, look), signed(high, look)))
}

fn times(factor: f64) -> String {
    if factor < 9.995 { format!("{factor:.2} times") } else { format!("{} times", figure(factor)) }
}

fn mean(side: &Side) -> Nanos {
    let sum: u128 = side.walls.iter().map(|wall| u128::from(wall.get())).sum();
    Nanos::new((sum / side.walls.len().max(1) as u128) as u64)
}

fn runs(comparison: &Comparison) -> String {
    let (before, after) = (&comparison.before, &comparison.after);
    let of = |side: &Side| counted(side.walls.len() as u64, "run", "runs");
    let efficiency = match comparison.against {
        Against::Change => {
            format!("; efficiency {} before, {} after", percent(before.efficiency), percent(after.efficiency))
        }
        Against::Threads => String::new(),
    };
    let intervals = if comparison.wall.interval.is_some() { "; intervals are of 95 %" } else { "" };
    let cpu = comparison.scaling.and_then(|scaling| scaling.cpu).filter(|cpu| cpu.before > 0).map(|cpu| {
        let grown = cpu.difference as f64 / cpu.before as f64;
        let noise = if cpu.is_beyond_noise() == Some(false) { ", no more than noise" } else { "" };
        let way = if grown < 0.0 { "less" } else { "more" };
        format!("; the threads used {} {way} CPU time together{noise}", percent(grown.abs()))
    });
    format!("{} before, {} after{efficiency}{intervals}{}.", of(before), of(after), cpu.unwrap_or_default())
}

/// The names of the columns before and after.
fn sides(comparison: &Comparison) -> (&'static str, &'static str) {
    match comparison.against {
        Against::Change => ("before", "after"),
        Against::Threads => ("no loss", "real"),
    }
}

fn least(comparison: &Comparison) -> u64 {
    let longer = comparison.wall.before.max(comparison.wall.after).max(0);
    (longer as f64 * LEAST_SHARE) as u64
}

fn matters(change: &Change, least: u64) -> bool {
    let size = change.difference.unsigned_abs();
    size > 0 && size >= least && !change.may_be_none()
}

fn consists_of(comparison: &Comparison, look: Look) -> Vec<Line> {
    let columns = Columns::of(comparison, look);
    let least = least(comparison);
    let mut lines = columns.titles("what the difference consists of", sides(comparison));
    let (told, small): (Vec<_>, Vec<_>) =
        comparison.contributions.iter().partition(|part| matters(&part.change, least));
    for part in told {
        lines.extend(columns.row(class(part.class), 2, &part.change, Ink::Strong));
        lines.extend(causes(part, least, columns));
    }
    if !small.is_empty() {
        let sum = small.iter().fold(Change::default(), |sum, part| Change {
            before: sum.before.saturating_add(part.change.before),
            after: sum.after.saturating_add(part.change.after),
            difference: sum.difference.saturating_add(part.change.difference),
            interval: None,
        });
        let how = if comparison.wall.interval.is_some() { "within noise or small" } else { "small" };
        let title = if small.len() == comparison.contributions.len() {
            format!("all parts, each {how}")
        } else {
            format!("the other {}, each {how}", small.len())
        };
        lines.extend(columns.row(&title, 2, &sum, Ink::Text));
    }
    lines.extend(columns.row("together: the wall time", 2, &comparison.wall, Ink::Strong));
    lines
}

fn class(class: Class) -> &'static str {
    match class {
        Class::Useful => "work",
        Class::Lost(kind) => kind.word(),
        Class::Unexplained => "not explained",
    }
}

fn causes(part: &Contribution, least: u64, columns: Columns) -> Vec<Line> {
    let told: Vec<&Cause> =
        part.causes.iter().filter(|cause| matters(&cause.change, least)).take(MOST_CAUSES).collect();
    let mut lines = Vec::new();
    for cause in &told {
        let text = format!("{}{}", cause.what, presence(cause.presence));
        lines.extend(columns.row(&text, 4, &cause.change, Ink::Text));
    }
    lines
}

fn presence(presence: Presence) -> &'static str {
    match presence {
        Presence::Both => "",
        Presence::New => " (new)",
        Presence::Gone => " (gone)",
    }
}

/// What a table is called, and what its amounts are.
fn title(subject: Subject, against: Against) -> &'static str {
    match (subject, against) {
        (Subject::Findings, _) => "findings",
        (Subject::Objects, _) => "locks and other objects: cost",
        (Subject::Sites, _) => "call sites: waiting, by working thread",
        (Subject::Threads, Against::Change) => "threads: criticality",
        (Subject::Threads, Against::Threads) => "threads: time at work, together",
        (Subject::Labels, _) => "marked parts: time",
        (Subject::Functions, Against::Change) => "functions: critical time",
        (Subject::Functions, Against::Threads) => "functions: time at work, together",
    }
}

/// Which measure is told: for work inflation that of all threads together.
fn told_measure(subject: Subject, against: Against) -> usize {
    usize::from(against == Against::Threads && matches!(subject, Subject::Threads | Subject::Functions))
}

fn section(comparison: &Comparison, table: &Table, look: Look) -> Vec<Line> {
    let columns = Columns::of(comparison, look);
    let least = least(comparison);
    let measure = told_measure(table.subject, comparison.against);
    let change = |row: &Row| row.changes.get(measure).copied().flatten();
    let mut rows: Vec<(&Row, Change)> = table
        .rows
        .iter()
        .filter_map(|row| Some((row, change(row)?)))
        .filter(|(_, change)| matters(change, least))
        .collect();
    rows.arrange_by_key(|(_, change)| std::cmp::Reverse(change.difference.unsigned_abs()));
    if rows.is_empty() {
        return Vec::new();
    }
    let names = match (table.subject, comparison.against) {
        (Subject::Threads | Subject::Functions | Subject::Labels, Against::Threads) => ("before", "after"),
        _ => sides(comparison),
    };
    let mut lines = vec![Line::default()];
    lines.extend(columns.titles(title(table.subject, comparison.against), names));
    for (row, change) in rows.iter().take(MOST_ROWS) {
        let text = format!("{}{}{}", row.what, moved(table.subject, row), presence(row.presence));
        lines.extend(columns.row(&text, 2, change, Ink::Text));
    }
    if let Some(more @ 1..) = rows.len().checked_sub(MOST_ROWS) {
        lines.extend(wrapped(&format!("and {more} more: holdup diff --json"), 2, Ink::Faint, look));
    }
    lines
}

/// Where a thing was before, if that is another line or function.
fn moved(subject: Subject, row: &Row) -> String {
    let (Some(before), Some(after)) = (&row.place_before, &row.place_after) else { return String::new() };
    let differ = |of: fn(&Place) -> Option<String>| of(before) != of(after);
    let has_line = matches!(subject, Subject::Sites | Subject::Objects);
    match has_line
        && (differ(|place| place.function.clone()) || differ(|place| place.line.map(|line| line.to_string())))
    {
        true => format!(", before in {before}"),
        false => String::new(),
    }
}
