//! Too few cores, or none at the moment: oversubscription, other delays, and wake-ups.

use std::collections::BTreeMap;

use holdup_model::figures::times;
use holdup_model::{Nanos, ObjectId, ObjectKind, SiteId, State, ThreadId};

use super::{Candidate, Case, Description, main_ones};
use crate::FindingKind;
use crate::scarcity::Want;
use crate::tree::cpu_of;
use crate::wording::mean;

pub(super) fn candidates<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) {
    let cores = &case.losses.cores;
    if !case.scarcity.is_by_affinity() {
        let lost = cores.crowded.total();
        candidates.push(Candidate::new(FindingKind::Oversubscription, lost, describe_oversubscription));
    }
    candidates.push(Candidate::new(FindingKind::Delayed, cores.other.total(), describe_delayed));
    for (&object, &lost) in &case.losses.wake_up {
        candidates
            .push(Candidate::new(FindingKind::WakeUp, lost, move |case| describe_wake_up(case, object)));
    }
}

/// Working threads by the time for which they lacked a core.
pub(super) fn delayed_threads(case: &Case<'_>) -> Vec<ThreadId> {
    let delayed: BTreeMap<ThreadId, Nanos> = case
        .working
        .threads
        .iter()
        .map(|&thread| (thread, case.times[thread.index()].delayed + case.times[thread.index()].descheduled))
        .collect();
    main_ones(&delayed)
}

pub(super) fn started_at(case: &Case<'_>, threads: &[ThreadId]) -> Option<SiteId> {
    threads.iter().find_map(|&thread| {
        let thread = case.process.thread(thread);
        thread.created_at.or(thread.entry)
    })
}

/// What each thread lost for a want of cores, as a sentence.
pub(super) fn each_lost(case: &Case<'_>, want: &Want) -> String {
    let each = |time: Nanos| case.working.cost(time.get());
    let parts: Vec<String> = [
        (want.own, "able to run without a core"),
        (want.wake_up, "woken but not yet running"),
        (want.late, "waiting for such threads"),
    ]
    .into_iter()
    .filter(|(time, _)| *time > Nanos::ZERO)
    .map(|(time, what)| format!("{} {what}", each(time)))
    .collect();
    format!("On average each thread was {}.", parts.join(", "))
}

/// From so many times as many threads as are at work at once on, threads come one after the other.
const GENERATIONS: usize = 4;

