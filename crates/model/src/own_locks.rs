//! Futexes and condition variables that are locks, which no function's name says: those of a program's own locks, and of libraries
//! without names.

use std::collections::BTreeMap;

use crate::{ObjectId, Process, SiteId, ThreadId, Time, WakeCount};

/// With fewer wake-ups nothing is known.
const FEWEST_WAKES: usize = 4;

/// Of the occasions at which only the holder of a lock could have woken somebody, at so many it must have been the holder. Others may
/// take a lock before the one that was woken for it gets it.
const MOST_BY_HOLDER: f64 = 0.8;

/// What threads did with an object. At one time, waits end before others begin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Deed {
    EndsWait,
    Wakes,
    BeginsWait,
}

/// What was seen of one object.
#[derive(Clone, Debug, Default)]
struct Use {
    deeds: Vec<(Time, Deed, ThreadId)>,
    /// By thread, how often it waited where; see [`waiting_code`].
    waits_in: BTreeMap<ThreadId, BTreeMap<Option<SiteId>, u64>>,
    /// Somebody woke several at once, as who gives a lock free never does.
    wakes_several: bool,
}

/// By object: whether it is one of `candidates` and threads use it as they use a lock.
///
/// Who waits for a lock gives it free afterwards, and wakes somebody then if anybody waits: threads that wait are also those that wake,
/// one at a time. And while somebody else waits all the time since a thread was woken, the next to wake somebody is this thread: it has
/// the lock. A queue, or a pool of several things, has none of these. And all wait in the same code: who waits for room in a queue that
/// holds one piece takes turns with who waits for work, but each has a function of its own.
pub(crate) fn used_as_locks(process: &Process, candidates: &[bool]) -> Vec<bool> {
    let is_one = |object: ObjectId| candidates[object.index()];
    let mut uses = vec![Use::default(); if candidates.contains(&true) { candidates.len() } else { 0 }];
    if uses.is_empty() {
        return vec![false; candidates.len()];
    }
    let code = waiting_code(process);
    for wait in process.waits.iter().filter(|wait| is_one(wait.object)) {
        let within = wait.site.and_then(|site| code[site.index()]);
        *uses[wait.object.index()].waits_in.entry(wait.thread).or_default().entry(within).or_default() += 1;
        let begins_and_ends =
            [(wait.begin, Deed::BeginsWait, wait.thread), (wait.end, Deed::EndsWait, wait.thread)];
        uses[wait.object.index()].deeds.extend(begins_and_ends);
    }
    for wake in process.wakes.iter().filter(|wake| is_one(wake.object)) {
        let used = &mut uses[wake.object.index()];
        used.deeds.push((wake.time, Deed::Wakes, wake.thread));
        used.wakes_several |= !matches!(wake.count, WakeCount::AtMost(..=1));
    }
    uses.into_iter().map(|mut used| !used.wakes_several && used.is_a_lock_s()).collect()
}

/// By site, the first site that waits in the same code: the innermost function that is none of the language's or system's own, and
/// the instruction there if it has no name.
fn waiting_code(process: &Process) -> Vec<Option<SiteId>> {
    let mut first: BTreeMap<(Option<&str>, Option<&str>, u64), SiteId> = BTreeMap::new();
    let mut found = Vec::with_capacity(process.sites.len());
    for (site, id) in process.sites.iter().zip(0..) {
        let waits = site.frames.iter().find(|frame| frame.is_program()).map(|frame| {
            let instruction = if frame.function.is_some() { 0 } else { frame.address };
            (frame.module.as_deref(), frame.function.as_deref(), instruction)
        });
        found.push(waits.map(|code| *first.entry(code).or_insert(SiteId::new(id))));
    }
    found
}

impl Use {
    fn is_a_lock_s(&mut self) -> bool {
        self.deeds.sort_unstable();
        let threads = |wanted: Deed| {
            let theirs = self.deeds.iter().filter(|(_, deed, _)| *deed == wanted).map(|&(.., thread)| thread);
            let mut threads: Vec<ThreadId> = theirs.collect();
            let times = threads.len();
            threads.sort_unstable();
            threads.dedup();
            (threads, times)
        };
        let ((waiting, _), (waking, wakes)) = (threads(Deed::BeginsWait), threads(Deed::Wakes));
        waiting.len() > 1
            && waiting == waking
            && wakes >= FEWEST_WAKES
            && self.is_waited_for_in_one_place()
            && self.is_woken_by_holder()
    }

    /// True if all threads mostly wait in the same code.
    fn is_waited_for_in_one_place(&self) -> bool {
        let most = |within: &BTreeMap<Option<SiteId>, u64>| {
            within.iter().max_by_key(|&(_, times)| *times).map(|(within, _)| *within)
        };
        let mut places = self.waits_in.values().map(most);
        let first = places.next();
        places.all(|place| Some(place) == first)
    }

    fn is_woken_by_holder(&self) -> bool {
        let (mut waiting, mut by_holder, mut by_others) = (0_u64, 0_u64, 0_u64);
        let mut holder: Option<ThreadId> = None;
        for &(_, deed, thread) in &self.deeds {
            match deed {
                Deed::BeginsWait => {
                    waiting += 1;
                    // It did not get it.
                    holder = holder.filter(|&holder| holder != thread);
                }
                Deed::EndsWait => {
                    waiting = waiting.saturating_sub(1);
                    holder = Some(thread).filter(|_| waiting > 0);
                }
                Deed::Wakes => match holder.take() {
                    Some(holder) if holder == thread => by_holder += 1,
                    Some(_) => by_others += 1,
                    None => {}
                },
            }
        }
        by_holder as f64 >= MOST_BY_HOLDER * (by_holder + by_others) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, Nanos, ObjectKind, Site, Wait, Wake};

