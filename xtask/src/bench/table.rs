//! What was measured, for people: a line for plain, under it one for each other way.

use std::fmt;

use super::measure::{Comparison, Row, Spread};

#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Row>,
}

impl Table {
    pub(super) fn extend(&mut self, rows: impl IntoIterator<Item = Row>) {
        self.rows.extend(rows);
    }
}

/// Targets bind holdup only; peers are there to compare with.
const BOUND: &str = "holdup";

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{:<28} {:<18} {:<32} {:<18} verdict",
            "case", "way", "median (least to most)", "target"
        )?;
        for row in &self.rows {
            let [case, way, figure, target, verdict] = row.cells();
            let line = format!("{case:<28} {way:<18} {figure:<32} {target:<18} {verdict}");
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

impl Row {
    fn cells(&self) -> [String; 5] {
        match self {
            Row::Base { case, figure, unit } => {
                [case.clone(), "plain".to_owned(), spread(*figure, unit), String::new(), String::new()]
            }
            Row::Compared { way, spread: figures, comparison } => {
                let (unit, target, missed_by) = match *comparison {
                    Comparison::Ratio { at_most } => {
                        ("×", format!("{at_most:.2} ×"), excess(figures.median, at_most, "×"))
                    }
                    Comparison::AddedNs { at_most } => {
                        ("ns more", format!("{at_most:.0} ns more"), excess(figures.median, at_most, "ns"))
                    }
                };
                let figure = spread(*figures, unit);
                if *way != BOUND {
                    return [String::new(), (*way).to_owned(), figure, String::new(), String::new()];
                }
                [String::new(), (*way).to_owned(), figure, target, verdict(missed_by.as_deref())]
            }
            Row::Told { case, way, what, target, missed_by } => {
                let verdict = verdict(missed_by.as_deref());
                [case.clone(), (*way).to_owned(), what.clone(), target.clone(), verdict]
            }
            Row::Failed { case, way, reason } => [
                case.clone(),
                (*way).to_owned(),
                format!("no result: {reason}"),
                String::new(),
                String::new(),
            ],
        }
    }
}

fn spread(figures: Spread, unit: &str) -> String {
    let Spread { median, least, most } = figures;
    format!("{median:.3} ({least:.3} to {most:.3}) {unit}")
}

fn excess(figure: f64, at_most: f64, unit: &str) -> Option<String> {
    (figure > at_most).then(|| format!("{:.3} {unit}", figure - at_most))
}

fn verdict(missed_by: Option<&str>) -> String {
    missed_by.map_or_else(|| "met".to_owned(), |by| format!("missed by {by}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(way: &'static str, median: f64) -> String {
        let spread = Spread { median, least: median, most: median };
        let row = Row::Compared { way, spread, comparison: Comparison::Ratio { at_most: 1.02 } };
        Table { rows: vec![row] }.to_string()
    }

    #[test]
    fn a_target_is_met_up_to_its_figure_and_missed_beyond() {
        assert!(compared("holdup", 1.02).ends_with(" met\n"));
        assert!(compared("holdup", 1.05).ends_with("missed by 0.030 ×\n"));
    }

    #[test]
    fn peers_have_no_target() {
        let line = compared("coz", 3.0);
        assert!(!line.contains("missed") && !line.contains("1.02"), "{line}");
    }

    #[test]
    fn lines_of_words_end_with_their_verdict() {
        let told = |missed_by: Option<&str>| {
            let row = Row::Told {
                case: "hot".to_owned(),
                way: "holdup",
                what: "9 MiB".to_owned(),
                target: "8 MiB".to_owned(),
                missed_by: missed_by.map(str::to_owned),
            };
            Table { rows: vec![row] }.to_string()
        };
        assert!(told(None).ends_with(" met\n"));
        assert!(told(Some("1 MiB")).ends_with("missed by 1 MiB\n"));
    }
}
