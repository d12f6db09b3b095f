//! Tables, column by column.

use holdup_model::Stack;

use crate::Block;

/// A table. All columns have as many cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What it shows, for those who do not see it.
    pub caption: String,
    /// Its columns. The first one names the rows.
    pub columns: Vec<Column>,
    /// How rows are set; those without a weight are like all others.
    pub weights: Vec<Weight>,
    /// How many rows a terminal shows, and a page: the first ones.
    pub most: Most,
}

/// How many rows of a table are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    /// In a terminal.
    pub in_terminal: usize,
    /// On a page.
    pub on_page: usize,
}

impl Default for Most {
    /// All of them.
    fn default() -> Self {
        Self { in_terminal: usize::MAX, on_page: usize::MAX }
    }
}

/// How a row is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    /// As all others.
    #[default]
    Plain,
    /// Above others that it consists of.
    Strong,
    /// A part of the last strong row above it.
    Part,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// What it is, in lower case.
    pub title: String,
    /// Its cells, one for each row.
    pub cells: Cells,
    /// Whether it may be left out.
    pub room: Room,
}

/// The cells of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Words, which begin below each other.
    Words(Vec<String>),
    /// Numbers with their units, which end below each other.
    Numbers(Vec<String>),
    /// Shares, from 0 to 1, as bars in this colour.
    Shares(&'static str, Vec<f64>),
    /// Stacks as bars on one scale, where there are some, on a page. A terminal has their amounts in other columns.
    Stacks(Vec<Option<Stack>>),
}

impl Cells {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Words(cells) | Self::Numbers(cells) => cells.len(),
            Self::Shares(_, cells) => cells.len(),
            Self::Stacks(cells) => cells.len(),
        }
    }

    /// True where nothing is in any of them.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Words(cells) | Self::Numbers(cells) => cells.iter().all(String::is_empty),
            Self::Shares(_, cells) => cells.iter().all(|share| *share == 0.0),
            Self::Stacks(cells) => cells.iter().all(Option::is_none),
        }
    }

    /// The text of one, where it is text.
    pub fn text(&self, row: usize) -> Option<&str> {
        match self {
            Self::Words(cells) | Self::Numbers(cells) => cells.get(row).map(String::as_str),
            Self::Shares(..) | Self::Stacks(_) => None,
        }
    }
}

/// Whether a column may be left out in a terminal. A page leaves out those without anything in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// It always stands.
    Always,
    /// It is left out where there is no room for it, or nothing in it.
    IfThereIs,
}

impl Table {
    /// A table with a row for each of `rows`, which has no column yet.
    pub fn of<T>(caption: impl Into<String>, rows: &[T]) -> Rows<'_, T> {
        Rows { table: Self { caption: caption.into(), ..Self::default() }, rows }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// How a row is set.
    pub fn weight(&self, row: usize) -> Weight {
        self.weights.get(row).copied().unwrap_or_default()
    }
}

/// A table that is being made, and what its rows are made of.
#[derive(Debug)]
pub struct Rows<'a, T> {
    table: Table,
    rows: &'a [T],
}

impl<T> Rows<'_, T> {
    /// With a column of words.
    pub fn words(self, title: impl Into<String>, cell: impl Fn(&T) -> String) -> Self {
        let cells = Cells::Words(each(self.rows, &cell));
        self.with(title.into(), cells, Room::Always)
    }

    /// With a column of numbers.
    pub fn numbers(self, title: impl Into<String>, cell: impl Fn(&T) -> String) -> Self {
        let cells = Cells::Numbers(each(self.rows, &cell));
        self.with(title.into(), cells, Room::Always)
    }

    /// With a column of shares as bars, where there is room for it: they stand as numbers elsewhere.
    pub fn shares(self, title: impl Into<String>, color: &'static str, cell: impl Fn(&T) -> f64) -> Self {
        let cells = Cells::Shares(color, each(self.rows, &cell));
        self.with(title.into(), cells, Room::IfThereIs)
    }

    /// With a column of stacks as bars: their amounts stand as numbers elsewhere.
    pub fn stacks(self, title: impl Into<String>, cell: impl Fn(&T) -> Option<Stack>) -> Self {
        let cells = Cells::Stacks(each(self.rows, &cell));
        self.with(title.into(), cells, Room::IfThereIs)
    }

    /// With the last column left out where there is no room for it.
    pub fn if_there_is_room(mut self) -> Self {
        if let Some(last) = self.table.columns.last_mut() {
            last.room = Room::IfThereIs;
        }
        self
    }

    /// With no more rows than this in a terminal, and on a page.
    pub fn at_most(mut self, in_terminal: usize, on_page: usize) -> Self {
        self.table.most = Most { in_terminal, on_page };
        self
    }

    /// With rows set as this says.
    pub fn weighed(mut self, weight: impl Fn(&T) -> Weight) -> Self {
        self.table.weights = each(self.rows, &weight);
        self
    }

    /// The table as a piece of a section.
    pub fn block(self) -> Block {
        Block::Table(self.table)
    }

    fn with(mut self, title: String, cells: Cells, room: Room) -> Self {
        self.table.columns.push(Column { title, cells, room });
        self
    }
}

/// What this makes of each row. Made once for each sort of rows and of cells, not for each column: there are many.
fn each<T, C>(rows: &[T], cell: &dyn Fn(&T) -> C) -> Vec<C> {
    rows.iter().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_without_anything_are_empty() {
        assert!(Cells::Words(vec![String::new()]).is_empty());
        assert!(!Cells::Numbers(vec![String::new(), "0 s".to_owned()]).is_empty());
        assert!(Cells::Stacks(vec![None, None]).is_empty());
        assert_eq!(Cells::Shares("act", vec![0.0, 0.5]).len(), 2);
    }

    #[test]
    fn rows_are_set_as_was_said() {
        let rows = [Weight::Strong, Weight::Part];
        let Block::Table(table) =
            Table::of("t", &rows).words("w", |_| "x".to_owned()).weighed(|row| *row).block()
        else {
            unreachable!("a table")
        };
        assert_eq!((table.rows(), table.weight(0), table.weight(9)), (2, Weight::Strong, Weight::Plain));
    }
}
