//! From measurements to the speedup stacks of all phases.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::{Arrange, Nanos, figures};
use holdup_sections::{Place, main_of, real_teams};

use super::alone::{Lone, Measured, Together, lones, measured};
use super::groups::{Group, groups};
use super::instances::instances;
use super::noise::noise;
use super::phases::{Key, PhaseRun, Phased};
use super::point::Point;
use super::sensitivity::sensitivity;
use super::sharing::{Sharer, shares};
use super::steps::{LoneTimes, Sums, Times, stack};
use super::{
    Beside, CacheFacts, Component, Discarded, GroupCurve, Measurements, Missing, PhaseKind, PhasePoint,
    PhaseStack, PointStack, SpeedupProfile, ThreadPoint, Verdict, effort, notes, watched,
};

/// Phases that together have less than this share of the CPU time may go unmeasured.
const MOST_UNMEASURED: f64 = 0.05;

/// More than this share of the CPU time of a run not known is too much to say who had a core.
const MOST_UNKNOWN: f64 = 0.2;

/// What is known of one phase at one number of threads.
struct Told {
    point: PhasePoint,
    times: Times,
    lone: LoneTimes,
}

/// The speedup stacks of a program, of what was measured of it.
pub fn profile(measurements: &Measurements<'_>) -> SpeedupProfile {
    let mut profile = SpeedupProfile {
        command: measurements.command.clone(),
        cores: measurements.cores,
        cache: measurements.cache,
        order: measurements.order,
        notes: measurements.notes.clone(),
        instances: measurements.instances.iter().map(instances).collect(),
        simulated: measurements.simulated.clone(),
        ..SpeedupProfile::default()
    };
    let points = points(measurements, &mut profile);
    let Some((base, last)) = points.first().zip(points.last()) else {
        if profile.instances.is_empty() {
            profile.notes.push("Nothing was recorded at any number of threads.".to_owned());
        }
        return profile;
    };
    profile.base = base.threads;
    let keys: BTreeSet<&Key> = points.iter().flat_map(|point| point.recorded.phases.keys()).collect();
    let mut told: BTreeMap<&Key, Vec<Told>> = BTreeMap::new();
    for key in keys {
        let there = points.iter().filter(|point| point.recorded.phases.contains_key(key));
        told.insert(key, there.map(|point| of_phase(measurements, point, base, key)).collect());
    }
    let whole = whole(measurements, &points, &told);
    let wall = last.recorded.main.wall().get() as f64 * last.factor;
    for (key, at) in told {
        let base_time = base.recorded.phases.get(key).map(|phase| phase.time as f64 * base.factor);
        let site =
            at.last().and_then(|_| points.iter().rev().find_map(|point| point.recorded.phases.get(key)));
        let here =
            at.last().filter(|told| told.point.threads == last.threads).map(|told| told.times.parallel.time);
        let ideal = base_time.map(|time| time * f64::from(base.threads) / f64::from(last.threads));
        profile.phases.push(PhaseStack {
            kind: key.kind,
            place: site.and_then(|phase| phase.site.clone()),
            share: here.unwrap_or(0.0) / wall.max(1.0),
            potential_gain: here.zip(ideal).map(|(here, ideal)| Nanos::new((here - ideal).max(0.0) as u64)),
            points: at.into_iter().map(|told| told.point).collect(),
        });
    }
    let time = |phase: &PhaseStack| phase.points.last().map(|point| point.time);
    profile.phases.arrange_by_key(|phase| std::cmp::Reverse((phase.potential_gain, time(phase))));
    profile.phases.insert(0, whole);
    profile.effort = effort::of(&points, &profile.phases);
    profile.noise = noise(&points, &profile.phases);
    profile.discarded.sort();
    profile.watched = watched::watched(&points);
    profile.notes.extend(notes::of(measurements, &points, &profile));
    profile.notes.extend(watched::notes(&profile.watched));
    profile
}

