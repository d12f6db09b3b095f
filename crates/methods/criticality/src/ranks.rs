//! How well the ranks of an MPI program use their cores: efficiencies over ranks and threads, in the multiplicative form of
//! the POP centre of excellence.
//!
//! *Wagner, Mohr, Giménez, Labarta: A Structured Approach to Performance Analysis, Tools for High Performance Computing
//! 2017*, for programs with ranks and threads: parallel efficiency = efficiency of ranks × efficiency of threads. POP
//! takes a rank's time outside of MPI for the first factor. What is known here of any program is when at least one of its
//! threads is active; the rest it waits, for other ranks or for input and output.

use holdup_model::{Efficiency, Nanos};

use crate::Diagnosis;

/// What one rank did.
#[derive(Clone, Debug, PartialEq)]
pub struct Rank {
    /// What it is called.
    pub name: String,
    /// How long it ran.
    pub wall: Nanos,
    /// How many of its threads work at once: n.
    pub workers: u32,
    /// How long at least one of its threads was active: A.
    pub busy: Nanos,
    /// How long its busiest thread was active: B; no less than `active` / n.
    pub busiest: Nanos,
    /// The time of all its threads that were active: U.
    pub active: Nanos,
    /// What of that they were on a core, as far as it is known: V.
    pub on_core: Nanos,
}

/// A thread that is active for less than this share of what the busiest one is does no work of the program's: an MPI library has
/// threads of its own that look after its connections, and their cores are not missing.
const LEAST_SHARE_OF_BUSIEST: f64 = 0.05;

impl Rank {
    /// What a diagnosis says of a rank.
    pub fn of(name: &str, diagnosis: &Diagnosis) -> Rank {
        let sum = |of: &dyn Fn(&holdup_model::ThreadTimes) -> Nanos| {
            diagnosis.threads.iter().map(of).sum::<Nanos>()
        };
        let active = sum(&|thread| thread.active);
        let delayed = sum(&|thread| thread.delayed);
        let longest = diagnosis.threads.iter().map(|thread| thread.active).max().unwrap_or_default();
        let works =
            |thread: &&holdup_model::ThreadTimes| thread.active.share_of(longest) >= LEAST_SHARE_OF_BUSIEST;
        let working = diagnosis.threads.iter().filter(works).count() as u32;
        let workers = diagnosis.workers.min(working).max(1);
        // Threads that do no work, such as a main that only starts the others, are active for moments beside them.
        let busiest = longest.max(Nanos::new(active.get().div_ceil(u64::from(workers))));
        let nobody = Nanos::new(diagnosis.criticality.nobody_total().round() as u64);
        let busy = diagnosis.wall.saturating_sub(nobody).max(busiest);
        Rank {
            name: name.to_owned(),
            wall: diagnosis.wall,
            workers,
            busy,
            busiest,
            active,
            on_core: active.saturating_sub(delayed),
        }
    }

    /// The share of its threads' time while it was busy in which they were active on a core: U's part V / (n A).
    pub fn thread_efficiency(&self) -> f64 {
        ratio(self.on_core.get() as f64, f64::from(self.workers) * self.busy.get() as f64)
    }
}

/// All ranks of a run.
#[derive(Clone, Debug)]
pub struct Ranks {
    /// Each of them, as they were given.
    pub ranks: Vec<Rank>,
    /// How long the longest ran: T.
    pub wall: Nanos,
    /// The hierarchy: each value is the product of its factors, and the root is ΣV / (T Σn).
    pub efficiency: Efficiency,
}

impl Ranks {
    /// The efficiencies of these ranks, which ran at the same time.
    pub fn of(ranks: Vec<Rank>) -> Ranks {
        let wall = ranks.iter().map(|rank| rank.wall.max(rank.busy)).max().unwrap_or_default();
        let places = |of: &dyn Fn(&Rank) -> Nanos| -> f64 {
            ranks.iter().map(|rank| f64::from(rank.workers) * of(rank).get() as f64).sum()
        };
        let sum = |of: &dyn Fn(&Rank) -> Nanos| ranks.iter().map(|rank| of(rank).get() as f64).sum::<f64>();
        let busy = places(&|rank| rank.busy);
        let longest = ranks.iter().map(|rank| rank.busy).max().unwrap_or_default();
        let busiest = places(&|rank| rank.busiest);
        let active = sum(&|rank| rank.active);
        let across = product(
            "efficiency of ranks",
            vec![
                leaf("load balance of ranks", ratio(busy, places(&|_| longest))),
                leaf("ranks do not wait all at once", ratio(longest.get() as f64, wall.get() as f64)),
            ],
        );
        let within = product(
            "efficiency of threads",
            vec![
                leaf("load balance of threads", ratio(active, busiest)),
                leaf("serial and synchronization efficiency", ratio(busiest, busy)),
                leaf("availability of cores", ratio(sum(&|rank| rank.on_core), active)),
            ],
        );
        Ranks { ranks, wall, efficiency: product("parallel efficiency", vec![across, within]) }
    }
}

/// Nothing of nothing is lost.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 1.0 }
}

fn leaf(name: &str, value: f64) -> Efficiency {
    Efficiency { name: name.to_owned(), value, factors: Vec::new() }
}

fn product(name: &str, factors: Vec<Efficiency>) -> Efficiency {
    let value = factors.iter().map(|factor| factor.value).product();
    Efficiency { name: name.to_owned(), value, factors }
}
