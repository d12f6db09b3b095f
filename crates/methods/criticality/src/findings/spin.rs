//! Threads that wait on a core: in loops of the program, and in routines of runtimes.

mod each_other;
mod regions;

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::figures::percent;
use holdup_model::{Nanos, ObjectKind, Process, Routine, Segment, SiteId, State, ThreadId, Time};

use regions::SmallRegions;

use super::executed::Executed;
use super::{Candidate, Case, Description, main_ones, most_first};
use crate::blame::Spans;
use crate::losses::ByThread;
use crate::scarcity::part;
use crate::sweep::Changes;
use crate::{FindingKind, Gain};

/// Who works meanwhile is told where it is the same for at least this share of the spinning.
const MOSTLY: f64 = 0.5;

/// Who works alone for this share of it is what the loop waits for.
const NEARLY_ALWAYS: f64 = 0.9;

/// What is one loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Loop {
    /// The program marked it.
    Marked,
    /// A runtime searches for work, wherever it was called.
    Search(&'static str),
    At(SiteId),
    /// Loops of the program in which threads wait for each other.
    EachOther,
}

#[derive(Default)]
struct Spinning {
    routine: Option<&'static Routine>,
    sites: BTreeMap<SiteId, Nanos>,
    threads: ByThread,
}

impl Spinning {
    fn time(&self) -> Nanos {
        self.threads.values().copied().sum()
    }
}

pub(super) fn candidates<'a>(case: &Case<'_>, candidates: &mut Vec<Candidate<'a>>) {
    let mut loops: BTreeMap<Loop, Spinning> = BTreeMap::new();
    for (&site, threads) in &case.losses.spin {
        if super::tasks::are_searched_for(case, site) {
            continue;
        }
        let routine = case.timeline.places.spin(site);
        let key = match (site, routine.filter(|routine| routine.seeks_work)) {
            (None, _) => Loop::Marked,
            (Some(_), Some(routine)) => Loop::Search(routine.name),
            (Some(site), None) => Loop::At(site),
        };
        let spinning = loops.entry(key).or_default();
        spinning.routine = routine;
        for (&thread, &time) in threads {
            *spinning.threads.entry(thread).or_default() += time;
            if let Some(site) = site {
                *spinning.sites.entry(site).or_default() += time;
            }
        }
    }
    each_other::join(case, &mut loops);
    let all = case.losses.spun();
    for (key, spinning) in loops {
        let taken = part(case.losses.taken_by_spinning, spinning.time(), all);
        let lost = spinning.time() + taken;
        let kind = match spinning.routine {
            Some(routine) if routine.is_lock => FindingKind::Lock,
            Some(routine) if routine.deals => FindingKind::Tasks,
            _ => FindingKind::Spin,
        };
        let may_be = kind == FindingKind::Spin && may_be_shared_out(case, &spinning, lost, taken);
        let seen = may_be.then(|| meanwhile(case, &spinning));
        let alone = seen.as_ref().and_then(|seen| seen.only.as_ref()).map(|only| only.share);
        let mut candidate = Candidate::new(kind, lost, move |case| match key {
            Loop::EachOther => each_other::described(case, &spinning, describe(case, &spinning, taken, seen)),
            _ => describe(case, &spinning, taken, seen),
        });
        candidate.gain = alone.map(|share| shared_out(case, lost, share));
        candidates.push(candidate);
    }
}

/// Where it is less than this of the time, nobody asks what sharing out saves.
const LEAST_SHARED_OUT: f64 = 0.01;

/// Whether threads spin for long enough, and have cores enough, that what another does meanwhile could be shared out.
fn may_be_shared_out(case: &Case<'_>, spinning: &Spinning, lost: Nanos, taken: Nanos) -> bool {
    case.working.at_once <= case.working.cores
        && case.working.cost(lost.get()).share_of(case.wall()) >= LEAST_SHARED_OUT
        && lacked(case, spinning, taken).is_none()
}

