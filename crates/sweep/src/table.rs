//! The results as tables.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use holdup_export::{Cell as Value, Column, ColumnKind, TableFormat, table};

use crate::error::SweepError;
use crate::outcome::{Outcome, Status};
use crate::work::Cell;

/// A cell and how it ended.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is of.
    pub cell: Cell,
    /// What its answer gave, or why there is none; `None` if it was not done yet.
    pub outcome: Option<Outcome>,
    /// What its recording gave, where a task made it.
    pub recorded: Option<Outcome>,
}

impl Row {
    /// How the cell ended.
    pub fn status(&self) -> Status {
        self.outcome.as_ref().map_or(Status::Missing, |outcome| outcome.status)
    }
}

type Of = for<'a> fn(&'a Row) -> Value<'a>;

/// The columns that every row has, in both tables: name, kind, meaning.
pub const ROWS: &[(&str, ColumnKind, &str)] = &[
    ("program", ColumnKind::Text, "The program's name in the plan"),
    ("suite", ColumnKind::Text, "What it belongs to"),
    ("input", ColumnKind::Text, "The input's name"),
    ("threads", ColumnKind::Whole, "How many threads it was told to use"),
    ("repeat", ColumnKind::Whole, "Which run of the same, from 1"),
    ("measure", ColumnKind::Text, "What was asked: `report` or `sim`"),
    ("machine", ColumnKind::Text, "The machine that was simulated"),
    ("cores", ColumnKind::Whole, "Its cores, where the plan says how many"),
    ("what_if", ColumnKind::Text, "What was changed in the simulation; missing for the unchanged one"),
    ("status", ColumnKind::Text, "`done`, `failed`, `timeout`, or `missing` if it was not done yet"),
];

const CELLS: &[Of] = &[
    |row| Value::Text(&row.cell.program),
    |row| text(row.cell.suite.as_deref()),
    |row| text(row.cell.input.as_deref()),
    |row| whole(row.cell.threads),
    |row| Value::Whole(u64::from(row.cell.repeat)),
    |row| Value::Text(row.cell.measure.word()),
    |row| text(row.cell.machine.as_deref()),
    |row| whole(row.cell.cores),
    |row| text(row.cell.what_if.as_deref()),
    |row| Value::Text(row.status().word()),
];

/// The columns of the wide table beside [`ROWS`] and those of the numbers.
const MORE: &[(&str, ColumnKind, &str)] = &[
    ("reason", ColumnKind::Text, "Why there is no result"),
    ("answer", ColumnKind::Text, "The key of its answer: the file is `answers/KEY.json`"),
    ("recording", ColumnKind::Text, "The key of its recording: the file is `recordings/KEY.holdup`"),
    ("recording_sha256", ColumnKind::Text, "The hash of the recording's content"),
    (
        "host",
        ColumnKind::Text,
        "The machine that it was recorded on, or where the plan gives the recording, asked about",
    ),
    ("host_processor", ColumnKind::Text, "That machine's processor"),
    ("host_cpus", ColumnKind::Whole, "How many CPUs of it could be used"),
    ("holdup", ColumnKind::Text, "The version of holdup"),
    ("recording_took_ns", ColumnKind::Whole, "How long recording took, with all preparations"),
    ("answer_took_ns", ColumnKind::Whole, "How long the answer took"),
];

const MORE_CELLS: &[Of] = &[
    |row| text(row.outcome.as_ref().and_then(|outcome| outcome.reason.as_deref())),
    |row| Value::Text(&row.cell.answer),
    |row| text(row.cell.recording.as_deref()),
    |row| text(row.outcome.as_ref().and_then(|outcome| outcome.recording.as_deref())),
    |row| text(origin(row).map(|outcome| outcome.host.name.as_str())),
    |row| text(origin(row).map(|outcome| outcome.host.processor.as_str())),
    |row| whole(origin(row).map(|outcome| outcome.host.cpus)),
    |row| text(row.outcome.as_ref().map(|outcome| outcome.holdup.as_str())),
    |row| spent(row.recorded.as_ref()),
    |row| spent(row.outcome.as_ref()),
];

fn text(text: Option<&str>) -> Value<'_> {
    text.filter(|text| !text.is_empty()).map_or(Value::Null, Value::Text)
}

