//! One run's parallel sections, for programs without OpenMP: what is between the creation of threads and their join, cut
//! at barriers where all of them meet (paper 2, LIME: dynamic sections).

use std::collections::BTreeMap;

use holdup_model::openmp::SyncKind;
use holdup_model::{
    Arrange, ObjectId, ObjectKind, Outcome, Process, SiteId, State, ThreadId, ThreadSums, ThreadTimes,
    Timeline, most_at_once, rounds,
};
use holdup_sections::{ForkJoin, Main, Place, Working};

use super::RegionKind;
use super::meeting::{Phases, Visit};
use super::profile::{Key, Profile};
use super::regions::{Profiles, alone};
use super::span::{at, overlap};
use super::team::{Meeting, Member, Part, Parted, Team, part};

/// A thread that starts others takes part in what they do if it works for at least this share of the section.
const LEAST_OWN_WORK: f64 = 0.1;

/// With more threads than this × those that are there at once, threads come and go: they are no team.
const MOST_CHANGES: usize = 2;

/// What the run spent in its sections, and outside of them on the main thread.
pub(super) fn profiles(main: &Main<'_>, timeline: &Timeline) -> Profiles {
    let process = main.process;
    let courses = ThreadSums::of(timeline);
    let times = ThreadTimes::of_all(timeline);
    let working = Working::of(process, timeline, &times, main.run.cores_of(process));
    let mut profiles = Profiles::default();
    let first = ThreadId::new(0);
    let cores = main.run.effective_cores_of(process);
    let mut outside = process.wall().get();
    let mut hindered = courses.between(first, at(process.start), at(process.end));
    for section in ForkJoin::all(process, timeline, &working) {
        let team = team(process, timeline, &section);
        outside = outside.saturating_sub(team.end - team.begin);
        hindered = hindered.without(&courses.between(first, team.begin, team.end));
        let parted = part(&team, &courses, cores);
        add(process, &mut profiles, &team, &parted);
    }
    let key = Key { kind: RegionKind::Serial, nested: false, place: None };
    let serial = alone(&key, outside, &hindered);
    profiles.by_key.insert(key, serial);
    profiles
}

fn team(process: &Process, timeline: &Timeline, section: &ForkJoin<'_>) -> Team {
    let life = |thread: ThreadId| (at(timeline.row(thread).start), at(timeline.row(thread).end));
    let ForkJoin { begin, end, place, .. } = *section;
    let member = |thread: ThreadId, (begin, end): (u64, u64)| Member {
        thread,
        begin,
        end,
        alone: Vec::new(),
        waits: Vec::new(),
        runtime: Vec::new(),
        works: Vec::new(),
    };
    let mut members: Vec<Member> =
        section.threads.iter().map(|&thread| member(thread, life(thread))).collect();
    let first = ThreadId::new(0);
    let first_join = section.joins.iter().map(|wait| at(wait.begin)).min().unwrap_or(end).clamp(begin, end);
    if takes_part(process, timeline, first, (begin, first_join), end) {
        members.insert(0, member(first, (begin, first_join)));
    }
    let at_once = most_at_once(members.iter().map(|member| (member.begin, member.end))).max(1);
    if members.len() > MOST_CHANGES * at_once {
        members = places_for(&members, at_once, begin);
    }
    let mut meetings = meetings(process, &members, begin, end);
    let visit = |member: &Member| Visit { arrival: member.end, idle_from: member.end, leave: end, tasks: 0 };
    let sequence = meetings.len() as u32;
    meetings.push(Meeting { sequence, kind: None, place, visits: members.iter().map(visit).collect() });
    Team { begin, end, members, meetings, condition: Part::Starvation, no_task: Part::Starvation }
}

/// True if the first thread works beside those that it started, or meets them at a barrier.
fn takes_part(process: &Process, timeline: &Timeline, first: ThreadId, span: (u64, u64), end: u64) -> bool {
    let meets = process.waits.iter().any(|wait| {
        wait.thread == first
            && process.object(wait.object).kind == ObjectKind::Barrier
            && (span.0..=end).contains(&at(wait.begin))
    });
    let active = timeline.row(first).segments.iter().filter(|segment| segment.state == State::Active);
    let active: u64 = active.map(|segment| overlap(span, (at(segment.start), at(segment.end)))).sum();
    meets || active as f64 > LEAST_OWN_WORK * (end - span.0) as f64
}

