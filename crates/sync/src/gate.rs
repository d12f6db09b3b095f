//! What happens once.

use holdup_model::ThreadId;

use crate::Answer;

/// Something that happens once: who comes before waits for it, who comes after goes on.
#[derive(Clone, Debug)]
pub struct Gate {
    /// How many acts are still needed to open it.
    closed_by: u32,
    /// Who waits: mostly one, at one of millions of gates.
    first: Option<ThreadId>,
    #[expect(clippy::box_collection, reason = "as small as can be where nobody else waits")]
    more: Option<Box<Vec<ThreadId>>>,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new(1)
    }
}

impl Gate {
    /// Opens at the `acts`-th call of [`Gate::open`]; with 0 it is open from the beginning.
    pub fn new(acts: u32) -> Self {
        Self { closed_by: acts, first: None, more: None }
    }

    /// The thread wants to pass.
    pub fn pass(&mut self, thread: ThreadId) -> Answer {
        if self.closed_by == 0 {
            return Answer::Go;
        }
        match self.first {
            None => self.first = Some(thread),
            Some(_) => self.more.get_or_insert_default().push(thread),
        }
        Answer::Wait
    }

    /// One act towards its opening. Adds to `released` all that waited if it opens now.
    pub fn open(&mut self, released: &mut Vec<ThreadId>) {
        if self.closed_by == 0 {
            return;
        }
        self.closed_by -= 1;
        if self.closed_by == 0 {
            released.extend(self.first.take());
            released.extend(self.more.take().into_iter().flat_map(|more| *more));
        }
    }

    /// Takes one act back: who passed has passed.
    pub fn close(&mut self) {
        self.closed_by += 1;
    }

    /// Whether who comes now goes on.
    pub fn is_open(&self) -> bool {
        self.closed_by == 0
    }

    /// The thread goes on though it is closed.
    pub fn forget(&mut self, thread: ThreadId) {
        if let Some(more) = &mut self.more {
            more.retain(|&waiter| waiter != thread);
        }
        if self.first == Some(thread) {
            let next = self.more.as_mut().and_then(|more| (!more.is_empty()).then(|| more.remove(0)));
            self.first = next;
        }
    }
}
