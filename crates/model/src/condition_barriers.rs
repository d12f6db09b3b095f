//! Condition variables, and futexes of the standard library, that are barriers.
//!
//! A barrier of a mutex and a condition variable has generations: in each of them every thread of the group comes once, all
//! but the last wait, and that one wakes all. Where a recording shows that, the object is a [`ObjectKind::Barrier`] like any
//! other, with one [`Wait`] for each thread and generation: whoever reads the process knows one sort of barrier.

use std::collections::BTreeMap;

use crate::{
    Mode, ObjectId, ObjectKind, Outcome, Process, RoutineKind, SiteId, ThreadId, Time, Wait, Wake, WakeCount,
};

/// Names of objects of the C++ library that stand for whatever somebody waits for.
const SHARED_FUTEXES: &str = "std::__detail::";

/// All have come, and one wakes the others: who, when, where.
#[derive(Clone, Copy, Debug)]
struct Broadcast {
    time: Time,
    thread: ThreadId,
    site: Option<SiteId>,
}

/// What was seen of a condition variable or futex.
#[derive(Debug, Default)]
struct Use {
    /// In the order of time.
    broadcasts: Vec<Broadcast>,
    /// Indices of waits.
    waits: Vec<usize>,
    /// One thread alone was woken, once at least.
    is_signalled: bool,
    /// The threads of a futex that a function's name says is a barrier; empty for all else. Those that did not have to wait
    /// for long did so without a call: they are in no wait.
    named: Vec<ThreadId>,
}

impl Process {
    /// Turns condition variables that are barriers into such. What else they are signalled by, and how soon after a
    /// generation the next one is, changes nothing.
    ///
    /// A pool of threads that wait until another says that there is work looks the same, if it is always the same one that
    /// says so: then it counts as a barrier only if waiting and waking stand in one function. And a queue that is closed by waking all
    /// looks like a barrier with one generation: where somebody was signalled too, one is not enough.
    pub fn find_condition_barriers(&mut self) {
        let mut uses: BTreeMap<ObjectId, Use> = BTreeMap::new();
        let named = self.named_barriers();
        let is_one = |object: ObjectId| {
            self.object(object).kind == ObjectKind::Condition || named.contains_key(&object)
        };
        for wake in self.wakes.iter().filter(|wake| is_one(wake.object)) {
            let found = uses.entry(wake.object).or_default();
            let Wake { time, thread, site, .. } = *wake;
            match wake.count {
                _ if named.contains_key(&wake.object) => {
                    found.broadcasts.push(Broadcast { time, thread, site });
                }
                WakeCount::All => found.broadcasts.push(Broadcast { time, thread, site }),
                WakeCount::AtMost(_) => found.is_signalled = true,
            }
        }
        uses.retain(|_, found| !found.broadcasts.is_empty());
        if uses.is_empty() {
            return;
        }
        for (index, wait) in self.waits.iter().enumerate() {
            if let Some(found) = uses.get_mut(&wait.object) {
                found.waits.push(index);
            }
        }
        let mut gone = vec![false; self.waits.len()];
        for (object, threads) in named {
            if let Some(found) = uses.get_mut(&object) {
                found.named =
                    threads.into_iter().chain(found.broadcasts.iter().map(|all| all.thread)).collect();
                found.named.sort_unstable();
                found.named.dedup();
            }
        }
        for (object, mut found) in uses {
            found.broadcasts.sort_by_key(|broadcast| (broadcast.time, broadcast.thread, broadcast.site));
            found.waits.sort_by_key(|&index| (self.waits[index].begin, self.waits[index].thread, index));
            if let Some(parties) = self.parties_of(&found) {
                self.make_barrier(object, parties, &found, &mut gone);
            }
        }
        let mut gone = gone.into_iter();
        self.waits.retain(|_| gone.next() != Some(true));
        let objects = &self.objects;
        self.wakes.retain(|wake| !objects[wake.object.index()].is_condition_barrier);
    }

