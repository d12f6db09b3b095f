//! From costs to findings: what to fix, what is most worth it first.
//!
//! Every class of lost time makes candidates, which hold all of it. Those that matter become findings:
//!
//! - below [`LEAST_SHARE`] of the wall time, or below [`LEAST_COST`], nothing is said: the machine itself is
//!   not steadier than that;
//! - a quota and an affinity come first: as long as they take cores away, nothing in the program helps;
//! - what other programs took is none: it is told above all (`environment`), and ranks nowhere;
//! - what else the program cannot help (it was able to run, and why it had no core is not known) comes after what it
//!   can;
//! - what fixing a finding gives, where a replay says so (`gains`), counts where it is less than what it costs;
//! - else what is hardly on the critical path (its time there is below [`LEAST_PATH_SHARE`] of its cost) comes after
//!   all others, because fixing it alone gives no more than that time;
//! - what threads lose because there is nothing to do comes last.

mod awake;
mod blocked;
mod cores;
mod deadlock;
mod environment;
mod executed;
mod faults;
mod handing_on;
mod hang;
mod held;
mod herd;
mod idle;
mod lock;
mod lock_code;
mod meeting;
mod own;
mod serial;
mod sharing;
mod short_lives;
mod short_queue;
mod signal;
mod spin;
mod tasks;
mod uncontended;
mod waits;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use holdup_model::figures::percent;
use holdup_model::names::Names;
use holdup_model::{
    Arrange, Ends, Nanos, ObjectId, ObjectKind, Process, RoutineKind, SiteId, ThreadId, ThreadTimes,
    Timeline, sort_of_thread,
};
use holdup_sections::Working;

pub(crate) use faults::Memory;
pub(crate) use herd::{Herd, herds};
pub(crate) use own::mostly_called;
pub(crate) use spin::Chunks;
pub(crate) use tasks::Tasks;

use crate::blame::Blame;
use crate::losses::Losses;
use crate::samples::Samples;
use crate::scarcity::Scarcity;
use crate::{CostIdentity, CriticalPath, FamilyCost, Finding, FindingKind, Gain, ObjectCost};

/// The least cost of a finding, as a share of the wall time.
pub const LEAST_SHARE: f64 = 0.015;
/// The same for delays by something outside of the program.
const LEAST_SHARE_FROM_OUTSIDE: f64 = 0.05;

/// The least cost of a finding.
pub(crate) const LEAST_COST: Nanos = Nanos::new(1_000_000);

/// The least time on the critical path, as a share of the cost, of a finding that ranks by its cost.
const LEAST_PATH_SHARE: f64 = 0.1;

/// Everything that findings are made from.
pub(crate) struct Case<'a> {
    pub(crate) process: &'a Process,
    pub(crate) timeline: &'a Timeline,
    pub(crate) names: &'a Names<'a>,
    pub(crate) families: &'a [FamilyCost],
    pub(crate) working: &'a Working,
    pub(crate) times: &'a [ThreadTimes],
    pub(crate) blame: &'a Blame,
    pub(crate) losses: &'a Losses,
    pub(crate) scarcity: &'a Scarcity<'a>,
    pub(crate) objects: &'a [ObjectCost],
    /// Where each object is in `objects`.
    pub(crate) by_object: &'a [Option<usize>],
    pub(crate) path: &'a CriticalPath,
    pub(crate) samples: &'a Samples,
    pub(crate) tasks: &'a Tasks,
    /// Threads that are woken in vain, by the mutex that they take then.
    pub(crate) herds: &'a BTreeMap<ObjectId, Herd>,
    /// What each thread does, by its number.
    pub(crate) stages: &'a [Stage],
    pub(crate) memory: Option<Memory>,
}

impl<'a> Case<'a> {
    fn wall(&self) -> Nanos {
        self.timeline.wall()
    }

    /// True if the program has more threads at work than it may have cores.
    fn is_crowded(&self) -> bool {
        self.working.cores > 0 && self.working.at_once > self.working.cores
    }

    /// What an object is for.
    fn role(&self, object: ObjectId) -> ObjectKind {
        self.timeline.roles.kinds[object.index()]
    }

