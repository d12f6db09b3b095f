//! What was recorded of each whole execution of an OpenMP region, by execution.

use std::collections::BTreeMap;

use holdup_model::Process;
use holdup_model::openmp::{Chunk, Instance, Region, Share, Sync, SyncKind, Task, TaskRun, Work, WorkKind};
use holdup_sections::are_tiny;

use super::meeting::Visit;
use super::span::{at, overlap};
use super::team::{Meeting, Member, Part, Shared, Team};

/// The rows of the columns, sorted by instance.
pub(super) struct Columns<'a> {
    shares: Vec<&'a Share>,
    works: Vec<&'a Work>,
    chunks: Vec<&'a Chunk>,
    syncs: Vec<&'a Sync>,
    tasks: Vec<&'a Task>,
    runs: Vec<&'a TaskRun>,
}

/// Those of one instance.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a, 'b> {
    pub(super) shares: &'b [&'a Share],
    pub(super) works: &'b [&'a Work],
    pub(super) chunks: &'b [&'a Chunk],
    pub(super) syncs: &'b [&'a Sync],
    pub(super) tasks: &'b [&'a Task],
    pub(super) runs: &'b [&'a TaskRun],
}

fn of<'a, 'b, Row>(
    rows: &'b [&'a Row],
    wanted: Instance,
    instance: impl Fn(&Row) -> Option<Instance>,
) -> &'b [&'a Row] {
    let from = rows.partition_point(|row| instance(row) < Some(wanted));
    let to = rows.partition_point(|row| instance(row) <= Some(wanted));
    &rows[from..to]
}

impl<'a> Columns<'a> {
    pub(super) fn of(process: &'a Process) -> Self {
        let openmp = &process.openmp;
        let mut columns = Self {
            shares: openmp.shares.iter().collect(),
            works: openmp.works.iter().collect(),
            chunks: openmp.chunks.iter().collect(),
            syncs: openmp.syncs.iter().collect(),
            tasks: openmp.tasks.iter().collect(),
            runs: openmp.task_runs.iter().collect(),
        };
        columns.shares.sort_by_key(|row| (row.instance, row.index, row.thread, row.begin, row.end));
        columns
            .works
            .sort_by_key(|row| (row.instance, row.thread, row.begin, row.end, row.sequence, row.kind));
        columns.chunks.sort_by_key(|row| (row.instance, row.thread, row.begin, row.end, row.first));
        columns
            .syncs
            .sort_by_key(|row| (row.instance, row.thread, row.begin, row.end, row.sequence, row.kind));
        columns.tasks.sort_by_key(|row| (row.instance, row.time, row.id));
        columns.runs.sort_by_key(|row| (row.instance, row.thread, row.begin, row.end, row.task));
        columns
    }

    pub(super) fn rows(&self, instance: Instance) -> Rows<'a, '_> {
        Rows {
            shares: of(&self.shares, instance, |row| Some(row.instance)),
            works: of(&self.works, instance, |row| Some(row.instance)),
            chunks: of(&self.chunks, instance, |row| Some(row.instance)),
            syncs: of(&self.syncs, instance, |row| Some(row.instance)),
            tasks: of(&self.tasks, instance, |row| row.instance),
            runs: of(&self.runs, instance, |row| row.instance),
        }
    }
}

/// The execution as a team's; `None` if not all of its threads' shares were recorded.
pub(super) fn team(region: &Region, rows: &Rows<'_, '_>) -> Option<Team> {
    let span = (at(region.begin), at(region.end).max(at(region.begin)));
    let mut members: Vec<Member> = Vec::with_capacity(rows.shares.len());
    for share in rows.shares {
        if members.iter().any(|member| member.thread == share.thread) {
            continue;
        }
        let begin = at(share.begin).clamp(span.0, span.1);
        members.push(Member {
            thread: share.thread,
            begin,
            end: at(share.end).clamp(begin, span.1),
            alone: Vec::new(),
            waits: Vec::new(),
            runtime: Vec::new(),
            works: Vec::new(),
        });
    }
    if members.is_empty() || members.len() as u64 != u64::from(region.size) {
        return None;
    }
    for member in &mut members {
        add_works(member, rows);
        add_making(member, rows);
    }
    let no_task = without_task(rows);
    let mut meetings = meetings(&mut members, rows, no_task);
    let join = join(&members, rows, span.1, &meetings);
    meetings.push(join);
    Some(Team { begin: span.0, end: span.1, members, meetings, condition: Part::Other, no_task })
}

fn add_works(member: &mut Member, rows: &Rows<'_, '_>) {
    let from = rows.works.partition_point(|work| work.thread < member.thread);
    for work in rows.works[from..].iter().take_while(|work| work.thread == member.thread) {
        let (begin, end) = (at(work.begin), at(work.end).max(at(work.begin)));
        match work.kind {
            WorkKind::Single | WorkKind::Masked => member.alone.push((begin, end)),
            WorkKind::SingleOther => continue,
            _ => {}
        }
        // Of constructs that deal nothing out it is the time in them.
        let told = work.dealing.filter(|_| work.kind.is_dealt_out());
        let dealing = told.map_or_else(|| gaps(member, work, rows), |dealing| dealing.get());
        if dealing > 0 {
            member.runtime.push((begin, dealing.min(end - begin)));
        }
        member.works.push(Shared {
            begin,
            end,
            kind: work.kind,
            sequence: work.sequence,
            place: work.place,
            iterations: work.iterations,
            chunk: work.chunk,
        });
    }
}