    /// Futexes at which threads wait in functions that are barriers by their names, and nowhere else; who waits there.
    fn named_barriers(&self) -> BTreeMap<ObjectId, Vec<ThreadId>> {
        let by_name = |site: &crate::Site| site.routine(|kind| kind == RoutineKind::Barrier).is_some();
        let is_barrier: Vec<bool> = self.sites.iter().map(by_name).collect();
        let mut named: BTreeMap<ObjectId, (bool, Vec<ThreadId>)> = BTreeMap::new();
        if !is_barrier.contains(&true) {
            return BTreeMap::new();
        }
        for wait in self.waits.iter().filter(|wait| self.object(wait.object).kind == ObjectKind::Futex) {
            let is_in_one = wait.site.is_some_and(|site| is_barrier[site.index()]);
            let (is_named, threads) = named.entry(wait.object).or_insert((true, Vec::new()));
            *is_named &= is_in_one;
            threads.push(wait.thread);
        }
        named
            .into_iter()
            .filter_map(|(object, (is_named, threads))| is_named.then_some((object, threads)))
            .collect()
    }

    /// For how many threads it is a barrier.
    fn parties_of(&self, found: &Use) -> Option<u32> {
        if !found.named.is_empty() {
            // With more threads than ever met at once it is another barrier in another part of the run.
            return self
                .most_at_once(found)
                .filter(|&most| most == found.named.len())
                .map(|most| most as u32);
        }
        let mut generations: Vec<Vec<ThreadId>> = vec![Vec::new(); found.broadcasts.len() + 1];
        for &index in &found.waits {
            generations[generation(&found.broadcasts, self.waits[index].begin)]
                .push(self.waits[index].thread);
        }
        // The last one may not have come to its end.
        let begun = generations.pop().unwrap_or_default();
        for waiting in &mut generations {
            waiting.sort_unstable();
            waiting.dedup();
        }
        let waiting = generations.first().map_or(0, Vec::len);
        let is_whole = |(waiting_now, broadcast): (&Vec<ThreadId>, &Broadcast)| {
            waiting_now.len() == waiting && waiting_now.binary_search(&broadcast.thread).is_err()
        };
        let all_whole = generations.iter().zip(&found.broadcasts).all(is_whole);
        if waiting == 0 || !all_whole || begun.len() > waiting || generations.len() == 1 && found.is_signalled
        {
            return None;
        }
        let wakes = |broadcast: &Broadcast| broadcast.thread == found.broadcasts[0].thread;
        if found.broadcasts.iter().all(wakes) && !self.is_in_one_function(found) {
            return None;
        }
        Some(waiting as u32 + 1)
    }

    /// The most threads of one generation, with who came last; `None` where nobody waited.
    fn most_at_once(&self, found: &Use) -> Option<usize> {
        let mut generations: Vec<Vec<ThreadId>> =
            found.broadcasts.iter().map(|broadcast| vec![broadcast.thread]).collect();
        for &index in &found.waits {
            let Wait { begin, thread, .. } = self.waits[index];
            if let Some(threads) = generations.get_mut(generation(&found.broadcasts, begin)) {
                threads.push(thread);
            }
        }
        let distinct = |mut threads: Vec<ThreadId>| {
            threads.sort_unstable();
            threads.dedup();
            threads.len()
        };
        generations.into_iter().map(distinct).max().filter(|&most| most > 1)
    }

    /// True if who waits and who wakes are in the same function.
    fn is_in_one_function(&self, found: &Use) -> bool {
        let function = |site: Option<SiteId>| self.site(site?).place()?.function.as_deref();
        let wakes = function(found.broadcasts[0].site);
        let waits = found.waits.first().and_then(|&index| function(self.waits[index].site));
        wakes.is_some() && wakes == waits
    }

