//! Rows of a name, an amount before, an amount after, and their difference.

use holdup_compare::{Change, Comparison};
use holdup_model::Nanos;

use crate::ink::Ink;
use crate::lines::{Line, broken_short, wrapped};
use crate::numbers::time;
use crate::{Look, escape};

/// What the column of differences takes without and with intervals.
const DIFFERENCE: usize = 12;
const DIFFERENCE_WITH_INTERVAL: usize = 31;

/// What each column of amounts takes.
const AMOUNT: usize = 10;

/// With less room for names (columns) each row becomes a paragraph.
const LEAST_ROOM: usize = 36;

/// Where the columns of a table are.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    look: Look,
    /// The columns at which amounts before end, amounts after end, and differences begin; `None` where there is no room.
    at: Option<(usize, usize, usize)>,
}

impl Columns {
    pub(super) fn of(comparison: &Comparison, look: Look) -> Columns {
        let has_interval = comparison.wall.interval.is_some();
        let difference = if has_interval { DIFFERENCE_WITH_INTERVAL } else { DIFFERENCE };
        let start = look.columns() - difference;
        let (before, after) = (start.saturating_sub(3 + AMOUNT), start.saturating_sub(3));
        let has_room = before >= 2 + LEAST_ROOM + AMOUNT - 1;
        Columns { look, at: has_room.then_some((before, after, start)) }
    }
}

/// A difference of times with its sign: `+1.4 s`, `−30 ms`, `0`.
pub(super) fn signed(nanos: i64, look: Look) -> String {
    let sign = match nanos {
        0 => return "0".to_owned(),
        1.. => "+",
        _ if look.unicode => "−",
        _ => "-",
    };
    format!("{sign}{}", time(Nanos::new(nanos.unsigned_abs()), look))
}

/// An amount of time, which with several runs on the one side may have been scaled, but is never negative.
pub(super) fn amount(nanos: i64, look: Look) -> String {
    if nanos < 0 { signed(nanos, look) } else { time(Nanos::new(nanos.unsigned_abs()), look) }
}

/// The difference and its interval: `−1.4 s (−1.5 to −1.3 s)`.
pub(super) fn difference(change: &Change, look: Look) -> String {
    let told = signed(change.difference, look);
    match change.interval {
        Some((low, high)) => format!("{told} ({} to {})", signed(low, look), signed(high, look)),
        None => told,
    }
}

impl Columns {
    /// The titles.
    pub(super) fn titles(self, title: &str, (before, after): (&str, &str)) -> Vec<Line> {
        let Some((before_end, after_end, start)) = self.at else {
            return wrapped(title, 2, Ink::Faint, self.look);
        };
        vec![
            Line::indented(2)
                .with(title, Ink::Faint)
                .right_aligned(before, before_end, Ink::Faint)
                .right_aligned(after, after_end, Ink::Faint)
                .at_column("difference", start, Ink::Faint),
        ]
    }

    /// One row. `text` is not escaped yet.
    pub(super) fn row(self, text: &str, indent: usize, change: &Change, ink: Ink) -> Vec<Line> {
        let look = self.look;
        let text = escape::sentence(text, look);
        let [before, after] = [change.before, change.after].map(|nanos| amount(nanos, look));
        let difference = difference(change, look);
        let Some((before_end, after_end, start)) = self.at else {
            let mut lines = wrapped(&text, indent, ink, look);
            lines.extend(wrapped(
                &format!("{before}, then {after}: {difference}"),
                indent + 2,
                Ink::Text,
                look,
            ));
            return lines;
        };
        let room = before_end + 1 - AMOUNT - indent;
        let mut parts = broken_short(&text, room - 2, look).into_iter();
        let first = Line::indented(indent)
            .with(&parts.next().unwrap_or_default(), ink)
            .right_aligned(&before, before_end, Ink::Text)
            .right_aligned(&after, after_end, Ink::Text)
            .at_column(&difference, start, Ink::Text);
        [first].into_iter().chain(parts.map(|part| Line::indented(indent + 2).with(&part, ink))).collect()
    }
}
