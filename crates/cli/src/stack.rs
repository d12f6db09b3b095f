//! `holdup stack`: how much of the speedup is lost to the shared cache, to memory, and to waiting for each other, measured on
//! this machine (paper 1).
//!
//! The runs are planned ([`plan`]), done one after another ([`runs`]), some with cache or bandwidth taken from them
//! ([`robber`]), and kept in a directory that says what each was for ([`kept`]); then they are read for the analysis
//! ([`points`]). [`instances`] does the same for several copies of a program that has one thread.

mod instances;
mod kept;
mod plan;
mod points;
mod proof;
mod robber;
mod runs;
mod simulated;
mod surveyed;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use holdup_collect::{allowed_cores, find_program};
use holdup_report::{render_stack, stack_json_text, stack_page};
use holdup_speedup::{Component, Order, SpeedupProfile};
use holdup_sweep::Counts;
use instances::{Copies, Measured};
use kept::Kept;
use plan::Wanted;
use runs::{Finish, Way};
use simulated::SimulateOptions;

use crate::answer;
use crate::collectors::Collector;
use crate::failure::Failure;
use crate::options::{Faces, RunsDirectory};
use crate::progress::Progress;
use crate::runs::{EachRun, Input};
use crate::seconds::seconds;
use crate::thread_count::{Control, OPENMP, Variable};

const AFTER: &str = "\
holdup stack -t 1,2,4 -- ./app {threads}              the program takes the number as an argument
holdup stack -t 1,2 --html stack.html -- ./app        OMP_NUM_THREADS tells it
holdup stack --instances 1,2,4 -- ./app               several copies of a program with one thread
holdup stack --runs runs -- ./app {threads}           keeps the runs
holdup stack --from runs --order memory,cache         shows them again, otherwise

While a thread is measured by itself, the others of its process are held where they synchronize: what the program computes
and prints stays the same. docs/stack.md says what the parts of the stack mean, and what they rest on.
Statuses: 0 all runs succeeded; else that of the first run that failed, or 128 + the signal that stopped holdup;
2 wrong usage or input, 3 something is missing on this machine, both before the program starts.";

/// Options of `holdup stack`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = AFTER)]
pub(crate) struct StackOptions {
    /// The numbers of threads: 1,2,4 or 1-8 or 1-64:x2 (doubling) [default: 1, 2, 4… up to all CPUs]
    #[arg(short = 't', long, value_name = "LIST", conflicts_with = "instances")]
    pub threads: Option<Counts>,
    /// Run so many copies of the program at once instead, which has one thread: 1,2,4
    #[arg(long, value_name = "LIST")]
    pub instances: Option<Counts>,
    /// Tell the number by this variable too, such as RAYON_NUM_THREADS, or by NAME=VALUE with {threads} in the value
    #[arg(long, value_name = "NAME")]
    pub variable: Vec<Variable>,
    /// In which order bottlenecks are introduced, such as synchronization,memory,cache; the others follow [default: serial,
    /// extra-work, cache, memory, oversubscription, environment, other, synchronization]
    #[arg(long, value_name = "PARTS")]
    pub order: Option<Parts>,
    /// Run the program so often without recording, at each number of threads
    #[arg(short = 'r', long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub repeat: u16,
    /// How many threads of each phase are measured by themselves, one after the other [default: 2, or one of each group of
    /// threads that do the same, up to 6]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub profiled: Option<u16>,
    /// Measure with these shares of the cache too: 8 for an eighth
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(2..=1024))]
    pub parts: Vec<u32>,
    /// Measure with so much of the memory's bandwidth taken too: 50 for a half
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=95))]
    pub thief: Vec<u32>,
    /// Start no pirate: where the processor cannot allot its cache either, cache and memory are told together
    #[arg(long, conflicts_with_all = ["parts", "thief"])]
    pub no_pirate: bool,
    /// Begin no further measurement of the kind that can be left out once all runs together took so long
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds)]
    pub time_limit: Duration,
    #[command(flatten)]
    pub simulate: SimulateOptions,
    #[command(flatten)]
    pub runs: RunsDirectory,
    /// Run nothing: show the runs in a directory of --runs
    #[arg(long, value_name = "DIR", conflicts_with_all = ["command", "runs", "directory", "threads", "instances"])]
    pub from: Option<PathBuf>,
    #[command(flatten)]
    pub each: EachRun,
    #[command(flatten)]
    pub faces: Faces,
    /// The program and its arguments; {threads} in them stands for the number
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM",
        required_unless_present = "from"
    )]
    pub command: Vec<OsString>,
}

/// The parts of a stack that are introduced first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parts(Order);

impl FromStr for Parts {
    type Err = String;

    fn from_str(text: &str) -> Result<Parts, String> {
        let known = || Component::ALL.map(|part| part.name().replace('_', "-")).join(", ");
        let parts: Vec<Component> = text
            .split(',')
            .map(|name| Component::named(name).ok_or_else(|| format!("{name} is none of {}", known())))
            .collect::<Result<_, _>>()?;
        Order::first(&parts).map(Parts).map_err(|twice| format!("{} is named twice", twice.name()))
    }
}

