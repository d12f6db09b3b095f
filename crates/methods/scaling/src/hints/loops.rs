//! Uneven loops: another schedule, or more iterations to deal out.

use holdup_model::figures::percent;
use holdup_model::openmp::WorkKind;
use holdup_replay::schedule::{RecordedLoop, Schedule, redeal};

use super::{Case, Gain, shown};
use crate::evidence::{LoopKey, LoopSums};
use crate::inflation::{AtOnce, Inflation};
use crate::team::Part;
use crate::{Hint, HintKind, RegionKind};

/// With fewer iterations than this for each thread no schedule is even.
const LEAST_ITERATIONS: f64 = 4.0;

/// CPU times are not known better than this share.
const LEAST_SPREAD: f64 = 0.01;

pub(super) fn hints(case: &Case<'_>) -> Vec<Hint> {
    let loops = &case.profile().evidence.loops;
    let prediction = Prediction::of(case);
    loops.iter().filter_map(|(key, sums)| hint(case, &prediction, key, sums)).collect()
}

/// Another schedule or chunk size for a loop whose chunks were recorded one by one: the one that is best when they are
/// dealt out again in virtual time.
fn redealt(case: &Case<'_>, kind: WorkKind, key: &LoopKey) -> Option<Hint> {
    if !case.is_worth(case.cost(Part::Imbalance) + case.cost(Part::Scheduling)) {
        return None;
    }
    let loops: Vec<RecordedLoop> = case.loops(kind, key.place);
    let iterations = loops.iter().map(|recorded| recorded.iterations).max()?;
    let even = (iterations / u64::from(case.team().max(1))).max(1);
    let mut schedules = vec![Schedule::Static, Schedule::Guided(1)];
    schedules.extend(
        (0..).map(|step| 1u64 << (2 * step)).take_while(|&chunk| chunk <= even).map(Schedule::Dynamic),
    );
    let redone = schedules.into_iter().filter_map(|schedule| {
        redeal(&loops, schedule, None).filter(|redone| !redone.bound).map(|redone| (schedule, redone))
    });
    let (schedule, redone) = redone.min_by_key(|(_, redone)| redone.time)?;
    let [gain, low, high] = redone.gain().map(|gain| gain as f64 * case.scale());
    if !case.is_worth(gain) || low <= 0.0 {
        return None;
    }
    let chunks: u64 = loops.iter().map(|recorded| recorded.dealt).sum();
    let dealing: f64 = loops.iter().map(|recorded| recorded.dealing * recorded.dealt as f64).sum();
    let text = format!(
        "The {iterations} iterations of the loop{} are dealt out in {} chunks each time, {} for each. {schedule} would be \
         even and cheap enough.",
        case.at_place(key.place),
        chunks / (loops.len() as u64).max(1),
        shown(dealing / chunks.max(1) as f64),
    );
    let gain = Gain::predicted(gain, low, high, "recorded chunks dealt out anew");
    Some(case.hint(HintKind::Schedule, key.place, text, gain))
}

/// What happens to work that is spread evenly: then more threads are at it at once than now, which slows all of them.
struct Prediction {
    /// By how much an even loop's work is inflated beyond what it is now.
    growth: f64,
    /// The least and the most that it may be: measured CPU times are not that exact, and the law may be another.
    least: f64,
    most: f64,
}

impl Prediction {
    fn of(case: &Case<'_>) -> Self {
        let runs: Vec<AtOnce> = comparable(case);
        let team = case.profile().team();
        let growth = |law: &Inflation, runs: &[AtOnce]| match runs.last() {
            // More than that would make several threads slower than one: no work is that slow.
            Some(here) => (law.at(team) / law.of(here)).clamp(1.0, team.max(1.0)),
            None => 1.0,
        };
        let error = case.at.iter().map(|at| at.spread).fold(LEAST_SPREAD, f64::max);
        let [least, central, most] = [1.0 - error, 1.0, 1.0 + error].map(|factor| {
            // The base is what the others are compared with.
            let scaled = |(index, run): (usize, &AtOnce)| -> AtOnce {
                let factor = if index == 0 { 1.0 } else { factor };
                run.iter().map(|(&threads, time)| (threads, time * factor)).collect()
            };
            let runs: Vec<AtOnce> = runs.iter().enumerate().map(scaled).collect();
            let (law, other) = Inflation::fit(&runs);
            (growth(&law, &runs), growth(&other, &runs))
        });
        let all = [least.0, least.1, central.0, central.1, most.0, most.1];
        let lowest = all.into_iter().fold(f64::INFINITY, f64::min);
        Self {
            // Where the runs may be of the same CPU time as well as not, there is no inflation to be reckoned with: little
            // CPU time with many threads at once would make it any number.
            growth: if lowest > 1.0 { central.0 } else { 1.0 },
            least: lowest,
            most: all.into_iter().fold(1.0, f64::max),
        }
    }
}

/// Time at work by how many threads worked at once, at the numbers of threads at which as many executions were made. To
/// CPU time is added what no state explains: where a machine's host lends the cores, a thread that waits for memory beside
/// others is not always charged for it.
fn comparable(case: &Case<'_>) -> Vec<AtOnce> {
    let instances = case.profile().instances;
    let at_once = |at: &super::At<'_>| -> Option<AtOnce> {
        let useful = at.costs.useful.filter(|_| at.profile.instances == instances)?;
        let useful = useful + at.costs.parts[Part::Other as usize].max(0.0) * at.costs.places;
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
    let dealt_out = key.kind.filter(|kind| kind.is_dealt_out() && *kind != WorkKind::Sections);
    if let Some(hint) = dealt_out.and_then(|kind| redealt(case, kind, key)) {
        return Some(hint);
    }
    let now = sums.longest as f64 * case.scale();
    let even = sums.even as f64 * case.scale();
    let of = |growth: f64| now - even * growth;
    let gain = of(prediction.growth);
    let (least, most) = (of(prediction.most) - case.doubt(), of(prediction.least) + case.doubt());
    if gain <= 0.0 || !case.is_worth(most) {
        return None;
    }
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
    let is_loop = key.kind != Some(WorkKind::Sections);
    let too_few = |&count: &f64| is_loop && count < LEAST_ITERATIONS * f64::from(team);
    if let Some(iterations) = iterations.filter(too_few) {
        let text = format!(
            "The loop{place} has {iterations:.0} iterations for {team} threads, which no schedule can spread evenly: \
             {} ({lost} of the region) are lost. Collapse it with the loop inside (collapse), or parallelize another \
             one.{growth}",
            shown(now - even)
        );
        let gain = Gain::predicted(gain, least, most, "even work, with measured inflation").bounded();
        return Some(case.hint(HintKind::Collapse, key.place, text, gain));
    }
    if dealt_out.is_some() {
        // No other way of dealing it out is better.
        return None;
    }
    let what = match key.kind {
        Some(kind) if kind != WorkKind::Sections => format!(
            "The iterations of the loop{place} cost differently, and each thread has a fixed share of them: {} ({lost} \
             of the region) are lost. Deal them out dynamically (schedule(dynamic)).",
            shown(now - even)
        ),
        Some(_) => format!(
            "The sections{place} are too few or too different for {team} threads: {} ({lost} of the region) are lost. \
             Make more and smaller ones.",
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
