//! Tasks of OpenMP: threads that wait for the next one, because there is none, or because handing one out takes longer than
//! what it does.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::figures::{counted, grouped, percent, times};
use holdup_model::openmp::{Instance, OpenMp, Region, SyncKind, Task, TaskRun, WholeExecutions};
use holdup_model::{
    Doing, Frame, Nanos, ObjectId, ObjectKind, Process, Routine, Segment, SiteId, State, ThreadId, Time,
    Timeline,
};
use holdup_replay::LEAST_ERROR;
use holdup_sections::{TaskSums, begins};

use super::held::{Held, HeldBy, held};
use super::{Candidate, Case, Description, Stage, main_ones, most_first};
use crate::blame::Charge;
use crate::scarcity::part;
use crate::wording::{mean, meanwhile};
use crate::{FindingKind, Gain};

/// What waits for tasks are told by: the construct in which threads wait, and where that is.
type Construct = (SyncKind, Option<SiteId>);

/// Handing out a task takes no longer, waking the thread that waits for it included: who waits longer waits for a task that nobody
/// has made.
const HANDED_OUT: Nanos = Nanos::new(100_000);

/// The tasks of a process, by the objects on which threads wait for them.
#[derive(Default)]
pub(crate) struct Tasks {
    by_object: BTreeMap<ObjectId, TaskSums>,
    /// Where tasks are tiny, but that is not all that they are waited for: the share of the time that is waited for others.
    late: BTreeMap<ObjectId, f64>,
    /// Where they are not, what holds them back.
    held: BTreeMap<ObjectId, Held>,
    /// The tasks of barriers at which threads wait since tasks are held back.
    held_at: BTreeMap<ObjectId, TaskSums>,
    seen: Seen,
}

impl Tasks {
    pub(crate) fn of(process: &Process, timeline: &Timeline) -> Self {
        let mut found = Self::default();
        let all = || (0..process.objects.len() as u32).map(ObjectId::new);
        let is_of = |object: &ObjectId, kind| process.object(*object).kind == kind;
        let objects: Vec<ObjectId> = all().filter(|object| is_of(object, ObjectKind::Tasks)).collect();
        // Who gets no task at all waits at the barrier, and for nobody's task.
        let barriers = all().filter(|object| is_of(object, ObjectKind::Barrier));
        let barriers: Vec<ObjectId> = barriers.filter(|_| !process.openmp.tasks.is_empty()).collect();
        if objects.is_empty() && barriers.is_empty() {
            return found;
        }
        let by_construct = by_construct(process);
        let sums = |object: &ObjectId| {
            let facts = process.object(*object);
            let sums = by_construct.get(&(facts.construct?, facts.created_at))?;
            Some((*object, sums.clone()))
        };
        found.by_object = objects.iter().filter_map(sums).collect();
        let of_barriers: BTreeMap<ObjectId, TaskSums> = barriers.iter().filter_map(sums).collect();
        let all = found.by_object.iter().chain(&of_barriers);
        let large: BTreeSet<ObjectId> =
            all.filter(|(_, sums)| !sums.tiny).map(|(&object, _)| object).collect();
        found.held = held(&process.openmp, timeline, &large);
        found.held_at =
            of_barriers.into_iter().filter(|(object, _)| found.held.contains_key(object)).collect();
        if found.by_object.is_empty() {
            return found;
        }
        found.seen = Seen::of(process, timeline);
        let by_object = &found.by_object;
        if found.seen.is_in_own_code() {
            let late = share_without_others(process, timeline);
            found.late =
                by_object.iter().filter(|(_, sums)| sums.tiny).map(|(&object, _)| (object, late)).collect();
            return found;
        }
        // Where threads are busy with making tasks rather than with what these do, it is for that that others have none.
        let is_split = |object: &ObjectId| {
            let recorded = |sums: &TaskSums| sums.made.saturating_mul(RECORDED[1].get());
            let is_more = |sums: &TaskSums| sums.time / 2 > handing_out(sums) + recorded(sums);
            by_object.get(object).is_some_and(|sums| sums.tiny && is_more(sums))
        };
        let mut waited: BTreeMap<ObjectId, (Nanos, Nanos)> = BTreeMap::new();
        for segment in timeline.threads.iter().flat_map(|row| &row.segments) {
            let object = segment.object.filter(|_| matches!(segment.state, State::Blocked | State::Spinning));
            let Some(object) = object.filter(is_split) else { continue };
            let (late, all) = waited.entry(object).or_default();
            *all += segment.length();
            if segment.length() > HANDED_OUT {
                *late += segment.length();
            }
        }
        found.late = waited.into_iter().map(|(object, (late, all))| (object, late.share_of(all))).collect();
        found
    }

