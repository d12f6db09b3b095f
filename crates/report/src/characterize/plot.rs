//! Two components as a plot of characters.

use super::{CharacterizeTold, words};
use crate::Look;
use crate::ink::Ink;
use crate::lines::{Line, wrapped, wrapped_whole};

/// Rows of the plot, and the columns that it takes at the most.
const ROWS: usize = 17;
const COLUMNS: usize = 76;

/// Columns left of the axis.
const MARGIN: usize = 9;

/// The plot of the first two components: each row is the letter of its suite (or the number of its cluster, where no suites are
/// known); a place with several of different ones is `*`.
pub(super) fn plot(told: &CharacterizeTold, look: Look) -> Vec<Line> {
    let pca = &told.found.pca;
    if pca.components() < 2 {
        return Vec::new();
    }
    let columns = (look.columns() - MARGIN - 2).min(COLUMNS);
    let side = |at: usize| {
        let values = (0..told.found.table.rows.len()).map(|row| pca.scores(row)[at]);
        values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (x, y) = (side(0), side(1));
    let place = |value: f64, (low, high): (f64, f64), steps: usize| {
        if high > low { ((value - low) / (high - low) * (steps - 1) as f64).round() as usize } else { 0 }
    };
    let mut marks = vec![vec![' '; columns]; ROWS];
    for row in 0..told.found.table.rows.len() {
        let scores = pca.scores(row);
        let (across, down) = (place(scores[0], x, columns), ROWS - 1 - place(scores[1], y, ROWS));
        let mark = &mut marks[down][across];
        let own = sign(told, row);
        *mark = if *mark == ' ' || *mark == own { own } else { '*' };
    }
    let title = format!(
        "{} ({}) over {} ({})",
        words::component(1),
        words::column(told, pca.main(1), look),
        words::component(0),
        words::column(told, pca.main(0), look)
    );
    let mut lines = wrapped_whole(&title, 2, Ink::Faint, look);
    let edge = if look.unicode { "│" } else { "|" };
    for (at, row) in marks.into_iter().enumerate() {
        let label = match at {
            0 => words::score(y.1, look),
            _ if at == ROWS - 1 => words::score(y.0, look),
            _ => String::new(),
        };
        let row: String = row.into_iter().collect();
        lines.push(
            Line::default()
                .right_aligned(&label, MARGIN - 1, Ink::Faint)
                .with(&format!(" {edge}"), Ink::Faint)
                .with(row.trim_end(), Ink::Strong),
        );
    }
    let (corner, flat) = if look.unicode { ("└", "─") } else { ("+", "-") };
    lines.push(Line::indented(MARGIN).with(&format!("{corner}{}", flat.repeat(columns)), Ink::Faint));
    lines.push(Line::indented(MARGIN + 1).with(&words::score(x.0, look), Ink::Faint).right_aligned(
        &words::score(x.1, look),
        MARGIN + 1 + columns,
        Ink::Faint,
    ));
    lines.extend(wrapped(&legend(told, look), MARGIN + 1, Ink::Faint, look));
    lines
}

/// The letter of a row's suite, or the number of its cluster; `+` beyond those.
fn sign(told: &CharacterizeTold, row: usize) -> char {
    if told.found.suites.is_empty() {
        return u32::try_from(told.found.cluster_of[row] + 1)
            .ok()
            .and_then(|number| char::from_digit(number, 10))
            .unwrap_or('+');
    }
    let suite = told.found.table.rows[row].suite.as_deref();
    let at = told.found.suites.iter().position(|known| Some(known.name.as_str()) == suite);
    at.filter(|at| *at < 26).map_or('+', |at| char::from(b'a' + at as u8))
}

fn legend(told: &CharacterizeTold, look: Look) -> String {
    let found = &told.found;
    let mut parts: Vec<String> = found
        .suites
        .iter()
        .take(26)
        .enumerate()
        .map(|(at, suite)| {
            format!("{} {}", char::from(b'a' + at as u8), crate::escape::short_name(&suite.name, look))
        })
        .collect();
    if parts.is_empty() {
        parts.push("the number of its cluster".to_owned());
        if found.clusters.clusters.len() > 9 {
            parts.push("+ a further one".to_owned());
        }
    } else if found.table.rows.iter().any(|row| row.suite.is_none()) || found.suites.len() > 26 {
        parts.push("+ another or none".to_owned());
    }
    parts.push("* several".to_owned());
    parts.join("   ")
}
