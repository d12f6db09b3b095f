//! What changed, as an answer: the wall time, what its difference consists of, then locks, places, threads, marked parts
//! and functions whose differences matter.

use holdup_answer::{Answer, Block, KeyFigure, Most, Section, Table as Rows, Weight};
use holdup_model::figures::{counted, figure, percent};
use holdup_model::{Arrange, Nanos, Stack, StackComponent, Unit};

use crate::{Against, Change, Class, Comparison, Contribution, Place, Presence, Row, Side, Subject, Table};

/// A difference below this share of the longer wall time is counted only.
const LEAST_SHARE: f64 = 0.01;

/// Of things of a sort those that changed most are shown.
const LARGEST: Most = Most { in_terminal: 5, on_page: 50 };

/// At most so many causes of one part of the wall time are shown.
const MOST_CAUSES: usize = 3;

impl Comparison {
    /// What changed, as an answer.
    pub fn answer(&self) -> Answer {
        let program = match self.after.program.as_str() {
            "" => "the program",
            name => name,
        };
        let mut sections = vec![self.consists_of()];
        sections.extend(self.most());
        sections.extend(self.machine());
        Answer {
            command: "holdup diff",
            subject: program.to_owned(),
            headline: self.headline(program),
            program: self.after.command.clone(),
            figures: self.figures(),
            warnings: self.warnings.clone(),
            sections,
            notes: Vec::new(),
        }
    }

    fn headline(&self, program: &str) -> String {
        let (before, after) = (&self.before, &self.after);
        if let Some(scaling) = self.scaling {
            let threads = |side: &Side| counted(u64::from(side.workers), "thread", "threads");
            let lost = match self.wall.difference {
                1.. => format!(
                    "it lost {}{}",
                    Nanos::new(self.wall.difference.unsigned_abs()),
                    in_parentheses(&self.wall)
                ),
                _ => "it lost nothing".to_owned(),
            };
            return format!(
                "{program} ran {} with {} at work and {} with {}: {} as fast (efficiency {}). Shared without loss it \
                 would have run {}; {lost}.",
                mean(before),
                threads(before),
                mean(after),
                threads(after),
                times(scaling.speedup),
                percent(scaling.efficiency),
                scaling.ideal,
            );
        }
        let wall = &self.wall;
        let was = format!("{program} ran {} before and {} after", mean(before), mean(after));
        if wall.is_beyond_noise() == Some(false) {
            let difference = format!("{}{}", signed(wall.difference), in_parentheses(wall));
            return format!("{was}: no difference beyond noise ({difference}).");
        }
        let how = match wall.difference {
            0 => return format!("{was}: no difference."),
            1.. => "longer",
            _ => "less",
        };
        let speed = wall.before as f64 / (wall.after.max(1)) as f64;
        let factor = match speed >= 1.0 {
            true => format!("{} as fast", times(speed)),
            false => format!("{} as long", times(1.0 / speed.max(f64::MIN_POSITIVE))),
        };
        let size = Nanos::new(wall.difference.unsigned_abs());
        format!("{was}: {size} {how}{}, {factor}.", in_parentheses(wall))
    }

    fn figures(&self) -> Vec<KeyFigure> {
        let mut figures = Vec::new();
        let mut add = |name, value: String| figures.push(KeyFigure { name, value });
        add("Before", mean(&self.before).to_string());
        add("After", mean(&self.after).to_string());
        add("Difference", signed(self.wall.difference));
        add("Efficiency before", percent(self.before.efficiency));
        add("Efficiency after", percent(self.after.efficiency));
        figures
    }