/// Threads that come and go are told as so many places as there are at once: the latest of each stands for a place from
/// the start to its end. What hindered the others is not told then.
fn places_for(members: &[Member], at_once: usize, begin: u64) -> Vec<Member> {
    let mut last: Vec<&Member> = members.iter().collect();
    last.arrange_by_key(|member| (std::cmp::Reverse(member.end), member.thread));
    last.truncate(at_once);
    last.into_iter().map(|member| Member { begin, ..member.clone() }).collect()
}

/// Rounds of barriers in which all members take part.
fn meetings(process: &Process, members: &[Member], begin: u64, end: u64) -> Vec<Meeting> {
    let index: BTreeMap<ThreadId, usize> =
        members.iter().enumerate().map(|(index, member)| (member.thread, index)).collect();
    let mut by_barrier: BTreeMap<ObjectId, Vec<usize>> = BTreeMap::new();
    for (number, wait) in process.waits.iter().enumerate() {
        let inside = at(wait.begin) >= begin && at(wait.end) <= end && wait.outcome == Outcome::Granted;
        if inside && process.object(wait.object).kind == ObjectKind::Barrier {
            by_barrier.entry(wait.object).or_default().push(number);
        }
    }
    let mut found: Vec<(u64, ObjectId, Option<SiteId>, Vec<Visit>)> = Vec::new();
    for (barrier, waits) in by_barrier {
        for round in rounds(process, barrier, waits) {
            let mut visits = vec![None; members.len()];
            for &number in &round {
                let wait = &process.waits[number];
                if let Some(&member) = index.get(&wait.thread) {
                    let arrival = at(wait.begin);
                    visits[member] =
                        Some(Visit { arrival, idle_from: arrival, leave: at(wait.end), tasks: 0 });
                }
            }
            let all: Option<Vec<Visit>> = visits.into_iter().collect();
            let Some((visits, met)) = all.and_then(|visits| Phases::of(&visits).map(|met| (visits, met)))
            else {
                continue;
            };
            if round.len() == visits.len() {
                let site = round.iter().filter_map(|&number| process.waits[number].site).min();
                found.push((met.complete, barrier, site, visits));
            }
        }
    }
    found.arrange_by_key(|(complete, barrier, ..)| (*complete, *barrier));
    let mut left: Vec<u64> = members.iter().map(|member| member.begin).collect();
    let mut meetings: Vec<Meeting> = Vec::new();
    for (_, _, place, visits) in found {
        let fits = visits
            .iter()
            .zip(&left)
            .zip(members)
            .all(|((visit, &left), member)| visit.arrival >= left && visit.leave <= member.end);
        if fits {
            left = visits.iter().map(|visit| visit.leave).collect();
            let kind = Some(SyncKind::ExplicitBarrier);
            meetings.push(Meeting { sequence: meetings.len() as u32, kind, place, visits });
        }
    }
    meetings
}

/// A section lasts until the first thread leaves the meeting at its end, and as long after that as threads that leave
/// late make all of them late at the next: so a late release is in the section that it ends.
fn add(process: &Process, profiles: &mut Profiles, team: &Team, parted: &Parted) {
    let threads = team.members.len() as u64;
    let mut begin = team.begin;
    for (index, phase) in parted.phases.iter().enumerate() {
        let next = parted.phases.get(index + 1);
        let late = next.map_or(0, |next| next.split.startup);
        let end = next.map_or(team.end, |_| phase.end + late / threads.max(1));
        let place = phase.place.and_then(|site| process.sites.get(site.index()));
        let key = Key { kind: RegionKind::Section, nested: false, place: place.and_then(Place::of) };
        let profile = profiles.by_key.entry(key).or_insert_with_key(|key| Profile::new(key, place.cloned()));
        let mut sums = phase.sums;
        if index == 0 {
            sums.add(&parted.rest);
        } else {
            sums.give_back(Part::Startup, phase.split.startup);
        }
        sums.book(Part::Startup, late);
        let length = end.saturating_sub(begin);
        profile.count(1, length, threads);
        profile.add_sums(length, threads * length, &sums);
        profile.evidence.add_concurrency(std::slice::from_ref(phase));
        profile.evidence.add_phase(team, phase, next);
        begin = end;
    }
}
