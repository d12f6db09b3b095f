//! `holdup sim`: where the cycles of a program's threads go on a machine that the user need not own.
//!
//! What is simulated ([`simulation`]) is a recording with instruction streams, or a program that is recorded first ([`made`]).

mod made;
mod names;
mod sections;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use holdup_report::{SimRun, SimTold, render_sim, sim_csv, sim_json_text, sim_page, sim_source_files};

use crate::answer;
use crate::failure::Failure;
use crate::instructions::InstructionPart;
use crate::options::{Faces, SizeLimit};
use crate::progress::Progress;
use crate::simulation::{
    self, Chosen, Input, MOST_CORES, PolicyOptions, Role, Simulation, Subject, USUAL, Wanted, WhatIf, chosen,
    interrupted, simulated, speedup_stacks,
};
use crate::sources;

const AFTER: &str = "\
holdup sim -- ./app input.dat                         runs the program under emulation, and simulates it
holdup sim --cores 4,8,16 --machine dunnington run.holdup
holdup sim --what-if perfect-branches --what-if memory.channels=1,bandwidth=2 run.holdup
holdup sim --what-if misses:app.c:42=0 --what-if lock:queue_lock=0 run.holdup
holdup sim --speedup-stack --html sim.html run.holdup
holdup sim --show-machine dunnington > mine.toml      an own machine to start from

A recording for it is made by holdup record --instructions=stream. docs/sim.md says what the components of a cycle
stack are, and which what-ifs there are. Statuses: that of the program; 2 wrong usage or input, 3 something is
missing on this machine, both before the program starts.";

/// Options of `holdup sim`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = AFTER)]
#[command(override_usage = "holdup sim [OPTIONS] -- PROGRAM [ARGS]...\n       holdup sim [OPTIONS] FILE...")]
pub(crate) struct SimOptions {
    /// Numbers of cores, each a simulation; sockets are added to machines that have fewer [default: as many as threads that
    /// work at once, at most those of the machine]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=MOST_CORES))]
    pub cores: Vec<u32>,
    /// Machines by name or as files (.toml), each a simulation; host is this one
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = USUAL)]
    pub machine: Vec<String>,
    /// Say which machines there are
    #[arg(long, exclusive = true)]
    pub list_machines: bool,
    /// Print a machine's file, to make an own one from
    #[arg(long, value_name = "NAME", exclusive = true)]
    pub show_machine: Option<String>,
    /// Simulate a changed machine or program too: perfect-branches, perfect-cache=1, lock:NAME=0, misses:FILE:LINE=0 and others
    /// (docs/sim.md), several at once with commas
    #[arg(long, value_name = "CHANGE")]
    pub what_if: Vec<WhatIf>,
    #[command(flatten)]
    pub policies: PolicyOptions,
    /// Say what the speedup is lost to, by simulating with resources made private one by one
    #[arg(long)]
    pub speedup_stack: bool,
    /// Simulate only a sample of the run, and say how large the error is
    #[arg(long)]
    pub sample: bool,
    /// What caches and translation buffers have where the simulated part begins: what was touched last before it, or none
    #[arg(long, value_enum, default_value_t = Warm::Touched)]
    pub warm: Warm,
    /// Cores that execute an instruction per cycle and wait for each access, for comparison
    #[arg(long)]
    pub one_ipc: bool,
    #[command(flatten)]
    pub part: InstructionPart,
    #[command(flatten)]
    pub size: SizeLimit,
    /// Keep the recording here [default: it is removed]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub recording: Option<PathBuf>,
    /// How many simulations run at once; the answer does not depend on it [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Tell where the cycles of each parallel section went, too: what threads do between two meetings
    #[arg(long, conflicts_with = "sample")]
    pub sections: bool,
    /// Tell all threads, places and shared lines, the minor ones too
    #[arg(long)]
    pub all: bool,
    /// Tell how fast each simulation was, which is different each time
    #[arg(long)]
    pub speed: bool,
    /// Leave the program's source out of the answer
    #[arg(long)]
    pub no_source: bool,
    /// Print CSV, a line for each component of each thread; the output of a program then goes to standard error
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    #[command(flatten)]
    pub faces: Faces,
    /// Recordings with instruction streams
    #[arg(value_name = "FILE", required_unless_present_any = ["command", "list_machines", "show_machine"],
        conflicts_with = "command")]
    pub files: Vec<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// See [`SimOptions::warm`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Warm {
    Touched,
    None,
}

