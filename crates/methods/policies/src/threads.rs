//! Which thread to accelerate: criticality, what of it a faster clock reaches, and what came of it.

use super::ProgramPolicies;
use holdup_model::Arrange;

/// What is known of a thread from the run in which nobody is fast, and what making it fast gave. Shares are of the run's
/// time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyThread {
    /// Its number.
    pub number: u32,
    /// Its name; hostile.
    pub name: Option<String>,
    /// Its criticality (Eq. 1).
    pub criticality: f64,
    /// The same without what it waits for memory: that takes as long at each frequency.
    pub scaling: f64,
    /// For how long no other thread was active.
    pub alone: f64,
    /// The speedup that was predicted for it: memory stalls held constant, and only where no other thread hides it.
    pub predicted: f64,
    /// The speedup with it fast, if that was simulated.
    pub simulated: Option<f64>,
}

impl PolicyThread {
    /// Which share of its criticality is waiting for memory.
    pub fn memory(&self) -> f64 {
        if self.criticality > 0.0 { (1.0 - self.scaling / self.criticality).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// Why another thread than the most critical one is the better one to accelerate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The most critical one waits for memory.
    Memory,
    /// The most critical one is hidden: others run as long beside it.
    Hidden,
}

/// See [`ProgramPolicies::stands_out`].
const STANDS_OUT: f64 = 1.2;

/// Two speedups this near to each other are no difference.
const NEAR: f64 = 0.005;

impl ProgramPolicies {
    /// The most critical thread, the first of equals.
    pub fn most_critical(&self) -> Option<&PolicyThread> {
        self.largest(|thread| Some(thread.criticality)).filter(|thread| thread.criticality > 0.0)
    }

    /// The thread for which most was predicted; where nothing was for any, the most critical one.
    pub fn predicted_best(&self) -> Option<&PolicyThread> {
        let best = self.largest(|thread| Some(thread.predicted))?;
        if best.predicted > 1.0 { Some(best) } else { self.most_critical() }
    }

    /// The thread with which the simulated run is shortest.
    pub fn simulated_best(&self) -> Option<&PolicyThread> {
        self.largest(|thread| thread.simulated)
    }

    /// The threads in order of criticality.
    pub fn by_criticality(&self) -> Vec<&PolicyThread> {
        let mut ranked: Vec<&PolicyThread> = self.threads.iter().collect();
        ranked.arrange_by(|one, other| other.criticality.total_cmp(&one.criticality));
        ranked
    }

    /// Whether making this thread fast gives as much as making the best one fast.
    pub fn is_best(&self, thread: &PolicyThread) -> bool {
        let best = self.simulated_best().and_then(|best| best.simulated);
        best.zip(thread.simulated).is_some_and(|(best, own)| own + NEAR >= best)
    }

    /// Whether the most critical thread has more than 1.2 times, the paper's α, what each had if all that work had as much.
    pub fn stands_out(&self) -> bool {
        let even = 1.0 / f64::from(self.working.max(1));
        self.most_critical().is_some_and(|critical| critical.criticality > STANDS_OUT * even)
    }

    /// Why the best thread is not the most critical one, if that stands out and is not the best.
    pub fn better(&self) -> Option<Better> {
        let critical =
            self.most_critical().filter(|critical| self.stands_out() && !self.is_best(critical))?;
        let waits = critical.memory() > 0.5;
        Some(if waits { Better::Memory } else { Better::Hidden })
    }

    fn largest(&self, of: impl Fn(&PolicyThread) -> Option<f64>) -> Option<&PolicyThread> {
        let mut best: Option<(f64, &PolicyThread)> = None;
        for thread in &self.threads {
            let Some(own) = of(thread) else { continue };
            if best.is_none_or(|(most, _)| own > most) {
                best = Some((own, thread));
            }
        }
        best.map(|found| found.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(number: u32, numbers: [f64; 4]) -> PolicyThread {
        let [criticality, scaling, predicted, simulated] = numbers;
        PolicyThread {
            number,
            criticality,
            scaling,
            predicted,
            simulated: Some(simulated),
            ..PolicyThread::default()
        }
    }

    fn program(threads: Vec<PolicyThread>) -> ProgramPolicies {
        ProgramPolicies { threads, working: 8, ..ProgramPolicies::default() }
    }

    #[test]
    fn a_thread_that_waits_for_memory_is_not_the_one_to_accelerate() {
        let program = program(vec![thread(0, [0.5, 0.05, 1.01, 1.01]), thread(2, [0.4, 0.38, 1.08, 1.07])]);
        assert_eq!(program.most_critical().map(|thread| thread.number), Some(0));
        assert_eq!(program.predicted_best().map(|thread| thread.number), Some(2));
        assert_eq!(program.better(), Some(Better::Memory));
        assert!((program.threads[0].memory() - 0.9).abs() < 1e-12);
    }

    #[test]
    fn a_thread_that_another_hides_is_not_either() {
        let program = program(vec![
            thread(2, [0.35, 0.35, 1.0, 1.001]),
            thread(4, [0.25, 0.25, 1.05, 1.04]),
            thread(7, [0.35, 0.35, 1.0, 1.0]),
        ]);
        assert_eq!(program.most_critical().map(|thread| thread.number), Some(2));
        assert_eq!(program.predicted_best().map(|thread| thread.number), Some(4));
        assert_eq!(program.better(), Some(Better::Hidden));
    }

    #[test]
    fn where_all_are_as_critical_no_other_one_is_better() {
        let even = |number, simulated| thread(number, [0.13, 0.13, 1.0, simulated]);
        let program = program(vec![even(0, 1.01), even(1, 1.03)]);
        assert!(!program.stands_out());
        assert_eq!(program.better(), None);
    }

    #[test]
    fn who_gains_as_much_as_the_best_is_one_of_the_best() {
        let program = program(vec![thread(0, [0.5, 0.5, 1.1, 1.097]), thread(1, [0.4, 0.4, 1.1, 1.1])]);
        assert_eq!(program.better(), None);
        assert_eq!(self::program(Vec::new()).most_critical(), None);
    }
}
