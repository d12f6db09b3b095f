//! The table, for the terminal and for `docs/truth.md`.

use std::fmt::Write as _;

use anyhow::{Result, bail};

use super::fall::Fall;
use super::rates::{QUIET_FIRST, Rate, Row};

/// Who is right less often on a quiet machine is a defect.
const RIGHT: f64 = 0.95;
/// What is between these lines of the document is generated.
const BEGIN: &str = "<!-- written by cargo xtask truth --store: begin -->";
const END: &str = "<!-- end -->";

/// The table in Markdown, which can be read in a terminal too.
pub(super) fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    let head = [
        "program",
        "first, quiet",
        "place, quiet",
        "first, load",
        "place, load",
        "fixed form",
        "gain predicted",
        "measured",
        "in interval",
        "repeated",
        "disturbed",
    ];
    let _ = writeln!(text, "| {} |", head.join(" | "));
    let _ = writeln!(text, "|{}", "---|".repeat(head.len()));
    for row in rows.iter().chain([&sum(rows)]) {
        let [quiet_first, quiet_place, load_first, load_place, fixed, inside] = row.rates.map(cell);
        let predicted = row.predicted.map_or_else(dash, |[low, likely, high]| {
            format!("{} ({} to {})", percent(likely), percent(low), percent(high))
        });
        let cells = [
            row.name.clone(),
            quiet_first,
            quiet_place,
            load_first,
            load_place,
            fixed,
            predicted,
            row.measured.map_or_else(dash, percent),
            inside,
            row.repeated.to_string(),
            row.disturbed.to_string(),
        ];
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

fn sum(rows: &[Row]) -> Row {
    let mut sum = Row { name: "all".to_owned(), ..Row::default() };
    for row in rows {
        for (total, rate) in sum.rates.iter_mut().zip(row.rates) {
            *total = total.and(rate);
        }
        sum.repeated += row.repeated;
        sum.disturbed += row.disturbed;
    }
    sum
}

fn dash() -> String {
    "–".to_owned()
}

fn cell(rate: Rate) -> String {
    if rate.of == 0 { dash() } else { rate.to_string() }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// The rows that are right too seldom on a quiet machine, and what they say instead.
pub(super) fn defects(rows: &[Row]) -> String {
    let is_defect = |row: &&Row| row.rates[QUIET_FIRST].of > 0 && row.rates[QUIET_FIRST].share() < RIGHT;
    let line = |row: &Row| {
        let said: String = row.said.chars().take(160).collect();
        format!("- {}: {} right; else: {}\n", row.name, row.rates[QUIET_FIRST], said.trim())
    };
    let lines: String = rows.iter().filter(is_defect).map(line).collect();
    if lines.is_empty() { "None.\n".to_owned() } else { lines }
}

/// What fell, and what may have.
pub(super) fn falls(falls: &[Fall]) -> String {
    let mut text = String::new();
    for (sure, title) in [(true, "fell"), (false, "lower, which may be chance: more runs would say (-n 30)")]
    {
        let lines: Vec<&Fall> = falls.iter().filter(|fall| fall.is_sure == sure).collect();
        if !lines.is_empty() {
            let _ = writeln!(text, "{title}:");
        }
        for Fall { what, before, now, p, .. } in lines {
            let _ = writeln!(text, "  {what}: {before} before, {now} now (p = {})", Short(*p));
        }
    }
    text
}

/// The document with another generated part.
///
/// # Errors
///
/// Where the document has no such part.
pub(super) fn replaced(document: &str, rows: &[Row]) -> Result<String> {
    let parts = document.split_once(BEGIN).and_then(|(head, rest)| Some((head, rest.split_once(END)?.1)));
    let Some((head, tail)) = parts else { bail!("docs/truth.md has no lines {BEGIN} and {END}") };
    let (table, defects) = (table(rows), defects(rows));
    Ok(format!(
        "{head}{BEGIN}\n\n{table}\n**Defects** (right in less than 95 % of quiet runs):\n\n{defects}\n{END}{tail}"
    ))
}

/// A probability with as many digits as say something.
struct Short(f64);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 < 0.001 { write!(f, "{:.0e}", self.0) } else { write!(f, "{:.3}", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, right: u64, of: u64) -> Row {
        let mut row = Row { name: name.to_owned(), said: "another lock".to_owned(), ..Row::default() };
        row.rates[QUIET_FIRST] = Rate { right, of };
        row.predicted = Some([0.1, 0.25, 0.3]);
        row.measured = Some(0.2);
        row
    }

    #[test]
    fn rows_and_their_sum_are_shown() {
        let text = table(&[row("a", 9, 10), row("b", 10, 10)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2], "| a | 9/10 | – | – | – | – | 25 % (10 % to 30 %) | 20 % | – | 0 | 0 |");
        assert!(lines[4].starts_with("| all | 19/20 | – |"), "{text}");
    }

    #[test]
    fn less_than_95_percent_is_a_defect() {
        let told = defects(&[row("a", 19, 20), row("b", 18, 20), row("c", 0, 0)]);
        assert_eq!(told, "- b: 18/20 right; else: another lock\n");
        assert_eq!(defects(&[row("a", 20, 20)]), "None.\n");
    }

    #[test]
    fn what_fell_and_what_may_have_are_apart() {
        let fall = |what: &str, p, is_sure| Fall {
            what: what.to_owned(),
            before: Rate { right: 10, of: 10 },
            now: Rate { right: 1, of: 10 },
            p,
            is_sure,
        };
        let text = falls(&[fall("a: first, quiet", 0.00006, true), fall("b: place, quiet", 0.0163, false)]);
        assert!(
            text.starts_with("fell:\n  a: first, quiet: 10/10 before, 1/10 now (p = 6e-5)\nlower"),
            "{text}"
        );
        assert!(text.ends_with("b: place, quiet: 10/10 before, 1/10 now (p = 0.016)\n"), "{text}");
        assert_eq!(falls(&[]), "");
    }

    #[test]
    fn only_the_generated_part_of_the_document_changes() {
        let document = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let new = replaced(&document, &[row("a", 1, 1)]).expect("the part is there");
        assert!(new.starts_with("before\n") && new.ends_with("\nafter\n") && !new.contains("old"), "{new}");
        assert_eq!(replaced(&new, &[row("a", 1, 1)]).expect("again"), new);
        assert!(replaced("nothing", &[]).is_err());
    }

    #[test]
    fn the_document_has_that_part() {
        let document =
            std::fs::read_to_string(holdup_stage::workspace().join("docs/truth.md")).expect("docs");
        replaced(&document, &[]).expect("the part is there");
    }
}