/// The numbers of threads at which something was recorded, ascending.
fn points<'a>(measurements: &'a Measurements<'a>, profile: &mut SpeedupProfile) -> Vec<Point<'a>> {
    let mut sources: Vec<&ThreadPoint<'_>> =
        measurements.points.iter().filter(|point| point.threads > 0).collect();
    sources.arrange_by_key(|point| point.threads);
    let runs = sources.iter().flat_map(|point| {
        let alone = point.alone.iter().map(|alone| alone.run);
        [point.recorded].into_iter().chain(alone)
    });
    let teams = real_teams(runs.filter_map(main_of).map(|main| main.process));
    let mut points: Vec<Point<'_>> = Vec::new();
    for source in sources {
        if points.last().is_some_and(|last| last.threads == source.threads) {
            profile.notes.push(format!("{} threads were measured twice: the first counts.", source.threads));
            continue;
        }
        let Some(main) = main_of(source.recorded) else {
            profile.notes.push(format!("With {} threads nothing was recorded.", source.threads));
            continue;
        };
        let mut plain: Vec<Nanos> = source.plain.iter().copied().filter(|time| *time > Nanos::ZERO).collect();
        plain.sort_unstable();
        let recorded = main.wall().get() as f64;
        let factor = match plain.get(plain.len().saturating_sub(1) / 2) {
            Some(middle) if recorded > 0.0 => middle.get() as f64 / recorded,
            _ => 1.0,
        };
        points.push(Point {
            threads: source.threads,
            plain,
            recorded: Phased::of(main, &teams),
            source,
            factor,
            lones: BTreeMap::new(),
        });
    }
    let price = points.first().and_then(|base| base.recorded.price_of_a_lock());
    for point in &mut points {
        let price = price.or_else(|| point.recorded.price_of_a_lock());
        point.recorded.pay_for_locks(price.unwrap_or(0.0));
    }
    let common = the_only(&points);
    for point in &mut points {
        if let Some(key) = &common {
            rename(&mut point.recorded.phases, key);
        }
        point.lones = counted(point, &teams, common.as_ref(), profile);
    }
    points
}

/// The key of programs that create and join threads once: they may be joined elsewhere in each run. With one thread they may
/// create none.
fn the_only(points: &[Point<'_>]) -> Option<Key> {
    let only = |point: &Point<'_>| {
        let mut keys = point.recorded.phases.keys();
        let key = keys.next().filter(|key| key.kind == PhaseKind::ForkJoin)?;
        keys.next().is_none().then(|| key.clone())
    };
    let with_phases = points.iter().filter(|point| !point.recorded.phases.is_empty());
    let keys: Option<Vec<Key>> = with_phases.map(only).collect();
    keys?.pop()
}

fn rename(phases: &mut BTreeMap<Key, PhaseRun>, key: &Key) {
    if phases.len() == 1
        && let Some((_, phase)) = phases.pop_first()
    {
        phases.insert(key.clone(), phase);
    }
}

/// The profiled threads of all runs that count, by phase; the others are told.
fn counted(
    point: &Point<'_>,
    teams: &BTreeSet<Option<Place>>,
    common: Option<&Key>,
    profile: &mut SpeedupProfile,
) -> BTreeMap<Key, Vec<Lone>> {
    let mut counted: BTreeMap<Key, Vec<Lone>> = BTreeMap::new();
    for run in &point.source.alone {
        let discarded = |phase, which, reason| Discarded {
            threads: point.threads,
            which,
            cache: run.cache,
            beside: run.beside,
            phase,
            reason,
        };
        if let Verdict::Discarded(reason) = &run.verdict {
            profile.discarded.push(discarded(None, run.which, reason.clone()));
            continue;
        }
        let Some(main) = main_of(run.run) else {
            profile.discarded.push(discarded(None, run.which, "nothing was recorded".to_owned()));
            continue;
        };
        let mut phased = Phased::of(main, teams);
        if let Some(key) = common {
            rename(&mut phased.phases, key);
        }
        let found = lones(run, &phased);
        if !found.is_empty() && found.values().all(Vec::is_empty) {
            profile.discarded.push(discarded(None, run.which, "no thread ran alone in any phase".to_owned()));
        }
        for (key, lones) in found {
            for lone in lones {
                if let Some(reason) = lone.fault() {
                    let phase = phased.phases[&key].site.as_ref().and_then(|site| site.place());
                    let phase = phase.map(holdup_model::Frame::name);
                    profile.discarded.push(discarded(phase, lone.which, reason));
                } else {
                    counted.entry(key.clone()).or_default().push(lone);
                }
            }
        }
    }
    counted
}

