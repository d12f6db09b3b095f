//! What a policy is shown, and what it answers.

use holdup_model::Fixed;

use crate::waiting::WaitTable;

/// What a slice showed of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadSlice {
    /// Its criticality in the slice.
    pub criticality: Fixed,
    /// Whether it lives: it has begun, and has not ended yet.
    pub lives: bool,
    /// Whether it waits for the end of others when the slice ends. Such a thread is not among those of which one has the
    /// smallest criticality: a first thread that only joins the workers is no worker that is far behind, and would make every
    /// ratio infinite. (In the paper all threads work.)
    pub joins: bool,
    /// Misses of caches by who gave the data: the second level, the third, memory or what is as far.
    pub misses: [u64; 3],
}

/// What a slice showed.
#[derive(Clone, Copy, Debug)]
pub struct Slice<'a> {
    /// Its length in ticks.
    pub length: u64,
    /// All threads, by their index.
    pub threads: &'a [ThreadSlice],
    /// Which bottlenecks were waited for.
    pub bottlenecks: &'a WaitTable,
}

/// What is so after a change within a slice.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// When.
    pub now: u64,
    /// Whether each thread is active, by its index.
    pub active: &'a [bool],
    /// Which bottlenecks were and are waited for.
    pub bottlenecks: &'a WaitTable,
}

impl Moment<'_> {
    /// Whether a thread is active.
    pub fn is_active(&self, thread: u32) -> bool {
        self.active.get(thread as usize).copied().unwrap_or(false)
    }

    /// The only active thread, if there is just one.
    pub fn alone(&self) -> Option<u32> {
        let mut active = (0..).zip(self.active).filter(|(_, active)| **active).map(|(thread, _)| thread);
        let first = active.next();
        first.filter(|_| active.next().is_none())
    }
}

/// Says which threads are fast.
pub trait Policy {
    /// A word for it, as in options and reports.
    fn name(&self) -> &'static str;

    /// A slice has ended: who should be fast in the next?
    fn decide(&mut self, _slice: &Slice<'_>) {}

    /// Threads have become active or inactive, or have come to or left a bottleneck.
    fn react(&mut self, _moment: &Moment<'_>) {}

    /// Whether the core of a thread is fast now.
    fn is_fast(&self, thread: u32) -> bool;
}
