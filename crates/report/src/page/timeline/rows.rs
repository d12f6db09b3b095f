//! Which threads have a row, and into which groups many of them are put.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use holdup_criticality::Diagnosis;
use holdup_model::{Arrange, Process, ThreadId, sort_of_thread};

use super::budget;

/// Threads of the same sort.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Group {
    /// What they have in common: a start function, or a name without its number. `None` for those that have nothing in
    /// common with many others. Hostile.
    pub(super) sort: Option<String>,
    /// Their rows, the most critical first.
    pub(super) rows: Vec<usize>,
}

/// The threads that have a row, in the order of their start.
pub(super) fn rows(process: &Process, diagnosis: &Diagnosis) -> Vec<ThreadId> {
    let mut threads: Vec<ThreadId> =
        (0..process.threads.len()).map(|index| ThreadId::new(index as u32)).collect();
    if threads.len() > budget::THREADS {
        let critical = |thread: &ThreadId| criticality(diagnosis, *thread);
        threads.arrange_by(|a, b| critical(b).total_cmp(&critical(a)).then(a.cmp(b)));
        threads.truncate(budget::THREADS);
        threads.sort_unstable();
    }
    threads
}

/// The criticality of a thread (ns).
pub(super) fn criticality(diagnosis: &Diagnosis, thread: ThreadId) -> f64 {
    diagnosis.told_criticality().threads.get(thread.index()).copied().unwrap_or(0.0)
}

/// The groups of many rows, that of the most criticality first, and the one of all others last; none where there are few
/// rows. The main thread is in none.
pub(super) fn groups(process: &Process, diagnosis: &Diagnosis, rows: &[ThreadId]) -> Vec<Group> {
    if rows.len() <= budget::UNGROUPED {
        return Vec::new();
    }
    let mut by_sort: BTreeMap<Option<String>, Vec<usize>> = BTreeMap::new();
    for (row, thread) in rows.iter().enumerate().filter(|(_, thread)| thread.index() > 0) {
        by_sort.entry(sort_of_thread(process, *thread)).or_default().push(row);
    }
    let mut others = by_sort.remove(&None).unwrap_or_default();
    let sum =
        |rows_of: &[usize]| -> f64 { rows_of.iter().map(|row| criticality(diagnosis, rows[*row])).sum() };
    let mut groups: Vec<Group> = by_sort.into_iter().map(|(sort, rows)| Group { sort, rows }).collect();
    groups.arrange_by_key(|group| Reverse(group.rows.len()));
    groups.arrange_by(|a, b| sum(&b.rows).total_cmp(&sum(&a.rows)));
    // A group of one says no more than its row.
    for group in groups.extract_if(.., |group| group.rows.len() == 1) {
        others.extend(group.rows);
    }
    if groups.len() >= budget::GROUPS {
        others.extend(groups.drain(budget::GROUPS - 1..).flat_map(|group| group.rows));
    }
    if !others.is_empty() {
        groups.push(Group { sort: None, rows: others });
    }
    for group in &mut groups {
        group.rows.arrange_by(|a, b| {
            let critical = |row: usize| criticality(diagnosis, rows[row]);
            critical(*b).total_cmp(&critical(*a)).then(a.cmp(b))
        });
    }
    groups
}
