//! Who runs where: threads that get a core, leave it, or wait for one.

use std::cmp::Reverse;

use super::{Core, NEVER_AGAIN, NOBODY, Place, Replay, SPINS};

impl Replay<'_> {
    /// A running thread starts another one. It is given a core at once, while its maker still has one: that is how
    /// three of four threads come to share a core, and one has the other for itself when the maker goes to sleep.
    pub(super) fn create(&mut self, thread: u32) {
        let index = thread as usize;
        if self.threads[index].place != Place::Nowhere || self.result.ends[index].is_some() {
            return;
        }
        self.alive += 1;
        self.moves_on(thread, self.threads[index].step);
        // Nobody rests where a thread is made: it begins like one that was blocked for a moment.
        self.threads[index].debt += self.machine.latency_after(0);
        self.place(thread);
        self.limit = self.limit.min(self.first_core().1);
    }

    /// Gives a thread that can run a core, or puts it into a queue.
    pub(super) fn place(&mut self, index: u32) {
        let home = self.threads[index as usize].core;
        let is_idle = |core: &Core| core.thread == NOBODY;
        let free = if is_idle(&self.cores[home as usize]) {
            Some(home)
        } else {
            self.cores.iter().position(is_idle).map(|core| core as u32)
        };
        if let Some(core) = free {
            return self.runs(core, index);
        }
        let core = if self.threads[index as usize].has_run {
            let shorter = |core: &usize| (self.cores[*core].queue.len(), *core != home as usize, *core);
            (0..self.cores.len()).min_by_key(shorter).unwrap_or(0)
        } else {
            let shortest = |core: &usize| (self.cores[*core].queue.len(), Reverse(*core));
            (0..self.cores.len()).min_by_key(shortest).unwrap_or(0)
        };
        let state = &mut self.cores[core];
        let running = self.threads[state.thread as usize].served + (self.now - state.since);
        let thread = &mut self.threads[index as usize];
        thread.place = Place::Queued;
        thread.since = self.now;
        // Who slept has a claim on a core, but not for all the time that it slept.
        let claim = running.saturating_sub(self.machine.slice);
        thread.served = if thread.has_run { thread.served.max(claim) } else { running };
        if thread.served + self.machine.slice / 2 <= running {
            state.queue.push_front(index);
            self.preempt(core as u32);
        } else {
            state.queue.push_back(index);
            self.next[core] = state.done.min(state.slice_end.max(self.now));
        }
    }

    pub(super) fn runs(&mut self, core: u32, index: u32) {
        let thread = &mut self.threads[index as usize];
        thread.place = Place::On(core);
        thread.has_run = true;
        thread.core = core;
        let mut work = std::mem::take(&mut thread.debt);
        if thread.left != SPINS {
            work += std::mem::take(&mut thread.left);
        }
        let state = &mut self.cores[core as usize];
        state.thread = index;
        state.since = self.now;
        state.done = self.now + work;
        state.slice_end = self.now + self.slice;
        self.next[core as usize] =
            if state.queue.is_empty() { state.done } else { state.done.min(state.slice_end) };
    }

    /// The thread on this core has gone: the next one runs, or the core looks for one later.
    pub(super) fn leave(&mut self, core: u32) {
        let state = &mut self.cores[core as usize];
        self.threads[state.thread as usize].served += self.now - state.since;
        state.thread = NOBODY;
        self.next[core as usize] = NEVER_AGAIN;
        if let Some(index) = self.cores[core as usize].queue.pop_front() {
            self.result.crowded += self.now - self.threads[index as usize].since;
            self.runs(core, index);
        } else if self.cores.iter().any(|core| !core.queue.is_empty()) {
            let who = self.threads.len() as u32 + core;
            self.timers.push(Reverse((self.now + self.machine.pull, who)));
        }
    }

    /// A core without a thread takes one that waits for another core.
    pub(super) fn pull(&mut self, core: u32) {
        if self.cores[core as usize].thread != NOBODY {
            return;
        }
        let fullest =
            (0..self.cores.len()).max_by_key(|&other| (self.cores[other].queue.len(), Reverse(other)));
        let Some(fullest) = fullest.filter(|&other| !self.cores[other].queue.is_empty()) else { return };
        if let Some(index) = self.cores[fullest].queue.pop_front() {
            self.result.crowded += self.now - self.threads[index as usize].since;
            let state = &self.cores[fullest];
            if state.queue.is_empty() && state.thread != NOBODY {
                self.next[fullest] = state.done;
            }
            self.runs(core, index);
        }
    }

    /// The thread's slice is over, and another one waits for its core.
    pub(super) fn preempt(&mut self, core: u32) {
        if self.threads[self.cores[core as usize].thread as usize].left == SPINS && self.all_spin() {
            self.let_one_through();
        }
        let state = &mut self.cores[core as usize];
        let index = state.thread;
        let thread = &mut self.threads[index as usize];
        if thread.left != SPINS {
            thread.left = state.done - self.now;
        }
        thread.place = Place::Queued;
        thread.since = self.now;
        state.queue.push_back(index);
        self.leave(core);
    }
}
