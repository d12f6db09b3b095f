//! One execution of a parallel region or section by a team, and where the team's time went.
//!
//! The team's thread-time (its length × its threads) is cut into parts that add up to it exactly, and useful work is
//! what is left. Members work on *legs* between meetings; [`meeting`](super::meeting) has what is lost at these, and
//! what hinders a thread on its leg is in [`ThreadSums`].

use holdup_model::openmp::{SyncKind, WorkKind};
use holdup_model::{ClassTimes, LossClass, SiteId, ThreadId, ThreadSums};

use super::meeting::{Leg, Phases, Split, Visit};
use super::span::overlap;

/// What thread-time is lost to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Imbalance,
    Walkthrough,
    Startup,
    LockAlgorithm,
    LockContention,
    Scheduling,
    Serial,
    Starvation,
    Oversubscription,
    /// Input and output, sleep, what nobody knows: none of the causes that are told.
    Other,
}

pub(super) const PARTS: usize = Part::Other as usize + 1;

/// Thread-time (ns) by [`Part`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sums {
    parts: [u64; PARTS],
    /// Of [`Part::Other`]: nobody knows what threads waited for.
    pub(super) unknown: u64,
    /// Of [`Part::Serial`]: threads waited for their turn at an `ordered`, and each wait was told.
    pub(super) turns: u64,
    /// Not in any part: threads were seen in locks of OpenMP, whose time is counted where they are called.
    pub(super) in_locks: u64,
}

impl Sums {
    pub(super) fn of(&self, part: Part) -> u64 {
        self.parts[part as usize]
    }

    pub(super) fn book(&mut self, part: Part, time: u64) {
        self.parts[part as usize] += time;
    }

    /// Takes back what was booked.
    pub(super) fn give_back(&mut self, part: Part, time: u64) {
        self.parts[part as usize] = self.of(part).saturating_sub(time);
    }

    pub(super) fn add(&mut self, other: &Sums) {
        for (sum, part) in self.parts.iter_mut().zip(other.parts) {
            *sum += part;
        }
        self.unknown += other.unknown;
        self.turns += other.turns;
        self.in_locks += other.in_locks;
    }

    pub(super) fn total(&self) -> u64 {
        self.parts.iter().sum()
    }

    pub(super) fn as_array(&self) -> &[u64; PARTS] {
        &self.parts
    }
}

/// A loop, sections, or another worksharing construct on a member's way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) kind: WorkKind,
    pub(super) sequence: u32,
    pub(super) place: Option<SiteId>,
    pub(super) iterations: Option<u64>,
    pub(super) chunk: Option<u32>,
}

/// What one thread did of an execution.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) thread: ThreadId,
    pub(super) begin: u64,
    pub(super) end: u64,
    /// Spans in which it did what only one thread does.
    pub(super) alone: Vec<(u64, u64)>,
    /// Waits on its way that are no meeting of all, and what they are lost to.
    pub(super) waits: Vec<(u64, u64, Part)>,
    /// The runtime's work on its way: when, and how long.
    pub(super) runtime: Vec<(u64, u64)>,
    pub(super) works: Vec<Shared>,
}

/// A point of synchronization of the whole team.
#[derive(Clone, Debug)]
pub(super) struct Meeting {
    /// Which one of the execution: those in between were not recorded.
    pub(super) sequence: u32,
    /// `None` for the join.
    pub(super) kind: Option<SyncKind>,
    pub(super) place: Option<SiteId>,
    /// By member.
    pub(super) visits: Vec<Visit>,
}

/// One execution.
#[derive(Clone, Debug)]
pub(super) struct Team {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) members: Vec<Member>,
    /// By sequence; the join is the last.
    pub(super) meetings: Vec<Meeting>,
    /// What waiting for other threads' words counts as: see [`LossClass::Signal`].
    pub(super) condition: Part,
    /// What time at meetings without a task to execute counts as.
    pub(super) no_task: Part,
}

/// From one meeting to the next.
#[derive(Clone, Debug)]
pub(super) struct Phase {
    pub(super) kind: Option<SyncKind>,
    pub(super) place: Option<SiteId>,
    /// By member.
    pub(super) legs: Vec<Leg>,
    /// When it began: the first thread left the last meeting.
    pub(super) begin: u64,
    /// When the first thread left the meeting at its end.
    pub(super) end: u64,
    /// True if nothing that was not recorded lies between, and no tasks are executed at its end: then `legs` are
    /// what threads did.
    pub(super) is_told: bool,
    pub(super) split: Split,
    /// Thread-time.
    pub(super) walkthrough: u64,
    /// What was lost in it and at its end, the lateness at its begin included.
    pub(super) sums: Sums,
}

