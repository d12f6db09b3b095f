//! Policies that made threads fast: what they gained and took, as a table and as JSON.

use holdup_model::Steered;
use holdup_model::cycles::Simulated;

use super::view::View;
use super::{SimRun, schema};
use crate::lines::Line;
use crate::numbers::percent;
use crate::schema::Amount;
use crate::tabular::{Column, table};
use crate::{Look, numbers};

/// At most so many times at which a thread was fast are in the JSON.
const MOST_SPANS: usize = 10_000;

/// Energy and energy times delay against those of another run (Fig. 10 of criticality stacks).
fn relative(own: &Simulated, base: &Simulated) -> Option<(f64, f64)> {
    let joules = |run: &Simulated| run.steered.as_ref()?.energy.map(|energy| energy.joules());
    let energy = joules(own)? / joules(base).filter(|joules| *joules > 0.0)?;
    Some((energy, energy * own.cycles as f64 / base.cycles.max(1) as f64))
}

/// The run of the same program on the same machine in which nobody was fast.
fn base<'a>(runs: &'a [SimRun], of: &SimRun) -> Option<&'a Simulated> {
    let is_base = |run: &&SimRun| {
        let (one, other) = (&run.simulated, &of.simulated);
        run.input == of.input
            && (&one.machine, one.cores) == (&other.machine, other.cores)
            && one.steered.as_ref().is_some_and(|steered| steered.policy == "none")
    };
    runs.iter().find(is_base).map(|run| &run.simulated)
}

/// A row for each simulation with a policy.
pub(super) fn policies(view: &View, look: Look) -> Vec<Line> {
    let told: Vec<(usize, &SimRun, &Steered)> = (0..)
        .zip(&view.told.runs)
        .filter_map(|(index, run)| run.simulated.steered.as_ref().map(|steered| (index, run, steered)))
        .collect();
    if told.is_empty() {
        return Vec::new();
    }
    let speedup = |index| view.speedup(index).map_or_else(String::new, |(_, factor)| numbers::factor(factor));
    let relative = |run: &SimRun| base(&view.told.runs, run).and_then(|base| relative(&run.simulated, base));
    let factor = |number: Option<f64>| number.map_or_else(String::new, numbers::factor);
    let fast = |run: &SimRun, steered: &Steered| {
        percent(steered.fast_cycles() as f64 / run.simulated.cycles.max(1) as f64)
    };
    table(
        vec![
            Column::words("policy", told.iter().map(|(_, _, steered)| steered.policy.clone())),
            Column::numbers("time", told.iter().map(|(_, run, _)| numbers::time(run.simulated.time(), look))),
            Column::numbers("speedup", told.iter().map(|(index, ..)| speedup(*index))),
            Column::numbers("threads fast", told.iter().map(|(_, run, steered)| fast(run, steered))),
            Column::numbers(
                "energy",
                told.iter().map(|(_, run, _)| factor(relative(run).map(|both| both.0))),
            ),
            Column::numbers(
                "energy x delay",
                told.iter().map(|(_, run, _)| factor(relative(run).map(|both| both.1))),
            )
            .optional(),
        ],
        look,
    )
}

/// What a policy did, if there was one.
pub(super) fn policy<'a>(run: &'a SimRun, runs: &[SimRun]) -> Option<schema::Policy<'a>> {
    let steered = run.simulated.steered.as_ref()?;
    let relative = base(runs, run).and_then(|base| relative(&run.simulated, base));
    let number = |index: u32| run.simulated.threads.get(index as usize).map_or(index, |thread| thread.number);
    Some(schema::Policy {
        name: &steered.policy,
        fast_ghz: steered.fast.into(),
        slice_cycles: steered.slice,
        slices: steered.slices,
        transitions: steered.transitions,
        criticality: Amount::all(&steered.criticality),
        nobody_cycles: steered.nobody,
        updates: steered.updates.0,
        update_energy_nj: steered.updates.1.into(),
        fast_cycles: steered.fast_cycles(),
        fast: steered
            .spans
            .iter()
            .take(MOST_SPANS)
            .map(|span| schema::Fast {
                thread: number(span.thread),
                begin_cycle: span.begin,
                end_cycle: span.end,
            })
            .collect(),
        energy: steered.energy.map(|energy| schema::Energy {
            joules: energy.joules().into(),
            dynamic: energy.dynamic.into(),
            leaked: energy.leaked.into(),
            uncore: energy.uncore.into(),
            memory: energy.memory.into(),
            relative: relative.map(|both| both.0.into()),
            delay_relative: relative.map(|both| both.1.into()),
        }),
    })
}

#[cfg(test)]
mod tests {
    use holdup_model::{FastSpan, RunEnergy, Steered};

    use super::*;
    use crate::{SimTold, render_sim};

    fn run(policy: &str, cycles: u64, joules: f64) -> SimRun {
        let energy = RunEnergy { dynamic: joules, ..RunEnergy::default() };
        let spans = vec![FastSpan { thread: 0, begin: 0, end: cycles / 4 }];
        let steered =
            Steered { policy: policy.to_owned(), spans, energy: Some(energy), ..Steered::default() };
        let simulated = Simulated {
            machine: "criticality".to_owned(),
            cores: 2,
            frequency: 2.0,
            cycles,
            changes: vec![format!("policy {policy}")],
            steered: Some(steered),
            ..Simulated::default()
        };
        SimRun { simulated, ..SimRun::default() }
    }

    fn told() -> SimTold {
        let mut plain = run("", 1_000_000, 0.0);
        plain.simulated.changes.clear();
        plain.simulated.steered = None;
        let runs = vec![plain, run("none", 1_000_000, 2.0), run("dynamic", 800_000, 1.5)];
        SimTold { runs, ..SimTold::default() }
    }

    #[test]
    fn energy_is_told_against_the_run_in_which_nobody_is_fast() {
        let told = told();
        let policy = |index: usize| crate::json::value(policy(&told.runs[index], &told.runs));
        let value = policy(2);
        assert_eq!(value["energy"]["relative"], 0.75);
        assert!((value["energy"]["delay_relative"].as_f64().unwrap() - 0.6).abs() < 1e-9);
        assert_eq!(value["fast_cycles"], 200_000);
        assert!(policy(0).is_null());
    }

    #[test]
    fn each_policy_has_a_row_with_its_speedup_and_energy() {
        let text = render_sim(&told(), Look { unicode: false, ..Look::plain(100) });
        let row = text.lines().find(|line| line.trim_start().starts_with("dynamic ")).expect("a row");
        assert!(row.contains("1.25") && row.contains("25") && row.contains("0.75"), "{text}");
    }
}
