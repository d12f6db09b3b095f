//! Rows from files of any kind.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use holdup_characterize::{CharacterizeError, Labels, Table, TableBuilder};

use super::{answers, parquet, recordings, tables};
use crate::failure::Failure;

/// The labels that a row can have, as columns of tables name them.
pub(super) const LABELS: [&str; 6] = ["suite", "program", "input", "threads", "machine", "what_if"];

/// How deep directories in directories are looked into.
const DEEP: usize = 4;

/// What a sweep calls its table of components, by what it is in.
const COMPONENTS: [&str; 2] = ["components.parquet", "components.csv"];

/// Stacks that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum StackKind {
    /// Where simulated cycles go: holdup sim --json
    Cycles,
    /// What the wall time is lost to: recordings, holdup report --json
    Losses,
    /// The criticality of threads, from the most critical on: recordings, holdup report --json
    Criticality,
    /// What speedup is lost to: holdup stack --json
    Speedup,
}

/// What rows have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Shares of a stack: a component that a row does not name is 0.
    Stack(StackKind),
    /// Any numbers: what is not there is missing.
    Table,
}

/// One row that was found in a file.
pub(super) struct Found {
    pub(super) labels: Labels,
    pub(super) parts: Vec<(String, f64)>,
}

/// Rows of all files.
pub(super) struct Gathered {
    kind: Kind,
    columns: Vec<String>,
    /// Where a column is in `columns`.
    places: BTreeMap<String, usize>,
    /// A row may be shorter than `columns`: columns that came later are missing.
    pub(super) rows: Vec<(Labels, Vec<f64>)>,
    /// Whether rows with the same labels are repeated runs.
    pub(super) repeated: bool,
    /// What else is to be known, a sentence each.
    pub(super) notes: Vec<String>,
}

impl Gathered {
    pub(super) fn new(kind: Kind) -> Gathered {
        Gathered {
            kind,
            columns: Vec::new(),
            places: BTreeMap::new(),
            rows: Vec::new(),
            repeated: false,
            notes: Vec::new(),
        }
    }

    /// Where a column is; it is added if it is new.
    pub(super) fn column(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        self.columns.push(name.to_owned());
        self.places.insert(name.to_owned(), self.columns.len() - 1);
        self.columns.len() - 1
    }

    fn missing(&self) -> f64 {
        match self.kind {
            Kind::Stack(_) => 0.0,
            Kind::Table => f64::NAN,
        }
    }

    /// Adds a row of which each number has the place that [`Gathered::column`] gave.
    pub(super) fn add(&mut self, labels: Labels, places: &[usize], values: impl IntoIterator<Item = f64>) {
        let mut row = vec![self.missing(); self.columns.len()];
        for (place, value) in places.iter().zip(values) {
            row[*place] = value;
        }
        self.rows.push((labels, row));
    }

    /// Adds a row that names its numbers.
    pub(super) fn push(&mut self, found: Found) {
        let places: Vec<usize> = found.parts.iter().map(|(name, _)| self.column(name)).collect();
        self.add(found.labels, &places, found.parts.iter().map(|(_, value)| *value));
    }

    /// Takes the rows of another file over.
    fn take(&mut self, other: Gathered) {
        let places: Vec<usize> = other.columns.iter().map(|name| self.column(name)).collect();
        for (labels, values) in other.rows {
            self.add(labels, &places, values);
        }
        self.repeated |= other.repeated;
        self.notes.extend(other.notes);
    }

    /// Keeps only the columns that were asked for; of stacks also those that are not 0 everywhere.
    pub(super) fn choose(&mut self, only: &[String], without: &[String]) -> Result<(), Failure> {
        let known = |name: &String| self.places.contains_key(name);
        if let Some(unknown) = only.iter().chain(without).find(|name| !known(name)) {
            let columns = self.columns.join(", ");
            return Err(Failure::input(format!("there is no column {unknown}; there are {columns}")));
        }
        let is_zero =
            |at: usize| self.rows.iter().all(|(_, row)| row.get(at).is_none_or(|value| *value == 0.0));
        let keep: Vec<usize> = match only.is_empty() {
            false => only.iter().map(|name| self.places[name]).collect(),
            true => (0..self.columns.len())
                .filter(|at| !without.contains(&self.columns[*at]))
                .filter(|at| self.kind == Kind::Table || !is_zero(*at))
                .collect(),
        };
        let missing = self.missing();
        for (_, row) in &mut self.rows {
            *row = keep.iter().map(|at| row.get(*at).copied().unwrap_or(missing)).collect();
        }
        self.columns = keep.iter().map(|at| self.columns[*at].clone()).collect();
        self.places.clear();
        Ok(())
    }

    /// What rows have, in words.
    pub(super) fn what(&self) -> String {
        match self.kind {
            Kind::Stack(StackKind::Cycles) => "cycle stacks",
            Kind::Stack(StackKind::Losses) => "loss stacks",
            Kind::Stack(StackKind::Criticality) => "criticality stacks",
            Kind::Stack(StackKind::Speedup) => "speedup stacks",
            Kind::Table => "a table",
        }
        .to_owned()
    }

    /// Whether the numbers are shares of a whole: those of stacks, and tables that have nothing else from 0 to 1.
    pub(super) fn is_share(&self) -> bool {
        let is_one = |value: &f64| value.is_nan() || (-1e-9..=1.0 + 1e-9).contains(value);
        match self.kind {
            Kind::Stack(_) => true,
            Kind::Table => self
                .rows
                .iter()
                .all(|(_, row)| row.iter().all(is_one) && (row.iter().sum::<f64>() - 1.0).abs() < 1e-3),
        }
    }

