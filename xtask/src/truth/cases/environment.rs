//! What the environment takes away comes first; nothing is lost of programs that switch very often; ranks of a run add up.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use holdup_stage::planted::findings;
use holdup_stage::{CLANG, CpuQuota, Stage, is_installed, run, workspace};
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
    /// The kernel's records alone say of each thread's criticality what both collectors say, within 5 % of the time.
    Agree,
    /// The part between two signals, 400 ms apart, is what is reported.
    Window,
    /// One rank works twice as long as the other: three quarters of two cores are used.
    Ranks,
}

struct Environment {
    row: String,
    /// Where the program runs, if it has a quota.
    _quota: Option<CpuQuota>,
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
            cases.push(Environment {
                row: row.to_owned(),
                _quota: None,
                question,
                program: program(),
                arguments,
            });
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
    let locked = workspace().join("workloads/critical_section/main.c");
    let locked = || stage.compile("agree", &locked, &[]);
    push("report collectors agree", Question::Agree, &locked, &["2"]);
    let signals = "sleep 0.3; kill -USR1 $PPID; sleep 0.4; kill -USR2 $PPID; sleep 0.3";
    push("record between signals", Question::Window, &|| "sh".into(), &["-c", signals]);
    let rank = || stage.compile("rank", stage.write("rank.c", RANK), &[]);
    push("report ranks", Question::Ranks, &rank, &[]);
    if is_wanted("environment quota")
        && let Some(quota) = CpuQuota::of(&format!("holdup-truth-{}", std::process::id()), 10_000)
    {
        let script = quota.joined(&format!("{} 4 60", compute().display()));
        cases.push(Environment {
            row: "environment quota".to_owned(),
            _quota: Some(quota),
            question: Question::First("quota"),
            program: "sh".into(),
            arguments: vec!["-c".to_owned(), script],
        });
    }
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

/// The largest difference of a thread's criticality between two reports, as a share of the time.
fn difference(one: &Value, other: &Value) -> Option<f64> {
    let shares = |told: &Value| -> Option<BTreeMap<u64, f64>> {
        let total = told["criticality"]["total_ns"].as_f64()?;
        let of = |thread: &Value| Some((thread["tid"].as_u64()?, thread["criticality_ns"].as_f64()? / total));
        told["criticality"]["threads"].as_array()?.iter().map(of).collect()
    };
    let (one, other) = (shares(one)?, shares(other)?);
    let differs = |(tid, share): (&u64, &f64)| (share - other.get(tid).unwrap_or(&0.0)).abs();
    Some(one.iter().map(differs).fold(0.0, f64::max))
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
        let options: &[&str] = if let Question::Window = self.question { &["--on-signal"] } else { &[] };
        let told = machine.measure_report(&self.program, &self.arguments, options)?;
        Ok(vec![match self.question {
            Question::First(kind) => {
                let found = findings(&told);
                let first = found.first().is_some_and(|finding| finding["kind"] == kind);
                let said = found.first().map_or_else(|| "nothing".to_owned(), |finding| in_short(finding));
                let mut answer = Answer::of(&self.row, first, said);
                answer.place = Some(found.iter().any(|finding| finding["kind"] == kind));
                answer
            }
            Question::Agree => {
                let kernel = machine.report_again(&["--collectors", "kernel"])?;
                let most = difference(&told, &kernel).context("threads without criticality")?;
                Answer::of(&self.row, most < 0.05, format!("{:.0} % of the time", 100.0 * most))
            }
            Question::Window => {
                let wall_ns = told["run"]["wall_ns"].as_f64().unwrap_or(0.0);
                Answer::of(&self.row, (0.3e9..0.7e9).contains(&wall_ns), format!("{:.0} ms", wall_ns / 1e6))
            }
            Question::Ranks => Answer::default(),
            Question::Whole => {
                let warnings = &told["run"]["warnings"];
                let none = warnings.as_array().is_some_and(Vec::is_empty);
                Answer::of(&self.row, none, warnings.to_string())
            }
        }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_largest_difference_counts() {
        let told = |first: u64, second: u64| {
            json!({"criticality": {"total_ns": 100, "threads": [
                {"tid": 7, "criticality_ns": first}, {"tid": 9, "criticality_ns": second}]}})
        };
        let found = difference(&told(50, 40), &told(53, 30)).expect("a difference");
        assert!((found - 0.1).abs() < 1e-12, "{found}");
        assert_eq!(difference(&told(1, 1), &json!({})), None);
    }
}
