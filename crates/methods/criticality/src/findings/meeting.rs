//! Where threads meet: barriers and joins, and those who come late.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::figures::{percent, times};
use holdup_model::{EdgeKind, Nanos, ObjectId, ObjectKind, SiteId, ThreadId, Time};

use super::executed::Executed;
use super::{Candidate, Case, Description, Stage, main_ones, most_first};
use crate::FindingKind;
use crate::blame::{Charge, Spans};
use crate::wording::{mean, meanwhile};

/// A barrier's cost is an imbalance if the latest thread has this many times the share of it that it would have
/// if all came last equally often.
const UNEVEN: f64 = 1.5;

type ByThread = BTreeMap<ThreadId, Nanos>;

pub(super) fn candidates<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) {
    barriers(case, candidates);
    joins(case, candidates);
}

fn barriers<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) {
    let mut barriers: BTreeMap<ObjectId, (Charge, ByThread)> = BTreeMap::new();
    for (&(object, thread), charge) in &case.losses.barriers {
        let (total, late) = barriers.entry(object).or_default();
        total.merge(charge);
        if let Some(thread) = thread {
            *late.entry(thread).or_default() += charge.total();
        }
    }
    for (object, (charge, late)) in barriers {
        let parties = parties(case, object);
        let most = late.values().copied().max().unwrap_or(Nanos::ZERO);
        let is_uneven = most.share_of(charge.total()) * f64::from(parties) >= UNEVEN;
        let kind = if is_uneven { FindingKind::Imbalance } else { FindingKind::Barrier };
        candidates.push(Candidate::new(kind, charge.total(), move |case| {
            describe_barrier(case, kind, object, &charge, &late, parties)
        }));
    }
}

fn parties(case: &Case<'_>, object: ObjectId) -> u32 {
    let waiters = case.object_cost(object).map_or(0, |cost| {
        let threads: BTreeSet<ThreadId> = cost.waiters.iter().map(|waiter| waiter.thread).collect();
        threads.len() as u32
    });
    case.process.object(object).parties.unwrap_or(waiters).max(2)
}