    fn at(time: u64) -> Time {
        Time::from_nanos(time)
    }

    /// `waits`: thread, from, to. `wakes`: thread, when.
    fn is_lock(waits: &[(u32, u64, u64)], wakes: &[(u32, u64)], count: WakeCount) -> bool {
        let mut process = Process::new(at(0), at(1000));
        for number in 0..4 {
            process.add_thread(&format!("thread {number}"), at(0), None);
        }
        let object = process.add_object(ObjectKind::Futex, 0x10);
        let other = process.add_object(ObjectKind::Futex, 0x20);
        let wait = |&(thread, from, to): &(u32, u64, u64)| {
            Wait::granted(ThreadId::new(thread), object, at(from), at(to))
        };
        process.waits.extend(waits.iter().map(wait));
        process.waits.push(Wait::granted(ThreadId::new(0), other, at(1), at(2)));
        let wake = |&(thread, time): &(u32, u64)| Wake {
            thread: ThreadId::new(thread),
            time: at(time),
            object,
            site: None,
            count,
        };
        process.wakes.extend(wakes.iter().map(wake));
        assert_eq!(used_as_locks(&process, &[false, true]), [false, false]);
        used_as_locks(&process, &[true, false])[0]
    }

    /// Three threads hold it for ten each, in turn; each works for five outside, and so waits for fifteen.
    #[test]
    fn a_lock_is_given_free_by_who_was_woken() {
        let one = WakeCount::AtMost(1);
        let turns: Vec<(u32, u64)> = (0..12).map(|turn| (turn as u32 % 3, 10 * turn)).collect();
        let waits: Vec<(u32, u64, u64)> = turns
            .iter()
            .filter(|(_, begin)| *begin >= 15)
            .map(|&(thread, begin)| (thread, begin - 15, begin))
            .collect();
        let wakes: Vec<(u32, u64)> = turns.iter().map(|&(thread, begin)| (thread, begin + 9)).collect();
        assert!(is_lock(&waits, &wakes, one));
        // All at once: a barrier, or the end of something.
        assert!(!is_lock(&waits, &wakes, WakeCount::All));
        // Another thread wakes those who wait: a queue.
        let given: Vec<(u32, u64)> = wakes.iter().map(|&(_, time)| (3, time)).collect();
        assert!(!is_lock(&waits, &given, one));
        // Whoever wakes is not who was woken before: each waits for work, and gives work to others when it has some.
        let crossed: Vec<(u32, u64)> = wakes.iter().map(|&(thread, time)| ((thread + 1) % 3, time)).collect();
        assert!(!is_lock(&waits, &crossed, one));
        assert!(!is_lock(&waits[..2], &wakes[..2], one));
    }

    #[test]
    fn two_threads_that_give_it_to_each_other_have_a_lock() {
        let waits: Vec<(u32, u64, u64)> =
            (0..6).map(|turn| (turn as u32 % 2, 10 * turn + 5, 10 * turn + 10)).collect();
        let wakes: Vec<(u32, u64)> = (0..6).map(|turn| ((turn as u32 + 1) % 2, 10 * turn + 9)).collect();
        assert!(is_lock(&waits, &wakes, WakeCount::AtMost(1)));
        // One waits for the other, and never the other way.
        let waits: Vec<(u32, u64, u64)> = waits.into_iter().filter(|(thread, ..)| *thread == 0).collect();
        let wakes: Vec<(u32, u64)> = wakes.into_iter().filter(|(thread, _)| *thread == 1).collect();
        assert!(!is_lock(&waits, &wakes, WakeCount::AtMost(1)));
    }

    #[test]
    fn who_waits_for_room_and_who_waits_for_work_have_no_lock() {
        let mut process = Process::new(at(0), at(100));
        let threads = ["producer", "consumer"].map(|name| process.add_thread(name, at(0), None));
        let queue = process.add_object(ObjectKind::Condition, 0x10);
        let site = |process: &mut Process, function: &str| {
            let frame = Frame { function: Some(function.to_owned()), ..Frame::default() };
            process.add_site(Site { frames: vec![frame], ..Site::default() })
        };
        let sites = ["put", "get"].map(|function| Some(site(&mut process, function)));
        let (from, to) = (at(5), at(10));
        for turn in 0..8_usize {
            let after = Nanos::new(10 * turn as u64);
            let wait = Wait::granted(threads[turn % 2], queue, from + after, to + after);
            process.waits.push(Wait { site: sites[turn % 2], ..wait });
            let (thread, time, count) = (threads[1 - turn % 2], at(9) + after, WakeCount::AtMost(1));
            process.wakes.push(Wake { thread, time, object: queue, site: None, count });
        }
        assert_eq!(used_as_locks(&process, &[true]), [false]);
        for wait in &mut process.waits {
            wait.site = sites[0];
        }
        assert_eq!(used_as_locks(&process, &[true]), [true]);
    }
}
