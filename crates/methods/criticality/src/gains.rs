//! What fixing each finding would give: a replay for each.

mod children;
mod chunks;
mod cores;
mod spinning;
mod stuck;
mod teams;

use std::collections::BTreeMap;
use std::sync::Arc;

use holdup_model::figures::percent;
use holdup_model::names::Names;
use holdup_model::selector::quoted;
use holdup_model::{Arrange, Call, Nanos, ObjectId, ObjectKind, Process, Run, ThreadId, Timeline};
use holdup_replay::{
    Budget, Change, LEAST_ERROR, LockChange, Next, NoReplay, PauseKind, Pool, Prediction, Replayer, Sorts,
    ends_name, object_name, parse, place_name, thread_name,
};

use self::stuck::{STUCK, is_stuck};
use crate::diagnose::is_seen_throughout;
use crate::findings::{BUSY_CORES, Tasks as RecordedTasks, mostly_called, rank};
use crate::{Curve, CurvePoint, Diagnosis, Finding, FindingKind, Gain, WhatIf};

/// What is predicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Depth {
    /// The gain of each finding, however long that takes; else those of the first ones, as many as there is time for
    /// ([`Budget`]).
    pub all_gains: bool,
    /// Curves for the findings that give the most too, as many as there is time for.
    pub curves: bool,
}

/// What curves may take, as a multiple of what gains may.
const TIMES_FOR_CURVES: u64 = 3;
/// Findings that have curves, at most.
const MOST_CURVES: usize = 3;
/// How many times shorter sections, or faster threads, curves show.
const TIMES: [f64; 7] = [1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0];
/// Above so many threads that work alone in turn, their sort is named in place of each.
const MOST_NAMED: usize = 32;
/// Sorts of stretches that an expression names, at most.
const MOST_STRETCHES: usize = 8;
/// A gain that is below this share of the cost is kept low by something else.
const CAPPED: f64 = 0.8;
/// An unchanged replay that is further off than this share of the wall time is told of.
const FAR_OFF: f64 = 0.05;

/// What is said where a finding's gain was not computed.
const NO_TIME: &str = "What fixing would save is at most the cost here: to replay this run with each change takes longer than an answer may; holdup report --all-gains replays them all.";

/// What is said where threads that share cores do different things.
const SEVERAL_SORTS: &str = "What fewer threads would give is not known: no more of them than there are cores do the same, \
    or they take their work from different queues.";

/// What is said where a process waits for another one of the run, or for one that was not seen.
const OF_CHILDREN: &str = "What fixing would save is not known: the time is that of its child processes.";

/// Most waits of a program that the library was not in last as long in the replay as they did, whatever else changes.
const ONLY_KERNEL: &str = "Only the kernel saw this program: who ended which wait is mostly not known, so that no replay \
    predicts gains.";

/// What is said of a run that never ended.
const HUNG: &str =
    "No gains are predicted: the program hung, and how long until it was ended is not its own time.";

/// A change that fixes a finding, and the words for it.
struct Fix {
    changes: Vec<Change>,
    expression: String,
}

