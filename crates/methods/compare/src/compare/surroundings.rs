//! What surrounded a run, in a form that can be held against another run's.

use holdup_criticality::Diagnosis;
use holdup_model::figures::{cpus, percent};
use holdup_model::{Nanos, Run};

/// Shares of time that differ by less than this are the same: the machine itself is not steadier.
const SAME_SHARE: f64 = 0.05;

const OTHERS: &str = "CPUs' time used by others";

/// One thing of the surroundings that was another before than after.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Surrounding {
    /// What it is: `CPUs that it may use`.
    pub what: &'static str,
    /// What it was before. Hostile.
    pub before: String,
    /// What it is after. Hostile.
    pub after: String,
    /// True for what makes times hard to compare: another machine, other limits.
    pub is_grave: bool,
}

/// What surrounded one run: facts as text, and shares of time, which are never quite the same.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Surroundings {
    facts: Vec<(&'static str, bool, Option<String>)>,
    shares: Vec<(&'static str, Option<f64>)>,
}

impl Surroundings {
    /// The share of the CPUs' time that other programs used, where that is known.
    pub(crate) fn others(&self) -> Option<f64> {
        self.shares.iter().find(|(what, _)| *what == OTHERS).and_then(|(_, share)| *share)
    }

    pub(crate) fn of(run: &Run, diagnosis: &Diagnosis) -> Surroundings {
        let process = &run.processes[diagnosis.process];
        let environment = &run.environment;
        let placement = environment.placement(process.pid);
        let quota = placement.map(|placement| {
            placement.tightest_quota().map_or_else(|| "none".to_owned(), |quota| cpus(quota.cpus()))
        });
        let known = |number: u32| (number > 0).then(|| number.to_string());
        let speeds: Vec<String> = environment
            .frequencies
            .iter()
            .map(|range| format!("{:.1} GHz ({})", range.limit_khz as f64 / 1e6, range.governor))
            .collect();
        let kinds: Vec<String> =
            environment.kinds.iter().map(|kind| format!("{} {}", kind.cpus.len(), kind.name)).collect();
        let list = |items: Vec<String>| (!items.is_empty()).then(|| items.join(", "));
        let grave = true;
        let load = environment.load;
        let of_cpus = |time: Nanos| {
            load.filter(|load| load.span > Nanos::ZERO)
                .map(|load| time.get() as f64 / (load.busy + load.idle + load.stolen).get().max(1) as f64)
        };
        Surroundings {
            facts: vec![
                ("CPUs that it may use", grave, known(diagnosis.cores)),
                ("CPU quota", grave, quota),
                ("CPUs of the machine", grave, known(environment.online.len() as u32)),
                ("kinds of cores", grave, list(kinds)),
                ("cores that CPUs share", grave, Some(environment.shared_cores.len().to_string())),
                ("highest speed", grave, list(speeds)),
                (
                    "speeds above the nominal one",
                    grave,
                    environment.turbo_off.map(|off| if off { "off" } else { "on" }.to_owned()),
                ),
                ("memory nodes", grave, known(environment.nodes.len() as u32)),
                ("collectors", false, Some(run.collectors.join(", "))),
                (
                    "recorded by holdup",
                    false,
                    Some(run.recorded_by.clone()).filter(|version| !version.is_empty()),
                ),
            ],
            shares: vec![
                (OTHERS, load.and_then(|load| of_cpus(load.others()))),
                (
                    "time that the group's quota stopped CPUs",
                    placement.and_then(|placement| {
                        let (_, throttling) = placement.throttling_quota()?;
                        of_cpus(throttling.time)
                    }),
                ),
                (
                    "time that some thread waited for a CPU",
                    environment.pressure.zip(load).map(|(pressure, load)| pressure.share_of(load.span)),
                ),
                ("CPU time that recording took", run.cost_range().map(|cost| cost.middle())),
            ],
        }
    }

    /// What differs, in order; what is not known of both sides is left out.
    pub(crate) fn differences(&self, after: &Surroundings) -> Vec<Surrounding> {
        let facts = self.facts.iter().zip(&after.facts).filter_map(|(one, other)| {
            let (before, after) = one.2.clone().zip(other.2.clone())?;
            (before != after).then_some(Surrounding { what: one.0, before, after, is_grave: one.1 })
        });
        let shares = self.shares.iter().zip(&after.shares).filter_map(|(one, other)| {
            let (before, after) = one.1.zip(other.1)?;
            ((before - after).abs() >= SAME_SHARE).then(|| Surrounding {
                what: one.0,
                before: percent(before),
                after: percent(after),
                is_grave: false,
            })
        });
        facts.chain(shares).collect()
    }
}