fn whole<'a>(number: Option<u32>) -> Value<'a> {
    number.map_or(Value::Null, |number| Value::Whole(u64::from(number)))
}

fn origin(row: &Row) -> Option<&Outcome> {
    row.recorded.as_ref().or(row.outcome.as_ref()).filter(|outcome| outcome.host.cpus > 0)
}

fn spent(outcome: Option<&Outcome>) -> Value<'_> {
    outcome
        .filter(|outcome| outcome.spent_ns > 0)
        .map_or(Value::Null, |outcome| Value::Whole(outcome.spent_ns))
}

/// The format of the tables: Parquet, or CSV in a build without it.
pub const TABLE_FORMAT: TableFormat = TableFormat::FOR_PROGRAMS;

/// Writes both tables into `folder`: `results` with a row for each cell, and `components` with a row for each component of each
/// cell's stacks, in [`TABLE_FORMAT`]. Earlier ones are replaced as a whole, also those that a build with another format wrote.
///
/// # Errors
/// If they cannot be written.
pub fn write_tables(folder: &Path, rows: &[Row]) -> Result<(), SweepError> {
    write(folder, "results", |path| wide(path, rows))?;
    write(folder, "components", |path| long(path, rows))
}

fn write(
    folder: &Path,
    name: &str,
    fill: impl Fn(&Path) -> Result<(), SweepError>,
) -> Result<(), SweepError> {
    let path = folder.join(format!("{name}.{}", TABLE_FORMAT.ending()));
    let new: PathBuf = path.with_extension(format!("{}.new", TABLE_FORMAT.ending()));
    let _ = fs::remove_file(&new);
    fill(&new)?;
    let put = || {
        fs::File::open(&new)?.sync_all()?;
        fs::rename(&new, &path)?;
        for other in
            [TableFormat::Csv, TableFormat::Parquet].into_iter().filter(|other| *other != TABLE_FORMAT)
        {
            let _ = fs::remove_file(path.with_extension(other.ending()));
        }
        Ok(())
    };
    put().map_err(|error: io::Error| SweepError::File {
        path: path.clone(),
        problem: "the table cannot be written",
        error,
    })
}

/// A column that is there because a number is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Number {
    Whole(String),
    Real(String),
    Component { stack: String, component: String, unit: String },
    Share { stack: String, component: String },
}

impl Number {
    /// Letters, digits and `_`: names that no query language asks to be quoted.
    fn name(&self) -> String {
        let plain = |text: &str| -> String {
            text.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
        };
        match self {
            Number::Whole(name) | Number::Real(name) => name.clone(),
            Number::Component { stack, component, unit } if unit == "ns" => {
                format!("{}_{}_ns", plain(stack), plain(component))
            }
            Number::Component { stack, component, .. } => format!("{}_{}", plain(stack), plain(component)),
            Number::Share { stack, component } => format!("{}_{}_share", plain(stack), plain(component)),
        }
    }

    fn kind(&self) -> ColumnKind {
        if matches!(self, Number::Whole(_)) { ColumnKind::Whole } else { ColumnKind::Real }
    }

    fn about(&self) -> String {
        match self {
            Number::Whole(name) | Number::Real(name) => about(name).to_owned(),
            Number::Component { stack, component, unit } => {
                format!("The component {component} of the {stack} stack, in {unit}")
            }
            Number::Share { stack, component } => {
                format!("The same as a share of the {stack} stack: {component}")
            }
        }
    }

    /// A component that a stack does not have is 0 of it; without the stack it is missing.
    fn of<'a>(&self, outcome: &Outcome) -> Value<'a> {
        let numbers = &outcome.numbers;
        let part = |stack: &String, component: &String| {
            let stack = numbers.stacks.iter().find(|other| other.name == *stack)?;
            let value =
                stack.components.iter().find(|(name, _)| name == component).map_or(0.0, |(_, value)| *value);
            Some((value, stack.total))
        };
        match self {
            Number::Whole(name) => numbers.whole.get(name).map_or(Value::Null, |value| Value::Whole(*value)),
            Number::Real(name) => numbers.real.get(name).map_or(Value::Null, |value| Value::Real(*value)),
            Number::Component { stack, component, .. } => {
                part(stack, component).map_or(Value::Null, |(value, _)| Value::Real(value))
            }
            Number::Share { stack, component } => match part(stack, component) {
                Some((value, total)) if total != 0.0 => Value::Real(value / total),
                _ => Value::Null,
            },
        }
    }
}

