//! Performing a script on few cores: who runs when, as the kernel would record it.

use std::collections::{BTreeSet, VecDeque};

use holdup_model::{Left, OnCore, Process, ThreadId, Time};

use super::Player;
use crate::Script;

/// What a thread returns from when it gets a core again, by its index in the process.
#[derive(Clone, Copy, Debug)]
pub(super) enum Return {
    Wait(usize),
    Block(usize),
}

#[derive(Clone, Default)]
struct Scheduled {
    /// Since when, and on which core.
    on: Option<(u64, u32)>,
    /// Work that is left to do (ns).
    left: u64,
    returns: Option<Return>,
}

/// The cores, and the threads that want one.
pub(super) struct Cores {
    free: BTreeSet<u32>,
    slice: u64,
    queue: VecDeque<ThreadId>,
    threads: Vec<Scheduled>,
    spans: Vec<OnCore>,
}

impl Cores {
    pub(super) fn new(cores: u32, slice: u64, threads: usize) -> Self {
        Self {
            free: (0..cores.max(1)).collect(),
            slice: slice.max(1),
            queue: VecDeque::new(),
            threads: vec![Scheduled::default(); threads],
            spans: Vec::new(),
        }
    }

    /// The thread, which has a core, wants to work for `length` nanoseconds.
    pub(super) fn wants(&mut self, thread: ThreadId, length: u64) {
        self.threads[thread.index()].left = length;
    }

    /// What ends when the thread is on a core again.
    pub(super) fn returns(&mut self, thread: ThreadId, from: Return) {
        self.threads[thread.index()].returns = Some(from);
    }

    /// The kernel's records.
    pub(super) fn tell(self, process: &mut Process) {
        process.on_core = self.spans;
        process.covered = vec![(process.start, process.end)];
        process.seen_by.preload = true;
        process.seen_by.kernel = true;
    }

    fn leave(&mut self, thread: ThreadId, now: u64, left: Left) {
        let Some((since, core)) = self.threads[thread.index()].on.take() else { return };
        self.free.insert(core);
        let (begin, end) = (Time::from_nanos(since), Time::from_nanos(now));
        self.spans.push(OnCore { thread, begin, end, core, left });
    }
}

impl Player {
    /// The thread can go on, or its slice is over.
    pub(super) fn proceed_on_a_core(&mut self, script: &Script, thread: ThreadId) {
        let now = self.now;
        let Some(cores) = &mut self.cores else { return };
        if cores.threads[thread.index()].on.is_none() {
            cores.queue.push_back(thread);
        } else if cores.threads[thread.index()].left == 0 {
            self.go_on_with_the_script(script, thread);
        } else if cores.queue.is_empty() {
            self.begin_slice(thread);
        } else {
            cores.leave(thread, now, Left::Preempted);
            cores.queue.push_back(thread);
        }
        self.hand_out(script);
    }

    fn go_on_with_the_script(&mut self, script: &Script, thread: ThreadId) {
        while self.perform(script, thread) {}
        let now = self.now;
        let Some(cores) = &mut self.cores else { return };
        if cores.threads[thread.index()].left > 0 {
            self.begin_slice(thread);
        } else {
            cores.leave(thread, now, Left::Blocked);
        }
    }

    fn begin_slice(&mut self, thread: ThreadId) {
        let Some(cores) = &mut self.cores else { return };
        let left = &mut cores.threads[thread.index()].left;
        let length = cores.slice.min(*left);
        *left -= length;
        self.go_on(thread, self.now + length);
    }

    fn hand_out(&mut self, script: &Script) {
        while let Some(cores) = &mut self.cores
            && let Some(&core) = cores.free.first()
            && let Some(thread) = cores.queue.pop_front()
        {
            cores.free.remove(&core);
            let scheduled = &mut cores.threads[thread.index()];
            scheduled.on = Some((self.now, core));
            let returns = scheduled.returns.take();
            let has_work = scheduled.left > 0;
            let now = Time::from_nanos(self.now);
            match returns {
                Some(Return::Wait(wait)) => self.process.waits[wait].end = now,
                Some(Return::Block(block)) => self.process.blocks[block].end = now,
                None => {}
            }
            if has_work {
                self.begin_slice(thread);
            } else {
                self.go_on_with_the_script(script, thread);
            }
        }
    }
}
