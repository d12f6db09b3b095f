//! Cycles by parallel section.

use holdup_counts::simulated_sections;
use holdup_cycles::SectionCycles;
use holdup_model::cycles::Simulated;
use holdup_report::SimRun;

use crate::simulation::Input;

/// Adds to simulations of a recording what was spent in each of its sections. Where it has none, nothing is added.
pub(super) fn add<'a>(input: &Input, runs: impl Iterator<Item = &'a mut SimRun>) {
    let mut runs: Vec<&mut SimRun> = runs.collect();
    let simulated: Vec<&Simulated> = runs.iter().map(|run| &run.simulated).collect();
    let Ok(found) = simulated_sections(&input.recording, &input.run, &simulated) else { return };
    for (run, sections) in runs.iter_mut().zip(found) {
        run.sections = sections
            .into_iter()
            .map(|section| SectionCycles {
                kind: section.kind,
                end: section.end,
                begin: section.begin,
                instances: section.instances,
                instructions: section.instructions,
                stack: section.stack,
            })
            .collect();
    }
}
