//! What `holdup policies` promises of dividing a sequential part is what the program gains in which it is divided.

use std::path::PathBuf;

use anyhow::{Context, Result};
use holdup_stage::{Form, Stage, is_installed, run, workspace};
use serde_json::Value;

use super::{Filter, boxed};
use crate::truth::case::{Answer, Case};
use crate::truth::machine::{Machine, json_of, succeeded};

const ROW: &str = "policies policy_bfs";
const ARGUMENTS: [&str; 3] = ["8", "1", "4000"];

struct Policies {
    planted: Form,
    fixed: Form,
}

pub(super) fn all(stage: &Stage, is_wanted: Filter) -> Vec<Box<dyn Case>> {
    if !is_wanted(ROW) || !is_installed("qemu-x86_64") {
        return Vec::new();
    }
    let source = workspace().join("workloads/policy_bfs/main.c");
    let form = |name: &str, flags: &[&str]| Form {
        program: stage.compile(name, &source, flags),
        before: Vec::new(),
    };
    boxed([Policies { planted: form("policy_bfs", &[]), fixed: form("policy_bfs_fixed", &["-DFIXED"]) }])
}

/// A recording of all instructions.
fn stream(machine: &mut Machine, form: &Form, name: &str) -> Result<PathBuf> {
    let recording = machine.path(name);
    let (ended, _) = machine.measure(|machine| {
        // A recording that is there is not written over.
        let _ = std::fs::remove_file(&recording);
        let mut command = machine.holdup();
        command.args(["record", "--instructions=stream", "-o"]).arg(&recording).arg("--");
        command.arg(&form.program).args(ARGUMENTS);
        command
    })?;
    succeeded(&ended)?;
    Ok(recording)
}

impl Case for Policies {
    fn rows(&self) -> Vec<String> {
        vec![ROW.to_owned()]
    }

    fn round(&self, machine: &mut Machine, _: bool) -> Result<Vec<Answer>> {
        let planted = stream(machine, &self.planted, "planted.holdup")?;
        let fixed = stream(machine, &self.fixed, "fixed.holdup")?;
        let shown = json_of(&run(machine.holdup().args(["policies", "--json", "--sweep"]).arg(planted)))?;
        let mut sim = machine.holdup();
        sim.args(["sim", "--json", "--machine", "criticality", "--cores", "8"]).arg(fixed);
        let simulated = json_of(&run(&mut sim))?;
        Ok(vec![answer(&shown["programs"][0], &simulated["simulations"][0]).context("no such member")?])
    }
}

/// First: thread 0 is the most critical one, by a sequential part. Place: dividing that gives what was said, within a tenth.
fn answer(program: &Value, fixed: &Value) -> Option<Answer> {
    let named = program["most_critical"] == 0
        && program["simulated_best"] == 0
        && program["sweep"]["kind"] == "sequential";
    let runs = program["policies"].as_array()?;
    let without = runs.iter().find(|run| run["policy"] == "none")?["seconds"].as_f64()?;
    let predicted = program["threads"][0]["divided_speedup"].as_f64()?;
    // The machine of paper 4 runs at 2 GHz.
    let reached = without * 2e9 / fixed["cycles"].as_f64()?;
    let is_right = (reached / predicted - 1.0).abs() < 0.1;
    let said = format!(
        "thread {}, {}; a speedup of {predicted:.2} was said, {reached:.2} it is",
        program["most_critical"], program["sweep"]["kind"]
    );
    let place = Some(is_right);
    Some(Answer {
        place,
        said: if named && is_right { String::new() } else { said },
        ..Answer::of(ROW, named, "")
    })
}
