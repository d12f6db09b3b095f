//! Condition variables that are barriers.
//!
//! A barrier of a mutex and a condition variable has generations: in each of them every thread of the group comes once, all
//! but the last wait, and that one wakes all. Where a recording shows that, the object is a [`ObjectKind::Barrier`] like any
//! other, with one [`Wait`] for each thread and generation: whoever reads the process knows one sort of barrier.

use std::collections::BTreeMap;

use crate::{Mode, ObjectId, ObjectKind, Outcome, Process, SiteId, ThreadId, Time, Wait, Wake, WakeCount};

/// All have come, and one wakes the others: who, when, where.
#[derive(Clone, Copy, Debug)]
struct Broadcast {
    time: Time,
    thread: ThreadId,
    site: Option<SiteId>,
}

/// What was seen of a condition variable.
#[derive(Debug, Default)]
struct Use {
    /// In the order of time.
    broadcasts: Vec<Broadcast>,
    /// Indices of waits.
    waits: Vec<usize>,
    /// One thread alone was woken, once at least.
    is_signalled: bool,
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
        let is_condition = |object: ObjectId| self.object(object).kind == ObjectKind::Condition;
        for wake in self.wakes.iter().filter(|wake| is_condition(wake.object)) {
            let found = uses.entry(wake.object).or_default();
            let Wake { time, thread, site, .. } = *wake;
            match wake.count {
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

    /// For how many threads it is a barrier.
    fn parties_of(&self, found: &Use) -> Option<u32> {
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
            self.waits.push(Wait {
                thread: broadcast.thread,
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
            });
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
