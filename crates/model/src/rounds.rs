//! Waits until others have done all that they were given, where no routine's name says so.
//!
//! Most pools of threads that somebody made by hand work in rounds: one thread gives each of the others something to do, waits until
//! all of them have done it, and goes on alone until the next round. On the objects, condition variables, semaphores or futexes, that
//! looks like a queue: who waits there may as well wait for room in it. What tells them apart is what the others do when the wait
//! is over. Before there is room in a queue somebody takes from it, and works on that; when all is done, everybody waits for more,
//! or ends: other programs make their threads anew in each round, or once, and wait on such an object until all have counted down.

use std::collections::{BTreeMap, BTreeSet};

use crate::completions::{Completions, Team};
use crate::sorts::sort_of_thread;
use crate::{
    Frame, Nanos, ObjectId, ObjectKind, Process, RoutineKind, Segment, SiteId, State, ThreadId, Time,
    Timeline, Wait,
};

/// So many rounds make it a habit, at least...
const FEWEST_ROUNDS: usize = 4;
/// ...and this share of the time in such waits at a place is in rounds that end so.
const USUALLY: f64 = 0.9;
/// What a thread does between two waits for the same, or before it waits for more, is nothing, up to this share of the wait.
const NOTHING: f64 = 0.1;
/// That is nothing however short the wait was.
const AT_ONCE: Nanos = Nanos::new(5_000);
/// Who gives out work is in this share of the time until all is done at work itself, at most, or does then what the others do: else it
/// is a stage before another.
const BESIDE: f64 = 0.25;
/// What this share of the samples of those who are given work has in common is what they do.
const COMMON: f64 = 0.05;
/// Of the samples of somebody who does the same, this share shows it.
const ALIKE: f64 = 0.5;

/// A thread waits for one or several others, one after the other, and does nothing else meanwhile.
struct Stretch {
    begin: Time,
    /// When the last one said that it is done.
    released: Time,
    /// When it ran again.
    end: Time,
    /// Its waits: indices of segments.
    waits: Vec<usize>,
    /// When it gave out the last piece before.
    given: Option<Time>,
}

/// The waits of a thread until others have done all that it gave them.
#[derive(Default)]
struct Joining {
    /// By index of the segment: whether those who are waited for end then.
    waits: BTreeMap<usize, bool>,
    team: Team,
    /// Those who were waited for, where they ended then: what on, and who ended the last wait of the round. In whose queue there is
    /// room goes on; so that needs no habit.
    ended: Vec<(ThreadId, ObjectId, ThreadId)>,
}

/// Time in waits: all, and of it in those for all that was given out.
#[derive(Default, Clone, Copy)]
struct Share {
    all: Nanos,
    joining: Nanos,
    rounds: usize,
    ends: bool,
}

impl Share {
    fn add(&mut self, time: Nanos, joins: bool, ends: bool) {
        self.all += time;
        if joins {
            self.joining += time;
            self.rounds += 1;
            self.ends |= ends;
        }
    }

    fn is_usual(&self) -> bool {
        (self.ends || self.rounds >= FEWEST_ROUNDS) && self.joining.share_of(self.all) >= USUALLY
    }
}