    /// How many runs there were, and what else is known of both sides.
    fn runs(&self) -> String {
        let (before, after) = (&self.before, &self.after);
        let of = |side: &Side| counted(side.walls.len() as u64, "run", "runs");
        let efficiency = match self.against {
            Against::Change => {
                format!(
                    "; efficiency {} before, {} after",
                    percent(before.efficiency),
                    percent(after.efficiency)
                )
            }
            Against::Threads => String::new(),
        };
        let intervals = if self.wall.interval.is_some() { "; intervals are of 95 %" } else { "" };
        let cpu = self.scaling.and_then(|scaling| scaling.cpu).filter(|cpu| cpu.before > 0).map(|cpu| {
            let grown = cpu.difference as f64 / cpu.before as f64;
            let noise = if cpu.is_beyond_noise() == Some(false) { ", no more than noise" } else { "" };
            let way = if grown < 0.0 { "less" } else { "more" };
            format!("; the threads used {} {way} CPU time together{noise}", percent(grown.abs()))
        });
        format!(
            "{} before, {} after{efficiency}{intervals}{}.",
            of(before),
            of(after),
            cpu.unwrap_or_default()
        )
    }

    fn consists_of(&self) -> Section {
        let least = self.least();
        let (large, small): (Vec<_>, Vec<_>) =
            self.contributions.iter().partition(|part| matters(&part.change, least));
        // One alone has no sum to tell.
        let (large, small) = match small.as_slice() {
            [_] => (self.contributions.iter().collect(), Vec::new()),
            _ => (large, small),
        };
        let mut rows: Vec<Line> = large.into_iter().flat_map(|part| lines_of(part, least)).collect();
        if !small.is_empty() {
            let sum = small.iter().fold(Change::default(), |sum, part| Change {
                before: sum.before.saturating_add(part.change.before),
                after: sum.after.saturating_add(part.change.after),
                difference: sum.difference.saturating_add(part.change.difference),
                interval: None,
            });
            let how = if self.wall.interval.is_some() { "within noise or small" } else { "small" };
            let name = match small.len() == self.contributions.len() {
                true => format!("all parts, each {how}"),
                false => format!("the other {}, each {how}", small.len()),
            };
            rows.push(Line { name, change: sum, weight: Weight::Plain, color: "hatch" });
        }
        rows.push(Line {
            name: "together: the wall time".to_owned(),
            change: self.wall,
            weight: Weight::Strong,
            color: "ink",
        });
        Section {
            heading: "What the difference consists of".to_owned(),
            aside: self.runs(),
            lead: Vec::new(),
            blocks: vec![changes("Parts of the wall time", "part", self.sides(), &rows, Most::default())],
        }
    }

    /// The locks, places, threads, marked parts and functions that changed.
    fn most(&self) -> Option<Section> {
        let subjects =
            [Subject::Objects, Subject::Sites, Subject::Threads, Subject::Labels, Subject::Functions];
        let blocks: Vec<Block> = subjects
            .into_iter()
            .filter_map(|subject| self.table(subject))
            .filter_map(|table| self.changed(table))
            .collect();
        (!blocks.is_empty()).then(|| Section {
            heading: "What changed most".to_owned(),
            blocks,
            ..Section::default()
        })
    }

    fn changed(&self, table: &Table) -> Option<Block> {
        let least = self.least();
        let measure = shown_measure(table.subject, self.against);
        let mut rows: Vec<(&Row, Change)> = table
            .rows
            .iter()
            .filter_map(|row| Some((row, row.changes.get(measure).copied().flatten()?)))
            .filter(|(_, change)| matters(change, least))
            .collect();
        rows.arrange_by_key(|(_, change)| std::cmp::Reverse(change.difference.unsigned_abs()));
        let sides = match (table.subject, self.against) {
            (Subject::Threads | Subject::Functions | Subject::Labels, Against::Threads) => {
                ("before", "after")
            }
            _ => self.sides(),
        };
        let lines: Vec<Line> = rows
            .iter()
            .map(|(row, change)| Line {
                name: format!("{}{}{}", row.what, moved(table.subject, row), presence(row.presence)),
                change: *change,
                weight: Weight::Plain,
                color: "ink",
            })
            .collect();
        let title = title(table.subject, self.against);
        (!lines.is_empty()).then(|| changes(title, title, sides, &lines, LARGEST))
    }

    /// What surrounded the runs, where that differs.
    fn machine(&self) -> Option<Section> {
        let table = Rows::of("What surrounded the runs", &self.surroundings)
            .words("what differs", |surrounding| surrounding.what.to_owned())
            .words("before", |surrounding| surrounding.before.clone())
            .words("after", |surrounding| surrounding.after.clone());
        (!self.surroundings.is_empty()).then(|| Section {
            heading: "Environment".to_owned(),
            blocks: vec![table.block()],
            ..Section::default()
        })
    }

