//! `holdup stack` of the programs after paper 1: the component that is planted is the largest, and where synchronization is
//! the only one, the speedup without it is that of the program built without it.
//!
//! Only on a quiet machine: beside loops the environment is the largest component, and rightly so.

use std::path::PathBuf;

use anyhow::Result;
use holdup_stage::{Form, Stage, workspace};
use serde_json::Value;

use super::{Filter, boxed};
use crate::truth::case::{Answer, Case};
use crate::truth::machine::Machine;

/// Less than that of two is no loss.
const NOTHING: f64 = 0.2;
/// The speedup without synchronization may be so far from that of the program that has none.
const NEAR: f64 = 0.1;

struct Program {
    name: &'static str,
    flags: &'static [&'static str],
    /// The components of which the largest must be one; empty where nothing may be lost.
    planted: &'static [&'static str],
    /// Without cache and memory there is nothing to ask.
    needs_cache: bool,
}

const fn of(name: &'static str, planted: &'static [&'static str], needs_cache: bool) -> Program {
    Program { name, flags: &["-lm"], planted, needs_cache }
}

const PROGRAMS: [Program; 8] = [
    of("stack_tiny", &["synchronization"], false),
    of("stack_prices", &[], false),
    Program {
        name: "stack_fluid",
        flags: &["-DONE_LOCK", "-lm"],
        planted: &["synchronization"],
        needs_cache: false,
    },
    of("stack_rnd", &["cache", "synchronization"], true),
    of("stack_seq", &["memory", "synchronization"], true),
    of("stack_options", &["cache"], true),
    of("stack_sort", &["cache", "memory"], true),
    of("stack_lattice", &["memory"], true),
];

struct Stack {
    program: &'static Program,
    path: PathBuf,
    /// Built without locks and barriers, where only they are planted.
    free: Option<PathBuf>,
}

pub(super) fn all(stage: &Stage, is_wanted: Filter) -> Vec<Box<dyn Case>> {
    boxed(PROGRAMS.iter().filter(|program| is_wanted(&format!("stack {}", program.name))).map(|program| {
        let source = workspace().join("workloads").join(program.name).join("main.c");
        let path = stage.compile(program.name, &source, program.flags);
        let free = (program.name == "stack_tiny")
            .then(|| stage.compile("stack_tiny-free", &source, &[program.flags, &["-DNO_SYNC"]].concat()));
        Stack { program, path, free }
    }))
}

/// The largest component of a point, the machine's own part left out; nothing where cache or memory are not known.
fn largest(point: &Value, needs_cache: bool) -> Option<(String, f64)> {
    let components = point["components"].as_object()?;
    if needs_cache && (components["cache"].is_null() || components["memory"].is_null()) {
        return None;
    }
    let amounts = components.iter().filter_map(|(name, amount)| Some((name.clone(), amount.as_f64()?)));
    amounts.filter(|(name, _)| name != "environment").max_by(|one, other| one.1.total_cmp(&other.1))
}

impl Case for Stack {
    fn rows(&self) -> Vec<String> {
        vec![format!("stack {}", self.program.name)]
    }

    fn is_for_load(&self) -> bool {
        false
    }

    fn round(&self, machine: &mut Machine, whole: bool) -> Result<Vec<Answer>> {
        let told = machine.measure_json(|machine| {
            let mut command = machine.holdup();
            command.args(["stack", "-t", "1,2", "--json"]);
            command.args((!self.program.needs_cache).then_some("--no-pirate")).arg("--");
            command.arg(&self.path).arg("{threads}");
            command
        })?;
        let row = &self.rows()[0];
        let point = &told["phases"][0]["stacks"][1];
        let Some((name, amount)) = largest(point, self.program.needs_cache) else {
            let said = "cache and memory are not told apart on this machine".to_owned();
            return Ok(vec![Answer { row: row.clone(), said, ..Answer::default() }]);
        };
        let nothing = amount < NOTHING;
        let first = match self.program.planted {
            [] => nothing,
            planted => !nothing && planted.contains(&name.as_str()),
        };
        let mut answer = Answer::of(row, first, format!("the largest is {name}, {amount:.2}"));
        if let (Some(free), true) = (&self.free, whole) {
            let [one, two] = ["1", "2"].map(|threads| [threads.to_owned()]);
            let plainly = |program: &PathBuf| Form { program: program.clone(), before: Vec::new() };
            let reference = machine.measure_plain(&plainly(&self.path), &one)?
                / machine.measure_plain(&plainly(free), &two)?;
            let without = told["phases"][0]["curves"]["no_sync"][1].as_f64().unwrap_or(0.0);
            answer.place = Some((without / reference - 1.0).abs() <= NEAR);
            if answer.place == Some(false) {
                answer.said =
                    format!("{} speedup without waiting {without:.2}, {reference:.2} measured", answer.said);
            }
        }
        Ok(vec![answer])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_largest_component_is_one_that_the_program_has() {
        let point = json!({"components": {"cache": null, "memory": 0.3, "environment": 0.9, "other": 0.1}});
        assert_eq!(largest(&point, false), Some(("memory".to_owned(), 0.3)));
        assert_eq!(largest(&point, true), None);
        assert_eq!(largest(&json!({}), false), None);
    }

    #[test]
    fn each_program_has_its_workload() {
        for program in &PROGRAMS {
            assert!(workspace().join("workloads").join(program.name).is_dir(), "{}", program.name);
        }
    }
}
