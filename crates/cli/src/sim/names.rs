//! What the addresses of simulations are called.

use holdup_collect::address_names;
use holdup_cycles::{CycleNames, Variable, code_addresses, data_addresses};
use holdup_report::SimRun;

use crate::simulation::Input;

/// Names for what the answer may show. Recordings of one program have the same code at the same addresses, unless it was
/// built as position-independent code and loaded elsewhere: so a later recording names only what earlier ones did not.
pub(super) fn names(inputs: &[Input], runs: &[SimRun]) -> CycleNames {
    let mut names = CycleNames::default();
    let simulated = || runs.iter().map(|run| &run.simulated);
    for (number, input) in (1..).zip(inputs) {
        let code = code_addresses(simulated()).into_iter().filter(|at| !names.code.contains_key(at));
        let data = data_addresses(simulated()).into_iter().filter(|at| !names.data.contains_key(at));
        let found = address_names(&input.recording, code, data);
        let is_named = |frames: &Vec<holdup_model::Frame>| {
            frames.iter().any(|frame| frame.function.is_some() || frame.line.is_some())
        };
        let is_last = number == inputs.len();
        names.code.extend(found.code.into_iter().filter(|(_, frames)| is_last || is_named(frames)));
        names.data.extend(found.data.into_iter().map(|(address, symbol)| {
            let variable = Variable {
                name: symbol.name,
                part: symbol.part,
                size: symbol.size,
                module: symbol.module,
                file: symbol.file,
                line: symbol.line,
            };
            (address, variable)
        }));
    }
    names
}