fn times(point: &Point<'_>, phase: &PhaseRun) -> Times {
    let sum = phase.sum();
    let wall = point.recorded.main.wall().get().max(1) as f64;
    let placement = point.recorded.main.run.environment.placement(point.recorded.main.process.pid);
    let quota = placement.and_then(|placement| placement.throttling_quota());
    let throttled = quota.map_or(0.0, |(_, throttling)| throttling.time.get() as f64);
    let parallel = Sums {
        time: phase.time as f64,
        cpu: sum.cpu as f64,
        off_core: sum.off_core as f64,
        outside: sum.outside as f64,
    };
    Times {
        threads: point.threads,
        parallel: parallel.scaled(point.factor),
        longest: phase.longest as f64 * point.factor,
        crowded: phase.crowded as f64 * point.factor,
        serial: Sums::default(),
        has_cpu: sum.unknown as f64 <= MOST_UNKNOWN * sum.cpu as f64,
        throttled: throttled * (phase.time as f64 / wall) * point.factor,
    }
}

/// What running alone told of a phase.
struct OfGroups {
    groups: Vec<(Group, Measured)>,
    /// CPU time of threads that are in no group (ns).
    rest: f64,
}

impl OfGroups {
    fn of(point: &Point<'_>, key: &Key, cache: Option<CacheFacts>) -> Self {
        let process = point.recorded.main.process;
        let phase = &point.recorded.phases[key];
        let cpu = phase.sum().cpu as f64;
        let together = Together { process, phase, cpu };
        let none = Vec::new();
        let lones = point.lones.get(key).unwrap_or(&none);
        let groups = groups(process, key.kind, phase);
        let alike = groups.len() == 1;
        let measured = groups.into_iter().map(|group| {
            let of: Vec<&Lone> =
                lones.iter().filter(|lone| alike || group.threads.contains(&lone.thread)).collect();
            let measured = measured(&together, &group, &of, cache.map(|cache| cache.bytes));
            (group, measured)
        });
        let groups: Vec<(Group, Measured)> = measured.collect();
        let grouped: f64 = groups.iter().map(|(group, _)| group.cpu as f64).sum();
        Self { groups, rest: cpu - grouped }
    }

    /// CPU time of all threads alone (ns), with all of the cache. Groups that hardly count may go unmeasured.
    fn full(&self) -> Option<f64> {
        self.sum(|_, measured| measured.full)
    }

    fn sum(&self, ratio: impl Fn(usize, &Measured) -> Option<f64>) -> Option<f64> {
        let all: f64 = self.groups.iter().map(|(group, _)| group.cpu as f64).sum();
        let (mut sum, mut unknown) = (self.rest, 0.0);
        for (index, (group, measured)) in self.groups.iter().enumerate() {
            let cpu = group.cpu as f64;
            match ratio(index, measured) {
                Some(ratio) => sum += cpu * ratio,
                None => {
                    sum += cpu;
                    unknown += cpu;
                }
            }
        }
        (all > 0.0 && unknown <= MOST_UNMEASURED * all).then_some(sum)
    }
}

