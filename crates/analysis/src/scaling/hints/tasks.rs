//! Tasks that are too small, and threads that find none.

use super::{Case, Gain, shown};
use crate::scaling::team::Part;
use crate::scaling::{Hint, HintKind, RegionKind};
use crate::wording::percent;

/// Making a task costs too much where it takes this share of what the task does.
const LARGEST_SHARE: f64 = 0.02;

pub(super) fn hints(case: &Case<'_>) -> Vec<Hint> {
    cutoff(case).into_iter().chain(starvation(case)).collect()
}

fn cutoff(case: &Case<'_>) -> Option<Hint> {
    let tasks = &case.profile().evidence.tasks;
    let making = tasks.making as f64 * case.profile().factor() / case.here().costs.places;
    if tasks.made == 0 || !case.is_worth(making) || (tasks.making as f64) < LARGEST_SHARE * tasks.time as f64
    {
        return None;
    }
    let text = format!(
        "Tasks take {} on average, and making one takes {}: {} in all. Make fewer and larger ones: below a size do the \
         work at once (if, final, grainsize).",
        shown(tasks.time as f64 / tasks.made as f64),
        shown(tasks.making as f64 / tasks.made as f64),
        shown(making),
    );
    Some(case.hint(
        HintKind::TaskCutoff,
        None,
        text,
        Gain::at_most(making, case.doubt(), "time for making tasks"),
    ))
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