    /// Why threads that wait at this object get no task, where that is known.
    pub(crate) fn held(&self, object: ObjectId) -> Option<&Held> {
        self.held.get(&object)
    }

    /// True if what threads wait for at this object is that tasks are handed out that take less time than that.
    fn are_tiny(&self, object: ObjectId) -> bool {
        self.by_object.get(&object).is_some_and(|sums| sums.tiny)
    }

    /// The share of waits for tiny tasks at this object that are for ones that come late. Where nobody is known to be waited for, no
    /// thread made or did one meanwhile: what takes so long is the handing out, or that a thread may take none but its own task's
    /// children while others have those.
    fn late(&self, object: ObjectId, thread: Option<ThreadId>) -> f64 {
        thread.and(self.late.get(&object).copied()).unwrap_or(0.0)
    }

    /// True if there are such objects.
    pub(super) fn are_some_tiny(&self) -> bool {
        self.by_object.values().any(|sums| sums.tiny)
    }

    /// All objects at which threads wait for tasks that come late as at this one.
    pub(crate) fn late_like(&self, object: ObjectId) -> Vec<ObjectId> {
        let tiny = self.are_tiny(object);
        self.by_object.iter().filter(|(_, sums)| sums.tiny == tiny).map(|(&object, _)| object).collect()
    }
}

/// Parts of the time with tasks, at most ([`share_without_others`]).
const PARTS: usize = 64;
/// Recorded tasks of each part on average, at least.
const FEWEST_OF_PART: usize = 8;

/// A task of which it is recorded what making it took and when it began.
struct Made {
    time: Time,
    /// The program did not ask for that, but who made it executed it at once: the runtime has that done where tasks lie ready in plenty.
    among_others: bool,
    /// For how many it stands: fewer and fewer are recorded, each of them for those of its thread since the one before.
    stands_for: u64,
}

fn made(process: &Process) -> Vec<Made> {
    let openmp = &process.openmp;
    let begins = begins(&openmp.task_runs);
    let mut tasks: Vec<&Task> = openmp.tasks.iter().filter(|task| !task.undeferred).collect();
    tasks.sort_unstable_by_key(|task| (task.thread, task.id));
    let mut last: Option<&Task> = None;
    let of = |task: &Task, stands_for| {
        let (making, &(begin, thread)) = task.making.zip(begins.get(&task.id))?;
        let among_others = thread == task.thread && begin < task.time + making;
        Some(Made { time: task.time, among_others, stands_for })
    };
    let known = tasks.into_iter().filter_map(|task| {
        let before = last.replace(task).filter(|last| last.thread == task.thread);
        let since = before.map(|last| task.id.number().saturating_sub(last.id.number()));
        of(task, since.unwrap_or(1).max(1))
    });
    known.collect()
}

