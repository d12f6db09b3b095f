//! What to beware of when reading a measured speedup stack.

use holdup_model::Nanos;
use holdup_model::figures::{percent, threads};
use holdup_sections::has_failed;

use super::point::Point;
use super::{Component, Measurements, PhaseKind, PhaseStack, SpeedupProfile};

/// Recorded times may be this much longer than plain ones before that is said.
const LARGEST_COST: f64 = 0.05;

/// Filling the cache anew may be this share of a lone thread's time before that is said.
const LARGEST_REFILL: f64 = 0.03;

/// Stretches shorter than that are said to be short where it is not known how fast a cache fills: 8 MB at 4 GB/s.
const SHORT: Nanos = Nanos::new(2_000_000);

pub(super) fn of(
    measurements: &Measurements<'_>,
    points: &[Point<'_>],
    profile: &SpeedupProfile,
) -> Vec<String> {
    let (mut notes, phases) = (Vec::new(), &profile.phases);
    let Some(base) = points.first() else { return notes };
    if let [only] = points {
        notes.push(format!(
            "Only one number of threads ({}) was measured: how the program scales shows at two or more.",
            only.threads
        ));
    } else if base.threads != 1 {
        notes.push(format!(
            "The fewest threads are {}: scaling up to there is taken to be perfect, and what is lost there already is not \
             told.",
            base.threads
        ));
    }
    for point in points {
        let at = threads(point.threads);
        if has_failed(point.recorded.main.run) {
            notes.push(format!("The recorded run with {at} failed: what was recorded until then is shown."));
        }
        if point.factor < 1.0 / (1.0 + LARGEST_COST) {
            notes.push(format!(
                "With {at} the recorded run took {} longer than plain ones: its times are scaled to theirs.",
                percent(1.0 / point.factor - 1.0)
            ));
        }
        if point.plain.is_empty() {
            notes.push(format!("With {at} there was no run without recording: times are recorded ones."));
        }
    }
    notes.extend(profile.noise.map(|noise| {
        let of = if noise.of_alone {
            "CPU times alone of threads that do the same"
        } else {
            "Plain runs with as many threads"
        };
        format!(
            "{of} differ by up to {}: parts of less than {:.2} of the speedup mean nothing.",
            percent(noise.share),
            noise.speedup
        )
    }));
    notes.extend(more_than_told(measurements, points));
    let over: Vec<String> = points
        .iter()
        .filter(|point| measurements.cores > 0 && point.threads > measurements.cores)
        .map(|point| point.threads.to_string())
        .collect();
    if !over.is_empty() {
        notes.push(format!(
            "The program may use {}: more threads than that ({}) take turns.",
            holdup_model::figures::cpus(f64::from(measurements.cores)),
            over.join(", ")
        ));
    }
    if phases.iter().all(|phase| phase.kind == PhaseKind::Whole) {
        notes.push(
            "No parallel region and no time with several threads was seen: the program may not obey the number of threads \
             that it is given."
                .to_owned(),
        );
    } else if base.recorded.phases.is_empty() {
        notes.push(format!(
            "With {} the program started no threads: what is serial with more is taken to be so there, and the rest to be \
             the same work.",
            threads(base.threads)
        ));
    }
    if !measurements.order.is_default() {
        notes.push(
            "Components are introduced in another order than usual: what each adds to the time is as it was measured in the \
             usual order (memory with shared caches, synchronization last)."
                .to_owned(),
        );
    }
    of_running_alone(phases, &mut notes);
    notes
}

/// Programs that start more threads than they are told to use.
fn more_than_told(measurements: &Measurements<'_>, points: &[Point<'_>]) -> Option<String> {
    let point = points.iter().rfind(|point| point.threads <= measurements.cores)?;
    let at_once = point.recorded.at_once;
    (at_once > measurements.cores).then(|| {
        format!(
            "With {} the program had up to {at_once} threads at work at once: more than the {} that it may use.",
            threads(point.threads),
            holdup_model::figures::cpus(f64::from(measurements.cores))
        )
    })
}

fn of_running_alone(phases: &[PhaseStack], notes: &mut Vec<String>) {
    let points =
        || phases.iter().filter(|phase| phase.kind != PhaseKind::Whole).flat_map(|phase| &phase.points);
    let groups = || points().flat_map(|point| &point.groups);
    if groups().any(|group| group.takes_over) {
        notes.push(
            "Work is dealt out while the program runs, and a thread that is alone takes over what others would have done: \
             its times are for a unit of work where units are known, else its share of the CPU time of all."
                .to_owned(),
        );
    }
    let refill = points().filter_map(|point| point.refill).max_by(f64::total_cmp);
    let shortest = points().filter_map(|point| point.stretch).min();
    match (refill, shortest) {
        (Some(refill), Some(stretch)) if refill > LARGEST_REFILL => notes.push(format!(
            "A lone thread goes on for {stretch} until it has to wait: what the others evict from the cache while they catch \
             up is up to {} of its time, and makes extra work and cache look larger than they are.",
            percent(refill)
        )),
        (None, Some(stretch)) if stretch < SHORT => notes.push(format!(
            "A lone thread goes on for {stretch} until it has to wait: the others evict from the cache while they catch up, \
             which makes extra work and cache look larger than they are."
        )),
        _ => {}
    }
    let told = phases.iter().flat_map(|phase| &phase.points).filter_map(|point| point.stack.as_ref());
    let unlikely = told.filter_map(|stack| stack.get(Component::Memory)).map(|memory| memory.value());
    if unlikely.fold(0.0, f64::min) < -0.1 {
        notes.push(
            "Memory has a negative component: all together threads needed less CPU time than alone with a share of the cache, \
             as where they share data, or where what was measured is noisy."
                .to_owned(),
        );
    }
}