fn of_phase(measurements: &Measurements<'_>, point: &Point<'_>, base: &Point<'_>, key: &Key) -> Told {
    let phase = &point.recorded.phases[key];
    let times_here = times(point, phase);
    let mut told = PhasePoint {
        threads: point.threads,
        time: Nanos::new(times_here.parallel.time as u64),
        instances: phase.instances,
        ..PhasePoint::default()
    };
    let of = OfGroups::of(point, key, measurements.cache);
    let mut missing = BTreeSet::new();
    let shares = group_shares(&of, measurements.cache, point.threads);
    let full = of.full();
    if full.is_none() {
        let reason = why_not_alone(point, key, measurements);
        for component in [Component::ExtraWork, Component::Cache, Component::Memory] {
            missing.insert(Missing { component: Some(component), reason: reason.clone() });
        }
    }
    // With a share of the cache, relative to all of it.
    let with_share = of.sum(|index, measured| Some(measured.full? * measured.curve.at(shares[index]?)?));
    let cache = full.zip(with_share).map(|(full, with_share)| with_share - full);
    if full.is_some() && cache.is_none() {
        let reason = why_no_cache(point, &of, &shares, measurements);
        for component in [Component::Cache, Component::Memory] {
            missing.insert(Missing { component: Some(component), reason: reason.clone() });
        }
    }
    let mut lone = LoneTimes::default();
    match base.recorded.phases.get(key) {
        Some(then) => {
            let times_then = times(base, then);
            let of_base = OfGroups::of(base, key, measurements.cache).full();
            let scale = scale_of_lone(base, point, times_then.parallel.cpu, of_base);
            lone = LoneTimes {
                base: of_base.map_or(times_then.parallel.cpu, |cpu| cpu * scale),
                full: full.map(|full| full * scale),
                cache: cache.map(|cache| cache * scale),
            };
            if point.threads == base.threads {
                // Where the speedup is perfect by definition nothing is missing.
                lone = LoneTimes { base: lone.base, full: Some(lone.base), cache: Some(0.0) };
                missing.clear();
            }
            told.stack = stack(&times_then, &times_here, &lone, measurements.cores, &measurements.order);
            missing.extend(price_of_being_alone(&lone, told.stack.as_ref()));
        }
        None => {
            // Of the whole program it is known what one thread does in its place.
            lone.full = full.map(|full| full * point.factor);
            lone.cache = cache.map(|cache| cache * point.factor);
            missing.insert(Missing {
                component: None,
                reason: format!("The phase was not seen with {}.", figures::threads(base.threads)),
            });
        }
    }
    if !times_here.has_cpu && point.threads != base.threads {
        for component in [Component::Oversubscription, Component::Environment] {
            let reason = "It is not known how much of their time threads were on a core.".to_owned();
            missing.insert(Missing { component: Some(component), reason });
        }
    }
    told.missing = missing.into_iter().collect();
    let measured = || of.groups.iter().map(|(_, measured)| measured);
    told.alone_share = measured().filter_map(|group| group.alone_share).min_by(f64::total_cmp);
    told.stretch = measured().filter_map(|group| group.stretch).min();
    told.spread = measured().filter_map(|group| group.spread).reduce(f64::max);
    told.refill = told.stretch.zip(measurements.cache).and_then(|(stretch, cache)| {
        let fill = cache.refill?.get() as f64 / f64::from(point.threads);
        // It shows as extra work: there cannot be more of it than of that.
        let extra = lone.full.map_or(1.0, |full| 1.0 - lone.base / full.max(1.0)).max(0.0);
        let extra = if lone.base > 0.0 { extra } else { 1.0 };
        (stretch > Nanos::ZERO).then(|| (fill / stretch.get() as f64).min(extra))
    });
    let all: f64 = of.groups.iter().map(|(group, _)| group.cpu as f64).sum::<f64>() + of.rest;
    told.groups = of
        .groups
        .iter()
        .zip(&shares)
        .filter(|((_, measured), _)| measured.full.is_some())
        .map(|((group, measured), share)| GroupCurve {
            name: group.name.clone(),
            threads: group.threads.len() as u32,
            cpu_share: group.cpu as f64 / all.max(1.0),
            cache: share.map(|share| share as u64),
            curve: measured.curve.clone(),
            bandwidth: measured.bandwidth.clone(),
            sensitivity: share.and_then(|share| sensitivity(&measured.curve, share as u64)),
            takes_over: measured.takes_over,
            control: measured.control,
        })
        .collect();
    Told { point: told, times: times_here, lone }
}

/// Why extra work is not told though threads were alone.
fn price_of_being_alone(lone: &LoneTimes, stack: Option<&PointStack>) -> Option<Missing> {
    (lone.full.is_some() && stack?.get(Component::ExtraWork).is_none()).then(|| Missing {
        component: Some(Component::ExtraWork),
        reason: "Alone threads needed more CPU time than all together: what being alone costs them hides it."
            .to_owned(),
    })
}

/// By how much CPU times of lone threads are to be multiplied so that they compare with those of plain runs. Running alone
/// costs something at each sync operation, other than recording threads together does: what one thread alone needs is what
/// it needs by itself, so that the two runs with one thread tell how much that is. Where it starts none, it is taken to be
/// what recording costs with as many threads.
fn scale_of_lone(base: &Point<'_>, here: &Point<'_>, together: f64, alone: Option<f64>) -> f64 {
    match alone {
        Some(alone) if base.threads == 1 && alone > 0.0 => together / alone,
        _ => here.factor,
    }
}