/// A function, or, where it has no name, the place in it from which another was called.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
enum Code<'a> {
    Function(&'a str),
    Call(Option<&'a str>, u64),
}

/// Finds such waits in a timeline whose segments have their places.
pub(crate) fn completions(process: &Process, timeline: &Timeline) -> Completions {
    let finder = Finder::of(process, timeline);
    let ids = || (0..timeline.threads.len() as u32).map(ThreadId::new);
    let joining: Vec<Joining> = ids().map(|thread| finder.joining(thread)).collect();
    if joining.iter().all(|joining| joining.waits.is_empty()) {
        return Completions::default();
    }
    let mut sites: BTreeMap<SiteId, Share> = BTreeMap::new();
    let mut by: BTreeMap<(ObjectId, ThreadId), Share> = BTreeMap::new();
    let mut givers: BTreeMap<ThreadId, Share> = BTreeMap::new();
    let [mut shared, mut ends] = [const { BTreeSet::new() }; 2];
    let mut ended: Vec<(ThreadId, ObjectId, ThreadId)> = Vec::new();
    for (thread, joining) in ids().zip(&joining) {
        ended.extend(&joining.ended);
        for (index, segment) in timeline.row(thread).segments.iter().enumerate() {
            if !finder.is_wait(segment, is_signal_or_lock) {
                continue;
            }
            let joins = joining.waits.get(&index).copied();
            let (length, ends_then) = (segment.length(), joins == Some(true));
            let joins = joins.is_some();
            if let Some(site) = segment.site {
                sites.entry(site).or_default().add(length, joins, ends_then);
                shared.extend((joins && joining.team.takes_part).then_some(site));
                ends.extend(ends_then.then_some(site));
            }
            if let Some(pair) = segment.object.zip(segment.by) {
                by.entry(pair).or_default().add(length, joins, ends_then);
            }
            givers.entry(thread).or_default().add(length, joins, ends_then);
        }
    }
    let givers = usual(givers).into_iter();
    let givers = givers.map(|giver| (giver, joining[giver.index()].team.clone())).collect();
    let mut by = usual(by);
    ended.retain(|&(_, object, last)| by.contains(&(object, last)));
    by.extend(ended.iter().map(|&(member, object, _)| (object, member)));
    let ended_on = ended.into_iter().map(|(member, object, _)| (member, object)).collect();
    Completions { sites: usual(sites), shared, ends, by, ended_on, givers }
}

fn usual<K: Ord>(shares: BTreeMap<K, Share>) -> BTreeSet<K> {
    shares.into_iter().filter_map(|(key, share)| share.is_usual().then_some(key)).collect()
}

/// Some hold a lock as long as they are at work, so that who waits for them waits for that. A spin lock is held for less.
fn is_signal_or_lock(kind: ObjectKind) -> bool {
    kind.is_of_any_meaning() || matches!(kind, ObjectKind::Mutex | ObjectKind::RwLock)
}

/// Who receives from a channel may wait for work, or for results of what it sent to others.
fn says_what_for(kind: RoutineKind) -> bool {
    kind != RoutineKind::Idle
}

fn is_nothing(time: Nanos, beside: Nanos) -> bool {
    time <= AT_ONCE || time.share_of(beside) <= NOTHING
}

struct Finder<'a> {
    process: &'a Process,
    timeline: &'a Timeline,
    /// By site: what waits there is a runtime, whose routines say what for.
    of_runtime: Vec<bool>,
    /// By thread: the threads that do the same have the same.
    sorts: Vec<Option<String>>,
    /// By thread, in the order of time: when it gave something to whom, by a signal.
    given: Vec<Vec<(Time, ThreadId)>>,
    /// By thread, in the order of time: when a thread that it made began.
    made: Vec<Vec<(Time, ThreadId)>>,
}

impl<'a> Finder<'a> {
    fn of(process: &'a Process, timeline: &'a Timeline) -> Self {
        let ids = (0..timeline.threads.len() as u32).map(ThreadId::new);
        let mut finder = Self {
            process,
            timeline,
            of_runtime: process.sites.iter().map(|site| site.routine(says_what_for).is_some()).collect(),
            sorts: ids.map(|id| sort_of_thread(process, id)).collect(),
            given: vec![Vec::new(); timeline.threads.len()],
            made: vec![Vec::new(); timeline.threads.len()],
        };
        for (row, child) in timeline.threads.iter().zip(0..) {
            if let Some(parent) = process.thread(ThreadId::new(child)).parent {
                finder.made[parent.index()].push((row.start, ThreadId::new(child)));
            }
        }
        finder.made.iter_mut().for_each(|made| made.sort_unstable());
        let mut given = std::mem::take(&mut finder.given);
        for (row, to) in timeline.threads.iter().zip(0..) {
            for segment in
                row.segments.iter().filter(|segment| finder.is_wait(segment, ObjectKind::is_of_any_meaning))
            {
                if let Some(giver) = segment.by.filter(|giver| giver.index() != to as usize) {
                    given[giver.index()].push((segment.end, ThreadId::new(to)));
                }
            }
        }
        given.iter_mut().for_each(|given| given.sort_unstable());
        Self { given, ..finder }
    }

    fn is_wait(&self, segment: &Segment, kind: fn(ObjectKind) -> bool) -> bool {
        segment.state == State::Blocked
            && segment.object.is_some_and(|object| kind(self.process.object(object).kind))
            && !segment.site.is_some_and(|site| self.of_runtime[site.index()])
    }

    fn joining(&self, thread: ThreadId) -> Joining {
        let workers = self.waits_for_workers(thread);
        let mut joining = if workers.waits.is_empty() { self.waits_for_ends(thread) } else { workers };
        let each = self.waits_for_each_end(thread);
        joining.waits.extend(each.waits);
        joining.team.members.extend(each.team.members);
        joining.ended.extend(each.ended);
        joining
    }