/// Where the time of one execution went.
#[derive(Clone, Debug)]
pub(super) struct Parted {
    /// What was lost before the first leg, and at meetings that were not recorded.
    pub(super) rest: Sums,
    pub(super) phases: Vec<Phase>,
    pub(super) thread_time: u64,
}

impl Parted {
    pub(super) fn sums(&self) -> Sums {
        let mut sums = self.rest;
        for phase in &self.phases {
            sums.add(&phase.sums);
        }
        sums
    }
}

/// Cuts the time of an execution into its parts; `cores` are those that the program may use (0: not known).
pub(super) fn part(team: &Team, courses: &ThreadSums, cores: u32) -> Parted {
    let threads = team.members.len() as u64;
    let mut rest = Sums::default();
    let mut starts: Vec<u64> = team.members.iter().map(|member| member.begin).collect();
    let mut begin = starts.iter().copied().min().unwrap_or(team.begin);
    // What the runtime does before the first thread can begin.
    rest.book(Part::Scheduling, threads * begin.saturating_sub(team.begin));
    let mut next = 0u32;
    let mut missing = 0u64;
    let mut phases = Vec::with_capacity(team.meetings.len());
    for meeting in &team.meetings {
        let Some(gathered) = Phases::of(&meeting.visits) else { continue };
        missing += u64::from(meeting.sequence.saturating_sub(next));
        let has_tasks = meeting.visits.iter().any(|visit| visit.tasks > 0 || visit.idle_from > visit.arrival);
        let is_told = meeting.sequence == next && !has_tasks;
        next = meeting.sequence.saturating_add(1);
        let (legs, contents) = legs(team, courses, &starts, &meeting.visits);
        let mut sums = contents;
        let mut split = Split::default();
        if is_told {
            split = match is_dealt(team, begin, gathered.complete) {
                true => Split::of_dealt(&legs, cores),
                false => Split::of(&legs),
            };
        } else {
            // Others than the leaving of the last meeting and the work since then decide when they arrive.
            split.startup = starts.iter().map(|start| start - begin).sum();
            split.oversubscription = legs.iter().map(|leg| leg.off_core).sum();
            let waited: u64 = meeting.visits.iter().map(|visit| gathered.complete - visit.arrival).sum();
            let tasks = meeting.visits.iter().map(|visit| visit.tasks).fold(0, u64::saturating_add);
            match has_tasks {
                true => {
                    sums.book(team.no_task, waited.saturating_sub(tasks));
                    tasks_at(team, courses, &meeting.visits, &mut sums);
                }
                false => split.imbalance = waited,
            }
        }
        sums.book(Part::Startup, split.startup);
        sums.book(Part::Oversubscription, split.oversubscription);
        sums.book(Part::Serial, split.serial);
        sums.book(Part::Imbalance, split.imbalance);
        let walkthrough = threads * gathered.walkthrough();
        sums.book(Part::Walkthrough, walkthrough);
        let (kind, place, end) = (meeting.kind, meeting.place, gathered.first_leave);
        phases.push(Phase { kind, place, legs, begin, end, is_told, split, walkthrough, sums });
        starts.clear();
        starts.extend(meeting.visits.iter().map(|visit| visit.leave));
        begin = end;
    }
    let thread_time = threads * team.end.saturating_sub(team.begin);
    let mut parted = Parted { rest, phases, thread_time };
    book_missing(&mut parted, missing);
    parted
}

/// True if members take pieces of a loop between these times as they become free.
fn is_dealt(team: &Team, begin: u64, end: u64) -> bool {
    let mut works = team.members.iter().flat_map(|member| &member.works);
    works.any(|work| {
        matches!(work.kind, WorkKind::DynamicLoop | WorkKind::GuidedLoop)
            && (begin..end).contains(&work.begin)
    })
}

/// What is lost at meetings.
const MEETING_PARTS: [Part; 5] =
    [Part::Imbalance, Part::Walkthrough, Part::Startup, Part::Serial, Part::Starvation];

/// Meetings that were not recorded are taken to have cost as much as those that were.
fn book_missing(parted: &mut Parted, missing: u64) {
    let barriers = parted.phases.iter().filter(|phase| phase.kind.is_some());
    let recorded = barriers.clone().count() as u64;
    if missing == 0 || recorded == 0 {
        return;
    }
    let mut left = parted.thread_time.saturating_sub(parted.sums().total());
    for part in MEETING_PARTS {
        let told: u64 = barriers.clone().map(|phase| phase.sums.of(part)).sum();
        let more =
            (u128::from(told) * u128::from(missing) / u128::from(recorded)).min(u128::from(left)) as u64;
        parted.rest.book(part, more);
        left -= more;
    }
}

