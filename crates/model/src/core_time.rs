//! What the cores of a machine did, rather than the threads.

use crate::cycles::{CYCLE_COMPONENTS, CycleComponent, Simulated};

/// Cycles of cores by component: they add up to the number of cores that threads could use times the cycles of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoreTime {
    /// Cores that the program could use: no more than it has threads.
    pub cores: u32,
    cycles: [f64; CYCLE_COMPONENTS],
}

impl CoreTime {
    /// Core cycles of one component.
    pub fn get(&self, component: CycleComponent) -> f64 {
        self.cycles[component as usize]
    }

    /// Core cycles in which a core had no thread that could run.
    pub fn idle(&self) -> f64 {
        self.of(is_idle)
    }

    /// Core cycles in which a core executed a thread.
    pub fn busy(&self) -> f64 {
        self.of(|component| !is_idle(component))
    }

    /// All core cycles.
    pub fn total(&self) -> f64 {
        self.cycles.iter().sum()
    }

    fn of(&self, wanted: impl Fn(CycleComponent) -> bool) -> f64 {
        let wanted = CycleComponent::ALL.iter().filter(|component| wanted(**component));
        wanted.map(|component| self.get(*component)).sum()
    }
}

/// True for what a thread does without a core.
fn is_idle(component: CycleComponent) -> bool {
    component.is_sync()
        || matches!(component, CycleComponent::Io | CycleComponent::NoCore | CycleComponent::Imbalance)
}

/// What the cores did. Work is as the threads have it. With as many cores as threads, or more, idle time is theirs too;
/// with fewer, the cores' idle time is less than the threads' waiting, and it is split as that is. That a thread had no core
/// takes no core's time.
pub fn core_time(run: &Simulated) -> CoreTime {
    let threads = u32::try_from(run.threads.len()).unwrap_or(u32::MAX);
    let cores = threads.min(run.cores);
    let mut cycles = [0.0; CYCLE_COMPONENTS];
    for (component, amount) in run.threads.iter().flat_map(|thread| thread.stack.parts()) {
        cycles[component as usize] += amount as f64;
    }
    cycles[CycleComponent::NoCore as usize] = 0.0;
    let mut told = CoreTime { cores, cycles };
    let idle = f64::from(cores) * run.cycles as f64 - told.busy();
    let waited = told.idle();
    for component in CycleComponent::ALL.iter().filter(|component| is_idle(**component)) {
        let amount = &mut told.cycles[*component as usize];
        *amount = match waited > 0.0 {
            true => idle * *amount / waited,
            false => 0.0,
        };
    }
    if waited <= 0.0 {
        told.cycles[CycleComponent::Imbalance as usize] = idle;
    }
    told
}

#[cfg(test)]
mod tests {
    use crate::cycles::{CycleStack, SimulatedThread};

    use super::*;

    fn run(cores: u32, cycles: u64, threads: &[&[(CycleComponent, u64)]]) -> Simulated {
        let thread = |parts: &&[(CycleComponent, u64)]| {
            let mut stack = CycleStack::default();
            parts.iter().for_each(|(component, cycles)| stack.book(*component, *cycles));
            SimulatedThread { stack, ..SimulatedThread::default() }
        };
        Simulated { cores, cycles, threads: threads.iter().map(thread).collect(), ..Simulated::default() }
    }

    #[test]
    fn with_a_core_for_each_thread_cores_do_what_threads_do() {
        use CycleComponent::{DependInt, Imbalance, SyncBarrier};
        let told = core_time(&run(
            4,
            100,
            &[&[(DependInt, 100)], &[(DependInt, 40), (SyncBarrier, 50), (Imbalance, 10)]],
        ));
        assert_eq!((told.cores, told.total(), told.busy()), (2, 200.0, 140.0));
        assert_eq!((told.get(SyncBarrier), told.get(Imbalance)), (50.0, 10.0));
    }

    #[test]
    fn without_a_core_takes_no_core() {
        use CycleComponent::{DependInt, NoCore, SyncBarrier};
        let told = core_time(&run(
            1,
            100,
            &[&[(DependInt, 50), (NoCore, 50)], &[(DependInt, 40), (NoCore, 20), (SyncBarrier, 40)]],
        ));
        assert_eq!((told.cores, told.total(), told.busy(), told.idle()), (1, 100.0, 90.0, 10.0));
        assert_eq!((told.get(NoCore), told.get(SyncBarrier)), (0.0, 10.0));
    }

    #[test]
    fn nothing_simulated_is_no_time() {
        assert_eq!(core_time(&Simulated::default()).total(), 0.0);
    }
}
