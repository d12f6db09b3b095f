//! Barriers that could go, a runtime that passes them faster, and regions that are too small for their fork and join.

use holdup_model::figures::percent;
use holdup_model::openmp::SyncKind;

use super::{Case, Gain, shown};
use crate::team::Part;
use crate::{Hint, HintKind, RegionKind};

/// Regions that last longer than this (ns) are not too small.
const SMALL: f64 = 200_000.0;

pub(super) fn hints(case: &Case<'_>) -> Vec<Hint> {
    let mut hints = without(case);
    let small = coarser(case);
    if small.is_none() {
        hints.extend(runtime(case));
    }
    hints.extend(small);
    hints
}

/// Barriers that could be left out: what is short on one side of them is long on the other.
fn without(case: &Case<'_>) -> Vec<Hint> {
    let barriers = case.profile().evidence.barriers.iter();
    let hint = |(&(kind, place), sums): (&(SyncKind, Option<_>), &crate::evidence::BarrierSums)| {
        let gain = sums.without as f64 * case.scale();
        if !case.is_worth(gain) || !kind.is_barrier() {
            return None;
        }
        let at = case.at_place(place);
        let passing = shown(sums.passing as f64 / sums.count.max(1) as f64);
        let text = match kind {
            SyncKind::WorkBarrier => format!(
                "Threads wait for each other at the end of the worksharing construct{at} (passing takes {passing} each \
                 time), and those that have less to do there have more to do after it. If what follows does not need \
                 all of its results, write nowait."
            ),
            _ => format!(
                "Threads wait for each other at the barrier{at} (passing takes {passing} each time), and those that have \
                 less to do before it have more to do after it. Leave it out if what follows does not need all that \
                 comes before."
            ),
        };
        let doubt = case.doubt();
        let gain =
            Gain::predicted(gain, (gain - doubt).max(0.0), gain + doubt, "replay without this barrier");
        Some(case.hint(HintKind::Barriers, place, text, gain))
    };
    barriers.filter_map(hint).collect()
}

/// Regions so small that forking and joining their team shows.
fn coarser(case: &Case<'_>) -> Option<Hint> {
    let profile = case.profile();
    let each = profile.time as f64 / profile.instances.max(1) as f64;
    let cost = profile.evidence.fork_and_join as f64 * case.scale();
    if case.region.kind != RegionKind::Parallel || each > SMALL || !case.is_worth(cost) {
        return None;
    }
    let instances = profile.instances;
    let text = format!(
        "The region is executed {instances} times and takes {} each time, of which {} are for starting and joining its \
         threads. Join it with its neighbours, or parallelize a loop around it.",
        shown(each),
        shown(cost / instances.max(1) as f64),
    );
    Some(case.hint(
        HintKind::CoarserRegions,
        None,
        text,
        Gain::at_most(cost, case.doubt(), "time for fork and join"),
    ))
}

/// Passing barriers takes long though all are there.
fn runtime(case: &Case<'_>) -> Option<Hint> {
    let (walkthrough, startup) = (case.cost(Part::Walkthrough), case.cost(Part::Startup));
    let cost = walkthrough + startup;
    if !case.is_worth(cost) {
        return None;
    }
    let phases = format!(
        "From the last arrival to the first departure threads spend {}, and {} until the last one goes on ({} of the \
         region).",
        shown(walkthrough),
        shown(startup),
        percent(cost / case.here().costs.time.max(1.0))
    );
    let gain = Gain::at_most(cost, case.doubt(), "walkthrough and startup of all barriers");
    if case.region.kind != RegionKind::Parallel {
        let text = format!("{phases} Meet less often, or at a barrier that spins for a while.");
        return Some(case.hint(HintKind::Barriers, None, text, gain));
    }
    let text = format!(
        "{phases} Try another OpenMP runtime, or let threads spin while they wait (OMP_WAIT_POLICY=active) where each \
         has a core for itself; fewer barriers help in any case."
    );
    Some(case.hint(HintKind::Runtime, None, text, gain))
}