    fn object_cost(&self, object: ObjectId) -> Option<&ObjectCost> {
        self.by_object[object.index()].map(|index| &self.objects[index])
    }

    fn object(&self, object: ObjectId) -> String {
        self.names.object_or_word(object).to_owned()
    }

    fn site(&self, site: SiteId) -> String {
        self.names.place(site)
    }

    /// A lock by where it is waited for; without that where it is the runtime's own code that has the lock.
    fn waited_for_in(&self, name: &str, place: SiteId) -> String {
        let site = self.process.site(place);
        let own = site.routine(|kind| matches!(kind, RoutineKind::Lock | RoutineKind::Spin));
        match own.is_some_and(|routine| site.is_placed_in(routine)) {
            true => name.to_owned(),
            false => format!("{name}, waited for in {}", self.site(place)),
        }
    }

    fn threads(&self, threads: &[ThreadId]) -> String {
        self.names.threads_in_a_row(threads)
    }

    fn entry(&self, thread: ThreadId) -> Option<SiteId> {
        self.process.thread(thread).entry
    }

    /// Objects of a family that cost something and of which none has nearly all of that: the most costly first.
    fn together(&self, lost: &BTreeMap<ObjectId, Nanos>) -> Vec<(&'a FamilyCost, Vec<(ObjectId, Nanos)>)> {
        let families = self.families.iter().filter(|family| family.waited_for > 1);
        let of = |family: &'a FamilyCost| {
            let members = family.members.iter().filter_map(|member| Some((*member, *lost.get(member)?)));
            let mut members: Vec<(ObjectId, Nanos)> = members.collect();
            members.arrange_by_key(|(object, lost)| (Reverse(*lost), *object));
            let total: Nanos = members.iter().map(|(_, lost)| *lost).sum();
            let are_several = members.len() > 1 && members[0].1.share_of(total) < NEARLY_ALL;
            are_several.then_some((family, members))
        };
        families.filter_map(of).collect()
    }

    /// `mutexes table[].lock`.
    fn family(&self, family: &FamilyCost) -> String {
        let kinds = self.role(family.sum.object).plural();
        match family.is_unnamed {
            true => kinds.to_owned(),
            false => format!("{kinds} {}", self.names.shown_as(&family.name)),
        }
    }

    /// How many of a family were waited for, and which most.
    fn spread(&self, family: &FamilyCost, members: &[(ObjectId, Nanos)]) -> String {
        let total: Nanos = members.iter().map(|(_, lost)| *lost).sum();
        let share = |lost: Nanos| percent(lost.share_of(total));
        let all = family.members.len();
        let how_many = match family.waited_for {
            // How many more there are is not known.
            waited if self.process.lost.uses > 0 => format!("{waited} of them were waited for"),
            waited if waited == all => format!("All {all} were waited for"),
            waited => format!("{waited} of {all} were waited for"),
        };
        let named = |(object, lost): &(ObjectId, Nanos)| {
            let name = self.process.object(*object).name.is_some();
            name.then(|| (self.names.object_in_parts(*object).1, share(*lost)))
        };
        match members.iter().take(2).filter_map(named).collect::<Vec<_>>().as_slice() {
            [(first, most), (second, less)] => {
                format!("{how_many}; {first} has {most} of the cost, {second} {less}.")
            }
            _ => format!("{how_many}; the worst has {} of the cost.", share(members[0].1)),
        }
    }

    /// What is gained where threads' work of so long (ns, of all together) takes less by these parts of it: at least, likely, at most.
    /// More threads than cores do not do it at the same time.
    fn gain_of_work(&self, work: Nanos, [least, likely, most]: [f64; 3]) -> Gain {
        let at_once = match self.working.cores {
            0 => self.working.at_once,
            cores => self.working.at_once.min(cores),
        };
        let each = work.get() as f64 / f64::from(at_once.max(1));
        let [low, time, high] =
            [least, likely, most].map(|part| Nanos::new((each * part) as u64).min(self.wall()));
        Gain { time, low, high, expression: String::new(), capped_by: None }
    }

    /// Threads that do the same: those with the same start function or sort of name, else the one alone.
    fn stage(&self, thread: ThreadId) -> &'a Stage {
        &self.stages[thread.index()]
    }
}