/// Time between a thread's chunks of a construct: the runtime deals out the next. Chunks that were not recorded are
/// taken to have cost as much.
fn gaps(member: &Member, work: &Work, rows: &Rows<'_, '_>) -> u64 {
    if !work.kind.is_dealt_out() {
        return 0;
    }
    let from = rows.chunks.partition_point(|chunk| (chunk.thread, chunk.begin) < (member.thread, work.begin));
    let mut asked = at(work.begin);
    let (mut sum, mut told) = (0u64, 0u64);
    for chunk in rows.chunks[from..].iter().take_while(|chunk| chunk.thread == member.thread) {
        if chunk.begin > work.end {
            break;
        }
        if chunk.sequence == work.sequence {
            sum += at(chunk.begin).saturating_sub(asked);
            asked = at(chunk.end);
            told += 1;
        }
    }
    // Of very many chunks the first are recorded.
    let all = u64::from(work.chunks).max(told);
    (u128::from(sum) * u128::from(all) / u128::from(told.max(1))) as u64
}

/// What time without a task is lost to: there are none, or they are so small that handing them out takes longer.
fn without_task(rows: &Rows<'_, '_>) -> Part {
    if are_tiny(rows.runs) { Part::Scheduling } else { Part::Starvation }
}

/// What making tasks took a thread.
fn add_making(member: &mut Member, rows: &Rows<'_, '_>) {
    let made = rows.tasks.iter().filter(|task| task.thread == member.thread);
    let timed: Vec<u64> = made.clone().filter_map(|task| task.making).map(|making| making.get()).collect();
    let Some(mean) = timed.iter().sum::<u64>().checked_div(timed.len() as u64) else { return };
    member.runtime.extend(made.map(|task| (at(task.time), task.making.map_or(mean, |making| making.get()))));
    member.runtime.sort_unstable();
}

/// What one member did at one barrier.
struct There<'a> {
    first: &'a Sync,
    visit: Visit,
}

/// Barriers that all members visited are meetings. Other waits are put into the members.
fn meetings(members: &mut [Member], rows: &Rows<'_, '_>, no_task: Part) -> Vec<Meeting> {
    let mut at_barriers: BTreeMap<u32, Vec<(usize, There<'_>)>> = BTreeMap::new();
    for (index, member) in members.iter_mut().enumerate() {
        let from = rows.syncs.partition_point(|sync| sync.thread < member.thread);
        let mut barriers: BTreeMap<u32, There<'_>> = BTreeMap::new();
        let clamped = |time| at(time).clamp(member.begin, member.end);
        for sync in rows.syncs[from..].iter().take_while(|sync| sync.thread == member.thread) {
            let (begin, end) = (clamped(sync.begin), clamped(sync.end));
            match sync.kind {
                SyncKind::Taskwait | SyncKind::Taskgroup => member.waits.push((begin, end, no_task)),
                SyncKind::Reduction => member.waits.push((begin, end, Part::Scheduling)),
                _ => {
                    let visit = Visit { arrival: begin, idle_from: begin, leave: begin, tasks: 0 };
                    let there = barriers.entry(sync.sequence).or_insert(There { first: sync, visit });
                    there.visit.tasks += begin.saturating_sub(there.visit.leave);
                    if begin > there.visit.arrival {
                        there.visit.idle_from = begin;
                    }
                    there.visit.leave = there.visit.leave.max(end);
                }
            }
        }
        for (sequence, there) in barriers {
            at_barriers.entry(sequence).or_default().push((index, there));
        }
    }
    let mut left = vec![0u64; members.len()];
    let mut meetings = Vec::new();
    for (sequence, visits) in at_barriers {
        let in_order = visits.iter().all(|(index, there)| there.visit.arrival >= left[*index]);
        let all: Vec<Visit> = visits.iter().map(|(_, there)| there.visit).collect();
        let is_meeting =
            visits.len() == members.len() && in_order && super::meeting::Phases::of(&all).is_some();
        if is_meeting {
            for (index, there) in &visits {
                left[*index] = there.visit.leave;
            }
            let first = visits[0].1.first;
            meetings.push(Meeting { sequence, kind: Some(first.kind), place: first.place, visits: all });
        } else {
            for (index, there) in visits {
                members[index].waits.push((there.visit.arrival, there.visit.leave, Part::Imbalance));
            }
        }
    }
    // What is told inside of a barrier (a reduction, say) is a part of it.
    for (index, member) in members.iter_mut().enumerate() {
        let inside = |&(begin, end, _): &(u64, u64, Part)| {
            meetings.iter().any(|meeting: &Meeting| {
                let visit = meeting.visits[index];
                overlap((begin, end), (visit.arrival, visit.leave)) > 0
            })
        };
        if member.waits.len() <= MOST_WAITS {
            member.waits.retain(|wait| !inside(wait));
        }
    }
    meetings
}

/// With more waits than that on a thread's way it is not looked whether barriers contain them.
const MOST_WAITS: usize = 4_096;

/// The join: nobody is seen to leave it before the region ends.
fn join(members: &[Member], rows: &Rows<'_, '_>, end: u64, barriers: &[Meeting]) -> Meeting {
    let visits = members.iter().map(|member| {
        let arrival = member.end;
        let mut visit = Visit { arrival, idle_from: arrival, leave: end, tasks: 0 };
        let from = rows.runs.partition_point(|run| run.thread < member.thread);
        for run in rows.runs[from..].iter().take_while(|run| run.thread == member.thread) {
            let span = (at(run.begin).max(visit.idle_from), at(run.end).min(end));
            if span.0 < span.1 {
                visit.tasks += span.1 - span.0;
                visit.idle_from = span.1;
            }
        }
        visit
    });
    // Where barriers were left out in between, one was probably left out after the last, too.
    let last = barriers.last().map_or(0, |last| last.sequence.saturating_add(1));
    let sequence = if last as usize > barriers.len() { last.saturating_add(1) } else { last };
    Meeting { sequence, kind: None, place: None, visits: visits.collect() }
}
