//! The faces of a simulation: what `holdup sim` says to people and to scripts.
//!
//! One value, [`SimTold`], is told in a terminal ([`render_sim`]), as JSON ([`sim_json`]), as CSV ([`sim_csv`]), and on a page
//! (`sim_page`, which stands with the other pages). What all of them work out from it is in one place (`view`), and so are
//! their words and sentences (`words`, `told`).

mod bars;
mod csv;
mod json;
mod policies;
pub(crate) mod rows;
pub(crate) mod schema;
mod terminal;
pub(crate) mod told;
pub(crate) mod view;
pub(crate) mod words;

use std::collections::{BTreeMap, BTreeSet};

use holdup_cycles::{CycleNames, SectionCycles};
use holdup_model::cycles::Simulated;
use holdup_speedup::SpeedupStack;

use crate::SourceFile;

pub use csv::sim_csv;
pub(crate) use json::speedup_stack as told_speedup_stack;
pub use json::{sim_json, sim_json_text};
pub use schema::SIM_SCHEMA;
pub use terminal::render_sim;

/// What is told of: one simulation, or several of core counts, machines, inputs and changes side by side.
#[derive(Clone, Debug, Default)]
pub struct SimTold {
    /// The command that was recorded; empty where it is not known. Hostile.
    pub command: Vec<String>,
    /// The simulations in the order in which they were asked for.
    pub runs: Vec<SimRun>,
    /// What addresses are called.
    pub names: CycleNames,
    /// Source files by the names that [`sim_source_files`] gives.
    pub sources: BTreeMap<String, SourceFile>,
    /// Speedup stacks, where the variants for them were simulated.
    pub speedup_stacks: Vec<SpeedupStack>,
    /// What a reader must know besides the simulations' own warnings, as sentences.
    pub warnings: Vec<String>,
    /// Tell of all threads, places and lines in the terminal.
    pub all: bool,
}

/// One simulation.
#[derive(Clone, Debug, Default)]
pub struct SimRun {
    /// What it gave.
    pub simulated: Simulated,
    /// Which recording it was of, where several are told of together; else empty. Hostile.
    pub input: String,
    /// Million simulated instructions for each second of the host. `None` leaves it out: two answers are the same bytes then.
    pub mips: Option<f64>,
    /// What the run takes with padding, where that was simulated.
    pub padded: Vec<PaddedRun>,
    /// Cycles by parallel section, where these are known.
    pub sections: Vec<SectionCycles>,
}

/// A run in which parts of shared lines have lines of their own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PaddedRun {
    /// The first addresses of the lines that are padded.
    pub lines: BTreeSet<u64>,
    /// What the run takes then.
    pub cycles: u64,
}

impl SimRun {
    /// The run in which this line is padded, and as few others as possible.
    pub(crate) fn with_padding(&self, line: u64) -> Option<&PaddedRun> {
        let with = self.padded.iter().filter(|padded| padded.lines.contains(&line));
        with.min_by_key(|padded| padded.lines.len())
    }
}

impl From<Simulated> for SimRun {
    fn from(simulated: Simulated) -> Self {
        Self { simulated, ..Self::default() }
    }
}

/// Names of the source files in which cycles are spent, as the program's debug information has them.
pub fn sim_source_files(told: &SimTold) -> BTreeSet<String> {
    let places = told.runs.iter().flat_map(|run| &run.simulated.places);
    let frames = places.filter_map(|place| told.names.place(place.address));
    frames.filter_map(|frame| frame.file.clone()).collect()
}
