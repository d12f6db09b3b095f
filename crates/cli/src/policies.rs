//! `holdup policies`: what making threads fast while a program runs would give it, under every policy there is, on a simulated
//! machine (paper 4, sections 5, 7 and 8).
//!
//! A program is recorded once for each number of threads ([`recorded`]), or recordings are given; the simulations that the table
//! needs are done in two waves ([`simulated`]), since slices and the offline choice come from the run in which nobody is fast.

mod recorded;
mod simulated;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holdup_policies::Policies;
use holdup_policy::{Ratio, Rules};
use holdup_report::policies_json_text;
use holdup_sweep::Counts;
use recorded::Recorded;
use simulated::Wanted;

use crate::answer;
use crate::failure::Failure;
use crate::instructions::InstructionPart;
use crate::options::{Faces, RunsDirectory, SizeLimit};
use crate::progress::Progress;
use crate::runs::Outputs;
use crate::simulation::{Input, MOST_CORES, chosen, interrupted, parsers};
use crate::thread_count::Variable;

const AFTER: &str = "\
holdup policies -- ./app {threads}                    with 8 and with 16 threads, under every policy
holdup policies -t 4 --html policies.html -- ./app    OMP_NUM_THREADS tells the number of threads
holdup policies --runs runs -- ./app {threads}        keeps the recordings
holdup policies runs/*.holdup other.holdup            several programs at once, with means
holdup policies --validate --sweep runs/app-8.holdup  accelerates each of the three most critical threads, and sweeps a frequency

The recordings are those of holdup record --instructions=stream. docs/policies.md says what the policies do, how long the
slices are, and where energies come from. Statuses: that of the first run that failed, else 0; 2 wrong usage or input, 3 something
is missing on this machine, both before the program starts.";

/// The machine of paper 4.
const USUAL: &str = "criticality";

/// The paper's numbers of threads (section 4).
const PAPER_THREADS: [u32; 2] = [8, 16];

/// Options of `holdup policies`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = AFTER)]
#[command(
    override_usage = "holdup policies [OPTIONS] -- PROGRAM [ARGS]...\n       holdup policies [OPTIONS] FILE..."
)]
pub(crate) struct PoliciesOptions {
    /// The numbers of threads: 8,16 or 1-8 or 1-64:x2 (doubling) [default: 8,16]
    #[arg(short = 't', long, value_name = "LIST", conflicts_with = "files")]
    pub threads: Option<Counts>,
    /// Tell the number by this variable too, such as RAYON_NUM_THREADS, or by NAME=VALUE with {threads} in the value
    #[arg(long, value_name = "NAME", conflicts_with = "files")]
    pub variable: Vec<Variable>,
    /// The machine, by name or as a file (.toml); energies need one with constants for them
    #[arg(long, value_name = "NAME", default_value = USUAL)]
    pub machine: String,
    /// How many cores it has [default: as many as threads that work at once, at most those of the machine]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_CORES))]
    pub cores: Option<u32>,
    /// The frequency of a fast core in GHz [default: a quarter more than the machine's]
    #[arg(long, value_name = "GHZ", value_parser = parsers::fast)]
    pub fast: Option<f64>,
    /// Milliseconds of simulated time from one decision to the next [default: 10, or less where the run has not a hundred of those]
    #[arg(long, value_name = "MS", value_parser = parsers::slice)]
    pub policy_slice: Option<f64>,
    /// How many times the smallest criticality a thread must have to be made fast (α)
    #[arg(long, value_name = "RATIO", default_value = "1.2", value_parser = parsers::ratio)]
    pub alpha: Ratio,
    /// Below which share of the largest criticality a fast thread is made slow again (β)
    #[arg(long, value_name = "RATIO", default_value = "0.8", value_parser = parsers::ratio)]
    pub beta: Ratio,
    /// How many threads are fast at once, at most
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    pub fast_threads: u16,
    /// Accelerate each of the three most critical threads to twice the machine's frequency, too
    #[arg(long)]
    pub validate: bool,
    /// Sweep the frequency of the most critical thread up to twice the machine's, too, and say which kind of criticality it has
    #[arg(long)]
    pub sweep: bool,
    #[command(flatten)]
    pub part: InstructionPart,
    #[command(flatten)]
    pub size: SizeLimit,
    #[command(flatten)]
    pub outputs: Outputs,
    #[command(flatten)]
    pub runs: RunsDirectory,
    /// How many simulations run at once; the answer does not depend on it [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    #[command(flatten)]
    pub faces: Faces,
    /// Recordings with instruction streams
    #[arg(value_name = "FILE", required_unless_present = "command", conflicts_with_all = ["command", "runs", "directory"])]
    pub files: Vec<PathBuf>,
    /// The program and its arguments; {threads} in them stands for the number of threads
    #[arg(last = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// Simulates all policies.
pub(crate) fn policies(options: &PoliciesOptions) -> Result<ExitCode, Failure> {
    options.faces.check_writable()?;
    if options.command.is_empty() {
        return match told(&options.files, options)? {
            Some(told) => show(&told, options).map(|()| ExitCode::SUCCESS),
            None => Ok(interrupted()),
        };
    }
    // A machine that is not there is not to be noticed after the runs.
    chosen(std::slice::from_ref(&options.machine), false)?;
    let recorded = Recorded::of_program(&options.command, options)?;
    if recorded.paths.is_empty() {
        return Ok(recorded.status);
    }
    // The program's status stands, whatever becomes of the answer.
    match told(&recorded.paths, options) {
        Ok(Some(mut told)) => {
            told.warnings.splice(0..0, recorded.notes.iter().cloned());
            _ = show(&told, options).map_err(|failure| failure.tell());
        }
        Ok(None) => return Ok(interrupted()),
        Err(failure) => _ = failure.tell(),
    }
    Ok(recorded.status)
}

/// The numbers of threads that were asked for.
fn counts(options: &PoliciesOptions) -> Vec<u32> {
    options.threads.as_ref().map_or_else(|| PAPER_THREADS.to_vec(), |counts| counts.iter().collect())
}

/// Simulates recordings; `None` if the user did not want to wait.
fn told(paths: &[PathBuf], options: &PoliciesOptions) -> Result<Option<Policies>, Failure> {
    let mut machines = chosen(std::slice::from_ref(&options.machine), false)?;
    let machine = machines.machines.remove(0);
    let reading = Progress::start("reading the recording");
    let inputs = Input::all(paths, &reading)?;
    let prepared = paths
        .iter()
        .zip(&inputs)
        .map(|(path, input)| input.prepared(&path.display().to_string()))
        .collect::<Result<Vec<_>, _>>()?;
    drop(reading);
    let wanted = Wanted {
        machine: &machine,
        cores: options.cores,
        // The paper goes from 2 to 2.5 GHz (section 7).
        fast: options.fast.unwrap_or(machine.frequency * 1.25),
        slice_ns: options.policy_slice.map(|milliseconds| milliseconds * 1e6),
        rules: Rules {
            alpha: options.alpha,
            beta: options.beta,
            most: usize::from(options.fast_threads),
            ..Rules::default()
        },
        validate: options.validate,
        sweep: options.sweep,
        jobs: options.jobs.map_or(holdup_collect::allowed_cores(), u32::from) as usize,
    };
    let subjects: Vec<simulated::Subject<'_>> = paths
        .iter()
        .zip(&inputs)
        .zip(&prepared)
        .map(|((path, input), prepared)| simulated::Subject { name: name(path), run: &input.run, prepared })
        .collect();
    let Some(programs) = simulated::simulated(&subjects, &wanted) else { return Ok(None) };
    Ok(Some(Policies {
        machine: machine.name.clone(),
        frequency: machine.frequency,
        fast: wanted.fast,
        alpha: options.alpha.get(),
        beta: options.beta.get(),
        fast_threads: u32::from(options.fast_threads),
        has_energy: machine.energy.is_some(),
        programs,
        warnings: machines.notes,
    }))
}

/// What a recording is called: its file's name without the ending.
fn name(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Writes the answer as it was asked for.
fn show(told: &Policies, options: &PoliciesOptions) -> Result<(), Failure> {
    options.faces.answer(&told.answer(), || policies_json_text(told))
}

/// The directory of the recordings.
fn directory(asked: Option<&Path>) -> Result<(PathBuf, Option<tempfile::TempDir>), Failure> {
    let Some(path) = asked else {
        let passing = answer::passing_directory("holdup-policies-").map_err(|error| {
            Failure::machine(format!("no directory for the recordings ({error}); give one with --runs DIR"))
        })?;
        return Ok((passing.path().to_owned(), Some(passing)));
    };
    let refused = |error: std::io::Error| {
        Failure::input(format!(
            "{}: recordings cannot be kept here ({error}); give --runs another directory",
            path.display()
        ))
    };
    answer::private_directory(path).map_err(refused)?;
    match std::fs::read_dir(path).map_err(refused)?.next() {
        None => Ok((path.to_owned(), None)),
        Some(_) => Err(Failure::input(format!(
            "{}: it holds files already; give --runs a new directory",
            path.display()
        ))),
    }
}
