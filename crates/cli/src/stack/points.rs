//! From the runs that were kept to what the analysis takes.

use std::path::Path;

use holdup_model::{Nanos, Run};
use holdup_speedup::instances::Instances;
use holdup_speedup::{
    AloneRun, Beside, CacheFacts, Measurements, Order, SpeedupProfile, SpeedupStack, ThreadPoint, Verdict,
    profile as analyse,
};

use super::kept::{Done, Kept};
use super::plan::Kind;
use crate::answer;
use crate::failure::Failure;
use crate::progress::Progress;

/// A run that was recorded, read.
struct Read<'a> {
    done: &'a Done,
    run: Run,
}

/// What the runs in `directory` say.
pub(super) fn profile(
    kept: &Kept,
    directory: &Path,
    order: Order,
    simulated: Vec<SpeedupStack>,
) -> Result<SpeedupProfile, Failure> {
    let progress = Progress::start("reading the recordings");
    let recordings: Vec<_> = kept.recordings(directory).collect();
    let read = recordings.iter().enumerate().map(|(index, (done, path))| {
        progress.with_recording(index, recordings.len());
        Ok(Read { done, run: answer::run_of(path, &progress)? })
    });
    let runs = read.collect::<Result<Vec<Read<'_>>, Failure>>()?;
    drop(progress);
    let mut threads: Vec<u32> = runs.iter().map(|read| read.done.step.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    let points: Vec<ThreadPoint<'_>> =
        threads.into_iter().filter_map(|threads| point(kept, &runs, threads)).collect();
    if points.is_empty() {
        return Err(Failure::input(format!(
            "{}: there is no run here to tell of; make some again with --runs DIR",
            directory.display()
        )));
    }
    Ok(analyse(&Measurements { points, simulated, ..kept.measurements(order) }))
}

/// What several copies of a program with one thread say.
pub(super) fn of_copies(kept: &Kept, copies: Instances, order: Order) -> SpeedupProfile {
    analyse(&Measurements { instances: vec![copies], ..kept.measurements(order) })
}

impl Kept {
    /// What is known besides what the runs say.
    fn measurements<'a>(&self, order: Order) -> Measurements<'a> {
        Measurements {
            command: self.command.clone(),
            cores: self.cores,
            cache: self.cache_facts(),
            order,
            notes: self.notes.clone(),
            ..Measurements::default()
        }
    }

    /// The shared cache, as the analysis takes it.
    fn cache_facts(&self) -> Option<CacheFacts> {
        self.cache.map(|cache| CacheFacts {
            bytes: cache.bytes,
            nominal: cache.nominal,
            level: cache.level,
            refill: cache.refill_ns.map(Nanos::new),
            bandwidth: cache.bandwidth,
        })
    }
}

/// What was measured at a number of threads; `None` without a run in which all ran together.
fn point<'a>(kept: &Kept, runs: &'a [Read<'_>], threads: u32) -> Option<ThreadPoint<'a>> {
    let here = || runs.iter().filter(|read| read.done.step.threads == threads);
    // Of several the one that was disturbed least.
    let together = here().filter(|read| read.done.step.kind == Kind::Together);
    let together = together.min_by_key(|read| read.done.wall_ns)?;
    let plain = kept.runs.iter().filter(|done| done.step.threads == threads && done.step.kind == Kind::Plain);
    let whole = kept.cache.map_or(0, |cache| cache.bytes);
    Some(ThreadPoint {
        threads,
        plain: plain.map(|done| Nanos::new(done.wall_ns)).collect(),
        recorded: &together.run,
        alone: here().filter_map(|read| alone(read, whole)).collect(),
    })
}

fn alone<'a>(read: &'a Read<'_>, whole: u64) -> Option<AloneRun<'a>> {
    let Done { step, cache, taken, discarded, .. } = read.done;
    Some(AloneRun {
        run: &read.run,
        which: step.kind.which()?,
        cache: cache.unwrap_or(whole),
        beside: match step.kind {
            Kind::Part { .. } => Beside::Pirate,
            Kind::Thief { .. } => Beside::Thief(taken.unwrap_or(0)),
            // With a pirate elsewhere there is a control one, so that both cost the same.
            _ if cache.is_some() => Beside::Control,
            _ => Beside::Nothing,
        },
        verdict: discarded.clone().map_or(Verdict::Held, Verdict::Discarded),
    })
}
