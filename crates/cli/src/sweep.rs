//! `holdup sweep`: programs × inputs × threads × machines × what-ifs, as a plan says.
//!
//! What there is to do, and what was done, is [`holdup_sweep`]'s affair. Here each task is done by a holdup of its own
//! ([`task`]), several at once on this machine ([`local`]) or as jobs of Slurm ([`slurm`]).

mod counters;
mod libraries;
mod local;
mod slurm;
mod task;
mod tell;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use holdup_sweep::{
    Circumstances, Host, Plan, Row, Store, SweepError, Task, Work, content_hash, replace, work, write_tables,
};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use task::Runner;

use crate::answer;
use crate::failure::Failure;
use crate::options::RunsDirectory;
use crate::runs::Interrupt;
use crate::simulation;

const AFTER: &str = "\
holdup sweep plan.toml                        does what plan.toml asks for; the same again goes on where it stopped
holdup sweep plan.toml --runs study --jobs 4  keeps everything in study, four simulations at once
holdup sweep plan.toml --dry-run              only says what there is to do
holdup sweep plan.toml --engine slurm         the same as jobs of Slurm, on a directory that all nodes share

docs/sweep.md describes plans and the tables of results. Statuses: 0 every cell has a result; 1 some have none, and the
answer says why; 2 wrong usage or input, 3 something is missing on this machine; 128 + the signal that stopped holdup.";

const KEPT: &str =
    "Keep all that is made in this directory, and go on with what it holds [default: PLAN.sweep here]";

/// Options of `holdup sweep`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = AFTER, mut_arg("runs", |arg| arg.help(KEPT)))]
pub(crate) struct SweepOptions {
    /// The plan
    #[arg(value_name = "PLAN", required_unless_present = "task")]
    pub plan: Option<PathBuf>,
    #[command(flatten)]
    pub runs: RunsDirectory,
    /// How many simulations and emulated runs at once; runs whose time is measured are always alone [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// What does the work
    #[arg(long, value_enum, default_value_t = Engine::Local)]
    pub engine: Engine,
    /// Try cells again that failed before
    #[arg(long)]
    pub retry: bool,
    /// Only say what there is to do
    #[arg(long)]
    pub dry_run: bool,
    /// Do this task of a list in the directory: what a job of Slurm calls
    #[arg(long, value_name = "LIST.N", hide = true, requires = "runs", conflicts_with = "plan")]
    pub task: Option<String>,
}

/// What does the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// This machine
    Local,
    /// Slurm, whose nodes share the directory
    Slurm,
}

/// How the work ended, failures of single tasks aside.
enum Ended {
    Through,
    Interrupted(u8),
}

impl From<SweepError> for Failure {
    fn from(error: SweepError) -> Failure {
        Failure::input(error)
    }
}

/// Does what a plan asks for.
pub(crate) fn sweep(options: &SweepOptions) -> Result<ExitCode, Failure> {
    let directory = options.runs.chosen();
    if let (Some(which), Some(directory)) = (&options.task, directory) {
        return slurm::task(directory, which);
    }
    let Some(path) = &options.plan else { return Err(Failure::input("give a plan")) };
    let plan = Plan::read(path)?;
    check(&plan)?;
    let circumstances = Circumstances {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        holdup: content_hash(Path::new(task::HOLDUP)).map_err(|error| {
            Failure::machine(format!("holdup's own file cannot be read ({error}); is /proc mounted?"))
        })?,
    };
    let directory = match directory {
        Some(directory) => directory.to_path_buf(),
        None => PathBuf::from(path.with_extension("sweep").file_name().unwrap_or_default()),
    };
    let work = work(&plan, &circumstances, &libraries::libraries);
    if options.dry_run {
        return answer::write(&tell::planned(&work, &directory), None, std::io::stdout())
            .map(|()| ExitCode::SUCCESS);
    }
    let _lock = locked(&directory)?;
    let store = Store::open(&directory)?;
    let here = task::host();
    store.tidy(|who| task::is_alive(who, &here));
    let interrupt = Interrupt::listen();
    let runner = Runner { store: &store, here: &here, interrupt: &interrupt };
    let elsewhere = options.engine == Engine::Slurm;
    let sweep =
        Sweep { work: &work, store: &store, here: (!elsewhere).then_some(&here), retry: options.retry };
    sweep.write_manifest(path)?;
    let ended = match options.engine {
        Engine::Local => local::run(&sweep, &runner, jobs(options))?,
        Engine::Slurm => slurm::run(&sweep, &plan.slurm, &interrupt)?,
    };
    let sweep = Sweep { retry: false, ..sweep };
    let rows = sweep.rows();
    write_tables(&directory, &rows)?;
    sweep.write_manifest(path)?;
    answer::write(&tell::summary(&rows, &work.notes, &directory), None, std::io::stdout())?;
    Ok(match ended {
        Ended::Interrupted(signal) => ExitCode::from(128u8.saturating_add(signal)),
        Ended::Through => tell::status(&rows),
    })
}

