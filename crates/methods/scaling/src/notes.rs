//! What to beware of when reading how a program scales.

use holdup_model::figures::{self, percent, threads};
use holdup_model::{Nanos, Process};

use super::RegionKind;
use super::chosen::Chosen;
use super::point::Point;
use super::profile::{Key, Profile};
use super::team::Part;

/// Recorded times may be this much longer than plain ones before that is said.
const LARGEST_COST: f64 = 0.05;

/// Less than this share of the time in regions recorded whole is worth saying.
const LEAST_WHOLE: f64 = 0.05;

/// More than this share of the time without a core, with fewer threads than cores, is worth saying.
const LEAST_OTHERS: f64 = 0.05;

/// `is_busy`: that others used the CPUs is said above all else.
pub(super) fn notes(points: &[Point<'_>], cores: u32, is_busy: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if let [only] = points {
        notes.push(format!(
            "Only one number of threads ({}) was measured: how the program scales shows at two or more.",
            only.threads()
        ));
    }
    for point in points {
        of_runs(&point.chosen, &mut notes);
        of_recording(point, &mut notes);
    }
    let over: Vec<String> = points
        .iter()
        .filter(|point| cores > 0 && point.threads() > cores)
        .map(|point| point.threads().to_string())
        .collect();
    if !over.is_empty() {
        notes.push(format!(
            "The program may use {} at a time: more threads than that ({}) take turns, which is no scaling.",
            figures::cpus(f64::from(cores)),
            over.join(", ")
        ));
    }
    if !is_busy {
        of_others(points, cores, &mut notes);
    }
    of_processes(points, &mut notes);
    of_work(points, &mut notes);
    of_teams(points, &mut notes);
    notes
}

/// With a core for each thread it was others that used them.
fn of_others(points: &[Point<'_>], cores: u32, notes: &mut Vec<String>) {
    for point in points.iter().filter(|point| point.threads() <= cores) {
        let share = point.costs.share(Part::Oversubscription);
        if share >= LEAST_OTHERS {
            notes.push(format!(
                "With {} threads had no core for {} of the time though there are enough: other programs used them, or \
                 more threads of this one than it was told. Measure again when nothing else runs.",
                threads(point.threads()),
                percent(share)
            ));
        }
    }
}

fn of_runs(chosen: &Chosen<'_>, notes: &mut Vec<String>) {
    let at = threads(chosen.threads);
    if chosen.failed {
        notes.push(format!("With {at} every run failed: what was recorded until then is shown."));
    } else if chosen.left_out > 0 {
        notes.push(format!(
            "With {at} {} left out: it failed, or nothing of it was recorded.",
            if chosen.left_out == 1 {
                "1 run is".to_owned()
            } else {
                format!("{} runs are", chosen.left_out)
            }
        ));
    }
    let mut plain: Vec<Nanos> = chosen.plain.iter().copied().filter(|time| *time > Nanos::ZERO).collect();
    plain.sort_unstable();
    let Some(&middle) = plain.get(plain.len().saturating_sub(1) / 2) else { return };
    let recorded = chosen.runs[chosen.median()].wall();
    if recorded.get() as f64 > (1.0 + LARGEST_COST) * middle.get() as f64 {
        notes.push(format!(
            "With {at} recording changed the run: {recorded} recorded, {middle} without. Losses are those of the recorded \
             run."
        ));
    }
}

fn of_recording(point: &Point<'_>, notes: &mut Vec<String>) {
    let at = threads(point.threads());
    let profiles = point.median();
    let process = process(point);
    let lost = process.lost.all_events();
    if lost > 0 {
        notes.push(format!("With {at} {lost} events were lost: what is told of regions may be too little."));
    }
    if profiles.damaged > 0 {
        notes.push(format!(
            "With {at} parts of {} are missing: other executions stand for them.",
            executions(profiles.damaged)
        ));
    }
    if profiles.open > 0 {
        notes.push(format!(
            "With {at} the process ended inside of a parallel region: {} counted until then.",
            if profiles.open == 1 { "it is" } else { "they are" }
        ));
    }
    if profiles.several_masters {
        notes.push(format!(
            "With {at} several threads met parallel regions: those of the busiest one count for the whole program, the \
             others' are shown beside them."
        ));
    }
    if let Some(untold) = process.openmp.runtimes.iter().find(|runtime| !runtime.told) {
        notes.push(format!(
            "With {at} regions of {} could not be seen: another tool is attached to it, or it takes none.",
            untold.vendor.word()
        ));
    }
    let parallel = profiles.by_key.values().filter(|profile| profile.kind == RegionKind::Parallel);
    let (mut whole, mut all) = (0u64, 0u64);
    for profile in parallel.filter(|profile| !profile.nested) {
        whole += profile.whole_time;
        all += profile.time;
    }
    let share = whole as f64 / all.max(1) as f64;
    if all > 0 && share < LEAST_WHOLE {
        notes.push(format!(
            "With {at} {} of the time in parallel regions was recorded whole, and stands for the rest.",
            percent(share)
        ));
    }
}

fn executions(count: u64) -> String {
    if count == 1 { "1 execution of a region".to_owned() } else { format!("{count} executions of regions") }
}

fn process<'a>(point: &Point<'a>) -> &'a Process {
    point.chosen.runs[point.chosen.median()].process
}

