//! The runs at one number of threads.

use holdup_model::Nanos;

use super::chosen::Chosen;
use super::compare::Costs;
use super::profile::Key;
use super::regions::Profiles;

/// All runs at one number of threads, and what each spent in its regions.
pub(super) struct Point<'a> {
    pub(super) chosen: Chosen<'a>,
    /// By run.
    pub(super) profiles: Vec<Profiles>,
    /// All that counts for the whole program, in the median run.
    pub(super) costs: Costs,
}

impl Point<'_> {
    pub(super) fn threads(&self) -> u32 {
        self.chosen.threads
    }

    pub(super) fn median(&self) -> &Profiles {
        &self.profiles[self.chosen.median()]
    }

    /// Time of this region in each run.
    pub(super) fn times(&self, key: &Key) -> Vec<Nanos> {
        let time = |profiles: &Profiles| profiles.by_key.get(key).map_or(0, |profile| profile.time);
        self.profiles.iter().map(|profiles| Nanos::new(time(profiles))).collect()
    }
}