fn describe_barrier(
    case: &Case<'_>,
    kind: FindingKind,
    object: ObjectId,
    charge: &Charge,
    late: &ByThread,
    parties: u32,
) -> Description {
    let rounds = Rounds::of(case, object);
    let threads = rounds.latest(later_than_most(late, parties), parties);
    let latest = threads.first().copied();
    let cost = case.object_cost(object);
    let place = latest
        .and_then(|latest| arrives_at(case, object, latest))
        .or_else(|| cost.and_then(|cost| cost.place));
    let name = case.object(object);
    let is_late = kind == FindingKind::Imbalance;
    let executed = case.executed_while_waited_for(&main_ones(late), [Some(object)]).filter(|_| is_late);
    // What has no name and was made nobody knows where is known by where its threads meet.
    let facts = case.process.object(object);
    let is_unnamed = facts.name.is_none() && facts.created_at.is_none() && facts.construct.is_none();
    let meets_in = place.filter(|_| is_unnamed && executed.is_some());
    let name = meets_in.map_or(name.clone(), |place| format!("{name} in {}", case.site(place)));
    let is_named_by = |place| facts.created_at.is_some_and(|made| case.site(made) == case.site(place));
    let at = match (&executed, place) {
        (Some(executed), _) => format!(", mostly in {}", executed.words),
        (None, Some(place)) if !is_named_by(place) => format!(" in {}", case.site(place)),
        (None, _) => String::new(),
    };
    let place = executed.as_ref().map(|executed| executed.place).or(place);
    let what = match latest {
        Some(_) if is_late => format!("{} late at {name}{at}", case.threads(&threads)),
        _ => format!("{name}{at}"),
    };
    let mut evidence = Vec::new();
    let imbalance = rounds.imbalance(case, object, parties);
    let imbalance = imbalance.map(|share| format!(" (imbalance {})", percent(share))).unwrap_or_default();
    let waits = cost.map_or(0, |cost| cost.waits);
    let each = mean(cost.map_or(Nanos::ZERO, |cost| cost.wait), waits);
    match latest {
        Some(latest) if is_late => {
            let last = threads.iter().map(|thread| rounds.last.get(thread).copied().unwrap_or(0)).sum::<u64>();
            let who = if threads.len() == 1 { case.threads(&[latest]) } else { "One of them".to_owned() };
            evidence.push(format!(
                "{who} comes last in {last} of {} rounds; the threads wait {each} a round on average{imbalance}.",
                rounds.count
            ));
        }
        _ => evidence.push(format!(
            "In {} rounds the {parties} threads wait {each} a round on average{imbalance}; no thread is always the \
             last.",
            rounds.count
        )),
    }
    evidence.extend(executed.map(|executed| executed.evidence()));
    evidence.extend(meanwhile(charge));
    let hint = if is_late {
        "Give this thread less to do and the others more, or deal the work out in smaller pieces as threads \
         become free."
    } else {
        "Do more work between two barriers, or deal it out in smaller pieces as threads become free."
    };
    Description {
        object: Some(object),
        threads: if is_late { threads } else { Vec::new() },
        place,
        what,
        evidence,
        hint: hint.to_owned(),
        on_path: cost.map(|cost| cost.on_path),
        method: "waits until the last arrival, charged to the thread that arrives last",
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}

/// Those that most of the waiting is for, and of them those for whom it is more than if it were for all alike, if there are such.
fn later_than_most(late: &ByThread, parties: u32) -> Vec<ThreadId> {
    let all: Nanos = late.values().copied().sum();
    let is_later = |thread: &ThreadId| late[thread].get().saturating_mul(u64::from(parties)) >= all.get();
    let most = main_ones(late);
    let later: Vec<ThreadId> = most.iter().copied().filter(is_later).collect();
    if later.is_empty() { most } else { later }
}

fn arrives_at(case: &Case<'_>, object: ObjectId, thread: ThreadId) -> Option<SiteId> {
    let mut sites: BTreeMap<SiteId, Nanos> = BTreeMap::new();
    for wait in case.process.waits.iter().filter(|wait| wait.object == object && wait.thread == thread) {
        if let Some(site) = case.timeline.places.at(wait.site) {
            *sites.entry(site).or_default() += Nanos::new(1);
        }
    }
    most_first(&sites).first().map(|(site, _)| *site)
}

/// The rounds of a barrier: when each ended, and who came last.
struct Rounds {
    count: u64,
    last: BTreeMap<ThreadId, u64>,
    end: Option<Time>,
}

impl Rounds {
    fn of(case: &Case<'_>, object: ObjectId) -> Self {
        let ends: BTreeSet<(Time, ThreadId)> = case
            .timeline
            .edges
            .iter()
            .filter(|edge| edge.kind == EdgeKind::Barrier && edge.object == Some(object))
            .map(|edge| (edge.from_time, edge.from))
            .collect();
        let mut last: BTreeMap<ThreadId, u64> = BTreeMap::new();
        for (_, thread) in &ends {
            *last.entry(*thread).or_default() += 1;
        }
        Self { count: ends.len() as u64, last, end: ends.last().map(|(time, _)| *time) }
    }

    /// Those of `late` that are the last in at least a quarter of the rounds in which each of all would be, if none was later
    /// than the others; all of them where none is.
    fn latest(&self, late: Vec<ThreadId>, parties: u32) -> Vec<ThreadId> {
        let often = |thread: &ThreadId| {
            let last = self.last.get(thread).copied().unwrap_or(0);
            last.saturating_mul(u64::from(parties)).saturating_mul(4) >= self.count
        };
        let latest: Vec<ThreadId> = late.iter().copied().filter(often).collect();
        if latest.is_empty() { late } else { latest }
    }

    /// The average share of the sections' time in which a thread idles at their ends (LIME, Table 1). The first
    /// section begins with the first of the threads.
    fn imbalance(&self, case: &Case<'_>, object: ObjectId, parties: u32) -> Option<f64> {
        let cost = case.object_cost(object)?;
        let first = cost.waiters.iter().map(|waiter| case.timeline.row(waiter.thread).start).min()?;
        let sections = self.end?.since(first).get() as f64 * f64::from(parties);
        (sections > 0.0).then(|| (cost.wait.get() as f64 / sections).min(1.0))
    }
}

/// Threads that were joined and kept others waiting, of the same start function.
#[derive(Default)]
struct Late {
    charge: Charge,
    threads: ByThread,
    objects: BTreeMap<ObjectId, Nanos>,
}

impl Late {
    /// True if mostly threads' ends were waited for, and not what they were given to do.
    fn is_of_ends(&self, case: &Case<'_>) -> bool {
        let is_end = |object: ObjectId| case.process.object(object).kind == ObjectKind::ThreadEnd;
        let of_ends: Nanos =
            self.objects.iter().filter(|(object, _)| is_end(**object)).map(|(_, &time)| time).sum();
        of_ends.share_of(self.objects.values().copied().sum()) >= 0.5
    }
}

fn joins<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) {
    let mut groups: BTreeMap<&Stage, Late> = BTreeMap::new();
    for (&(object, thread), charge) in &case.losses.joins {
        let Some(joined) = case.process.object(object).thread.or(thread) else { continue };
        let late = groups.entry(case.stage(joined)).or_default();
        late.charge.merge(charge);
        *late.threads.entry(joined).or_default() += charge.total();
        *late.objects.entry(object).or_default() += charge.total();
    }
    for (stage, late) in groups {
        let threads: Vec<ThreadId> = late.threads.keys().copied().collect();
        let takes_part = case.timeline.roles.who_takes_part(&threads).is_some();
        let siblings = siblings(case, stage) + usize::from(takes_part);
        let kind = if siblings > 1 { FindingKind::Imbalance } else { FindingKind::Join };
        candidates.push(Candidate::new(kind, late.charge.total(), move |case| {
            describe_join(case, &late, siblings)
        }));
    }
}