fn describe_oversubscription(case: &Case<'_>) -> Description {
    let threads = delayed_threads(case);
    let workers = case.working.at_once;
    let cores = case.working.cores;
    let shared = if cores == 1 { "1 core".to_owned() } else { format!("{cores} cores") };
    let place = started_at(case, &threads);
    let teams_are_larger = case.process.openmp.regions.iter().any(|region| region.size > cores);
    let started = case.working.threads.len();
    let fewer = if started >= GENERATIONS * workers as usize {
        format!(
            "Keep {cores} threads and hand them more work, instead of starting new ones ({started} did work)"
        )
    } else if teams_are_larger {
        format!(
            "Set OMP_NUM_THREADS={cores}, or OMP_THREAD_LIMIT={cores} where the program asks for a number of its own (holdup \
             scale measures with several)"
        )
    } else {
        format!("Start no more working threads than cores ({cores})")
    };
    Description {
        object: None,
        place,
        what: format!("{workers} threads share {shared}"),
        evidence: vec![each_lost(case, &case.losses.cores.crowded)],
        threads,
        hint: format!("{fewer}, or give the program more cores."),
        on_path: None,
        method: "wall time less CPU time of active threads, up to what the threads beyond the number of cores lack",
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}

fn describe_delayed(case: &Case<'_>) -> Description {
    let threads = delayed_threads(case);
    let lacking = case.losses.cores.other.total();
    let (by, hint) = if case.scarcity.is_by_siblings(lacking, cpu_of(case.process), case.process.wall()) {
        ("other processes of the run", "Start fewer of them at once, or give the run more cores.")
    } else {
        (
            "something outside of the program",
            "Look for other programs on these cores, swapping, page faults, or blocking calls that are not recorded.",
        )
    };
    let cores = match case.working.cores {
        0 => String::new(),
        cores => format!(" The program may use {cores} and has {} at work at once.", case.working.at_once),
    };
    Description {
        object: None,
        place: None,
        what: format!("threads delayed by {by}"),
        evidence: vec![format!(
            "Each of them was active for {} without a core, on average, and waited {} for others that were.{cores}",
            case.working.cost(case.losses.cores.other.own.get()),
            case.working.cost(case.losses.cores.other.late.get())
        )],
        threads,
        hint: hint.to_owned(),
        on_path: None,
        method: "wall time less CPU time of active threads",
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}

/// How threads can be woken less often that wait for an object of this kind. Where there are more threads than cores, those that spin
/// keep others from running.
fn wait_less_often(kind: Option<ObjectKind>, is_crowded: bool) -> &'static str {
    match kind {
        Some(ObjectKind::Barrier) if is_crowded => {
            "Do more work between two barriers, or start no more threads than cores."
        }
        Some(kind) if kind.is_lock() && is_crowded => {
            "Take it less often (in batches), or start no more threads than cores."
        }
        Some(ObjectKind::Team | ObjectKind::TeamStart) if is_crowded => {
            "Have fewer and longer parallel regions, or no more threads than cores."
        }
        Some(ObjectKind::Barrier) => {
            "Do more work between two barriers, or let threads spin for a moment before they sleep there."
        }
        Some(kind) if kind.is_lock() => {
            "Take it less often (in batches), or let threads spin for a moment before they sleep (an adaptive mutex)."
        }
        Some(ObjectKind::ThreadEnd) => {
            "Start threads less often: give those that there are the next piece of work."
        }
        Some(ObjectKind::Team | ObjectKind::TeamStart) => {
            "Have fewer and longer parallel regions, or let threads spin between them (OMP_WAIT_POLICY=active)."
        }
        _ => "Wait less often: hand on more at once, or keep the waiting threads at work.",
    }
}

fn describe_wake_up(case: &Case<'_>, object: Option<ObjectId>) -> Description {
    let mut by_thread: BTreeMap<ThreadId, Nanos> = BTreeMap::new();
    let mut count = 0;
    for &thread in &case.working.threads {
        for segment in &case.timeline.row(thread).segments {
            if segment.state == State::Waking && segment.object == object {
                *by_thread.entry(thread).or_default() += segment.length();
                count += 1;
            }
        }
    }
    let cost = object.and_then(|object| case.object_cost(object));
    let total: Nanos = by_thread.values().copied().sum();
    let mut evidence = vec![match count {
        // All that was lost is what others waited for them.
        0 => "Others waited for threads that had been started or woken, and did not run yet.".to_owned(),
        _ => format!("Threads were woken {}, and ran {} later on average.", times(count), mean(total, count)),
    }];
    // Who runs late as it was started.
    let short_lives = match object {
        None => super::short_lives::started_by(case, |_| true),
        Some(_) => None,
    };
    let place = match &short_lives {
        Some(short) => short.place,
        None => cost.and_then(|cost| cost.waiters.first()?.site.or(cost.place)),
    };
    let of = match (object, &short_lives) {
        (Some(object), _) => format!(" after waits for {}", case.object(object)),
        (None, Some(_)) => " of threads that are started over and over".to_owned(),
        (None, None) => String::new(),
    };
    let woken = if short_lives.is_some() { "" } else { ", woken" };
    let at = place.map(|place| format!("{woken} in {}", case.site(place))).unwrap_or_default();
    evidence.extend(short_lives.iter().map(|short| short.evidence.clone()));
    let lock = object.filter(|object| case.role(*object).is_lock());
    evidence.extend(lock.and_then(|lock| super::lock::done_by_holders(case, lock)));
    let on_path = case.path.steps.iter().filter(|step| step.state == State::Waking);
    Description {
        object,
        threads: main_ones(&by_thread),
        place,
        what: format!("wake-ups{of}{at}"),
        evidence,
        hint: match short_lives {
            Some(_) => super::short_lives::HINT.to_owned(),
            None => wait_less_often(object.map(|object| case.role(object)), case.is_crowded()).to_owned(),
        },
        on_path: Some(on_path.map(|step| step.time).sum()),
        method: "time from the release of a waiting thread until it ran, less what lack of cores explains",
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}
