//! Does what a thread does in a section depend on the order in which threads came to a lock, a queue or a counter?
//!
//! Under emulation, with fewer cores than threads, that order is not the program's own. Signs of it are looked for, each
//! of which alone would not be enough to *find* a cause, but is enough for a caution: threads that take one lock unequally
//! often, that wait at a queue, that draw numbers from an atomic counter unequally often. Threads that fill a table with a lock
//! for each part, or that draw their own numbers, do so as well: whether another run deals the work out otherwise, another
//! run says ([`compare_schedules`]).

use std::collections::BTreeMap;

use holdup_model::counts::{BlockId, Counts, Instance, Section};

use crate::course::Course;
use crate::events::Events;
use crate::places::line_of;
use crate::sections::Meeting;

/// Two runs dealt work out alike if their threads' times, sorted, differ by less than this share of the idle time.
const ALIKE: f64 = 0.05;

/// Sections with less of the idle time of all than this are not worth another run.
const WORTH_ANOTHER_RUN: f64 = 0.05;

/// True if a section that matters seems to depend on the schedule, so that another run of the program is worth it.
pub fn seems_to_depend(counts: &Counts) -> bool {
    let idle = |section: &Section| section.instances.iter().map(|one| idle(&sorted_times(one))).sum::<u64>();
    let all: u64 = counts.sections.iter().map(idle).sum();
    let depends = counts.sections.iter().filter(|section| section.depends_on_schedule.is_some());
    depends.map(idle).any(|idle| idle as f64 > WORTH_ANOTHER_RUN * all as f64)
}

/// Σ (longest − t) of sorted times.
fn idle(times: &[u64]) -> u64 {
    let longest = times.last().copied().unwrap_or(0);
    times.iter().map(|time| longest - time).sum()
}

/// Goes on saying that a section depends on the schedule only where the counts of another run of the program, in which other
/// threads were ahead, say so: where no permutation of its threads makes their times those of this run.
pub fn compare_schedules(counts: &mut Counts, other: &Counts) {
    for section in counts.sections.iter_mut().filter(|section| section.depends_on_schedule.is_some()) {
        let key = |section: &Section| (section.kind, line_of(&section.end), line_of(&section.begin));
        let own = key(section);
        let Some(same) = other.sections.iter().find(|section| key(section) == own) else { continue };
        if are_dealt_alike(&section.instances, &same.instances) {
            section.depends_on_schedule = None;
        } else if let Some(reason) = &mut section.depends_on_schedule {
            reason.push_str("; a second run, which held them together, dealt it out otherwise");
        }
    }
}

fn are_dealt_alike(one: &[Instance], other: &[Instance]) -> bool {
    let (mut differences, mut idle_time) = (0, 0);
    for (one, other) in one.iter().zip(other) {
        let times = [one, other].map(sorted_times);
        if times[0].len() != times[1].len() {
            return false;
        }
        differences += times[0].iter().zip(&times[1]).map(|(a, b)| a.abs_diff(*b)).sum::<u64>();
        idle_time += times.iter().map(|times| idle(times)).sum::<u64>();
    }
    // The idle time of both is twice that of one.
    one.len() == other.len() && differences as f64 <= ALIKE * idle_time as f64 / 2.0
}

/// What the threads of an instance executed, those with the least first.
fn sorted_times(instance: &Instance) -> Vec<u64> {
    let mut times = instance.time.clone();
    for unit in &instance.units {
        if let Some(time) = times.get_mut(unit.row as usize) {
            *time += unit.time;
        }
    }
    times.sort_unstable();
    times
}

/// Why the section depends on the schedule, in a sentence; `None` if nothing says so.
pub(crate) fn dependence(
    meeting: &Meeting,
    courses: &[Course],
    instance: &Instance,
    events: &Events,
) -> Option<String> {
    let pieces: Vec<_> = meeting.rows.iter().map(|row| &courses[row.course].pieces[row.piece]).collect();
    if pieces.iter().any(|piece| piece.queued) {
        return Some(
            "threads wait in it for a condition or a semaphore, as those do that take work from a queue"
                .to_owned(),
        );
    }
    let mut locks: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (row, piece) in pieces.iter().enumerate() {
        for (lock, count) in &piece.locks {
            locks.entry(*lock).or_insert_with(|| vec![0; pieces.len()])[row] += count;
        }
    }
    let unequal = |counts: &Vec<u64>| {
        counts.iter().filter(|count| **count > 0).count() >= 2
            && counts.iter().any(|count| *count != counts[0])
    };
    if locks.values().any(unequal) {
        return Some(
            "its threads take a lock unequally often, as those do that take work from a queue".to_owned(),
        );
    }
    let mut executions: BTreeMap<BlockId, Vec<u64>> = BTreeMap::new();
    for &(event, row, count) in &instance.executed.entries {
        let Some((_, to)) = events.edge(event) else { continue };
        if events.deals(to) {
            executions.entry(to).or_insert_with(|| vec![0; pieces.len()])[row as usize] += count;
        }
    }
    executions
        .values()
        .any(unequal)
        .then(|| "its threads draw from an atomic counter unequally often, as those do that deal out work among themselves".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(instances: &[&[u64]]) -> Counts {
        let instances = instances.iter().map(|time| Instance { time: time.to_vec(), ..Instance::default() });
        let section = Section {
            instances: instances.collect(),
            depends_on_schedule: Some("threads wait in it".to_owned()),
            ..Section::default()
        };
        Counts { sections: vec![section], ..Counts::default() }
    }

    fn after(one: &[&[u64]], other: &[&[u64]]) -> Option<String> {
        let mut compared = counts(one);
        compare_schedules(&mut compared, &counts(other));
        compared.sections.remove(0).depends_on_schedule
    }

    #[test]
    fn a_permutation_of_threads_is_no_other_schedule() {
        assert_eq!(after(&[&[100, 900, 400], &[10, 20, 30]], &[&[900, 400, 100], &[30, 10, 20]]), None);
        // Of 1,300 instructions of idle time 65 may differ.
        assert_eq!(after(&[&[100, 900, 400]], &[&[900, 430, 130]]), None);
        let told = after(&[&[100, 900, 400]], &[&[900, 440, 140]]).expect("it depends");
        assert!(told.starts_with("threads wait in it; a second run"), "{told}");
    }

    #[test]
    fn a_section_that_hardly_idles_is_not_worth_another_run() {
        let mut two = counts(&[&[0, 95]]);
        two.sections[0].depends_on_schedule = None;
        two.sections.extend(counts(&[&[10, 15]]).sections);
        assert!(!seems_to_depend(&two), "5 of 100");
        two.sections[1].instances[0].time[1] = 16;
        assert!(seems_to_depend(&two), "6 of 101");
    }

    #[test]
    fn another_number_of_threads_or_instances_is_another_schedule() {
        assert!(after(&[&[1, 5]], &[&[1, 5, 5]]).is_some());
        assert!(after(&[&[1, 5]], &[&[1, 5], &[1, 5]]).is_some());
    }

    #[test]
    fn a_section_that_the_other_run_has_not_stays_as_it_is() {
        let mut compared = counts(&[&[1, 5]]);
        compare_schedules(&mut compared, &Counts::default());
        assert_eq!(compared.sections[0].depends_on_schedule.as_deref(), Some("threads wait in it"));
    }
}