/// The share of the time in which threads wait for tasks or look for one that others do not lie ready in plenty ([`Made`]): where they do,
/// a thread waits until one is handed out, not for one that nobody has made. All of it where that is not known.
fn share_without_others(process: &Process, timeline: &Timeline) -> f64 {
    let known = made(process);
    let (Some(from), Some(to)) =
        (known.iter().map(|one| one.time).min(), known.iter().map(|one| one.time).max())
    else {
        return 1.0;
    };
    let parts = (known.len() / FEWEST_OF_PART).clamp(1, PARTS);
    let length = (to.since(from).get() / parts as u64).max(1);
    let part_of = |time: Time| (time.since(from).get() / length) as usize;
    let mut plenty = vec![(0u64, 0u64); parts + 1];
    for one in known {
        let (of_them, all) = &mut plenty[part_of(one.time).min(parts)];
        *all = all.saturating_add(one.stands_for);
        *of_them = of_them.saturating_add(if one.among_others { one.stands_for } else { 0 });
    }
    let waits_for_tasks = |segment: &&Segment| match segment.state {
        State::Blocked => {
            segment.object.is_some_and(|object| process.object(object).kind == ObjectKind::Tasks)
        }
        State::Spinning => timeline.places.spin(segment.site).is_some_and(searches_tasks),
        _ => false,
    };
    let (mut waited, mut among_others) = (0.0, 0.0);
    for segment in timeline.threads.iter().flat_map(|row| &row.segments).filter(waits_for_tasks) {
        waited += segment.length().get() as f64;
        let first = part_of(segment.start).min(parts);
        for (part, &(of_them, all)) in
            plenty[..=part_of(segment.end).min(parts)].iter().enumerate().skip(first)
        {
            let begin = from + Nanos::new(part as u64 * length);
            let end = (begin + Nanos::new(length)).min(segment.end);
            let time = end.since(begin.max(segment.start)).get() as f64;
            among_others += time * of_them as f64 / all.max(1) as f64;
        }
    }
    if waited > 0.0 { 1.0 - among_others / waited } else { 1.0 }
}

/// True for the loops in which OpenMP's runtimes look for something to do.
fn searches_tasks(routine: &Routine) -> bool {
    routine.seeks_work && routine.name.contains("OpenMP")
}

/// Of the samples of threads that are at work in regions with tasks, so many are needed...
const FEWEST_SEEN: usize = 20;
/// ...and at most this share of them is in the runtime, where making and handing out tasks is not what takes the time.
const LEAST_HANDING_OUT: f64 = 0.25;

/// Where samples find threads that are at work in regions with tasks.
#[derive(Default)]
struct Seen {
    /// In what tasks do: how many samples, and the time that they stand for.
    own: usize,
    time: Nanos,
    /// In the runtime: how many.
    in_runtime: usize,
}

impl Seen {
    fn of(process: &Process, timeline: &Timeline) -> Self {
        // A row for many has what is between them, too.
        let regions = with_tasks(&process.openmp).filter(|region| region.count == 1);
        let mut spans: Vec<(Time, Time)> = regions.map(|region| (region.begin, region.end)).collect();
        spans.sort_unstable();
        let is_in_one = |time: Time| {
            let begun = spans.partition_point(|(begin, _)| *begin <= time);
            begun > 0 && time < spans[begun - 1].1
        };
        let mut seen = Self::default();
        for sample in process.samples.iter().filter(|sample| sample.doing == Doing::Running) {
            let Some(site) = sample.site.map(|site| process.site(site)).filter(|_| is_in_one(sample.time))
            else {
                continue;
            };
            let row = timeline.row(sample.thread);
            let is_active = row.at(sample.time).is_some_and(|at| row.segments[at].state == State::Active);
            if !is_active || site.waits_on_a_core() {
                continue;
            }
            let mut inner = site.frames.iter().take_while(|frame| !frame.is_program());
            if inner.any(Frame::is_of_openmp) {
                seen.in_runtime += 1;
            } else {
                seen.own += 1;
                seen.time += sample.weight;
            }
        }
        seen
    }