/// Of a family's cost: an object that has as much is told alone.
const NEARLY_ALL: f64 = 0.8;

/// Threads that do the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Stage {
    /// All that have this in common.
    Sort(String),
    /// The main thread, or one of which nothing is known.
    Thread(ThreadId),
}

impl Stage {
    /// Of each thread of a process, by its number.
    pub(crate) fn of_all(process: &Process) -> Vec<Self> {
        let all = (0..process.threads.len() as u32).map(ThreadId::new);
        all.map(|thread| sort_of_thread(process, thread).map_or(Self::Thread(thread), Self::Sort)).collect()
    }
}

/// Lost time of one cause, which becomes a finding if there is enough of it.
struct Candidate<'a> {
    kind: FindingKind,
    lost: Nanos,
    /// What else it is about, beside its object: see [`Finding::others`].
    others: Vec<ObjectId>,
    /// What fixing it gives, where no replay is needed to say so.
    gain: Option<Gain>,
    /// It is a part of what threads work: see [`FindingKind::is_of_work`].
    is_work: bool,
    describe: Box<dyn FnOnce(&Case<'_>) -> Description + 'a>,
}

impl<'a> Candidate<'a> {
    fn new(kind: FindingKind, lost: Nanos, describe: impl FnOnce(&Case<'_>) -> Description + 'a) -> Self {
        let is_work = kind.is_of_work();
        Self { kind, lost, others: Vec::new(), gain: None, is_work, describe: Box::new(describe) }
    }
}

/// The words of a finding.
struct Description {
    object: Option<ObjectId>,
    threads: Vec<ThreadId>,
    place: Option<SiteId>,
    what: String,
    evidence: Vec<String>,
    hint: String,
    on_path: Option<Nanos>,
    method: &'static str,
    stretches: Vec<Ends>,
    notes: Vec<String>,
}

/// The findings of a case, and where all of its wall time went.
pub(crate) fn findings(case: &Case<'_>) -> (Vec<Finding>, CostIdentity) {
    let mut candidates: Vec<Candidate<'_>> = Vec::new();
    lock::candidates(case, &mut candidates);
    if !uncontended::candidates(case, &mut candidates) {
        handing_on::candidates(case, &mut candidates);
    }
    meeting::candidates(case, &mut candidates);
    signal::candidates(case, &mut candidates);
    tasks::candidates(case, &mut candidates);
    serial::candidates(case, &mut candidates);
    own::candidates(case, &mut candidates);
    spin::candidates(case, &mut candidates);
    sharing::candidates(case, &mut candidates);
    faults::candidates(case, &mut candidates);
    awake::candidates(case, &mut candidates);
    idle::candidates(case, &mut candidates);
    environment::candidates(case, &mut candidates);
    cores::candidates(case, &mut candidates);
    blocked::candidates(case, &mut candidates);
    let identity = identity(case, &candidates);
    let wall = case.wall();
    let mut findings: Vec<Finding> = alike(case, candidates)
        .into_iter()
        .filter_map(|group| {
            let cost = case.working.cost(group.lost.get());
            (cost >= LEAST_COST && cost.share_of(wall) >= least_share(group.kind)).then(|| {
                let (others, gain) = (group.others, group.gain);
                Finding { others, gain, ..finding(group.kind, cost, group.description) }
            })
        })
        .collect();
    rank(&mut findings, wall, case.is_crowded());
    // Nothing is as bad as what never ends; and what it waited for then is no cost of the program's usual course.
    let mut never = deadlock::findings(case);
    if never.is_empty()
        && let Some((hang, waited_for)) = hang::finding(case)
    {
        let is_of_it = |object: ObjectId| waited_for.contains(&object);
        findings.retain(|finding| {
            let most =
                if finding.object.is_some_and(is_of_it) { hang.cost.get() / 2 } else { hang.cost.get() };
            finding.cost.get() < most
        });
        never.push(hang);
    }
    findings.splice(0..0, never);
    (findings, identity)
}

/// From which share of the wall time on something is a finding. What comes from outside of the program says nothing of it, and is
/// nowhere quite absent.
fn least_share(kind: FindingKind) -> f64 {
    if kind == FindingKind::Delayed { LEAST_SHARE_FROM_OUTSIDE } else { LEAST_SHARE }
}

/// Findings are told apart by what fixing them gives in steps of this share of the wall time: below it, what they cost
/// decides, of those first whose gain is known. A gain of some microseconds is no reason to tell a trifle before what took most of
/// the time.
const STEP_OF_WORTH: f64 = 0.005;

/// From this share of the wall time on it is most of a run.
const MOST: f64 = 0.5;

/// Sorts findings: by the lower of what fixing them gives, where that is known, and what they cost. `is_crowded`: the program
/// has more threads than it may have cores.
pub(crate) fn rank(findings: &mut [Finding], wall: Nanos, is_crowded: bool) {
    let is_crowded = is_crowded || findings.iter().any(|finding| finding.kind == FindingKind::Quota);
    let rank = |finding: &Finding| {
        let never_ends = finding.kind.never_ends();
        // With a core for each thread it is nothing to the program that some wait on theirs: unless it is most of the run, what it
        // costs beside others says less of it than all the rest.
        let waits_awake = finding.method == awake::METHOD;
        let is_by_load = waits_awake && !is_crowded && finding.cost.share_of(wall) < MOST;
        let is_outside = finding.kind == FindingKind::Delayed || is_by_load;
        let is_first = is_first_suspect(finding.kind);
        let is_idle = finding.kind == FindingKind::Idle;
        let on_path = finding.on_path.filter(|_| is_hardly_on_path(finding));
        let is_last = finding.gain.is_none() && on_path.is_some();
        // What cannot be won is worth nothing, and a gain beyond its cost is not this finding's alone: without any sleep or
        // any barrier every program would be faster.
        let worth = finding.gain.as_ref().map_or(finding.cost, |gain| gain.time.min(finding.cost));
        // Nor is what is hardly on the critical path, whatever the replay of a busy machine's run makes of it.
        let worth =
            finding.on_path.filter(|_| is_hardly_on_path(finding)).map_or(worth, |time| worth.min(time));
        // Nothing is lost while all cores work, whoever waits for one. So it is worth nothing that threads share them, unless it is
        // known that fewer of them would be faster.
        let is_known = finding.gain.as_ref().is_some_and(|gain| gain.low.share_of(wall) >= LEAST_SHARE);
        let is_shared = finding.kind == FindingKind::Oversubscription && !is_known;
        let most = if is_shared { 0.0 } else { f64::INFINITY };
        let worth = (worth.share_of(wall).min(most) / STEP_OF_WORTH) as u64;
        let is_unsure = finding.gain.is_none();
        (
            !never_ends,
            !is_first,
            is_idle,
            is_last,
            is_outside,
            Reverse(worth),
            is_unsure,
            Reverse(finding.cost),
            finding.kind,
        )
    };
    findings.arrange_by(|a, b| {
        rank(a).cmp(&rank(b)).then_with(|| a.what.cmp(&b.what)).then_with(|| a.object.cmp(&b.object))
    });
}

/// What limits take away is told before all else: as long as they do, nothing in the program helps.
fn is_first_suspect(kind: FindingKind) -> bool {
    matches!(kind, FindingKind::Quota | FindingKind::Affinity)
}

/// Causes of the same words: locks that were made at one place and are held at one, say.
struct Group {
    kind: FindingKind,
    lost: Nanos,
    others: Vec<ObjectId>,
    gain: Option<Gain>,
    description: Description,
}

/// A cause that cost less than this share of the wall time is not put into words, even together with others.
const LEAST_SHARE_OF_A_PART: f64 = 1e-4;

/// Puts candidates into words, and those of the same words together: they are told by the largest one.
fn alike(case: &Case<'_>, mut candidates: Vec<Candidate<'_>>) -> Vec<Group> {
    candidates.arrange_by_key(|candidate| (Reverse(candidate.lost), candidate.kind));
    let mut groups: Vec<Group> = Vec::new();
    let mut by_words: BTreeMap<(FindingKind, String), (usize, u64)> = BTreeMap::new();
    for candidate in candidates {
        if case.working.cost(candidate.lost.get()).share_of(case.wall()) < LEAST_SHARE_OF_A_PART {
            break;
        }
        let description = (candidate.describe)(case);
        let (index, count) =
            by_words.entry((candidate.kind, description.what.clone())).or_insert((groups.len(), 0));
        *count += 1;
        match groups.get_mut(*index) {
            None => groups.push(Group {
                kind: candidate.kind,
                lost: candidate.lost,
                others: candidate.others,
                gain: candidate.gain,
                description,
            }),
            Some(group) => {
                group.lost += candidate.lost;
                let all = &mut group.description;
                all.on_path = all.on_path.zip(description.on_path).map(|(a, b)| a + b);
                all.object = all.object.or(description.object);
                all.threads.extend(description.threads);
                all.threads.sort_unstable();
                all.threads.dedup();
            }
        }
    }
    for (index, count) in by_words.into_values().filter(|(_, count)| *count > 1) {
        let evidence = &mut groups[index].description.evidence;
        evidence.push(format!("That is the largest of {count} like it, whose costs are added up."));
    }
    groups
}

/// Leaves out what cannot be won. Where the program's cores are as busy with its work as this share says, its threads
/// wait because there is no core to run on: what a finding costs beyond the idle time of the cores is not to be had
/// by fixing it. What makes cores scarce is told in any case.
pub(crate) const BUSY_CORES: f64 = 0.95;

pub(crate) fn keep_what_can_be_won(findings: &mut Vec<Finding>, wall: Nanos, efficiency: f64) {
    let idle = (1.0 - efficiency) + LEAST_SHARE;
    findings.retain(|finding| {
        use FindingKind::{Affinity, Oversubscription, Quota};
        // What is a part of the work has a gain already.
        finding.kind.never_ends()
            || finding.gain.is_some()
            || matches!(finding.kind, Quota | Affinity | Oversubscription)
            || finding.cost.share_of(wall) <= idle
    });
}

fn is_hardly_on_path(finding: &Finding) -> bool {
    finding.on_path.is_some_and(|time| time.share_of(finding.cost) < LEAST_PATH_SHARE)
}

fn finding(kind: FindingKind, cost: Nanos, description: Description) -> Finding {
    let Description { object, threads, place, what, evidence, hint, on_path, method, stretches, notes } =
        description;
    let (gain, repeats) = (None, None);
    let mut finding = Finding {
        kind,
        object,
        others: Vec::new(),
        threads,
        place,
        what,
        evidence,
        hint,
        cost,
        on_path,
        gain,
        repeats,
        method,
        stretches,
        notes,
    };
    if is_hardly_on_path(&finding) {
        finding.notes.insert(
            0,
            match on_path {
                None | Some(Nanos::ZERO) => "It is not on the critical path of this run.".to_owned(),
                Some(time) => format!("Only {time} of it is on the critical path of this run."),
            },
        );
    }
    finding
}

fn identity(case: &Case<'_>, candidates: &[Candidate<'_>]) -> CostIdentity {
    // What is no finding.
    let load = case.losses.cores.load.total();
    let mut lost = BTreeMap::from([
        (FindingKind::Load, load),
        (FindingKind::Idle, case.losses.spare),
        (FindingKind::Oversubscription, case.losses.beyond_cores),
    ]);
    for candidate in candidates.iter().filter(|candidate| !candidate.is_work) {
        *lost.entry(candidate.kind).or_default() += candidate.lost;
    }
    let active: Nanos = case
        .working
        .threads
        .iter()
        .map(|thread| {
            let times = case.times[thread.index()];
            times.active.saturating_sub(times.delayed)
        })
        .sum();
    let busy = case.losses.busy.values().copied().sum();
    let useful = case.working.cost(active.saturating_sub(busy).get());
    let parts: Vec<(FindingKind, Nanos)> = lost
        .into_iter()
        .map(|(kind, lost)| (kind, case.working.cost(lost.get())))
        .filter(|(_, cost)| *cost > Nanos::ZERO)
        .collect();
    let explained = useful + parts.iter().map(|(_, cost)| *cost).sum();
    CostIdentity { useful, parts, unexplained: case.wall().saturating_sub(explained) }
}

