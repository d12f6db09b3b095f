//! `holdup record` and `holdup report` of the programs of `workloads/expected.tsv`.

use anyhow::Result;
use holdup_stage::planted::{Expected, findings, is_gone, table, verdict};
use holdup_stage::{Form, Stage};
use serde_json::Value;

use super::{Filter, boxed};
use crate::truth::case::{Answer, Case};
use crate::truth::machine::Machine;

struct Planted {
    /// What is planted in the one program, by rank.
    rows: Vec<Expected>,
    planted: Form,
    fixed: Form,
}

pub(super) fn all(stage: &Stage, is_wanted: Filter) -> Vec<Box<dyn Case>> {
    let mut programs: Vec<Vec<Expected>> = Vec::new();
    for row in table() {
        match programs.last_mut().filter(|rows| rows[0].name == row.name) {
            Some(rows) => rows.push(row),
            None => programs.push(vec![row]),
        }
    }
    programs.retain(|rows| rows.iter().any(|row| is_wanted(&name(row))));
    boxed(programs.into_iter().filter_map(|rows| {
        let [planted, fixed] = holdup_stage::planted::forms(stage, &rows[0])?;
        Some(Planted { rows, planted, fixed })
    }))
}

/// `report NAME`, or with its rank from the second on.
fn name(row: &Expected) -> String {
    let rank = if row.rank > 1 { format!(" {}", row.rank) } else { String::new() };
    format!("report {}{rank}", row.name)
}

impl Planted {
    fn report(&self, machine: &mut Machine, form: &Form) -> Result<Value> {
        let arguments = [&form.before[..], &self.rows[0].arguments].concat();
        machine.measure_report(&form.program, &arguments, &[])
    }
}

/// The first findings, in short.
fn in_short(json: &Value) -> String {
    let one = |finding: &&Value| {
        let word = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        let function = finding["where"]["function"].as_str().unwrap_or("?").to_owned();
        format!("{} in {function}: {}", word("kind"), word("what"))
    };
    findings(json).iter().take(2).map(one).collect::<Vec<_>>().join(" | ")
}

impl Case for Planted {
    fn rows(&self) -> Vec<String> {
        self.rows.iter().map(name).collect()
    }

    fn round(&self, machine: &mut Machine, whole: bool) -> Result<Vec<Answer>> {
        let planted = self.report(machine, &self.planted)?;
        let whole = whole && machine.is_quiet();
        let fixed = if whole { Some(self.report(machine, &self.fixed)?) } else { None };
        let arguments = &self.rows[0].arguments;
        let mut seconds =
            |form| if whole { machine.measure_plain(form, arguments).map(Some) } else { Ok(None) };
        let (planted_s, fixed_s) = (seconds(&self.planted)?, seconds(&self.fixed)?);
        let answer = |row: &Expected| {
            let verdict = verdict(&planted, row, machine.is_quiet());
            let gone = fixed.as_ref().map(|fixed| is_gone(&planted, fixed, row));
            let wrong = !verdict.first || verdict.place == Some(false);
            let mut said = if wrong { in_short(&planted) } else { String::new() };
            if let (Some(false), Some(fixed)) = (gone, &fixed) {
                said = format!("{said} fixed: {}", in_short(fixed));
            }
            // The second problem of a program is fixed together with the first.
            let alone = self.rows.len() == 1;
            Answer {
                row: name(row),
                first: Some(verdict.first),
                place: verdict.place,
                gone,
                gain: verdict.gain,
                planted_s: planted_s.filter(|_| alone),
                fixed_s: fixed_s.filter(|_| alone),
                said,
            }
        };
        Ok(self.rows.iter().map(answer).collect())
    }
}