    /// True if threads are in what tasks do, and hardly in the runtime.
    fn is_in_own_code(&self) -> bool {
        let all = self.own + self.in_runtime;
        all >= FEWEST_SEEN && self.in_runtime as f64 <= LEAST_HANDING_OUT * all as f64
    }

    /// What tasks do takes so long at least (thread-time): less twice the standard error of a count.
    fn work(&self) -> u64 {
        let error = 2.0 / (self.own.max(1) as f64).sqrt();
        (self.time.get() as f64 * (1.0 - error).max(0.0)) as u64
    }
}

fn by_construct(process: &Process) -> BTreeMap<Construct, TaskSums> {
    let openmp = &process.openmp;
    let mut tasks: BTreeMap<Instance, Vec<&Task>> = BTreeMap::new();
    for task in &openmp.tasks {
        tasks.entry(task.instance.unwrap_or(Instance::new(0))).or_default().push(task);
    }
    let mut runs: BTreeMap<Instance, Vec<&TaskRun>> = BTreeMap::new();
    for run in &openmp.task_runs {
        runs.entry(run.instance.unwrap_or(Instance::new(0))).or_default().push(run);
    }
    let mut constructs: BTreeMap<Instance, Vec<Construct>> = BTreeMap::new();
    let mut places: BTreeMap<Instance, Option<SiteId>> = BTreeMap::new();
    for region in openmp.regions.iter().filter(|region| region.whole) {
        constructs.entry(region.instance).or_default().push((SyncKind::RegionBarrier, region.place));
        places.insert(region.instance, region.place);
    }
    for sync in &openmp.syncs {
        let Some(&place) = places.get(&sync.instance) else { continue };
        constructs.entry(sync.instance).or_default().push((sync.kind, sync.place.or(place)));
    }
    let weights = weights(openmp);
    let mut all: BTreeMap<Construct, TaskSums> = BTreeMap::new();
    for (instance, mut constructs) in constructs {
        let (Some(tasks), Some(runs)) = (tasks.get(&instance), runs.get(&instance)) else { continue };
        let weight = weights.get(&instance).copied().unwrap_or_default();
        let sums = TaskSums::of(tasks, runs).standing_for(weight.executions, weight.time);
        constructs.sort_unstable();
        constructs.dedup();
        for construct in constructs {
            all.entry(construct).or_default().add(&sums);
        }
    }
    all
}

/// For how much of its region an execution stands that was recorded whole: for itself, and for those that are known by it.
#[derive(Clone, Copy)]
struct Weight {
    /// How many executions.
    executions: f64,
    /// How many times its own length they take together.
    time: f64,
}

impl Default for Weight {
    fn default() -> Self {
        Self { executions: 1.0, time: 1.0 }
    }
}

fn weights(openmp: &OpenMp) -> BTreeMap<Instance, Weight> {
    let whole = WholeExecutions::of(openmp);
    let lengths = openmp.regions.iter().filter(|region| region.whole);
    let lengths: BTreeMap<Instance, f64> =
        lengths.map(|region| (region.instance, region.total_time())).collect();
    let mut weights: BTreeMap<Instance, Weight> = BTreeMap::new();
    for region in openmp.regions.iter().filter(|region| !region.whole) {
        let Some(instance) = whole.nearest(region.thread, region.place, region.begin) else { continue };
        let weight = weights.entry(instance).or_default();
        weight.executions += region.count as f64;
        weight.time += region.total_time() / lengths.get(&instance).copied().unwrap_or_default().max(1.0);
    }
    weights
}

/// The executions of regions in which tasks are made: of these some were recorded whole, with their tasks.
fn with_tasks(openmp: &OpenMp) -> impl Iterator<Item = &Region> {
    let making_tasks: BTreeSet<Instance> = openmp.tasks.iter().filter_map(|task| task.instance).collect();
    let whole = WholeExecutions::of(openmp);
    openmp.regions.iter().filter(move |region| {
        let known_by = match region.whole {
            true => Some(region.instance),
            false => whole.nearest(region.thread, region.place, region.begin),
        };
        known_by.is_some_and(|instance| making_tasks.contains(&instance))
    })
}

