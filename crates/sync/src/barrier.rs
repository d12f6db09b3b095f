//! Barriers.

use holdup_model::ThreadId;

use crate::Answer;

/// A barrier that lets all go when the last one arrives.
#[derive(Clone, Debug)]
pub struct Barrier {
    parties: u32,
    arrived: Vec<ThreadId>,
}

impl Barrier {
    /// For so many threads, at least one.
    pub fn new(parties: u32) -> Self {
        Self { parties: parties.max(1), arrived: Vec::new() }
    }

    /// The thread arrives. The last one goes on, and adds to `released` all that waited; the next round begins.
    pub fn arrive(&mut self, thread: ThreadId, released: &mut Vec<ThreadId>) -> Answer {
        if self.arrived.len() as u32 + 1 < self.parties {
            self.arrived.push(thread);
            return Answer::Wait;
        }
        released.append(&mut self.arrived);
        Answer::Go
    }

    /// The thread goes on without the others, and counts as arrived no more.
    pub fn forget(&mut self, thread: ThreadId) {
        self.arrived.retain(|&waiter| waiter != thread);
    }
}
