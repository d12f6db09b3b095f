//! Threads that spin for each other where there are fewer cores: who could go on has none.

use std::collections::BTreeMap;

use holdup_model::Nanos;
use holdup_model::figures::percent;

use super::super::{Case, Description, most_first};
use super::{Loop, NEARLY_ALWAYS, Spinning, meanwhile};

/// What has less of the spinning is not named beside what has most.
const LEAST_NAMED: f64 = 0.05;
/// So many places are named beside that.
const MOST_NAMED: usize = 2;

const HINT: &str = "Let them sleep, or give their cores away between two looks (sched_yield), where the wait is longer than a few \
    microseconds; or start no more threads than there are cores.";

/// Makes one of all loops of the program in which threads spin if there are more of them than cores, and hardly ever one is at work meanwhile,
/// or waits for something outside of the program. Somebody can go on, or nobody ever would: a thread that has no core.
pub(super) fn join(case: &Case<'_>, loops: &mut BTreeMap<Loop, Spinning>) {
    if !case.is_crowded() {
        return;
    }
    let is_one = |key: &Loop, spinning: &Spinning| matches!(key, Loop::At(_)) && spinning.routine.is_none();
    let mut joined = Spinning::default();
    for (_, spinning) in loops.iter().filter(|(key, spinning)| is_one(key, spinning)) {
        for (&site, &time) in &spinning.sites {
            *joined.sites.entry(site).or_default() += time;
        }
        for (&thread, &time) in &spinning.threads {
            *joined.threads.entry(thread).or_default() += time;
        }
    }
    if joined.threads.len() > 1 && meanwhile(case, &joined).stuck >= NEARLY_ALWAYS {
        loops.retain(|key, spinning| !is_one(key, spinning));
        loops.insert(Loop::EachOther, joined);
    }
}

/// The words for them, in place of those for one loop.
pub(super) fn described(case: &Case<'_>, spinning: &Spinning, one: Description) -> Description {
    let all = spinning.time();
    let most = most_first(&spinning.sites);
    let share = |time: Nanos| time.share_of(all);
    let named: Vec<String> = most
        .iter()
        .enumerate()
        .filter(|(rank, (_, time))| *rank == 0 || share(*time) >= LEAST_NAMED)
        .take(1 + MOST_NAMED)
        .map(|(_, (site, _))| case.site(*site))
        .collect();
    let cores = case.working.cores;
    let on = if cores == 1 { "1 core".to_owned() } else { format!("{cores} cores") };
    let what =
        format!("{} threads that spin for each other on {on}, mostly in {}", one.threads.len(), named[0]);
    let stuck = percent(meanwhile(case, spinning).stuck);
    let mut evidence = one.evidence;
    evidence.truncate(1);
    evidence.push(format!("For {stuck} of that, no thread is at work: whoever could go on has no core."));
    if named.len() > 1 {
        evidence.push(format!("They also spin in {}.", named[1..].join(" and ")));
    }
    Description { what, evidence, hint: HINT.to_owned(), ..one }
}
