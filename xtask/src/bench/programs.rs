//! Real programs that have worked with threads for many years.

use std::path::Path;

use super::measure::{Case, Comparison};

pub(super) struct Real {
    pub(super) name: &'static str,
    /// `{threads}` is replaced; the input's path follows. All write to standard output.
    arguments: &'static [&'static str],
}

pub(super) const REAL: &[Real] = &[
    Real { name: "pigz", arguments: &["-c", "-k", "-p", "{threads}"] },
    Real { name: "pbzip2", arguments: &["-c", "-k", "-p{threads}"] },
    // The least preset: its small blocks give every thread several of them.
    Real { name: "xz", arguments: &["-1", "-c", "-k", "-T{threads}"] },
    Real { name: "zstd", arguments: &["-9", "-c", "-q", "-T{threads}"] },
];

impl Real {
    /// What comes behind its name.
    pub(super) fn arguments(&self, threads: &str, input: &Path) -> Vec<String> {
        let words = self.arguments.iter().map(|word| word.replace("{threads}", threads));
        words.chain([input.to_string_lossy().into_owned()]).collect()
    }

    pub(super) fn cases(&self, input: &Path, quick: bool) -> Vec<Case> {
        let threads: &[u32] = if quick { &[2] } else { &[1, 2, 4] };
        threads
            .iter()
            .map(|threads| {
                let command = [vec![self.name.to_owned()], self.arguments(&threads.to_string(), input)];
                Case {
                    name: format!("{}, threads: {threads}", self.name),
                    command: command.concat(),
                    figure: None,
                    comparison: Comparison::Ratio { at_most: 1.03 },
                }
            })
            .collect()
    }
}
