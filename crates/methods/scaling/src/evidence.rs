//! What hints rest on: how even the loops of a region are, what its barriers cost, how many of its threads work at once.

use std::collections::BTreeMap;

use holdup_model::SiteId;
use holdup_model::openmp::{SyncKind, WorkKind};
use holdup_sections::TaskSums;

use super::meeting::Leg;
use super::team::{Parted, Phase, Team};

/// One loop of a region, over its executions that were recorded whole. Times in ns of wall time.
#[derive(Clone, Debug, Default)]
pub(super) struct LoopSums {
    /// How often it was executed.
    pub(super) count: u64,
    /// Between the meetings around it: the longest way of a thread.
    pub(super) longest: u64,
    /// How long that would be if the loop's work was even, and threads that have less to do otherwise took more of it.
    pub(super) even: u64,
    /// Iterations, where they are known of all executions.
    pub(super) iterations: u64,
    /// In how many executions they are known.
    pub(super) counted: u64,
}

/// Which loop: what it is, where, and the chunk size that was asked for. No kind is code between two meetings in which
/// no construct was seen: gcc's static loops are not seen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct LoopKey {
    pub(super) kind: Option<WorkKind>,
    pub(super) place: Option<SiteId>,
    pub(super) chunk: Option<u32>,
}

/// One barrier of a region, over its executions that were recorded whole. Times in ns of wall time.
#[derive(Clone, Debug, Default)]
pub(super) struct BarrierSums {
    pub(super) count: u64,
    /// What passing it takes when all are there: walkthrough.
    pub(super) passing: u64,
    /// What is saved where nobody waits there and all go on to the next meeting.
    pub(super) without: u64,
}

/// What hints rest on.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence {
    pub(super) loops: BTreeMap<LoopKey, LoopSums>,
    pub(super) barriers: BTreeMap<(SyncKind, Option<SiteId>), BarrierSums>,
    pub(super) tasks: TaskSums,
    /// Thread-time (ns) on the way between meetings, by how many of the team were on it.
    pub(super) at_once: BTreeMap<u32, u64>,
    /// What forking and joining takes beyond waiting for the last thread (ns of wall time).
    pub(super) fork_and_join: u64,
}

impl Evidence {
    /// Adds what an execution shows.
    pub(super) fn add(&mut self, team: &Team, parted: &Parted) {
        self.add_concurrency(&parted.phases);
        for (index, phase) in parted.phases.iter().enumerate() {
            self.add_phase(team, phase, parted.phases.get(index + 1));
        }
        self.add_fork_and_join(team, parted, team.members.len().max(1) as u64);
    }

    /// Adds what is on the way to one meeting, and the meeting itself; not how many worked at once.
    pub(super) fn add_phase(&mut self, team: &Team, phase: &Phase, next: Option<&Phase>) {
        let threads = team.members.len().max(1) as u64;
        if phase.is_told {
            self.add_loops(team, phase);
        }
        let Some(kind) = phase.kind else { return };
        let barrier = self.barriers.entry((kind, phase.place)).or_default();
        barrier.count += 1;
        barrier.passing += phase.walkthrough / threads;
        if let Some(next) = next.filter(|next| next.is_told && phase.is_told) {
            barrier.without += saved_without(phase, next, threads);
        }
    }

    fn add_fork_and_join(&mut self, team: &Team, parted: &Parted, threads: u64) {
        let (Some(first), Some(last)) = (parted.phases.first(), parted.phases.last()) else { return };
        let fork = first.begin.saturating_sub(team.begin) + first.split.startup / threads;
        self.fork_and_join += fork + last.walkthrough / threads;
    }

    /// Adds how many worked at once.
    pub(super) fn add_concurrency(&mut self, phases: &[Phase]) {
        let mut steps: Vec<(u64, i32)> = Vec::new();
        for leg in phases.iter().flat_map(|phase| &phase.legs).filter(|leg| leg.length() > 0) {
            steps.push((leg.start, 1));
            steps.push((leg.arrival, -1));
        }
        steps.sort_unstable();
        let (mut at, mut working) = (0, 0i32);
        for (time, step) in steps {
            if working > 0 && time > at {
                *self.at_once.entry(working as u32).or_default() += (time - at) * working as u64;
            }
            at = time;
            working += step;
        }
    }

    fn add_loops(&mut self, team: &Team, phase: &Phase) {
        // By its number in the execution: what each member spent in it on this way.
        let mut loops: BTreeMap<u32, (LoopKey, Option<u64>, Vec<u64>)> = BTreeMap::new();
        let mut nothing_seen = true;
        for (index, (member, leg)) in team.members.iter().zip(&phase.legs).enumerate() {
            let from = member.works.partition_point(|work| work.end <= leg.start);
            for work in member.works[from..].iter().take_while(|work| work.begin < leg.arrival) {
                nothing_seen = false;
                if !work.kind.is_loop() && work.kind != WorkKind::Sections {
                    continue;
                }
                let key = LoopKey { kind: Some(work.kind), place: work.place, chunk: work.chunk };
                let entry =
                    loops.entry(work.sequence).or_insert((key, work.iterations, vec![0; team.members.len()]));
                entry.2[index] += work.end.min(leg.arrival).saturating_sub(work.begin.max(leg.start));
            }
        }
        if nothing_seen && phase.legs.iter().all(|leg| leg.alone == 0) {
            let key = LoopKey { kind: None, place: phase.place, chunk: None };
            loops.insert(0, (key, None, phase.legs.iter().map(Leg::on_core).collect()));
        }
        let longest = phase.legs.iter().map(Leg::on_core).max().unwrap_or(0);
        let sum: u64 = phase.legs.iter().map(Leg::on_core).sum();
        for (key, iterations, inside) in loops.into_values() {
            // No thread takes less than it does outside of the loop, and all together no less than they do now.
            let outside =
                phase.legs.iter().zip(&inside).map(|(leg, &inside)| leg.on_core().saturating_sub(inside));
            let even = outside.max().unwrap_or(0).max(sum.div_ceil(phase.legs.len().max(1) as u64));
            let sums = self.loops.entry(key).or_default();
            sums.count += 1;
            sums.longest += longest;
            sums.even += even.min(longest);
            sums.iterations += iterations.unwrap_or(0);
            sums.counted += u64::from(iterations.is_some());
        }
    }
}

/// What is saved (ns of wall time) if threads do not wait for each other between two phases. Time without a core is left
/// out: nobody knows when it would fall then.
fn saved_without(phase: &Phase, next: &Phase, threads: u64) -> u64 {
    let longest = |phase: &Phase| phase.legs.iter().map(Leg::on_core).max().unwrap_or(0);
    let both = phase.legs.iter().zip(&next.legs).map(|(a, b)| a.on_core() + b.on_core()).max().unwrap_or(0);
    let now = longest(phase) + longest(next) + (phase.walkthrough + next.split.startup) / threads;
    now.saturating_sub(both)
}
