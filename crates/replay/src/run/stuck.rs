//! When all threads wait for each other.

use holdup_model::ThreadId;

use super::{Blocker, Place, Replay, SPINS, Thread};
use crate::program::NEVER;

impl Replay<'_> {
    /// Whether all threads that want a core spin, for locks that are not free, and no other will come: they would take turns
    /// for ever.
    pub(super) fn all_spin(&mut self) -> bool {
        self.looked_at(self.threads.len());
        let spins_on = |(index, thread): (usize, &Thread)| match thread.place {
            Place::Nowhere | Place::Blocked(_) => true,
            Place::Timer => false,
            Place::On(_) | Place::Queued => {
                let lock = (thread.left == SPINS).then(|| self.spins_for(index as u32)).flatten();
                lock.is_some_and(|lock| !self.locks[lock].is_free())
            }
        };
        self.threads.iter().enumerate().all(spins_on)
    }

    /// Nothing happens any more, and the run is not over: lets the thread go on that went on first when recorded.
    /// False if there is none.
    pub(super) fn let_one_through(&mut self) -> bool {
        self.looked_at(self.threads.len());
        let first = (0..self.threads.len())
            .filter(|&index| match self.threads[index].place {
                Place::Blocked(Blocker::Gate(gate)) => self.program.gates[gate as usize] != NEVER,
                Place::Blocked(_) => true,
                Place::On(_) | Place::Queued => self.threads[index].left == SPINS,
                Place::Nowhere | Place::Timer => false,
            })
            .min_by_key(|&index| (self.program.times[self.threads[index].step as usize], index));
        let Some(index) = first else { return false };
        let thread = ThreadId::new(index as u32);
        self.result.let_through += 1;
        let Place::Blocked(blocker) = self.threads[index].place else {
            self.stops_spinning(index as u32);
            return true;
        };
        match blocker {
            Blocker::Lock(lock) => {
                if let Some(shard) = self.shard(index as u32, lock) {
                    self.locks[shard].forget(thread);
                }
                // Without the lock: its release is none then.
                self.moves_on(index as u32, self.threads[index].step + 1);
            }
            Blocker::Barrier(barrier) => self.barriers[barrier as usize].forget(thread),
            Blocker::Gate(gate) => self.gates[gate as usize].forget(thread),
            Blocker::Tokens(tokens) => self.tokens[tokens as usize].forget(thread),
        }
        self.wake_at(index as u32, self.now);
        true
    }

    /// The thread, which is on a core or waits for one, goes on without the lock.
    pub(super) fn stops_spinning(&mut self, index: u32) {
        if let Some(shard) = self.spins_for(index) {
            self.locks[shard].forget(ThreadId::new(index));
        }
        self.moves_on(index, self.threads[index as usize].step + 1);
        if let Place::On(core) = self.threads[index as usize].place {
            let work = std::mem::take(&mut self.threads[index as usize].left);
            let state = &mut self.cores[core as usize];
            state.done = self.now + work;
            self.next[core as usize] = if state.queue.is_empty() {
                state.done
            } else {
                state.done.min(state.slice_end.max(self.now))
            };
        }
    }
}