/// Waits for tasks that come from the same.
#[derive(Default)]
struct Group {
    charge: Charge,
    threads: BTreeMap<ThreadId, Nanos>,
    objects: BTreeMap<ObjectId, Nanos>,
    /// How long threads looked for the next one in the runtime's loops, outside of waits that were told one by one.
    searched: Nanos,
}

impl Group {
    fn cost(&self) -> Nanos {
        self.charge.total() + self.searched
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Cause<'a> {
    /// They are smaller than what it takes to hand them out.
    Tiny,
    /// These threads make the next one, or end what it depends on; `None` where it is not known who does.
    Late(Option<&'a Stage>),
    /// There are such, or would be, but may not begin.
    Held,
}

pub(super) fn candidates<'a>(case: &Case<'a>, candidates: &mut Vec<Candidate<'a>>) {
    let mut groups: BTreeMap<Cause<'_>, Group> = BTreeMap::new();
    for (&(object, thread), charge) in &case.losses.tasks {
        let mut add = |cause, charge: &Charge| {
            let group: &mut Group = groups.entry(cause).or_default();
            group.charge.merge(charge);
            *group.objects.entry(object).or_default() += charge.total();
            if let Some(thread) = thread {
                *group.threads.entry(thread).or_default() += charge.total();
            }
        };
        let late = if case.tasks.are_tiny(object) {
            let late = charge.share(case.tasks.late(object, thread));
            add(Cause::Tiny, &charge.without(&late));
            late
        } else {
            *charge
        };
        if case.tasks.held(object).is_some() {
            add(Cause::Held, &late);
        } else if late.total() > Nanos::ZERO {
            add(Cause::Late(thread.map(|thread| case.stage(thread))), &late);
        }
    }
    if let Some((&object, _)) = case.tasks.by_object.iter().find(|(_, sums)| sums.tiny) {
        groups.entry(Cause::Tiny).or_default().objects.entry(object).or_default();
        let late = groups.iter_mut().filter(|(cause, _)| **cause != Cause::Tiny).map(|(_, group)| group);
        let late = late.max_by_key(|group| group.cost());
        let is_late = case.tasks.late.get(&object).is_some_and(|late| *late > 0.5);
        let late = late.filter(|_| case.tasks.seen.is_in_own_code() && is_late);
        match late {
            Some(late) => late.searched = searches(case),
            None => groups.entry(Cause::Tiny).or_default().searched = searches(case),
        }
    }
    for (cause, group) in groups {
        let lost = group.cost();
        candidates.push(match cause {
            Cause::Tiny => {
                let gain = gain_of_larger(case, &group);
                let candidate =
                    Candidate::new(FindingKind::Tasks, lost, move |case| describe_tiny(case, &group));
                Candidate { gain, ..candidate }
            }
            Cause::Late(_) => {
                Candidate::new(FindingKind::Tasks, lost, move |case| describe_late(case, &group))
            }
            Cause::Held => {
                let gain = gain_of_released(case, &group);
                let candidate =
                    Candidate::new(FindingKind::Tasks, lost, move |case| describe_held(case, &group));
                Candidate { gain, ..candidate }
            }
        });
    }
}

/// What a runtime may do in the time of each task, where more is not known: all of a task that does nothing itself takes LLVM's 60
/// to 120 ns (a recursion down to the leaves, clang 19).
const HIDDEN: Nanos = Nanos::new(100);
/// A task that takes less is not worth making: putting one into a queue and taking it out again is twice [`HIDDEN`], about.
const LEAST_WORTH: Nanos = Nanos::new(200);
/// What of the time that making a task is seen to take is recording's: two looks at the clock and what is around them. At least, and
/// at most (gcc's runtime takes 16 ns for a task that it executes at once, by samples of perf; 100 were recorded).
const RECORDED: [Nanos; 2] = [Nanos::new(20), Nanos::new(80)];

/// What tasks are seen to do has in it what they do for the sake of being tasks: their data are stored, copied and moved to another
/// core. So many times as long as without (2 for a search that hands on 320 bytes, gcc 12 with -O2).
const SEEN_IS_AT_MOST: u64 = 2;

/// What making and handing out tasks takes at most (ns of thread-time), a part of which may be hidden in their own time. Where making
/// was seen to take more than twice as long as all that tasks do, among which it is, those that were timed are not like the others.
fn handing_out(sums: &TaskSums) -> u64 {
    let seen = Some(sums.making).filter(|&making| making / 2 <= sums.time).unwrap_or(0);
    seen.max(sums.made.saturating_mul(HIDDEN.get()))
}

/// What fewer and larger tasks save where they are tiny: the waits for them and making them; at most all that their regions
/// take beyond the tasks' own work, in whose time the runtime has a part, too. No replay of waits tells that.
fn gain_of_larger(case: &Case<'_>, group: &Group) -> Option<Gain> {
    let sums = sums_of(case, group)?;
    let of_each = |time: u64| Nanos::new(time / u64::from(case.working.at_once.max(1)));
    let [most_made, least_made] =
        RECORDED.map(|recorded| sums.making.saturating_sub(sums.made.saturating_mul(recorded.get())));
    let hidden = sums.time.min(handing_out(sums));
    let most: f64 = with_tasks(&case.process.openmp).map(Region::total_time).sum();
    let most = Nanos::new(most as u64).min(case.wall());
    let all_but = |work: u64| most.saturating_sub(of_each((sums.time - hidden).max(work)));
    let seen = case.tasks.seen.work();
    let high = all_but(seen / SEEN_IS_AT_MOST);
    let time = case.working.cost(group.cost().get()) + of_each(most_made.midpoint(least_made));
    let time = time.min(all_but(seen));
    let low = of_each(least_made).min(time);
    Some(Gain { time, low, high, expression: String::new(), capped_by: None })
}

/// The tasks that a group of tiny ones is about. All objects of a region tell of the same tasks: those of the dearest one stand
/// for all.
fn sums_of<'a>(case: &Case<'a>, group: &Group) -> Option<&'a TaskSums> {
    most_first(&group.objects).iter().find_map(|(object, _)| case.tasks.by_object.get(object))
}

