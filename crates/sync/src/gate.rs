//! What happens once.

use holdup_model::ThreadId;

use crate::Answer;

/// Something that happens once: who comes before waits for it, who comes after goes on.
#[derive(Clone, Debug)]
pub struct Gate {
    /// How many acts are still needed to open it.
    closed_by: u32,
    waiting: Vec<ThreadId>,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new(1)
    }
}

impl Gate {
    /// Opens at the `acts`-th call of [`Gate::open`]; with 0 it is open from the beginning.
    pub fn new(acts: u32) -> Self {
        Self { closed_by: acts, waiting: Vec::new() }
    }

    /// The thread wants to pass.
    pub fn pass(&mut self, thread: ThreadId) -> Answer {
        if self.closed_by == 0 {
            return Answer::Go;
        }
        self.waiting.push(thread);
        Answer::Wait
    }

    /// One act towards its opening. Adds to `released` all that waited if it opens now.
    pub fn open(&mut self, released: &mut Vec<ThreadId>) {
        if self.closed_by == 0 {
            return;
        }
        self.closed_by -= 1;
        if self.closed_by == 0 {
            released.append(&mut self.waiting);
        }
    }

    /// The thread goes on though it is closed.
    pub fn forget(&mut self, thread: ThreadId) {
        self.waiting.retain(|&waiter| waiter != thread);
    }
}
