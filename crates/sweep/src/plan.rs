//! The plan: programs, and what to vary. Its format is in `docs/sweep.md`.

mod read;

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::SweepError;

/// What a sweep is to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The plan's file.
    pub path: PathBuf,
    text: String,
    /// The programs, in the plan's order.
    pub programs: Vec<Program>,
    /// How jobs are given to Slurm.
    pub slurm: SlurmOptions,
}

/// How jobs are given to Slurm.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SlurmOptions {
    /// Options of `sbatch` for all jobs, such as `--partition=short`.
    #[serde(default)]
    pub options: Vec<String>,
    /// The most CPUs that a job asks for. Where it is not set, a job that runs a program asks for one for each thread.
    #[serde(default)]
    pub cpus: Option<u32>,
}

/// A program, and what is varied with it.
#[derive(Clone, Debug)]
pub struct Program {
    /// What it is called; different for each.
    pub name: Named,
    /// What it belongs to.
    pub suite: Option<String>,
    /// What is run, or was recorded.
    pub subject: Subject,
    /// The inputs; empty where there is only one.
    pub inputs: Vec<Input>,
    /// The numbers of threads; empty where it is not told any.
    pub threads: Vec<u32>,
    /// What is asked.
    pub measures: Vec<Measure>,
    /// The machines that are simulated, by name or as files.
    pub machines: Vec<Named>,
    /// The numbers of cores that are simulated; empty for as many as threads that work.
    pub cores: Vec<u32>,
    /// What is changed in simulations, besides the unchanged one.
    pub what_ifs: Vec<Named>,
    /// Simulations give a speedup stack too.
    pub speedup_stack: bool,
    /// Which part of an emulated run counts.
    pub roi: Roi,
    /// How often it is recorded.
    pub repeats: u32,
    /// How long each task may take.
    pub time_limit: Duration,
}

/// A word of the plan, and where it stands in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The word.
    pub text: String,
    /// Its bytes in the plan's text.
    pub at: Range<usize>,
}

/// What a program is.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// It is run.
    Run {
        /// Program and arguments, with placeholders.
        command: Vec<String>,
        /// It was one text: what stands for `{input}` as a word by itself is split at spaces too.
        split: bool,
        /// Variables of its environment, with placeholders in the values.
        environment: BTreeMap<String, String>,
        /// Its current directory.
        directory: PathBuf,
        /// Files that it reads, with placeholders, beside those that are among its arguments.
        files: Vec<String>,
        /// What it reads as standard input, with placeholders.
        stdin: Option<String>,
        /// Runs that end with another status than 0 count too.
        ignore_status: bool,
    },
    /// It was recorded: the file, with placeholders.
    Recording(String),
}

/// An input of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// What it is called.
    pub name: String,
    /// What `{input}` stands for.
    pub value: String,
}

/// What is asked of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// `holdup report` of a run on this machine.
    Report,
    /// `holdup sim` of a run under emulation.
    Sim,
}

/// Which part of an emulated run counts, as `holdup record --roi` has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Roi {
    /// All of it: the only one that runs with one thread and with several have in common.
    #[default]
    All,
    /// From the first thread that is created.
    Auto,
    /// What the program marks.
    Marked,
}

impl Roi {
    /// The word of the option.
    pub fn word(self) -> &'static str {
        match self {
            Roi::All => "all",
            Roi::Auto => "auto",
            Roi::Marked => "marked",
        }
    }
}

impl Measure {
    /// The word in plans and tables.
    pub fn word(self) -> &'static str {
        match self {
            Measure::Report => "report",
            Measure::Sim => "sim",
        }
    }
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// If there is none, or with line and column of what is wrong with it.
    pub fn read(path: &Path) -> Result<Plan, SweepError> {
        let text = fs::read(path).map_err(|error| SweepError::NoPlan { path: path.to_owned(), error })?;
        let text = String::from_utf8(text).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let before = String::from_utf8_lossy(&error.as_bytes()[..at]).into_owned();
            located(
                path,
                &before,
                before.len(),
                "this is not text in UTF-8; a plan is a TOML file, such as in docs/sweep.md".to_owned(),
            )
        })?;
        let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let folder = full.parent().unwrap_or(Path::new("/"));
        match read::parsed(&text, folder) {
            Ok((programs, slurm)) => Ok(Plan { path: path.to_owned(), text, programs, slurm }),
            Err(read::Wrong { at, problem }) => Err(located(path, &text, at, problem)),
        }
    }

    /// What is wrong with a word of the plan, as an error that says where it stands.
    pub fn wrong(&self, word: &Named, problem: impl Into<String>) -> SweepError {
        located(&self.path, &self.text, word.at.start, problem.into())
    }
}

/// The error with line and column of a byte of the text.
fn located(path: &Path, text: &str, at: usize, problem: String) -> SweepError {
    let before = text.get(..at.min(text.len())).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    SweepError::Plan { path: path.to_owned(), line, column, problem }
}

/// Text with its placeholders replaced. `{input}` first: what an input says may have `{threads}` in it.
pub(crate) fn filled(text: &str, input: Option<&str>, threads: Option<u32>) -> String {
    let text = match input {
        Some(input) => text.replace(INPUT, input),
        None => text.to_owned(),
    };
    match threads {
        Some(threads) => text.replace(THREADS, &threads.to_string()),
        None => text,
    }
}

/// Stands for the input's value.
pub(crate) const INPUT: &str = "{input}";
/// Stands for the number of threads.
const THREADS: &str = "{threads}";
