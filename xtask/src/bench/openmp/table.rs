//! What was measured, for people: a line for each code and compiler.

use std::fmt;

use super::Figure;
use super::codes::{Code, Compiler, Sort};

/// One code from one compiler. The figures are in the order of the compiler's ways.
pub(super) struct Row {
    pub(super) code: &'static Code,
    pub(super) compiler: Compiler,
    pub(super) figures: Vec<Figure>,
}

#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Row>,
}

impl Table {
    pub(super) fn push(&mut self, row: Row) {
        self.rows.push(row);
    }
}

impl Row {
    /// The median of a way as a multiple of another's.
    fn ratio(&self, way: usize, base: usize) -> f64 {
        self.figures[way].inside.median / self.figures[base].inside.median
    }

    /// What a recorded run is held against: the idle tool where there is one, else plain.
    fn base(&self) -> usize {
        usize::from(self.compiler == Compiler::Clang)
    }

    fn cells(&self) -> [String; 9] {
        let recorded = self.figures.len() - 1;
        let idle = if self.base() == 1 { format!("{:.3}", self.ratio(1, 0)) } else { String::new() };
        let held = self.ratio(recorded, self.base());
        let at_most = self.compiler.at_most(self.code.sort);
        let verdict =
            if held <= at_most { "met".to_owned() } else { format!("missed by {:.3}", held - at_most) };
        let whole = self.figures[recorded].whole.median / self.figures[0].whole.median;
        [
            self.code.name.to_owned(),
            self.compiler.name().to_owned(),
            plain(&self.figures[0], self.code.sort, self.code.figure.is_some()),
            idle,
            format!("{:.3}", self.ratio(recorded - 1, 0)),
            format!("{:.3}", self.ratio(recorded, 0)),
            format!("{whole:.2}"),
            format!("{held:.3} of {at_most:.2}"),
            verdict,
        ]
    }
}

/// The plain figure with its ends: ns for a construct, else ms.
fn plain(figure: &Figure, sort: Sort, printed: bool) -> String {
    let (unit, scale) = if printed && sort != Sort::Loops { ("ns", 1.0) } else { ("ms", 1e-6) };
    let [median, least, most] =
        [figure.inside.median, figure.inside.least, figure.inside.most].map(|value| value * scale);
    let digits = if median < 10.0 { 2 } else { 1 };
    format!("{median:.digits$} ({least:.digits$} to {most:.digits$}) {unit}")
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "Medians of runs that took turns, as multiples of plain; \"held\": recorded against plain (gcc) or the"
        )?;
        writeln!(
            out,
            "idle tool (clang); \"whole\": the whole command, the recorder's start and search for names included.\n"
        )?;
        let head = ["code", "from", "plain", "idle tool", "passing", "recorded", "whole", "held", "verdict"];
        let rows: Vec<[String; 9]> = self.rows.iter().map(Row::cells).collect();
        for cells in [head.map(str::to_owned)].iter().chain(&rows) {
            let [code, from, plain, idle, passing, recorded, whole, held, verdict] = cells;
            let line = format!(
                "{code:<17} {from:<6} {plain:<32} {idle:>9} {passing:>8} {recorded:>8} {whole:>6}  {held:<14} {verdict}"
            );
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::codes;
    use super::*;
    use crate::bench::measure::Spread;

    fn row(compiler: Compiler, medians: &[f64]) -> String {
        let figure = |&median: &f64| {
            let spread = Spread { median, least: median, most: median };
            Figure { inside: spread, whole: spread }
        };
        let code = codes::ALL.iter().find(|code| code.sort == Sort::Construct).expect("a construct");
        Table { rows: vec![Row { code, compiler, figures: medians.iter().map(figure).collect() }] }
            .to_string()
    }

    #[test]
    fn gcc_is_held_against_plain() {
        let met = row(Compiler::Gcc, &[100.0, 105.0, 115.0]);
        assert!(met.contains("1.150 of 1.15") && met.ends_with(" met\n"), "{met}");
        assert!(row(Compiler::Gcc, &[100.0, 105.0, 120.0]).ends_with("missed by 0.050\n"));
    }

    #[test]
    fn clang_is_held_against_the_idle_tool() {
        let told = row(Compiler::Clang, &[100.0, 120.0, 101.0, 123.0]);
        assert!(told.contains("1.025 of 1.05") && told.ends_with(" met\n"), "{told}");
        assert!(told.contains("1.200") && told.contains("1.010") && told.contains("1.230"), "{told}");
    }
}
