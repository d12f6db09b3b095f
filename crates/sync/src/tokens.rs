//! What is counted: semaphores, items and free places of queues.

use std::collections::VecDeque;

use holdup_model::ThreadId;

use crate::Answer;

/// A count that threads take from and give to. Who finds none waits, the first to come is the first to get one.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    available: u64,
    /// How many acts are still needed to close it; 0 for one that is never closed.
    givers: u32,
    is_closed: bool,
    waiting: VecDeque<ThreadId>,
}

impl Tokens {
    /// Begins with so many, and is closed when so many have said that they give no more; 0 for never.
    pub fn new(available: u64, givers: u32) -> Self {
        Self { available, givers, ..Self::default() }
    }

    /// The thread takes one.
    pub fn take(&mut self, thread: ThreadId) -> Answer {
        if self.is_closed {
            return Answer::Go;
        }
        if self.available == 0 {
            self.waiting.push_back(thread);
            return Answer::Wait;
        }
        self.available -= 1;
        Answer::Go
    }

    /// Gives one: to the first that waits, who is added to `released` and goes on, else for later.
    pub fn give(&mut self, released: &mut Vec<ThreadId>) {
        match self.waiting.pop_front() {
            Some(first) => released.push(first),
            None => self.available += 1,
        }
    }

    /// One says that it gives no more. With the last one nobody has to wait any more: those that do are added to
    /// `released`.
    pub fn close(&mut self, released: &mut Vec<ThreadId>) {
        self.givers = self.givers.saturating_sub(1);
        if self.givers == 0 {
            self.is_closed = true;
            released.extend(self.waiting.drain(..));
        }
    }

    /// How many there are to take.
    pub fn available(&self) -> u64 {
        self.available
    }

    /// The thread goes on without one.
    pub fn forget(&mut self, thread: ThreadId) {
        self.waiting.retain(|&waiter| waiter != thread);
    }
}
