//! What was measured, for people: a line for each case, and below it the ends of what varies.

use std::fmt;

use super::super::measure::Spread;

/// Million instructions each second and host core that holdup wants at 16 simulated cores.
const WANTED_MIPS: f64 = 100.0;

/// One case.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) instructions: Spread,
    pub(super) mips: Spread,
    /// Simulating takes so many times as long as running natively on one core.
    pub(super) by_native: Spread,
    /// And so many times as long as only decoding.
    pub(super) by_decoding: Spread,
    /// Recording's share of recording and simulating once.
    pub(super) recording: Spread,
    pub(super) peak_mib: Spread,
}

#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Row>,
}

impl Table {
    pub(super) fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = ["M instructions", "MIPS", "to native", "to decoding", "recording", "peak memory"];
        write!(out, "{:<36}", "program")?;
        for head in heads {
            write!(out, "{head:>16}")?;
        }
        writeln!(out, "   target")?;
        for row in &self.rows {
            let cells = [
                format!("{:.1}", row.instructions.median / 1e6),
                format!("{:.1}", row.mips.median),
                format!("{:.0} ×", row.by_native.median),
                format!("{:.1} ×", row.by_decoding.median),
                format!("{:.0} %", row.recording.median * 100.0),
                format!("{:.0} MiB", row.peak_mib.median),
            ];
            write!(out, "{:<36}", row.name)?;
            for cell in cells {
                write!(out, "{cell:>16}")?;
            }
            writeln!(out, "   {}", verdict(row.mips.median))?;
            let ends = |spread: Spread, scale: f64, digits: usize| {
                format!("{:.digits$} to {:.digits$}", spread.least * scale, spread.most * scale)
            };
            let cells = [
                String::new(),
                ends(row.mips, 1.0, 1),
                ends(row.by_native, 1.0, 0),
                ends(row.by_decoding, 1.0, 1),
                ends(row.recording, 100.0, 0),
                String::new(),
            ];
            write!(out, "{:<36}", "")?;
            for cell in cells {
                write!(out, "{cell:>16}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

fn verdict(mips: f64) -> String {
    if mips >= WANTED_MIPS {
        format!("{WANTED_MIPS:.0} MIPS: met")
    } else {
        format!("{WANTED_MIPS:.0} MIPS: missed by {:.1}", WANTED_MIPS - mips)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_fast_and_what_was_wanted() {
        let spread = |median: f64| Spread { median, least: median * 0.5, most: median * 2.0 };
        let mut table = Table::default();
        table.push(Row {
            name: "integer, 4 cores".to_owned(),
            instructions: spread(2e8),
            mips: spread(120.0),
            by_native: spread(30.0),
            by_decoding: spread(8.0),
            recording: spread(0.25),
            peak_mib: spread(90.0),
        });
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().collect();
        let cells: Vec<&str> = lines[1].split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        assert_eq!(
            cells,
            ["integer, 4 cores", "200.0", "120.0", "30 ×", "8.0 ×", "25 %", "90 MiB", "100 MIPS: met"]
        );
        assert!(lines[2].contains("60.0 to 240.0"), "{text}");
        assert_eq!(verdict(90.5), "100 MIPS: missed by 9.5");
    }
}