    fn make_barrier(&mut self, object: ObjectId, parties: u32, found: &Use, gone: &mut [bool]) {
        let facts = &mut self.objects[object.index()];
        (facts.kind, facts.parties, facts.is_condition_barrier) = (ObjectKind::Barrier, Some(parties), true);
        // The standard library shares a few futexes among all that wait.
        facts.name.take_if(|name| name.starts_with(SHARED_FUTEXES));
        // By generation and thread: the wait that stands for all that the thread waited in it.
        let mut first: BTreeMap<(usize, ThreadId), usize> = BTreeMap::new();
        for &index in &found.waits {
            let Wait { begin, thread, end, cpu_end, outcome, .. } = self.waits[index];
            let generation = generation(&found.broadcasts, begin);
            match first.get(&(generation, thread)) {
                None => {
                    first.insert((generation, thread), index);
                    self.waits[index].round = Some(generation as u64);
                }
                Some(&before) => {
                    let before = &mut self.waits[before];
                    (before.end, before.cpu_end, before.outcome) = (end, cpu_end, outcome);
                    gone[index] = true;
                }
            }
        }
        let waits_at: BTreeMap<usize, Option<SiteId>> = first
            .iter()
            .rev()
            .map(|(&(generation, _), &index)| (generation, self.waits[index].site))
            .collect();
        let mutex = found.waits.first().and_then(|&index| self.waits[index].mutex);
        for (round, broadcast) in found.broadcasts.iter().enumerate() {
            let is_alive = |thread: ThreadId| {
                let facts = self.thread(thread);
                facts.start <= broadcast.time && facts.end.is_none_or(|end| broadcast.time <= end)
            };
            let has_waited = |thread: ThreadId| first.contains_key(&(round, thread));
            let others = found.named.iter().filter(|&&thread| thread != broadcast.thread);
            let came_without_a_call = others.filter(|&&thread| !has_waited(thread) && is_alive(thread));
            let came: Vec<ThreadId> = came_without_a_call.copied().chain([broadcast.thread]).collect();
            self.waits.extend(came.into_iter().map(|thread| Wait {
                thread,
                begin: broadcast.time,
                end: broadcast.time,
                object,
                // The barrier is where threads wait at it.
                site: waits_at.get(&round).copied().flatten().or(broadcast.site),
                mode: Mode::Exclusive,
                outcome: Outcome::Granted,
                owner: None,
                mutex,
                cpu_begin: None,
                cpu_end: None,
                round: Some(round as u64),
            }));
        }
        if let Some(mutex) = mutex {
            self.part_holds(mutex, &found.broadcasts);
        }
    }

    /// Who comes last does not keep the mutex while it is at the barrier: in another order of things others would come later.
    fn part_holds(&mut self, mutex: ObjectId, broadcasts: &[Broadcast]) {
        let mut parts = Vec::new();
        for hold in self.holds.iter_mut().filter(|hold| hold.object == mutex) {
            let Some(begin) = hold.begin else { continue };
            let after = broadcasts.partition_point(|broadcast| broadcast.time <= begin);
            let inside = broadcasts[after..].iter().take_while(|broadcast| broadcast.time < hold.end);
            if let Some(own) = inside.into_iter().find(|broadcast| broadcast.thread == hold.thread) {
                let mut second = hold.clone();
                second.begin = Some(own.time);
                hold.end = own.time;
                parts.push(second);
            }
        }
        self.holds.append(&mut parts);
    }
}

