//! The workloads of `workloads/lime.tsv`: programs whose threads are unequal because of one line, which is marked in the
//! source, built by every compiler at every level of optimization; and what `holdup why` says of them.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::forms::{CLANG, CLANG_CPP, rustc};
use crate::{Stage, is_installed, workspace};

const TABLE: &str = "lime.tsv";

/// What `holdup why` must say of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// The planted line is the first cause.
    Cause,
    /// So it is, and the second planted line is a cause too.
    TwoCauses,
    /// Threads execute equally, and natively take differently long.
    ExecutesEqually,
    /// What threads execute depends on the order in which they come to a lock.
    DependsOnSchedule,
    /// There is nothing to find.
    Balanced,
}

/// A row of the table.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The folder in `workloads/`, or what tells its rows apart.
    pub name: String,
    source: PathBuf,
    language: String,
    flags: Vec<String>,
    /// What must be said.
    pub said: Said,
    /// The least score that the planted line must have.
    pub least_score: f64,
}

/// Who compiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// `cc`, `c++`
    Gcc,
    /// [`CLANG`]
    Clang,
    /// The one that builds these tests
    Rustc,
}

/// One way to build and run a workload.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// Who compiles.
    pub compiler: Compiler,
    /// `0`, `2` or `3`.
    pub level: char,
    /// How many threads it is run with.
    pub threads: u32,
}

/// Levels of optimization.
pub const LEVELS: [char; 3] = ['0', '2', '3'];
/// Numbers of threads.
pub const THREADS: [u32; 4] = [8, 16, 32, 64];

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let compiler = match self.compiler {
            Compiler::Gcc => "gcc",
            Compiler::Clang => CLANG,
            Compiler::Rustc => "rustc",
        };
        write!(f, "{compiler} -O{} at {} threads", self.level, self.threads)
    }
}

/// All rows of the table.
pub fn table() -> Vec<Workload> {
    let folder = workspace().join("workloads");
    let table =
        std::fs::read_to_string(folder.join(TABLE)).unwrap_or_else(|error| panic!("{TABLE}: {error}"));
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, source, language, flags, said, least_score] = fields[..] else { panic!("a row: {line}") };
        let said = match said {
            "cause" => Said::Cause,
            "two causes" => Said::TwoCauses,
            "executes equally" => Said::ExecutesEqually,
            "depends on the schedule" => Said::DependsOnSchedule,
            "balanced" => Said::Balanced,
            _ => panic!("{name} must be said to be {said:?}"),
        };
        Workload {
            name: name.to_owned(),
            source: folder.join(source),
            language: language.to_owned(),
            flags: flags.split_whitespace().map(str::to_owned).collect(),
            said,
            least_score: least_score.parse().unwrap_or(0.0),
        }
    };
    table.lines().skip(1).map(row).collect()
}

/// The row of one workload.
pub fn workload(name: &str) -> Workload {
    let found = table().into_iter().find(|row| row.name == name);
    found.unwrap_or_else(|| panic!("{name} is not in workloads/{TABLE}"))
}

impl Workload {
    /// Those that can compile it.
    pub fn compilers(&self) -> &'static [Compiler] {
        if self.language == "rust" { &[Compiler::Rustc] } else { &[Compiler::Gcc, Compiler::Clang] }
    }

    /// The lines of the source that carry a mark in a comment, from 1.
    pub fn marked(&self, mark: &str) -> Vec<u64> {
        let source = std::fs::read_to_string(&self.source).expect("the workload's source");
        let comment = format!("// {mark}");
        let marked = source.lines().zip(1..).filter(|(line, _)| line.contains(&comment));
        marked.map(|(_, number)| number).collect()
    }

    /// The first line behind `line` that contains `word`.
    pub fn next_line_with(&self, word: &str, line: u64) -> u64 {
        let source = std::fs::read_to_string(&self.source).expect("the workload's source");
        let found = source.lines().zip(1..).find(|(text, number)| *number > line && text.contains(word));
        found.unwrap_or_else(|| panic!("no {word} behind line {line} of {}", self.name)).1
    }

    /// True if a place of the JSON is one of these lines of the source.
    pub fn is_at(&self, place: &Value, lines: &[u64]) -> bool {
        let file = place["file"].as_str().map(Path::new);
        let same = file.and_then(Path::file_name) == self.source.file_name();
        same && place["line"].as_u64().is_some_and(|line| lines.contains(&line))
    }

    /// Builds it, where the compiler is installed.
    pub fn build(&self, stage: &Stage, way: Way, more: &[&str]) -> Option<PathBuf> {
        let form = more.concat().replace(|character: char| !character.is_ascii_alphanumeric(), "");
        let name = format!("{}-{:?}-O{}{form}", self.name, way.compiler, way.level);
        let program = stage.path(&name);
        if program.exists() {
            return Some(program);
        }
        let is_cpp = self.source.extension() == Some(OsStr::new("cpp"));
        let compiler = match (way.compiler, is_cpp) {
            (Compiler::Gcc, false) => "cc",
            (Compiler::Gcc, true) => "c++",
            (Compiler::Clang, false) => CLANG,
            (Compiler::Clang, true) => CLANG_CPP,
            (Compiler::Rustc, _) => "rustc",
        };
        if way.compiler == Compiler::Clang && !is_installed(compiler) {
            return None;
        }
        let built = stage.build(&name, &self.source, |program| {
            let mut command = if way.compiler == Compiler::Rustc { rustc() } else { Command::new(compiler) };
            if way.compiler == Compiler::Rustc {
                command.args(["-g", "--edition", "2024", "--crate-name", &self.name]);
                command.arg(format!("-Copt-level={}", way.level));
            } else {
                command.args(["-g", "-pthread", if is_cpp { "-std=gnu++17" } else { "-std=gnu11" }]);
                command.arg(format!("-O{}", way.level));
            }
            if self.language == "openmp" {
                command.arg("-fopenmp");
            }
            command.arg("-o").arg(program).arg(&self.source).args(&self.flags).args(more);
            command
        });
        Some(built.unwrap_or_else(|error| panic!("{name} cannot be built: {error}")))
    }
}

