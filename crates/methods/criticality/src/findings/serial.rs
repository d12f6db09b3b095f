//! Serial phases: one thread works, the others do not exist or wait for it. And threads that start late.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::figures::percent;
use holdup_model::{Ends, Nanos, ObjectId, ObjectKind, SiteId, State, ThreadId, Time};

use super::executed::Executed;
use super::{Candidate, Case, Description, LEAST_SHARE_OF_A_PART, Stage, main_ones, most_first, of_most};
use crate::FindingKind;
use crate::blame::SerialKey;

#[derive(Default)]
struct Phase {
    lost: Nanos,
    /// Part of `lost`; see [`crate::blame::Serial`].
    sought: Nanos,
    alone: Nanos,
    threads: BTreeMap<ThreadId, Nanos>,
    from: BTreeMap<SiteId, Nanos>,
    to: BTreeMap<SiteId, Nanos>,
    objects: BTreeMap<Option<ObjectId>, Nanos>,
    keys: Vec<SerialKey>,
}

impl Phase {
    fn merge(&mut self, other: Phase) {
        self.lost += other.lost;
        self.sought += other.sought;
        self.alone += other.alone;
        add_all(&mut self.threads, other.threads);
        add_all(&mut self.from, other.from);
        add_all(&mut self.to, other.to);
        add_all(&mut self.objects, other.objects);
        self.keys.extend(other.keys);
    }

    fn executed(&self, case: &Case<'_>) -> Option<Executed> {
        let times = &case.blame.times;
        let spans = |key: &SerialKey| {
            times.serial.get(key).or_else(|| times.waited.get(&(Some(key.object?), key.thread)))
        };
        case.executed(self.keys.iter().filter_map(|key| Some((key.thread, spans(key)?))))
    }
}

fn add_all<K: Ord>(sums: &mut BTreeMap<K, Nanos>, others: BTreeMap<K, Nanos>) {
    for (key, time) in others {
        *sums.entry(key).or_default() += time;
    }
}

/// The stretches that are named make up this share of what is lost.
const NEARLY_ALL: f64 = 0.98;

/// Phases of the same threads that begin at the same place, or end at the same place: the first time round a loop
/// begins elsewhere, and whether the call at the end has to wait, and so which one ends it, may vary.
#[derive(Default)]
struct Span {
    from: BTreeSet<SiteId>,
    to: BTreeSet<SiteId>,
    phase: Phase,
}

impl Span {
    fn meets(&self, other: &Span) -> bool {
        let is_unknown = |span: &Span| span.from.is_empty() && span.to.is_empty();
        !self.from.is_disjoint(&other.from)
            || !self.to.is_disjoint(&other.to)
            || is_unknown(self) && is_unknown(other)
    }

    /// The smaller is put into the larger: thousands of threads may come one by one.
    fn merge(&mut self, mut other: Span) {
        if other.phase.keys.len() > self.phase.keys.len() {
            std::mem::swap(self, &mut other);
        }
        self.from.extend(other.from);
        self.to.extend(other.to);
        self.phase.merge(other.phase);
    }
}

pub(super) fn candidates<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) {
    let mut stages: BTreeMap<&Stage, Vec<Span>> = BTreeMap::new();
    for (key, serial) in &case.losses.serial {
        let places = stages.entry(case.stage(key.thread)).or_default();
        let mut new = Span {
            from: key.from.into_iter().collect(),
            to: key.to.into_iter().collect(),
            phase: Phase {
                lost: serial.lost,
                sought: serial.sought,
                alone: serial.alone,
                threads: BTreeMap::from([(key.thread, serial.lost)]),
                from: key.from.map(|site| (site, serial.lost)).into_iter().collect(),
                to: key.to.map(|site| (site, serial.lost)).into_iter().collect(),
                objects: BTreeMap::from([(key.object, serial.lost)]),
                keys: vec![*key],
            },
        };
        let (same, other): (Vec<Span>, Vec<Span>) =
            std::mem::take(places).into_iter().partition(|known| known.meets(&new));
        *places = other;
        for same in same {
            new.merge(same);
        }
        places.push(new);
    }
    let phases = stages.into_values().flatten().map(|span| span.phase).collect();
    for (phase, executed) in in_turn(case, phases) {
        candidates.push(Candidate::new(FindingKind::Serial, phase.lost, move |case| {
            describe(case, &phase, executed)
        }));
    }
    candidates.push(Candidate::new(FindingKind::Startup, case.losses.startup, describe_startup));
}

