//! What threads have had of the process's time.

use std::time::Duration;

use crate::calls::{RawCriticality, criticality_of_all, criticality_of_this};

/// What a thread has had so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadCriticality {
    /// Its kernel id.
    pub tid: u32,
    /// It works, or could; false while it waits.
    pub is_active: bool,
    /// Its criticality: while n threads are active, each of them gets 1/n of the time.
    pub criticality: Duration,
    /// For how long it was active.
    pub active: Duration,
    /// How often it became active or ceased to be.
    pub changes: u64,
}

impl From<&RawCriticality> for ThreadCriticality {
    fn from(raw: &RawCriticality) -> ThreadCriticality {
        ThreadCriticality {
            tid: raw.tid.unsigned_abs(),
            is_active: raw.is_active != 0,
            criticality: Duration::from_nanos(raw.criticality_ns),
            active: Duration::from_nanos(raw.active_ns),
            changes: raw.changes,
        }
    }
}

/// Those of all threads of this process that live; `None` where that is not kept: it is under `holdup top` and `holdup steer`.
pub fn criticality() -> Option<Vec<ThreadCriticality>> {
    let mut room = criticality_of_all(&mut [])?;
    loop {
        // Some may have begun since they were counted.
        let mut all = vec![RawCriticality::default(); room + 8];
        let count = criticality_of_all(&mut all)?;
        if count <= all.len() {
            return Some(all[..count].iter().map(ThreadCriticality::from).collect());
        }
        room = count;
    }
}

/// That of the calling thread; `None` where it is not kept.
pub fn own_criticality() -> Option<ThreadCriticality> {
    criticality_of_this().as_ref().map(ThreadCriticality::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nobody_keeps_it_there_is_none() {
        assert_eq!(criticality(), None);
        assert_eq!(own_criticality(), None);
    }
}