/// Predicts what fixing the findings of a diagnosis would give, and puts it into the diagnosis.
///
/// # Panics
/// If the diagnosis is not of this run.
pub fn predict_gains(run: &Run, diagnosis: &mut Diagnosis, depth: Depth) {
    let process = &run.processes[diagnosis.process];
    let timeline = &*Arc::clone(&diagnosis.timeline);
    let replayer = match Replayer::of(process, timeline, run.effective_cores_of(process)) {
        Ok(replayer) => replayer,
        Err(NoReplay::Nothing) => return,
        Err(endless) => {
            let notes = vec![format!("No gains are predicted: {endless}.")];
            diagnosis.what_if =
                Some(WhatIf { replayed: timeline.wall(), all_together: None, curves: Vec::new(), notes });
            return;
        }
    };
    if diagnosis.findings.iter().any(|finding| finding.kind == FindingKind::Hang) {
        let notes = vec![HUNG.to_owned()];
        let replayed = replayer.replayed();
        diagnosis.what_if = Some(WhatIf { replayed, all_together: None, curves: Vec::new(), notes });
        return;
    }
    if process.seen_by.kernel && !process.seen_by.preload {
        let notes = vec![ONLY_KERNEL.to_owned()];
        let replayed = replayer.replayed();
        diagnosis.what_if = Some(WhatIf { replayed, all_together: None, curves: Vec::new(), notes });
        return;
    }
    let names = Names::of(process, Some(&timeline.roles));
    let case = Case {
        run,
        process,
        timeline,
        replayer: &replayer,
        names: &names,
        wall: timeline.wall(),
        sorts: Sorts::of(process),
        tasks: RecordedTasks::of(process, timeline),
        smaller_teams: teams::saved(process, timeline, diagnosis.effective_cores.max(1)),
    };
    let left_to_gain = left_of_busy_cores(process, diagnosis);
    let in_time = replayer.budget(Budget::of_run(timeline.wall()));
    let mut budget = if depth.all_gains { Budget::unlimited() } else { in_time.clone() };
    let without_spinning = spinning::gains(process, diagnosis);
    let known = diagnosis.findings.iter().zip(&without_spinning);
    let ways = |(finding, awake): (&Finding, &Option<Gain>)| match awake {
        Some(_) => Vec::new(),
        None => case.ways(diagnosis, finding),
    };
    let ways: Vec<Vec<Fix>> = known.map(ways).collect();
    for ((finding, ways), awake) in diagnosis.findings.iter_mut().zip(&ways).zip(&without_spinning) {
        let is_bounded = case.smaller_teams.is_some() || left_to_gain.is_some() || awake.is_some();
        if ways.is_empty() && !is_bounded && finding.kind == FindingKind::Oversubscription {
            finding.notes.push(SEVERAL_SORTS.to_owned());
        }
        match case.beside_children(finding) {
            Some((gain, note)) => {
                finding.gain = Some(gain);
                finding.notes.push(note);
            }
            None if ways.is_empty() && case.waits_for_children(finding) => {
                finding.notes.push(OF_CHILDREN.to_owned());
            }
            None => {}
        }
    }
    let sets: Vec<Vec<Change>> = ways.iter().flatten().map(|way| way.changes.clone()).collect();
    let mut found = replayer.sweep(&sets, &mut budget).into_iter();
    let mut sets: Vec<Vec<Change>> = Vec::new();
    let mut places: Vec<usize> = Vec::new();
    let mut predictions: Vec<Result<Prediction, NoReplay>> = Vec::new();
    let mut fixes: Vec<Option<Fix>> = Vec::new();
    for (place, ways) in ways.into_iter().enumerate() {
        let tried = ways.into_iter().zip(found.by_ref());
        // The first of those that give the most; one that cannot be replayed only where none can.
        let wall = |tried: &(Fix, Result<Prediction, NoReplay>)| match &tried.1 {
            Ok(prediction) => prediction.wall,
            Err(_) => Nanos::new(u64::MAX),
        };
        fixes.push(tried.min_by_key(wall).map(|(fix, prediction)| {
            sets.push(fix.changes.clone());
            places.push(place);
            predictions.push(prediction);
            fix
        }));
    }
    // Those of which nothing is known alone are not to be known together with others; nor is what does more than fix a finding.
    let fixes_only = |set: usize, prediction: &Prediction| {
        let lost = lost_to_a_stage(&diagnosis.findings[places[set]], diagnosis.workers);
        lost.is_none_or(|lost| prediction.gain(case.wall)[0] <= lost.get() as i64)
    };
    let is_known = |&set: &usize| predictions[set].as_ref().is_ok_and(|one| fixes_only(set, one));
    let known: Vec<usize> = (0..sets.len()).filter(is_known).collect();
    let all = once(known.iter().flat_map(|&set| sets[set].iter().cloned()));
    let is_left = !predictions.contains(&Err(NoReplay::NoTime));
    let together = (known.len() > 1 && is_left).then(|| replayer.sweep(&[all], &mut budget).pop()).flatten();
    // Who fixes one of them has what it gives: all of them that give less say nothing.
    let best = known.iter().flat_map(|&set| &predictions[set]).map(|prediction| prediction.wall).min();
    let together = together.and_then(Result::ok).filter(|all| best.is_none_or(|best| all.wall <= best));
    for (&place, prediction) in places.iter().zip(&predictions) {
        let finding = &mut diagnosis.findings[place];
        let prediction = match prediction {
            Ok(prediction) if is_stuck(prediction, replayer.let_through(), case.wall) => {
                finding.notes.push(STUCK.to_owned());
                continue;
            }
            Ok(prediction) => prediction,
            Err(NoReplay::NoTime) => {
                finding.notes.push(NO_TIME.to_owned());
                continue;
            }
            // What it saves at most is known without a replay.
            Err(_) if finding.kind == FindingKind::Oversubscription && left_to_gain.is_some() => continue,
            Err(why) => {
                finding.notes.push(format!("No gain is predicted: {why}."));
                continue;
            }
        };
        if let Some(fix) = &fixes[place] {
            let gain = case.gain(prediction, fix.expression.clone());
            let capped = (gain.time.get() as f64) < CAPPED * finding.cost.get() as f64;
            let next = case.next(prediction).filter(|_| capped);
            // That cores are all there is of them goes without saying.
            let is_told = finding.kind == FindingKind::Oversubscription && left_to_gain.is_some();
            if let Some(next) = next.as_ref().filter(|_| !is_told) {
                finding.notes.insert(0, format!("Once it is fixed, {next} limits the program."));
            }
            let lost = lost_to_a_stage(finding, diagnosis.workers).filter(|&lost| gain.time > lost);
            finding.gain = Some(match (lost, finding.gain.take()) {
                (Some(lost), _) => of_waits(finding.cost, lost, gain.low),
                // What a lock's code takes a replay has from estimates of each part, and samples do not see what its data takes.
                (None, Some(seen)) => Gain {
                    time: seen.time.max(gain.time),
                    low: seen.low.min(gain.low),
                    high: seen.high.max(gain.high),
                    ..seen
                },
                (None, None) => Gain { capped_by: next, ..gain },
            });
        }
    }
    case.tell_of_more_cores(diagnosis, &mut budget);
    case.find_chains_of_pauses(&mut diagnosis.findings, &fixes, &mut budget);
    let mut by_no_replay = Nanos::ZERO;
    for (finding, awake) in diagnosis.findings.iter_mut().zip(without_spinning) {
        if finding.kind == FindingKind::Oversubscription && awake.is_some() && case.smaller_teams.is_none() {
            finding.notes.insert(0, spinning::ONE_GAIN.to_owned());
        }
        if let Some(gain) = case.larger_chunks(finding, diagnosis.workers).or(awake) {
            finding.gain = Some(gain);
        }
        if finding.kind == FindingKind::Oversubscription
            && let Some(saved) = case.smaller_teams
        {
            let (gain, hint) = case.by_smaller_teams(saved, diagnosis.effective_cores);
            finding.gain = Some(gain);
            finding.hint = hint.unwrap_or(std::mem::take(&mut finding.hint));
        }
        if let Some(left) = left_to_gain.filter(|_| finding.kind == FindingKind::Oversubscription) {
            bound_by_busy_cores(finding, left, diagnosis.efficiency);
        }
        // No replay tells those.
        if let Some(gain) = finding.gain.as_ref().filter(|gain| gain.expression.is_empty()) {
            by_no_replay = by_no_replay.max(gain.time);
        }
    }
    rank(&mut diagnosis.findings, case.wall, diagnosis.workers > diagnosis.effective_cores);
    tell_shared_gains(&mut diagnosis.findings);
    let expressions = known.iter().filter_map(|&set| fixes[places[set]].as_ref());
    let expressions = once(expressions.map(|fix| fix.expression.as_str()));
    let all_together = together.map(|prediction| Gain {
        capped_by: case.next(&prediction),
        ..case.gain(&prediction, expressions.join(","))
    });
    // Larger tasks and smaller teams are no changes of these waits.
    let all_together = all_together.filter(|gain| gain.time >= by_no_replay);
    let curves =
        if depth.curves { case.curves(diagnosis, in_time.times(TIMES_FOR_CURVES)) } else { Vec::new() };
    let predictions: Vec<Prediction> = predictions.into_iter().filter_map(Result::ok).collect();
    diagnosis.what_if =
        Some(WhatIf { replayed: replayer.replayed(), all_together, curves, notes: case.notes(&predictions) });
}

