//! What is compared: a row for each run, a column for each number that tells of it.

use std::collections::BTreeMap;

/// Why a table cannot be characterized.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum CharacterizeError {
    /// Nothing to compare.
    #[error("there is no row with a number in every column; a characterization needs at least one")]
    NoRows,
    /// Nothing to compare by.
    #[error("there is no column of numbers to compare by")]
    NoColumns,
    /// Two columns have one name.
    #[error("two columns are named {0}; name each once")]
    Twice(String),
    /// A row that does not fit.
    #[error("{row} has {found} values for {wanted} columns")]
    Ragged {
        /// The name of the row.
        row: String,
        /// Its values.
        found: usize,
        /// The columns.
        wanted: usize,
    },
    /// The decomposition did not come to an end.
    #[error("the principal components of this table cannot be computed; leave out columns of extreme size")]
    NoDecomposition,
}

/// What a row tells of. Texts come from outside and are hostile.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Labels {
    /// The collection that the program belongs to, such as SPLASH-2.
    pub suite: Option<String>,
    /// The program, or a group of its threads (paper 3, section 2.3).
    pub program: String,
    /// Which input it had.
    pub input: Option<String>,
    /// The machine that it ran on, or that was simulated.
    pub machine: Option<String>,
    /// What was changed in the simulation.
    pub what_if: Option<String>,
    /// On how many threads, or simulated cores.
    pub threads: Option<u32>,
}

impl Labels {
    /// A program of which nothing else is known.
    pub fn of(program: &str) -> Labels {
        Labels { program: program.to_owned(), ..Labels::default() }
    }
}

/// A row without a number in some column, or with one that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// What it tells of.
    pub labels: Labels,
    /// The first column in which a number is missing.
    pub column: String,
}

/// Numbers larger than this (of any sign) are taken for broken: their squares would overflow.
const LARGEST: f64 = 1e120;

/// A table that grows row by row.
#[derive(Clone, Debug)]
pub struct TableBuilder {
    table: Table,
}

impl TableBuilder {
    /// An empty table with these columns.
    ///
    /// # Errors
    /// [`CharacterizeError::NoColumns`] and [`CharacterizeError::Twice`].
    pub fn new<T: Into<String>>(
        columns: impl IntoIterator<Item = T>,
    ) -> Result<TableBuilder, CharacterizeError> {
        let columns: Vec<String> = columns.into_iter().map(Into::into).collect();
        if columns.is_empty() {
            return Err(CharacterizeError::NoColumns);
        }
        let mut sorted: Vec<&String> = columns.iter().collect();
        sorted.sort();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(CharacterizeError::Twice(twice[0].clone()));
        }
        Ok(TableBuilder {
            table: Table { columns, rows: Vec::new(), values: Vec::new(), left_out: Vec::new() },
        })
    }

    /// Adds a row. One with a value that is missing (NaN), infinite or beyond 10¹²⁰ is left out, and kept in
    /// [`Table::left_out`].
    ///
    /// # Errors
    /// [`CharacterizeError::Ragged`].
    pub fn push(&mut self, labels: Labels, values: &[f64]) -> Result<(), CharacterizeError> {
        let table = &mut self.table;
        if values.len() != table.columns.len() {
            return Err(CharacterizeError::Ragged {
                row: labels.program,
                found: values.len(),
                wanted: table.columns.len(),
            });
        }
        match values.iter().position(|value| !value.is_finite() || value.abs() > LARGEST) {
            Some(at) => table.left_out.push(LeftOut { labels, column: table.columns[at].clone() }),
            None => {
                table.rows.push(labels);
                table.values.extend_from_slice(values);
            }
        }
        Ok(())
    }

    /// Rows with the same labels become one, with the mean of each column: repeated runs of one thing. The first one's place
    /// is kept.
    #[must_use]
    pub fn averaged(self) -> TableBuilder {
        let table = self.table;
        let mut groups: BTreeMap<&Labels, Vec<usize>> = BTreeMap::new();
        for (row, labels) in table.rows.iter().enumerate() {
            groups.entry(labels).or_default().push(row);
        }
        let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
        groups.sort_unstable();
        let mut values = Vec::with_capacity(groups.len() * table.columns.len());
        for group in &groups {
            values.extend((0..table.columns.len()).map(|column| {
                let sum: f64 = group.iter().map(|row| table.row(*row)[column]).sum();
                sum / group.len() as f64
            }));
        }
        let rows = groups.iter().map(|group| table.rows[group[0]].clone()).collect();
        TableBuilder { table: Table { rows, values, ..table } }
    }

    /// The table.
    ///
    /// # Errors
    /// [`CharacterizeError::NoRows`].
    pub fn build(self) -> Result<Table, CharacterizeError> {
        if self.table.rows.is_empty() { Err(CharacterizeError::NoRows) } else { Ok(self.table) }
    }
}