/// Phases with what is mostly executed in them. Those in which that is the same are one, whichever thread it is: a
/// runtime may let any of its threads go on with what another has begun.
fn in_turn(case: &Case<'_>, phases: Vec<Phase>) -> Vec<(Phase, Option<Executed>)> {
    let mut known: BTreeMap<(Option<String>, String), usize> = BTreeMap::new();
    let mut all: Vec<(Phase, Option<Executed>)> = Vec::new();
    for phase in phases {
        let is_told = case.working.cost(phase.lost.get()).share_of(case.wall()) >= LEAST_SHARE_OF_A_PART;
        let executed = phase.executed(case).filter(|_| is_told);
        let index = executed.as_ref().map(|executed| *known.entry(executed.key.clone()).or_insert(all.len()));
        match index.and_then(|index| all.get_mut(index)) {
            Some((same, _)) => same.merge(phase),
            None => all.push((phase, executed)),
        }
    }
    all
}

fn describe(case: &Case<'_>, phase: &Phase, executed: Option<Executed>) -> Description {
    // Of phases that were put together the hottest line may be another.
    let executed = if phase.keys.len() > 1 { phase.executed(case).or(executed) } else { executed };
    let joined = Joined::of(case, phase);
    let one_by_one = joined.as_ref().filter(|joined| joined.one_by_one).map(|joined| joined.site);
    let threads = match one_by_one {
        Some(_) => phase.threads.keys().copied().collect(),
        None => main_ones(&phase.threads),
    };
    let who = case.threads(&threads);
    let from = most_first(&phase.from).first().map(|(site, _)| *site);
    let to = most_first(&phase.to).first().map(|(site, _)| *site);
    let span = match (from.map(|site| case.site(site)), to.map(|site| case.site(site))) {
        (Some(from), Some(to)) if from == to => format!(" between two calls in {to}"),
        (Some(from), Some(to)) => format!(" from {from} to {to}"),
        (Some(from), None) => format!(" from {from} on"),
        (None, Some(to)) => format!(" up to {to}"),
        (None, None) => String::new(),
    };
    let mut lost: BTreeMap<Ends, Nanos> = BTreeMap::new();
    for key in &phase.keys {
        let own = case.losses.serial.get(key).map_or(Nanos::ZERO, |serial| serial.lost);
        *lost.entry(key.ends()).or_default() += own;
    }
    // What begins and ends nowhere that is known is named by no stretch, but by all that is done alone.
    let nowhere =
        phase.keys.iter().filter_map(|key| case.losses.serial.get(key)).map(|serial| serial.nowhere);
    let is_nowhere = nowhere.sum::<Nanos>().share_of(phase.lost) >= 0.5;
    let stretches = if is_nowhere { Vec::new() } else { of_most(&lost, NEARLY_ALL) };
    let object = most_first(&phase.objects).first().and_then(|(object, _)| *object);
    let meanwhile = match object {
        _ if phase.sought.share_of(phase.lost) >= 0.5 => format!("the others {}", what_seekers_do(case)),
        Some(object) if case.role(object) != ObjectKind::ThreadEnd => {
            format!("the others wait on {}", case.object(object))
        }
        _ => match &joined {
            Some(joined) => joined.sentence(case, threads.len()),
            None => "the others have not started or have ended".to_owned(),
        },
    };
    let short_lives = super::short_lives::started_by(case, |thread| threads.contains(&thread));
    let mut evidence = vec![format!(
        "{} the only active thread for {} ({} of the time){}; {meanwhile}.",
        if threads.len() > 1 { "One of them is" } else { "It is" },
        phase.alone,
        percent(phase.alone.share_of(case.wall())),
        if executed.is_some() && !case.working.take_turns { &span } else { "" },
    )];
    evidence.extend(short_lives.iter().map(|short| short.evidence.clone()));
    evidence.extend(executed.as_ref().map(Executed::evidence));
    let hint = match one_by_one {
        Some(_) => Some(HINT_OF_JOINED),
        None if short_lives.is_some() => Some(super::short_lives::HINT),
        None => executed.as_ref().and_then(|executed| executed.hint),
    };
    Description {
        object,
        place: one_by_one
            .or_else(|| executed.as_ref().map(|executed| executed.place))
            .or(to)
            .or(from)
            .or_else(|| threads.first().and_then(|&thread| case.entry(thread))),
        what: match executed {
            executed if let Some(site) = one_by_one => {
                let doing = executed.map(|executed| format!(", mostly in {}", executed.words));
                let doing = doing.unwrap_or_default();
                format!("{who} one after the other{doing}, joined in {}", case.site(site))
            }
            Some(Executed { words, .. }) if threads.len() > 1 => {
                format!("only one thread at a time at work, mostly in {words}")
            }
            Some(Executed { words, .. }) => format!("only {who} at work in {words}"),
            None if threads.len() > 1 => format!("only one of {who} at a time at work{span}"),
            None => format!("only {who} at work{span}"),
        },
        evidence,
        threads,
        hint: hint.unwrap_or(HINT).to_owned(),
        on_path: None,
        method: "time in which one thread was active and the others waited for it or did not exist",
        stretches,
        notes: Vec::new(),
    }
}

