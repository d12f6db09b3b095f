//! The other processes of the run, a line each.

use askama::Template;
use holdup_criticality::Diagnosis;
use holdup_model::{Process, Run};

use super::text::{LOOK, counted, grouped, percent, sentence, time};
use crate::{names, numbers};

/// The section.
#[derive(Template)]
#[template(path = "processes.html")]
pub(super) struct Processes {
    all: String,
    rows: Vec<Row>,
    more: Option<String>,
}

struct Row {
    program: String,
    pid: u32,
    wall: (u64, String),
    threads: usize,
    active: String,
    efficiency: String,
    finding: String,
    cost: String,
}

impl Processes {
    /// `None` where the run has one process only.
    pub(super) fn new(run: &Run, diagnoses: &[Diagnosis]) -> Option<Self> {
        let others = diagnoses.get(1..).filter(|others| !others.is_empty())?;
        let untold = run.processes.len().saturating_sub(diagnoses.len());
        Some(Self {
            all: grouped(run.processes.len() as u64),
            rows: others.iter().map(|diagnosis| row(&run.processes[diagnosis.process], diagnosis)).collect(),
            more: (untold > 0).then(|| counted(untold, "process used less", "processes used less")),
        })
    }
}

fn row(process: &Process, diagnosis: &Diagnosis) -> Row {
    let finding = diagnosis.findings.first();
    let recorded = !process.threads.is_empty();
    let if_recorded = |text: String| if recorded { text } else { "–".to_owned() };
    Row {
        program: names::program(process, LOOK),
        pid: process.pid,
        wall: (diagnosis.wall.get(), time(diagnosis.wall)),
        threads: process.threads.len(),
        active: if_recorded(numbers::figure(diagnosis.parallelism)),
        efficiency: if_recorded(percent(diagnosis.efficiency)),
        finding: match finding {
            Some(finding) => sentence(&finding.what),
            None if recorded => String::new(),
            None => "not recorded".to_owned(),
        },
        cost: finding.map_or_else(|| "–".to_owned(), |finding| time(finding.cost)),
    }
}
