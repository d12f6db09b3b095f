//! What each step does to objects, and to the threads that wait for them.

use holdup_model::{Mode, ObjectId, ThreadId};
use holdup_sync::Answer;

use super::{Blocker, NOBODY, Place, Replay, SPINS};
use crate::program::Op;

/// How a thread goes on behind an act.
pub(super) enum Next {
    /// It goes on with this step.
    Step(u32),
    /// It needs no core now.
    Leave,
    /// It stays on its core and waits.
    Spin,
}

impl Replay<'_> {
    pub(super) fn act(&mut self, index: u32, core: u32, op: Op) -> Next {
        let thread = ThreadId::new(index);
        let step = self.threads[index as usize].step + 1;
        match op {
            Op::Acquire(lock) => self.acquire(index, core, lock.0, Mode::Exclusive),
            Op::AcquireShared(lock) => self.acquire(index, core, lock.0, Mode::Shared),
            Op::Release(lock) => {
                self.release(index, lock.0);
                Next::Step(step)
            }
            Op::Arrive(barrier) => {
                if self.behaviour.is_free(self.program.barriers[barrier as usize].object.index()) {
                    return Next::Step(step);
                }
                let answer = self.barriers[barrier as usize].arrive(thread, &mut self.released);
                self.wait_or_go(index, answer, Blocker::Barrier(barrier), step)
            }
            Op::Open(gate) => {
                self.gates[gate.0 as usize].open(&mut self.released);
                self.wake_released(index);
                Next::Step(step)
            }
            Op::Pass(gate) => {
                let object = self.program.gate_objects[gate.0 as usize];
                if object.is_some_and(|object| self.behaviour.is_free(object.index())) {
                    return Next::Step(step);
                }
                let answer = self.gates[gate.0 as usize].pass(thread);
                self.wait_or_go(index, answer, Blocker::Gate(gate.0), step)
            }
            Op::Take(tokens) => {
                if self.behaviour.is_free(self.program.tokens[tokens as usize].object.index()) {
                    return Next::Step(step);
                }
                let answer = self.tokens[tokens as usize].take(thread);
                self.wait_or_go(index, answer, Blocker::Tokens(tokens), step)
            }
            Op::Give(tokens) => {
                self.tokens[tokens as usize].give(&mut self.released);
                self.wake_released(index);
                Next::Step(step)
            }
            Op::Close(tokens) => {
                self.tokens[tokens as usize].close(&mut self.released);
                self.wake_released(index);
                Next::Step(step)
            }
            Op::Pause(pause) => {
                let length = self.program.pauses[pause as usize].length;
                if length == 0 {
                    return Next::Step(step);
                }
                self.moves_on(index, step);
                self.wake_at(index, self.now + length);
                Next::Leave
            }
            Op::Start(started) => {
                self.create(started.index() as u32);
                let program = self.program;
                for copy in &program.copies[started.index()] {
                    self.create(copy.index() as u32);
                }
                Next::Step(step)
            }
            Op::Deal(pool) | Op::EndOfPiece(pool) => {
                let next = &mut self.dealt[pool as usize];
                let piece = self.program.pools[pool as usize].pieces.get(*next as usize);
                *next += u32::from(piece.is_some());
                Next::Step(piece.copied().unwrap_or(self.program.actors[index as usize].tail))
            }
            Op::Nothing => Next::Step(step),
            Op::End => {
                self.end(index);
                Next::Leave
            }
        }
    }

    pub(super) fn end(&mut self, index: u32) {
        let actor = &self.program.actors[index as usize];
        self.threads[index as usize].place = Place::Nowhere;
        self.result.ends[index as usize] = Some(self.now);
        self.alive -= 1;
        self.awaited -= usize::from(actor.is_awaited);
        self.is_over = self.alive == 0 || actor.is_awaited && self.awaited == 0;
        let gate = self.program.ends[actor.thread.index()];
        self.gates[gate.0 as usize].open(&mut self.released);
        self.wake_released(index);
    }

    /// The step that the thread takes when it runs again.
    pub(super) fn moves_on(&mut self, index: u32, step: u32) {
        let thread = &mut self.threads[index as usize];
        thread.left = thread.begin(step, self.program);
    }

    pub(super) fn wait_or_go(&mut self, index: u32, answer: Answer, blocker: Blocker, step: u32) -> Next {
        if answer == Answer::Go {
            self.wake_released(index);
            return Next::Step(step);
        }
        self.moves_on(index, step);
        self.blocks(index, blocker);
        Next::Leave
    }

    pub(super) fn blocks(&mut self, index: u32, blocker: Blocker) {
        let thread = &mut self.threads[index as usize];
        thread.place = Place::Blocked(blocker);
        thread.since = self.now;
    }

    /// The lock that the thread takes, tries again to take, or has taken.
    pub(super) fn shard(&self, index: u32, lock: u32) -> Option<usize> {
        let first = self.first_shard[lock as usize] as usize;
        match self.behaviour.shards(lock) {
            0 => None,
            1 => Some(first),
            shards => {
                let thread = &self.threads[index as usize];
                let held = thread.shards.iter().rev().find(|held| held.0 == lock);
                // As good as random.
                let turn = (u64::from(index) << 32 | u64::from(thread.acquisitions))
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15);
                Some(held.map_or(first + ((turn >> 40) % u64::from(shards)) as usize, |held| held.1))
            }
        }
    }

    pub(super) fn acquire(&mut self, index: u32, core: u32, lock: u32, mode: Mode) -> Next {
        let step = self.threads[index as usize].step + 1;
        let Some(shard) = self.shard(index, lock) else { return Next::Step(step) };
        let thread = ThreadId::new(index);
        let spins = self.program.locks[lock as usize].spins;
        if spins {
            self.locks[shard].forget(thread);
        }
        if self.locks[shard].acquire(thread, mode) == Answer::Go {
            if spins && self.threads[index as usize].left == SPINS {
                self.waited(index, Blocker::Lock(lock));
            }
            let state = &mut self.threads[index as usize];
            state.left = 0;
            if self.behaviour.shards(lock) > 1 {
                state.acquisitions += 1;
                state.shards.push((lock, shard));
            }
            return Next::Step(step);
        }
        if spins {
            let state = &mut self.threads[index as usize];
            if state.left != SPINS {
                state.left = SPINS;
                state.since = self.now;
            }
            debug_assert_eq!(self.cores[core as usize].thread, index);
            return Next::Spin;
        }
        self.threads[index as usize].left = 0;
        self.blocks(index, Blocker::Lock(lock));
        Next::Leave
    }

    pub(super) fn release(&mut self, index: u32, lock: u32) {
        let Some(shard) = self.shard(index, lock) else { return };
        self.locks[shard].release(ThreadId::new(index), &mut self.released);
        let held = &mut self.threads[index as usize].shards;
        if let Some(place) = held.iter().rposition(|held| held.0 == lock) {
            held.remove(place);
        }
        if !self.program.locks[lock as usize].spins {
            self.wake_released(index);
            return;
        }
        // Of the threads that spin on a core the one that has done so for the longest time sees first that it is free; those
        // without a core will when they have one.
        self.released.clear();
        if !self.locks[shard].is_free() {
            return;
        }
        self.looked_at(self.cores.len());
        let threads = &self.threads;
        let spinning = self
            .cores
            .iter()
            .enumerate()
            .filter(|(_, core)| core.thread != NOBODY && threads[core.thread as usize].left == SPINS);
        let for_this = spinning.filter(|(_, core)| self.spins_for(core.thread) == Some(shard));
        let first = for_this.min_by_key(|(_, core)| (threads[core.thread as usize].since, core.thread));
        if let Some(core) = first.map(|(core, _)| core) {
            self.cores[core].done = self.now;
            self.next[core] = self.now;
            self.limit = self.now;
        }
    }

    /// The lock that a thread which spins waits for.
    pub(super) fn spins_for(&self, index: u32) -> Option<usize> {
        match self.program.steps[self.threads[index as usize].step as usize].op {
            Op::Acquire(lock) | Op::AcquireShared(lock) => self.shard(index, lock.0),
            _ => None,
        }
    }

    pub(super) fn object(&self, blocker: Blocker) -> Option<ObjectId> {
        match blocker {
            Blocker::Lock(lock) => Some(self.program.locks[lock as usize].object),
            Blocker::Barrier(barrier) => Some(self.program.barriers[barrier as usize].object),
            Blocker::Gate(gate) => self.program.gate_objects[gate as usize],
            Blocker::Tokens(tokens) => Some(self.program.tokens[tokens as usize].object),
        }
    }

    pub(super) fn waited(&mut self, index: u32, blocker: Blocker) {
        if let Some(object) = self.object(blocker) {
            self.result.waited[object.index()] += self.now - self.threads[index as usize].since;
        }
    }

    /// Wakes all in `released`; `by` pays for it.
    pub(super) fn wake_released(&mut self, by: u32) {
        let mut released = std::mem::take(&mut self.released);
        for thread in released.drain(..) {
            let index = thread.index() as u32;
            let Place::Blocked(blocker) = self.threads[index as usize].place else { continue };
            self.waited(index, blocker);
            let blocked = self.now - self.threads[index as usize].since;
            let mut at = self.now;
            let is_instant = self
                .object(blocker)
                .is_some_and(|object| self.behaviour.is_instant(object) || self.machine.is_awake_at(object));
            if blocked > self.machine.park && !is_instant {
                at += self.machine.latency_after(blocked);
                self.threads[index as usize].debt += self.machine.block_cost;
                self.threads[by as usize].debt += self.machine.wake_cost;
            }
            self.wake_at(index, at);
        }
        self.released = released;
    }
}
