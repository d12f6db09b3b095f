//! Simulations of recordings.
//!
//! What is generic in the simulator is compiled where it is used. Used here, and not where commands are, it is optimised in builds
//! for tests too, in which it is some eight times slower without.

use holdup_model::cycles::Simulated;
use holdup_sim::{Machine, Options, Plan, Progress, simulate, simulate_sampled};

use crate::{Prepared, RecordedFeed};

impl Prepared<'_> {
    /// Simulates all of it, as [`simulate`] does. With `redeal` units of work are dealt to threads anew; without it they stay in
    /// the threads that executed them when they were recorded.
    pub fn simulated(
        &self,
        redeal: bool,
        machine: &Machine,
        options: &Options,
        progress: &mut dyn FnMut(&Progress) -> bool,
    ) -> Simulated {
        simulate(self.program(), RecordedFeed::new(self, redeal), machine, options, progress)
    }

    /// Simulates the slices of a plan, as [`simulate_sampled`] does; units of work are dealt anew.
    pub fn sampled(
        &self,
        machine: &Machine,
        options: &Options,
        plan: &Plan,
        progress: &mut dyn FnMut(&Progress) -> bool,
    ) -> Simulated {
        simulate_sampled(self.program(), RecordedFeed::new(self, true), machine, options, plan, progress)
    }

    /// Which slices of a run on so many cores stand for others ([`Plan::of`]); `None` where too little could be left out.
    pub fn plan(&self, machine: &Machine, cores: u32) -> Option<Plan> {
        Plan::of(self.program(), RecordedFeed::new(self, true), machine, cores, &self.executed)
    }
}
