//! Condition variables, and futexes of the standard library, that are barriers.
//!
//! A barrier of a mutex and a condition variable has generations: in each of them every thread of the group comes once, all
//! but the last wait, and that one wakes all. Where a recording shows that, the object is a [`ObjectKind::Barrier`] like any
//! other, with one [`Wait`] for each thread and generation: whoever reads the process knows one sort of barrier.

use std::collections::{BTreeMap, BTreeSet};

use crate::process::ATOMIC_WAIT;
use crate::{
    Mode, ObjectId, ObjectKind, Outcome, Process, RoutineKind, SiteId, ThreadId, Time, Wait, Wake, WakeCount,
};

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
    /// The threads of a barrier at which one spins before one waits: those that did not have to wait for long did so without a call,
    /// and are in no wait. Empty where all that come are seen.
    spinners: Vec<ThreadId>,
}

/// At a barrier at which threads spin before they wait, all others of the group wait in so many generations at least...
const FEWEST_WHOLE: usize = 3;
/// ...and of the waits that there would be without spinning, this share is seen.
const LEAST_SEEN: f64 = 0.25;
/// That share is what usually is.
const USUALLY: f64 = 0.9;
/// A thread takes the mutex so often in a generation at most: when it comes, when it has waited until the others have left, and when it
/// has waited until all have come.
const TAKEN_BY_ONE: usize = 3;
/// Samples that find threads spinning there.
const FEWEST_SPINS: usize = 3;
/// In so many generations it may look otherwise: who wakes the others after it gave the mutex free is overtaken.
const MOST_OTHERWISE: f64 = 0.02;

/// A generation of what may be a barrier at which threads spin: who came last, and who waited.
struct Round {
    last: Broadcast,
    waiting: BTreeSet<ThreadId>,
    /// At a barrier it would be otherwise.
    is_otherwise: bool,
}