/// The sections, the one with the most idle time first.
pub fn sections(why: &Value) -> &[Value] {
    why["sections"].as_array().map_or(&[], Vec::as_slice)
}

/// The causes of a section that are told: not those that hardly any instructions are behind.
pub fn causes(section: &Value) -> Vec<&Value> {
    let all = section["causes"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().filter(|cause| cause["minor"] != true).collect()
}

/// What `holdup why` is told to do for a row. Times that were measured natively are asked of the one that they are for: a
/// second run of each of the others would say nothing new.
pub fn options(row: &Workload) -> &'static [&'static str] {
    if row.said == Said::ExecutesEqually { &["--no-intervals"] } else { &["--no-native", "--no-intervals"] }
}

/// What is not as the table says of an answer of `holdup why`; nothing if all is.
pub fn complaint(row: &Workload, json: &Value) -> Option<String> {
    let Some(first) = sections(json).first() else { return Some("no sections".to_owned()) };
    let waits = row.marked("WAITS");
    let wait = sections(json).iter().flat_map(causes).find(|cause| names(row, cause, &waits));
    if let Some(wait) = wait {
        return Some(format!("waiting is told as a cause: {}", wait["sentence"]));
    }
    match row.said {
        Said::Cause => complaint_about_cause(row, first),
        Said::TwoCauses => complaint_about_cause(row, first).or_else(|| {
            let second = row.marked("SECOND");
            let found = causes(first).iter().take(3).any(|cause| names(row, cause, &second));
            (!found).then(|| "the second cause is missing".to_owned())
        }),
        Said::ExecutesEqually => {
            if let Some(cause) = sections(json).iter().flat_map(causes).next() {
                return Some(format!("a cause: {}", cause["sentence"]));
            }
            let differs = |section: &&Value| section["native"]["imbalance"].as_f64() > Some(0.2);
            let section = sections(json).iter().find(differs);
            let Some(section) = section else { return Some("natively no section differs".to_owned()) };
            (section["verdict"] != "execute-equally")
                .then(|| format!("the verdict is {}", section["verdict"]))
        }
        Said::DependsOnSchedule => first["depends_on_schedule"]
            .is_null()
            .then(|| "it is not said that counts depend on the schedule".to_owned()),
        Said::Balanced => {
            let cause = sections(json).iter().flat_map(causes).next();
            cause.map(|cause| format!("a cause: {}", cause["sentence"]))
        }
    }
}

fn complaint_about_cause(row: &Workload, section: &Value) -> Option<String> {
    let planted = row.marked("PLANTED");
    assert!(!planted.is_empty(), "nothing is planted in {}", row.name);
    let Some(first) = causes(section).first().copied() else {
        return Some(format!("no cause; the verdict is {}", section["verdict"]));
    };
    // clang gives a branch that it takes out of a loop no line: then the function must do.
    let has_no_line = first["where"]["line"].is_null()
        && !first["where"]["function"].is_null()
        && first["where"]["function"] == section["where"]["function"];
    if !has_no_line && !names(row, first, &planted) {
        return Some(format!("not lines {planted:?} but {}", first["sentence"]));
    }
    let score = first["score"].as_f64().unwrap_or(0.0);
    (score < row.least_score).then(|| format!("the score is {score:.2}"))
}

/// True if the branch, call or jump, the place it goes to or the end of the loop is one of these lines. Lines of functions
/// that were inlined stand for those that call them.
fn names(row: &Workload, cause: &Value, lines: &[u64]) -> bool {
    let inlined = cause["inlined"].as_array().map_or(&[][..], Vec::as_slice);
    let others = [&cause["where"], &cause["to"], &cause["latch"]];
    inlined.iter().chain(others).any(|place| row.is_at(place, lines))
}