/// What is left to gain by fewer threads where cores that too many threads share are busy with their work: the time in which the cores
/// were not. `None` where that is not seen: threads that spin have cores too, and who spins in what was not recorded is not known.
fn left_of_busy_cores(process: &Process, diagnosis: &Diagnosis) -> Option<Nanos> {
    let is_seen = is_seen_throughout(process)
        && diagnosis.on_cpu_parallelism.is_some()
        && !diagnosis.findings.iter().any(|finding| finding.kind == FindingKind::Spin);
    let are_shared = diagnosis.effective_cores > 0 && diagnosis.workers > diagnosis.effective_cores;
    let idle = 1.0 - diagnosis.efficiency;
    (is_seen && are_shared && diagnosis.efficiency >= BUSY_CORES)
        .then(|| Nanos::new((idle * diagnosis.wall.get() as f64) as u64))
}

/// What threads lost, all together, that waited for what a stage gives to others. To give it to them in time saves no more, however
/// much else a stage does that would be twice as fast in the replay. `None` for other findings.
fn lost_to_a_stage(finding: &Finding, workers: u32) -> Option<Nanos> {
    let is_one = matches!(finding.kind, FindingKind::Pipeline | FindingKind::Condition);
    is_one.then(|| Nanos::new(finding.cost.get().saturating_mul(u64::from(workers))))
}