/// What can be done about a serial phase.
const HINT: &str =
    "Share this work out among the threads, do it while they work on something else, or make it shorter.";

/// The same where threads are started and joined one by one.
const HINT_OF_JOINED: &str = "Start all of them before waiting for the end of the first, unless each needs what the one before it has made.";

/// Who waits for the end of threads, or of what they were given, while one of them alone is at work.
struct Joined {
    waiter: ThreadId,
    site: SiteId,
    /// Of several threads that are waited for there, none starts before the one before it has ended.
    one_by_one: bool,
}

impl Joined {
    /// That of a phase, if it is so for at least half of it.
    fn of(case: &Case<'_>, phase: &Phase) -> Option<Self> {
        let is_waited_for_on = |object: ObjectId| {
            move |&thread: &ThreadId| {
                case.timeline.roles.kind_for(object, Some(thread)) == ObjectKind::ThreadEnd
            }
        };
        let is_end = |object: ObjectId| match case.process.object(object).thread {
            Some(thread) => phase.threads.contains_key(&thread),
            None if case.role(object) == ObjectKind::ThreadEnd => true,
            None => case.timeline.roles.joins(object) && phase.threads.keys().any(is_waited_for_on(object)),
        };
        let mut waits: BTreeMap<(ThreadId, SiteId), Nanos> = BTreeMap::new();
        for waiter in case.objects.iter().filter(|cost| is_end(cost.object)).flat_map(|cost| &cost.waiters) {
            if let Some(site) = waiter.site {
                *waits.entry((waiter.thread, site)).or_default() += waiter.time;
            }
        }
        let (&(waiter, site), &time) = waits.iter().max_by_key(|(_, time)| **time)?;
        (time.share_of(phase.alone) >= 0.5).then(|| Self {
            waiter,
            site,
            one_by_one: are_one_by_one(case, phase, waiter),
        })
    }

    fn sentence(&self, case: &Case<'_>, threads: usize) -> String {
        let (waiter, at) = (case.threads(&[self.waiter]), case.site(self.site));
        match threads {
            _ if self.one_by_one => format!("{waiter} waits for its end in {at} before it starts the next"),
            1 => format!("{waiter} waits for it in {at}"),
            _ => format!("{waiter} waits for them in {at}"),
        }
    }
}

/// Threads run one by one if others that work are there for no more than this share of their lives.
const MOST_BESIDE: f64 = 0.1;

