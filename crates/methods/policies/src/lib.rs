//! What policies that make threads fast give a program, from simulated runs: the table of policies (paper 4, Figs. 9 and 10), the
//! validation of criticality by accelerating single threads (Figs. 4 and 5), and the sweep of a thread's frequency (Figs. 6
//! and 7).

#![forbid(unsafe_code)]

mod answer;
mod sweep;
mod threads;

use holdup_model::{RunEnergy, Steered};

pub use sweep::{Kind, Sweep, SweepPoint};
pub use threads::{Better, PolicyThread};

/// A policy's run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyRun {
    /// The policy's name: none, all, offline, single, tcp, bis, dynamic.
    pub policy: String,
    /// The numbers of the threads that are fast for the whole run, where the policy chose them before.
    pub chosen: Vec<u32>,
    /// Simulated seconds.
    pub seconds: f64,
    /// For how much of the run a thread was fast, summed over threads.
    pub fast_share: f64,
    /// How often the frequency of a core changed while it had a thread.
    pub transitions: u64,
    /// Slices after which was decided.
    pub slices: u64,
    /// Updates of the criticality unit, and what they took in nanojoules.
    pub updates: (u64, f64),
    /// What the run took, on machines whose constants are known.
    pub energy: Option<RunEnergy>,
}

impl PolicyRun {
    /// A simulated run of so many cycles at so many gigahertz.
    pub fn of(steered: &Steered, cycles: u64, frequency: f64) -> Self {
        Self {
            policy: steered.policy.clone(),
            chosen: Vec::new(),
            seconds: cycles as f64 / frequency.max(1e-9) * 1e-9,
            fast_share: steered.fast_cycles() as f64 / cycles.max(1) as f64,
            transitions: steered.transitions,
            slices: steered.slices,
            updates: steered.updates,
            energy: steered.energy,
        }
    }

    /// How many times as fast as another run.
    pub fn speedup_over(&self, other: &Self) -> f64 {
        if self.seconds > 0.0 { other.seconds / self.seconds } else { 1.0 }
    }

    /// Energy against that of another run.
    pub fn energy_over(&self, other: &Self) -> Option<f64> {
        let other = other.energy?.joules();
        (other > 0.0).then_some(self.energy?.joules() / other)
    }

    /// Energy times delay against that of another run.
    pub fn delay_product_over(&self, other: &Self) -> Option<f64> {
        Some(self.energy_over(other)? / self.speedup_over(other))
    }

    /// Milliwatts that the criticality unit took.
    pub fn unit_milliwatts(&self) -> f64 {
        if self.seconds > 0.0 { self.updates.1 * 1e-9 / self.seconds * 1e3 } else { 0.0 }
    }
}

/// The run with one thread accelerated for all of it (Fig. 4b).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Validation {
    /// The thread's number.
    pub thread: u32,
    /// GHz.
    pub frequency: f64,
    /// Against the run in which nobody is.
    pub speedup: f64,
}

/// A program with some number of threads, under all policies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgramPolicies {
    /// What it is called.
    pub name: String,
    /// Its command line.
    pub command: Vec<String>,
    /// How many threads work at once, at most.
    pub working: u32,
    /// Simulated cores.
    pub cores: u32,
    /// Nanoseconds of a slice.
    pub slice_ns: f64,
    /// In the order of the table; the first has nobody fast.
    pub runs: Vec<PolicyRun>,
    /// What is known of each thread, in the order of the recording.
    pub threads: Vec<PolicyThread>,
    /// The most critical threads, accelerated one by one.
    pub validation: Vec<Validation>,
    /// The most critical thread at several frequencies.
    pub sweep: Option<Sweep>,
    /// What the reader must know.
    pub warnings: Vec<String>,
}

/// Programs under policies, on one machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policies {
    /// The machine's name.
    pub machine: String,
    /// Its frequency, in GHz.
    pub frequency: f64,
    /// That of a fast core, in GHz.
    pub fast: f64,
    /// The threshold α of Algorithm 1.
    pub alpha: f64,
    /// Its threshold β.
    pub beta: f64,
    /// How many threads are fast at once, at most.
    pub fast_threads: u32,
    /// Whether the machine has constants for energies.
    pub has_energy: bool,
    /// The programs, in the order in which they were given.
    pub programs: Vec<ProgramPolicies>,
    /// What the reader must know of all of them.
    pub warnings: Vec<String>,
}

/// The paper's slice (section 7), in nanoseconds.
pub const PAPER_SLICE_NS: f64 = 10e6;

impl ProgramPolicies {
    /// The run under a policy.
    pub fn run(&self, policy: &str) -> Option<&PolicyRun> {
        self.runs.iter().find(|run| run.policy == policy)
    }

    /// How much faster a policy makes it, as a share: 0.05 for five percent.
    pub fn gain(&self, policy: &str) -> Option<f64> {
        Some(self.run(policy)?.speedup_over(self.run("none")?) - 1.0)
    }

    /// What a policy takes in energy against the run in which nobody is fast.
    pub fn energy(&self, policy: &str) -> Option<f64> {
        self.run(policy)?.energy_over(self.run("none")?)
    }

