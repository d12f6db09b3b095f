//! Performing a script in virtual time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

mod cores;

use holdup_model::{
    Block, Call, Hold, Mode, Nanos, ObjectId, ObjectKind, Outcome, Process, SiteId, ThreadId, Time, Wait,
    Wake, WakeCount,
};

use crate::{Op, QueueId, Script};
use cores::{Cores, Return};

#[derive(Default)]
struct LockState {
    owner: Option<ThreadId>,
    since: u64,
    site: Option<SiteId>,
    /// Who read, since when, and where they took it.
    readers: Vec<(ThreadId, u64, SiteId)>,
}

/// A thread that waits: since when, where, and its CPU time.
struct Waiter {
    thread: ThreadId,
    begin: u64,
    site: SiteId,
    owner: Option<ThreadId>,
    mode: Mode,
    mutex: Option<ObjectId>,
}

struct Player {
    process: Process,
    ops: Vec<Vec<Op>>,
    next: Vec<usize>,
    cpu: Vec<u64>,
    ended: Vec<bool>,
    started: Vec<bool>,
    latency: u64,
    now: u64,
    events: BinaryHeap<Reverse<(u64, u64, ThreadId)>>,
    sequence: u64,
    locks: BTreeMap<ObjectId, LockState>,
    values: BTreeMap<ObjectId, u32>,
    lengths: Vec<usize>,
    closed: Vec<bool>,
    waiting: BTreeMap<ObjectId, VecDeque<Waiter>>,
    /// `None` where each thread has a core for itself.
    cores: Option<Cores>,
}

impl Script {
    /// Performs the program, and gives its recording. Each thread has a core for itself. The process ends with
    /// its last thread; threads that wait for ever then (a deadlock) have open waits.
    pub fn play(&self) -> Process {
        self.perform(None)
    }

    /// Performs the program on this many cores, and gives the recording that the library and the kernel's records
    /// make together. Threads get a core in the order in which they can use one, and give it back after `slice`
    /// nanoseconds if another one wants it.
    pub fn play_on(&self, cores: u32, slice: u64) -> Process {
        self.perform(Some(Cores::new(cores, slice, self.ops.len())))
    }

    fn perform(&self, cores: Option<Cores>) -> Process {
        let threads = self.ops.len();
        let mut player = Player {
            process: self.process.clone(),
            ops: self.ops.clone(),
            next: vec![0; threads],
            cpu: vec![0; threads],
            ended: vec![false; threads],
            started: vec![false; threads],
            latency: self.latency,
            now: 0,
            events: BinaryHeap::new(),
            sequence: 0,
            locks: BTreeMap::new(),
            values: self.values.iter().copied().collect(),
            lengths: vec![0; self.queues.len()],
            closed: vec![false; self.queues.len()],
            waiting: BTreeMap::new(),
            cores,
        };
        player.started[0] = true;
        player.go_on(ThreadId::new(0), 0);
        while let Some(Reverse((time, _, thread))) = player.events.pop() {
            player.now = time;
            if player.cores.is_some() {
                player.proceed_on_a_core(self, thread);
            } else {
                while player.perform(self, thread) {}
            }
        }
        player.finish()
    }
}

impl Player {
    fn go_on(&mut self, thread: ThreadId, at: u64) {
        self.sequence += 1;
        self.events.push(Reverse((at, self.sequence, thread)));
    }

    /// Does the next thing of this thread; true if it can do another one at once.
    fn perform(&mut self, script: &Script, thread: ThreadId) -> bool {
        let index = thread.index();
        let Some(&op) = self.ops[index].get(self.next[index]) else {
            self.end(thread);
            return false;
        };
        self.next[index] += 1;
        match op {
            Op::Work(length) => {
                self.cpu[index] += length;
                match &mut self.cores {
                    Some(cores) => cores.wants(thread, length),
                    None => self.go_on(thread, self.now + length),
                }
                // No work takes no core, and ends at once.
                self.cores.is_some() && length == 0
            }
            Op::Lock(object, site) => self.lock(thread, object, site, Mode::Exclusive),
            Op::Share(object, site) => self.lock(thread, object, site, Mode::Shared),
            Op::Unlock(object) => {
                self.unlock(thread, object);
                true
            }
            Op::Meet(object, site) => self.meet(thread, object, site),
            Op::Take(object, site) => {
                let value = self.values.entry(object).or_default();
                if *value > 0 {
                    *value -= 1;
                    return true;
                }
                self.wait(thread, object, site, None)
            }
            Op::Post(object, site) => {
                self.wake(thread, object, site, WakeCount::AtMost(1));
                if !self.release(object) {
                    *self.values.entry(object).or_default() += 1;
                }
                true
            }
            Op::Put(queue, site) => self.put(script, thread, queue, site),
            Op::Get(queue, site) => self.get(script, thread, queue, site),
            Op::Close(queue, site) => {
                self.close(script, thread, queue, site);
                true
            }
            Op::Read(length, site) => self.block(thread, Call::Read, length, site),
            Op::Sleep(length, site) => self.block(thread, Call::Sleep, length, site),
            Op::Start(started) => {
                self.started[started.index()] = true;
                self.process.threads[started.index()].start = Time::from_nanos(self.now);
                self.process.threads[started.index()].parent = Some(thread);
                self.go_on(started, self.now);
                true
            }
            Op::Join(joined, site) => {
                self.ended[joined.index()] || self.wait(thread, self.end_of(joined), site, None)
            }
        }
    }

