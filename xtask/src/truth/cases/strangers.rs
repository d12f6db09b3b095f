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

/// Compilers that OpenMP programs are built by, with the module directory's option of their Fortran.
const COMPILERS: [(&str, [&str; 4]); 2] = [
    ("gcc", ["gcc", "g++", "gfortran", "-J"]),
    (
        "clang",
        [
            "clang-19 -Wno-implicit-int -Wno-implicit-function-declaration",
            "clang++-19",
            "flang-new-19",
            "-module-dir",
        ],
    ),
];
/// Names of a recipe for what [`COMPILERS`] has; who names one of them is an OpenMP program.
const NAMES: [&str; 4] = ["CC", "CXX", "FC", "M"];

struct Stranger {
    row: String,
    /// Kinds of findings that are right as the first one; `-`: none that costs much.
    first: Vec<String>,
    /// Functions of which one is named; none where any place will do.
    places: Vec<String>,
    /// What is said of an OpenMP program is to be true beside other programs, too.
    is_openmp: bool,
    /// What the shell runs in `place`.
    run: String,
    place: Place,
}

/// Where a program is built and run: a directory with sources, and the name of a compiler.
#[derive(Clone)]
struct Place {
    directory: PathBuf,
    compiler: &'static str,
}

/// All strangers that can be built of what is in this directory, built there.
///
/// # Errors
/// Where the list is not understood, or nothing can be written.
pub(super) fn all(directory: &Path, is_wanted: Filter) -> Result<Vec<Box<dyn Case>>> {
    let directory = directory.canonicalize().with_context(|| directory.display().to_string())?;
    for folder in ["bin/gcc", "bin/clang", "data", "run"] {
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
        let words = |text: &str| text.split(',').map(str::to_owned).collect();
        let is_openmp = NAMES.iter().any(|name| build.contains(&format!("${name} ")));
        let compilers = if is_openmp { &COMPILERS[..] } else { &COMPILERS[..1] };
        for &(compiler, _) in compilers {
            let row = if is_openmp {
                format!("openmp {program} {compiler}")
            } else {
                format!("stranger {program}")
            };
            let place = Place { directory: directory.clone(), compiler };
            if !is_wanted(&row) || !place.builds(&row, build) {
                continue;
            }
            let places = if places == "-" { Vec::new() } else { words(places) };
            cases.push(Stranger {
                row,
                first: words(first),
                places,
                is_openmp,
                run: command.to_owned(),
                place,
            });
        }
    }
    Ok(boxed(cases))
}

impl Place {
    /// The program of this row, if it can be built; why not is said.
    fn builds(&self, row: &str, recipe: &str) -> bool {
        let built = run(self.shell(recipe).current_dir(&self.directory));
        if built.status != 0 {
            let why = String::from_utf8_lossy(&built.stderr);
            let last = why.trim().lines().last().unwrap_or_default();
            eprintln!("xtask: {row} is left out: it cannot be built: {last}");
        }
        built.status == 0
    }

    /// A script in which `$B` has programs, and `$D` their data.
    fn shell(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(self.directory.join("run")).env("OMP_NUM_THREADS", "2");
        command
            .env("B", self.directory.join("bin").join(self.compiler))
            .env("D", self.directory.join("data"));
        let own = COMPILERS.iter().find(|(name, _)| *name == self.compiler).map(|(_, own)| own);
        command.envs(NAMES.into_iter().zip(own.into_iter().flatten()));
        command
    }
}

impl Case for Stranger {
    fn rows(&self) -> Vec<String> {
        vec![self.row.clone()]
    }

    fn is_for_load(&self) -> bool {
        self.is_openmp
    }

    fn round(&self, machine: &mut Machine, _: bool) -> Result<Vec<Answer>> {
        let recording = machine.path("truth.holdup");
        let (ended, _) = machine.measure(|machine| {
            // A recording that is there is not written over.
            let _ = std::fs::remove_file(&recording);
            let script = format!("exec \"$HOLDUP\" record -o \"$RECORDING\" -- {}", self.run);
            let mut command = self.place.shell(&script);
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
