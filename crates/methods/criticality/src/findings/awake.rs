//! Threads that an OpenMP runtime lets spin while they wait, where cores are scarce: what they use others lack.

use std::collections::BTreeMap;

use holdup_model::figures::percent;
use holdup_model::{Nanos, ObjectId, ThreadId};

use super::{Candidate, Case, Description, main_ones, most_first};
use crate::{FindingKind, Gain};

/// How it is found what it costs: no other finding is so.
pub(super) const METHOD: &str =
    "what was lost for want of a core, by the share of the CPU time that threads used while they waited";

pub(super) fn candidates<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) {
    let awake = &case.losses.awake;
    let taken = awake.taken.total();
    let cost = |lost: Nanos| case.working.cost(lost.get());
    candidates.push(Candidate {
        gain: Some(Gain {
            time: cost(taken),
            // What the late threads lacked themselves, without those that waited for them; and the less spins, the less sure it
            // is that it was in the way.
            low: cost(awake.part_of(awake.taken.own + awake.taken.wake_up)),
            high: cost(awake.wanted).max(cost(taken)),
            expression: String::new(),
            capped_by: None,
        }),
        ..Candidate::new(FindingKind::Spin, taken, describe)
    });
}

fn describe(case: &Case<'_>) -> Description {
    let awake = &case.losses.awake;
    let mut threads: BTreeMap<ThreadId, Nanos> = BTreeMap::new();
    let mut objects: BTreeMap<ObjectId, Nanos> = BTreeMap::new();
    for (&(object, thread), &time) in &awake.spinning {
        *threads.entry(thread).or_default() += time;
        *objects.entry(object).or_default() += time;
    }
    let most = most_first(&objects).first().map(|(object, _)| *object);
    let mostly = most.map(|object| format!(", mostly at {}", case.object(object))).unwrap_or_default();
    let mut evidence = vec![format!(
        "Threads spun for {} while they waited, {} of the CPU time that was recorded; those with work had no core for {} in \
         all, and others waited for these.",
        awake.spun(),
        percent(awake.share()),
        awake.lacked
    )];
    if !case.is_crowded() {
        evidence.push("Where nothing else runs, each of them has a core of its own.".to_owned());
    }
    Description {
        object: None,
        place: most.and_then(|object| case.process.object(object).created_at),
        what: format!("waiting OpenMP threads spin and keep cores from those at work{mostly}"),
        evidence,
        threads: main_ones(&threads),
        hint: "Let waiting threads sleep (OMP_WAIT_POLICY=passive), or start no more of them than there are free cores."
            .to_owned(),
        on_path: None,
        method: METHOD,
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}
