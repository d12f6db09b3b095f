//! From runs at several numbers of threads to how the program scales.

use std::collections::BTreeMap;

use holdup_model::{Arrange, Nanos, Run, Timeline};
use holdup_sections::{Main, real_teams};

use super::chosen::Chosen;
use super::compare::{Costs, speedup};
use super::hints::{Case, FewerForAll, hints};
use super::laws::{self, Sample};
use super::locks::Fastest;
use super::notes::notes;
use super::point::Point;
use super::pop::hierarchy;
use super::profile::{Key, Profile};
use super::regions::{self, Profiles};
use super::{
    FittedLaw, MUCH_USED, RegionKind, RegionPoint, RegionScaling, ScalePoint, Scaling, WholePoint, sections,
};

/// How a program scales: runs of the same program with the same input at several numbers of threads.
///
/// The runs at one number of threads are told by the median one; the base is the fewest threads. Whatever is wrong with
/// the runs (none, failed ones, another program at each number) is said in [`Scaling::notes`].
pub fn scale(points: &[ScalePoint<'_>]) -> Scaling {
    let chosen = Chosen::of(points);
    let Some(last) = chosen.last() else {
        let notes = vec!["Nothing was recorded at any number of threads.".to_owned()];
        return Scaling { notes, ..Scaling::default() };
    };
    let main = last.runs[last.median()];
    let command = main.run.command.clone();
    let cores = main.run.effective_cores_of(main.process);
    let points = profiled(chosen);
    let used_by_others =
        points.iter().filter_map(|point| used_by_others(point.chosen.run())).max_by(f64::total_cmp);
    let used_by_others = used_by_others.filter(|share| *share >= MUCH_USED);
    let notes = notes(&points, cores, used_by_others.is_some());
    let mut scaling = Scaling { command, cores, used_by_others, notes, ..Scaling::default() };
    let base = &points[0];
    for point in &points {
        scaling.points.push(whole_point(point, base));
        let measured = scaling.points[scaling.points.len() - 1].efficiency;
        scaling.pop.push(hierarchy(point.threads(), measured, &point.costs, &base.costs));
    }
    let mut cases = cases(&points);
    cases.arrange_by(|(key, a), (other, b)| {
        b.potential_gain.cmp(&a.potential_gain).then_with(|| key.cmp(other))
    });
    let (keys, regions): (Vec<Key>, Vec<RegionScaling>) = cases.into_iter().unzip();
    scaling.regions = regions;
    for (index, key) in keys.iter().enumerate() {
        let case = Case::of(&points, key, index, &scaling.regions[index]);
        let found = case.map_or(Vec::new(), |case| hints(&case, used_by_others.unwrap_or(0.0)));
        scaling.regions[index].hints = found;
        scaling.regions[index].law = law(&points, |point| point.times(key), cores, Some(key));
    }
    scaling.hints = scaling.regions.iter().flat_map(|region| region.hints.iter().cloned()).collect();
    if let Some(fewer) = FewerForAll::of(&scaling) {
        scaling.hints.retain(|hint| !fewer.covers(&scaling.regions, hint));
        scaling.hints.push(fewer.hint);
    }
    scaling.hints.arrange_by_key(|hint| {
        (
            !hint.is_sure(),
            hint.gain.is_none(),
            std::cmp::Reverse(hint.gain.map_or(0, |gain| gain.time)),
            hint.region,
            hint.kind,
        )
    });
    let walls = |point: &Point<'_>| point.chosen.runs.iter().map(|main| main.wall()).collect();
    scaling.law = law(&points, walls, cores, None);
    dominate(&mut scaling);
    scaling
}

/// The share of the CPUs' time that others than the program and holdup used while it ran, where that is known.
fn used_by_others(run: &Run) -> Option<f64> {
    let load = run.environment.load.filter(|load| load.span > Nanos::ZERO)?;
    let online = run.environment.online.len().max(run.cores as usize).max(1) as u64;
    let capacity = Nanos::new(load.span.get().saturating_mul(online));
    Some(load.others().share_of(capacity).min(1.0))
}

fn profiled(chosen: Vec<Chosen<'_>>) -> Vec<Point<'_>> {
    let processes = || chosen.iter().flat_map(|chosen| &chosen.runs).map(|main| main.process);
    let with_openmp = processes().any(|process| !process.openmp.regions.is_empty());
    let teams = real_teams(processes());
    let fastest = Fastest::of(processes());
    let profiles = |chosen: &Chosen<'_>| -> Vec<Profiles> {
        let of_run = |main: &Main<'_>| {
            let timeline = Timeline::build(main.process);
            match with_openmp {
                true => regions::profiles(main, &timeline, &teams, &fastest),
                false => sections::profiles(main, &timeline),
            }
        };
        chosen.runs.iter().map(of_run).collect()
    };
    let all: Vec<Vec<Profiles>> = chosen.iter().map(profiles).collect();
    let points = chosen.into_iter().zip(all).map(|(chosen, profiles)| {
        let median = chosen.median();
        let counted = profiles[median].by_key.values().filter(|profile| !profile.nested);
        let wall = chosen.runs[median].wall().get() as f64;
        let costs =
            Costs::sum(counted.map(|profile| Costs::of(profile, chosen.threads)), wall, chosen.threads);
        Point { chosen, profiles, costs }
    });
    points.collect()
}