/// Rows of runs and columns of numbers; at least one of each, and every number finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// What each row tells of.
    pub rows: Vec<Labels>,
    /// Row by row.
    pub(crate) values: Vec<f64>,
    /// Rows that had no number in some column.
    pub left_out: Vec<LeftOut>,
}

impl Table {
    /// The numbers of a row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns.len()..][..self.columns.len()]
    }

    /// How far a column reaches: its least and its largest value.
    pub fn range(&self, column: usize) -> (f64, f64) {
        let values = self.values.iter().skip(column).step_by(self.columns.len());
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        })
    }

    /// A name for each row: its program, and of its other labels those that differ between rows.
    pub fn names(&self) -> Vec<String> {
        fn differs<T: PartialEq>(rows: &[Labels], of: impl Fn(&Labels) -> &T) -> bool {
            rows.iter().any(|row| of(row) != of(&rows[0]))
        }
        let rows = &self.rows;
        let input = differs(rows, |row| &row.input);
        let threads = differs(rows, |row| &row.threads);
        let machine = differs(rows, |row| &row.machine);
        let what_if = differs(rows, |row| &row.what_if);
        let name = |row: &Labels| {
            let mut name = row.program.clone();
            let mut add = |text: Option<String>| {
                if let Some(text) = text.filter(|text| !text.is_empty()) {
                    name.push(' ');
                    name.push_str(&text);
                }
            };
            add(row.input.clone().filter(|_| input));
            add(row.threads.filter(|_| threads).map(|threads| format!("×{threads}")));
            add(row.machine.as_ref().filter(|_| machine).map(|machine| format!("on {machine}")));
            add(row.what_if.as_ref().filter(|_| what_if).map(|what_if| format!("with {what_if}")));
            name
        };
        rows.iter().map(name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_a_number_are_left_out_and_said() {
        let mut table = TableBuilder::new(["a", "b"]).unwrap();
        table.push(Labels::of("whole"), &[1.0, 2.0]).unwrap();
        table.push(Labels::of("missing"), &[1.0, f64::NAN]).unwrap();
        table.push(Labels::of("endless"), &[f64::INFINITY, 1.0]).unwrap();
        assert!(matches!(
            table.push(Labels::of("short"), &[1.0]),
            Err(CharacterizeError::Ragged { found: 1, wanted: 2, .. })
        ));
        let table = table.build().unwrap();
        assert_eq!(table.rows.len(), 1);
        let left: Vec<_> =
            table.left_out.iter().map(|row| (row.labels.program.as_str(), row.column.as_str())).collect();
        assert_eq!(left, [("missing", "b"), ("endless", "a")]);
    }

    #[test]
    fn tables_need_rows_and_columns_with_names_of_their_own() {
        assert_eq!(TableBuilder::new([""; 0]).unwrap_err(), CharacterizeError::NoColumns);
        assert_eq!(TableBuilder::new(["a", "a"]).unwrap_err(), CharacterizeError::Twice("a".to_owned()));
        assert_eq!(TableBuilder::new(["a"]).unwrap().build().unwrap_err(), CharacterizeError::NoRows);
    }

    #[test]
    fn repeated_runs_are_averaged() {
        let mut table = TableBuilder::new(["a"]).unwrap();
        for (program, value) in [("x", 1.0), ("y", 5.0), ("x", 3.0)] {
            table.push(Labels::of(program), &[value]).unwrap();
        }
        let table = table.averaged().build().unwrap();
        assert_eq!(table.names(), ["x", "y"]);
        assert_eq!((table.row(0), table.row(1)), (&[2.0][..], &[5.0][..]));
    }

    #[test]
    fn names_have_what_tells_rows_apart() {
        let mut table = TableBuilder::new(["a"]).unwrap();
        for threads in [4, 16] {
            let labels =
                Labels { threads: Some(threads), input: Some("large".to_owned()), ..Labels::of("fft") };
            table.push(labels, &[0.0]).unwrap();
        }
        assert_eq!(table.build().unwrap().names(), ["fft ×4", "fft ×16"]);
    }
}
