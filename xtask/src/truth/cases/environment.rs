//! What the environment takes away comes first; nothing is lost of programs that switch very often; ranks of a run add up.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use holdup_stage::planted::findings;
use holdup_stage::{CLANG, Stage, is_installed, run, workspace};
use serde_json::Value;

use super::{Filter, boxed};
use crate::truth::case::{Answer, Case};
use crate::truth::machine::{Machine, json_of, succeeded};

/// Millions of steps of each thread: some tenths of a second.
const WORK: &str = "200";

enum Question {
    /// The first finding has this kind.
    First(&'static str),
    /// The recording has no warning: all context switches are in it.
    Whole,
    /// One rank works twice as long as the other: three quarters of two cores are used.
    Ranks,
}

struct Environment {
    row: String,
    question: Question,
    program: PathBuf,
    arguments: Vec<String>,
}

/// The first CPU that this process may use.
fn first_cpu() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or("0");
    list.trim().split(['-', ',']).next().unwrap_or("0").to_owned()
}

/// One rank of a run, which works as long as its number says.
const RANK: &str = "\
#include <stdlib.h>
int main(void)
{
	long more = 1 + atol(getenv(\"PMI_RANK\"));
	for (volatile long i = 0; i < more * 100000000; i++)
		;
	return 0;
}
";

pub(super) fn all(stage: &Stage, is_wanted: Filter) -> Vec<Box<dyn Case>> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut cases = Vec::new();
    let mut push = |row: &str, question, program: &dyn Fn() -> PathBuf, arguments: &[&str]| {
        if is_wanted(row) {
            let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
            cases.push(Environment { row: row.to_owned(), question, program: program(), arguments });
        }
    };
    let compute = || stage.program("compute", &[]);
    let threads = (4 * cpus).min(256).to_string();
    push("environment oversubscribed", Question::First("oversubscription"), &compute, &[&threads, WORK]);
    if cpus > 1 {
        let cpu = first_cpu();
        let taskset = || PathBuf::from("taskset");
        let program = stage.path("compute").to_string_lossy().into_owned();
        if is_wanted("environment affinity") && is_installed("taskset") {
            compute();
            let arguments = ["-c", &cpu, &program, "4", WORK];
            push("environment affinity", Question::First("affinity"), &taskset, &arguments);
        }
        push("environment pinned", Question::First("affinity"), &compute, &["4", WORK, &cpu]);
    }
    for name in ["omp_locks", "omp_tasks"] {
        let source = workspace().join("workloads").join(name).join("main.c");
        let gcc = || stage.compile(&format!("{name}-whole"), &source, &["-fopenmp"]);
        push(&format!("record {name} gcc"), Question::Whole, &gcc, &["2"]);
        let row = format!("record {name} clang");
        if is_wanted(&row) && is_installed(CLANG) {
            let clang = || stage.clang(&format!("{name}-whole-clang"), &source, &[]);
            push(&row, Question::Whole, &clang, &["2"]);
        }
    }
    let rank = || stage.compile("rank", stage.write("rank.c", RANK), &[]);
    push("report ranks", Question::Ranks, &rank, &[]);
    boxed(cases)
}

impl Environment {
    fn ranks(&self, machine: &mut Machine) -> Result<f64> {
        let paths = ["0", "1"].map(|rank| machine.path(&format!("rank.{rank}.holdup")));
        for (rank, path) in ["0", "1"].into_iter().zip(&paths) {
            let (ended, _) = machine.measure(|machine| {
                let _ = fs::remove_file(path);
                let mut command: Command = machine.holdup();
                command.args(["record", "-o"]).arg(path).arg("--").arg(&self.program).env("PMI_RANK", rank);
                command
            })?;
            succeeded(&ended)?;
        }
        let told = json_of(&run(machine.holdup().args(["report", "--ranks", "--json"]).args(&paths)))?;
        told["efficiency"]["factors"][0]["value"].as_f64().context("no efficiency of ranks")
    }
}

/// The finding's kind and words.
fn in_short(finding: &Value) -> String {
    format!("{}: {}", finding["kind"].as_str().unwrap_or("?"), finding["what"].as_str().unwrap_or("?"))
}

impl Case for Environment {
    fn rows(&self) -> Vec<String> {
        vec![self.row.clone()]
    }

    fn round(&self, machine: &mut Machine, _: bool) -> Result<Vec<Answer>> {
        if let Question::Ranks = self.question {
            let efficiency = self.ranks(machine)?;
            let answer =
                Answer::of(&self.row, (0.6..0.9).contains(&efficiency), format!("{efficiency:.2} is used"));
            return Ok(vec![answer]);
        }
        let told = machine.measure_report(&self.program, &self.arguments, &[])?;
        Ok(vec![match self.question {
            Question::First(kind) => {
                let found = findings(&told);
                let first = found.first().is_some_and(|finding| finding["kind"] == kind);
                let said = found.first().map_or_else(|| "nothing".to_owned(), |finding| in_short(finding));
                let mut answer = Answer::of(&self.row, first, said);
                answer.place = Some(found.iter().any(|finding| finding["kind"] == kind));
                answer
            }
            _ => {
                let warnings = &told["run"]["warnings"];
                let none = warnings.as_array().is_some_and(Vec::is_empty);
                Answer::of(&self.row, none, warnings.to_string())
            }
        }])
    }
}