/// How many working threads there are of a stage; of such that live one after the other none could do what is another's.
fn siblings(case: &Case<'_>, stage: &Stage) -> usize {
    let of_stage = case.working.threads.iter().copied().filter(|&thread| case.stage(thread) == stage);
    let threads: Vec<ThreadId> = of_stage.collect();
    if case.timeline.are_there_together(&threads) { threads.len() } else { threads.len().min(1) }
}

/// What late threads mostly did after others like them had ended, or, if there are none, while they were waited for.
fn executed_at_the_end(case: &Case<'_>, late: &Late, siblings: usize) -> Option<Executed> {
    let times = &case.blame.times;
    let threads = main_ones(&late.threads);
    if siblings > 1 && late.is_of_ends(case) {
        return case.executed(threads.iter().map(|&thread| (thread, &times.ended)));
    }
    let waited = late.objects.keys().flat_map(|&object| {
        threads.iter().filter_map(move |&thread| Some((thread, times.waited.get(&(Some(object), thread))?)))
    });
    case.executed(waited.collect::<Vec<(ThreadId, &Spans)>>())
        .or_else(|| case.executed(threads.iter().map(|&thread| (thread, &times.ended))))
}

fn describe_join(case: &Case<'_>, late: &Late, siblings: usize) -> Description {
    let threads = main_ones(&late.threads);
    let objects = most_first(&late.objects);
    let joined_at = objects.iter().find_map(|(object, _)| case.object_cost(*object)?.waiters.first()?.site);
    let start = threads.first().and_then(|&thread| case.entry(thread));
    let who = case.threads(&threads);
    let is_of_ends = late.is_of_ends(case);
    let at = joined_at.map(|site| format!(", joined in {}", case.site(site))).unwrap_or_default();
    let waited = joined_at.map(|site| format!(", waited for in {}", case.site(site))).unwrap_or_default();
    let lost = case.working.cost(late.charge.total().get());
    let executed = executed_at_the_end(case, late, siblings);
    let doing =
        executed.as_ref().map(|executed| format!(", mostly in {},", executed.words)).unwrap_or_default();
    let (what, figures, hint) = if siblings > 1 {
        (
            match is_of_ends {
                true => format!("{who} still at work{doing} when others have ended{at}"),
                false => format!("{who} still at work{doing} when others have done theirs{waited}"),
            },
            format!(
                "While {} was waited for, other threads {}: {lost} for each of {}.",
                if threads.len() == 1 { "it" } else { "one of them" },
                if is_of_ends { "had ended or were not started" } else { "had nothing to do" },
                case.working.at_once
            ),
            "Deal the work out more evenly, or in smaller pieces as threads become free.",
        )
    } else {
        let doing = doing.trim_end_matches(',');
        let costs = objects.iter().filter_map(|(object, _)| case.object_cost(*object));
        let waits = if is_of_ends { objects.len() as u64 } else { costs.map(|cost| cost.waits).sum() };
        (
            match is_of_ends {
                true => format!("wait for the end of {who}{doing}{at}"),
                false if threads.len() > 1 => {
                    format!("wait until {who} have done what they were given{doing}{waited}")
                }
                false => format!("wait until {who} has done what it was given{doing}{waited}"),
            },
            match threads.len() {
                0 | 1 => format!("It was waited for {}.", times(waits)),
                _ => format!("They were waited for {} in all, one after the other.", times(waits)),
            },
            match (is_of_ends, threads.len() > 1) {
                (true, false) => {
                    "Start it earlier, give it less to do, or do something else before waiting for its end."
                }
                (true, true) => {
                    "Start them earlier and together, or do something else before waiting for their ends."
                }
                (false, false) => {
                    "Give it less to do at a time, give it to several, or do something else meanwhile."
                }
                (false, true) => {
                    "Have several of them at work at once, ahead of what is needed, or do something else meanwhile."
                }
            },
        )
    };
    let short_lives = super::short_lives::started_with(case, &threads);
    let hint = if short_lives.is_some() { super::short_lives::HINT } else { hint };
    let mut evidence = vec![figures];
    evidence.extend(short_lives.map(|short| short.evidence));
    evidence.extend(executed.as_ref().map(Executed::evidence));
    evidence.extend(meanwhile(&late.charge));
    let on_path: Nanos =
        objects.iter().filter_map(|(object, _)| case.object_cost(*object)).map(|cost| cost.on_path).sum();
    // Others may stand between, as who writes out what these have done: the path goes through these all the same.
    let of_threads = case.path.by_thread.iter().filter(|(thread, _)| threads.contains(thread));
    let on_path = on_path.max(of_threads.map(|(_, time)| *time).sum::<Nanos>().min(lost));
    Description {
        object: objects.first().map(|(object, _)| *object),
        threads,
        place: executed.map(|executed| executed.place).or(start).or(joined_at),
        what,
        evidence,
        hint: hint.to_owned(),
        on_path: Some(on_path),
        method: "time in which threads had ended, while the one that was joined went on",
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}