/// True for the loops in which OpenMP's runtimes look for something to do. Where tasks are tiny, these are what handing one out takes.
pub(super) fn are_searched_for(case: &Case<'_>, site: Option<SiteId>) -> bool {
    case.tasks.are_some_tiny() && case.timeline.places.spin(site).is_some_and(searches_tasks)
}

/// The time in these loops, outside of waits that were told one by one, and for want of a core that they had.
fn searches(case: &Case<'_>) -> Nanos {
    let searches = case.losses.spin.iter().filter(|&(&site, _)| are_searched_for(case, site));
    let time: Nanos = searches.flat_map(|(_, threads)| threads.values()).copied().sum();
    time + part(case.losses.taken_by_spinning, time, case.losses.spun())
}

/// How often and how long threads waited at these objects, and how many of them at once.
fn waits(case: &Case<'_>, group: &Group) -> String {
    let costs = || group.objects.keys().filter_map(|&object| case.object_cost(object));
    let count: u64 = costs().map(|cost| cost.waits).sum();
    let wait: Nanos = costs().map(|cost| cost.wait).sum();
    let at_once: f64 = costs().map(|cost| cost.mean_waiters * cost.wait.get() as f64).sum();
    let at_once = at_once / (wait.get() as f64).max(1.0);
    let more = if group.searched > Nanos::ZERO {
        format!("; in the runtime they looked for one for {} more", group.searched)
    } else {
        String::new()
    };
    format!(
        "Threads waited for the next one {}, {wait} in all, {at_once:.1} of them at once on average{more}.",
        times(count)
    )
}

