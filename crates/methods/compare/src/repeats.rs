//! What several recordings of one program say together.
//!
//! The recording with the median wall time is told; its findings are looked for in the others by kind, object and place,
//! and carry how their costs scatter.
//!
//! A gain's interval from one recording consists of bounds that the replay gives: the lowest and the highest gain that its
//! model allows. Over several recordings the interval goes from the mean of the low bounds, less half the width of its 95 %
//! interval (Student's t), to the mean of the high bounds and as much more. So it has both what the model does not know,
//! which more recordings cannot lessen, and how far the program differs from run to run, which they do. In a recording that
//! does not tell the finding, its gain is between nothing and the least cost that would be told.

use holdup_criticality::{Diagnosis, Elsewhere, Finding, FindingRepeats, Gain, LEAST_SHARE, RunRepeats};
use holdup_model::{Arrange, Nanos, Run};

use crate::compare::{Ledger, Name, Subject, mean_and_half_width, pairs};

/// Lets a diagnosis tell what the other recordings of the same program say of its findings and gains.
///
/// # Panics
/// If the diagnosis is not of this run.
pub fn combine(run: &Run, diagnosis: &mut Diagnosis, others: &[Ledger]) {
    if others.is_empty() {
        return;
    }
    let this = Ledger::of(run, diagnosis);
    let ours = names(&this);
    // By other recording, by finding of this one: the finding there.
    let mut found: Vec<Vec<Option<usize>>> = Vec::new();
    let mut elsewhere: Vec<(Name, Elsewhere)> = Vec::new();
    for other in others {
        let mut at = vec![None; ours.len()];
        let mut new = Vec::new();
        for pair in pairs(&ours, &names(other)) {
            match pair {
                (Some(index), Some(there)) => at[index] = Some(there),
                (None, Some(there)) => new.push(there),
                (_, None) => {}
            }
        }
        add_elsewhere(&mut elsewhere, other, &new);
        found.push(at);
    }
    for (index, finding) in diagnosis.findings.iter_mut().enumerate() {
        let there: Vec<(&Ledger, Option<usize>)> =
            others.iter().zip(&found).map(|(other, at)| (other, at[index])).collect();
        repeat(finding, diagnosis.wall, &there);
    }
    if let Some(together) = diagnosis.what_if.as_mut().and_then(|what_if| what_if.all_together.as_mut()) {
        let bounds: Vec<Bounds> =
            others.iter().filter_map(|other| other.all_together.as_ref().map(Bounds::of)).collect();
        *together = over_runs(together, &bounds, diagnosis.wall);
    }
    let mut walls: Vec<Nanos> = others.iter().map(|other| other.wall).chain([diagnosis.wall]).collect();
    walls.sort_unstable();
    let (mean, half) = mean_and_half_width(&floats(&walls));
    let half = half.unwrap_or(0.0);
    let mut elsewhere: Vec<Elsewhere> = elsewhere.into_iter().map(|(_, finding)| finding).collect();
    elsewhere.arrange_by(|a, b| b.most.cmp(&a.most).then_with(|| (a.kind, &a.what).cmp(&(b.kind, &b.what))));
    diagnosis.repeats = Some(RunRepeats {
        walls,
        mean: nanos(mean),
        low: nanos(mean - half),
        high: nanos(mean + half),
        elsewhere,
    });
}

fn names(ledger: &Ledger) -> Vec<&Name> {
    ledger.entries(Subject::Findings).all.iter().map(|entry| &entry.name).collect()
}

fn nanos(value: f64) -> Nanos {
    Nanos::new(value.round().max(0.0) as u64)
}

fn floats(times: &[Nanos]) -> Vec<f64> {
    times.iter().map(|time| time.get() as f64).collect()
}

fn cost(ledger: &Ledger, finding: usize) -> Nanos {
    let cost = ledger.entries(Subject::Findings).all[finding].amounts[0];
    Nanos::new(cost.unwrap_or(0).unsigned_abs())
}

