//! Tables for the terminal whose columns are as wide as what is in them.

use textwrap::core::display_width;

use holdup_answer::Weight;

use crate::Look;
use crate::ink::Ink;
use crate::lines::{Line, broken, wrapped};

/// Columns between two columns.
const GAP: usize = 2;

/// How far a table is indented.
const INDENT: usize = 2;

/// How far a part is indented, and what goes on from the line above.
const PART: usize = 2;

/// With less room than this (columns) for its words, a column is not broken into several lines.
const LEAST_WORDS: usize = 14;

/// One column of a table.
pub(crate) struct Column {
    title: String,
    cells: Vec<Line>,
    kind: Kind,
    optional: bool,
    /// Of the widest of the title and the cells.
    width: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Numbers,
    Words,
    Bars,
}

impl Column {
    /// A column of numbers, which end below each other.
    pub(crate) fn numbers(title: &str, cells: impl IntoIterator<Item = String>) -> Self {
        Self::of(title, Kind::Numbers, cells.into_iter().map(text))
    }

    /// A column of words, which begin below each other.
    pub(crate) fn words(title: &str, cells: impl IntoIterator<Item = String>) -> Self {
        Self::of(title, Kind::Words, cells.into_iter().map(text))
    }

    /// A column of bars, which begin below each other.
    pub(crate) fn bars(title: &str, cells: impl IntoIterator<Item = Line>) -> Self {
        Self::of(title, Kind::Bars, cells)
    }

    fn of(title: &str, kind: Kind, cells: impl IntoIterator<Item = Line>) -> Self {
        let cells: Vec<Line> = cells.into_iter().collect();
        let width = cells.iter().map(Line::width).fold(display_width(title), usize::max);
        Self { title: title.to_owned(), cells, kind, optional: false, width }
    }

    /// The same column, which is left out where there is no room.
    pub(crate) fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    /// The same column, with cells set by the weights of their rows.
    pub(crate) fn weighed(self, weight: impl Fn(usize) -> Weight) -> Self {
        let cells = self.cells.iter().enumerate().map(|(row, cell)| match weight(row) {
            Weight::Plain => cell.clone(),
            Weight::Strong => Line::default().with(&cell.plain(), Ink::Strong),
            Weight::Part => Line::indented(PART).with(&cell.plain(), Ink::Text),
        });
        Self { optional: self.optional, ..Self::of(&self.title, self.kind, cells) }
    }

    fn is_empty(&self) -> bool {
        self.cells.iter().all(|cell| cell.width() == 0)
    }
}

/// A cell in lines of at most `room` columns.
fn in_lines(cell: &Line, room: usize) -> Vec<Line> {
    if cell.width() <= room {
        return vec![cell.clone()];
    }
    let (text, ink) = (cell.plain(), cell.ink());
    let indent = text.len() - text.trim_start().len();
    let parts = broken(text.trim_start(), room.saturating_sub(indent + PART).max(1));
    let indented = parts
        .into_iter()
        .enumerate()
        .map(|(at, part)| Line::indented(if at > 0 { indent + PART } else { indent }).with(&part, ink));
    indented.collect()
}

fn text(text: String) -> Line {
    Line::default().with(&text, Ink::Text)
}

/// The lines of a table, its titles first. Optional columns without a cell, and the last ones of those for which there is
/// no room, are left out; then the widest column of words is broken into lines; where the others have no room either, each
/// row is a sentence.
pub(crate) fn table(mut columns: Vec<Column>, look: Look) -> Vec<Line> {
    columns.retain(|column| !column.optional || !column.is_empty());
    let width =
        |columns: &[Column]| INDENT + columns.iter().map(|column| column.width + GAP).sum::<usize>() - GAP;
    while width(&columns) > look.columns() {
        match columns.iter().rposition(|column| column.optional) {
            Some(last) => columns.remove(last),
            None => break,
        };
    }
    let too_wide = width(&columns).saturating_sub(look.columns());
    if too_wide > 0 {
        let words = columns.iter_mut().filter(|column| column.kind == Kind::Words);
        let widest = words.max_by_key(|column| column.width);
        if let Some(column) = widest.filter(|column| column.width >= LEAST_WORDS + too_wide) {
            column.width -= too_wide;
        }
    }
    let rows = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    if width(&columns) > look.columns() {
        return (0..rows)
            .flat_map(|row| wrapped(&in_words(&columns, row), INDENT, Ink::Text, look))
            .collect();
    }
    let title = |column: &Column| Line::default().with(&column.title, Ink::Faint);
    let titles = columns.iter().map(|column| in_lines(&title(column), column.width)).collect();
    let mut lines = side_by_side(&columns, titles);
    for row in 0..rows {
        let cells = columns
            .iter()
            .map(|column| column.cells.get(row).map_or_else(Vec::new, |cell| in_lines(cell, column.width)))
            .collect();
        lines.extend(side_by_side(&columns, cells));
    }
    lines
}

/// A row for which there is no room, as a sentence: `threads 8, time 3.1 s`.
fn in_words(columns: &[Column], row: usize) -> String {
    let cell = |column: &Column| {
        let text = column.cells.get(row).map(Line::plain).filter(|cell| !cell.trim().is_empty())?;
        (column.kind != Kind::Bars).then(|| format!("{} {}", column.title, text.trim()))
    };
    columns.iter().filter_map(cell).collect::<Vec<_>>().join(", ")
}

/// Cells of one or more lines beside each other.
fn side_by_side(columns: &[Column], mut cells: Vec<Vec<Line>>) -> Vec<Line> {
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let mut lines = Vec::with_capacity(height);
    for at in 0..height {
        let mut line = Line::default();
        let mut column_starts = INDENT;
        for (column, cell) in columns.iter().zip(&mut cells) {
            let cell = cell.get_mut(at).map(std::mem::take).unwrap_or_default();
            let start = match column.kind {
                Kind::Numbers => column_starts + column.width.saturating_sub(cell.width()),
                Kind::Words | Kind::Bars => column_starts,
            };
            line = match start.saturating_sub(line.width()) {
                _ if cell.width() == 0 => line,
                0 => line.joined(cell),
                gap => line.with(&" ".repeat(gap), Ink::Text).joined(cell),
            };
            column_starts += column.width + GAP;
        }
        lines.push(line);
    }
    lines
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