/// The gain of a finding that `cost` so much where threads `lost` so much, all together, of which the replay of a stage twice as fast says
/// that it is more than they lost: all that is known is that they wait no longer.
fn of_waits(cost: Nanos, lost: Nanos, low: Nanos) -> Gain {
    Gain { time: cost, low: low.min(cost), high: lost, expression: String::new(), capped_by: None }
}

/// Fewer threads give no more than what is left, whatever else is predicted; and what helps is said.
fn bound_by_busy_cores(finding: &mut Finding, left: Nanos, efficiency: f64) {
    let unknown =
        Gain { time: Nanos::ZERO, low: Nanos::ZERO, high: left, expression: String::new(), capped_by: None };
    let gain = finding.gain.take().unwrap_or(unknown);
    let [time, low, high] = [gain.time, gain.low, gain.high].map(|time| time.min(left));
    finding.gain = Some(Gain { time, low, high, ..gain });
    finding.hint = format!(
        "Give the program more cores, or less to do: these are at work for it {} of the time, so that fewer threads save next to nothing.",
        percent(efficiency)
    );
}

/// Says where a finding is fixed by the same change as one before it: to fix both gives no more.
fn tell_shared_gains(findings: &mut [Finding]) {
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    for (number, finding) in (1..).zip(findings) {
        let Some(gain) = finding.gain.as_ref().filter(|gain| !gain.expression.is_empty()) else { continue };
        let before = *first.entry(gain.expression.clone()).or_insert(number);
        if before < number {
            finding.notes.insert(0, format!("What fixes {before} fixes this too: it is one gain."));
        }
    }
}

/// Each of them once, where it first stands: what fixes two findings is done once.
fn once<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// Changes by their size.
type Sizes = Vec<(f64, Vec<Change>)>;

/// What a curve shows, its axis and its points.
type Course = (String, &'static str, Sizes);

struct Case<'a> {
    run: &'a Run,
    process: &'a Process,
    timeline: &'a Timeline,
    replayer: &'a Replayer<'a>,
    names: &'a Names<'a>,
    wall: Nanos,
    sorts: Sorts,
    tasks: RecordedTasks,
    /// What OpenMP's teams would save with a thread for each core.
    smaller_teams: Option<teams::Saved>,
}

/// From this share on, parallel regions count as recorded whole.
const ALL_BUT_NOTHING: f64 = 0.98;

/// A pause whose fixing gives less than this share of what it costs gives nothing by itself.
const NOTHING: f64 = 0.1;

/// Pauses are one chain where fixing all of them gives this share of what the dearest costs.
const MUCH: f64 = 0.5;