/// Adds the findings `new` of a recording, which the one that is told does not have.
fn add_elsewhere(all: &mut Vec<(Name, Elsewhere)>, ledger: &Ledger, new: &[usize]) {
    let theirs = names(ledger);
    let new_names: Vec<&Name> = new.iter().map(|&finding| theirs[finding]).collect();
    let known: Vec<Name> = all.iter().map(|(name, _)| name.clone()).collect();
    for (known, there) in pairs(&known.iter().collect::<Vec<_>>(), &new_names) {
        let Some(finding) = there.map(|there| new[there]) else { continue };
        let most = cost(ledger, finding);
        match known {
            Some(known) => {
                let told = &mut all[known].1;
                told.found += 1;
                told.most = told.most.max(most);
            }
            None => {
                let entry = &ledger.entries(Subject::Findings).all[finding];
                let (kind, what) = (ledger.found[finding].kind, entry.told.clone());
                all.push((entry.name.clone(), Elsewhere { kind, what, found: 1, most }));
            }
        }
    }
}

/// The gain that one recording gives, and its bounds (ns).
#[derive(Clone, Copy, Debug)]
struct Bounds {
    time: f64,
    low: f64,
    high: f64,
}

impl Bounds {
    fn of(gain: &Gain) -> Bounds {
        let [time, low, high] = [gain.time, gain.low, gain.high].map(|time| time.get() as f64);
        Bounds { time, low, high }
    }
}

/// What the recordings say of a finding: `there` is its place in each other one.
fn repeat(finding: &mut Finding, wall: Nanos, there: &[(&Ledger, Option<usize>)]) {
    let runs = there.len() + 1;
    let costs: Vec<Nanos> =
        there.iter().filter_map(|(ledger, at)| at.map(|at| cost(ledger, at))).chain([finding.cost]).collect();
    let (mean, half) = mean_and_half_width(&floats(&costs));
    let (least, most) = costs
        .iter()
        .fold((finding.cost, finding.cost), |(least, most), &cost| (least.min(cost), most.max(cost)));
    let repeats = FindingRepeats {
        runs: runs as u32,
        found: costs.len() as u32,
        least,
        mean: nanos(mean),
        most,
        interval: half.map(|half| (nanos(mean - half), nanos(mean + half))),
    };
    finding.evidence.push(if repeats.found == repeats.runs {
        format!("In {runs} runs it cost {least} to {most}, {} on average.", repeats.mean)
    } else if repeats.found == 1 {
        format!("It was found in this one of {runs} runs only: it may be an accident of that run.")
    } else {
        format!("It was found in {} of {runs} runs, and cost {least} to {most} there.", repeats.found)
    });
    if let Some(gain) = &mut finding.gain {
        let bounds: Vec<Bounds> = there
            .iter()
            .filter_map(|(ledger, at)| match at {
                Some(at) => ledger.found[*at].gain.as_ref().map(Bounds::of),
                None => Some(Bounds { time: 0.0, low: 0.0, high: ledger.wall.get() as f64 * LEAST_SHARE }),
            })
            .collect();
        *gain = over_runs(gain, &bounds, wall);
        if !bounds.is_empty() {
            finding.notes.push(format!(
                "The gain's interval has the replay's bounds and how they scatter over {} runs.",
                bounds.len() + 1
            ));
        }
    }
    finding.repeats = Some(repeats);
}

/// The gain over this recording and others; see the top of this file.
fn over_runs(gain: &Gain, others: &[Bounds], wall: Nanos) -> Gain {
    let all = || others.iter().copied().chain([Bounds::of(gain)]);
    let of = |what: fn(Bounds) -> f64| mean_and_half_width(&all().map(what).collect::<Vec<_>>());
    let (time, (low, below), (high, above)) =
        (of(|bounds| bounds.time).0, of(|bounds| bounds.low), of(|bounds| bounds.high));
    let time = nanos(time).min(wall);
    Gain {
        time,
        low: nanos(low - below.unwrap_or(0.0)).min(time),
        high: nanos(high + above.unwrap_or(0.0)).min(wall).max(time),
        ..gain.clone()
    }
}
