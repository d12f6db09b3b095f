//! The waits that OpenMP's constructs mean, beside those for other objects.

use std::collections::{BTreeMap, BTreeSet};

use holdup_model::openmp::SyncKind;
use holdup_model::{
    Nanos, ObjectId, ObjectKind, Outcome, Process, SiteId, ThreadId, Time, Wait, Wake, WakeCount,
};

use super::CpuTimes;
use super::played::{Played, played};

/// Adds them to the process, whose columns of OpenMP are filled. `cpu` has a row for each share and each sync.
pub(crate) fn add_waits(process: &mut Process, cpu: &CpuTimes) {
    if process.openmp.regions.is_empty() {
        return;
    }
    let all = played(&process.openmp, cpu);
    let mut adder = Adder { process, objects: BTreeMap::new() };
    adder.meetings(&all);
    adder.teams(&all);
    adder.tasks(&all);
}

/// What tells one object from another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    kind: ObjectKind,
    construct: Option<SyncKind>,
    place: Option<SiteId>,
    region: Option<SiteId>,
    parties: u32,
    owner: Option<ThreadId>,
}

struct Adder<'a> {
    process: &'a mut Process,
    objects: BTreeMap<Key, ObjectId>,
}

/// A thread at a meeting.
struct AtMeeting {
    thread: ThreadId,
    begin: Time,
    end: Time,
    place: Option<SiteId>,
    cpu: (Option<Nanos>, Option<Nanos>),
}

/// The threads of a team at one barrier or join.
struct Meeting<'a> {
    of: &'a Played,
    kind: SyncKind,
    place: Option<SiteId>,
    threads: Vec<AtMeeting>,
}

impl Adder<'_> {
    fn object(&mut self, key: Key) -> ObjectId {
        if let Some(&known) = self.objects.get(&key) {
            return known;
        }
        let site = key.place.or(key.region);
        let frame = site.and_then(|site| self.process.site(site).frames.first());
        let object = self.process.add_object(key.kind, frame.map_or(0, |frame| frame.address));
        let row = &mut self.process.objects[object.index()];
        row.created_at = site;
        row.construct = key.construct;
        row.parties = (key.kind == ObjectKind::Barrier).then_some(key.parties);
        self.objects.insert(key, object);
        object
    }

    /// Waits at barriers and joins.
    fn meetings(&mut self, all: &[Played]) {
        let mut meetings: Vec<Meeting<'_>> = all.iter().flat_map(meetings_of).collect();
        meetings.sort_by_key(|meeting| meeting.threads.iter().map(|at| (at.begin, at.thread)).min());
        for (round, meeting) in meetings.into_iter().enumerate() {
            let object = self.object(Key {
                kind: ObjectKind::Barrier,
                construct: Some(meeting.kind),
                place: meeting.place,
                region: meeting.of.place,
                parties: meeting.of.size,
                // Inner regions of several threads run side by side: each has barriers of its own.
                owner: meeting.of.is_nested.then_some(meeting.of.thread),
            });
            for at in meeting.threads {
                self.process.waits.push(Wait {
                    site: meeting.place.or(at.place),
                    round: Some(round as u64),
                    ..wait(at.thread, object, at.begin, at.end, at.cpu)
                });
            }
        }
    }

    /// Waits of workers between their regions. A region that begins calls all of its team.
    fn teams(&mut self, all: &[Played]) {
        let mut by_worker: BTreeMap<ThreadId, Vec<(&Played, usize)>> = BTreeMap::new();
        for played in all {
            for (index, member) in played.members.iter().enumerate().filter(|(_, member)| member.index > 0) {
                by_worker.entry(member.thread).or_default().push((played, index));
            }
        }
        let mut calls = BTreeSet::new();
        for (worker, parts) in by_worker {
            let ended = self.process.thread(worker).end.unwrap_or(self.process.end);
            let mut from: Option<(Time, ObjectId)> = None;
            for (played, index) in parts {
                let member = &played.members[index];
                if let Some((from, team)) = from.filter(|&(from, _)| from < member.begin) {
                    let cpu = (None, member.cpu.0);
                    let site = played.place;
                    self.process.waits.push(Wait { site, ..wait(worker, team, from, member.begin, cpu) });
                    calls.insert((team, played.thread, played.begin, played.place));
                }
                let last = played.members.iter().map(|member| member.end).max().unwrap_or(member.end);
                let team = self.object(Key {
                    kind: ObjectKind::Team,
                    construct: None,
                    place: None,
                    region: None,
                    parties: 0,
                    owner: Some(played.thread),
                });
                from = Some(from.map_or(last, |(from, _)| from.max(last))).map(|last| (last, team));
            }
            if let Some((from, team)) = from.filter(|&(from, _)| from < ended) {
                let outcome = Outcome::Open;
                self.process.waits.push(Wait { outcome, ..wait(worker, team, from, ended, (None, None)) });
            }
        }
        for (object, thread, time, site) in calls {
            self.process.wakes.push(Wake { thread, time, object, site, count: WakeCount::All });
        }
    }

    /// Waits for tasks: each ends when another thread is done with one, if one is.
    fn tasks(&mut self, all: &[Played]) {
        for (played, waited) in
            all.iter().flat_map(|played| played.task_waits.iter().map(move |wait| (played, wait)))
        {
            let object = self.object(Key {
                kind: ObjectKind::Tasks,
                construct: Some(waited.kind),
                place: waited.place,
                region: played.place,
                parties: 0,
                owner: None,
            });
            if let Some((time, thread)) = waited.cause {
                let (site, count) = (waited.place, WakeCount::AtMost(1));
                self.process.wakes.push(Wake { thread, time, object, site, count });
            }
            let site = waited.place.or(played.place);
            self.process
                .waits
                .push(Wait { site, ..wait(waited.thread, object, waited.begin, waited.end, waited.cpu) });
        }
    }
}

/// The barriers and the join of one execution.
fn meetings_of(played: &Played) -> Vec<Meeting<'_>> {
    let mut barriers: BTreeMap<u32, Meeting<'_>> = BTreeMap::new();
    for arrival in &played.arrivals {
        let (of, kind) = (played, arrival.kind);
        let meeting = barriers.entry(arrival.sequence).or_insert(Meeting {
            of,
            kind,
            place: None,
            threads: Vec::new(),
        });
        // A barrier that some threads of the team reach by another call is one barrier all the same.
        meeting.place = [meeting.place, arrival.place].into_iter().flatten().min();
        meeting.threads.push(AtMeeting {
            thread: arrival.thread,
            begin: arrival.begin,
            end: arrival.end,
            place: arrival.place,
            cpu: arrival.cpu,
        });
    }
    let mut meetings: Vec<Meeting<'_>> = barriers.into_values().collect();
    let last = played.members.iter().map(|member| member.end).max();
    let threads = played.members.iter().map(|member| AtMeeting {
        thread: member.thread,
        begin: member.end,
        // Workers leave unseen.
        end: if member.index == 0 { played.end.max(member.end) } else { last.unwrap_or(member.end) },
        place: played.place,
        cpu: (member.cpu.1, None),
    });
    let threads: Vec<AtMeeting> = threads.collect();
    if !threads.is_empty() {
        meetings.push(Meeting { of: played, kind: SyncKind::RegionBarrier, place: None, threads });
    }
    meetings
}

fn wait(
    thread: ThreadId,
    object: ObjectId,
    begin: Time,
    end: Time,
    (cpu_begin, cpu_end): (Option<Nanos>, Option<Nanos>),
) -> Wait {
    Wait { cpu_begin, cpu_end, ..Wait::granted(thread, object, begin, end) }
}