    fn end_of(&self, thread: ThreadId) -> ObjectId {
        let index = self
            .process
            .objects
            .iter()
            .position(|object| object.kind == ObjectKind::ThreadEnd && object.thread == Some(thread))
            .expect("each thread of a script has its end");
        ObjectId::new(index as u32)
    }

    fn end(&mut self, thread: ThreadId) {
        self.ended[thread.index()] = true;
        self.process.threads[thread.index()].end = Some(Time::from_nanos(self.now));
        if thread.index() > 0 {
            let end = self.end_of(thread);
            while self.release(end) {}
        }
    }

    fn wait(&mut self, thread: ThreadId, object: ObjectId, site: SiteId, owner: Option<ThreadId>) -> bool {
        self.wait_as(thread, object, site, owner, Mode::Exclusive, None)
    }

    fn wait_as(
        &mut self,
        thread: ThreadId,
        object: ObjectId,
        site: SiteId,
        owner: Option<ThreadId>,
        mode: Mode,
        mutex: Option<ObjectId>,
    ) -> bool {
        let waiter = Waiter { thread, begin: self.now, site, owner, mode, mutex };
        self.waiting.entry(object).or_default().push_back(waiter);
        false
    }

    /// Lets the first waiter go on; false if there is none.
    fn release(&mut self, object: ObjectId) -> bool {
        let Some(waiter) = self.waiting.get_mut(&object).and_then(VecDeque::pop_front) else { return false };
        self.record(&waiter, object, self.now + self.latency, Outcome::Granted);
        self.go_on(waiter.thread, self.now + self.latency);
        true
    }

    fn record(&mut self, waiter: &Waiter, object: ObjectId, end: u64, outcome: Outcome) {
        let cpu = Nanos::new(self.cpu[waiter.thread.index()]);
        self.process.waits.push(Wait {
            thread: waiter.thread,
            begin: Time::from_nanos(waiter.begin),
            end: Time::from_nanos(end),
            object,
            site: Some(waiter.site),
            mode: waiter.mode,
            outcome,
            owner: waiter.owner,
            mutex: waiter.mutex,
            cpu_begin: Some(cpu),
            cpu_end: Some(cpu),
            round: None,
        });
        if let Some(cores) = &mut self.cores {
            cores.returns(waiter.thread, Return::Wait(self.process.waits.len() - 1));
        }
    }

    fn lock(&mut self, thread: ThreadId, object: ObjectId, site: SiteId, mode: Mode) -> bool {
        let now = self.now;
        let state = self.locks.entry(object).or_default();
        match (state.owner, mode) {
            (None, Mode::Shared) => state.readers.push((thread, now, site)),
            (None, Mode::Exclusive) if state.readers.is_empty() => {
                (state.owner, state.since, state.site) = (Some(thread), now, Some(site));
            }
            (owner, _) => return self.wait_as(thread, object, site, owner, mode, None),
        }
        true
    }

    fn unlock(&mut self, thread: ThreadId, object: ObjectId) {
        let now = self.now;
        let state = self.locks.entry(object).or_default();
        let (since, site, mode) = if state.owner == Some(thread) {
            state.owner = None;
            (state.since, state.site, Mode::Exclusive)
        } else {
            let reader = state.readers.iter().position(|reader| reader.0 == thread);
            let reader = reader.expect("a script may unlock only what its thread has locked");
            let (_, since, site) = state.readers.remove(reader);
            (since, Some(site), Mode::Shared)
        };
        let is_free = state.readers.is_empty();
        let waiting = self.waiting.get(&object).is_some_and(|waiting| !waiting.is_empty());
        self.process.holds.push(Hold {
            thread,
            begin: Some(Time::from_nanos(since)),
            end: Time::from_nanos(now),
            object,
            acquired_at: site,
            released_at: None,
            waited_for: waiting,
            mode,
        });
        if is_free && waiting {
            self.hand_over(object);
        }
    }

