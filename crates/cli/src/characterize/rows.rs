//! Rows of labels and numbers, from which the table to compare is made.

use std::collections::BTreeMap;

use holdup_characterize::{CharacterizeError, Labels, Table, TableBuilder};

use super::stacks::StackKind;
use crate::failure::Failure;

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
    pub(super) kind: Kind,
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
    pub(super) fn take(&mut self, other: Gathered) {
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

#[cfg(test)]
mod tests {
    use super::*;

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