/// Which generation a wait is of.
fn generation(broadcasts: &[Broadcast], begin: Time) -> usize {
    broadcasts.partition_point(|broadcast| broadcast.time <= begin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, Hold, Site};

    /// A futex at which threads wait in functions of these names, in three rounds of three threads; in the second one, thread 2
    /// came without having to wait.
    fn futex(functions: [&str; 2]) -> (Process, ObjectId) {
        let mut process = Process::new(at(0), at(1_000));
        let object = process.add_object(ObjectKind::Futex, 1);
        process.objects[0].name = Some("std::__detail::__waiter_pool_base::w[14]".to_owned());
        let sites = functions.map(|function| {
            let frame = |function: &str| Frame { function: Some(function.to_owned()), ..Frame::default() };
            let frames = vec![frame("std::__detail::__platform_wait<int>"), frame(function), frame("run")];
            process.add_site(Site { frames, ..Site::default() })
        });
        let threads = [0, 1, 2].map(|_| process.add_thread("thread", at(0), None));
        for (round, waiting) in [&threads[1..], &threads[1..2], &threads[1..]].into_iter().enumerate() {
            let round = round as u64;
            for (index, &thread) in waiting.iter().enumerate() {
                let (begin, end) = (at(100 * round + 10), at(100 * round + 55));
                let site = Some(sites[index.min(1)]);
                process.waits.push(Wait { site, ..Wait::granted(thread, object, begin, end) });
            }
            let (time, count) = (at(100 * round + 50), WakeCount::AtMost(1));
            process.wakes.push(Wake { thread: threads[0], time, object, site: Some(sites[0]), count });
        }
        process.find_condition_barriers();
        (process, object)
    }

    #[test]
    fn a_futex_of_a_function_that_is_a_barrier_is_one() {
        let barrier = "std::barrier<std::__empty_completion>::wait";
        let (process, object) = futex([barrier; 2]);
        let facts = process.object(object);
        assert_eq!((facts.kind, facts.parties, &facts.name), (ObjectKind::Barrier, Some(3), &None));
        assert!(process.wakes.is_empty());
        let of_round = |round| {
            let all = process.waits.iter().filter(|wait| wait.round == Some(round));
            let mut all: Vec<_> = all.map(|wait| (wait.thread.index(), wait.begin.nanos() % 100)).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(of_round(0), [(0, 50), (1, 10), (2, 10)]);
        assert_eq!(of_round(1), [(0, 50), (1, 10), (2, 50)], "it waited too short for a call");
        assert_eq!(of_round(2), [(0, 50), (1, 10), (2, 10)]);
    }

    #[test]
    fn a_futex_for_several_things_is_no_barrier() {
        for other in ["std::counting_semaphore<1>::acquire", "pass"] {
            let (process, object) = futex(["std::barrier<std::__empty_completion>::wait", other]);
            assert_eq!(process.object(object).kind, ObjectKind::Futex);
            assert_eq!((process.waits.len(), process.wakes.len()), (5, 3));
        }
    }

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    const MUTEX: ObjectId = ObjectId::new(0);
    const CONDITION: ObjectId = ObjectId::new(1);

    /// Threads in words, one character for 10 ns: `w` it begins to wait and goes on at the next `A` of any thread, `A` it wakes
    /// all, `s` it wakes one. `functions` are those of waiting and of waking.
    fn used(threads: &[&str], functions: [&str; 2]) -> Process {
        let mut process = Process::new(at(0), at(1_000));
        process.add_object(ObjectKind::Mutex, 1);
        process.add_object(ObjectKind::Condition, 2);
        let [waits_at, wakes_at] = functions.map(|function| {
            let frame = Frame { function: Some(function.to_owned()), ..Frame::default() };
            Some(process.add_site(Site { frames: vec![frame], ..Site::default() }))
        });
        for (index, steps) in threads.iter().enumerate() {
            let thread = process.add_thread("thread", at(0), None);
            for (step, time) in steps.chars().zip((1..).map(|tick: usize| tick * 10)) {
                let begin = at(time as u64);
                let rest = |other: &&str| other.get(time / 10..).and_then(|rest| rest.find('A'));
                let next = threads.iter().filter_map(rest).min().map(|ahead| time / 10 + ahead);
                match step {
                    'w' => process.waits.push(Wait {
                        site: waits_at,
                        mutex: Some(MUTEX),
                        ..Wait::granted(
                            thread,
                            CONDITION,
                            begin,
                            at(next.map_or(1_000, |next| (next as u64 + 1) * 10 + index as u64)),
                        )
                    }),
                    'A' | 's' => {
                        let count = if step == 'A' { WakeCount::All } else { WakeCount::AtMost(1) };
                        process.wakes.push(Wake {
                            thread,
                            time: begin,
                            object: CONDITION,
                            site: wakes_at,
                            count,
                        });
                    }
                    _ => {}
                }
            }
        }
        process.find_condition_barriers();
        process
    }

    fn parties(threads: &[&str]) -> Option<u32> {
        let process = used(threads, ["bar", "bar"]);
        assert_eq!(
            process.object(CONDITION).is_condition_barrier,
            process.object(CONDITION).parties.is_some()
        );
        process.object(CONDITION).parties
    }

    #[test]
    fn in_each_generation_one_wakes_the_others() {
        assert_eq!(parties(&["w  w   A", " w  A w ", "  Aw  w "]), Some(3));
        assert_eq!(parties(&["w  w   A", " w  A w ", "  Aw  ws"]), Some(3), "a signal changes nothing");
        assert_eq!(parties(&["ww w   A", "  w A w ", "   Aw w "]), None, "one comes too late");
        assert_eq!(parties(&["w w   A", " A   w ", "w w A w"]), None, "threads come more or less often");
        assert_eq!(parties(&["w w w", " s s s"]), None);
        assert_eq!(parties(&["w", " A"]), Some(2));
        assert_eq!(parties(&["w", " As"]), None, "a queue that is closed");
    }

    #[test]
    fn groups_may_follow_each_other() {
        assert_eq!(parties(&["w   A    ", " A w      ", "     w   A", "      A w "]), Some(2));
        assert_eq!(
            parties(&["w   A    ", " A w      ", "   w  w   A", "      A w "]),
            None,
            "of another size"
        );
    }

    #[test]
    fn who_always_wakes_waits_in_the_same_function_or_starts_others() {
        let threads = ["w w w", " A A A"];
        assert_eq!(used(&threads, ["bar", "bar"]).object(CONDITION).parties, Some(2));
        assert_eq!(used(&threads, ["worker", "start"]).object(CONDITION).parties, None);
        let turns = ["w   A w", " A w   A"];
        assert_eq!(used(&turns, ["wait", "last"]).object(CONDITION).parties, Some(2));
    }

    #[test]
    fn each_thread_has_one_wait_in_each_generation() {
        let process = used(&["ww  A", "  Aw ", "w  w "], ["bar", "bar"]);
        let mut waits: Vec<_> = process
            .waits
            .iter()
            .map(|wait| (wait.round, wait.thread.index(), wait.begin.nanos(), wait.end.nanos()))
            .collect();
        waits.sort_unstable();
        let of = |round: u64, thread: usize, begin: u64, end: u64| (Some(round), thread, begin, end);
        let first = [of(0, 0, 10, 30), of(0, 1, 30, 30), of(0, 2, 10, 32)];
        let second = [of(1, 0, 50, 50), of(1, 1, 40, 51), of(1, 2, 40, 52)];
        assert_eq!(waits, [first, second].concat());
        assert!(process.wakes.is_empty());
    }

    #[test]
    fn who_comes_last_does_not_keep_the_mutex() {
        let mut process = used(&["w w", " A "], ["bar", "bar"]);
        process.holds.push(Hold {
            thread: ThreadId::new(1),
            begin: Some(at(15)),
            end: at(25),
            object: MUTEX,
            acquired_at: None,
            released_at: None,
            waited_for: true,
            mode: Mode::Exclusive,
        });
        let broadcast = Broadcast { time: at(20), thread: ThreadId::new(1), site: None };
        process.part_holds(MUTEX, &[broadcast]);
        let holds: Vec<_> = process.holds.iter().map(|hold| (hold.begin, hold.end)).collect();
        assert_eq!(holds, [(Some(at(15)), at(20)), (Some(at(20)), at(25))]);
    }
}
