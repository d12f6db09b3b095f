//! Which runs there are to do, and in which order.

use serde::{Deserialize, Serialize};

/// A run of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Step {
    /// How many threads it is told to use.
    pub threads: u32,
    /// What for.
    pub kind: Kind,
}

/// What a run is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// Its wall time, without any recording.
    Plain,
    /// What its threads wait for, when all run together.
    Together,
    /// What one thread of each phase needs by itself: the k-th, with all of the shared cache.
    Whole { which: u32 },
    /// The same while a pirate leaves it this share of the cache: one of so many.
    Part { which: u32, of: u32 },
    /// The same while a thief takes this share of the memory's bandwidth (percent).
    Thief { which: u32, percent: u32 },
}

impl Kind {
    /// The thread of each phase that runs by itself; `None` where all run together.
    pub(super) fn which(self) -> Option<u32> {
        match self {
            Kind::Plain | Kind::Together => None,
            Kind::Whole { which } | Kind::Part { which, .. } | Kind::Thief { which, .. } => Some(which),
        }
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// The numbers of threads, ascending.
    pub threads: Vec<u32>,
    /// Runs without recording, at each number of threads.
    pub plain: u32,
    /// How many threads of each phase are run by themselves.
    pub profiled: u32,
    /// One of each group of threads that do the same too, if that is more.
    pub each_group: bool,
    /// Shares of the cache at the most threads, beside those that the threads have: one of so many.
    pub parts: Vec<u32>,
    /// A pirate can be had.
    pub pirate: bool,
    /// Strengths of the thief of bandwidth, in percent; none where it cannot be had.
    pub thieves: Vec<u32>,
}

/// Where it is not said how many threads of each phase are to be run by themselves: two, and one of each group of threads
/// that do the same, up to so many.
pub(super) const MOST_ROUNDS: u32 = 6;
/// See [`MOST_ROUNDS`].
pub(super) const ROUNDS: u32 = 2;

/// The further runs that a program with `rounds` groups of threads in a phase needs; none where there is only one thread to
/// run.
pub(super) fn further(wanted: &Wanted, threads: u32, rounds: u32) -> Vec<Step> {
    if threads == 1 {
        return Vec::new();
    }
    let kinds = (wanted.profiled.min(threads)..rounds.min(MOST_ROUNDS)).flat_map(|which| {
        let part = wanted.pirate.then_some(Kind::Part { which, of: threads });
        [Kind::Whole { which }].into_iter().chain(part)
    });
    kinds.map(|kind| Step { threads, kind }).collect()
}

/// All runs, in their order: what is compared is run close together, and a machine that slows down slows all of it.
pub(super) fn steps(wanted: &Wanted) -> Vec<Step> {
    let mut steps = Vec::new();
    let most = wanted.threads.last().copied().unwrap_or(1);
    for round in 0..wanted.plain.max(wanted.profiled).max(1) {
        for &threads in &wanted.threads {
            let mut add = |kind| steps.push(Step { threads, kind });
            if round < wanted.plain {
                add(Kind::Plain);
            }
            if round == 0 {
                add(Kind::Together);
            }
            // Of one thread there is only one.
            if round >= wanted.profiled.min(threads) {
                continue;
            }
            add(Kind::Whole { which: round });
            if !wanted.pirate {
                continue;
            }
            if threads > 1 {
                add(Kind::Part { which: round, of: threads });
            }
            if threads == most && round == 0 {
                let others = wanted.parts.iter().filter(|of| **of > 1 && **of != threads);
                others.for_each(|&of| add(Kind::Part { which: 0, of }));
                wanted.thieves.iter().for_each(|&percent| add(Kind::Thief { which: 0, percent }));
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(threads: &[u32]) -> Wanted {
        Wanted {
            threads: threads.to_vec(),
            plain: 2,
            profiled: ROUNDS,
            each_group: true,
            parts: Vec::new(),
            pirate: true,
            thieves: Vec::new(),
        }
    }

    fn count(steps: &[Step], is: impl Fn(&Kind) -> bool) -> usize {
        steps.iter().filter(|step| is(&step.kind)).count()
    }

    #[test]
    fn a_stack_at_one_and_two_threads_takes_at_most_twelve_runs() {
        let steps = steps(&wanted(&[1, 2]));
        assert!(steps.len() <= 12, "{steps:?}");
        assert_eq!(count(&steps, |kind| *kind == Kind::Plain), 4);
        assert_eq!(count(&steps, |kind| *kind == Kind::Together), 2);
    }

    #[test]
    fn each_profiled_thread_has_the_whole_cache_and_its_share() {
        let steps = steps(&wanted(&[2]));
        for which in [0, 1] {
            assert_eq!(count(&steps, |kind| *kind == Kind::Whole { which }), 1);
            assert_eq!(count(&steps, |kind| *kind == Kind::Part { which, of: 2 }), 1);
        }
    }

    #[test]
    fn one_thread_has_nobody_to_share_with() {
        let steps = steps(&wanted(&[1]));
        assert_eq!(count(&steps, |kind| kind.which().is_some()), 1);
        assert_eq!(count(&steps, |kind| matches!(kind, Kind::Part { .. })), 0);
    }

    #[test]
    fn without_a_pirate_threads_still_run_alone() {
        let steps = steps(&Wanted { pirate: false, parts: vec![8], thieves: vec![50], ..wanted(&[1, 2]) });
        assert!(steps.iter().all(|step| !matches!(step.kind, Kind::Part { .. } | Kind::Thief { .. })));
        assert_eq!(count(&steps, |kind| matches!(kind, Kind::Whole { .. })), 3);
    }

    #[test]
    fn each_group_of_threads_has_a_round_and_two_groups_cost_none() {
        let wanted = wanted(&[1, 2, 4]);
        assert_eq!(further(&wanted, 4, 2), []);
        assert_eq!(further(&wanted, 1, 5), []);
        let three = further(&wanted, 4, 3);
        let kinds: Vec<Kind> = three.iter().map(|step| step.kind).collect();
        assert_eq!(kinds, [Kind::Whole { which: 2 }, Kind::Part { which: 2, of: 4 }]);
        assert_eq!(further(&wanted, 4, 100).len() as u32, 2 * (MOST_ROUNDS - ROUNDS));
    }

    #[test]
    fn further_shares_are_measured_at_the_most_threads_and_once() {
        let steps = steps(&Wanted { parts: vec![1, 2, 4, 8], thieves: vec![25], ..wanted(&[1, 2, 4]) });
        assert_eq!(count(&steps, |kind| matches!(kind, Kind::Part { of: 8, .. })), 1);
        assert_eq!(count(&steps, |kind| matches!(kind, Kind::Part { of: 1, .. })), 0);
        assert_eq!(count(&steps, |kind| matches!(kind, Kind::Thief { .. })), 1);
    }
}
