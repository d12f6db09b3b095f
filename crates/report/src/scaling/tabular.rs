//! Tables for the terminal whose columns are as wide as what is in them.

use textwrap::core::display_width;

use crate::Look;
use crate::ink::Ink;
use crate::lines::{Line, wrapped};

/// Columns between two columns.
const GAP: usize = 2;

/// How far a table is indented.
const INDENT: usize = 2;

/// One column of a table.
pub(crate) struct Column {
    title: String,
    cells: Vec<String>,
    right: bool,
    optional: bool,
    /// Of the widest of the title and the cells.
    width: usize,
}

impl Column {
    /// A column of numbers, which end below each other.
    pub(crate) fn numbers(title: &str, cells: impl IntoIterator<Item = String>) -> Self {
        let cells: Vec<String> = cells.into_iter().collect();
        let width = cells.iter().map(|cell| display_width(cell)).fold(display_width(title), usize::max);
        Self { title: title.to_owned(), cells, right: true, optional: false, width }
    }

    /// A column of words, which begin below each other.
    pub(crate) fn words(title: &str, cells: impl IntoIterator<Item = String>) -> Self {
        Self { right: false, ..Self::numbers(title, cells) }
    }

    /// The same column, which is left out where there is no room.
    pub(crate) fn optional(self) -> Self {
        Self { optional: true, ..self }
    }
}

/// The lines of a table, its titles first. Optional columns without a cell, and the last ones of those for which there is
/// no room, are left out; where the others have none either, each row is a sentence.
pub(crate) fn table(mut columns: Vec<Column>, look: Look) -> Vec<Line> {
    columns.retain(|column| !column.optional || column.cells.iter().any(|cell| !cell.is_empty()));
    let width =
        |columns: &[Column]| INDENT + columns.iter().map(|column| column.width + GAP).sum::<usize>() - GAP;
    while width(&columns) > look.columns() {
        match columns.iter().rposition(|column| column.optional) {
            Some(last) => columns.remove(last),
            None => break,
        };
    }
    let rows = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    if width(&columns) > look.columns() {
        return (0..rows)
            .flat_map(|row| wrapped(&in_words(&columns, row), INDENT, Ink::Text, look))
            .collect();
    }
    let titles = line(&columns, Ink::Faint, |column| &column.title);
    let cells = (0..rows)
        .map(|row| line(&columns, Ink::Text, |column| column.cells.get(row).map_or("", String::as_str)));
    [titles].into_iter().chain(cells).collect()
}

/// A row for which there is no room, as a sentence: `threads 8, time 3.1 s`.
fn in_words(columns: &[Column], row: usize) -> String {
    let cell = |column: &Column| {
        let text = column.cells.get(row).filter(|cell| !cell.is_empty())?;
        Some(format!("{} {text}", column.title))
    };
    columns.iter().filter_map(cell).collect::<Vec<_>>().join(", ")
}

fn line<'a>(columns: &'a [Column], ink: Ink, cell: impl Fn(&'a Column) -> &'a str) -> Line {
    let mut line = Line::default();
    let mut at = INDENT;
    for column in columns {
        let (text, width) = (cell(column), column.width);
        let start = if column.right { at + width - display_width(text) } else { at };
        line = match start.saturating_sub(line.width()) {
            0 => line.with(text, ink),
            gap => line.with(&" ".repeat(gap), Ink::Text).with(text, ink),
        };
        at += width + GAP;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::painted;

    fn shown(width: usize) -> String {
        let columns = vec![
            Column::numbers("n", ["1", "16"].map(str::to_owned)),
            Column::words("why", ["much", "a"].map(str::to_owned)),
            Column::numbers("of little use at all, this one", ["5".to_owned()]).optional(),
            Column::numbers("empty", ["", ""].map(str::to_owned)).optional(),
        ];
        let look = Look::plain(width);
        painted(&table(columns, look), look)
    }

    #[test]
    fn numbers_end_and_words_begin_below_each_other() {
        assert_eq!(
            shown(42),
            "   n  why   of little use at all, this one\n   1  much                               5\n  16  a\n"
        );
    }

    #[test]
    fn what_has_no_room_is_left_out() {
        assert_eq!(shown(41), "   n  why\n   1  much\n  16  a\n");
    }

    #[test]
    fn a_table_without_room_is_told_in_words() {
        let columns =
            ["long".repeat(8), "wide".repeat(8)].map(|title| Column::numbers(&title, ["7".to_owned()]));
        let look = Look::plain(40);
        let text = painted(&table(columns.into(), look), look);
        assert_eq!(text, "  longlonglonglonglonglonglonglong 7,\n  widewidewidewidewidewidewidewide 7\n");
    }
}
