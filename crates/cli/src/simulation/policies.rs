//! `--policy`: which threads are made fast while a program is simulated.

use std::str::FromStr;

use holdup_model::cycles::Simulated;
use holdup_policy::{Choice, Ratio, Rules, best_single, most};
use holdup_sim::{Machine, Program, Steering};

/// A policy by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// One that needs to know nothing.
    Plain(Choice),
    /// The thread of this number, or the most critical of a run before.
    Offline(Option<u32>),
    /// The thread of this number, or the one that is best of all.
    Single(Option<u32>),
    /// Algorithm 1, with the options' parameters.
    Dynamic,
}

const NAMES: &str = "none, all, offline, offline=THREAD, single, single=THREAD, tcp, bis, dynamic";

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = text.split_once('=').map_or((text, None), |(name, number)| (name, Some(number)));
        let thread = match number {
            Some(number) => Some(number.parse().map_err(|_| format!("{number} is no number of a thread"))?),
            None => None,
        };
        match (name, thread) {
            ("none", None) => Ok(Self::Plain(Choice::Nobody)),
            ("all", None) => Ok(Self::Plain(Choice::All)),
            ("tcp", None) => Ok(Self::Plain(Choice::CacheMisses)),
            ("bis", None) => Ok(Self::Plain(Choice::Bottlenecks)),
            ("dynamic", None) => Ok(Self::Dynamic),
            ("offline", thread) => Ok(Self::Offline(thread)),
            ("single", thread) => Ok(Self::Single(thread)),
            _ => Err(format!("there is no policy {text}; there are {NAMES}")),
        }
    }
}

/// Options about policies.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct PolicyOptions {
    /// Simulate too what a policy gives that makes threads fast while the program runs: none, all, offline (the most critical
    /// thread of a run before), single (the best one, by trying each), tcp (who misses caches most), bis (who holds what most
    /// wait for), dynamic (Algorithm 1 of criticality stacks); offline=THREAD and single=THREAD name the thread
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with_all = ["sample", "speedup_stack"])]
    pub policy: Vec<Named>,
    /// The frequency of a fast core in GHz [default: a quarter more than the machine's]
    #[arg(long, value_name = "GHZ", value_parser = parsers::fast, requires = "policy")]
    pub fast: Option<f64>,
    /// Milliseconds of simulated time from one decision to the next
    #[arg(long, value_name = "MS", default_value = "10", value_parser = parsers::slice, requires = "policy")]
    pub policy_slice: f64,
    /// How many times the smallest criticality a thread must have to be made fast (α)
    #[arg(long, value_name = "RATIO", default_value = "1.2", value_parser = parsers::ratio, requires = "policy")]
    pub alpha: Ratio,
    /// Below which share of the largest criticality a fast thread is made slow again (β)
    #[arg(long, value_name = "RATIO", default_value = "0.8", value_parser = parsers::ratio, requires = "policy")]
    pub beta: Ratio,
    /// How many threads are fast at once, at most
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..), requires = "policy")]
    pub fast_threads: u16,
}

/// What options about policies may be.
pub(crate) mod parsers {
    use holdup_policy::Ratio;

    /// GHz of a fast core.
    pub(crate) fn fast(text: &str) -> Result<f64, String> {
        within(text, 0.01, 100.0)
    }

    /// Milliseconds of a slice.
    pub(crate) fn slice(text: &str) -> Result<f64, String> {
        within(text, 1e-4, 1e6)
    }

    /// A threshold.
    pub(crate) fn ratio(text: &str) -> Result<Ratio, String> {
        let number = text.parse::<f64>().ok().filter(|number| (0.0..=1000.0).contains(number));
        number.and_then(Ratio::of).ok_or_else(|| "not a number from 0 to 1000".to_owned())
    }

    fn within(text: &str, least: f64, largest: f64) -> Result<f64, String> {
        let number = text.parse::<f64>().ok().filter(|number| (least..=largest).contains(number));
        number.ok_or_else(|| format!("not a number from {least} to {largest}"))
    }
}

/// A policy with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    named: Named,
    fast: f64,
    slice_ns: f64,
    rules: Rules,
}

impl PolicyOptions {
    /// What was asked for on a machine.
    pub(super) fn asked(&self, machine: &Machine) -> Vec<Asked> {
        let rules = Rules {
            alpha: self.alpha,
            beta: self.beta,
            most: usize::from(self.fast_threads),
            ..Rules::default()
        };
        // The paper goes from 2 to 2.5 GHz (section 7).
        let fast = self.fast.unwrap_or(machine.frequency * 1.25);
        let one =
            |named: &Named| Asked { named: named.clone(), fast, slice_ns: self.policy_slice * 1e6, rules };
        self.policy.iter().map(one).collect()
    }
}

impl Asked {
    /// What it is called beside the run as it is.
    pub(super) fn words(&self) -> Vec<String> {
        let name = match &self.named {
            Named::Plain(Choice::Nobody) => "none".to_owned(),
            Named::Plain(Choice::All) => "all".to_owned(),
            Named::Plain(Choice::CacheMisses) => "tcp".to_owned(),
            Named::Plain(_) => "bis".to_owned(),
            Named::Dynamic => "dynamic".to_owned(),
            Named::Offline(thread) => with_thread("offline", *thread),
            Named::Single(thread) => with_thread("single", *thread),
        };
        vec![format!("policy {name}, {} GHz", (self.fast * 1000.0).round() / 1000.0)]
    }