/// What it saves to share out among all threads what the only one that is at work does meanwhile, for this share of the spinning: all
/// that the others lose then, if all of it can be shared out, which no sample says.
fn shared_out(case: &Case<'_>, lost: Nanos, share: f64) -> Gain {
    let high = case.working.cost(lost.get());
    let time = Nanos::new((high.get() as f64 * share.min(1.0)) as u64);
    Gain { time, low: Nanos::ZERO, high, expression: String::new(), capped_by: None }
}

/// For how long threads that could have worked lacked a core because of this spinning, where that is a part that counts.
fn lacked(case: &Case<'_>, spinning: &Spinning, taken: Nanos) -> Option<Nanos> {
    let lacked = Lacked::of(case);
    let lacked = part(taken, lacked.at_work, lacked.at_work + lacked.spinning);
    (lacked.share_of(spinning.time() + lacked) >= 0.05).then_some(lacked)
}

/// With what was found of the others meanwhile, if that was looked for.
fn describe(case: &Case<'_>, spinning: &Spinning, taken: Nanos, seen: Option<Meanwhile>) -> Description {
    let threads: Vec<ThreadId> = main_ones(&spinning.threads);
    let who = case.threads(&threads);
    let total = spinning.time();
    let site = most_first(&spinning.sites).first().map(|(site, _)| *site);
    let meetings =
        spinning.routine.filter(|routine| routine.seeks_work).and_then(|_| Meetings::of(case, spinning));
    let is_search = spinning.routine.is_some_and(|routine| routine.seeks_work);
    let small = if is_search && meetings.is_none() { SmallRegions::of(case) } else { None };
    let is_in_program =
        site.is_some_and(|site| case.process.site(site).place().is_some_and(holdup_model::Frame::is_program));
    let deals = spinning.routine.is_some_and(|routine| routine.deals);
    let meanwhile = match seen {
        Some(seen) => seen,
        None if deals => Meanwhile::default(),
        None => meanwhile(case, spinning),
    };
    let is_lock = spinning.routine.is_some_and(|routine| routine.is_lock);
    let only = meanwhile.only.as_ref().filter(|_| meetings.is_none() && small.is_none() && !is_lock);
    let what = match (site, spinning.routine) {
        (None, _) => format!("{who} spinning"),
        // The words of the lock's other finding, about blocked threads, so that both become one.
        (Some(site), Some(routine)) if routine.deals => {
            format!("chunks that are too small in {}", case.site(site))
        }
        (Some(site), Some(routine)) if routine.is_lock => case.waited_for_in(routine.name, site),
        (Some(site), Some(routine)) if is_in_program && !routine.seeks_work => {
            format!("spinning in {}: {}", case.site(site), routine.name)
        }
        (Some(_), Some(routine)) => match (&meetings, &small) {
            (Some(meetings), _) => meetings.words(case),
            (None, Some(small)) => small.words(case),
            (None, None) => format!("spinning: {}", routine.name),
        },
        (Some(site), None) => format!("spinning in {}", case.site(site)),
    };
    let what = match only {
        Some(Only { thread: Some(thread), executed, .. }) => {
            format!("{what}, while only {} is at work in {}", case.threads(&[*thread]), executed.words)
        }
        Some(Only { executed, .. }) => {
            format!("{what}, while only one thread at a time is at work, mostly in {}", executed.words)
        }
        None => what,
    };
    let (how, method) = match site {
        None => ("in loops that the program marked as waiting", "time between the program's own spin marks"),
        Some(_) => (
            "as samples of their call stacks show",
            "CPU time that samples in waiting loops and routines stand for",
        ),
    };
    let did = match spinning.routine {
        Some(routine) if routine.is_lock => "fought for it on a core",
        Some(routine) if routine.deals => "took the next chunk",
        _ => "spun",
    };
    let mut evidence = vec![format!("{who} {did} for {total} in all, {how}.")];
    let lacked = lacked(case, spinning, taken);
    if let Some(lacked) = lacked {
        evidence.push(format!("Meanwhile threads that could have worked lacked a core for {lacked} in all."));
    }
    evidence.extend(meetings.as_ref().map(|meetings| meetings.evidence(case, total)));
    evidence.extend(small.as_ref().map(SmallRegions::evidence));
    let chunks = site.filter(|_| deals).and_then(|site| Chunks::of(case.process, site));
    evidence.extend(chunks.as_ref().map(Chunks::evidence));
    let shares_out = only.is_some() && lacked.is_none();
    evidence.extend(meanwhile.evidence);
    let hint = match (&meetings, spinning.routine) {
        (Some(_), _) => MEET_LESS,
        _ if small.is_some() => SmallRegions::HINT,
        _ if shares_out && is_search => SHARE_OUT_TO_SEARCHERS,
        _ if shares_out => SHARE_OUT,
        (None, Some(Routine { hint: Some(hint), .. })) => hint,
        _ => "Block instead of spinning where the wait is longer than a few microseconds.",
    };
    let hint = chunks.map_or_else(|| hint.to_owned(), |chunks| chunks.hint(hint));
    Description {
        object: None,
        place: meetings
            .map(|meetings| meetings.place)
            .or(small.map(|small| small.place))
            .or(site)
            .or_else(|| threads.first().and_then(|&thread| case.entry(thread))),
        what,
        evidence,
        threads,
        hint,
        on_path: None,
        method,
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}

/// For how long working threads could run and had no core.
struct Lacked {
    at_work: Nanos,
    /// Between moments at which they spun.
    spinning: Nanos,
}

impl Lacked {
    fn of(case: &Case<'_>) -> Self {
        let mut lacked = Self { at_work: Nanos::ZERO, spinning: Nanos::ZERO };
        for &thread in &case.working.threads {
            let times = &case.times[thread.index()];
            lacked.at_work += times.descheduled + times.delayed;
            let segments = case.timeline.row(thread).segments.iter();
            let spins =
                segments.filter(|segment| segment.state == State::Spinning && segment.object.is_none());
            lacked.spinning += spins.map(Segment::delay).sum::<Nanos>();
        }
        lacked
    }
}

const SHARE_OUT_TO_SEARCHERS: &str =
    "Share out what one thread does alone meanwhile, in smaller pieces, or make it shorter.";

const SHARE_OUT: &str = "Share out what that thread does meanwhile, in smaller pieces, or make it shorter: to block in place of spinning frees a \
    core, and ends no sooner where others have cores enough.";

const MEET_LESS: &str = "Do more work between two barriers: share out an outer loop, put loops together, or leave out barriers \
    that nothing needs (nowait).";

/// Where threads meet more often than this, meeting takes the time, whoever is late.
const OFTEN: Nanos = Nanos::new(50_000);

/// Barriers at which a runtime lets threads spin, where they are met very often.
struct Meetings {
    /// At which place most of the spinning is, and how long that was.
    place: SiteId,
    there: Nanos,
    barriers: usize,
    rounds: u64,
}

impl Meetings {
    /// `None` where spinning is mostly elsewhere, or threads do not meet that often.
    fn of(case: &Case<'_>, spinning: &Spinning) -> Option<Self> {
        let line = |site: SiteId| {
            let place = case.process.site(site).place()?;
            Some((place.module.as_deref()?, place.file.as_deref()?, place.line?))
        };
        let barriers = case.objects.iter().filter(|cost| case.role(cost.object) == ObjectKind::Barrier);
        let mut met: BTreeMap<_, (SiteId, usize, u64)> = BTreeMap::new();
        for barrier in barriers {
            let Some((place, line)) = barrier.place.and_then(|place| Some((place, line(place)?))) else {
                continue;
            };
            let parties = case.process.object(barrier.object).parties.unwrap_or(2).max(2);
            let known = met.entry(line).or_insert((place, 0, 0));
            known.1 += 1;
            known.2 += barrier.waits / u64::from(parties);
        }
        let mut spun: BTreeMap<SiteId, (Nanos, usize, u64)> = BTreeMap::new();
        for (&site, &time) in &spinning.sites {
            if let Some(&(place, barriers, rounds)) = line(site).and_then(|line| met.get(&line)) {
                spun.entry(place).or_insert((Nanos::ZERO, barriers, rounds)).0 += time;
            }
        }
        let at_barriers: Nanos = spun.values().map(|(time, ..)| *time).sum();
        let (&place, &(there, ..)) = spun.iter().max_by_key(|(_, (time, ..))| *time)?;
        let rounds: u64 = spun.values().map(|(.., rounds)| rounds).sum();
        let is_often = case.wall().get() < rounds.saturating_mul(OFTEN.get());
        let barriers = spun.values().map(|(_, barriers, _)| barriers).sum();
        (is_often && at_barriers.share_of(spinning.time()) >= MOSTLY).then_some(Self {
            place,
            there,
            barriers,
            rounds,
        })
    }

    fn every(&self, case: &Case<'_>) -> Nanos {
        Nanos::new(case.wall().get() / self.rounds.max(1))
    }

    fn words(&self, case: &Case<'_>) -> String {
        let barriers =
            if self.barriers == 1 { "a barrier".to_owned() } else { format!("{} barriers", self.barriers) };
        let mostly = if self.barriers == 1 { "in" } else { "mostly in" };
        format!("spinning at {barriers} met every {}, {mostly} {}", self.every(case), case.site(self.place))
    }

    fn evidence(&self, case: &Case<'_>, spun: Nanos) -> String {
        format!(
            "Threads met there at least {}; {} of the spinning is in {}.",
            holdup_model::figures::times(self.rounds),
            percent(self.there.share_of(spun)),
            case.site(self.place)
        )
    }
}

/// The chunks that the loop at one line was dealt out in.
pub(crate) struct Chunks {
    pub(crate) count: u64,
    /// With what dealing them out took (thread-time).
    time: Nanos,
    /// The iterations of each that the program asked for, or that most had; `None` where it is not known.
    size: Option<u64>,
}

impl Chunks {
    pub(crate) fn of(process: &Process, site: SiteId) -> Option<Self> {
        let line = |site: SiteId| {
            let place = process.site(site).place()?;
            Some((place.file.as_deref()?, place.line?))
        };
        let here = line(site)?;
        let works = || {
            let works = process.openmp.works.iter();
            works.filter(|work| work.chunks > 0 && work.place.and_then(line) == Some(here))
        };
        let count: u64 = works().map(|work| u64::from(work.chunks)).sum();
        let asked = works().filter_map(|work| work.chunk).max().map(u64::from);
        let done: Option<u64> = works().map(|work| work.done).sum();
        let size = asked.or_else(|| Some(done? / count.max(1))).filter(|&size| size > 0);
        let time = works().map(|work| work.end.since(work.begin)).sum();
        (count > 0).then_some(Self { count, time, size })
    }

    fn evidence(&self) -> String {
        let of = match self.size {
            Some(1) => " of one iteration".to_owned(),
            Some(size) => format!(" of {} iterations", holdup_model::figures::grouped(size)),
            None => String::new(),
        };
        format!(
            "{} chunks{of} were dealt out one by one: {} each on average, with what dealing it out took.",
            holdup_model::figures::grouped(self.count),
            crate::wording::mean(self.time, self.count)
        )
    }

    /// The hint of a routine that deals out chunks, for a loop whose chunks are not small already.
    fn hint(&self, hint: &str) -> String {
        let more = self.size.filter(|&size| size > 8).map(|size| (size * 8).next_power_of_two());
        more.map_or_else(|| hint.to_owned(), |more| hint.replace("dynamic, 64", &format!("dynamic, {more}")))
    }
}

/// What the other threads did while some spun.
#[derive(Default)]
struct Meanwhile {
    evidence: Vec<String>,
    only: Option<Only>,
    /// For this share of the spinning no thread was at work, nor waited for anything outside of the program, and some had no core.
    stuck: f64,
}

/// What is done alone while others spin.
struct Only {
    /// Who alone was at work nearly all the time; `None` where that is now this one, now that.
    thread: Option<ThreadId>,
    executed: Executed,
    /// For this share of the spinning.
    share: f64,
}

/// What the other threads did while these spun, where it was mostly the same: who works alone then is, most likely,
/// who is waited for; and what that executes.
fn meanwhile(case: &Case<'_>, spinning: &Spinning) -> Meanwhile {
    let is_in_loop = |segment: &holdup_model::Segment| {
        segment.state == State::Spinning
            && segment.object.is_none()
            && segment.site.map_or(spinning.sites.is_empty(), |site| spinning.sites.contains_key(&site))
    };
    let is_able = |state: State| matches!(state, State::Active | State::Descheduled | State::Waking);
    let mut able: BTreeSet<ThreadId> = BTreeSet::new();
    let mut spinners = 0u64;
    let mut at = Time::default();
    let (mut all, mut nobody, mut stuck) = (Nanos::ZERO, Nanos::ZERO, Nanos::ZERO);
    let mut away: BTreeSet<ThreadId> = BTreeSet::new();
    let mut alone: BTreeMap<ThreadId, (Nanos, Spans)> = BTreeMap::new();
    for change in Changes::new(case.timeline) {
        let spun = Nanos::new(spinners * change.time.since(at).get());
        let since = std::mem::replace(&mut at, change.time);
        all += spun;
        match (able.first(), able.len()) {
            (None, _) => {
                nobody += spun;
                let lack_cores = spinners > u64::from(case.working.cores);
                stuck += if lack_cores && away.is_empty() { spun } else { Nanos::ZERO };
            }
            (Some(&only), 1) if spun > Nanos::ZERO => {
                let (time, spans) = alone.entry(only).or_default();
                *time += spun;
                spans.add(since, at);
            }
            _ => {}
        }
        let counts = spinning.threads.contains_key(&change.thread);
        if let Some(before) = change.before {
            able.remove(&change.thread);
            away.remove(&change.thread);
            spinners -= u64::from(counts && is_in_loop(before));
        }
        if let Some(after) = change.after {
            if is_able(after.state) {
                able.insert(change.thread);
            }
            if matches!(after.state, State::Io | State::Asleep) {
                away.insert(change.thread);
            }
            spinners += u64::from(counts && is_in_loop(after));
        }
    }
    let one_alone: Nanos = alone.values().map(|(time, _)| *time).sum();
    if one_alone.share_of(all) < MOSTLY {
        let is_nobody = nobody.share_of(all) >= MOSTLY;
        let sentence = || format!("For {} of that, no thread is at work.", percent(nobody.share_of(all)));
        let evidence = is_nobody.then(sentence).into_iter().collect();
        return Meanwhile { evidence, only: None, stuck: stuck.share_of(all) };
    }
    let times: BTreeMap<ThreadId, Nanos> = alone.iter().map(|(thread, (time, _))| (*thread, *time)).collect();
    let most = most_first(&times).first().copied().filter(|(_, time)| time.share_of(all) >= MOSTLY);
    let (who, time) = match most {
        Some((thread, time)) => {
            (format!("{} is the only other thread at work", case.threads(&[thread])), time)
        }
        None => ("only one other thread is at work, now this one, now that".to_owned(), one_alone),
    };
    let share = percent(time.share_of(all));
    let waited_for = format!("For {share} of that, {who}: most likely they wait for it.");
    let during = alone.iter().filter(|(thread, _)| most.is_none_or(|(most, _)| most == **thread));
    let executed = case.executed(during.map(|(thread, (_, spans))| (*thread, spans)));
    let evidence = [waited_for].into_iter().chain(executed.as_ref().map(Executed::evidence)).collect();
    let share = time.share_of(all);
    let thread = most.map(|(thread, _)| thread).filter(|_| share >= NEARLY_ALWAYS);
    // Who searches for work waits for whoever has some; what a loop of the program waits for may be something else.
    let is_search = spinning.routine.is_some_and(|routine| routine.seeks_work);
    let only = executed.filter(|_| thread.is_some() || is_search);
    let only = only.map(|executed| Only { thread, executed, share });
    Meanwhile { evidence, only, stuck: stuck.share_of(all) }
}