fn jobs(options: &SweepOptions) -> usize {
    options.jobs.map_or_else(|| holdup_collect::allowed_cores() as usize, usize::from).max(1)
}

/// What only the simulator knows whether it exists.
fn check(plan: &Plan) -> Result<(), Failure> {
    for program in &plan.programs {
        for machine in &program.machines {
            if machine.text == "host" {
                return Err(plan
                    .wrong(
                        machine,
                        "host would be measured anew for each simulation; write it to a file first \
                         (holdup sim --show-machine host > host.toml) and name that: ./host.toml",
                    )
                    .into());
            }
            simulation::chosen(std::slice::from_ref(&machine.text), false)
                .map_err(|failure| plan.wrong(machine, failure.words().trim_start_matches("--machine: ")))?;
        }
        for what_if in &program.what_ifs {
            what_if.text.parse::<simulation::WhatIf>().map_err(|problem| plan.wrong(what_if, problem))?;
        }
    }
    Ok(())
}

/// The directory, for this holdup alone until the result is dropped. Not every file system has locks.
fn locked(directory: &Path) -> Result<fs::File, Failure> {
    let folder = answer::private_directory(directory).map_err(|error| {
        Failure::input(format!(
            "{}: results cannot be kept here ({error}); give --runs another directory",
            directory.display()
        ))
    })?;
    match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(Failure::input(format!(
            "{}: another holdup is at work in this directory; wait for it, or give --runs another one",
            directory.display()
        ))),
        _ => Ok(folder),
    }
}

/// A plan's work, and what is known of it so far.
#[derive(Clone, Copy)]
struct Sweep<'a> {
    work: &'a Work,
    store: &'a Store,
    /// Where times are measured, if that is always here.
    here: Option<&'a Host>,
    /// What failed counts as not done.
    retry: bool,
}

impl Sweep<'_> {
    /// How a task ended, if it need not be done.
    fn outcome(&self, task: &Task) -> Option<holdup_sweep::Outcome> {
        let outcome = self.work.outcome(task, self.store, self.here)?;
        let is_again = self.retry && outcome.status != holdup_sweep::Status::Done && task.trouble.is_none();
        (!is_again).then_some(outcome)
    }

    /// Each cell with what is known of it.
    fn rows(&self) -> Vec<Row> {
        let known: std::collections::BTreeMap<&str, Option<holdup_sweep::Outcome>> =
            self.work.tasks.iter().map(|task| (task.key.as_str(), self.outcome(task))).collect();
        let of = |key: &str| known.get(key).cloned().flatten();
        let row = |cell: &holdup_sweep::Cell| Row {
            outcome: of(&cell.answer),
            recorded: cell.recording.as_deref().and_then(of),
            cell: cell.clone(),
        };
        self.work.cells.iter().map(row).collect()
    }

    /// Says in the directory what it is of, and which files belong to which cell.
    fn write_manifest(&self, plan: &Path) -> Result<(), Failure> {
        #[derive(serde::Serialize)]
        struct Entry<'a> {
            #[serde(flatten)]
            cell: &'a holdup_sweep::Cell,
            status: &'static str,
            reason: Option<&'a str>,
        }
        #[derive(serde::Serialize)]
        struct Manifest<'a> {
            format: u32,
            holdup: &'static str,
            plan: String,
            plan_sha256: String,
            notes: &'a [String],
            cells: Vec<Entry<'a>>,
        }
        let rows = self.rows();
        let entry = |row| {
            let Row { cell, outcome, .. }: &Row = row;
            let reason = outcome.as_ref().and_then(|outcome| outcome.reason.as_deref());
            Entry { cell, status: row.status().word(), reason }
        };
        let manifest = Manifest {
            format: 1,
            holdup: env!("CARGO_PKG_VERSION"),
            plan: plan.display().to_string(),
            plan_sha256: content_hash(plan).unwrap_or_default(),
            notes: &self.work.notes,
            cells: rows.iter().map(entry).collect(),
        };
        let text = serde_json::to_vec_pretty(&manifest).map_err(Failure::input)?;
        Ok(replace(&self.store.path().join("manifest.json"), &text)?)
    }
}