    /// Rounds of threads that then wait for more.
    fn waits_for_workers(&self, thread: ThreadId) -> Joining {
        let team = self.team_of(thread);
        if team.is_empty() {
            return Joining::default();
        }
        let given = &self.given[thread.index()];
        let mut rounds = self.stretches(thread, &team, given);
        let takes_from = self.waited_for_first(thread, &rounds);
        let segments = &self.timeline.row(thread).segments;
        let takes = |wait: &usize| segments[*wait].object.is_some_and(|object| takes_from.contains(&object));
        let mut seen = 0;
        rounds.retain(|stretch| {
            if stretch.waits.iter().any(takes) {
                return false;
            }
            let Some((next, _)) = given.get(given.partition_point(|(at, _)| *at < stretch.end)) else {
                return false;
            };
            let all_wait = self.all_wait(thread, &team, stretch, *next);
            seen += usize::from(all_wait == Some(true));
            all_wait != Some(false)
        });
        if seen < FEWEST_ROUNDS { Joining::default() } else { self.joining_in(thread, rounds, team) }
    }

    /// What a thread waited for before it gave anybody anything: there it takes what others put in. Those that it has made itself may
    /// only have said that they are there.
    fn waited_for_first(&self, thread: ThreadId, stretches: &[Stretch]) -> BTreeSet<ObjectId> {
        let segments = &self.timeline.row(thread).segments;
        let is_other = |by: ThreadId| self.process.thread(by).parent != Some(thread);
        let first = stretches.iter().take_while(|stretch| stretch.given.is_none());
        let waits = first.flat_map(|stretch| &stretch.waits).map(|&wait| &segments[wait]);
        waits.filter(|wait| wait.by.is_some_and(is_other)).filter_map(|wait| wait.object).collect()
    }

    /// Rounds of threads that are made for them, and then end.
    fn waits_for_ends(&self, thread: ThreadId) -> Joining {
        let made = &self.made[thread.index()];
        let team: BTreeSet<ThreadId> = made.iter().map(|(_, child)| *child).collect();
        if team.is_empty() {
            return Joining::default();
        }
        let mut before = Time::default();
        let mut ended = Vec::new();
        let segments = &self.timeline.row(thread).segments;
        let mut rounds = self.stretches(thread, &team, made);
        rounds.retain(|stretch| {
            let from = made.partition_point(|(at, _)| *at < before);
            let until = made.partition_point(|(at, _)| *at < stretch.released);
            before = stretch.end;
            let all_end =
                self.all_end(thread, &made[from..until], stretch, made.get(until).map(|(at, _)| *at));
            // A lock that one of them still has is waited for as well, but not for that.
            let mut signals = stretch.waits.iter().map(|&wait| &segments[wait]);
            let last =
                signals.rfind(|segment| all_end && self.is_wait(segment, ObjectKind::is_of_any_meaning));
            let Some((object, by)) = last.and_then(|last| last.object.zip(last.by)) else { return false };
            ended.extend(made[from..until].iter().map(|&(_, member)| (member, object, by)));
            true
        });
        let joining = self.joining_in(thread, rounds, team);
        let waits = joining.waits.into_keys().map(|wait| (wait, true)).collect::<BTreeMap<_, _>>();
        let ended = if waits.is_empty() { Vec::new() } else { ended };
        Joining { waits, ended, ..joining }
    }

    /// Waits that each a thread that it made ends by the last that it does, on objects on which it waits for nothing else: so runtimes
    /// join that have threads of their own beside the program's.
    fn waits_for_each_end(&self, thread: ThreadId) -> Joining {
        let segments = &self.timeline.row(thread).segments;
        let mut on: BTreeMap<ObjectId, Vec<(usize, Option<ThreadId>)>> = BTreeMap::new();
        for (index, segment) in segments.iter().enumerate() {
            if let Some(object) =
                segment.object.filter(|_| self.is_wait(segment, ObjectKind::is_of_any_meaning))
            {
                on.entry(object).or_default().push((index, self.ends_with(thread, segment)));
            }
        }
        on.retain(|_, waits| {
            let ended: BTreeSet<ThreadId> = waits.iter().filter_map(|(_, by)| *by).collect();
            ended.len() == waits.len()
        });
        let ended: Vec<(ThreadId, ObjectId, ThreadId)> = on
            .iter()
            .flat_map(|(&object, waits)| waits.iter().filter_map(move |&(_, by)| Some((by?, object, by?))))
            .collect();
        let team = Team { members: ended.iter().map(|(member, ..)| *member).collect(), takes_part: false };
        let waits = on.into_values().flatten().map(|(index, _)| (index, true)).collect();
        Joining { waits, team, ended }
    }