/// Measures, and says what speedup is lost to.
pub(crate) fn stack(options: &StackOptions) -> Result<ExitCode, Failure> {
    let order = options.order.as_ref().map_or_else(Order::default, |parts| parts.0);
    if let Some(from) = &options.from {
        let mut kept = Kept::read(from)?;
        let simulated = options.simulate.stacks(from, &mut kept)?;
        show(&points::profile(&kept, from, order, simulated)?, options)?;
        return Ok(ExitCode::SUCCESS);
    }
    options.faces.check_writable()?;
    if !options.each.recording.collectors.contains(&Collector::Preload) {
        return Err(Failure::input(
            "--collectors kernel: threads are held by the library inside of the program; add preload",
        ));
    }
    let control = Control::new(&options.command, &options.variable, std::env::var_os(OPENMP).as_deref());
    options.simulate.check()?;
    find_program(&control.command(1).into_iter().next().unwrap_or_default())?;
    let place = Place::of(options.runs.chosen())?;
    let command = options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut kept = Kept::new(command, allowed_cores());
    let robber = {
        let _progress = Progress::start("measuring how much of the shared cache can be taken");
        robber::prepare(&mut kept, !options.no_pirate)
    };
    let output = options.each.outputs.output();
    if let Some(counts) = &options.instances {
        let counts: Vec<u32> = counts.iter().collect();
        let copies = Copies {
            command: &options.command,
            counts: &counts,
            repeat: u32::from(options.repeat),
            output,
            ignore_status: options.each.outputs.ignore_status,
            robber: robber.as_ref(),
        };
        return match instances::measure(&copies, &mut kept)? {
            Measured::Ended(code) => Ok(code),
            Measured::Done(copies) => {
                show(&points::of_copies(&kept, copies, order), options).map(|()| ExitCode::SUCCESS)
            }
        };
    }
    let counts = options.threads.clone().unwrap_or_else(|| Counts::up_to(allowed_cores()));
    let wanted = Wanted {
        threads: counts.iter().collect(),
        plain: u32::from(options.repeat),
        profiled: options.profiled.map_or(plan::ROUNDS, u32::from),
        each_group: options.profiled.is_none(),
        parts: options.parts.clone(),
        pirate: robber.is_some(),
        thieves: options.thief.clone(),
    };
    let way = Way {
        control: &control,
        output,
        ignore_status: options.each.outputs.ignore_status,
        recording: &options.each.recording,
        time_limit: options.time_limit,
        robber: robber.as_ref(),
    };
    let input = Input::now();
    let finish = runs::run(&way, &wanted, &mut kept, place.path())?;
    let is_done = matches!(finish, Finish::Done);
    let code = match finish {
        Finish::Done => ExitCode::SUCCESS,
        Finish::Failed(status) => ExitCode::from(status),
        Finish::Interrupted(signal) => {
            let runs = if kept.runs.len() == 1 { "run" } else { "runs" };
            let where_to = match place {
                Place::Kept(_) => "--from shows what they say",
                Place::Passing(_) => "which are not kept; --runs DIR keeps them",
            };
            eprintln!("holdup: stopped after {} {runs}; {where_to}", kept.runs.len());
            return Ok(ExitCode::from(128u8.saturating_add(signal)));
        }
    };
    if !is_done && kept.recordings(place.path()).next().is_none() {
        // Why is said already.
        return Ok(code);
    }
    // The programs' status stands, whatever becomes of the answer.
    let most = wanted.threads.last().copied().unwrap_or(1);
    let simulated = if options.simulate.simulate && is_done {
        let recorded = options.simulate.record(&control, most, output, &input, place.path(), &mut kept);
        recorded.and_then(|()| options.simulate.stacks(place.path(), &mut kept))
    } else {
        Ok(Vec::new())
    };
    // What the simulator cannot say does not take away what was measured.
    let simulated = simulated.unwrap_or_else(|failure| {
        kept.notes.push(format!("The simulator says nothing: {}.", failure.words()));
        Vec::new()
    });
    let told =
        points::profile(&kept, place.path(), order, simulated).and_then(|profile| show(&profile, options));
    _ = told.map_err(|failure| failure.tell());
    Ok(code)
}

/// Where the runs are kept.
enum Place {
    /// Where it was asked for.
    Kept(PathBuf),
    /// In a directory that is removed.
    Passing(tempfile::TempDir),
}

impl Place {
    fn of(asked: Option<&Path>) -> Result<Place, Failure> {
        let Some(path) = asked else {
            let passing = answer::passing_directory("holdup-stack-");
            return passing.map(Place::Passing).map_err(|error| {
                Failure::machine(format!(
                    "no directory for the recordings ({error}); give one with --runs DIR"
                ))
            });
        };
        let refused = |error: std::io::Error| {
            Failure::input(format!(
                "{}: recordings cannot be kept here ({error}); give --runs another directory",
                path.display()
            ))
        };
        answer::private_directory(path).map_err(refused)?;
        match std::fs::read_dir(path).map_err(refused)?.next() {
            None => Ok(Place::Kept(path.to_owned())),
            Some(_) => Err(Failure::input(format!(
                "{}: it holds files already; give --runs a new directory, or show its runs with --from",
                path.display()
            ))),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Place::Kept(path) => path,
            Place::Passing(directory) => directory.path(),
        }
    }
}

/// Writes the answer as it was asked for.
fn show(profile: &SpeedupProfile, options: &StackOptions) -> Result<(), Failure> {
    options.faces.show(
        || stack_page(profile),
        || stack_json_text(profile),
        |look| render_stack(profile, look),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_told_by_names() {
        let parts: Parts = "memory,extra-work".parse().unwrap();
        assert_eq!(parts.0.components()[..2], [Component::Memory, Component::ExtraWork]);
        assert!("magic".parse::<Parts>().unwrap_err().contains("none of serial"));
        assert!("cache,cache".parse::<Parts>().unwrap_err().contains("twice"));
    }
}
