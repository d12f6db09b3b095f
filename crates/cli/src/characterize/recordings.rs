//! Stacks from recordings.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use holdup_criticality::{Diagnosis, diagnose};
use holdup_model::{Arrange, Run};
use holdup_recording::{Recording, Sources};

use super::labels::of_command;
use super::rows::{Found, Gathered, Kind};
use super::stacks::{StackKind, criticality, shares};
use crate::failure::Failure;

/// The rows of each recording, in their order; they are read side by side, and each is in memory only while it is.
pub(super) fn read<'a>(
    files: impl Iterator<Item = &'a PathBuf>,
    of: Option<StackKind>,
) -> Result<Vec<Gathered>, Failure> {
    let files: Vec<&PathBuf> = files.collect();
    let kind = match of.unwrap_or(StackKind::Losses) {
        kind @ (StackKind::Losses | StackKind::Criticality) => kind,
        StackKind::Cycles if !files.is_empty() => {
            return Err(Failure::input(format!(
                "{}: a recording has no cycles; holdup sim --json gives them",
                files[0].display()
            )));
        }
        StackKind::Speedup if !files.is_empty() => {
            return Err(Failure::input(format!(
                "{}: a recording has no speedup stack; holdup stack --json gives it",
                files[0].display()
            )));
        }
        kind => kind,
    };
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<Found, Failure>)>> = Mutex::new(Vec::with_capacity(files.len()));
    let workers = std::thread::available_parallelism().map_or(1, NonZero::get).min(files.len());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((at, file)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, files.get(at)?)))
                {
                    let found = stack(file, kind);
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, found));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.arrange_by_key(|(at, _)| *at);
    done.into_iter()
        .map(|(_, found)| {
            let mut gathered = Gathered::new(Kind::Stack(kind));
            gathered.push(found?);
            Ok(gathered)
        })
        .collect()
}

/// The stack of the busiest process.
fn stack(path: &Path, kind: StackKind) -> Result<Found, Failure> {
    let (recording, warnings) = Recording::open(path)?;
    let run = recording.run_from(&warnings, Sources::ALL);
    let is_recorded = |index: &usize| !run.processes[*index].threads.is_empty();
    let Some(index) = run.busiest_first().into_iter().find(is_recorded) else {
        return Err(Failure::input(format!(
            "{}: nothing was recorded in it; holdup report says why",
            path.display()
        )));
    };
    let diagnosis = diagnose(&run, index);
    let parts = match kind {
        StackKind::Criticality => {
            let of = &diagnosis.criticality;
            let total = (of.total.get() as f64).max(1.0);
            let threads: Vec<f64> = of.threads.iter().map(|thread| thread / total).collect();
            let nobody = (1.0 - threads.iter().sum::<f64>()).max(0.0);
            criticality(threads, nobody)
        }
        _ => losses(&diagnosis),
    };
    Ok(Found { labels: labels(&run, &diagnosis), parts })
}

fn labels(run: &Run, diagnosis: &Diagnosis) -> holdup_characterize::Labels {
    of_command(&run.processes[diagnosis.process].command, Some(diagnosis.workers))
}

fn losses(diagnosis: &Diagnosis) -> Vec<(String, f64)> {
    let identity = &diagnosis.cost_identity;
    let mut parts = vec![("useful".to_owned(), identity.useful.get() as f64)];
    parts.extend(identity.parts.iter().map(|(kind, cost)| (kind.word().to_owned(), cost.get() as f64)));
    parts.push(("unexplained".to_owned(), identity.unexplained.get() as f64));
    shares(parts)
}