    /// The names of the columns before and after.
    fn sides(&self) -> (&'static str, &'static str) {
        match self.against {
            Against::Change => ("before", "after"),
            Against::Threads => ("no loss", "real"),
        }
    }

    fn least(&self) -> u64 {
        let longer = self.wall.before.max(self.wall.after).max(0);
        (longer as f64 * LEAST_SHARE) as u64
    }
}

/// A row of a name, an amount before, an amount after, and their difference.
struct Line {
    name: String,
    change: Change,
    weight: Weight,
    color: &'static str,
}

fn changes(
    caption: &str,
    title: &str,
    (before, after): (&str, &str),
    lines: &[Line],
    most_rows: Most,
) -> Block {
    let most = lines.iter().map(|line| line.change.difference.unsigned_abs()).max().unwrap_or(0);
    Rows::of(caption, lines)
        .words(title, |line| line.name.clone())
        .numbers(before, |line| amount(line.change.before))
        .numbers(after, |line| amount(line.change.after))
        .numbers("difference", |line| signed(line.change.difference))
        .numbers("95 % interval", |line| {
            let interval = line.change.interval;
            interval.map_or_else(String::new, |(low, high)| format!("{} to {}", signed(low), signed(high)))
        })
        .if_there_is_room()
        .stacks("less, or more", |line| {
            let part = StackComponent::new(
                "difference",
                line.name.clone(),
                line.color,
                line.change.difference as f64,
            );
            Some(Stack::of_total(most as f64, Unit::Nanos, vec![part]))
        })
        .weighed(|line| line.weight)
        .at_most(most_rows.in_terminal, most_rows.on_page)
        .block()
}

fn lines_of(part: &Contribution, least: u64) -> Vec<Line> {
    let (name, color) = match part.class {
        Class::Useful => ("work", "act"),
        Class::Lost(kind) => (kind.label(), kind.color()),
        Class::Unexplained => ("not explained", "hatch"),
    };
    let of_part = Line { name: name.to_owned(), change: part.change, weight: Weight::Strong, color };
    let causes = part.causes.iter().filter(|cause| matters(&cause.change, least)).take(MOST_CAUSES);
    let causes = causes.map(|cause| Line {
        name: format!("{}{}", cause.what, presence(cause.presence)),
        change: cause.change,
        weight: Weight::Part,
        color,
    });
    [of_part].into_iter().chain(causes).collect()
}

/// A difference of times with its sign: `+1.4 s`, `−30 ms`, `0`.
fn signed(nanos: i64) -> String {
    let sign = match nanos {
        0 => return "0".to_owned(),
        1.. => "+",
        _ => "−",
    };
    format!("{sign}{}", Nanos::new(nanos.unsigned_abs()))
}

/// An amount of time, which with several runs on the one side may have been scaled, but is never negative.
fn amount(nanos: i64) -> String {
    if nanos < 0 { signed(nanos) } else { Nanos::new(nanos.unsigned_abs()).to_string() }
}

/// ` (+1.2 s to +1.6 s)`, the interval of a difference; empty without one.
fn in_parentheses(change: &Change) -> String {
    let interval = change.interval;
    interval.map_or_else(String::new, |(low, high)| format!(" ({} to {})", signed(low), signed(high)))
}

fn times(factor: f64) -> String {
    if factor < 9.995 { format!("{factor:.2} times") } else { format!("{} times", figure(factor)) }
}

fn mean(side: &Side) -> Nanos {
    let sum: u128 = side.walls.iter().map(|wall| u128::from(wall.get())).sum();
    Nanos::new((sum / side.walls.len().max(1) as u128) as u64)
}

fn matters(change: &Change, least: u64) -> bool {
    let size = change.difference.unsigned_abs();
    size > 0 && size >= least && !change.may_be_none()
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

/// Which measure is shown: for work inflation that of all threads together.
fn shown_measure(subject: Subject, against: Against) -> usize {
    usize::from(against == Against::Threads && matches!(subject, Subject::Threads | Subject::Functions))
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