/// The most first, and then in order.
fn most_first<K: Copy + Ord>(times: &BTreeMap<K, Nanos>) -> Vec<(K, Nanos)> {
    let mut times: Vec<(K, Nanos)> = times.iter().map(|(&key, &time)| (key, time)).collect();
    times.arrange_by_key(|&(key, time)| (Reverse(time), key));
    times
}

/// Those of the most that make up nine tenths of all together.
fn main_ones<K: Copy + Ord>(times: &BTreeMap<K, Nanos>) -> Vec<K> {
    of_most(times, 0.9)
}

/// Those of the most that make up this share of all together.
fn of_most<K: Copy + Ord>(times: &BTreeMap<K, Nanos>, share: f64) -> Vec<K> {
    let total: Nanos = times.values().copied().sum();
    let mut so_far = Nanos::ZERO;
    most_first(times)
        .into_iter()
        .filter(|(_, time)| *time > Nanos::ZERO)
        .take_while(|(_, time)| {
            let enough = so_far.share_of(total) >= share;
            so_far += *time;
            !enough
        })
        .map(|(key, _)| key)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(kind: FindingKind, cost: u64, gain: Option<u64>) -> Finding {
        let description = Description {
            object: None,
            threads: Vec::new(),
            place: None,
            what: format!("{kind:?}"),
            evidence: Vec::new(),
            hint: String::new(),
            on_path: None,
            method: if kind == FindingKind::Spin { awake::METHOD } else { "" },
            stretches: Vec::new(),
            notes: Vec::new(),
        };
        let gain = gain.map(Nanos::new).map(|time| Gain {
            time,
            low: time,
            high: time,
            expression: String::new(),
            capped_by: None,
        });
        Finding { gain, ..finding(kind, Nanos::new(cost), description) }
    }

    #[test]
    fn what_waits_awake_comes_first_only_where_cores_are_few_or_it_is_most() {
        let first = |spin: u64, is_crowded, quota| {
            let mut findings =
                vec![found(FindingKind::Spin, spin, Some(spin)), found(FindingKind::Serial, 100, Some(100))];
            if quota {
                findings.push(found(FindingKind::Quota, 10, None));
            }
            rank(&mut findings, Nanos::new(1_000), is_crowded);
            findings.retain(|finding| finding.kind != FindingKind::Quota);
            findings[0].kind
        };
        assert_eq!(first(300, false, false), FindingKind::Serial);
        assert_eq!(first(300, true, false), FindingKind::Spin);
        assert_eq!(first(300, false, true), FindingKind::Spin);
        assert_eq!(first(600, false, false), FindingKind::Spin);
        // Others that spin while one thread alone is at work are as good as asleep.
        let alone = Finding { method: "", ..found(FindingKind::Spin, 300, Some(300)) };
        let mut findings = vec![found(FindingKind::Serial, 100, Some(100)), alone];
        rank(&mut findings, Nanos::new(1_000), false);
        assert_eq!(findings[0].kind, FindingKind::Spin);
    }

    #[test]
    fn that_threads_share_cores_comes_first_only_where_fewer_are_known_to_be_faster() {
        let first = |low: u64| {
            let mut shared = found(FindingKind::Oversubscription, 900, Some(400));
            shared.gain.as_mut().expect("it has one").low = Nanos::new(low);
            let mut findings = vec![shared, found(FindingKind::WakeUp, 200, Some(100))];
            rank(&mut findings, Nanos::new(1_000), true);
            findings[0].kind
        };
        assert_eq!(first(300), FindingKind::Oversubscription);
        assert_eq!(first(0), FindingKind::WakeUp);
        assert_eq!(first(1), FindingKind::WakeUp, "hardly");
    }
}