/// The cache that a thread of each group has: C / N where all do the same (paper 1, section 6.2).
fn group_shares(of: &OfGroups, cache: Option<CacheFacts>, threads: u32) -> Vec<Option<f64>> {
    let Some(cache) = cache.filter(|cache| cache.bytes > 0) else { return vec![None; of.groups.len()] };
    if of.groups.len() == 1 {
        return vec![Some((cache.bytes / u64::from(threads)) as f64)];
    }
    let sharers: Vec<Sharer<'_>> = of
        .groups
        .iter()
        .map(|(group, measured)| Sharer { threads: group.threads.len() as u32, curve: &measured.curve })
        .collect();
    shares(&sharers, cache.bytes as f64).into_iter().map(Some).collect()
}

fn why_not_alone(point: &Point<'_>, key: &Key, measurements: &Measurements<'_>) -> String {
    let at = figures::threads(point.threads);
    let discarded = point.source.alone.iter().find_map(|run| match &run.verdict {
        Verdict::Discarded(reason) => Some(reason),
        Verdict::Held => None,
    });
    match (point.source.alone.is_empty(), discarded) {
        (true, _) if !measurements.notes.is_empty() => {
            format!("No thread was run alone with {at}: see the notes.")
        }
        (true, _) => format!("No thread was run alone with {at}."),
        (false, _) if point.lones.get(key).is_some_and(|lones| !lones.is_empty()) => {
            format!("With {at} threads of other groups only were run alone in this phase.")
        }
        (false, Some(reason)) => format!("With {at} no run with a thread alone counts: {reason}."),
        (false, None) => format!("With {at} no thread was alone in this phase for long enough."),
    }
}

fn why_no_cache(
    point: &Point<'_>,
    of: &OfGroups,
    shares: &[Option<f64>],
    measurements: &Measurements<'_>,
) -> String {
    let at = figures::threads(point.threads);
    if measurements.cache.is_none_or(|cache| cache.bytes == 0) {
        return "The cache that threads share is not known.".to_owned();
    }
    let pirates = || point.source.alone.iter().filter(|run| run.beside == Beside::Pirate);
    if pirates().next().is_none() {
        return format!("No cache was taken from a lone thread with {at}.");
    }
    let reason = pirates().find_map(|run| match &run.verdict {
        Verdict::Discarded(reason) => Some(reason),
        Verdict::Held => None,
    });
    let outside = of.groups.iter().zip(shares).find_map(|((_, measured), share)| {
        let points = measured.curve.points();
        let share = share.filter(|&share| measured.curve.at(share).is_none())?;
        (points.len() > 1).then(|| (share, points[0].bytes, points[points.len() - 1].bytes))
    });
    match (outside, reason) {
        (Some((share, from, to)), _) => format!(
            "With {at} each has {}, which is outside of what was measured ({} to {}): nothing is said beyond that.",
            figures::bytes(share as u64),
            figures::bytes(from),
            figures::bytes(to)
        ),
        (None, Some(reason)) => format!("With {at} no cache could be taken from a lone thread: {reason}."),
        (None, None) => format!("With {at} no measurement with less cache counts."),
    }
}