impl Use {
    /// These threads, and those that woke others.
    fn group(&self, threads: impl IntoIterator<Item = ThreadId>) -> Vec<ThreadId> {
        let all = threads.into_iter().chain(self.broadcasts.iter().map(|broadcast| broadcast.thread));
        let all: BTreeSet<ThreadId> = all.collect();
        all.into_iter().collect()
    }
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
                found.spinners = found.group(threads);
            }
        }
        for (object, mut found) in uses {
            found.broadcasts.sort_by_key(|broadcast| (broadcast.time, broadcast.thread, broadcast.site));
            found.waits.sort_by_key(|&index| (self.waits[index].begin, self.waits[index].thread, index));
            let parties = self.parties_of(&found).or_else(|| {
                (found.spinners, found.broadcasts) = self.spinners_of(object, &found)?;
                Some(found.spinners.len() as u32)
            });
            if let Some(parties) = parties {
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
        if !found.spinners.is_empty() {
            // With more threads than ever met at once it is another barrier in another part of the run.
            return self
                .most_at_once(found)
                .filter(|&most| most == found.spinners.len())
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
        // One thread may always be the last to come. If several never wait, they tell others something.
        let waiters: BTreeSet<ThreadId> = found.waits.iter().map(|&index| self.waits[index].thread).collect();
        let mut tell: BTreeMap<ThreadId, u32> = BTreeMap::new();
        for broadcast in found.broadcasts.iter().filter(|broadcast| !waiters.contains(&broadcast.thread)) {
            *tell.entry(broadcast.thread).or_default() += 1;
        }
        if tell.values().filter(|&&times| times > 1).count() > 1 {
            return None;
        }
        let wakes = |broadcast: &Broadcast| broadcast.thread == found.broadcasts[0].thread;
        if found.broadcasts.iter().all(wakes) && self.function_around(found).is_none() {
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

    /// The group of a barrier at which threads spin for a while before they wait, so that who would not wait for long is in no wait; and
    /// when all had come, as far as somebody waited (some barriers wake all once more when the last has left).
    ///
    /// Of such a one it is known that the last to come is in no wait; that the others are in one or on their way, and so wait for
    /// nothing else; that waiting and waking stand together; and that often enough all others wait, and usually so where it is not known
    /// that threads spin there.
    fn spinners_of(&self, object: ObjectId, found: &Use) -> Option<(Vec<ThreadId>, Vec<Broadcast>)> {
        if found.is_signalled || !found.spinners.is_empty() {
            return None;
        }
        let function = self.function_around(found)?;
        let group = found.group(found.waits.iter().map(|&index| self.waits[index].thread));
        let others = group.len() - 1;
        let comes = self.broadcasts_at_coming(found, others);
        let begun = |&last: &Broadcast| Round { last, waiting: BTreeSet::new(), is_otherwise: false };
        let mut rounds: Vec<Round> = comes.iter().map(begun).collect();
        for &index in &found.waits {
            let Wait { thread, begin, end, .. } = self.waits[index];
            match rounds.get_mut(generation(&comes, begin)) {
                Some(round) if thread == round.last.thread => round.is_otherwise |= end >= round.last.time,
                Some(round) => _ = round.waiting.insert(thread),
                None => {}
            }
        }
        rounds.retain(|round| !round.waiting.is_empty());
        let all = rounds.len();
        let seen: usize = rounds.iter().map(|round| round.waiting.len()).sum();
        let whole = rounds.iter().filter(|round| round.waiting.len() == others).count();
        let is_often = whole >= FEWEST_WHOLE && seen as f64 >= LEAST_SEEN * (others * all) as f64;
        let mutex = found.waits.first().and_then(|&index| self.waits[index].mutex);
        // A lock that is made so has no loop that spins, and is given free most often while nobody waits, by who comes again itself.
        let is_usual = whole as f64 >= USUALLY * all as f64 && all as f64 >= USUALLY * comes.len() as f64;
        let is_seen =
            || self.spins_in(function) || mutex.is_some_and(|mutex| self.all_come(mutex, &group, &comes));
        if others == 0 || !is_often || !is_usual && !is_seen() {
            return None;
        }
        let elsewhere = self.elsewhere(&group, [Some(object), mutex]);
        let is_elsewhere = |place: usize, time: Time| {
            let spans = &elsewhere[place];
            let begun = spans.partition_point(|(begin, _)| *begin <= time);
            begun > 0 && time < spans[begun - 1].1
        };
        let is_otherwise = |round: &&Round| {
            let comes = |thread| thread == round.last.thread || round.waiting.contains(&thread);
            let missing = (0..group.len()).filter(|&place| !comes(group[place]));
            round.is_otherwise || missing.into_iter().any(|place| is_elsewhere(place, round.last.time))
        };
        let otherwise = rounds.iter().filter(is_otherwise).count();
        let met = rounds.iter().map(|round| round.last).collect();
        (otherwise as f64 <= MOST_OTHERWISE * all as f64).then_some((group, met))
    }

    /// True if before the last one comes each thread of the group has had the mutex, in most generations: not all times that somebody
    /// has it are recorded. Where too many are not, or it is taken far oftener than somebody wakes all (of a lock that is made so, few
    /// of whose wake-ups are recorded, all have had the mutex between two of these), that says nothing.
    fn all_come(&self, mutex: ObjectId, group: &[ThreadId], comes: &[Broadcast]) -> bool {
        let mut have_come: Vec<BTreeSet<ThreadId>> = vec![BTreeSet::new(); comes.len() + 1];
        let mut recorded = 0;
        for hold in self.holds.iter().filter(|hold| hold.object == mutex) {
            if let Some(begin) = hold.begin {
                have_come[generation(comes, begin)].insert(hold.thread);
                recorded += 1;
            }
        }
        let uses = self.uses.iter().filter(|used| used.object == mutex);
        let taken: u64 = uses.map(|used| used.acquisitions).sum();
        let of_barrier = (TAKEN_BY_ONE * group.len() * comes.len()) as u64;
        if taken > of_barrier || (recorded as f64) < USUALLY * taken as f64 {
            return false;
        }
        let generations = &have_come[..comes.len()];
        let is_whole =
            |have_come: &&BTreeSet<ThreadId>| group.iter().all(|thread| have_come.contains(thread));
        let whole = generations.iter().filter(is_whole).count();
        whole as f64 >= USUALLY * comes.len() as f64
    }

    /// When the last one came: some barriers wake all once more, elsewhere, when the last one has left, whom those may wait for that
    /// come again before.
    fn broadcasts_at_coming(&self, found: &Use, others: usize) -> Vec<Broadcast> {
        let mut waiting: Vec<BTreeSet<ThreadId>> = vec![BTreeSet::new(); found.broadcasts.len() + 1];
        for &index in &found.waits {
            let Wait { thread, begin, .. } = self.waits[index];
            waiting[generation(&found.broadcasts, begin)].insert(thread);
        }
        let line = |broadcast: &Broadcast| {
            let place = self.site(broadcast.site?).place()?;
            Some((place.file.as_deref(), place.line, place.address))
        };
        let mut lines: BTreeMap<_, (usize, usize)> = BTreeMap::new();
        for (broadcast, waiting) in found.broadcasts.iter().zip(&waiting) {
            let (whole, all) = lines.entry(line(broadcast)).or_default();
            *whole += usize::from(waiting.len() == others);
            *all += 1;
        }
        let most = lines.values().map(|(whole, _)| *whole).max().unwrap_or(0);
        let is_coming = |broadcast: &&Broadcast| {
            let (whole, all) = lines[&line(broadcast)];
            whole == most || whole * 2 >= all
        };
        found.broadcasts.iter().filter(is_coming).copied().collect()
    }

    /// When each of these threads waited for anything but these objects, in the order of time.
    fn elsewhere(&self, group: &[ThreadId], but: [Option<ObjectId>; 2]) -> Vec<Vec<(Time, Time)>> {
        let mut spans: Vec<Vec<(Time, Time)>> = vec![Vec::new(); group.len()];
        let waits = self.waits.iter().filter(|wait| !but.contains(&Some(wait.object)));
        let waits = waits.map(|wait| (wait.thread, wait.begin, wait.end));
        let blocks = self.blocks.iter().map(|block| (block.thread, block.begin, block.end));
        for (thread, begin, end) in waits.chain(blocks) {
            if let Ok(place) = group.binary_search(&thread) {
                spans[place].push((begin, end));
            }
        }
        spans.iter_mut().for_each(|spans| spans.sort_unstable());
        spans
    }

    /// The function in which, and in what it calls, threads always wait and are woken.
    fn function_around(&self, found: &Use) -> Option<&str> {
        let waits: BTreeSet<Option<SiteId>> =
            found.waits.iter().map(|&index| self.waits[index].site).collect();
        let wakes: BTreeSet<Option<SiteId>> =
            found.broadcasts.iter().map(|broadcast| broadcast.site).collect();
        let function = |site: &Option<SiteId>| self.site((*site)?).place()?.function.as_deref();
        let around = |outer: &BTreeSet<Option<SiteId>>, inner: &BTreeSet<Option<SiteId>>| {
            let names: BTreeSet<Option<&str>> = outer.iter().map(function).collect();
            let name = names.first().copied().flatten().filter(|_| names.len() == 1)?;
            let is_in = |site: &Option<SiteId>| site.is_some_and(|site| self.site(site).stands_in(name));
            inner.iter().all(is_in).then_some(name)
        };
        around(&wakes, &waits).or_else(|| around(&waits, &wakes))
    }

    /// True if samples found threads in a loop that waits, in this function or in what it calls.
    fn spins_in(&self, function: &str) -> bool {
        let spins = |site: SiteId| self.site(site).in_waiting_loop && self.site(site).stands_in(function);
        self.samples.iter().filter(|sample| sample.site.is_some_and(spins)).count() >= FEWEST_SPINS
    }

    fn make_barrier(&mut self, object: ObjectId, parties: u32, found: &Use, gone: &mut [bool]) {
        let facts = &mut self.objects[object.index()];
        (facts.kind, facts.parties, facts.is_condition_barrier) = (ObjectKind::Barrier, Some(parties), true);
        // The standard library shares a few futexes among all that wait.
        facts.name.take_if(|name| name == ATOMIC_WAIT);
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
            let others = found.spinners.iter().filter(|&&thread| thread != broadcast.thread);
            let came_without_a_call = others.filter(|&&thread| !has_waited(thread) && is_alive(thread));
            // The last one may have waited before for others to leave.
            let last = Some(broadcast.thread).filter(|&thread| !has_waited(thread));
            let came: Vec<ThreadId> = came_without_a_call.copied().chain(last).collect();
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
    use crate::{Doing, Frame, Hold, Nanos, ObjectUse, Sample, Site};

    /// A futex at which threads wait in functions of these names, in three rounds of three threads; in the second one, thread 2
    /// came without having to wait.
    fn futex(functions: [&str; 2]) -> (Process, ObjectId) {
        let mut process = Process::new(at(0), at(1_000));
        let object = process.add_object(ObjectKind::Futex, 1);
        process.objects[0].name = Some(ATOMIC_WAIT.to_owned());
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
        // What is left of it where gcc has put it into the program's own function.
        let address = "std::__atomic_wait_address<std::__barrier_phase_t, \
                       std::__tree_barrier<std::__empty_completion>::wait(std::__barrier_phase_t&&) const::{lambda()#1}>";
        for barrier in [barrier, address] {
            let (process, object) = futex([barrier; 2]);
            let facts = process.object(object);
            assert_eq!((facts.kind, facts.parties, &facts.name), (ObjectKind::Barrier, Some(3), &None));
        }
        let (process, _) = futex([barrier; 2]);
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

    const OTHER: ObjectId = ObjectId::new(0);
    const MUTEX: ObjectId = ObjectId::new(1);
    const CONDITION: ObjectId = ObjectId::new(2);

    /// Threads in words, one character for 10 ns: `w` it begins to wait and goes on at the next `A` or `L` of any thread, `A` and,
    /// on another line, `L` it wakes all, `s` it wakes one, `*` a sample finds it spinning, `o` it begins to wait for something else,
    /// for 15 ns, `h` it has the mutex for 5 ns. `functions` are those of waiting and of waking.
    fn used(threads: &[&str], functions: [&str; 2]) -> Process {
        used_so(threads, functions, 0)
    }

    /// As [`used`], where the mutex was taken so many times oftener than is recorded.
    fn used_so(threads: &[&str], functions: [&str; 2], unseen: u64) -> Process {
        let mut process = Process::new(at(0), at(100_000));
        process.add_object(ObjectKind::Mutex, 3);
        process.add_object(ObjectKind::Mutex, 1);
        process.add_object(ObjectKind::Condition, 2);
        let [waits_at, wakes_at] = functions.map(|function| {
            let frame = Frame { function: Some(function.to_owned()), ..Frame::default() };
            Some(process.add_site(Site { frames: vec![frame], ..Site::default() }))
        });
        let frame = |line| Frame { function: Some(functions[1].to_owned()), line, ..Frame::default() };
        let leaves_at = Some(process.add_site(Site { frames: vec![frame(Some(9))], ..Site::default() }));
        let spins = Site { frames: vec![frame(None)], in_waiting_loop: true, ..Site::default() };
        let spins_at = Some(process.add_site(spins));
        for (index, steps) in threads.iter().enumerate() {
            let thread = process.add_thread("thread", at(0), None);
            for (step, time) in steps.chars().zip((1..).map(|tick: usize| tick * 10)) {
                let begin = at(time as u64);
                let rest = |other: &&str| other.get(time / 10..).and_then(|rest| rest.find(['A', 'L']));
                let next = threads.iter().filter_map(rest).min().map(|ahead| time / 10 + ahead);
                match step {
                    'w' => process.waits.push(Wait {
                        site: waits_at,
                        mutex: Some(MUTEX),
                        ..Wait::granted(
                            thread,
                            CONDITION,
                            begin,
                            at(next.map_or(100_000, |next| (next as u64 + 1) * 10 + index as u64)),
                        )
                    }),
                    'A' | 'L' | 's' => {
                        let count = if step == 's' { WakeCount::AtMost(1) } else { WakeCount::All };
                        let site = if step == 'L' { leaves_at } else { wakes_at };
                        process.wakes.push(Wake { thread, time: begin, object: CONDITION, site, count });
                    }
                    '*' => process.samples.push(Sample {
                        thread,
                        time: begin,
                        doing: Doing::Running,
                        site: spins_at,
                        weight: Nanos::new(1),
                        access: None,
                        in_kernel: None,
                    }),
                    'h' => process.holds.push(Hold {
                        thread,
                        begin: Some(begin),
                        end: at(time as u64 + 5),
                        object: MUTEX,
                        acquired_at: None,
                        released_at: None,
                        waited_for: false,
                        mode: Mode::Exclusive,
                    }),
                    'o' => process.waits.push(Wait::granted(thread, OTHER, begin, at(time as u64 + 15))),
                    _ => {}
                }
            }
        }
        process.uses.push(ObjectUse {
            thread: None,
            object: MUTEX,
            acquisitions: process.holds.len() as u64 + unseen,
            failed_tries: 0,
            timed_holds: 0,
            timed_hold: Nanos::ZERO,
        });
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
        assert_eq!(
            parties(&["w w w w ", " A   A  ", "   A   A"]),
            None,
            "one waits until two others have done theirs"
        );
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

    /// Rounds of three threads, of which the second spins long enough in some; `of` is what it does in round `n`.
    fn with_spinner(of: impl Fn(usize) -> &'static str) -> [String; 3] {
        let second = (0..20).map(of).collect();
        ["w    ".repeat(20), second, "   A ".repeat(20)]
    }

    #[test]
    fn who_spins_at_a_barrier_has_come_all_the_same() {
        let parties_of = |threads: [String; 3]| parties(&threads.each_ref().map(String::as_str));
        let half = |spins: &'static str| move |n: usize| if n.is_multiple_of(2) { " w   " } else { spins };
        assert_eq!(parties_of(with_spinner(half(" *   "))), Some(3));
        assert_eq!(parties_of(with_spinner(half("     "))), None, "nothing says that it spins");
        assert_eq!(parties_of(with_spinner(half("  o* "))), None, "it waits for something else");
        // Where it hardly ever does, nothing else need be known.
        assert_eq!(parties_of(with_spinner(|n| if n == 7 { "     " } else { " w   " })), Some(3));
        // Who is in no wait came when the last one did.
        let threads = with_spinner(half(" *   "));
        let process = used(&threads.each_ref().map(String::as_str), ["bar", "bar"]);
        let of_round = |round| process.waits.iter().filter(|wait| wait.round == Some(round)).count();
        assert!((0..20).all(|round| of_round(round) == 3));
    }

    /// Where threads spin so shortly that no sample finds them.
    #[test]
    fn who_has_the_mutex_before_the_last_one_has_come_too() {
        let taken = |threads: [[&str; 2]; 2], unseen: u64| {
            let threads = threads.map(|steps| steps.concat().repeat(10));
            let threads = threads.each_ref().map(String::as_str);
            used_so(&threads, ["bar", "bar"], unseen).object(CONDITION).parties
        };
        let rounds = |threads| taken(threads, 0);
        assert_eq!(rounds([["hw   ", "h    "], ["  hA ", "  hA "]]), Some(2));
        assert_eq!(rounds([["hw   ", "  hA "], ["  hA ", "h    "]]), Some(2));
        assert_eq!(rounds([["hw   ", "     "], ["  hA ", "h hA "]]), None, "a lock that one takes twice");
        // Of 40 times that somebody had it not all are recorded.
        assert_eq!(taken([["hw   ", "h    "], ["  hA ", "  hA "]], 2), Some(2));
        assert_eq!(taken([["hw   ", "h    "], ["  hA ", "  hA "]], 20), None);
        // A lock that is taken often while few wake-ups are recorded.
        assert_eq!(rounds([["hhhhhhw   ", "hhhhhh    "], ["hhhhhh hA ", "hhhhhh hA "]]), None);
    }

    #[test]
    fn a_barrier_may_wake_once_more_those_that_come_before_the_last_has_left() {
        // The third comes last and leaves last; the first one comes again before.
        let rounds = 20;
        let threads = ["w   w    ".repeat(rounds), " w       ".repeat(rounds), "   A  L  ".repeat(rounds)];
        let threads = threads.each_ref().map(String::as_str);
        assert_eq!(parties(&threads), Some(3));
        let process = used(&threads, ["bar", "bar"]);
        let of_round = |round| process.waits.iter().filter(|wait| wait.round == Some(round)).count();
        assert!((0..20).all(|round| of_round(round) == 3), "each has one wait in each round");
        assert_eq!(used(&threads, ["get", "put"]).object(CONDITION).parties, None);
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