/// Simulates.
pub(crate) fn sim(options: &SimOptions) -> Result<ExitCode, Failure> {
    if options.list_machines {
        answer::write(&simulation::machine_list(), None, std::io::stdout())?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(name) = &options.show_machine {
        answer::write(&simulation::machine_text(name)?, None, std::io::stdout())?;
        return Ok(ExitCode::SUCCESS);
    }
    if !options.command.is_empty() {
        return run(&options.command, options);
    }
    let machines = chosen(&options.machine, options.one_ipc)?;
    match told(&options.files, &machines, options)? {
        Some(told) => show(&told, options, false).map(|()| ExitCode::SUCCESS),
        None => Ok(interrupted()),
    }
}

/// Runs the program, and simulates what it did.
fn run(command: &[OsString], options: &SimOptions) -> Result<ExitCode, Failure> {
    options.faces.check_writable()?;
    let machines = chosen(&options.machine, options.one_ipc)?;
    let made = made::of_program(command, options)?;
    let Some(recording) = &made.recording else { return Ok(made.status) };
    // The program's status stands, whatever becomes of the answer.
    let told = told(std::slice::from_ref(recording), &machines, options);
    let shown = told.and_then(|told| match told {
        Some(mut told) => {
            told.warnings.splice(0..0, made.notes.iter().cloned());
            show(&told, options, true)
        }
        None => Ok(_ = interrupted()),
    });
    if let Err(failure) = shown {
        // Why emulation failed says more than that it gave nothing.
        match made.notes.first() {
            Some(note) => _ = Failure::input(note).tell(),
            None => _ = failure.tell(),
        }
    }
    Ok(made.status)
}

/// Simulates recordings; `None` if the user did not want to wait.
fn told(paths: &[PathBuf], machines: &Chosen, options: &SimOptions) -> Result<Option<SimTold>, Failure> {
    let reading = Progress::start("reading the recording");
    let inputs = Input::all(paths, &reading)?;
    let named = |input: &Input| match options.files.is_empty() {
        true => input.run.command.first().cloned().unwrap_or_default(),
        false => input.path.display().to_string(),
    };
    let is_cold = options.warm == Warm::None;
    let prepared = inputs.iter().map(|input| {
        let warm = input.prepared(&named(input))?;
        Ok(if is_cold { warm.cold() } else { warm })
    });
    let prepared = prepared.collect::<Result<Vec<_>, Failure>>()?;
    let wanted = Wanted {
        machines: &machines.machines,
        cores: &options.cores,
        what_ifs: &options.what_if,
        speedup_stack: options.speedup_stack,
        policies: Some(&options.policies),
    };
    let mut simulations: Vec<Simulation> = Vec::new();
    let mut stacks = 0;
    for (index, (input, prepared)) in inputs.iter().zip(&prepared).enumerate() {
        let subject = Subject {
            input: index,
            program: prepared.program(),
            at: &|text| input.instructions_at(prepared, text),
            threads: prepared.working_at_once(),
        };
        let planned = simulation::simulations(&subject, &wanted, stacks).map_err(Failure::input)?;
        stacks += planned.iter().filter(|planned| matches!(planned.role, Role::Single(_))).count();
        simulations.extend(planned);
    }
    let samples = if options.sample {
        simulation::samples(&simulations, &prepared)
    } else {
        simulation::Samples::new()
    };
    drop(reading);
    let jobs = options.jobs.map_or(holdup_collect::allowed_cores(), u32::from) as usize;
    let Some((done, padded)) = simulated(&simulations, &prepared, &samples, jobs) else { return Ok(None) };
    let _naming = Progress::start("finding names");
    let several = inputs.len() > 1;
    let stacks = speedup_stacks(&simulations, &done);
    let mut runs: Vec<SimRun> = simulations
        .iter()
        .zip(done)
        .enumerate()
        .filter(|(_, (simulation, _))| simulation.role == Role::Told)
        .map(|(index, (simulation, (simulated, spent)))| SimRun {
            input: if several { named(&inputs[simulation.input]) } else { String::new() },
            mips: options.speed.then(|| simulated.instructions as f64 / spent.as_secs_f64().max(1e-9) / 1e6),
            simulated,
            padded: if Some(index) == padded.0 { padded.1.clone() } else { Vec::new() },
            ..SimRun::default()
        })
        .collect();
    if options.sections {
        let of: Vec<usize> = simulations
            .iter()
            .filter(|simulation| simulation.role == Role::Told)
            .map(|simulation| simulation.input)
            .collect();
        for (index, input) in inputs.iter().enumerate() {
            sections::add(
                input,
                runs.iter_mut().zip(&of).filter(|(_, of)| **of == index).map(|(run, _)| run),
            );
        }
    }
    let mut told = SimTold {
        command: inputs.first().map(|input| input.run.command.clone()).unwrap_or_default(),
        names: names::names(&inputs, &runs),
        runs,
        sources: BTreeMap::new(),
        speedup_stacks: stacks,
        warnings: machines.notes.clone(),
        all: options.all,
    };
    if samples.values().any(Option::is_none) {
        told.warnings.push("--sample: it is so short that all of it was simulated.".to_owned());
    }
    told.warnings.extend(inputs.iter().flat_map(|input| input.run.warnings.iter().cloned()));
    if !options.no_source
        && let Some(first) = inputs.first()
    {
        let stored = first.recording.source_text.as_ref();
        told.sources = sources::read(&sim_source_files(&told), stored, &first.path);
    }
    Ok(Some(told))
}

impl SimOptions {
    /// True if standard output is the answer's, not the program's.
    fn answers_on_stdout(&self) -> bool {
        self.faces.takes_stdout(self.faces.json() || self.csv)
    }
}

/// Writes the answer as it was asked for.
fn show(told: &SimTold, options: &SimOptions, has_run: bool) -> Result<(), Failure> {
    options.faces.check_apart(options.files.iter().chain(&options.recording).map(PathBuf::as_path))?;
    let data = || if options.csv { sim_csv(told) } else { sim_json_text(told) };
    let data = (options.faces.json() || options.csv).then_some(data);
    options.faces.show_beside(has_run, || sim_page(told), data, |look| render_sim(told, look))
}
