//! Tasks that are too small, and threads that find none.

use holdup_model::Nanos;
use holdup_model::figures::percent;
use holdup_replay::schedule::{TaskChange, TaskGraph, reschedule};

use super::{Case, Gain, shown};
use crate::team::Part;
use crate::{Hint, HintKind, RegionKind};

/// Making a task costs too much where it takes this share of what the task does.
const LARGEST_SHARE: f64 = 0.02;

/// So much of the useful work must be in recorded tasks.
const LEAST_RECORDED: f64 = 0.8;

/// Tasks below this length (ns) are executed at once.
const CUTOFFS: [u64; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];

pub(super) fn hints(case: &Case<'_>) -> Vec<Hint> {
    cutoff(case).into_iter().chain(starvation(case)).collect()
}

fn cutoff(case: &Case<'_>) -> Option<Hint> {
    let tasks = &case.profile().evidence.tasks;
    let making = tasks.making as f64 * case.profile().factor() / case.here().costs.places;
    // Of tiny tasks the runtime's work is in what looks like theirs, too: it grows when several threads want them.
    let grown = case.region.points.last().map_or(0, |point| point.losses.inflation).max(0) as f64;
    let cost = case.cost(Part::Scheduling).max(making) + if tasks.tiny { grown } else { 0.0 };
    let is_dear = tasks.tiny || tasks.making as f64 >= LARGEST_SHARE * tasks.time as f64;
    if tasks.made == 0 || !case.is_worth(cost) || !is_dear {
        return None;
    }
    let mean = |time: u64| shown(time as f64 / tasks.made as f64);
    let each = if tasks.making > 0 {
        format!(", and making one takes {}", mean(tasks.making))
    } else {
        String::new()
    };
    let text = format!(
        "Tasks take {} on average{each}: {} ({} of the region) go to making tasks and handing them out. Make fewer and \
         larger ones: below a size do the work at once (if, final, grainsize).",
        mean(tasks.time),
        shown(cost),
        percent(cost / case.here().costs.time.max(1.0)),
    );
    let gain = redealt(case).unwrap_or_else(|| {
        Gain::at_most(cost, case.doubt(), "all time for making tasks and handing them out")
    });
    Some(case.hint(HintKind::TaskCutoff, None, text, gain))
}

/// What the best cut-off gives, by doing the recorded tasks again in virtual time; `None` where too few of them were
/// recorded for that, or none gives anything.
fn redealt(case: &Case<'_>) -> Option<Gain> {
    let graphs: Vec<TaskGraph> = case.task_graphs();
    let work: u64 = graphs.iter().map(|graph| graph.work().get()).sum();
    let useful = case.here().costs.useful? / case.profile().factor().max(f64::MIN_POSITIVE);
    if (work as f64) < LEAST_RECORDED * useful {
        return None;
    }
    let cutoffs = CUTOFFS.map(|cutoff| TaskChange::Cutoff(Nanos::new(cutoff)));
    let redone = cutoffs.into_iter().filter_map(|change| reschedule(&graphs, change, None));
    let best = redone.min_by_key(|redone| redone.time)?;
    let [gain, low, high] = best.gain().map(|gain| gain as f64 * case.scale());
    case.is_worth(gain)
        .then(|| Gain::predicted(gain, low, high, "replay of the recorded tasks with a cut-off"))
}

fn starvation(case: &Case<'_>) -> Option<Hint> {
    let cost = case.cost(Part::Starvation);
    if !case.is_worth(cost) {
        return None;
    }
    let share = percent(cost / case.here().costs.time.max(1.0));
    let text = if case.region.kind == RegionKind::Parallel {
        format!(
            "Threads find no task to execute for {} ({share} of the region). Make more tasks, or smaller ones, and make \
             them on more than one thread.",
            shown(cost)
        )
    } else {
        format!(
            "Threads wait for what others give them to do for {} ({share} of the section). Give out more work at once, \
             in smaller pieces.",
            shown(cost)
        )
    };
    Some(case.hint(
        HintKind::MoreTasks,
        None,
        text,
        Gain::at_most(cost, case.doubt(), "all time without a task"),
    ))
}
