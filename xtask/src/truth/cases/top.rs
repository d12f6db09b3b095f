//! `holdup top`: how clearly the live view shows the critical thread.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use holdup_stage::{Stage, workspace};
use serde_json::Value;

use super::{Filter, boxed};
use crate::truth::case::{Answer, Case};
use crate::truth::machine::Machine;

const ROW: &str = "top critical";
/// The fourth of its threads works ten times as much as each of the other three: 10 of 13 would be all of it.
const CRITICAL: u64 = 3;
const LEAST_SHARE: f64 = 0.4;
/// What it ends with.
const STATUS: i32 = 3;

struct Top {
    program: PathBuf,
}

pub(super) fn all(stage: &Stage, is_wanted: Filter) -> Vec<Box<dyn Case>> {
    let source = workspace().join("tests/annotate/critical.c");
    boxed(is_wanted(ROW).then(|| Top { program: stage.compile("top-critical", source, &[]) }))
}

impl Case for Top {
    fn rows(&self) -> Vec<String> {
        vec![ROW.to_owned()]
    }

    fn round(&self, machine: &mut Machine, _: bool) -> Result<Vec<Answer>> {
        let lines = machine.path("lines");
        let (ended, _) = machine.measure(|machine| {
            let mut command = machine.holdup();
            command.args(["top", "--interval", "0.05", "--json", "--sort", "all", "--output"]).arg(&lines);
            command.arg("--").arg(&self.program);
            command
        })?;
        if ended.status != STATUS {
            bail!("{ended:?}");
        }
        let text = fs::read_to_string(&lines)?;
        let last: Value = serde_json::from_str(text.lines().last().context("no line")?)?;
        let first = &last["threads"][0];
        let share = first["criticality_share_of_all"].as_f64().unwrap_or(0.0);
        let is_first = first["number"] == CRITICAL;
        let mut answer = Answer::of(ROW, is_first && share > LEAST_SHARE, first.to_string());
        answer.place = Some(is_first);
        Ok(vec![answer])
    }
}
