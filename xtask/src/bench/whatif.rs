//! `cargo xtask bench whatif`: is what a replay predicts what really happens?
//!
//! Two tables. The first replays recordings of every workload and of real programs unchanged, and sets the result
//! against the recorded wall time. The second predicts changes from recordings of a program as it is, makes the
//! change in the program, and measures that.

pub(super) mod asked;
mod cases;
mod changed;
pub(super) mod errors;
mod forms;
mod unchanged;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use super::programs;
use super::{Options, input, the_holdup, warn_of_load};
use crate::workspace::Workspace;
use forms::Form;

/// Measures, and prints both tables. `part` chooses cases by a part of their names.
pub(super) fn run(workspace: &Workspace, options: &Options, part: Option<&str>) -> Result<ExitCode> {
    let runs = options.runs.unwrap_or(if options.quick { 1 } else { 5 });
    let wanted = |name: &str| part.is_none_or(|part| name.contains(part));
    let holdup = the_holdup(workspace, options)?;
    let scratch = tempfile::tempdir().context("no room for recordings")?;
    let scratch = scratch.path();
    warn_of_load();

    let mut forms: Vec<Form> = forms::workloads(workspace, scratch, &wanted)?;
    if programs::REAL.iter().any(|program| wanted(program.name)) {
        forms.extend(real_programs(scratch, options.quick, &wanted)?);
    }
    let mut table = unchanged::Table::default();
    for form in &forms {
        eprintln!("xtask: {}, unchanged", form.name);
        unchanged::measure(&holdup, scratch, form, runs, &mut table);
    }
    if !forms.is_empty() {
        println!("{table}");
    }

    let bases: Vec<_> = cases::BASES.iter().filter(|base| wanted(&base.name())).collect();
    let mut table = changed::Table::default();
    for base in &bases {
        eprintln!("xtask: {}, {} changes", base.name(), base.changes.len());
        changed::measure(workspace, &holdup, scratch, base, runs, &mut table);
    }
    if !bases.is_empty() {
        println!("{table}");
    }
    Ok(ExitCode::SUCCESS)
}

fn real_programs(scratch: &Path, quick: bool, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Form>> {
    let input = input::make(scratch, quick)?;
    let programs = programs::REAL.iter().filter(|program| wanted(program.name));
    let cases = programs.flat_map(|program| program.cases(&input, quick));
    Ok(cases.map(|case| Form { name: case.name, words: case.command }).collect())
}