fn of_processes(points: &[Point<'_>], notes: &mut Vec<String>) {
    let Some(last) = points.last() else { return };
    let run = last.chosen.runs[last.chosen.median()].run;
    let others = run.processes.len().saturating_sub(1);
    if others > 0 {
        let command = process(last).command.first().map_or("the busiest one", String::as_str);
        notes.push(format!(
            "The program started {} more: only {command} is looked at here.",
            if others == 1 { "1 process".to_owned() } else { format!("{others} processes") }
        ));
    }
    let has_openmp = |point: &Point<'_>| !process(point).openmp.regions.is_empty();
    if points.iter().any(has_openmp) && !points.iter().all(has_openmp) {
        notes.push("Parallel regions were seen at some numbers of threads and not at others.".to_owned());
    }
}

/// Losses compare the same work: it is said where it changes with the number of threads.
fn of_work(points: &[Point<'_>], notes: &mut Vec<String>) {
    let Some((base, last)) = points.first().zip(points.last()) else { return };
    for (key, here) in &last.median().by_key {
        let Some(then) = base.median().by_key.get(key).filter(|_| key.kind == RegionKind::Parallel) else {
            continue;
        };
        let (count, before) = (here.instances, then.instances);
        if count != before {
            notes.push(format!(
                "{} is executed {} with {}, and {} with {}: more CPU time there may be more work.",
                name(key, here),
                figures::times(before),
                threads(base.threads()),
                figures::times(count),
                threads(last.threads())
            ));
            continue;
        }
        let (now, before) = (iterations(here), iterations(then));
        if let Some((now, before)) =
            now.zip(before).filter(|(now, before)| (now - before).abs() > 0.01 * before)
        {
            notes.push(format!(
                "The loops of {} have {before:.0} iterations with {}, and {now:.0} with {}: more CPU time there may be \
                 more work.",
                name(key, here),
                threads(base.threads()),
                threads(last.threads())
            ));
        }
    }
}

/// Iterations of all loops in one execution, where they are known.
fn iterations(profile: &Profile) -> Option<f64> {
    let counted = profile.evidence.loops.values().filter(|sums| sums.counted > 0);
    let sum: u64 = counted.map(|sums| sums.iterations).sum();
    (sum > 0).then(|| sum as f64 / profile.whole.max(1) as f64)
}

fn name(key: &Key, profile: &Profile) -> String {
    let place = profile.place.as_ref().and_then(|site| site.place());
    let nested = if key.nested { "nested region" } else { "region" };
    place.map_or_else(
        || format!("A {nested} without a name"),
        |frame| format!("The {nested} {}", frame.name()),
    )
}

/// Regions whose teams are not of the size that the program was told to use.
fn of_teams(points: &[Point<'_>], notes: &mut Vec<String>) {
    let Some(last) = points.last().filter(|last| last.threads() > 1) else { return };
    let told = f64::from(last.threads());
    let regions = last.median().by_key.values().filter(|profile| super::compare::is_parallel(profile.kind));
    let (mut time, mut other) = (0u64, 0u64);
    for profile in regions.filter(|profile| !profile.nested) {
        time += profile.time;
        if (profile.team() - told).abs() > 0.25 * told {
            other += profile.time;
        }
    }
    if other as f64 > 0.1 * time.max(1) as f64 {
        notes.push(format!(
            "With {} {} of the time in parallel is in teams of another size: the program may not obey the number that it \
             is given.",
            threads(last.threads()),
            percent(other as f64 / time.max(1) as f64)
        ));
    }
    if time == 0 && points.len() > 1 {
        notes.push(
            "No parallel region and no section of several threads was seen: the program may not obey the number of \
             threads that it is given."
                .to_owned(),
        );
    }
}
