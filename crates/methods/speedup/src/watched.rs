//! What became of the runs in which a thread was to be alone: how much of its CPU time it was, and why not for the rest.

use std::collections::BTreeMap;

use holdup_model::figures::percent;
use holdup_model::{AloneSpan, Nanos, NotAlone, figures};
use holdup_sections::main_of;

use super::point::Point;
use super::{AloneRun, Watched};

/// Less than this share of the profiled threads' CPU time is not worth a note.
const NOTED: f64 = 0.05;

/// All runs with a thread alone, in their order.
pub(super) fn watched(points: &[Point<'_>]) -> Vec<Watched> {
    points.iter().flat_map(|point| point.source.alone.iter().map(|run| of(point.threads, run))).collect()
}

fn of(threads: u32, run: &AloneRun<'_>) -> Watched {
    let spans = main_of(run.run).map_or(&[][..], |main| &main.process.alone);
    let sum = |is: &dyn Fn(&&AloneSpan) -> bool| -> u64 {
        spans.iter().filter(|span| is(span)).map(|span| span.cpu.get()).sum()
    };
    let cpu = sum(&|_| true);
    let share = |part: u64| part as f64 / cpu.max(1) as f64;
    let mut rest: BTreeMap<NotAlone, u64> = BTreeMap::new();
    for span in spans.iter().filter(|span| !span.alone) {
        if let Some(reason) = span.reason {
            *rest.entry(reason).or_default() += span.cpu.get();
        }
    }
    Watched {
        threads,
        which: run.which,
        beside: run.beside,
        cpu: Nanos::new(cpu),
        alone: (cpu > 0).then(|| share(sum(&|span| span.alone))),
        rest: rest.into_iter().map(|(reason, part)| (reason, share(part))).collect(),
    }
}

/// What of it a reader must know: where running alone was given up, and where the watchdog let the others go.
pub(super) fn notes(watched: &[Watched]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut at: Vec<u32> = watched.iter().map(|run| run.threads).collect();
    at.dedup();
    for threads in at {
        let here = || watched.iter().filter(|run| run.threads == threads);
        let most = |reason| here().filter_map(|run| run.of(reason)).max_by(f64::total_cmp);
        let with = figures::threads(threads);
        if most(NotAlone::GivenUp).is_some() {
            notes.push(format!("With {with} running alone was given up: all threads ran on together."));
        }
        if let Some(share) = most(NotAlone::Spun).filter(|share| *share >= NOTED) {
            notes.push(format!(
                "With {with} a lone thread came to no sync operation for so long that the others were let go, for {} of its \
                 CPU time: it may have waited for them in a loop of the program's own, which counts as memory.",
                percent(share)
            ));
        }
    }
    notes
}
