//! What a sweep says in the end.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use holdup_report::escaped;
use holdup_sweep::{Cell, Row, Status, TABLE_FORMAT, TaskKind, Work};

/// Cells without a result that are told one by one.
const MOST_TOLD: usize = 20;

/// How many cells there are, which have no result and why, and where the results are.
pub(super) fn summary(rows: &[Row], notes: &[String], directory: &Path) -> String {
    let mut text = String::new();
    let counts: Vec<String> = [Status::Done, Status::Failed, Status::Timeout, Status::Missing]
        .into_iter()
        .map(|status| (status, rows.iter().filter(|row| row.status() == status).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(status, count)| format!("{count} {}", word(status)))
        .collect();
    let _ = writeln!(text, "{}: {}", number(rows.len(), "cell"), counts.join(", "));
    let without = || rows.iter().filter(|row| row.status() != Status::Done);
    for row in without().filter(|row| row.status() != Status::Missing).take(MOST_TOLD) {
        let reason = row.outcome.as_ref().and_then(|outcome| outcome.reason.as_deref()).unwrap_or_default();
        let _ = writeln!(text, "  {}: {}", escaped(&name(&row.cell)), escaped(reason));
    }
    if without().count() > MOST_TOLD {
        let _ = writeln!(
            text,
            "  … and {} more, in the column reason of the results",
            without().count() - MOST_TOLD
        );
    }
    notes.iter().for_each(|note| _ = writeln!(text, "  {}", escaped(note)));
    let folder = escaped(&directory.display().to_string());
    let ending = TABLE_FORMAT.ending();
    let _ = writeln!(
        text,
        "results: {folder}/results.{ending} (a row for each cell), {folder}/components.{ending}"
    );
    if rows.iter().any(|row| row.status() == Status::Missing) {
        let _ = writeln!(text, "the same command goes on from here");
    } else if without().next().is_some() {
        let _ = writeln!(text, "logs of what failed: {folder}/logs; --retry tries it again");
    }
    text
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Done => "done",
        Status::Failed => "failed",
        Status::Timeout => "took too long",
        Status::Missing => "not done yet",
    }
}

/// A cell in words.
fn name(cell: &Cell) -> String {
    let mut name = cell.program.clone();
    if let Some(input) = &cell.input {
        let _ = write!(name, " {input}");
    }
    if let Some(threads) = cell.threads {
        let _ = write!(name, ", {}", number(threads as usize, "thread"));
    }
    if cell.repeat > 1 {
        let _ = write!(name, ", run {}", cell.repeat);
    }
    match &cell.machine {
        Some(machine) => _ = write!(name, ", on {machine}"),
        None => _ = write!(name, ", {}", cell.measure.word()),
    }
    if let Some(cores) = cell.cores {
        let _ = write!(name, " with {}", number(cores as usize, "core"));
    }
    if let Some(what_if) = &cell.what_if {
        let _ = write!(name, ", {what_if}");
    }
    name
}

fn number(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// The status of a sweep that came to its end.
pub(super) fn status(rows: &[Row]) -> ExitCode {
    let all = rows.iter().all(|row| row.status() == Status::Done);
    if all { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// What there is to do, for `--dry-run`.
pub(super) fn planned(work: &Work, directory: &Path) -> String {
    let recordings = |is_emulated: bool| {
        let is_it = |kind: &TaskKind| matches!(kind, TaskKind::Record { emulated, .. } if emulated.is_some() == is_emulated);
        work.tasks.iter().filter(|task| is_it(&task.kind)).count()
    };
    let answers = work.tasks.len() - recordings(false) - recordings(true);
    let mut text = format!(
        "{}: {} on this machine, {} under emulation, {}\n",
        number(work.cells.len(), "cell"),
        number(recordings(false), "recording"),
        recordings(true),
        number(answers, "answer"),
    );
    for cell in &work.cells {
        let trouble = work
            .tasks
            .iter()
            .filter(|task| task.key == cell.answer || Some(&task.key) == cell.recording.as_ref());
        let trouble = trouble.filter_map(|task| task.trouble.as_deref()).next();
        let trouble = trouble.map_or(String::new(), |trouble| format!(": {trouble}"));
        let _ = writeln!(text, "  {}", escaped(&format!("{}{trouble}", name(cell))));
    }
    work.notes.iter().for_each(|note| _ = writeln!(text, "  {}", escaped(note)));
    let _ = writeln!(text, "directory: {}", escaped(&directory.display().to_string()));
    text
}
