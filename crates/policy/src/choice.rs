//! Policies by name, as options say them.

use crate::bottlenecks::Bottlenecks;
use crate::critical::{Critical, Rules};
use crate::policy::Policy;
use crate::simple::{All, CacheMisses, Chosen, Weights};

/// Which policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Nobody is fast.
    Nobody,
    /// All are.
    All,
    /// These threads are for the whole run, from a profile.
    Offline(Vec<u32>),
    /// This one is, because it is tried.
    Single(u32),
    /// Those that miss caches most.
    CacheMisses,
    /// Those in the bottlenecks that most wait for.
    Bottlenecks,
    /// Algorithm 1.
    Dynamic(Rules),
}

impl Choice {
    /// The policy. Weights are those of cache misses, the threshold that of bottlenecks in thread-ticks, and `most` says how many
    /// threads are fast at once where the choice itself does not.
    pub fn policy(&self, weights: Weights, threshold: u64, most: usize) -> Box<dyn Policy> {
        match self {
            Self::Nobody => Box::new(Chosen::nobody()),
            Self::All => Box::new(All),
            Self::Offline(threads) => Box::new(Chosen::offline(threads.clone())),
            Self::Single(thread) => Box::new(Chosen::single(*thread)),
            Self::CacheMisses => Box::new(CacheMisses::new(weights, most)),
            Self::Bottlenecks => Box::new(Bottlenecks::new(threshold, most)),
            Self::Dynamic(rules) => Box::new(Critical::new(*rules)),
        }
    }
}
