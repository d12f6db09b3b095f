//! What only one thread does, work that more threads make slower, and threads that are too many.

use holdup_model::Nanos;
use holdup_model::figures::percent;

use super::{Case, Gain, shown};
use crate::team::Part;
use crate::{Hint, HintGain, HintKind, RegionKind, RegionScaling, Scaling};

/// CPU time that grows less than this is as good as the same.
const LEAST_GROWTH: f64 = 0.03;

/// So much of the time at the base must be useful.
const LEAST_USEFUL: f64 = 0.1;

/// A time that is shorter by less than this is as good as the same.
const LEAST_SHORTER: f64 = 0.02;

pub(super) fn hints(case: &Case<'_>) -> Vec<Hint> {
    [serial(case), memory(case), fewer(case)].into_iter().flatten().collect()
}

fn serial(case: &Case<'_>) -> Option<Hint> {
    let threads = case.here().threads;
    let cost = case.cost(Part::Serial);
    if threads < 2 || !case.is_worth(cost) {
        return None;
    }
    let share = percent(case.here().costs.time / case.wall.max(1.0));
    let text = match case.region.kind {
        RegionKind::Serial => format!(
            "One thread is on its own for {} ({share} of the run). Parallelize that: where the other threads could help, \
             {} are lost.",
            shown(case.here().costs.time),
            shown(cost)
        ),
        _ if case.profile().team() + 0.5 < f64::from(threads) => {
            format!("Only {} of {threads} threads work here: {} are lost.", case.team(), shown(cost))
        }
        _ => format!(
            "Threads wait {} while one of them is in a part that only one may execute (single, masked, ordered). \
             Let the others work meanwhile.",
            shown(cost)
        ),
    };
    let gain = Gain::at_most(cost, case.doubt(), "no thread waits for serial work");
    Some(case.hint(HintKind::Parallelize, None, text, gain))
}

fn memory(case: &Case<'_>) -> Option<Hint> {
    let (base, here) = (case.at.first()?, case.here());
    let (then, now) = (base.costs.useful?, here.costs.useful?);
    let growth = now / then.max(1.0) - 1.0;
    let cost = (now - then) / here.costs.places;
    // Where next to nothing of the time at the base is known to be useful, its growth says nothing.
    let is_same_work = base.profile.instances == here.profile.instances
        && then > LEAST_USEFUL * base.profile.thread_time as f64;
    let is_parallel = case.region.kind != RegionKind::Serial;
    if base.threads == here.threads
        || !is_parallel
        || !is_same_work
        || growth < LEAST_GROWTH
        || !case.is_worth(cost)
    {
        return None;
    }
    let text = format!(
        "The same work takes {} more CPU time with {} threads than with {}: caches and memory are shared. Let each \
         thread work on data of its own that stays in its cache, and write nothing that others read nearby.",
        percent(growth),
        here.threads,
        base.threads,
    );
    let gain = Gain::at_most(cost, case.doubt(), "CPU time here less CPU time at the base");
    Some(case.hint(HintKind::Memory, None, text, gain))
}