    /// Threads that it names and the program does not have.
    pub(super) fn missing(&self, program: &Program) -> Option<String> {
        let (Named::Offline(Some(number)) | Named::Single(Some(number))) = self.named else { return None };
        let there = program.threads.iter().any(|thread| thread.number == number);
        (!there).then(|| format!("--policy: there is no thread {number} in the recording"))
    }

    /// Simulates with it. Two of the policies need runs before, which `simulate` does as well.
    pub(super) fn simulated(
        &self,
        program: &Program,
        simulate: &mut dyn FnMut(Steering) -> Simulated,
    ) -> Simulated {
        let with =
            |choice| Steering { choice, fast: self.fast, slice_ns: self.slice_ns, most: self.rules.most };
        let index = |number: u32| program.threads.iter().position(|thread| thread.number == number);
        let index = |number: u32| index(number).unwrap_or(0) as u32;
        match &self.named {
            Named::Plain(choice) => simulate(with(choice.clone())),
            Named::Dynamic => simulate(with(Choice::Dynamic(self.rules))),
            Named::Offline(Some(number)) => simulate(with(Choice::Offline(vec![index(*number)]))),
            Named::Single(Some(number)) => simulate(with(Choice::Single(index(*number)))),
            Named::Offline(None) => {
                let profile = simulate(with(Choice::Nobody));
                let criticality = profile.steered.map(|steered| steered.criticality).unwrap_or_default();
                // Whole cycles rank them.
                let cycles: Vec<u64> = criticality.into_iter().map(|cycles| cycles as u64).collect();
                simulate(with(Choice::Offline(most(&cycles, self.rules.most))))
            }
            Named::Single(None) => {
                let without = simulate(with(Choice::Nobody));
                let mut best = without;
                let mut tried = Vec::new();
                let unaided = best.cycles;
                for thread in 0..program.threads.len() as u32 {
                    let one = simulate(with(Choice::Single(thread)));
                    tried.push((thread, one.cycles));
                    if best_single(unaided, &tried).is_some_and(|(found, _)| found == thread) {
                        best = one;
                    }
                }
                best
            }
        }
    }
}

fn with_thread(name: &str, thread: Option<u32>) -> String {
    thread.map_or_else(|| name.to_owned(), |thread| format!("{name}={thread}"))
}

#[cfg(test)]
mod tests {
    use holdup_model::Steered;

    use super::*;

    fn asked(name: &str) -> Asked {
        Asked { named: name.parse().unwrap(), fast: 2.5, slice_ns: 1e7, rules: Rules::default() }
    }

    fn program(threads: u32) -> Program {
        let thread = |number| holdup_sim::SimThread { number: 10 + number, ..Default::default() };
        Program { threads: (0..threads).map(thread).collect(), ..Program::default() }
    }

    /// A run that takes 100 cycles, and 90 and 80 with thread 1 or 2 fast, of which 1 is more critical.
    fn run(steering: &Steering) -> Simulated {
        let cycles = match &steering.choice {
            Choice::Single(1) | Choice::Offline(_) => 90,
            Choice::Single(2) => 80,
            _ => 100,
        };
        let steered = Steered {
            policy: format!("{:?}", steering.choice),
            criticality: vec![1.0, 60.0, 39.0],
            ..Steered::default()
        };
        Simulated { cycles, steered: Some(steered), ..Simulated::default() }
    }

    fn done(name: &str) -> (Vec<String>, u64) {
        let mut runs = Vec::new();
        let result = asked(name).simulated(&program(3), &mut |steering| {
            runs.push(format!("{:?}", steering.choice));
            run(&steering)
        });
        (runs, result.cycles)
    }

    #[test]
    fn names_are_understood_and_others_are_refused_with_those_that_there_are() {
        assert_eq!("offline=3".parse(), Ok(Named::Offline(Some(3))));
        assert_eq!("bis".parse(), Ok(Named::Plain(Choice::Bottlenecks)));
        assert!("dynamic=3".parse::<Named>().unwrap_err().contains(NAMES));
        assert!("single=x".parse::<Named>().is_err());
    }

    #[test]
    fn the_offline_policy_takes_the_most_critical_thread_of_a_run_before() {
        assert_eq!(done("offline"), (vec!["Nobody".to_owned(), "Offline([1])".to_owned()], 90));
        assert_eq!(done("offline=12").0, ["Offline([2])"]);
    }

    #[test]
    fn the_best_single_thread_is_found_by_trying_each() {
        let (runs, cycles) = done("single");
        assert_eq!(runs, ["Nobody", "Single(0)", "Single(1)", "Single(2)"]);
        assert_eq!(cycles, 80);
    }

    #[test]
    fn a_thread_that_is_not_there_is_refused() {
        assert!(asked("single=13").missing(&program(3)).is_some());
        assert_eq!(asked("single=12").missing(&program(3)), None);
    }
}
