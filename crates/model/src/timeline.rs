//! What each thread did at each moment, and who released whom.

use crate::{Nanos, ObjectId, Places, Roles, SiteId, ThreadId, Time};

/// What a thread is doing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// Useful work. From the preload alone: anything that is not one of the others, so that time without a core
    /// is in here; [`Segment::cpu`] tells how much was on one.
    Active,
    /// Waiting for a sync object; its kind says which sort of wait.
    Blocked,
    /// Waiting for I/O.
    Io,
    /// Waiting for time to pass.
    Asleep,
    /// Executing a loop that waits.
    Spinning,
    /// Released, and not yet running: wake-up latency and run-queue delay, the system's part of a wait.
    Waking,
    /// Able to run, without a core.
    Descheduled,
    /// Nothing is known.
    NotRecorded,
}

impl State {
    /// True if the thread does useful work: what criticality counts as running (paper 4, section 2).
    pub fn is_active(self) -> bool {
        self == State::Active
    }

    /// True if the thread does useful work or would, had it a core.
    pub fn is_able_to_run(self) -> bool {
        matches!(self, State::Active | State::Descheduled | State::Waking)
    }
}

/// A span of one thread in one state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Where it begins.
    pub start: Time,
    /// Where it ends: the start of the thread's next segment.
    pub end: Time,
    /// What the thread does.
    pub state: State,
    /// What it waits for ([`State::Blocked`], [`State::Spinning`]) or has just been given ([`State::Waking`]).
    pub object: Option<ObjectId>,
    /// Where it waits; for [`State::Active`] where it will stop next: the sync site that ends the work.
    pub site: Option<SiteId>,
    /// Who released it at the end of this wait.
    pub by: Option<ThreadId>,
    /// CPU time in this segment (ns), where both ends are known.
    pub cpu: Option<Nanos>,
}

impl State {
    /// The word for it, for people.
    pub fn word(self) -> &'static str {
        match self {
            State::Active => "active",
            State::Blocked => "blocked",
            State::Io => "I/O",
            State::Asleep => "asleep",
            State::Spinning => "spinning",
            State::Waking => "waking",
            State::Descheduled => "descheduled",
            State::NotRecorded => "not recorded",
        }
    }
}

impl Segment {
    /// How long it is.
    pub fn length(&self) -> Nanos {
        self.end.since(self.start)
    }

    /// Time without a core in it; zero where CPU time is not known.
    pub fn delay(&self) -> Nanos {
        self.cpu.map_or(Nanos::ZERO, |cpu| self.length().saturating_sub(cpu))
    }
}

/// One thread's segments. They abut, the first starts with the thread and the last ends with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The thread's start.
    pub start: Time,
    /// The thread's end.
    pub end: Time,
    /// From `start` to `end` without gaps; none has length zero.
    pub segments: Vec<Segment>,
}

impl Row {
    /// Time in the states that `wanted` accepts (ns).
    pub fn time_in(&self, wanted: impl Fn(State) -> bool) -> Nanos {
        self.segments.iter().filter(|segment| wanted(segment.state)).map(Segment::length).sum()
    }

    /// The index of the segment that covers `time`: start ≤ time < end.
    pub fn at(&self, time: Time) -> Option<usize> {
        let after = self.segments.partition_point(|segment| segment.start <= time);
        let index = after.checked_sub(1)?;
        (time < self.segments[index].end).then_some(index)
    }
}

/// Why one thread could go on when another had done something.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EdgeKind {
    /// A lock was released.
    Release,
    /// A signal, broadcast, post or futex wake.
    Signal,
    /// The last thread arrived at a barrier.
    Barrier,
    /// A joined thread ended.
    Join,
    /// A thread was created.
    Create,
}

/// One thread released another. It never goes back in time: `from_time <= to_time`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// Who released.
    pub from: ThreadId,
    /// When: the logical wake.
    pub from_time: Time,
    /// Who was released.
    pub to: ThreadId,
    /// When it went on.
    pub to_time: Time,
    /// How.
    pub kind: EdgeKind,
    /// By means of what.
    pub object: Option<ObjectId>,
}

