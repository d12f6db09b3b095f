//! `holdup scale` of the OpenMP programs, from both compilers.

use std::process::Command;

use anyhow::Result;
use holdup_stage::planted_openmp::{PLANTED, Planted, verdict};
use holdup_stage::{Form, Stage, workspace};
use serde_json::Value;

use super::{Filter, boxed};
use crate::truth::case::{Answer, Case};
use crate::truth::machine::{Machine, json_of, succeeded};

/// The compilers, and what [`Stage::form`] calls them.
const COMPILERS: [(&str, &str); 2] = [("gcc", "openmp"), ("clang", "openmp-clang")];

struct Sweep {
    rows: Vec<(String, &'static Planted)>,
    planted: Form,
    fixed: Form,
}

pub(super) fn all(stage: &Stage, is_wanted: Filter) -> Vec<Box<dyn Case>> {
    let mut names: Vec<&str> = PLANTED.iter().map(|planted| planted.name).collect();
    names.dedup();
    let mut cases = Vec::new();
    for name in names {
        for (compiler, language) in COMPILERS {
            let row = |planted: &&Planted| {
                let several = PLANTED.iter().filter(|other| other.name == name).count() > 1;
                let region = if several { format!(" {}", planted.region) } else { String::new() };
                format!("scale {name}{region} {compiler}")
            };
            let rows = PLANTED.iter().filter(|planted| planted.name == name);
            let rows: Vec<_> = rows.map(|planted| (row(&planted), planted)).collect();
            if !rows.iter().any(|(row, _)| is_wanted(row)) {
                continue;
            }
            let source = workspace().join("workloads").join(name).join("main.c");
            let form = |suffix: &str, flags: &[String]| {
                stage.form(&format!("{name}-{compiler}{suffix}"), language, &source, flags)
            };
            let (Some(planted), Some(fixed)) = (form("", &[]), form("-fixed", &["-DFIXED".to_owned()]))
            else {
                continue;
            };
            cases.push(Sweep { rows, planted, fixed });
        }
    }
    boxed(cases)
}

fn sweep(machine: &mut Machine, form: &Form) -> Result<Value> {
    let make = |machine: &Machine| -> Command {
        let mut command = machine.holdup();
        command.args(["scale", "-t", "1,2", "-r", "1", "--json", "--"]).arg(&form.program);
        command
    };
    let (ended, _) = machine.measure(make)?;
    json_of(&ended)
}

fn plain(machine: &mut Machine, form: &Form) -> Result<f64> {
    let (ended, seconds) = machine.measure(|machine| {
        let mut command = machine.command(&form.program);
        command.env("OMP_NUM_THREADS", "2");
        command
    })?;
    succeeded(&ended)?;
    Ok(seconds)
}

impl Case for Sweep {
    fn rows(&self) -> Vec<String> {
        self.rows.iter().map(|(row, _)| row.clone()).collect()
    }

    fn round(&self, machine: &mut Machine, whole: bool) -> Result<Vec<Answer>> {
        let told = sweep(machine, &self.planted)?;
        let whole = whole && machine.is_quiet();
        let (mut fixed, mut seconds) = (None, None);
        if whole {
            fixed = Some(sweep(machine, &self.fixed)?);
            seconds = Some((plain(machine, &self.planted)?, plain(machine, &self.fixed)?));
        }
        let seconds = seconds.filter(|_| self.rows.len() == 1);
        let answer = |(row, planted): &(String, &'static Planted)| {
            let verdict_of_it = verdict(&told, planted);
            let gone = fixed.as_ref().map(|fixed| {
                let left = verdict(fixed, planted);
                !left.first || left.cost_ns <= verdict_of_it.cost_ns / 3.0
            });
            Answer {
                row: row.clone(),
                first: Some(verdict_of_it.first),
                place: Some(verdict_of_it.place),
                gone,
                gain: verdict_of_it.gain,
                planted_s: seconds.map(|(planted, _)| planted),
                fixed_s: seconds.map(|(_, fixed)| fixed),
                said: verdict_of_it.complaint.unwrap_or_default(),
            }
        };
        Ok(self.rows.iter().map(answer).collect())
    }
}