fn describe_tiny(case: &Case<'_>, group: &Group) -> Description {
    let objects = most_first(&group.objects);
    let sums = sums_of(case, group);
    let place = sums.and_then(TaskSums::place);
    let at = place.map(|place| format!(" in {}", case.site(place))).unwrap_or_default();
    let mut evidence = Vec::new();
    if let Some(sums) = sums {
        let deferred = sums.made - sums.at_once.min(sums.made);
        let making = match sums.making.checked_div(deferred) {
            None | Some(0) => String::new(),
            Some(making) => format!(", making one {}", Nanos::new(making)),
        };
        evidence.push(format!(
            "{} tasks take {} each on average{making}.",
            grouped(sums.made),
            mean(Nanos::new(sums.time), sums.made),
        ));
    }
    let at_once = sums.filter(|sums| sums.at_once > sums.made / 2);
    evidence.extend(at_once.map(|sums| {
        let share = percent(sums.at_once as f64 / sums.made as f64);
        format!("{share} of them are executed at once by the thread that makes them (if, final), but made all the same.")
    }));
    if group.charge.total() > Nanos::ZERO {
        evidence.push(waits(case, group));
    }
    evidence.extend(meanwhile(&group.charge));
    Description {
        object: objects.first().map(|(object, _)| *object),
        threads: Vec::new(),
        place,
        what: format!("tasks that are too small{at}"),
        evidence,
        hint: if at_once.is_some() {
            "Below a size call the function instead of making a task."
        } else {
            "Make fewer and larger tasks: below a size do the work at once (if, final, grainsize)."
        }
        .to_owned(),
        on_path: None,
        method: "waits for tasks of a median below 5 µs",
        stretches: Vec::new(),
        notes: vec!["holdup scale says at which size tasks are best done at once.".to_owned()],
    }
}

/// What the object with the dearest waits says of why there was no task.
fn held_most<'a>(case: &Case<'a>, group: &Group) -> Option<(ObjectId, &'a Held)> {
    most_first(&group.objects).iter().find_map(|&(object, _)| Some((object, case.tasks.held(object)?)))
}

/// What it saves that tasks may begin: all of the waits in which they could not, but for one of the longest tasks, with which some thread may be left alone at the
/// end (Graham, *Bounds on multiprocessing timing anomalies*, 1969).
fn gain_of_released(case: &Case<'_>, group: &Group) -> Option<Gain> {
    let (_, held) = held_most(case, group)?;
    let cost = case.working.cost(group.cost().get());
    let time = Nanos::new((cost.get() as f64 * held.share.min(1.0)) as u64);
    let error = Nanos::new((LEAST_ERROR * case.wall().get() as f64) as u64);
    let (low, high) = (time.saturating_sub(held.longest + error), (cost + error).min(case.wall()));
    Some(Gain { time, low, high, expression: String::new(), capped_by: None })
}

