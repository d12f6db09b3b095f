//! Work that is handed on in pieces so small that to lock, to signal and to wake takes as long as the work itself.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::figures::{grouped, percent};
use holdup_model::{Nanos, ObjectId, ObjectKind, Site};

use super::lock_code::{is_in, takes_or_releases};
use super::uncontended::{Taking, taken};
use super::{Candidate, Case, Description};
use crate::{FindingKind, Gain};

/// Beside those that take and release locks.
const FUNCTIONS: &[&str] = &[
    "pthread_mutex_cond_lock",
    "pthread_cond_",
    "cnd_",
    "sem_post",
    "sem_wait",
    "lll_lock_wa",
    "futex_",
    "std::sys::sync::",
    "parking_lot",
];

/// With fewer samples in them nothing is said.
const FEWEST_SAMPLES: u64 = 20;
/// Of the active time.
const LEAST_SHARE: f64 = 0.25;
/// Of the time in these functions: what has as much of it at the functions of one lock is a matter of that.
const ONE_LOCKS: f64 = 0.6;

/// What larger pieces save at least, likely, and at most, as parts of the time in these functions: some of it is left however large they
/// are. Likely the waits for locks go with it, and at most all waits for what is handed on.
const PARTS: [f64; 3] = [0.4, 0.8, 1.2];

const HINT: &str = "Hand on larger pieces of work: take a lock, and wake a thread, once for several of them.";

pub(super) fn candidates<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) {
    let taking = Taking::of(case, |site: &Site| takes_or_releases(site) || is_in(site, FUNCTIONS));
    let lost = taking.lost(case);
    let active: Nanos = case.times.iter().map(|times| times.active).sum();
    let is_little = taking.samples < FEWEST_SAMPLES || lost.share_of(active) < LEAST_SHARE;
    let waited = Waited::of(case);
    if is_little || waited.wakes == 0 || is_one_locks(case, &taking) {
        return;
    }
    let code = case.gain_of_work(lost, PARTS);
    // No larger pieces make the work itself shorter.
    let most = case.wall().saturating_sub(case.gain_of_work(active.saturating_sub(lost), [1.0; 3]).time);
    let time = (code.time + waited.for_locks).min(most);
    let high = (code.high + waited.for_locks + waited.for_wakes).min(most);
    let low = code.low.min(most);
    let mut candidate = Candidate::new(FindingKind::Lock, lost, move |case| describe(case, &taking));
    candidate.gain = Some(Gain { low, time, high, ..code });
    candidate.is_work = true;
    candidates.push(candidate);
}

/// What threads lose that wait for locks, and for others to hand something on.
#[derive(Default)]
struct Waited {
    for_locks: Nanos,
    for_wakes: Nanos,
    wakes: u64,
}

impl Waited {
    fn of(case: &Case<'_>) -> Self {
        let mut waited = Self::default();
        for cost in case.objects {
            match case.role(cost.object) {
                role if role.is_lock() => waited.for_locks += cost.cost,
                ObjectKind::Condition | ObjectKind::Semaphore => {
                    waited.for_wakes += cost.cost;
                    waited.wakes += cost.waits;
                }
                _ => {}
            }
        }
        waited
    }
}

/// True if most of it is in functions that take one lock, for which threads wait.
fn is_one_locks(case: &Case<'_>, taking: &Taking) -> bool {
    let mut by_function: BTreeMap<&str, Nanos> = BTreeMap::new();
    for (&place, &time) in &taking.places {
        if let Some(function) = case.function_of(place) {
            *by_function.entry(function).or_default() += time;
        }
    }
    let is_most = |lock: ObjectId| {
        let functions: BTreeSet<&str> = case.functions_of(lock);
        let own: Nanos = functions.iter().filter_map(|function| by_function.get(function)).copied().sum();
        own.share_of(taking.time()) >= ONE_LOCKS
    };
    let locks = case.losses.locks.keys().map(|(lock, _)| *lock);
    locks.filter(|&lock| case.role(lock).is_lock()).any(is_most)
}

fn describe(case: &Case<'_>, taking: &Taking) -> Description {
    let time = taking.time();
    let active: Nanos = case.times.iter().map(|times| times.active).sum();
    let in_kernel = match taking.in_kernel {
        0 => String::new(),
        count => format!(", {} of them in the kernel", grouped(count)),
    };
    let mut evidence = vec![format!(
        "{} samples{in_kernel}, {} of the active time, are in functions that lock, signal, wake and wait.",
        grouped(taking.samples),
        percent(time.share_of(active))
    )];
    evidence.extend(taken(case));
    let what = "work handed on in small pieces: locking and waking threads takes time";
    taking.description(
        case,
        what,
        evidence,
        HINT,
        "samples of threads at work in functions that lock, signal and wake",
    )
}
