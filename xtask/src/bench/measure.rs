//! One case, all ways, alternating; each way's figure against plain's of the same round.

use std::process::Stdio;
use std::time::Instant;

use super::Way;
use super::ways::last_line;

/// A program and what is compared.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) command: Vec<String>,
    /// The name of the figure that the program prints (`name value`); without, the wall time of the whole
    /// command.
    pub(super) figure: Option<&'static str>,
    pub(super) comparison: Comparison,
}

/// How a way's figure is set against plain's, and what holdup wants of it.
#[derive(Clone, Copy)]
pub(super) enum Comparison {
    Ratio { at_most: f64 },
    AddedNs { at_most: f64 },
}

impl Comparison {
    fn of(self, plain: f64, other: f64) -> f64 {
        match self {
            Comparison::Ratio { .. } => other / plain,
            Comparison::AddedNs { .. } => other - plain,
        }
    }
}

/// The middle and the ends of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Spread {
    /// `None` of an empty series. The median of an even number is the mean of the middle two.
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Spread> {
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Spread { median: (low + high) / 2.0, least, most })
    }
}

/// What came of one way of a case.
pub(super) enum Row {
    /// Plain's figure, which begins a case.
    Base { case: String, figure: Spread, unit: &'static str },
    /// Another way against it.
    Compared { way: &'static str, spread: Spread, comparison: Comparison },
    /// A result in words.
    Told { case: String, way: &'static str, what: String, target: String, missed_by: Option<String> },
    /// No result, and why.
    Failed { case: String, way: &'static str, reason: String },
}

/// Runs a case `runs` times in each way, after one run of plain that fills the page cache. A way that fails
/// is given up for this case and its row says why.
pub(super) fn measure(case: &Case, ways: &[Way], runs: u32) -> Vec<Row> {
    let Some((plain, others)) = ways.split_first() else { return Vec::new() };
    let first = once(case, plain);
    let mut plain_figures = Vec::new();
    let mut compared: Vec<Result<Vec<f64>, String>> = others.iter().map(|_| Ok(Vec::new())).collect();
    for _ in 0..runs {
        let Ok(base) = first.as_ref().map_err(Clone::clone).and_then(|_| once(case, plain)) else { break };
        plain_figures.push(base);
        for (way, results) in others.iter().zip(&mut compared) {
            if let Ok(values) = results {
                match once(case, way) {
                    Ok(figure) => values.push(case.comparison.of(base, figure)),
                    Err(reason) => *results = Err(reason),
                }
            }
        }
    }
    let Some(base) = Spread::of(plain_figures) else {
        let reason = first.err().unwrap_or_else(|| "failed after its first run".to_owned());
        return vec![Row::Failed { case: case.name.clone(), way: plain.name, reason }];
    };
    let unit = if case.figure.is_some() { "ns" } else { "s" };
    let mut rows = vec![Row::Base { case: case.name.clone(), figure: base, unit }];
    rows.extend(others.iter().zip(compared).filter_map(|(way, results)| match results.map(Spread::of) {
        Ok(spread) => Some(Row::Compared { way: way.name, spread: spread?, comparison: case.comparison }),
        Err(reason) => Some(Row::Failed { case: String::new(), way: way.name, reason }),
    }));
    rows
}

/// Seconds, or the printed figure.
fn once(case: &Case, way: &Way) -> Result<f64, String> {
    let mut command = way.command(&case.command);
    // What real programs write is their compressed output: to nowhere, as a pipe would be measured too.
    command.stdout(if case.figure.is_some() { Stdio::piped() } else { Stdio::null() }).stderr(Stdio::piped());
    let begin = Instant::now();
    let output =
        command.spawn().and_then(|child| child.wait_with_output()).map_err(|error| error.to_string())?;
    let wall = begin.elapsed().as_secs_f64();
    if !output.status.success() {
        return Err(format!("{}: {}", output.status, last_line(&output.stderr)));
    }
    if !way.wrote_its_output() {
        return Err("wrote no result".to_owned());
    }
    match case.figure {
        None => way.program_seconds().unwrap_or(Ok(wall)),
        Some(name) => printed(&output.stdout, name).ok_or_else(|| format!("printed no {name}")),
    }
}

/// The value of a line `name value`.
pub(super) fn printed(stdout: &[u8], name: &str) -> Option<f64> {
    let text = String::from_utf8_lossy(stdout);
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_lies_in_the_middle() {
        assert_eq!(Spread::of(vec![3.0, 1.0, 2.0]), Some(Spread { median: 2.0, least: 1.0, most: 3.0 }));
        assert_eq!(Spread::of(vec![4.0, 1.0]), Some(Spread { median: 2.5, least: 1.0, most: 4.0 }));
        assert_eq!(Spread::of(vec![]), None);
    }

    #[test]
    fn figures_are_read_by_their_whole_name() {
        let stdout = b"busy_ns_x 1\nbusy_ns 59.5\n";
        assert_eq!(printed(stdout, "busy_ns"), Some(59.5));
        assert_eq!(printed(stdout, "tight_ns"), None);
    }

    #[test]
    fn comparisons_are_against_plain() {
        assert_eq!(Comparison::Ratio { at_most: 1.0 }.of(2.0, 3.0), 1.5);
        assert_eq!(Comparison::AddedNs { at_most: 1.0 }.of(2.0, 3.0), 1.0);
    }
}