/// The whole program: all phases, and what is between them.
fn whole(
    measurements: &Measurements<'_>,
    points: &[Point<'_>],
    told: &BTreeMap<&Key, Vec<Told>>,
) -> PhaseStack {
    let serial = |point: &Point<'_>| {
        let spent = point.recorded.serial;
        let sums = Sums {
            time: point.recorded.between as f64,
            cpu: spent.cpu as f64,
            off_core: spent.off_core as f64,
            outside: spent.outside as f64,
        };
        sums.scaled(point.factor)
    };
    let at = |point: &Point<'_>| -> Vec<&Told> {
        told.values().flatten().filter(|told| told.point.threads == point.threads).collect()
    };
    let base = &points[0];
    let base_times = sum_of(&at(base), base.threads, serial(base));
    let mut phase = PhaseStack { kind: PhaseKind::Whole, share: 1.0, ..PhaseStack::default() };
    for point in points {
        let phases = at(point);
        let times = sum_of(&phases, point.threads, serial(point));
        let mut then = base_times;
        let mut lone = lone_times(&phases);
        let unseen = base_times.parallel.time <= 0.0 && times.parallel.time > 0.0;
        if unseen {
            // With the fewest threads none were started: what is serial here was so there, and the rest is in parallel.
            let serial = serial(point);
            let rest = |of: fn(&Sums) -> f64| (of(&base_times.serial) - of(&serial)).max(0.0);
            then.parallel = Sums {
                time: rest(|sums| sums.time),
                cpu: rest(|sums| sums.cpu),
                off_core: rest(|sums| sums.off_core),
                outside: rest(|sums| sums.outside),
            };
            then.serial = serial;
            lone.base = then.parallel.cpu;
        }
        if point.threads == base.threads {
            lone = LoneTimes { base: times.parallel.cpu, full: Some(times.parallel.cpu), cache: Some(0.0) };
        }
        let mut missing: Vec<Missing> = Vec::new();
        if point.threads != base.threads {
            let longest = phases.iter().max_by_key(|told| told.point.time);
            missing.extend(
                longest
                    .iter()
                    .flat_map(|told| &told.point.missing)
                    .filter(|m| m.component.is_some())
                    .cloned(),
            );
            let known = |component| match component {
                Component::ExtraWork => lone.full.is_some(),
                Component::Cache | Component::Memory => lone.full.is_some() && lone.cache.is_some(),
                _ => false,
            };
            missing.retain(|missing| missing.component.is_some_and(|component| !known(component)));
            let unmeasured = [Component::ExtraWork, Component::Cache, Component::Memory].into_iter().filter(
                |&component| {
                    !known(component) && !missing.iter().any(|missing| missing.component == Some(component))
                },
            );
            let reason = "Phases with a part of the CPU time that counts were not measured.";
            let unmeasured: Vec<Missing> = unmeasured
                .map(|component| Missing { component: Some(component), reason: reason.to_owned() })
                .collect();
            missing.extend(unmeasured);
        }
        let stack = stack(&then, &times, &lone, measurements.cores, &measurements.order);
        missing.extend(price_of_being_alone(&lone, stack.as_ref()));
        phase.points.push(PhasePoint {
            threads: point.threads,
            time: Nanos::new((times.parallel.time + times.serial.time) as u64),
            instances: 1,
            stack,
            missing,
            alone_share: phases.iter().filter_map(|told| told.point.alone_share).min_by(f64::total_cmp),
            stretch: phases.iter().filter_map(|told| told.point.stretch).min(),
            refill: phases.iter().filter_map(|told| told.point.refill).max_by(f64::total_cmp),
            ..PhasePoint::default()
        });
    }
    let first = phase.points.first().map_or(0.0, |point| point.time.get() as f64 * f64::from(point.threads));
    phase.potential_gain = phase.points.last().map(|last| {
        let gain = last.time.get() as f64 - first / f64::from(last.threads);
        Nanos::new(gain.max(0.0) as u64)
    });
    phase
}

fn sum_of(phases: &[&Told], threads: u32, serial: Sums) -> Times {
    let mut sum = Times { threads, serial, has_cpu: true, ..Times::default() };
    for Told { times, .. } in phases {
        sum.parallel.time += times.parallel.time;
        sum.parallel.cpu += times.parallel.cpu;
        sum.parallel.off_core += times.parallel.off_core;
        sum.parallel.outside += times.parallel.outside;
        sum.longest += times.longest;
        sum.throttled += times.throttled;
        sum.crowded += times.crowded;
        sum.has_cpu &= times.has_cpu;
    }
    sum
}

/// The sums over phases. Those that were not measured count as if threads needed alone what they need together, if that is
/// little enough.
fn lone_times(phases: &[&Told]) -> LoneTimes {
    let all: f64 = phases.iter().map(|told| told.times.parallel.cpu).sum();
    let mut sum = LoneTimes::default();
    let (mut full, mut cache, mut not_full, mut not_cache) = (0.0, 0.0, 0.0, 0.0);
    for Told { times, lone, .. } in phases {
        let cpu = times.parallel.cpu;
        // Of a phase that was not executed with the fewest threads, no time was spent then.
        sum.base += lone.base;
        match lone.full {
            Some(time) => full += time,
            None => {
                full += cpu;
                not_full += cpu;
            }
        }
        match lone.cache {
            Some(time) => cache += time,
            None => not_cache += cpu,
        }
    }
    sum.full = (not_full <= MOST_UNMEASURED * all).then_some(full);
    sum.cache = (not_cache <= MOST_UNMEASURED * all).then_some(cache);
    sum
}