/// A run as rows of segments and the edges between them. Built by [`Timeline::build`] from a
/// [`crate::Process`] (or by a simulation), read by every analysis.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timeline {
    /// The start of the process.
    pub start: Time,
    /// The end of the process.
    pub end: Time,
    /// One row a thread, by [`ThreadId`].
    pub threads: Vec<Row>,
    /// Sorted by `to_time`, then by thread.
    pub edges: Vec<Edge>,
    /// Which call stacks are one place: segments have the first of them as their site.
    pub places: Places,
    /// What objects are for: segments and edges have the one that stands for a runtime's lock as their object.
    pub roles: Roles,
}

impl Timeline {
    /// Lets every segment name the site that stands for its place.
    pub(crate) fn take_places(&mut self, places: Places) {
        for segment in self.threads.iter_mut().flat_map(|row| &mut row.segments) {
            segment.site = places.at(segment.site);
        }
        self.places = places;
    }

    /// Lets every segment and edge name the object that stands for its own.
    pub(crate) fn take_roles(&mut self, roles: Roles) {
        let known = |object: ObjectId| roles.at(object);
        for edge in &mut self.edges {
            edge.object = edge.object.map(known);
        }
        for row in &mut self.threads {
            let has_any = |segment: &Segment| segment.object.is_some_and(|object| known(object) != object);
            if !row.segments.iter().any(has_any) {
                continue;
            }
            let mut segments: Vec<Segment> = Vec::with_capacity(row.segments.len());
            for mut segment in std::mem::take(&mut row.segments) {
                segment.object = segment.object.map(known);
                match segments.last_mut().filter(|last| is_one_wait(last, &segment)) {
                    Some(last) => {
                        last.end = segment.end;
                        last.by = segment.by;
                        last.cpu = last.cpu.zip(segment.cpu).map(|(a, b)| a + b);
                    }
                    None => segments.push(segment),
                }
            }
            row.segments = segments;
        }
        self.roles = roles;
    }

    /// The wall time T.
    pub fn wall(&self) -> Nanos {
        self.end.since(self.start)
    }

    /// The row of this thread.
    pub fn row(&self, thread: ThreadId) -> &Row {
        &self.threads[thread.index()]
    }

    /// Says what is wrong with the timeline, if anything: segments abut and lie inside the process, and edges
    /// go forward in time. A built timeline always passes; simulated ones are tested with it.
    ///
    /// # Errors
    /// A sentence that names the thread and the time of the first fault.
    pub fn check(&self) -> Result<(), String> {
        for (index, row) in self.threads.iter().enumerate() {
            let mut at = row.start;
            for segment in &row.segments {
                if segment.start != at || segment.end <= segment.start {
                    return Err(format!(
                        "thread {index}: segments do not abut at {} ns",
                        segment.start.nanos()
                    ));
                }
                at = segment.end;
            }
            if at != row.end || row.start < self.start || row.end > self.end {
                return Err(format!(
                    "thread {index}: segments end at {} ns, not with the thread",
                    at.nanos()
                ));
            }
        }
        for edge in &self.edges {
            if edge.from_time > edge.to_time {
                return Err(format!("an edge goes back in time at {} ns", edge.from_time.nanos()));
            }
        }
        Ok(())
    }
}

fn is_one_wait(first: &Segment, second: &Segment) -> bool {
    first.state == State::Blocked
        && second.state == State::Blocked
        && first.object.is_some()
        && first.object == second.object
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hold, Wait, Wake};

    /// A long recording has ten million waits, each with three segments and an edge.
    #[test]
    fn what_there_is_many_of_is_small() {
        assert_eq!(size_of::<Segment>(), 40);
        assert_eq!(size_of::<Edge>(), 32);
        assert_eq!(size_of::<Wait>(), 72);
        assert_eq!(size_of::<Hold>(), 48);
        assert_eq!(size_of::<Wake>(), 32);
    }
}
