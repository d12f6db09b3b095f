//! Locks: the algorithm's time, and the contention's (paper 5, section 3.3).

use holdup_model::ObjectKind;
use holdup_model::figures::percent;

use super::{Case, Gain, shown};
use crate::locks::LockUse;
use crate::team::Part;
use crate::{Hint, HintKind};

/// What is done under a lock is short where a thread comes back to it (or holds it) within this time (ns): then an
/// atomic operation may do.
const SHORT: f64 = 250.0;

/// Locks that have to be waited for more often than this are wanted by many at once.
const OFTEN: f64 = 0.1;

pub(super) fn hints(case: &Case<'_>) -> Vec<Hint> {
    let mut hints = Vec::new();
    for lock in &case.profile().locks {
        algorithm(case, lock, &mut hints);
        contention(case, lock, &mut hints);
    }
    if case.profile().locks.is_empty() {
        hints.extend(other_locks(case));
    }
    hints
}

fn noun(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Critical => "critical section",
        kind => kind.word(),
    }
}

fn algorithm(case: &Case<'_>, lock: &LockUse, hints: &mut Vec<Hint>) {
    let places = case.here().costs.places;
    let lock_cost = lock.cost();
    let cost = lock_cost.algorithm / places;
    if !case.is_worth(cost) {
        return;
    }
    let each = lock_cost.algorithm / lock.acquisitions.max(1) as f64;
    let at = case.at_place(lock.place);
    let acquisitions = lock.acquisitions;
    let what = format!(
        "The {}{at} is acquired {acquisitions} times, and each takes {} though nobody else has it: {} ({} of the \
         region).",
        noun(lock.kind),
        shown(each),
        shown(cost),
        percent(cost / case.here().costs.time.max(1.0)),
    );
    let between = case.here().costs.useful.map(|useful| useful / acquisitions.max(1) as f64);
    let held = held(case, lock.kind).or(between);
    if let Some(held) = held.filter(|&held| held <= SHORT) {
        let text = format!(
            "{what} What it protects takes {} at most: if that is one operation on one variable, write atomic.",
            shown(held)
        );
        let all = lock_cost.total() / places;
        hints.push(case.hint(HintKind::Atomic, lock.place, text, without_algorithm(all)));
    }
    let (kind, advice) = if lock.kind == ObjectKind::OmpLock {
        (
            HintKind::LockHint,
            "Say that it is not contended (omp_init_lock_with_hint), or acquire it less often.",
        )
    } else {
        (
            HintKind::LockHint,
            "Enter it less often, or say that it is not contended (hint(omp_sync_hint_uncontended)).",
        )
    };
    let gain = without_algorithm(cost);
    hints.push(case.hint(kind, lock.place, format!("{what} {advice}"), gain));
}

/// What the time for acquiring a free lock says of the gain. Releasing it takes about as long and is not measured, and what
/// takes its place is not free: from half of it to two and a half times of it.
fn without_algorithm(cost: f64) -> Gain {
    Gain::predicted(
        cost,
        0.5 * cost,
        2.5 * cost,
        "time for acquiring; releasing and what replaces it are not measured",
    )
}

/// How long locks of this kind are held on average (ns), where holds were timed.
fn held(case: &Case<'_>, kind: ObjectKind) -> Option<f64> {
    let uses = case.process.uses.iter().filter(|used| case.process.object(used.object).kind == kind);
    let (mut holds, mut time) = (0u64, 0u64);
    for used in uses {
        holds += used.timed_holds;
        time += used.timed_hold.get();
    }
    (holds > 0).then(|| time as f64 / holds as f64)
}

fn contention(case: &Case<'_>, lock: &LockUse, hints: &mut Vec<Hint>) {
    // Fast acquisitions that take longer than the fastest are no reason to wait less.
    let cost = lock.cost().contention.min(lock.waited) / case.here().costs.places;
    if !case.is_worth(cost) {
        return;
    }
    let (acquisitions, waits) = (lock.acquisitions, lock.waits);
    let what = format!(
        "Threads wait {} ({} of the region) for each other at the {}{}: {waits} of {acquisitions} acquisitions had to.",
        shown(cost),
        percent(cost / case.here().costs.time.max(1.0)),
        noun(lock.kind),
        case.at_place(lock.place),
    );
    let text =
        format!("{what} Hold it shorter, or split what it protects so that fewer threads want it at once.");
    let gain = Gain::at_most(cost, 0.0, "all waiting for this lock");
    hints.push(case.hint(HintKind::FewerConcurrent, lock.place, text, gain));
    if waits as f64 > OFTEN * acquisitions as f64 {
        let text = format!(
            "{what} A lock that is handed on in order (a queue lock, as MCS) costs less where so many want it \
             (hint omp_sync_hint_contended)."
        );
        hints.push(case.hint(HintKind::QueueLock, lock.place, text, Gain::unknown("by the share of waits")));
    }
}

/// Locks that are not OpenMP's.
fn other_locks(case: &Case<'_>) -> Option<Hint> {
    let cost = case.cost(Part::LockContention);
    if !case.is_worth(cost) {
        return None;
    }
    let text = format!(
        "Threads wait {} ({} of their time) for locks that others have. Hold them shorter, or split what they protect; \
         holdup report on the run names each lock.",
        shown(cost),
        percent(cost / case.here().costs.time.max(1.0))
    );
    Some(case.hint(
        HintKind::FewerConcurrent,
        None,
        text,
        Gain::at_most(cost, case.doubt(), "all waiting for locks"),
    ))
}