impl Case<'_> {
    /// A thread that reads what another one sends when it has slept waits for both: to fix either alone gives nothing, and
    /// says nothing of what asking earlier would give.
    fn find_chains_of_pauses(&self, findings: &mut [Finding], fixes: &[Option<Fix>], budget: &mut Budget) {
        let gives_nothing = |finding: &Finding| {
            let gain = finding.gain.as_ref().map(|gain| gain.time);
            matches!(finding.kind, FindingKind::Io | FindingKind::Sleep)
                && gain.is_some_and(|gain| gain.share_of(finding.cost) < NOTHING)
        };
        let pauses: Vec<usize> =
            (0..findings.len()).filter(|&place| gives_nothing(&findings[place])).collect();
        let Some(dearest) = pauses.iter().map(|&place| findings[place].cost).max() else { return };
        let changes = pauses.iter().filter_map(|&place| fixes[place].as_ref());
        let changes = once(changes.flat_map(|fix| fix.changes.iter().cloned()));
        if pauses.len() < 2 || changes.len() < 2 {
            return;
        }
        let Some(Ok(together)) = self.replayer.sweep(&[changes], budget).pop() else { return };
        let given = self.gain(&together, String::new()).time;
        if given.share_of(dearest) < MUCH {
            return;
        }
        let words: Vec<String> = pauses.iter().map(|&place| findings[place].what.clone()).collect();
        for (own, &place) in pauses.iter().enumerate() {
            let others: Vec<&str> = words
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != own)
                .map(|(_, what)| what.as_str())
                .collect();
            let finding = &mut findings[place];
            finding.gain = None;
            finding.notes.retain(|note| !note.starts_with("Once it is fixed"));
            finding.notes.insert(
                0,
                format!(
                    "It is one chain of waits with {}: fixing it alone saves nothing, all of them {given}.",
                    others.join(" and ")
                ),
            );
        }
    }

    /// What smaller teams save; and what helps where that is nothing.
    fn by_smaller_teams(&self, saved: teams::Saved, cores: u32) -> (Gain, Option<String>) {
        let error = LEAST_ERROR * self.wall.get() as f64;
        let [time, low, high, longer] =
            [saved.time, saved.least - error, saved.most + error, -saved.time - error]
                .map(|time| Nanos::new(time.max(0.0) as u64).min(self.wall));
        let hint = (longer > Nanos::ZERO).then(|| {
            format!(
                "Deal the work out more evenly (schedule(dynamic)): with teams of {cores} the run would take longer as it is, for a \
                 thread would have what several neighbours have now, and that is unequal."
            )
        });
        (Gain { time, low, high, expression: String::new(), capped_by: None }, hint)
    }

    fn gain(&self, prediction: &Prediction, expression: String) -> Gain {
        let [time, low, high] = prediction.gain(self.wall).map(|gain| Nanos::new(gain.max(0) as u64));
        Gain { time, low, high, expression, capped_by: None }
    }

    fn next(&self, prediction: &Prediction) -> Option<String> {
        Some(match prediction.next? {
            Next::Cores(1) => "one core".to_owned(),
            Next::Cores(cores) => format!("the number of cores ({cores})"),
            Next::Object(object) => self.object(object),
            Next::Thread(thread) => self.names.thread_in_full(thread),
        })
    }

    fn object(&self, object: ObjectId) -> String {
        self.names.object(object).to_owned()
    }

    /// The ways to fix a finding that a replay can try: mostly one, or none.
    fn ways(&self, diagnosis: &Diagnosis, finding: &Finding) -> Vec<Fix> {
        let mut ways: Vec<Fix> = self.fix(diagnosis, finding).into_iter().collect();
        // Less often, or each time with equal shares, whoever had the larger one.
        if finding.kind == FindingKind::Barrier
            && let Some(object) = finding.object.filter(|&object| self.is_barrier(object))
        {
            let expression = format!("barrier:{}=balanced", self.name_of(object));
            ways.push(Fix { changes: vec![Change::BalancedBarrier(object)], expression });
        }
        ways
    }

    /// What fixes a finding, where it is a change that a replay can make.
    fn fix(&self, diagnosis: &Diagnosis, finding: &Finding) -> Option<Fix> {
        use FindingKind::{
            Affinity, Barrier, Blocked, Condition, Deadlock, Delayed, Faults, Hang, Idle, Imbalance, Io,
            Join, Load, Lock, Oversubscription, Pipeline, Queue, Quota, Semaphore, Serial, Sharing, Sleep,
            Spin, Startup, Tasks, WakeUp,
        };
        let name = |object| self.name_of(object);
        let thread = |threads: &[ThreadId]| threads.first().map(|&thread| quoted(&self.sort_name(thread)));
        let (changes, expression) = match finding.kind {
            Lock => {
                let object = finding.object?;
                let (objects, name) = match diagnosis.family_of(finding) {
                    Some(family) => (family.members.clone(), quoted(&family.name)),
                    None => (vec![object], name(object)),
                };
                if self.replayer.program().lock_of(object).is_some() {
                    let free = |object| Change::Lock(object, LockChange::Free);
                    (objects.into_iter().map(free).collect(), format!("lock:{name}=0"))
                } else {
                    (objects.into_iter().map(Change::Free).collect(), format!("object:{name}=0"))
                }
            }
            Semaphore => (vec![Change::Free(finding.object?)], format!("object:{}=0", name(finding.object?))),
            Barrier => (vec![Change::Free(finding.object?)], format!("barrier:{}=0", name(finding.object?))),
            Imbalance | Join => match finding.object.filter(|&object| self.is_barrier(object)) {
                Some(object) => {
                    (vec![Change::BalancedBarrier(object)], format!("barrier:{}=balanced", name(object)))
                }
                None => {
                    let threads = self.sorts.like(*finding.threads.first()?);
                    let takes_part = || self.timeline.roles.who_takes_part(threads).is_some();
                    if !self.timeline.are_there_together(threads) && !takes_part() {
                        // The others had ended when it began: what it does can be dealt out among new ones only.
                        // So can what each of several does that are waited for one after the other.
                        let are_several = finding.kind == Imbalance || finding.threads.len() > 1;
                        return are_several.then(|| self.spread(diagnosis, finding))?;
                    }
                    let expression = format!("threads:{}=balanced", thread(threads)?);
                    (vec![Change::BalancedThreads(threads.to_vec())], expression)
                }
            },
            Serial => return self.spread(diagnosis, finding),
            Pipeline | Condition => {
                let threads = self.sorts.like(*finding.threads.first()?);
                let expression = format!("stage:{}*2", thread(threads)?);
                (vec![Change::Stage(threads.to_vec(), 2)], expression)
            }
            Quota | Affinity => {
                let cores = self.cores_without_limit(diagnosis)?;
                (vec![Change::Cores(cores)], format!("cores={cores}"))
            }
            Oversubscription if self.smaller_teams.is_some() => return None,
            Oversubscription => {
                // The sort of which there are the most: one that starts them may take part.
                let sorts = finding.threads.iter().map(|&thread| self.sorts.like(thread));
                let threads = sorts.max_by_key(|threads| threads.len())?;
                let cores = diagnosis.effective_cores.max(1);
                let at_once = self.timeline.most_at_once(threads);
                // None of a later generation can do what is an earlier one's.
                let are_one_generation = threads.len() < 2 * at_once;
                if at_once as u32 <= cores || !are_one_generation || !self.share_pools(threads) {
                    return None;
                }
                let expression = format!("threads:{}={cores}", thread(threads)?);
                (vec![Change::Threads(threads.to_vec(), cores)], expression)
            }
            WakeUp => match finding.object {
                Some(object) => (vec![Change::InstantWakeUps(object)], format!("wakeup:{}=0", name(object))),
                None => (vec![Change::FreeWakeUps], "wakeup=0".to_owned()),
            },
            Io if self.waits_for_children(finding) || self.beside_children(finding).is_some() => return None,
            Io => self
                .shorter_at(finding, "io")
                .unwrap_or((vec![Change::Shorter(PauseKind::Io, None, f64::INFINITY)], "io=0".to_owned())),
            Sleep => {
                let all =
                    (vec![Change::Shorter(PauseKind::Sleep, None, f64::INFINITY)], "sleep=0".to_owned());
                self.shorter_at(finding, "sleep").unwrap_or(all)
            }
            // What larger ones give no replay tells.
            Tasks if finding.gain.is_some() => return None,
            Tasks => {
                let objects = self.tasks.late_like(finding.object?);
                let expression: Vec<String> =
                    objects.iter().map(|&object| format!("object:{}=0", name(object))).collect();
                (objects.into_iter().map(Change::Free).collect(), expression.join(","))
            }
            Delayed => (vec![Change::WithoutLoad], "load=0".to_owned()),
            // They are computed.
            Sharing | Faults | Queue => return None,
            Load | Spin | Startup | Idle | Deadlock | Hang | Blocked => return None,
        };
        Some(Fix { changes, expression })
    }

    /// What is done alone in the finding's dearest stretches, spread over as many threads as can work at once.
    fn spread(&self, diagnosis: &Diagnosis, finding: &Finding) -> Option<Fix> {
        let over = diagnosis.effective_cores.max(2).min(diagnosis.workers.max(2));
        let over = self.replayer.spread_over(&finding.threads, over);
        let expression = self.alone(finding, over)?;
        Some(Fix { changes: parse(&expression, self.process).ok()?.pop()?.changes, expression })
    }

    /// What is done alone in the finding's dearest stretches, spread over so many threads.
    fn alone(&self, finding: &Finding, over: f64) -> Option<String> {
        let sort = self.sorts.like(*finding.threads.first()?);
        let is_sort = sort == finding.threads;
        // Of so many the few of their sort that never worked alone make no difference, and nobody reads a list of them.
        let is_nearly = || {
            finding.threads.len() > MOST_NAMED
                && finding.threads.iter().all(|thread| sort.binary_search(thread).is_ok())
        };
        let threads: Vec<String> = if is_sort || is_nearly() {
            vec![quoted(&self.sort_name(finding.threads[0]))]
        } else if finding.threads.len() > MOST_NAMED {
            return None;
        } else {
            finding.threads.iter().map(|&thread| quoted(self.names.thread(thread))).collect()
        };
        let named = finding.stretches.iter().filter_map(|&ends| ends_name(self.process, ends));
        let mut stretches = once(named);
        stretches.truncate(MOST_STRETCHES);
        if stretches.is_empty() {
            stretches.push(String::new());
        }
        let parts = threads.iter().flat_map(|thread| {
            stretches.iter().map(move |stretch| format!("alone:{thread}{stretch}/{over}"))
        });
        Some(parts.collect::<Vec<_>>().join(","))
    }

    /// True if most of the finding's time passes in calls that the end of a child process ends.
    fn waits_for_children(&self, finding: &Finding) -> bool {
        let is_one = |thread| finding.threads.contains(&thread);
        finding.kind == FindingKind::Io
            && mostly_called(self.process, self.timeline, finding.place, true, is_one)
                .is_some_and(|(call, _)| call == Call::WaitChild)
    }

    /// No waiting at the finding's place; `None` where that has no name.
    fn shorter_at(&self, finding: &Finding, word: &str) -> Option<(Vec<Change>, String)> {
        let name = place_name(self.process, finding.place?)?;
        let expression = format!("{word}:{}=0", quoted(&name));
        let point = parse(&expression, self.process).ok()?.pop()?;
        Some((point.changes, expression))
    }

    /// True if all of these threads take their work from the same pools, if from any: of pools of their own none can do without
    /// its threads.
    fn share_pools(&self, threads: &[ThreadId]) -> bool {
        let pools = &self.replayer.program().pools;
        let shares = |pool: &Pool| {
            let takes = |thread: &ThreadId| pool.members.contains(thread);
            threads.iter().all(takes) || !threads.iter().any(takes)
        };
        pools.iter().all(shares)
    }

    fn is_barrier(&self, object: ObjectId) -> bool {
        self.process.object(object).kind == ObjectKind::Barrier
            && self.replayer.program().barrier_of(object).is_some()
    }

    /// What an expression calls this object, and no other.
    fn name_of(&self, object: ObjectId) -> String {
        let name = object_name(self.process, object);
        let all = (0..self.process.objects.len() as u32).map(ObjectId::new);
        let same = all.filter(|&other| object_name(self.process, other) == name);
        if same.take(2).count() == 1 { quoted(&name) } else { format!("#{}", object.index()) }
    }

    /// What an expression calls a thread and those that do the same.
    fn sort_name(&self, thread: ThreadId) -> String {
        thread_name(self.names, self.process, thread)
    }

    /// How many cores the program could use if nothing kept it from those that the machine has.
    fn cores_without_limit(&self, diagnosis: &Diagnosis) -> Option<u32> {
        let online = self.run.environment.online.len() as u32;
        let cores = online.min(diagnosis.workers);
        (cores > diagnosis.effective_cores).then_some(cores)
    }

    /// Curves of the findings that give the most, and of the cores.
    fn curves(&self, diagnosis: &Diagnosis, mut left: Budget) -> Vec<Curve> {
        let mut ranked: Vec<usize> = (0..diagnosis.findings.len()).collect();
        let gain =
            |index: &usize| diagnosis.findings[*index].gain.as_ref().map_or(Nanos::ZERO, |gain| gain.time);
        ranked.arrange_by_key(|index| std::cmp::Reverse(gain(index)));
        let mut curves = Vec::new();
        for index in ranked.into_iter().filter(|index| gain(index) > Nanos::ZERO) {
            if curves.len() == MOST_CURVES {
                break;
            }
            for (what, axis, points) in self.course(diagnosis, index) {
                match self.curve(what, Some(index), axis, points, &mut left) {
                    Ok(curve) => curves.push(curve),
                    Err(NoReplay::NoTime) => return curves,
                    // Nothing is known of one of its points.
                    Err(_) => {}
                }
            }
        }
        let cores = cores_shown(diagnosis);
        if cores.len() > 1 {
            let points =
                cores.into_iter().map(|cores| (f64::from(cores), vec![Change::Cores(cores)])).collect();
            curves.extend(self.curve("the number of cores".to_owned(), None, "cores", points, &mut left));
        }
        curves
    }

    fn course(&self, diagnosis: &Diagnosis, index: usize) -> Vec<Course> {
        let finding = &diagnosis.findings[index];
        let times = |change: &dyn Fn(f64) -> Change| -> Sizes {
            TIMES.iter().map(|&times| (times, vec![change(times)])).collect()
        };
        match (finding.kind, finding.object) {
            (FindingKind::Lock, Some(object)) if self.replayer.program().lock_of(object).is_some() => {
                let shorter = times(&|times| Change::Lock(object, LockChange::Shorter(times)));
                let name = object_name(self.process, object);
                let parts = [1u32, 2, 3, 4, 6, 8, 16];
                let parts = parts
                    .map(|parts| (f64::from(parts), vec![Change::Lock(object, LockChange::Split(parts))]));
                // With ever more parts nobody waits for any of them.
                let free = (f64::INFINITY, vec![Change::Lock(object, LockChange::Free)]);
                let split = parts.into_iter().chain([free]).collect();
                vec![
                    (format!("critical sections of {name} made cheaper"), "times shorter", shorter),
                    (format!("{name} split into several locks"), "locks", split),
                ]
            }
            (FindingKind::Serial, _) => {
                let Some(expression) = self.alone(finding, 1.0) else { return Vec::new() };
                let changes = parse(&expression, self.process).ok().and_then(|mut points| points.pop());
                let spread = |times: f64| {
                    let changes = changes.iter().flat_map(|point| point.changes.iter().cloned());
                    changes
                        .map(|change| match change {
                            Change::Spread(threads, within, _) => Change::Spread(threads, within, times),
                            other => other,
                        })
                        .collect()
                };
                let spread = TIMES.iter().map(|&times| (times, spread(times))).collect();
                vec![("the serial part spread over threads".to_owned(), "threads", spread)]
            }
            (FindingKind::Pipeline | FindingKind::Condition, _) if !finding.threads.is_empty() => {
                let threads = self.sorts.like(finding.threads[0]);
                let name = self.sort_name(threads[0]);
                let faster = times(&|times| Change::Faster(threads.to_vec(), times));
                vec![(format!("{name} made faster"), "times faster", faster)]
            }
            _ => Vec::new(),
        }
    }

    fn curve(
        &self,
        what: String,
        finding: Option<usize>,
        axis: &'static str,
        points: Sizes,
        left: &mut Budget,
    ) -> Result<Curve, NoReplay> {
        let (sizes, sets): (Vec<f64>, Vec<Vec<Change>>) = points.into_iter().unzip();
        let predictions = self.replayer.curve(&sets, left);
        let points = sizes.into_iter().zip(predictions).map(|(at, prediction)| {
            let Prediction { wall, low, high, .. } = prediction?;
            Ok(CurvePoint { at, wall, low, high })
        });
        Ok(Curve { what, finding, axis, points: points.collect::<Result<_, _>>()? })
    }

    fn notes(&self, predictions: &[Prediction]) -> Vec<String> {
        let mut notes = Vec::new();
        let off = self.replayer.replayed().get() as f64 / self.wall.get().max(1) as f64 - 1.0;
        if off.abs() > FAR_OFF {
            let words = if off < 0.0 { "less" } else { "more" };
            notes.push(format!(
                "Unchanged, the replay takes {:.0} % {words} than the run did: gains are less certain.",
                off.abs() * 100.0
            ));
        }
        if let Some(whole) = self.process.openmp.whole_share().filter(|&share| share < ALL_BUT_NOTHING) {
            notes.push(format!(
                "{} of the time in parallel regions was recorded whole; the rest is taken to have gone alike.",
                holdup_model::figures::percent(whole)
            ));
        }
        let stuck = predictions.iter().filter(|prediction| prediction.let_through > 0).count();
        if stuck > 0 {
            notes.push(format!(
                "In {stuck} of the replays all threads came to wait for each other, and one was let through: what was \
                 recorded does not say who would have gone first."
            ));
        }
        let mut unseen: Vec<ObjectId> =
            predictions.iter().flat_map(|prediction| prediction.unseen.iter().copied()).collect();
        unseen.sort_unstable();
        unseen.dedup();
        for object in unseen {
            notes.push(format!(
                "{} may be the next to hold the program up: how long it is held is known from a few holds only. \
                 Record with --holds all.",
                self.object(object)
            ));
        }
        notes
    }
}

/// Numbers of cores to show: up to twice as many as there are, or as are wanted.
fn cores_shown(diagnosis: &Diagnosis) -> Vec<u32> {
    let most = diagnosis.workers.max(diagnosis.effective_cores * 2).clamp(1, 128);
    let all = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128];
    all.into_iter().filter(|&cores| cores <= most).collect()
}