    /// A lock that is free goes to the first that waits for it; if that is a reader, to all readers that wait.
    fn hand_over(&mut self, object: ObjectId) {
        let since = self.now + self.latency;
        let waiting = self.waiting.entry(object).or_default();
        let first = waiting.front().map(|waiter| waiter.mode);
        let granted: Vec<Waiter> = match first {
            Some(Mode::Shared) => {
                let all = std::mem::take(waiting).into_iter();
                let (readers, writers): (Vec<_>, _) =
                    all.partition(|waiter: &Waiter| waiter.mode == Mode::Shared);
                *waiting = writers.into();
                readers
            }
            _ => waiting.pop_front().into_iter().collect(),
        };
        let state = self.locks.entry(object).or_default();
        for waiter in &granted {
            match waiter.mode {
                Mode::Exclusive => {
                    (state.owner, state.since, state.site) = (Some(waiter.thread), since, Some(waiter.site));
                }
                Mode::Shared => state.readers.push((waiter.thread, since, waiter.site)),
            }
        }
        for waiter in &granted {
            self.record(waiter, object, since, Outcome::Granted);
            self.go_on(waiter.thread, since);
        }
    }

    /// True for the last one, who goes on at once.
    fn meet(&mut self, thread: ThreadId, object: ObjectId, site: SiteId) -> bool {
        let parties = self.process.object(object).parties.unwrap_or(1) as usize;
        self.wait(thread, object, site, None);
        if self.waiting[&object].len() < parties {
            return false;
        }
        // The last one does not sleep, so nobody has to wake it.
        if let Some(last) = self.waiting.get_mut(&object).and_then(VecDeque::pop_back) {
            self.record(&last, object, self.now, Outcome::Granted);
        }
        while self.release(object) {}
        true
    }

    fn wake(&mut self, thread: ThreadId, object: ObjectId, site: SiteId, count: WakeCount) {
        self.process.wakes.push(Wake {
            thread,
            time: Time::from_nanos(self.now),
            object,
            site: Some(site),
            count,
        });
    }

    fn put(&mut self, script: &Script, thread: ThreadId, queue: QueueId, site: SiteId) -> bool {
        let bounded = &script.queues[queue.0];
        self.visit(thread, bounded.mutex, site);
        if self.lengths[queue.0] == bounded.capacity {
            self.next[thread.index()] -= 1;
            return self.wait_as(thread, bounded.not_full, site, None, Mode::Exclusive, bounded.mutex);
        }
        self.lengths[queue.0] += 1;
        self.wake(thread, bounded.not_empty, site, WakeCount::AtMost(1));
        self.release(bounded.not_empty);
        true
    }

    fn get(&mut self, script: &Script, thread: ThreadId, queue: QueueId, site: SiteId) -> bool {
        let bounded = &script.queues[queue.0];
        self.visit(thread, bounded.mutex, site);
        if self.lengths[queue.0] == 0 {
            if self.closed[queue.0] {
                return true;
            }
            self.next[thread.index()] -= 1;
            return self.wait_as(thread, bounded.not_empty, site, None, Mode::Exclusive, bounded.mutex);
        }
        self.lengths[queue.0] -= 1;
        self.wake(thread, bounded.not_full, site, WakeCount::AtMost(1));
        self.release(bounded.not_full);
        true
    }

    fn close(&mut self, script: &Script, thread: ThreadId, queue: QueueId, site: SiteId) {
        let bounded = &script.queues[queue.0];
        self.visit(thread, bounded.mutex, site);
        self.closed[queue.0] = true;
        self.wake(thread, bounded.not_empty, site, WakeCount::All);
        while self.release(bounded.not_empty) {}
    }

    /// A queue's mutex is taken and released.
    fn visit(&mut self, thread: ThreadId, mutex: Option<ObjectId>, site: SiteId) {
        let Some(object) = mutex else { return };
        let now = Time::from_nanos(self.now);
        self.process.holds.push(Hold {
            thread,
            begin: Some(now),
            end: now,
            object,
            acquired_at: Some(site),
            released_at: None,
            waited_for: false,
            mode: Mode::Exclusive,
        });
    }

    fn block(&mut self, thread: ThreadId, call: Call, length: u64, site: SiteId) -> bool {
        let cpu = Some(Nanos::new(self.cpu[thread.index()]));
        self.process.blocks.push(Block {
            thread,
            begin: Time::from_nanos(self.now),
            end: Time::from_nanos(self.now + length),
            call,
            timed_out: false,
            site: Some(site),
            cpu_begin: cpu,
            cpu_end: cpu,
        });
        if let Some(cores) = &mut self.cores {
            cores.returns(thread, Return::Block(self.process.blocks.len() - 1));
        }
        self.go_on(thread, self.now + length);
        false
    }

    fn finish(mut self) -> Process {
        self.process.end = Time::from_nanos(self.now);
        if let Some(cores) = self.cores.take() {
            cores.tell(&mut self.process);
        }
        for (object, waiters) in std::mem::take(&mut self.waiting) {
            for waiter in waiters {
                self.record(&waiter, object, self.now, Outcome::Open);
            }
        }
        for (index, thread) in self.process.threads.iter_mut().enumerate() {
            thread.cpu = Some(Nanos::new(self.cpu[index]));
            if !self.started[index] {
                thread.start = Time::from_nanos(self.now);
                thread.end = Some(thread.start);
            }
        }
        self.process
    }
}
