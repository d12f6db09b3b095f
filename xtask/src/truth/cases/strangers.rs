//! Programs that nobody made for holdup: what is true of each is in `workloads/strangers.tsv`, with where that is known from,
//! and was written down before holdup was first run on it. Sources are not here: who has them says where ([`all`]).

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use holdup_stage::planted::findings;
use holdup_stage::{run, workspace};
use serde_json::Value;

use super::{Filter, boxed};
use crate::truth::case::{Answer, Case};
use crate::truth::machine::{Machine, succeeded};

/// From this share of the time on a finding accuses a program of which nothing is true.
const ACCUSES: f64 = 0.1;
/// Kinds that say something of the machine's other programs.
const OUTSIDE: [&str; 2] = ["load", "delayed"];

struct Stranger {
    row: String,
    /// Kinds of findings that are right as the first one; `-`: none that costs much.
    first: Vec<String>,
    /// Functions of which one is named; none where any place will do.
    places: Vec<String>,
    /// What the shell runs in `directory`, with `$B` for programs and `$D` for their data.
    run: String,
    directory: PathBuf,
}

/// All strangers that can be built of what is in this directory, built there.
///
/// # Errors
/// Where the list is not understood, or nothing can be written.
pub(super) fn all(directory: &Path, is_wanted: Filter) -> Result<Vec<Box<dyn Case>>> {
    let directory = directory.canonicalize().with_context(|| directory.display().to_string())?;
    for folder in ["bin", "data", "run"] {
        let path = directory.join(folder);
        std::fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
    }
    let list = std::fs::read_to_string(workspace().join("workloads/strangers.tsv"))?;
    let mut cases = Vec::new();
    for line in list.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [program, first, places, _, _, build, command] = columns[..] else {
            bail!("workloads/strangers.tsv: a row has {} columns: {line}", columns.len());
        };
        let row = format!("stranger {program}");
        if !is_wanted(&row) {
            continue;
        }
        let built = run(shell(build, &directory).current_dir(&directory));
        if built.status != 0 {
            let why = String::from_utf8_lossy(&built.stderr);
            let last = why.trim().lines().last().unwrap_or_default();
            eprintln!("xtask: {program} is left out: it cannot be built: {last}");
            continue;
        }
        let words = |text: &str| text.split(',').map(str::to_owned).collect();
        cases.push(Stranger {
            row,
            first: words(first),
            places: if places == "-" { Vec::new() } else { words(places) },
            run: command.to_owned(),
            directory: directory.clone(),
        });
    }
    Ok(boxed(cases))
}

fn shell(script: &str, directory: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(directory.join("run")).env("OMP_NUM_THREADS", "2");
    command.env("B", directory.join("bin")).env("D", directory.join("data"));
    command
}

impl Case for Stranger {
    fn rows(&self) -> Vec<String> {
        vec![self.row.clone()]
    }

    fn is_for_load(&self) -> bool {
        false
    }

    fn round(&self, machine: &mut Machine, _: bool) -> Result<Vec<Answer>> {
        let recording = machine.path("truth.holdup");
        let (ended, _) = machine.measure(|machine| {
            // A recording that is there is not written over.
            let _ = std::fs::remove_file(&recording);
            let script = format!("exec \"$HOLDUP\" record -o \"$RECORDING\" -- {}", self.run);
            let mut command = shell(&script, &self.directory);
            command.env("HOLDUP", machine.holdup_path()).env("RECORDING", &recording);
            command
        })?;
        succeeded(&ended)?;
        let report = machine.report_again(&[])?;
        let told: Vec<&Value> = findings(&report)
            .into_iter()
            .filter(|finding| !OUTSIDE.iter().any(|kind| finding["kind"] == *kind))
            .collect();
        let mut answer = Answer::of(&self.row, self.is_right(told.first().copied(), &report), words(&told));
        if self.first.iter().all(|kind| kind != "-") {
            answer.place = Some(told.iter().any(|finding| self.is_true(finding)));
        }
        Ok(vec![answer])
    }
}

impl Stranger {
    fn is_right(&self, first: Option<&Value>, report: &Value) -> bool {
        let allows_nothing = self.first.iter().any(|kind| kind == "-");
        let wall = report["process"]["wall_ns"].as_f64().unwrap_or(f64::MAX);
        match first {
            None => allows_nothing,
            Some(first) => {
                let is_small = worth(first) / wall < ACCUSES;
                self.is_true(first) || allows_nothing && is_small
            }
        }
    }

    /// Right in its kind, and in its place.
    fn is_true(&self, finding: &Value) -> bool {
        let is_of_kind = self.first.iter().any(|kind| finding["kind"] == **kind);
        let told = finding.to_string();
        is_of_kind && (self.places.is_empty() || self.places.iter().any(|place| told.contains(place)))
    }
}

/// What a finding says that can be won: its gain, or where that is not known its cost.
fn worth(finding: &Value) -> f64 {
    let cost = finding["cost_ns"].as_f64().unwrap_or(0.0);
    finding["gain"]["ns"].as_f64().map_or(cost, |gain| gain.min(cost))
}

fn words(told: &[&Value]) -> String {
    let one = |finding: &&Value| finding["what"].as_str().unwrap_or("?").to_owned();
    told.iter().take(2).map(one).collect::<Vec<_>>().join("; then ")
}
