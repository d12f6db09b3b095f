//! What was measured, for people: a line for each program, a column for each way, multiples of native.

use std::fmt;

use super::super::measure::Spread;
use super::kernels::Kernel;
use super::ways::COUNTS;

/// One program. The figures are in the order of the table's ways, native first; `None` where there are none.
pub(super) struct Row {
    pub(super) kernel: &'static Kernel,
    pub(super) figures: Vec<Option<Spread>>,
}

pub(super) struct Table {
    ways: Vec<&'static str>,
    rows: Vec<Row>,
}

impl Table {
    pub(super) fn new(ways: impl Iterator<Item = &'static str>) -> Table {
        Table { ways: ways.collect(), rows: Vec::new() }
    }

    pub(super) fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// The column that has a target.
    fn bound(&self) -> usize {
        self.ways.iter().position(|way| *way == COUNTS).unwrap_or(0)
    }
}

impl Row {
    /// A way's median as a multiple of native's.
    fn ratio(&self, way: usize) -> Option<f64> {
        Some(self.figures[way]?.median / self.figures[0]?.median)
    }

    /// From the fastest run to the slowest, as multiples of native's median.
    fn ends(&self, way: usize) -> Option<(f64, f64)> {
        let (way, native) = (self.figures[way]?, self.figures[0]?);
        Some((way.least / native.median, way.most / native.median))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:<28}", "program")?;
        for way in &self.ways {
            write!(out, "{way:>18}")?;
        }
        writeln!(out, "   target")?;
        for row in &self.rows {
            write!(out, "{:<28}", row.kernel.name)?;
            let native = row.figures[0].map(|figure| format!("{:.1} ms", figure.median / 1e6));
            write!(out, "{:>18}", native.unwrap_or_default())?;
            for way in 1..self.ways.len() {
                let cell = row.ratio(way).map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.1} ×"));
                write!(out, "{cell:>18}")?;
            }
            writeln!(out, "   {}", verdict(row.ratio(self.bound()), row.kernel.at_most))?;
            write!(out, "{:<28}{:>18}", "", "")?;
            for way in 1..self.ways.len() {
                let ends = row.ends(way).map(|(least, most)| format!("{least:.1} to {most:.1}"));
                write!(out, "{:>18}", ends.unwrap_or_default())?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

fn verdict(ratio: Option<f64>, at_most: f64) -> String {
    match ratio {
        Some(ratio) if ratio <= at_most => format!("{at_most:.0} ×: met"),
        Some(ratio) => format!("{at_most:.0} ×: missed by {:.1} ×", ratio - at_most),
        None => format!("{at_most:.0} ×: not measured"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernels;
    use super::*;

    fn figure(median: f64) -> Option<Spread> {
        Some(Spread { median, least: median * 0.5, most: median * 2.0 })
    }

    #[test]
    fn cells_are_multiples_of_native() {
        let mut table = Table::new(["native", COUNTS, "lackey"].into_iter());
        table.push(Row { kernel: &kernels::ALL[0], figures: vec![figure(2e6), figure(12e6), None] });
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("integer, 1 thread"), "{text}");
        let cells: Vec<&str> = lines[1].split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        assert_eq!(cells[1..], ["2.0 ms", "6.0 ×", "–", "8 ×: met"]);
        assert_eq!(lines[2].trim(), "3.0 to 12.0");
    }

    #[test]
    fn a_missed_target_says_by_how_much() {
        assert_eq!(verdict(Some(9.5), 8.0), "8 ×: missed by 1.5 ×");
        assert_eq!(verdict(None, 8.0), "8 ×: not measured");
    }
}
