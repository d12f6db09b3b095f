//! Who woke whom: from the times that the same recording has of waits and wake-ups to places in the streams, which have
//! no clock.

use std::collections::BTreeMap;

use holdup_model::{Nanos, ObjectKind, Outcome, Process, Time, endings};

use crate::stream::Telling;

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// By this wake-up: thread by its index, and which of its wake-ups at the object.
    By(usize, u32),
    /// Its time was up. The thread waited on, later, until this wake-up.
    TimedOut(Nanos, Option<(usize, u32)>),
}

/// Begin and end of a wait, and its number.
type Span = (Time, Time, usize);

/// Waits by thread (index), object and number.
pub(crate) type Wakes = BTreeMap<(usize, u64, u32), Woken>;

/// The kernel ids of threads can be used again: for each of `tids` its index among `of`, the first one for the first.
pub(crate) fn same_threads(tids: impl Iterator<Item = u32>, of: &[Telling]) -> Vec<Option<usize>> {
    let mut left: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, telling) in of.iter().enumerate().rev() {
        left.entry(telling.tid).or_default().push(index);
    }
    tids.map(|tid| left.get_mut(&tid).and_then(Vec::pop)).collect()
}

/// How the waits for conditions and futexes ended.
///
/// The k-th wait of a thread for an object in its stream is the k-th that was recorded with its times: all are. Of
/// wake-ups only those are recorded that can have woken somebody, and of frequent ones not all. Where fewer are recorded
/// than are in the stream, the k-th recorded one is at the earliest the k-th in the stream; that one is taken, since a
/// wake-up that comes too early delays nobody for ever.
pub(crate) fn wakes(process: &Process, tellings: &[Telling]) -> Wakes {
    let threads = same_threads(process.threads.iter().map(|thread| thread.tid), tellings);
    let mut told: BTreeMap<(usize, u64), u32> = BTreeMap::new();
    for (index, telling) in tellings.iter().enumerate() {
        for woke in &telling.wakes {
            *told.entry((index, woke.object)).or_default() += 1;
        }
    }
    let address = |object| process.object(object).address;
    let mut recorded: BTreeMap<(usize, u64), Vec<Time>> = BTreeMap::new();
    for wake in &process.wakes {
        if let Some(index) = threads[wake.thread.index()] {
            recorded.entry((index, address(wake.object))).or_default().push(wake.time);
        }
    }
    recorded.values_mut().for_each(|times| times.sort_unstable());
    let endings = endings(process);
    let mut waits: BTreeMap<(usize, u64), Vec<Span>> = BTreeMap::new();
    for (number, wait) in process.waits.iter().enumerate() {
        let kind = process.object(wait.object).kind;
        if let Some(index) = threads[wait.thread.index()]
            && matches!(kind, ObjectKind::Condition | ObjectKind::Futex)
        {
            waits.entry((index, address(wait.object))).or_default().push((wait.begin, wait.end, number));
        }
    }
    let mut found = Wakes::new();
    for ((index, object), mut list) in waits {
        list.sort_unstable();
        // From the last to the first: what ended a later wait would have ended this one, had it come in time.
        let mut later = None;
        for (number, &(begin, end, wait)) in (0..list.len() as u32).zip(&list).rev() {
            if process.waits[wait].outcome == Outcome::TimedOut {
                found.insert((index, object, number), Woken::TimedOut(end.since(begin), later));
                continue;
            }
            let ending = &endings[wait];
            later = ending.by.and_then(|by| threads[by.index()]).and_then(|by| {
                let times = recorded.get(&(by, object)).map_or(&[][..], Vec::as_slice);
                let which = times.binary_search(&ending.at).ok()? as u32;
                (which < told.get(&(by, object)).copied().unwrap_or(0)).then_some((by, which))
            });
            if let Some((by, which)) = later {
                found.insert((index, object, number), Woken::By(by, which));
            }
        }
    }
    found
}
