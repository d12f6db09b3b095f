//! The path through the processes of a run: from its end back, always along what was waited for.

use holdup_model::{Call, Nanos, Run, Time};

use super::life::{Lives, SLACK};

/// A part of the path, in one process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeStep {
    /// Whose, by index into [`Run::processes`].
    pub process: usize,
    /// From when on.
    pub from: Time,
    /// Until when.
    pub to: Time,
    /// How the path came to it from what is before.
    pub came: Came,
    /// For how much of it the process waited for something that is none of the run's processes.
    pub waited: Nanos,
}

/// How a path goes from one process to the next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Came {
    /// It is the first.
    First,
    /// The one before started it, or executed its program.
    Started,
    /// The one before ended, which this one waited for.
    Ended,
    /// The one before was at work while this one waited to read: what it wrote, as far as can be told.
    Fed,
}

impl TreeStep {
    /// How long it is.
    pub fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// What a process waited for.
enum Cause {
    /// The end of this child.
    End(usize),
    /// What this one, which was at work until then, gave to it.
    Fed(usize),
    /// Nothing in the run.
    Outside,
}

/// A path has no more steps than there are processes and spans; this bounds one that a damaged recording makes.
const MOST_STEPS: usize = 1_000_000;

/// How many processes are looked at, at most, for who wrote what others read; what is waited for then is not known. Ten
/// thousand processes with as many waits look at fewer.
const MOST_LOOKED_AT: usize = 100_000_000;

/// The path, in order of time. Empty if no process was seen at work.
pub(super) fn path(run: &Run, lives: &Lives) -> Vec<TreeStep> {
    let last = (0..lives.all.len())
        .filter(|&index| !lives.all[index].able.is_empty())
        .max_by_key(|&index| (lives.all[index].end, std::cmp::Reverse(index)));
    let Some(mut process) = last else { return Vec::new() };
    let mut back = Backwards { steps: Vec::new(), to: run.end };
    let mut looks = MOST_LOOKED_AT;
    let mut at = run.end;
    for _ in 0..MOST_STEPS {
        let life = &lives.all[process];
        let able = life.last_able(at);
        if let Some((begin, end)) = able
            && end >= at
        {
            back.work(process, begin);
            at = begin;
            continue;
        }
        let since = able.map_or(life.start, |(_, end)| end).min(at);
        if since == at && able.is_none() {
            // At its start.
            let Some(origin) = life.origin else { break };
            back.turn(process, Came::Started);
            process = origin;
            // Between the fork and the first that is seen of the child the parent may wait for it: that is the child's start.
            if let Some((_, end)) = lives.all[origin].last_able(at).filter(|(_, end)| *end < at)
                && at.since(end) <= STARTING
                && lives.ended_within(origin, end, at).is_none()
            {
                back.start_at(end);
                at = end;
            }
            continue;
        }
        match cause(lives, process, since, at, &mut looks) {
            Cause::End(child) => {
                let child = lives.last(child);
                let end = lives.all[child].end.min(at);
                // It goes on at once, or it lacks a core.
                if at.since(end) > SLACK {
                    back.wait(process, end)
                } else {
                    back.work(process, end)
                }
                back.turn(process, Came::Ended);
                (process, at) = (child, end);
            }
            Cause::Fed(other) => {
                let end = lives.all[other].last_able(at).map_or(at, |(_, end)| end.min(at));
                back.work(process, end);
                back.turn(process, Came::Fed);
                (process, at) = (other, end);
            }
            Cause::Outside => {
                back.wait(process, since);
                at = since;
            }
        }
    }
    back.finish(run.start)
}

/// The longest time from a fork to the first that is seen of the child.
const STARTING: Nanos = Nanos::new(100_000_000);

/// What `process` waited for from `since` on, so that it went on at `until`.
fn cause(lives: &Lives, process: usize, since: Time, until: Time, looks: &mut usize) -> Cause {
    let call = lives.all[process].call_until(until);
    if call == Some(Call::Sleep) {
        return Cause::Outside;
    }
    let ended = lives.ended_within(process, since, until);
    // A child that ended long before is what it waited for where it waited for children, or for nothing else that is known.
    let at_once = |&child: &usize| call == Some(Call::WaitChild) || lives.end(child) + SLACK >= until;
    let fed = || feeder(lives, process, since, until, looks).map(Cause::Fed);
    let ended_at_once = ended.filter(at_once).map(Cause::End);
    ended_at_once.or_else(fed).or(ended.map(Cause::End)).unwrap_or(Cause::Outside)
}

/// Of the relatives that were at work shortly before `until` the one that was so for most of the time since `since`: those
/// that the same process started, that process, and what this one and they started.
fn feeder(lives: &Lives, process: usize, since: Time, until: Time, looks: &mut usize) -> Option<usize> {
    let before = Time::from_nanos(until.nanos().saturating_sub(1));
    let mut found: Option<(Nanos, usize)> = None;
    let mut left: Vec<usize> = vec![lives.starter(process).unwrap_or(process)];
    while let Some(other) = left.pop() {
        *looks = looks.checked_sub(1 + lives.children[other].len())?;
        left.extend(lives.children_at(other, before));
        if other != process && lives.all[other].is_able_before(since, until) {
            let able = lives.all[other].able_within(since, until);
            if found.is_none_or(|(most, first)| able > most || able == most && other < first) {
                found = Some((able, other));
            }
        }
    }
    found.map(|(_, other)| other)
}

/// A path that is made from its end.
struct Backwards {
    /// The last first.
    steps: Vec<TreeStep>,
    /// Up to where it is made.
    to: Time,
}

impl Backwards {
    /// `process` is what counts from `from` on.
    fn work(&mut self, process: usize, from: Time) {
        let from = from.min(self.to);
        match self.steps.last_mut() {
            Some(step) if step.process == process && step.came == Came::First => step.from = from,
            _ if from == self.to => {}
            _ => self.steps.push(TreeStep {
                process,
                from,
                to: self.to,
                came: Came::First,
                waited: Nanos::ZERO,
            }),
        }
        self.to = from;
    }

    /// The same, of a wait for what is outside of the run.
    fn wait(&mut self, process: usize, from: Time) {
        let length = self.to.since(from.min(self.to));
        self.work(process, from);
        if let Some(step) = self.steps.last_mut() {
            step.waited += length;
        }
    }

    /// The step that was made last came from another process in this way.
    fn turn(&mut self, process: usize, came: Came) {
        if let Some(step) = self.steps.last_mut().filter(|step| step.process == process) {
            step.came = came;
        }
    }

    /// The step that was made last begins earlier.
    fn start_at(&mut self, from: Time) {
        if let Some(step) = self.steps.last_mut() {
            step.from = from.min(step.from);
            self.to = self.to.min(from);
        }
    }

    fn finish(mut self, start: Time) -> Vec<TreeStep> {
        // What is before the first process that was seen is its start.
        self.start_at(start);
        self.steps.reverse();
        self.steps
    }
}