/// What the numbers mean that are no components.
fn about(name: &str) -> &'static str {
    match name {
        "wall_ns" => "Wall time of the recorded run",
        "simulated_ns" => "Time that the simulated run takes",
        "cycles" => "Cycles of the simulated run",
        "instructions" => "Instructions of all threads",
        "cpi" => "Cycles of all threads for each instruction",
        "simulated_cores" => "How many cores were simulated",
        "program_threads" => "Threads that the program had",
        "workers" => "Threads that worked",
        "parallelism" => "Threads that were active on average",
        "efficiency" => "Parallelism for each core that could be used",
        _ => "",
    }
}

fn wide(path: &Path, rows: &[Row]) -> Result<(), SweepError> {
    let done = || {
        rows.iter().filter_map(|row| row.outcome.as_ref()).filter(|outcome| outcome.status == Status::Done)
    };
    let mut numbers: BTreeSet<Number> = BTreeSet::new();
    for outcome in done() {
        numbers.extend(outcome.numbers.whole.keys().cloned().map(Number::Whole));
        numbers.extend(outcome.numbers.real.keys().cloned().map(Number::Real));
        for stack in &outcome.numbers.stacks {
            for (component, _) in &stack.components {
                let (stack, unit, component) = (stack.name.clone(), stack.unit.clone(), component.clone());
                numbers.insert(Number::Share { stack: stack.clone(), component: component.clone() });
                numbers.insert(Number::Component { stack, component, unit });
            }
        }
    }
    let names: Vec<(String, String)> = numbers.iter().map(|number| (number.name(), number.about())).collect();
    let mut columns: Vec<Column<'_>> = fixed().chain(MORE.iter().map(column)).collect();
    columns.extend(numbers.iter().zip(&names).map(|(number, (name, about))| Column {
        name,
        kind: number.kind(),
        about,
    }));
    let cells = rows.iter().map(|row| {
        let mut cells: Vec<Value<'_>> = CELLS.iter().chain(MORE_CELLS).map(|of| of(row)).collect();
        let is_done = row.status() == Status::Done;
        cells.extend(numbers.iter().map(|number| match &row.outcome {
            Some(outcome) if is_done => number.of(outcome),
            _ => Value::Null,
        }));
        cells
    });
    Ok(table(path, TABLE_FORMAT, "results", "A cell: a program with all that was varied", &columns, cells)?)
}

fn long(path: &Path, rows: &[Row]) -> Result<(), SweepError> {
    let more = [
        ("stack", ColumnKind::Text, "`cycles`, `speedup`, `loss` or `criticality`"),
        ("component", ColumnKind::Text, "The component, as holdup calls it"),
        ("value", ColumnKind::Real, "How much it is"),
        ("unit", ColumnKind::Text, "Of what: `cycles`, `threads` or `ns`"),
        ("share", ColumnKind::Real, "Its share of the stack"),
    ];
    let columns: Vec<Column<'_>> = fixed().chain(more.iter().map(column)).collect();
    let cells = rows.iter().filter(|row| row.status() == Status::Done).flat_map(|row| {
        let stacks = row.outcome.iter().flat_map(|outcome| &outcome.numbers.stacks);
        stacks.flat_map(move |stack| {
            stack.components.iter().map(move |(component, value)| {
                let share = if stack.total == 0.0 { Value::Null } else { Value::Real(value / stack.total) };
                let mut cells: Vec<Value<'_>> = CELLS.iter().map(|of| of(row)).collect();
                cells.extend([
                    Value::Text(&stack.name),
                    Value::Text(component),
                    Value::Real(*value),
                    Value::Text(&stack.unit),
                    share,
                ]);
                cells
            })
        })
    });
    Ok(table(path, TABLE_FORMAT, "components", "A component of a stack of a cell", &columns, cells)?)
}

fn fixed() -> impl Iterator<Item = Column<'static>> {
    ROWS.iter().map(column)
}

fn column<'a>(&(name, kind, about): &(&'a str, ColumnKind, &'a str)) -> Column<'a> {
    Column { name, kind, about }
}
