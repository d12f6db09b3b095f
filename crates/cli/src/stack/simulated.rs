//! The simulator's speedup stack, beside the measured one or where none can be measured.

use std::path::Path;

use holdup_collect::{Emulation, InstructionMode, Options, Output, Setting, record};
use holdup_speedup::SpeedupStack;

use super::kept::Kept;
use crate::collectors::{PLUGIN, PRELOAD};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::runs::Input;
use crate::simulation::{chosen, stacks_of};
use crate::thread_count::Control;

/// The machine that this is.
const HOST: &str = "host";
/// The recording of the emulated run in a directory of runs.
const NAME: &str = "emulated.holdup";

/// What is wanted of the simulator.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SimulateOptions {
    /// Run the program under emulation too, with the most threads, and say what a simulated machine loses
    #[arg(long, conflicts_with = "instances")]
    pub simulate: bool,
    /// The machine to simulate: a name (holdup sim --list-machines), a file, or host
    #[arg(long, value_name = "NAME", default_value = HOST, requires = "simulate")]
    pub machine: String,
    /// Simulate no more than so many instructions of all threads
    #[arg(long, value_name = "N", requires = "simulate")]
    pub limit_instructions: Option<u64>,
}

impl SimulateOptions {
    /// Fails early where there is nothing to simulate with.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.simulate {
            Emulation::find(PLUGIN)?;
            // This machine is measured when the time comes.
            if self.machine != HOST {
                chosen(std::slice::from_ref(&self.machine), false)?;
            }
        }
        Ok(())
    }

    /// Runs the program under emulation, with `threads`, and notes which threads those were.
    pub(super) fn record(
        &self,
        control: &Control,
        threads: u32,
        output: Output,
        input: &Input,
        directory: &Path,
        kept: &mut Kept,
    ) -> Result<(), Failure> {
        let mut emulation = Emulation::find(PLUGIN)?;
        emulation.mode = InstructionMode::Stream;
        emulation.instruction_limit = self.limit_instructions;
        let executed = std::sync::Arc::clone(&emulation.executed);
        input.back(false);
        let progress = Progress::counting("under emulation", executed);
        let how = Options {
            setting: Setting { variables: control.environment(threads), output, ..Setting::default() },
            ..Options::emulated(directory.join(NAME), emulation)
        };
        let ended = record(&control.command(threads), &how, PRELOAD)?;
        drop(progress);
        kept.notes.extend(ended.emulation.iter().chain(&ended.trouble).cloned());
        kept.emulated = Some(threads);
        kept.write(directory)
    }

    /// Simulates what was recorded; nothing where that is not wanted. Notes what keeps it from being told.
    pub(super) fn stacks(&self, directory: &Path, kept: &mut Kept) -> Result<Vec<SpeedupStack>, Failure> {
        if !self.simulate {
            return Ok(Vec::new());
        }
        let threads = kept.emulated.ok_or_else(|| {
            Failure::input(format!(
                "{}: no run under emulation is kept here; make the runs again with --simulate --runs DIR",
                directory.display()
            ))
        })?;
        let machines = chosen(std::slice::from_ref(&self.machine), false)?;
        let stacks = stacks_of(&directory.join(NAME), &machines.machines, threads)?;
        kept.notes.extend(machines.notes);
        if stacks.is_none() {
            kept.notes.push("The simulation was interrupted, so nothing is told of it.".to_owned());
        }
        Ok(stacks.unwrap_or_default())
    }
}
