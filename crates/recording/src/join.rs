//! Processes that use the same locks, send to each other, or were forked from one another, are one program: they are joined into one process
//! of the model.

use std::collections::BTreeMap;

use holdup_model::names::program_of;
use holdup_model::{LostEvents, ObjectId, ObjectKind, Process, SiteId, ThreadId, Time};

use crate::children::{JoinedProcess, start_children, wait_for_ends};
use crate::timeouts;

/// A process with what tells its shared objects apart, whichever process looks.
pub(crate) struct Member {
    pub process: Process,
    /// What lies behind the address of each shared object.
    pub keys: BTreeMap<u64, String>,
    /// It is a fork that executed no program before its records.
    pub forked: bool,
    /// It executed a program after them.
    pub executed: bool,
    /// Its end was seen.
    pub ended: bool,
}

impl Member {
    /// A process that shares nothing.
    pub(crate) fn alone(process: Process) -> Member {
        Member { process, keys: BTreeMap::new(), forked: false, executed: false, ended: false }
    }
}

/// Joins processes that share an object which at least two of them used, and forked ones with those that forked them. The others
/// stay as they are, and all keep their order, which is that of their start.
pub(crate) fn join(mut members: Vec<Member>) -> Vec<Process> {
    let last: BTreeMap<u32, usize> =
        members.iter().enumerate().map(|(index, member)| (member.process.pid, index)).collect();
    for (index, member) in members.iter_mut().enumerate() {
        member.executed |= last[&member.process.pid] != index;
    }
    let mut group: Vec<usize> = (0..members.len()).collect();
    let mut first_user: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, member) in members.iter().enumerate() {
        for key in member.keys.values() {
            let first = root(&group, *first_user.entry(key).or_insert(index));
            let own = root(&group, index);
            group[own.max(first)] = own.min(first);
        }
    }
    for (child, parent) in forked(&members) {
        let (parent, child) = (root(&group, parent), root(&group, child));
        group[child.max(parent)] = child.min(parent);
    }
    let roots: Vec<usize> = (0..members.len()).map(|index| root(&group, index)).collect();
    let mut joined: BTreeMap<usize, Joined> = BTreeMap::new();
    for (member, root) in members.into_iter().zip(roots) {
        joined.entry(root).or_default().add(member);
    }
    joined.into_values().filter_map(Joined::whole).collect()
}

/// Forked processes, with those that forked them.
fn forked(members: &[Member]) -> Vec<(usize, usize)> {
    let mut by_pid: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, member) in members.iter().enumerate() {
        by_pid.entry(member.process.pid).or_default().push(index);
    }
    let parent = |child: &Process| {
        let of_pid = by_pid.get(&child.parent_pid)?;
        let begun = of_pid.partition_point(|&index| members[index].process.start <= child.start);
        of_pid[..begun].last().copied()
    };
    let forked = members.iter().enumerate().filter(|(_, member)| member.forked && !member.executed);
    forked.filter_map(|(index, member)| Some((index, parent(&member.process)?))).collect()
}

fn root(group: &[usize], mut index: usize) -> usize {
    while group[index] != index {
        index = group[index];
    }
    index
}

#[derive(Default)]
struct Joined {
    process: Option<Process>,
    lives: Vec<JoinedProcess>,
    /// Two kinds of objects can lie at one address: what is in a pipe, and the room in it.
    known: BTreeMap<(String, ObjectKind), ObjectId>,
}

impl Joined {
    fn whole(self) -> Option<Process> {
        let mut process = self.process?;
        if self.lives.len() > 1 {
            // The same address is other memory in another process.
            process.samples.iter_mut().for_each(|sample| sample.access = None);
            start_children(&mut process, &self.lives);
            wait_for_ends(&mut process, &self.lives);
        }
        timeouts::wait_on(&mut process);
        Some(process)
    }