    /// The thread that ended this wait by the last that it did, if `thread` has made it.
    fn ends_with(&self, thread: ThreadId, wait: &Segment) -> Option<ThreadId> {
        let by = wait.by.filter(|by| self.process.thread(*by).parent == Some(thread))?;
        let end = self.process.thread(by).end?;
        let left = end.max(wait.end).since(wait.end);
        is_nothing(left, wait.length()).then_some(by)
    }

    /// What these rounds are, unless the thread is a stage before the others.
    fn joining_in(&self, thread: ThreadId, rounds: Vec<Stretch>, team: BTreeSet<ThreadId>) -> Joining {
        if rounds.is_empty() {
            return Joining::default();
        }
        let beside: Vec<(Time, Time)> =
            rounds.iter().filter_map(|round| Some((round.given?, round.begin))).collect();
        let segments = &self.timeline.row(thread).segments;
        let worked: Nanos = beside.iter().map(|&(begin, end)| worked_within(segments, begin, end)).sum();
        let waited: Nanos = rounds.iter().map(|round| round.end.since(round.begin)).sum();
        let takes_part = worked.share_of(worked + waited) > BESIDE;
        if takes_part && !self.does_the_same(thread, &beside, &team) {
            return Joining::default();
        }
        let waits = rounds.into_iter().flat_map(|round| round.waits).map(|wait| (wait, false)).collect();
        Joining { waits, team: Team { members: team, takes_part }, ended: Vec::new() }
    }

    /// Those to whom a thread gives work: several, or one that it made. Threads that do the same as it take turns with it.
    fn team_of(&self, thread: ThreadId) -> BTreeSet<ThreadId> {
        let team: BTreeSet<ThreadId> = self.given[thread.index()].iter().map(|(_, to)| *to).collect();
        let is_made = |member: &ThreadId| self.process.thread(*member).parent == Some(thread);
        let is_alike = |member: &ThreadId| self.sorts[member.index()] == self.sorts[thread.index()];
        let is_one = (team.len() > 1 || team.iter().all(is_made)) && !team.iter().any(is_alike);
        if is_one { team } else { BTreeSet::new() }
    }

    /// Its waits for a team, to which it gave something at these times.
    fn stretches(
        &self,
        thread: ThreadId,
        team: &BTreeSet<ThreadId>,
        given: &[(Time, ThreadId)],
    ) -> Vec<Stretch> {
        let is_for_team = |segment: &Segment| {
            self.is_wait(segment, is_signal_or_lock) && segment.by.is_some_and(|by| team.contains(&by))
        };
        let mut found: Vec<Stretch> = Vec::new();
        let mut worked = Nanos::ZERO;
        let segments = &self.timeline.row(thread).segments;
        for (index, segment) in segments.iter().enumerate() {
            if !is_for_team(segment) {
                if !matches!(segment.state, State::Blocked | State::Waking | State::Descheduled) {
                    worked += segment.length();
                }
                continue;
            }
            let before = given.partition_point(|(at, _)| *at <= segment.start).checked_sub(1);
            let given = before.map(|last| given[last].0);
            let goes_on = |last: &&mut Stretch| {
                given.is_none_or(|at| at < last.end) && is_nothing(worked, segment.end.since(last.begin))
            };
            let released = segments[index + 1..].iter();
            let without_core =
                released.take_while(|next| matches!(next.state, State::Waking | State::Descheduled));
            let end = without_core.last().map_or(segment.end, |last| last.end);
            match found.last_mut().filter(goes_on) {
                Some(last) => {
                    (last.released, last.end) = (segment.end, end);
                    last.waits.push(index);
                }
                None => {
                    let (begin, released) = (segment.start, segment.end);
                    found.push(Stretch { begin, released, end, waits: vec![index], given });
                }
            }
            worked = Nanos::ZERO;
        }
        found
    }

    /// Whether all of the team wait from the end of the stretch on until they are given something, at the `next` time that the giver
    /// gives something out or by each other. `None` where that comes before it can be seen: nobody does anything else, and somebody
    /// has not come to wait yet.
    fn all_wait(
        &self,
        giver: ThreadId,
        team: &BTreeSet<ThreadId>,
        stretch: &Stretch,
        next: Time,
    ) -> Option<bool> {
        let length = stretch.end.since(stretch.given.unwrap_or(stretch.begin));
        let mut is_seen = true;
        for &member in team {
            let row = self.timeline.row(member);
            let Some(at) = row.at(stretch.released) else { continue };
            let meanwhile = row.segments[at..].iter().take_while(|segment| segment.start < next);
            let mut worked = Nanos::ZERO;
            let mut waits = row.end <= next;
            for segment in meanwhile {
                match segment.state {
                    State::Blocked if segment.end >= next => {
                        // Who is given nothing more waits until it ends, or the process does.
                        let is_open = segment.by.is_none() && segment.end >= row.end;
                        waits = is_open || segment.by.is_some_and(|by| by == giver || team.contains(&by));
                        if !waits {
                            return Some(false);
                        }
                    }
                    State::Spinning if segment.end >= next => waits = true,
                    State::Active | State::Io | State::Asleep => {
                        let begin = segment.start.max(stretch.end);
                        worked += segment.end.min(next).max(begin).since(begin);
                    }
                    _ => {}
                }
            }
            if !is_nothing(worked, length) {
                return Some(false);
            }
            is_seen &= waits;
        }
        is_seen.then_some(true)
    }