    /// The table to compare, with the mean of repeated runs.
    pub(super) fn table(self) -> Result<Table, CharacterizeError> {
        let (missing, width) = (self.missing(), self.columns.len());
        let mut table = TableBuilder::new(self.columns)?;
        for (labels, mut row) in self.rows {
            row.resize(width, missing);
            table.push(labels, &row)?;
        }
        if self.repeated { table.averaged() } else { table }.build()
    }
}

/// Reads all files. `of` chooses where a file can be read as several kinds of stacks.
pub(super) fn gather(paths: &[PathBuf], of: Option<StackKind>) -> Result<Gathered, Failure> {
    let mut files = Vec::new();
    for path in paths {
        list(path, DEEP, &mut files)?;
    }
    let is_recording = |file: &PathBuf| ending(file) == "holdup";
    let recorded = recordings::read(files.iter().filter(|file| is_recording(file)), of)?;
    let mut recorded = recorded.into_iter();
    let mut all: Option<(Gathered, PathBuf)> = None;
    for file in &files {
        let mut found = match ending(file).as_str() {
            "holdup" => match recorded.next() {
                Some(found) => found,
                None => continue,
            },
            "csv" | "tsv" | "txt" => tables::csv(file, of)?,
            "parquet" => parquet::read(file, of)?,
            _ => answers::read(file, of)?,
        };
        // A sweep's table says itself what suite a row is of.
        let is_table = ["csv", "tsv", "txt", "parquet"].contains(&ending(file).as_str());
        if matches!(found.kind, Kind::Stack(_)) && !is_table {
            let folder = folder(file);
            if files.iter().any(|other| self::folder(other) != folder) {
                found.rows.iter_mut().for_each(|(labels, _)| labels.suite = folder.clone());
            }
        }
        match &mut all {
            None => all = Some((found, file.clone())),
            Some((gathered, first)) if gathered.kind != found.kind => {
                return Err(Failure::input(format!(
                    "{} has {} and {} has {}; give files of one kind, or choose by --of",
                    first.display(),
                    gathered.what(),
                    file.display(),
                    found.what()
                )));
            }
            Some((gathered, _)) => gathered.take(found),
        }
    }
    all.map(|(gathered, _)| gathered).ok_or_else(|| {
        Failure::input("there is no file to compare; give recordings, answers in JSON, CSV or Parquet")
    })
}

/// The end of a file's name, in small letters.
fn ending(file: &Path) -> String {
    file.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// The name of the folder that a file is in.
fn folder(file: &Path) -> Option<String> {
    Some(file.parent()?.file_name()?.to_string_lossy().into_owned())
}

/// A file itself; of a directory the table of a sweep, or else all files that can be read.
fn list(path: &Path, deep: usize, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let refused =
        |error: std::io::Error| Failure::input(format!("{}: it cannot be read ({error})", path.display()));
    if !fs::metadata(path).map_err(refused)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    if let Some(components) = COMPONENTS.map(|name| path.join(name)).into_iter().find(|file| file.is_file()) {
        files.push(components);
        return Ok(());
    }
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(path).map_err(refused)? {
        entries.push(entry.map_err(refused)?.path());
    }
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            if deep > 0 {
                list(&entry, deep - 1, files)?;
            }
        } else if ["json", "csv", "tsv", "parquet", "holdup"].contains(&ending(&entry).as_str()) {
            files.push(entry);
        }
    }
    Ok(())
}

/// The program and the input of a command: the name of the program, and its arguments, of which those that are the number of
/// threads are `{threads}`, so that runs with other numbers have the same input.
pub(super) fn of_command(command: &[String], threads: Option<u32>) -> Labels {
    let program = command.first().map_or("unknown", |path| path.rsplit('/').next().unwrap_or(path));
    let number = threads.map(|threads| threads.to_string());
    let word = |word: &String| match &number {
        Some(number) if word == number => "{threads}".to_owned(),
        _ => word.clone(),
    };
    let words: Vec<String> = command.iter().skip(1).map(word).collect();
    let has_input = words.iter().any(|word| word != "{threads}");
    Labels { input: has_input.then(|| words.join(" ")), threads, ..Labels::of(program) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_threads_is_no_input() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let labels = of_command(&words("/usr/bin/pigz -p 4 big.txt"), Some(4));
        assert_eq!(
            (labels.program.as_str(), labels.input.as_deref()),
            ("pigz", Some("-p {threads} big.txt"))
        );
        assert_eq!(of_command(&words("./fft 8"), Some(8)).input, None);
        assert_eq!(of_command(&[], None).program, "unknown");
    }

    #[test]
    fn components_that_a_stack_does_not_name_are_nothing() {
        let mut gathered = Gathered::new(Kind::Stack(StackKind::Cycles));
        for (program, part) in [("a", "branch"), ("b", "mem-dram")] {
            let parts = vec![(part.to_owned(), 1.0), ("io".to_owned(), 0.0)];
            gathered.push(Found { labels: Labels::of(program), parts });
        }
        gathered.choose(&[], &[]).unwrap();
        let table = gathered.table().unwrap();
        assert_eq!(table.columns, ["branch", "mem-dram"]);
        assert_eq!((table.row(0), table.row(1)), (&[1.0, 0.0][..], &[0.0, 1.0][..]));
    }
}
