//! Which stacks there are, and what their parts are.

use clap::ValueEnum;
use holdup_model::Arrange;

/// So many threads have a component of their own in a criticality stack.
const MOST_THREADS: usize = 8;

/// Stacks that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum StackKind {
    /// Where simulated cycles go: holdup sim --json
    Cycles,
    /// What the wall time is lost to: recordings, holdup report --json
    Losses,
    /// The criticality of threads, from the most critical on: recordings, holdup report --json
    Criticality,
    /// What speedup is lost to: holdup stack --json
    Speedup,
}

/// Parts as shares of their sum.
pub(super) fn shares(mut parts: Vec<(String, f64)>) -> Vec<(String, f64)> {
    let total: f64 = parts.iter().map(|(_, part)| part).sum();
    if total > 0.0 {
        parts.iter_mut().for_each(|(_, part)| *part /= total);
    }
    parts
}

/// A criticality stack by the rank of threads, so that those of different programs can be compared: the shares of the most
/// critical thread, of the next one…, of all others, and the time with nobody active.
pub(super) fn criticality(mut threads: Vec<f64>, nobody: f64) -> Vec<(String, f64)> {
    threads.arrange_by(|a, b| b.total_cmp(a));
    let mut parts: Vec<(String, f64)> = threads
        .iter()
        .take(MOST_THREADS)
        .enumerate()
        .map(|(at, share)| (format!("critical-{}", at + 1), *share))
        .collect();
    parts.push(("critical-others".to_owned(), threads.iter().skip(MOST_THREADS).sum()));
    parts.push(("nobody".to_owned(), nobody));
    parts
}