    fn add(&mut self, member: Member) {
        let Member { process: mut other, keys, executed, ended, .. } = member;
        let before = self.process.as_ref().map_or(0, |process| process.threads.len() as u32);
        self.lives.push(JoinedProcess {
            pid: other.pid,
            parent_pid: other.parent_pid,
            threads: before..before + other.threads.len() as u32,
            end: (ended && !executed).then_some(other.end),
        });
        let Some(process) = &mut self.process else {
            for (index, object) in other.objects.iter_mut().enumerate() {
                if let Some(key) = keys.get(&object.address) {
                    self.known.insert((key.clone(), object.kind), ObjectId::new(index as u32));
                }
                object.shared &= !object.kind.is_channel();
            }
            self.process = Some(other);
            return;
        };
        let threads = process.threads.len() as u32;
        let sites = process.sites.len() as u32;
        let thread = |id: ThreadId| ThreadId::new(id.index() as u32 + threads);
        let site = |id: SiteId| SiteId::new(id.index() as u32 + sites);
        let objects: Vec<ObjectId> = other
            .objects
            .iter()
            .map(|object| {
                let key = keys.get(&object.address).filter(|_| object.shared);
                let key = key.map(|key| (key.clone(), object.kind));
                if let Some(known) = key.as_ref().and_then(|key| self.known.get(key)) {
                    process.objects[known.index()].shared = true;
                    return *known;
                }
                let mut object = object.clone();
                // Every channel may be another process's, too; whether it is, that one says.
                object.shared &= !object.kind.is_channel();
                object.created_at = object.created_at.map(site);
                object.thread = object.thread.map(thread);
                process.objects.push(object);
                let id = ObjectId::new(process.objects.len() as u32 - 1);
                if let Some(key) = key {
                    self.known.insert(key, id);
                }
                id
            })
            .collect();
        let object = |id: ObjectId| objects[id.index()];
        for entry in &mut other.threads {
            // The end of its process was the end of the thread.
            entry.end = Some(entry.end.unwrap_or(other.end));
            entry.parent = entry.parent.map(thread);
            entry.entry = entry.entry.map(site);
            entry.created_at = entry.created_at.map(site);
        }
        // Forked processes run the same program. One of another is called by that.
        let program = program_of(&other);
        if program != program_of(process)
            && !other.command.is_empty()
            && let Some(first) = other.threads.first_mut()
        {
            first.name.get_or_insert(program);
        }
        for wait in &mut other.waits {
            wait.thread = thread(wait.thread);
            wait.object = object(wait.object);
            wait.site = wait.site.map(site);
            wait.owner = wait.owner.map(thread);
            wait.mutex = wait.mutex.map(object);
        }
        for hold in &mut other.holds {
            hold.thread = thread(hold.thread);
            hold.object = object(hold.object);
            hold.acquired_at = hold.acquired_at.map(site);
            hold.released_at = hold.released_at.map(site);
        }
        for wake in &mut other.wakes {
            wake.thread = thread(wake.thread);
            wake.object = object(wake.object);
            wake.site = wake.site.map(site);
        }
        for block in &mut other.blocks {
            block.thread = thread(block.thread);
            block.site = block.site.map(site);
        }
        for marker in &mut other.markers {
            marker.thread = thread(marker.thread);
        }
        for entry in &mut other.uses {
            entry.thread = entry.thread.map(thread);
            entry.object = object(entry.object);
        }
        for cost in &mut other.lock_costs {
            cost.thread = thread(cost.thread);
        }
        for lock in &mut other.busy_locks {
            lock.thread = thread(lock.thread);
            lock.object = object(lock.object);
        }
        for span in &mut other.on_core {
            span.thread = thread(span.thread);
        }
        for sample in &mut other.samples {
            sample.thread = thread(sample.thread);
            sample.site = sample.site.map(site);
        }
        for span in &mut other.alone {
            span.thread = thread(span.thread);
        }
        for reading in &mut other.readings {
            reading.thread = thread(reading.thread);
        }
        process.covered = covered_by_any(&process.covered, &other.covered);
        process.estimated = covered_by_any(&process.estimated, &other.estimated);
        process.seen_by.preload |= other.seen_by.preload;
        process.seen_by.kernel |= other.seen_by.kernel;
        if other.end > process.end {
            // Threads that lived to the end of the first process do not live to that of the second.
            for entry in &mut process.threads {
                entry.end = Some(entry.end.unwrap_or(process.end));
            }
            process.end = other.end;
        }
        process.start = process.start.min(other.start);
        process.joined.push(other.pid);
        process.threads.append(&mut other.threads);
        process.sites.append(&mut other.sites);
        process.waits.append(&mut other.waits);
        process.holds.append(&mut other.holds);
        process.wakes.append(&mut other.wakes);
        process.blocks.append(&mut other.blocks);
        process.markers.append(&mut other.markers);
        process.uses.append(&mut other.uses);
        process.openmp.join(other.openmp, threads, sites);
        process.lock_costs.append(&mut other.lock_costs);
        process.busy_locks.append(&mut other.busy_locks);
        process.on_core.append(&mut other.on_core);
        process.samples.append(&mut other.samples);
        process.readings.append(&mut other.readings);
        process.alone.append(&mut other.alone);
        process.alone_counts.append(&mut other.alone_counts);
        process.lost += LostEvents { damaged_bytes: 0, ..other.lost };
    }
}

