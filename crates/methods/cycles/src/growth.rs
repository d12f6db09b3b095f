//! What grows with the number of cores: the components by which more cores are not worth what they should be.

use holdup_model::cycles::{CycleComponent, Simulated};
use holdup_model::{Arrange, core_time};

/// How a run on more cores differs from one on fewer.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// Cores that the program could use before and after.
    pub cores: (u32, u32),
    /// How many times as fast it became.
    pub speedup: f64,
    /// How many times as fast it would be if nothing had grown.
    pub ideal: f64,
    /// Core cycles by which each component grew, most first; negative where it shrank. They add up to [`Growth::lost`].
    pub by: Vec<(CycleComponent, f64)>,
    /// Core cycles that the run on more cores takes beyond those of the other.
    pub lost: f64,
}

/// Compares a run with one of the same program on more cores. Core cycles (cores times cycles) stay the same if a program
/// scales perfectly, so what they grow by is what is lost.
pub fn growth(from: &Simulated, to: &Simulated) -> Growth {
    let (before, after) = (core_time(from), core_time(to));
    let mut by: Vec<(CycleComponent, f64)> = CycleComponent::ALL
        .iter()
        .map(|&component| (component, after.get(component) - before.get(component)))
        .filter(|(_, grown)| *grown != 0.0)
        .collect();
    by.arrange_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    Growth {
        cores: (before.cores, after.cores),
        speedup: from.cycles as f64 / (to.cycles as f64).max(1.0),
        ideal: f64::from(after.cores) / f64::from(before.cores.max(1)),
        by,
        lost: after.total() - before.total(),
    }
}

#[cfg(test)]
mod tests {
    use holdup_model::cycles::{CycleStack, SimulatedThread};

    use super::*;

    fn run(cores: u32, cycles: u64, parts: &[(CycleComponent, u64)]) -> Simulated {
        let mut stack = CycleStack::default();
        parts.iter().for_each(|(component, cycles)| stack.book(*component, *cycles));
        let threads = vec![SimulatedThread { stack, ..SimulatedThread::default() }; cores as usize];
        Simulated { cores, cycles, threads, ..Simulated::default() }
    }

    #[test]
    fn what_grows_is_what_is_lost() {
        use CycleComponent::{DependFp, MemL3, SyncBarrier};
        // streamcluster in kind (paper 3, Fig. 4): more cache, then barriers.
        let few = run(2, 1000, &[(DependFp, 600), (MemL3, 400)]);
        let many = run(8, 200, &[(DependFp, 150), (SyncBarrier, 50)]);
        let told = growth(&few, &many);
        assert_eq!((told.speedup, told.ideal, told.lost), (5.0, 4.0, -400.0));
        assert_eq!(told.by, [(SyncBarrier, 400.0), (MemL3, -800.0)]);
    }

    #[test]
    fn nothing_simulated_has_not_grown() {
        let told = growth(&Simulated::default(), &Simulated::default());
        assert_eq!((told.lost, told.speedup, told.by.len()), (0.0, 0.0, 0));
    }
}
