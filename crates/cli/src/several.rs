//! Several recordings of one program.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holdup_compare::{Ledger, combine, middle};
use holdup_criticality::Diagnosis;
use holdup_model::Run;

use crate::answer::{Diagnosed, Part};
use crate::failure::Failure;
use crate::progress::Progress;

/// The answer from the recording whose wall time is in the middle, with what the others say of its findings; and which
/// of the paths that is.
///
/// One recording is in memory at a time: of the others a [`Ledger`] is kept, and the one in the middle is read again. `made`
/// are the files of recordings that were just made, or none.
pub(crate) fn answer(
    paths: &[PathBuf],
    made: &[Arc<File>],
    part: &Part,
) -> Result<(Diagnosed, usize), Failure> {
    let file = |index: usize| made.get(index).map(Arc::as_ref);
    let progress = Progress::start("reading the recording");
    if let [only] = paths {
        return Ok((Diagnosed::of(only, file(0), part, &progress)?, 0));
    }
    if part.process.is_some() {
        return Err(Failure::input(
            "--process: a process has another pid in each recording; give one recording, or leave it out",
        ));
    }
    let mut ledgers: Vec<Ledger> = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        progress.with_recording(index, paths.len());
        let answer = Diagnosed::of(path, file(index), part, &progress)?;
        ledgers.push(ledger(&answer, path, ledgers.first())?);
    }
    let walls: Vec<_> = ledgers.iter().map(|ledger| ledger.wall).collect();
    let told = middle(&walls)
        .ok_or_else(|| Failure::input("there is no recording to tell of; give one or several"))?;
    let this = ledgers.remove(told);
    progress.with_recording(told, paths.len());
    let mut answer = Diagnosed::of(&paths[told], file(told), part, &progress)?;
    let program = this.program().to_owned();
    let at =
        answer.diagnoses.iter().position(|diagnosis| is_of(&answer.run, diagnosis, &program)).unwrap_or(0);
    let told_first = answer.diagnoses.remove(at);
    answer.diagnoses.insert(0, told_first);
    if ledgers.iter().any(|other| other.command != this.command) {
        answer.run.warnings.push("The recordings are of runs with different arguments.".to_owned());
    }
    combine(&answer.run, &mut answer.diagnoses[0], &ledgers);
    Ok((answer, told))
}

/// The ledgers of recordings of one program.
pub(crate) fn ledgers(paths: &[PathBuf]) -> Result<Vec<Ledger>, Failure> {
    let mut ledgers: Vec<Ledger> = Vec::new();
    let progress = Progress::start("reading the recordings");
    for (index, path) in paths.iter().enumerate() {
        progress.with_recording(index, paths.len());
        let answer = Diagnosed::of(path, None, &Part::default(), &progress)?;
        ledgers.push(ledger(&answer, path, ledgers.first())?);
    }
    Ok(ledgers)
}

fn is_of(run: &Run, diagnosis: &Diagnosis, program: &str) -> bool {
    let path = run.processes[diagnosis.process].command.first();
    path.is_some_and(|path| path.rsplit('/').next() == Some(program))
}

/// The ledger of the process that is told, or of the one that runs the same program as `like`.
fn ledger(answer: &Diagnosed, path: &Path, like: Option<&Ledger>) -> Result<Ledger, Failure> {
    let recorded = |diagnosis: &&Diagnosis| !answer.run.processes[diagnosis.process].threads.is_empty();
    let of_program = |ledger: &Ledger| {
        let mut of_it = answer.diagnoses.iter().filter(recorded);
        of_it.find(|diagnosis| is_of(&answer.run, diagnosis, ledger.program()))
    };
    let Some(first) = answer.diagnoses.iter().find(recorded) else {
        return Err(Failure::input(format!(
            "{}: nothing was recorded in it, so it cannot be held against others; `holdup report` says why",
            path.display()
        )));
    };
    let Some(like) = like.filter(|like| !like.program().is_empty()) else {
        return Ok(Ledger::of(&answer.run, first));
    };
    match of_program(like) {
        Some(diagnosis) => Ok(Ledger::of(&answer.run, diagnosis)),
        None => Err(Failure::input(format!(
            "{}: this is no recording of {}; give recordings of one program (holdup diff compares different ones)",
            path.display(),
            like.program()
        ))),
    }
}
