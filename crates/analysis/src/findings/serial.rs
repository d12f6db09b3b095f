//! Serial phases: one thread works, the others do not exist or wait for it. And threads that start late.

use std::collections::BTreeMap;

use holdup_model::{Nanos, ObjectId, SiteId, ThreadId};

use super::{Candidate, Case, Description, Stage, main_ones, most_first};
use crate::FindingKind;
use crate::wording::percent;

#[derive(Default)]
struct Phase {
    lost: Nanos,
    threads: BTreeMap<ThreadId, Nanos>,
    from: BTreeMap<SiteId, Nanos>,
    objects: BTreeMap<Option<ObjectId>, Nanos>,
}

pub(super) fn candidates<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) {
    // Places by their text: one source line may have several call stacks.
    let mut phases: BTreeMap<(Stage, Option<String>), (Option<SiteId>, Phase)> = BTreeMap::new();
    for (key, &lost) in &case.losses.serial {
        let to = key.to.map(|to| case.site(to));
        let (site, phase) = phases.entry((case.stage(key.thread), to)).or_default();
        *site = (*site).or(key.to);
        phase.lost += lost;
        *phase.threads.entry(key.thread).or_default() += lost;
        *phase.objects.entry(key.object).or_default() += lost;
        if let Some(from) = key.from {
            *phase.from.entry(from).or_default() += lost;
        }
    }
    for (_, (to, phase)) in phases {
        candidates
            .push(Candidate::new(FindingKind::Serial, phase.lost, move |case| describe(case, to, &phase)));
    }
    candidates.push(Candidate::new(FindingKind::Startup, case.losses.startup, describe_startup));
}

fn describe(case: &Case<'_>, to: Option<SiteId>, phase: &Phase) -> Description {
    let threads = main_ones(&phase.threads);
    let who = case.threads(&threads);
    let from = most_first(&phase.from).first().map(|(site, _)| *site);
    let span = match (from.map(|site| case.site(site)), to.map(|site| case.site(site))) {
        (Some(from), Some(to)) if from == to => format!(" between two calls in {to}"),
        (Some(from), Some(to)) => format!(" from {from} to {to}"),
        (Some(from), None) => format!(" from {from} on"),
        (None, Some(to)) => format!(" up to {to}"),
        (None, None) => String::new(),
    };
    let alone: Nanos = threads.iter().map(|thread| case.blame.alone[thread.index()]).sum();
    let object = most_first(&phase.objects).first().and_then(|(object, _)| *object);
    let meanwhile = match object {
        Some(object) => format!("the others wait on {}", case.object(object)),
        None => "the others have not started or have ended".to_owned(),
    };
    Description {
        object,
        place: to.or(from).or_else(|| threads.first().and_then(|&thread| case.entry(thread))),
        what: format!("only {who} at work{span}"),
        evidence: vec![format!(
            "{} the only active thread for {alone} ({} of the time); {meanwhile}.",
            if threads.len() > 1 { "One of them is" } else { "It is" },
            percent(alone.share_of(case.wall()))
        )],
        threads,
        hint: "Share this work out among the threads, do it while they work on something else, or make it \
               shorter."
            .to_owned(),
        on_path: None,
        method: "time in which one thread was active and the others waited for it or did not exist",
        notes: Vec::new(),
    }
}

fn describe_startup(case: &Case<'_>) -> Description {
    let main = ThreadId::new(0);
    let late: BTreeMap<ThreadId, Nanos> = case
        .working
        .threads
        .iter()
        .map(|&thread| (thread, case.timeline.row(thread).start.since(case.timeline.start)))
        .collect();
    let latest = most_first(&late).first().copied();
    let place = latest.and_then(|(thread, _)| case.process.thread(thread).created_at);
    let at = place.map(|place| format!(" in {}", case.site(place))).unwrap_or_default();
    Description {
        object: None,
        threads: vec![main],
        place,
        what: format!("threads started late{at}"),
        evidence: latest
            .map(|(thread, after)| {
                format!("The last to start, {}, started {after} after the program.", case.threads(&[thread]))
            })
            .into_iter()
            .collect(),
        hint: "Start all threads before the first work, or keep threads instead of starting new ones."
            .to_owned(),
        on_path: None,
        method: "time in which threads were not there, while the main thread worked beside others",
        notes: Vec::new(),
    }
}
