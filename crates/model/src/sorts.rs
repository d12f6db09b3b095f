//! Threads that do the same.

use std::collections::BTreeMap;

use crate::run::program_of;
use crate::{Process, ThreadId};

/// What threads that do the same have in common: the start function, else the name without its number
/// (`indexer` of `indexer-3`), and of forked processes the program. `None` for the main thread and for threads that have none of these.
pub fn sort_of_thread(process: &Process, id: ThreadId) -> Option<String> {
    if id.index() == 0 {
        return None;
    }
    start_of(process, id).or_else(|| {
        let name = process.thread(id).name.as_deref().filter(|name| !name.is_empty());
        if name.is_none() && process.is_another(id) {
            return Some(program_of(process));
        }
        let stem = name_without_number(name?);
        (!stem.is_empty()).then(|| stem.to_owned())
    })
}

/// Threads that do the same together, each group in the order of `ids`; those of which nothing is known alone.
pub fn by_sort(process: &Process, ids: &[ThreadId]) -> Vec<(Option<String>, Vec<ThreadId>)> {
    let mut groups: Vec<(Option<String>, Vec<ThreadId>)> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for &id in ids {
        let sort = sort_of_thread(process, id);
        let place = sort.as_ref().map(|sort| *known.entry(sort.clone()).or_insert(groups.len()));
        match place.and_then(|place| groups.get_mut(place)) {
            Some((_, members)) => members.push(id),
            None => groups.push((sort, vec![id])),
        }
    }
    groups
}

/// `indexer` of `indexer-3`; empty where there is nothing but a number.
pub fn name_without_number(name: &str) -> &str {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    stem.trim_end_matches(|c: char| !c.is_alphanumeric())
}

/// The start function of a thread but the first, or its address where it has no name.
pub(crate) fn start_of(process: &Process, id: ThreadId) -> Option<String> {
    let entry = process.thread(id).entry.filter(|_| id.index() > 0)?;
    let place = process.site(entry).place().filter(|place| place.is_program())?;
    Some(place.told_function(&str::to_owned))
}