/// True if there are several threads, none begins before the one before it has ended, and no other but `waiter` is there meanwhile.
fn are_one_by_one(case: &Case<'_>, phase: &Phase, waiter: ThreadId) -> bool {
    let life = |thread: ThreadId| (case.timeline.row(thread).start, case.timeline.row(thread).end);
    let mut lives: Vec<(Time, Time)> = phase.threads.keys().map(|&thread| life(thread)).collect();
    lives.sort_unstable();
    if lives.len() < 2 || !lives.is_sorted_by(|one, next| one.1 <= next.0) {
        return false;
    }
    let others = case
        .working
        .threads
        .iter()
        .filter(|thread| **thread != waiter && !phase.threads.contains_key(thread));
    let beside = others.map(|&thread| life(thread)).flat_map(|(start, end)| {
        let first = lives.partition_point(|life| life.1 <= start);
        let during = lives[first..].iter().take_while(move |life| life.0 < end);
        during.map(move |life| life.1.min(end).since(life.0.max(start)))
    });
    let all: Nanos = lives.iter().map(|(start, end)| end.since(*start)).sum();
    beside.sum::<Nanos>().share_of(all) <= MOST_BESIDE
}

/// What those who wait for nobody in particular mostly do while one thread alone is able to run.
fn what_seekers_do(case: &Case<'_>) -> &'static str {
    const EITHER: &str = "search for work, or are blocked on what was not recorded";
    let mut times: BTreeMap<&str, Nanos> = BTreeMap::new();
    let mut all = Nanos::ZERO;
    for (key, sought) in &case.blame.sought {
        let what = match (key.object.map(|object| case.role(object)), key.state) {
            (Some(ObjectKind::Tasks), _) => "wait for tasks",
            (Some(ObjectKind::Team), _) => "wait for the next parallel region",
            (Some(_), _) => "wait for work",
            (None, State::Spinning) => "search for work",
            (None, _) => "are blocked on what was not recorded",
        };
        *times.entry(what).or_default() += sought.with_one;
        all += sought.with_one;
    }
    let most = times.into_iter().max_by_key(|(_, time)| *time);
    most.filter(|(_, time)| time.share_of(all) >= 0.5).map_or(EITHER, |(what, _)| what)
}

/// Less of the loss than this was before threads started: it is no late start.
const LATE: f64 = 0.5;

/// Threads that had ended while others, and the main thread beside them, had still work.
fn describe_ended(case: &Case<'_>) -> Description {
    let left = |&thread: &ThreadId| (thread, case.timeline.end.since(case.timeline.row(thread).end));
    let left: BTreeMap<ThreadId, Nanos> = case.working.threads.iter().map(left).collect();
    let earliest = most_first(&left).first().copied();
    let ended = |(thread, left)| format!("{} ended {left} before the program.", case.threads(&[thread]));
    Description {
        object: None,
        threads: vec![ThreadId::new(0)],
        place: None,
        what: "threads had ended while others had work left".to_owned(),
        evidence: earliest.map(ended).into_iter().collect(),
        hint: "Share the work out in smaller pieces, so that all threads are done at the same time, or keep threads instead of \
               starting new ones."
            .to_owned(),
        on_path: None,
        method: "time in which threads were not there, while the main thread worked beside others",
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}

fn describe_startup(case: &Case<'_>) -> Description {
    let main = ThreadId::new(0);
    // Who starts when another thread has ended is one of a later phase, and not late.
    let rows = || case.working.threads.iter().map(|&thread| (thread, case.timeline.row(thread)));
    let first_end = rows().map(|(_, row)| row.end).min();
    let late: BTreeMap<ThreadId, Nanos> = rows()
        .filter(|(_, row)| first_end.is_some_and(|end| row.start < end))
        .map(|(thread, row)| (thread, row.start.since(case.timeline.start)))
        .collect();
    // More than what was lost before threads started was lost after others of them had ended.
    let before: Nanos = late.values().copied().sum();
    let has_ended = before.share_of(case.losses.startup) < LATE;
    let sees_joins = case.process.seen_by.preload || !case.process.seen_by.kernel;
    if has_ended && sees_joins {
        return describe_ended(case);
    }
    let latest = most_first(&late).first().copied();
    let place = latest.and_then(|(thread, _)| case.process.thread(thread).created_at);
    let at = place.map(|place| format!(" in {}", case.site(place))).unwrap_or_default();
    Description {
        object: None,
        threads: vec![main],
        place,
        what: match sees_joins {
            true => format!("threads started late{at}"),
            // Waits for threads' ends were not seen.
            false => format!("threads that had not started yet, or had ended{at}"),
        },
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
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}
