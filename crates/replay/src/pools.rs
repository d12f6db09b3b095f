//! Work that several threads take piece by piece from one place.

use holdup_model::ThreadId;

use crate::extract::Maker;
use crate::program::{Pool, TokenFacts};

/// Where a thread's events are cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    /// The first piece begins.
    First,
    /// Another piece begins.
    Next,
    /// The last section, that found nothing to take.
    Tail,
    /// The same, of a thread that never took a piece.
    Only,
}

/// A thread that takes from a pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    pub(crate) pool: u32,
    /// Positions in the thread's events.
    pub(crate) cuts: Vec<(usize, Cut)>,
}

impl Member {
    pub(crate) fn cut_at(&self, position: usize) -> Option<Cut> {
        let found = self.cuts.binary_search_by_key(&position, |cut| cut.0).ok()?;
        Some(self.cuts[found].1)
    }
}

/// The pools of a process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Found {
    pub(crate) pools: Vec<Pool>,
    pub(crate) tokens: Vec<TokenFacts>,
    pub(crate) members: Vec<Option<Member>>,
}

impl Found {
    pub(crate) fn member(&self, thread: ThreadId) -> Option<&Member> {
        self.members.get(thread.index()).and_then(Option::as_ref)
    }
}

pub(crate) fn find(_maker: &Maker<'_>) -> Found {
    Found::default()
}
