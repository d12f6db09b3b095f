//! Uneven loops: another schedule, or more iterations to deal out.

use holdup_model::openmp::WorkKind;

use super::{Case, Gain, shown};
use crate::scaling::evidence::{LoopKey, LoopSums};
use crate::scaling::inflation::{AtOnce, Inflation};
use crate::scaling::{Hint, HintKind, RegionKind};
use crate::wording::percent;

/// With fewer iterations than this for each thread no schedule is even.
const LEAST_ITERATIONS: f64 = 4.0;

pub(super) fn hints(case: &Case<'_>) -> Vec<Hint> {
    let loops = &case.profile().evidence.loops;
    let prediction = Prediction::of(case);
    loops.iter().filter_map(|(key, sums)| hint(case, &prediction, key, sums)).collect()
}

/// What happens to work that is spread evenly: then more threads are at it at once than now, which slows all of them.
pub(in crate::scaling) struct Prediction {
    /// By how much an even loop's work is inflated beyond what it is now; as one law says, and as another does.
    pub(in crate::scaling) growth: f64,
    other_growth: f64,
}

impl Prediction {
    pub(in crate::scaling) fn of(case: &Case<'_>) -> Self {
        let runs: Vec<AtOnce> = comparable(case);
        let (law, other) = Inflation::fit(&runs);
        let team = case.profile().team();
        let growth = |law: Inflation| match runs.last() {
            Some(here) => (law.at(team) / law.of(here)).max(1.0),
            None => 1.0,
        };
        Self { growth: growth(law), other_growth: growth(other) }
    }
}

/// CPU time by how many threads worked at once, at the numbers of threads at which as many executions were made.
fn comparable(case: &Case<'_>) -> Vec<AtOnce> {
    let instances = case.profile().instances;
    let at_once = |at: &super::At<'_>| -> Option<AtOnce> {
        let useful = at.costs.useful.filter(|_| at.profile.instances == instances)?;
        let seen: u64 = at.profile.evidence.at_once.values().sum();
        let share = if seen > 0 { useful / seen as f64 } else { 0.0 };
        Some(
            at.profile
                .evidence
                .at_once
                .iter()
                .map(|(&threads, &time)| (threads, time as f64 * share))
                .collect(),
        )
    };
    case.at.iter().filter_map(at_once).collect()
}

fn hint(case: &Case<'_>, prediction: &Prediction, key: &LoopKey, sums: &LoopSums) -> Option<Hint> {
    let now = sums.longest as f64 * case.scale();
    let even = sums.even as f64 * case.scale();
    let of = |growth: f64| now - even * growth;
    let gain = of(prediction.growth);
    if !case.is_worth(gain) {
        return None;
    }
    let least = of(prediction.growth.max(prediction.other_growth)) - case.doubt();
    let most = of(1.0) + case.doubt();
    let (team, lost) = (case.team(), percent((now - even) / case.here().costs.time.max(1.0)));
    let place = case.at_place(key.place);
    let iterations = (sums.counted > 0).then(|| sums.iterations as f64 / sums.counted as f64);
    let growth = if prediction.growth > 1.005 {
        format!(
            " Even work keeps more threads busy at once, and takes {} more CPU time then: that is in the gain.",
            percent(prediction.growth - 1.0)
        )
    } else {
        String::new()
    };
    if let Some(iterations) = iterations.filter(|&count| count < LEAST_ITERATIONS * f64::from(team)) {
        let text = format!(
            "The loop{place} has {iterations:.0} iterations for {team} threads, which no schedule can spread evenly: \
             {} ({lost} of the region) are lost. Collapse it with the loop inside (collapse), or parallelize another \
             one.{growth}",
            shown(now - even)
        );
        let gain = Gain::predicted(gain, least, most, "even work, with measured inflation").bounded();
        return Some(case.hint(HintKind::Collapse, key.place, text, gain));
    }
    let what = match key.kind {
        Some(WorkKind::StaticLoop) => format!(
            "The iterations of the loop{place} cost differently, and each thread has a fixed share of them: {} ({lost} \
             of the region) are lost. Deal them out dynamically (schedule(dynamic)).",
            shown(now - even)
        ),
        Some(WorkKind::Sections) => format!(
            "The sections{place} are too few or too different for {team} threads: {} ({lost} of the region) are lost. \
             Make more and smaller ones.",
            shown(now - even)
        ),
        Some(_) => format!(
            "The loop{place} is dealt out in chunks that are too large for its end to be even: {} ({lost} of the \
             region) are lost. Make them smaller.",
            shown(now - even)
        ),
        None if case.region.kind == RegionKind::Section => format!(
            "The threads' work before they meet{place} differs: {} ({lost} of the section) are lost. Give out the work \
             in smaller pieces, to whoever is free.",
            shown(now - even)
        ),
        None => format!(
            "The threads' work before they meet{place} differs: {} ({lost} of the region) are lost. If it is a loop, \
             deal it out dynamically (schedule(dynamic)).",
            shown(now - even)
        ),
    };
    let gain = Gain::predicted(gain, least, most, "even work, with measured inflation").bounded();
    Some(case.hint(HintKind::Schedule, key.place, what + &growth, gain))
}