    /// True if all that were made for a round have nothing to do from its end on, and end before the `next` thread is made. Who ended
    /// the waits is among them.
    fn all_end(
        &self,
        giver: ThreadId,
        made: &[(Time, ThreadId)],
        stretch: &Stretch,
        next: Option<Time>,
    ) -> bool {
        let segments = &self.timeline.row(giver).segments;
        let mut ended_by = stretch.waits.iter().filter_map(|&wait| segments[wait].by);
        let (Some(&(first, _)), Some(&(last, _))) = (made.first(), made.last()) else { return false };
        let is_made_for_it = |by: ThreadId| (first..=last).contains(&self.timeline.row(by).start);
        let length = stretch.end.since(first);
        let ends = |&(_, member): &(Time, ThreadId)| {
            let row = self.timeline.row(member);
            let worked = worked_within(&row.segments, stretch.end, row.end);
            self.process.thread(member).end.is_some_and(|end| next.is_none_or(|next| end <= next))
                && is_nothing(worked, length)
        };
        ended_by.all(is_made_for_it) && made.iter().all(ends)
    }

    /// True if a thread does the same in these spans as the team: what those call from where they also wait for more.
    fn does_the_same(&self, thread: ThreadId, spans: &[(Time, Time)], team: &BTreeSet<ThreadId>) -> bool {
        let frames = |site: Option<SiteId>| {
            site.into_iter().flat_map(|site| codes(&self.process.site(site).frames)).collect::<Vec<_>>()
        };
        let is_for_more = |wait: &&Wait| {
            team.contains(&wait.thread) && self.process.object(wait.object).kind.is_of_any_meaning()
        };
        let waits: BTreeSet<Option<SiteId>> =
            self.process.waits.iter().filter(is_for_more).map(|wait| wait.site).collect();
        let around: BTreeSet<Code<'_>> = waits.into_iter().flat_map(frames).collect();
        let (mut done, mut all): (BTreeMap<Code<'_>, usize>, usize) = (BTreeMap::new(), 0);
        for sample in self.process.samples.iter().filter(|sample| team.contains(&sample.thread)) {
            all += 1;
            let outermost = frames(sample.site).into_iter().rfind(|code| !around.contains(code));
            outermost.into_iter().for_each(|code| *done.entry(code).or_default() += 1);
        }
        done.retain(|_, count| *count as f64 >= COMMON * all as f64);
        let is_in_span = |time: Time| {
            let begun = spans.partition_point(|(begin, _)| *begin <= time);
            begun > 0 && time < spans[begun - 1].1
        };
        let own = self.process.samples.iter().filter(|sample| sample.thread == thread);
        let own: Vec<bool> = own
            .filter(|sample| is_in_span(sample.time))
            .map(|sample| frames(sample.site).iter().any(|code| done.contains_key(code)))
            .collect();
        let alike = own.iter().filter(|is_alike| **is_alike).count();
        alike > 0 && alike as f64 >= ALIKE * own.len() as f64
    }
}

/// What of the program a call stack is in, innermost first. Of the place where it is, without a name, nothing is known.
fn codes(frames: &[Frame]) -> impl Iterator<Item = Code<'_>> {
    let own = frames.iter().enumerate().filter(|(_, frame)| frame.is_program());
    own.filter_map(|(depth, frame)| match &frame.function {
        Some(function) => Some(Code::Function(function)),
        None => (depth > 0).then_some(Code::Call(frame.module.as_deref(), frame.address)),
    })
}

fn worked_within(segments: &[Segment], begin: Time, end: Time) -> Nanos {
    let first = segments.partition_point(|segment| segment.end <= begin);
    let within = segments[first..].iter().take_while(|segment| segment.start < end);
    let active = within.filter(|segment| segment.state == State::Active);
    active.map(|segment| segment.end.min(end).since(segment.start.max(begin))).sum()
}