/// What each member did on its way to a meeting, and what hindered it there.
fn legs(team: &Team, courses: &ThreadSums, starts: &[u64], visits: &[Visit]) -> (Vec<Leg>, Sums) {
    let mut sums = Sums::default();
    let legs = team.members.iter().zip(starts).zip(visits).map(|((member, &start), visit)| {
        let (start, arrival) = (start, visit.arrival.max(start));
        let span = (start, arrival);
        let hindered = courses.between(member.thread, start, arrival);
        let off_core = hindered.by(LossClass::OffCore).min(arrival - start);
        let mut left = arrival - start - off_core;
        let alone: u64 = member
            .alone
            .iter()
            .map(|&alone| {
                let (begin, end) = (alone.0.max(start), alone.1.min(arrival));
                let off_core = || courses.between(member.thread, begin, end).by(LossClass::OffCore);
                if begin < end { (end - begin).saturating_sub(off_core()) } else { 0 }
            })
            .sum();
        let leg = Leg { start, arrival, off_core, alone: alone.min(left) };
        let mut told = 0;
        for &(begin, end, part) in &member.waits {
            let wait = overlap(span, (begin, end));
            told += wait;
            take(&mut sums, &mut left, part, wait);
        }
        book_hindered(team, &hindered, &mut sums, &mut left);
        // Meetings of teams inside of this one.
        let others = hindered.by(LossClass::Meeting).saturating_sub(told);
        take(&mut sums, &mut left, Part::Imbalance, others);
        let runtime = member.runtime.iter().filter(|(when, _)| (start..arrival).contains(when));
        take(
            &mut sums,
            &mut left,
            Part::Scheduling,
            runtime.map(|(_, time)| *time).fold(0, u64::saturating_add),
        );
        leg
    });
    (legs.collect(), sums)
}

/// Another thread has a lock that is not OpenMP's: what is known of those is told elsewhere.
pub(super) const LOCKS: [LossClass; 2] = [LossClass::Lock, LossClass::Handover];
/// The thread waits for what another one says.
pub(super) const SIGNALS: [LossClass; 2] = [LossClass::Signal, LossClass::Spin];
/// It waits for something else.
pub(super) const OUTSIDE: [LossClass; 3] = [LossClass::Join, LossClass::Io, LossClass::Sleep];
/// It is in a lock of OpenMP.
const OMP_LOCKS: [LossClass; 2] = [LossClass::OmpLock, LossClass::OmpHandover];

fn book_hindered(team: &Team, hindered: &ClassTimes, sums: &mut Sums, left: &mut u64) {
    take(sums, left, Part::LockContention, hindered.of_all(&LOCKS));
    sums.turns += take(sums, left, Part::Serial, hindered.by(LossClass::Turn));
    take(sums, left, team.condition, hindered.by(LossClass::Signal));
    let spun = take(sums, left, team.condition, hindered.by(LossClass::Spin));
    sums.unknown += if team.condition == Part::Other { spun } else { 0 };
    take(sums, left, Part::Other, hindered.of_all(&OUTSIDE));
    sums.unknown += take(sums, left, Part::Other, hindered.by(LossClass::Unknown));
    sums.in_locks += hindered.of_all(&OMP_LOCKS).min(*left);
}

/// What hindered members in the tasks that they executed at a meeting.
fn tasks_at(team: &Team, courses: &ThreadSums, visits: &[Visit], sums: &mut Sums) {
    for (member, visit) in team.members.iter().zip(visits) {
        let hindered = courses.between(member.thread, visit.arrival, visit.idle_from);
        let mut left = visit.tasks;
        take(sums, &mut left, Part::Oversubscription, hindered.by(LossClass::OffCore));
        book_hindered(team, &hindered, sums, &mut left);
        let runtime =
            member.runtime.iter().filter(|(when, _)| (visit.arrival..visit.idle_from).contains(when));
        take(sums, &mut left, Part::Scheduling, runtime.map(|(_, time)| *time).fold(0, u64::saturating_add));
    }
}

/// Books what there is of `time`, and gives it: no time is booked twice.
fn take(sums: &mut Sums, left: &mut u64, part: Part, time: u64) -> u64 {
    let time = time.min(*left);
    sums.book(part, time);
    *left -= time;
    time
}