fn fewer(case: &Case<'_>) -> Option<Hint> {
    let here = case.here();
    if case.region.kind == RegionKind::Serial {
        return None;
    }
    let points = &case.region.points;
    let now = points.last()?.time;
    let best = points[..points.len() - 1].iter().min_by_key(|point| (point.time.median, point.threads));
    if let Some(best) = best {
        let without_cores = case.at.iter().find(|at| at.threads == best.threads);
        let without_cores = without_cores.map_or(0.0, |at| at.costs.parts[Part::Oversubscription as usize]);
        // What other programs' use of the cores made longer is not gained.
        let others = if is_crowded(case) { 0.0 } else { case.cost(Part::Oversubscription) - without_cores };
        let gain = now.median.get() as f64 - best.time.median.get() as f64 - others.max(0.0);
        let is_sure = now.low > best.time.high;
        if is_sure && gain > LEAST_SHORTER * now.median.get() as f64 && case.is_worth(gain) {
            let text = format!(
                "With {} threads it takes {}, with {} only {}. Use fewer threads here.",
                here.threads, now.median, best.threads, best.time.median
            );
            let low = now.low.get() as f64 - best.time.high.get() as f64 - others.max(0.0);
            let high = now.high.get() as f64 - best.time.low.get() as f64;
            let gain = Gain::predicted(gain, low, high, "measured");
            return Some(case.hint(HintKind::FewerThreads, None, text, gain));
        }
    }
    // Where it ran with as many threads as cores, it is known what that gives.
    let is_known = points.iter().any(|point| point.threads > 1 && point.threads <= case.cores);
    let useful = here.costs.useful.unwrap_or(0.0) / f64::from(case.cores.max(1));
    let most = (here.costs.time - useful).max(0.0);
    let cost = case.cost(Part::Oversubscription).min(most);
    if is_known || !is_crowded(case) || !case.is_worth(cost) {
        return None;
    }
    let cores = match case.cores {
        0 => String::new(),
        cores => format!(" (the program may use {cores})"),
    };
    let text = format!(
        "Threads that could run have no core{cores}: {} are lost. Use no more threads than there are cores.",
        shown(case.cost(Part::Oversubscription))
    );
    Some(case.hint(
        HintKind::FewerThreads,
        None,
        text,
        Gain::at_most(cost, case.doubt(), "all time without a core"),
    ))
}

/// The whole program is measurably faster with fewer threads than the most.
pub(in super::super) struct FewerForAll {
    pub(in super::super) hint: Hint,
    threads: u32,
}

impl FewerForAll {
    /// `None` where others used the machine, or what is saved may be nothing.
    pub(in super::super) fn of(scaling: &Scaling) -> Option<Self> {
        let (last, fewer) = scaling.points.split_last()?;
        let best = fewer.iter().min_by_key(|point| (point.wall.median, point.threads))?;
        // What other programs' use of the cores made longer is not gained.
        let is_crowded = scaling.cores > 0 && last.threads > scaling.cores;
        let others = last.costs.oversubscription - best.costs.oversubscription;
        let others = if is_crowded { 0 } else { others.max(0) };
        let less = |now: Nanos, then: Nanos| now.get() as i64 - then.get() as i64 - others;
        let time = less(last.wall.median, best.wall.median);
        let (low, high) = (less(last.wall.low, best.wall.high), less(last.wall.high, best.wall.low) + others);
        let is_worth = time as f64 > LEAST_SHORTER * last.wall.median.get() as f64;
        if scaling.used_by_others.is_some() || low <= 0 || !is_worth {
            return None;
        }
        let text = format!(
            "With {} threads the program takes {}, with {} only {}. Use {} everywhere.",
            last.threads, last.wall.median, best.threads, best.wall.median, best.threads
        );
        let hint = Hint {
            kind: HintKind::FewerThreads,
            region: None,
            place: None,
            text,
            gain: Some(HintGain { time, low, high: high.min(last.wall.median.get() as i64).max(time) }),
            bound: false,
            method: "measured".to_owned(),
        };
        Some(Self { hint, threads: best.threads })
    }

    /// True for a hint to use fewer threads in a region that is fastest with as many as the program is.
    pub(in super::super) fn covers(&self, regions: &[RegionScaling], hint: &Hint) -> bool {
        let region = hint.region.and_then(|index| regions.get(index));
        let best =
            region.and_then(|region| region.points.iter().min_by_key(|at| (at.time.median, at.threads)));
        hint.kind == HintKind::FewerThreads && best.is_some_and(|best| best.threads == self.threads)
    }
}

/// True if there are more threads than cores that the program may use.
fn is_crowded(case: &Case<'_>) -> bool {
    case.cores > 0 && case.team().max(case.here().threads) > case.cores
}
