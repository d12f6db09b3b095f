//! What it would give to do other work while child processes do theirs.

use std::collections::BTreeSet;

use holdup_model::{Nanos, Process, State, Time, cpu_time, program_of};

use super::Case;
use crate::{Finding, FindingKind, Gain};

/// Child processes are what a thread waits for if they are at work for this share of it.
const MOSTLY: f64 = 0.5;
/// So many programs are named.
const MOST_NAMED: usize = 3;

impl Case<'_> {
    /// What is saved if nobody waits at a finding's place for child processes, which are at work meanwhile, but does what is done before or
    /// after them: at most what there is of either, and what the cores have room for. With who they are. `None` if it is not they.
    pub(super) fn beside_children(&self, finding: &Finding) -> Option<(Gain, String)> {
        if finding.kind != FindingKind::Io {
            return None;
        }
        let waits = self.waits_at(finding);
        let waited: Nanos = waits.iter().map(|(begin, end)| end.since(*begin)).sum();
        let during = |process: &Process| {
            let within = waits.iter().map(|&(begin, end)| {
                let (begin, end) = (begin.max(process.start), end.min(process.end));
                end.max(begin).since(begin)
            });
            within.sum::<Nanos>().min(cpu_time(process))
        };
        let children = self.descendants().into_iter().map(|child| (child, during(child)));
        let children: Vec<(&Process, Nanos)> = children.filter(|child| child.1 > Nanos::ZERO).collect();
        let at_work: Nanos = children.iter().map(|(_, time)| *time).sum();
        if waited == Nanos::ZERO || at_work.share_of(waited) < MOSTLY {
            return None;
        }
        let cpu = cpu_time(self.process) + children.iter().map(|(child, _)| cpu_time(child)).sum::<Nanos>();
        let cores = u64::from(self.run.effective_cores_of(self.process).max(1));
        let rest = self.wall.saturating_sub(waited);
        let room = self.wall.saturating_sub(Nanos::new(cpu.get() / cores));
        let most = waited.min(rest).min(room).min(finding.cost);
        let programs: BTreeSet<String> = children.iter().map(|(child, _)| program_of(child)).collect();
        let more = if programs.len() > MOST_NAMED { ", ..." } else { "" };
        let programs: Vec<String> = programs.into_iter().take(MOST_NAMED).collect();
        let note = format!(
            "Meanwhile its child processes ({}{more}) work for {at_work}: other work beside that saves what there is of either, at most.",
            programs.join(", ")
        );
        let gain =
            Gain { time: most, low: Nanos::ZERO, high: most, expression: String::new(), capped_by: None };
        Some((gain, note))
    }

    /// The processes that this one started, and those that they started: a shell stands between a program and what `popen` runs.
    fn descendants(&self) -> Vec<&Process> {
        let mut family = BTreeSet::from([self.process.pid]);
        let mut before = 0;
        while family.len() > before {
            before = family.len();
            let started = self.run.processes.iter().filter(|process| family.contains(&process.parent_pid));
            let started: Vec<u32> = started.map(|process| process.pid).collect();
            family.extend(started);
        }
        let others = self.run.processes.iter().filter(|process| !std::ptr::eq(*process, self.process));
        others.filter(|process| family.contains(&process.parent_pid)).collect()
    }

    /// When some of the finding's threads were in calls at its place, in order and apart.
    fn waits_at(&self, finding: &Finding) -> Vec<(Time, Time)> {
        let segments = finding.threads.iter().flat_map(|&thread| &self.timeline.row(thread).segments);
        let there = segments.filter(|segment| segment.state == State::Io && segment.site == finding.place);
        let mut waits: Vec<(Time, Time)> = there.map(|segment| (segment.start, segment.end)).collect();
        waits.sort_unstable();
        waits.dedup_by(|next, last| {
            let meets = next.0 <= last.1;
            last.1 = if meets { last.1.max(next.1) } else { last.1 };
            meets
        });
        waits
    }
}
