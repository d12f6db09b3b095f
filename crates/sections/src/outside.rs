//! Waiting for something outside of the program: a connection, a request, an event of another process.
//!
//! A thread that waits in this way has nothing to do, and no change of the program gives it something. What is lost
//! so, by itself and by those who wait for its signal, is told apart from I/O, which can be overlapped with work.

use holdup_model::{Block, Call, Process, ThreadId, Time};

/// The blocking calls of a process that something outside of it ends.
pub struct Outside {
    /// By thread, then time.
    spans: Vec<(ThreadId, Time, Time)>,
}

impl Outside {
    /// Those of `process`.
    pub fn of(process: &Process) -> Self {
        let is_server = is_server(process);
        let mut spans: Vec<(ThreadId, Time, Time)> = process
            .blocks
            .iter()
            .filter(|block| is_outside(block, is_server))
            .map(|block| (block.thread, block.begin, block.end))
            .collect();
        spans.sort_unstable();
        Self { spans }
    }

    /// True if the thread was in such a call at `time`.
    pub fn is_at(&self, thread: ThreadId, time: Time) -> bool {
        let after = self.spans.partition_point(|span| (span.0, span.1) <= (thread, time));
        let before = after.checked_sub(1).map(|before| self.spans[before]);
        before.is_some_and(|span| span.0 == thread && time < span.2)
    }
}

/// A process that accepts connections: what it receives are requests.
pub(crate) fn is_server(process: &Process) -> bool {
    process.blocks.iter().any(|block| block.call == Call::Accept)
}

/// True for a call that ends when something outside of the program wants it.
pub(crate) fn is_outside(block: &Block, is_server: bool) -> bool {
    match block.call {
        Call::Accept | Call::Poll | Call::Signal => true,
        Call::Receive => is_server,
        _ => false,
    }
}
