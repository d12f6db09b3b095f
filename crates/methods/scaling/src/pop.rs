//! The hierarchy of efficiencies of the POP centre of excellence, in its multiplicative form: each value is the product
//! of those below it, and the root is the measured parallel efficiency.
//!
//! *Wagner, Mohr, Giménez, Labarta: A Structured Approach to Performance Analysis, Tools for High Performance Computing
//! 2017.* A run's thread-time is taken apart from the outside to the inside: first what is lost because only one thread
//! may work, then because of missing cores, the runtime, locks, uneven work, and other waits. Each factor is what is
//! left after its loss divided by what was left before it; so their product is the useful share of thread-time. All
//! values are relative to the base, where they are 1: global efficiency (speedup × base threads / threads) is then the
//! product of parallel efficiency (useful share here / useful share at the base) and computation scalability (useful
//! time at the base / useful time here).

use super::compare::Costs;
use super::team::Part;
use super::{Efficiencies, Efficiency};

/// Shares of thread-time that are left below this are rounding errors.
const LEAST: f64 = 1e-9;

/// What each factor of parallel efficiency takes away, from the outside to the inside.
const STEPS: [(&str, &[Part]); 6] = [
    ("serial efficiency", &[Part::Serial]),
    ("availability of cores", &[Part::Oversubscription]),
    ("transfer efficiency", &[Part::Walkthrough, Part::Startup, Part::Scheduling, Part::LockAlgorithm]),
    ("serialization efficiency", &[Part::LockContention]),
    ("load balance", &[Part::Imbalance, Part::Starvation]),
    ("waiting for other things", &[Part::Other]),
];

/// The factors of one run's useful share.
fn factors(costs: &Costs) -> [f64; STEPS.len()] {
    let mut left = 1.0f64;
    STEPS.map(|(_, parts)| {
        let lost: f64 = parts.iter().map(|&part| costs.share(part)).sum();
        let after = (left - lost).max(LEAST);
        let factor = after / left;
        left = after;
        factor
    })
}

fn leaf(name: &str, value: f64) -> Efficiency {
    Efficiency { name: name.to_owned(), value, factors: Vec::new() }
}

fn product(name: &str, factors: Vec<Efficiency>) -> Efficiency {
    let value = factors.iter().map(|factor| factor.value).product();
    Efficiency { name: name.to_owned(), value, factors }
}

/// The hierarchy at `threads` threads, of which the measured parallel efficiency is `measured`.
pub(super) fn hierarchy(threads: u32, measured: f64, here: &Costs, base: &Costs) -> Efficiencies {
    let (now, then) = (factors(here), factors(base));
    let [serial, cores, transfer, serialization, balance, others] =
        std::array::from_fn(|step| leaf(STEPS[step].0, now[step] / then[step]));
    let synchronization = product("synchronization efficiency", vec![serialization, transfer]);
    let parallel = product("parallel efficiency", vec![serial, cores, balance, synchronization, others]);
    let scalability = leaf("computation scalability", measured / parallel.value);
    let root = Efficiency {
        name: "global efficiency".to_owned(),
        value: measured,
        factors: vec![parallel, scalability],
    };
    Efficiencies { threads, root }
}
