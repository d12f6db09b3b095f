//! Jobs in virtual time: so many at once, on so many cores, in the order in which they were started.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use holdup_model::Nanos;

/// A job as it can be started at another time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    /// The job whose end it waits for, by index: one before it.
    pub after: Option<usize>,
    /// How long after that end it begins; of one that waits for none, how long after there is a place and the last such one
    /// before it has begun.
    pub lag: Nanos,
    /// How long it takes with a core whenever it can use one.
    pub free: Nanos,
    /// How many cores it uses meanwhile, on the average.
    pub cores: f64,
}

/// The jobs of a run in the order in which they started.
pub(super) struct Plan {
    pub jobs: Vec<Planned>,
}

/// A moment in virtual time (ns).
#[derive(Clone, Copy, PartialEq)]
struct Moment(f64);

impl Eq for Moment {}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A job that is under way.
struct Running {
    index: usize,
    /// How long it still takes with a core whenever it can use one (ns).
    left: f64,
}

/// What is left of a job (ns) when it counts as done.
const ROUNDING: f64 = 0.5;

impl Plan {
    /// From the first one's start to the last one's end with at most `limit` at once on `cores`.
    pub(super) fn length(&self, limit: u32, cores: u32) -> Nanos {
        let mut at_work =
            AtWork { plan: self, cores: f64::from(cores.max(1)), now: 0.0, running: Vec::new() };
        let mut followers: Vec<Vec<usize>> = vec![Vec::new(); self.jobs.len()];
        for (index, job) in self.jobs.iter().enumerate() {
            if let Some(after) = job.after {
                followers[after].push(index);
            }
        }
        // Those whose job has ended, by when they can begin; those that wait for none come one after the other.
        let mut released: BinaryHeap<Reverse<(Moment, usize)>> = BinaryHeap::new();
        let mut free = (0..self.jobs.len()).filter(|&index| self.jobs[index].after.is_none()).peekable();
        let mut last_free = 0.0f64;
        // Since when there has been a place.
        let mut place_since = 0.0;
        let places = limit.max(1) as usize;
        loop {
            let next_free = free.peek().map(|&index| {
                let lag = if index == 0 { 0.0 } else { self.jobs[index].lag.get() as f64 };
                (Moment(last_free.max(place_since) + lag), index)
            });
            let next = [released.peek().map(|Reverse(next)| *next), next_free];
            // Of those that can begin now, the first in order.
            let next =
                next.into_iter().flatten().map(|(at, index)| (Moment(at.0.max(at_work.now)), index)).min();
            let next = next.filter(|_| at_work.running.len() < places);
            match (next, at_work.first_end()) {
                (Some((at, index)), end) if end.is_none_or(|end| at.0 <= end) => {
                    at_work.advance(at.0);
                    if free.next_if_eq(&index).is_some() {
                        last_free = at.0;
                    } else {
                        released.pop();
                    }
                    at_work.running.push(Running { index, left: self.jobs[index].free.get() as f64 });
                }
                (_, Some(end)) => {
                    at_work.advance(end);
                    if at_work.running.len() >= places {
                        place_since = end;
                    }
                    for ended in at_work.take_ended() {
                        for &follower in &followers[ended] {
                            let at = Moment(end + self.jobs[follower].lag.get() as f64);
                            released.push(Reverse((at, follower)));
                        }
                    }
                }
                (_, None) => break,
            }
        }
        Nanos::new(at_work.now.round() as u64)
    }

    /// The same where each job has a place and its own cores: the longest chain of jobs that wait for each other.
    pub(super) fn longest_chain(&self) -> Nanos {
        let mut ends: Vec<Nanos> = Vec::with_capacity(self.jobs.len());
        let mut last_free = Nanos::ZERO;
        for (index, job) in self.jobs.iter().enumerate() {
            let begin = match job.after {
                Some(after) => ends[after] + job.lag,
                None if index == 0 => Nanos::ZERO,
                None => last_free + job.lag,
            };
            if job.after.is_none() {
                last_free = begin;
            }
            ends.push(begin + job.free);
        }
        ends.into_iter().max().unwrap_or_default()
    }
}

/// The jobs that run at a moment.
struct AtWork<'a> {
    plan: &'a Plan,
    cores: f64,
    now: f64,
    running: Vec<Running>,
}

impl AtWork<'_> {
    /// How fast a job goes: what it waits for otherwise takes as long as it does, and of the cores that all ask for each gets
    /// the same share.
    fn rate(&self, running: &Running) -> f64 {
        let asked: f64 = self.running.iter().map(|one| self.plan.jobs[one.index].cores).sum();
        let slower = (asked / self.cores).max(1.0);
        let computing = self.plan.jobs[running.index].cores.clamp(0.0, 1.0);
        1.0 / (1.0 - computing + computing * slower)
    }

    /// When the first of them ends, if no other begins.
    fn first_end(&self) -> Option<f64> {
        self.running.iter().map(|one| self.now + one.left.max(0.0) / self.rate(one)).min_by(f64::total_cmp)
    }

    fn advance(&mut self, to: f64) {
        let done: Vec<f64> = self.running.iter().map(|one| (to - self.now) * self.rate(one)).collect();
        for (one, done) in self.running.iter_mut().zip(done) {
            one.left -= done;
        }
        self.now = to;
    }

    fn take_ended(&mut self) -> Vec<usize> {
        let (ended, running): (Vec<Running>, _) =
            std::mem::take(&mut self.running).into_iter().partition(|one| one.left <= ROUNDING);
        self.running = running;
        ended.into_iter().map(|one| one.index).collect()
    }
}
