//! Numbers for what chains of waits lead to, so that what is lost there is added up without a search.

use std::collections::BTreeMap;

use holdup_model::{Nanos, ObjectId, ThreadId};

/// What was waited for (`None`: absent threads) and the thread at the root of the wait.
pub(crate) type RootKey = (Option<ObjectId>, ThreadId);

/// What others lost while they waited for one thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Awaited {
    pub(super) time: Nanos,
    /// Part of `time`: while the thread had no core.
    pub(super) descheduled: Nanos,
}

/// All roots that occurred.
#[derive(Default)]
pub(super) struct Roots {
    numbers: BTreeMap<RootKey, u32>,
    /// By number.
    pub(super) keys: Vec<RootKey>,
    /// By number: what was lost there in the present stretch of the thread.
    pub(super) awaited: Vec<Awaited>,
}

impl Roots {
    pub(super) fn number(&mut self, key: RootKey) -> u32 {
        let next = self.keys.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.keys.push(key);
            self.awaited.push(Awaited::default());
        }
        number
    }
}