    /// The share of the time by which it would be shorter, were the work that a thread does alone divided among all that
    /// work (paper, section 6: a loop that was made parallel), and how many times as fast that is.
    pub fn divided(&self, thread: &PolicyThread) -> f64 {
        let working = f64::from(self.working.max(1));
        1.0 / (1.0 - thread.alone * (1.0 - 1.0 / working)).max(1.0 / working)
    }
}

/// The mean gain of a policy over programs (the paper's averages), of those that have it.
pub fn mean_gain<'a>(programs: impl IntoIterator<Item = &'a ProgramPolicies>, policy: &str) -> Option<f64> {
    mean(programs.into_iter().filter_map(|program| program.gain(policy)))
}

/// The mean relative energy of a policy over programs.
pub fn mean_energy<'a>(programs: impl IntoIterator<Item = &'a ProgramPolicies>, policy: &str) -> Option<f64> {
    mean(programs.into_iter().filter_map(|program| program.energy(policy)))
}

fn mean(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let numbers: Vec<f64> = numbers.collect();
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// What the paper has for a number of threads, over its own programs, for comparison: mean gains of dynamic and of BIS (section
/// 7.2), and mean relative energies of dynamic and with all threads fast (section 8).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperMeans {
    /// With so many threads.
    pub threads: u32,
    /// Gain of the dynamic policy.
    pub dynamic: f64,
    /// Gain of BIS.
    pub bis: f64,
    /// Energy of the dynamic policy.
    pub dynamic_energy: f64,
    /// Energy with all fast.
    pub all_energy: f64,
}

/// See [`PaperMeans`]; `None` for numbers of threads that the paper does not have.
pub fn paper_means(threads: u32) -> Option<PaperMeans> {
    match threads {
        8 => {
            Some(PaperMeans { threads, dynamic: 0.046, bis: 0.024, dynamic_energy: 0.972, all_energy: 1.025 })
        }
        16 => {
            Some(PaperMeans { threads, dynamic: 0.042, bis: 0.027, dynamic_energy: 0.968, all_energy: 1.013 })
        }
        _ => None,
    }
}

/// Nanoseconds of a slice for a run of so many nanoseconds with so many changes of activity: the paper's, if the run has a hundred of
/// them; else a hundredth of the run, but long enough that a slice has a hundred changes on the average, so that it sees
/// several barriers or holds of locks, and at most a tenth of the run.
pub fn scaled_slice_ns(run_ns: f64, changes: u64) -> f64 {
    const SLICES: f64 = 100.0;
    const CHANGES: f64 = 100.0;
    const LEAST_SLICES: f64 = 10.0;
    const LEAST_NS: f64 = 1000.0;
    let hundred_changes = run_ns * CHANGES / changes.max(1) as f64;
    let most = PAPER_SLICE_NS.min(run_ns / LEAST_SLICES).max(LEAST_NS);
    (run_ns / SLICES).max(hundred_changes).clamp(LEAST_NS, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(policy: &str, seconds: f64, joules: f64) -> PolicyRun {
        let energy = Some(RunEnergy { dynamic: joules, ..RunEnergy::default() });
        PolicyRun { policy: policy.to_owned(), seconds, energy, ..PolicyRun::default() }
    }

    #[test]
    fn gains_and_energies_are_against_the_run_in_which_nobody_is_fast() {
        let program = ProgramPolicies {
            runs: vec![run("none", 2.0, 10.0), run("dynamic", 1.6, 9.0)],
            ..ProgramPolicies::default()
        };
        assert!((program.gain("dynamic").unwrap() - 0.25).abs() < 1e-12);
        assert_eq!(program.energy("dynamic"), Some(0.9));
        assert!((program.runs[1].delay_product_over(&program.runs[0]).unwrap() - 0.72).abs() < 1e-12);
        assert_eq!(program.gain("bis"), None);
        let other = ProgramPolicies {
            runs: vec![run("none", 1.0, 1.0), run("dynamic", 1.0, 1.0)],
            ..program.clone()
        };
        assert!((mean_gain([&program, &other], "dynamic").unwrap() - 0.125).abs() < 1e-12);
        assert!((mean_energy([&program, &other], "dynamic").unwrap() - 0.95).abs() < 1e-12);
        assert_eq!(mean_gain([&program], "tcp"), None);
    }

    #[test]
    fn a_loop_of_one_thread_that_is_divided_takes_its_part_of_the_time() {
        let program = ProgramPolicies { working: 8, ..ProgramPolicies::default() };
        let with = |alone| program.divided(&PolicyThread { alone, ..PolicyThread::default() });
        // The paper's BFS: 1.67 times as fast with 8 threads.
        assert!((with(0.4585) - 1.67).abs() < 0.01);
        assert_eq!(with(0.0), 1.0);
        assert_eq!(with(1.0), 8.0);
    }

    #[test]
    fn slices_are_the_papers_where_the_run_is_long_enough() {
        assert_eq!(scaled_slice_ns(2e9, 100_000), PAPER_SLICE_NS);
        // 4 ms: a hundredth, if that has a hundred changes.
        assert_eq!(scaled_slice_ns(4e6, 20_000), 40_000.0);
        assert_eq!(scaled_slice_ns(4e6, 5_000), 80_000.0);
        assert_eq!(scaled_slice_ns(4e6, 10), 400_000.0);
    }
}