fn whole_point(point: &Point<'_>, base: &Point<'_>) -> WholePoint {
    let ratio = f64::from(base.threads()) / f64::from(point.threads());
    let speedup = speedup(base.costs.time, point.costs.time);
    let (mut whole, mut all) = (0.0, 0.0);
    for profile in point.median().by_key.values() {
        if profile.kind == RegionKind::Parallel && !profile.nested {
            whole += profile.whole_time as f64;
            all += profile.time as f64;
        }
    }
    WholePoint {
        threads: point.threads(),
        wall: point.chosen.measured(|run| point.chosen.runs[run].wall()),
        speedup,
        efficiency: speedup * ratio,
        losses: point.costs.losses(&base.costs, ratio),
        costs: point.costs.absolute(),
        whole_share: (all > 0.0).then(|| (whole / all).min(1.0)),
    }
}

/// Each region at the numbers of threads at which the median run executed it.
fn cases(points: &[Point<'_>]) -> Vec<(Key, RegionScaling)> {
    let mut by_key: BTreeMap<&Key, Vec<(&Point<'_>, &Profile)>> = BTreeMap::new();
    for point in points {
        for (key, profile) in &point.median().by_key {
            if profile.time > 0 || key.kind == RegionKind::Parallel {
                by_key.entry(key).or_default().push((point, profile));
            }
        }
    }
    by_key.into_iter().map(|(key, at)| (key.clone(), region(key, &at))).collect()
}

fn region(key: &Key, at: &[(&Point<'_>, &Profile)]) -> RegionScaling {
    let (base_point, base_profile) = at[0];
    let base = Costs::of(base_profile, base_point.threads());
    let mut potential_gain = Nanos::ZERO;
    let points = at.iter().map(|(point, profile)| {
        let costs = Costs::of(profile, point.threads());
        let ratio = f64::from(base_point.threads()) / f64::from(point.threads());
        let losses = costs.losses(&base, ratio);
        potential_gain = Nanos::new(losses.lost.max(0) as u64);
        let error = costs.error.hypot(base.error * ratio);
        let speedup = speedup(base.time, costs.time);
        let times = point.times(key);
        RegionPoint {
            threads: point.threads(),
            team: profile.team(),
            instances: profile.instances,
            whole: profile.whole,
            time: point.chosen.measured(|run| times[run]),
            error: error / (losses.lost.unsigned_abs().max(1) as f64),
            speedup,
            efficiency: speedup * ratio,
            losses,
            costs: costs.absolute(),
        }
    });
    let points = points.collect();
    RegionScaling {
        kind: key.kind,
        place: at[0].1.place.clone(),
        nested: key.nested,
        points,
        potential_gain,
        hints: Vec::new(),
        law: None,
    }
}

/// The law of times over threads: those of all runs at each number at which there were any.
fn law(
    points: &[Point<'_>],
    times: impl Fn(&Point<'_>) -> Vec<Nanos>,
    cores: u32,
    key: Option<&Key>,
) -> Option<FittedLaw> {
    let there = |point: &&Point<'_>| key.is_none_or(|key| point.median().by_key.contains_key(key));
    let samples: Vec<Sample> = points
        .iter()
        .filter(there)
        .map(|point| Sample {
            threads: point.threads(),
            times: times(point).iter().map(|time| time.get() as f64).filter(|&time| time > 0.0).collect(),
        })
        .collect();
    let cores = if cores == 0 { u32::MAX } else { cores };
    laws::fit(&samples, cores)
}

/// Which region loses the most at the furthest number of threads that is predicted, by its own law.
fn dominate(scaling: &mut Scaling) {
    let Some(law) = &mut scaling.law else { return };
    let Some(furthest) = law.predictions.iter().map(|prediction| prediction.threads).max() else { return };
    let lost = |region: &RegionScaling| -> Option<f64> {
        let prediction = region.law.as_ref()?.predictions.iter().find(|at| at.threads == furthest)?;
        let base = region.points.first()?;
        let ideal = base.time.median.get() as f64 * f64::from(base.threads) / f64::from(furthest);
        Some(prediction.time.get() as f64 - ideal)
    };
    let losses = scaling.regions.iter().enumerate().filter(|(_, region)| !region.nested);
    let most = losses
        .filter_map(|(index, region)| Some((index, lost(region)?)))
        .filter(|(_, lost)| *lost > 0.0)
        .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    law.dominated_by = most.map(|(index, _)| index);
}