fn describe_held(case: &Case<'_>, group: &Group) -> Description {
    let mut description = describe_late(case, group);
    let Some((object, held)) = held_most(case, group) else { return description };
    let sums = case.tasks.by_object.get(&object).or_else(|| case.tasks.held_at.get(&object));
    let whom = description.what.split_once(": ").map(|(_, whom)| whom.to_owned());
    let whom = whom.map(|whom| format!(": {whom}")).unwrap_or_default();
    let at = |place: Option<SiteId>| place.map(|place| case.site(place));
    let (what, evidence, hint) = match held.by {
        HeldBy::Dependences { tasks, one } => {
            let place = sums.and_then(TaskSums::place);
            let in_place = at(place).map(|place| format!(" in {place}")).unwrap_or_default();
            description.place = place.or(description.place);
            let of_one = (one > tasks / 2).then(|| {
                format!(
                    ": of {} that were recorded {} write what one and the same dependence names, and so are done one after another",
                    grouped(tasks),
                    grouped(one)
                )
            });
            (
                format!("tasks that depend on each other{in_place}"),
                format!("Meanwhile tasks that had been made could not begin{}.", of_one.unwrap_or_default()),
                "Let them depend on less: give each task, or each thread, its own copy of what they share, and depend on parts in \
                 place of the whole.",
            )
        }
        HeldBy::Wait { kind, place, rounds } => {
            description.place = place.or(description.place);
            let wait = match at(place) {
                Some(place) => format!("{} {place}", kind.words()),
                None => kind.words().trim_end_matches(" in").to_owned(),
            };
            (
                format!("more tasks are made only behind {wait}"),
                format!(
                    "In {} the thread that makes tasks waits there for all of the last ones, while others have nothing to do.",
                    counted(rounds, "round", "rounds")
                ),
                "Make all tasks first and wait once behind them, or say what each of them needs (depend); where the next ones need all of \
                 these, cut the longest into smaller ones.",
            )
        }
    };
    description.what = format!("{what}{whom}");
    description.evidence.insert(1, evidence);
    hint.clone_into(&mut description.hint);
    description
}

fn describe_late(case: &Case<'_>, group: &Group) -> Description {
    let threads = main_ones(&group.threads);
    let objects = main_ones(&group.objects);
    let executed = case.executed_while_waited_for(&threads, objects.iter().map(|&object| Some(object)));
    let waited_at = objects.first().and_then(|&object| case.object_cost(object)?.place);
    let at = waited_at.map(|place| format!(" in {}", case.site(place))).unwrap_or_default();
    // Where tasks are tiny, there are enough of them.
    let are_tiny = objects.first().is_some_and(|&object| case.tasks.are_tiny(object));
    let lack = if are_tiny { "tasks that come late" } else { "too few tasks" };
    let what = match (&executed, threads.is_empty()) {
        (Some(executed), _) => {
            format!("{lack}: threads wait for {}, mostly in {}", case.threads(&threads), executed.words)
        }
        (None, false) => format!("{lack}{at}: threads wait for {}", case.threads(&threads)),
        (None, true) => format!("{lack}{at}"),
    };
    let mut evidence = vec![waits(case, group)];
    let sums = objects.first().and_then(|object| case.tasks.by_object.get(object));
    let are_not_worth_it = sums.is_some_and(|sums| sums.time < sums.made.saturating_mul(LEAST_WORTH.get()));
    if let Some(sums) = sums {
        evidence.push(format!(
            "{} tasks take {} each on average.",
            grouped(sums.made),
            mean(Nanos::new(sums.time), sums.made)
        ));
    }
    evidence.extend(executed.as_ref().map(|executed| executed.evidence()));
    evidence.extend(meanwhile(&group.charge));
    let on_path = objects.iter().filter_map(|&object| Some(case.object_cost(object)?.on_path)).max();
    Description {
        object: objects.first().copied(),
        place: executed.map(|executed| executed.place).or(waited_at),
        what,
        evidence,
        hint: if are_tiny && are_not_worth_it {
            "Make these tasks earlier and on more than one thread, and below a size do the work at once (if, final): \
             making and handing one out takes about as long as it does."
        } else if are_tiny {
            "Make these tasks earlier and on more than one thread. Smaller ones would not help; larger ones (if, final below a size) \
             save what making them takes."
        } else {
            "Make more tasks, or smaller ones, make them earlier and on more than one thread, and begin with the largest \
             ones."
        }
        .to_owned(),
        on_path,
        threads,
        method: "waits until the next task is made, charged along the chain to the thread that works meanwhile",
        stretches: Vec::new(),
        notes: Vec::new(),
    }
}