/// Spans of time that are in one list or the other.
fn covered_by_any(a: &[(Time, Time)], b: &[(Time, Time)]) -> Vec<(Time, Time)> {
    let mut all: Vec<(Time, Time)> = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    let mut joined: Vec<(Time, Time)> = Vec::new();
    for (from, until) in all {
        match joined.last_mut().filter(|last| from <= last.1) {
            Some(last) => last.1 = last.1.max(until),
            None => joined.push((from, until)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdup_model::{
        Access, AccessKind, Block, BusyLock, Call, Doing, Hold, LockCost, Mode, Nanos, Sample, Timeline, Wait,
    };

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    fn member(key: &str, address: u64) -> (Member, ObjectId) {
        let mut process = Process::new(at(0), at(100));
        process.add_thread("main", at(0), None);
        let object = process.add_object(ObjectKind::Mutex, address);
        process.objects[object.index()].shared = true;
        let keys = [(address, key.to_owned())].into();
        (Member { process, keys, forked: false, executed: false, ended: true }, object)
    }

    #[test]
    fn what_joined_processes_accessed_is_not_the_same_memory() {
        let with_sample = |key: &str, pid: u32| {
            let (mut member, _) = member(key, 0x1000);
            member.process.pid = pid;
            member.process.samples.push(Sample {
                thread: ThreadId::new(0),
                time: at(10),
                doing: Doing::Running,
                site: None,
                weight: Nanos::new(5),
                access: Some(Access { address: 0x2000, bytes: 8, kind: AccessKind::Write }),
                in_kernel: None,
            });
            member
        };
        let processes = join(vec![with_sample("pool", 7), with_sample("pool", 8), with_sample("other", 9)]);
        let accesses = |process: &Process| -> Vec<bool> {
            process.samples.iter().map(|sample| sample.access.is_some()).collect()
        };
        assert_eq!(processes.iter().map(accesses).collect::<Vec<_>>(), [vec![false, false], vec![true]]);
    }

    #[test]
    fn a_wait_in_one_process_ends_with_the_release_in_another() {
        let (mut holder, lock) = member("pool", 0x1000);
        holder.process.holds.push(Hold {
            thread: ThreadId::new(0),
            begin: Some(at(10)),
            end: at(60),
            object: lock,
            acquired_at: None,
            released_at: None,
            waited_for: true,
            mode: Mode::Exclusive,
        });
        let (mut waiter, lock) = member("pool", 0x7000);
        waiter.process.waits.push(Wait::granted(ThreadId::new(0), lock, at(20), at(70)));
        let none = Nanos::ZERO;
        let of_thread = ThreadId::new(0);
        waiter.process.lock_costs.push(LockCost {
            thread: of_thread,
            acquisitions: 9,
            acquiring: none,
            hand_overs: 0,
            handing_over: none,
        });
        waiter.process.busy_locks.push(BusyLock {
            thread: of_thread,
            object: lock,
            brief: 5,
            waiting: none,
            acquisitions: 9,
            acquiring: none,
            releasing: none,
        });
        (holder.process.pid, waiter.process.pid) = (7, 8);
        waiter.process.threads[0].tid = 8;
        waiter.process.threads[0].name = None;
        waiter.process.command = vec!["/bin/draw".to_owned()];
        let (stranger, _) = member("other", 0x1000);
        let processes = join(vec![holder, stranger, waiter]);
        assert_eq!(processes.iter().map(|process| process.threads.len()).collect::<Vec<_>>(), [2, 1]);
        assert_eq!((processes[0].pid, processes[0].joined.as_slice()), (7, &[8][..]));
        assert_eq!(
            processes[0].thread_name(ThreadId::new(1)),
            "draw",
            "another program than that of the first"
        );
        let second = ThreadId::new(1);
        let costs: Vec<(ThreadId, u64)> =
            processes[0].lock_costs.iter().map(|cost| (cost.thread, cost.acquisitions)).collect();
        let busy: Vec<(ThreadId, ObjectId, u64)> =
            processes[0].busy_locks.iter().map(|lock| (lock.thread, lock.object, lock.brief)).collect();
        assert_eq!((costs, busy), (vec![(second, 9)], vec![(second, lock, 5)]));
        let timeline = Timeline::build(&processes[0]);
        assert_eq!(timeline.check(), Ok(()));
        assert_eq!(timeline.edges[0].from_time, at(60));
        assert_eq!((timeline.edges[0].from, timeline.edges[0].to), (ThreadId::new(0), ThreadId::new(1)));
    }

    /// Process 7 waits in a call from 20 to 70 until a child has ended, which does at 60.
    fn forks_and_waits() -> [Member; 2] {
        [(7, 1, 100), (8, 7, 60)].map(|(pid, parent_pid, end)| {
            let mut process = Process::new(at(0), at(end));
            (process.pid, process.parent_pid) = (pid, parent_pid);
            process.add_thread("main", at(0), None);
            process.blocks.push(Block {
                thread: ThreadId::new(0),
                begin: at(20),
                end: at(if pid == 7 { 70 } else { 30 }),
                call: Call::WaitChild,
                timed_out: false,
                site: None,
                cpu_begin: None,
                cpu_end: None,
            });
            Member { process, keys: BTreeMap::new(), forked: pid == 8, executed: false, ended: true }
        })
    }

    #[test]
    fn who_forks_a_process_is_one_program_with_it_and_may_wait_for_its_end() {
        let processes = join(forks_and_waits().into());
        let [process] = processes.as_slice() else { panic!("one program") };
        assert_eq!((process.joined.as_slice(), process.waits.len(), process.blocks.len()), (&[8][..], 1, 1));
        let parents: Vec<_> = process.threads.iter().map(|thread| thread.parent).collect();
        assert_eq!(parents, [None, Some(ThreadId::new(0))]);
        let timeline = Timeline::build(process);
        assert_eq!(timeline.check(), Ok(()));
        let wait = timeline.edges.iter().find(|edge| edge.to == ThreadId::new(0)).expect("a wait");
        assert_eq!((wait.from, wait.from_time), (ThreadId::new(1), at(60)));

        let apart = |change: fn(&mut [Member; 2])| {
            let mut members = forks_and_waits();
            change(&mut members);
            let processes = join(members.into());
            (processes.len(), processes[0].waits.len())
        };
        assert_eq!(apart(|_| ()), (1, 1));
        assert_eq!(apart(|members| members[1].forked = false), (2, 0), "it executed a program before");
        assert_eq!(apart(|members| members[1].executed = true), (2, 0), "and here since");
        assert_eq!(apart(|members| members[1].process.parent_pid = 9), (2, 0), "another's child");
        assert_eq!(apart(|members| members[1].ended = false), (1, 0), "when it ended is not known");
        assert_eq!(
            apart(|members| members[0].process.blocks[0].begin = at(61)),
            (1, 0),
            "it had ended before"
        );
        assert_eq!(
            apart(|members| members[0].process.blocks[0].end = at(59)),
            (1, 0),
            "something else ended"
        );
        // The child's place in the table of processes went to a program that it executed.
        let [parent, child] = forks_and_waits();
        let mut program = Process::new(at(60), at(90));
        program.pid = 8;
        let program =
            Member { process: program, keys: BTreeMap::new(), forked: false, executed: false, ended: true };
        assert_eq!(join(vec![parent, child, program]).len(), 3);
    }

    #[test]
    fn what_is_in_a_channel_and_the_room_in_it_have_one_address_in_all_forked_processes() {
        let channel = |pid: u32, others: &[ObjectKind]| {
            let mut process = Process::new(at(0), at(100));
            process.pid = pid;
            process.add_thread("main", at(0), None);
            process.threads[0].tid = pid;
            process.threads[0].name = None;
            let kinds = [&[ObjectKind::Messages, ObjectKind::Room][..], others].concat();
            for (kind, address) in kinds.into_iter().zip([1, 1, 2]) {
                let object = process.add_object(kind, address);
                process.objects[object.index()].shared = true;
                process.waits.push(Wait::granted(ThreadId::new(0), object, at(10), at(20)));
            }
            let keys = [(1, "channel 1".to_owned()), (2, format!("channel 2 of {pid}"))];
            Member { process, keys: keys.into(), forked: true, executed: false, ended: true }
        };
        let processes = join(vec![channel(7, &[]), channel(8, &[ObjectKind::Messages]), channel(9, &[])]);
        let [process] = processes.as_slice() else { panic!("they send to each other") };
        let kinds: Vec<(ObjectKind, bool)> =
            process.objects.iter().map(|object| (object.kind, object.shared)).collect();
        let own = (ObjectKind::Messages, false);
        assert_eq!(kinds, [(ObjectKind::Messages, true), (ObjectKind::Room, true), own]);
        let objects: Vec<usize> = process.waits.iter().map(|wait| wait.object.index()).collect();
        assert_eq!(objects, [0, 1, 0, 1, 2, 0, 1]);
        let [main, child, other] = [0, 1, 2].map(ThreadId::new);
        let sorts = [main, child, other].map(|thread| holdup_model::sort_of_thread(process, thread));
        let program = || Some(holdup_model::names::program_of(process));
        assert_eq!(sorts, [None, program(), program()], "they run the same program");
    }
}
