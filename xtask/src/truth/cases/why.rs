//! `holdup why` of the programs of `workloads/lime.tsv` of which it says something that depends on how threads meet or on how
//! long they take. What it says of the others comes from counts, which are the same in each run: tests hold it to that.

use std::path::PathBuf;

use anyhow::Result;
use holdup_stage::Stage;
use holdup_stage::lime::{Compiler, Way, Workload, complaint, options, workload};

use super::{Filter, boxed};
use crate::truth::case::{Answer, Case};
use crate::truth::machine::Machine;

/// Natively slow threads that execute equally; tasks from a list with a lock; a dynamic schedule; chance.
const NAMES: [&str; 4] = ["lime_cache", "lime_queue", "lime_dynamic", "lime_noise"];
const WAY: Way = Way { compiler: Compiler::Gcc, level: '2', threads: 8 };

struct Why {
    workload: Workload,
    program: PathBuf,
}

pub(super) fn all(stage: &Stage, is_wanted: Filter) -> Vec<Box<dyn Case>> {
    let wanted = NAMES.into_iter().filter(|name| is_wanted(&format!("why {name}")));
    boxed(wanted.filter_map(|name| {
        let workload = workload(name);
        holdup_stage::is_installed("qemu-x86_64").then_some(())?;
        let program = workload.build(stage, WAY, &[])?;
        Some(Why { workload, program })
    }))
}

impl Case for Why {
    fn rows(&self) -> Vec<String> {
        vec![format!("why {}", self.workload.name)]
    }

    fn round(&self, machine: &mut Machine, _: bool) -> Result<Vec<Answer>> {
        let told = machine.measure_json(|machine| {
            let mut command = machine.holdup();
            command.args(["why", "--json"]).args(options(&self.workload)).arg("--");
            command.arg(&self.program).arg(WAY.threads.to_string());
            command
        })?;
        let wrong = complaint(&self.workload, &told);
        Ok(vec![Answer::of(&self.rows()[0], wrong.is_none(), wrong.unwrap_or_default())])
    }
}
