//! The command line: `holdup ./app args…`, or one of the commands.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use holdup_collect::Output;

use crate::characterize::CharacterizeOptions;
use crate::check::CheckOptions;
use crate::completions::CompletionsOptions;
use crate::diff::DiffOptions;
use crate::explain::ExplainOptions;
use crate::export::ExportOptions;
use crate::man::ManOptions;
use crate::policies::PoliciesOptions;
use crate::scale::ScaleOptions;
use crate::sim::SimOptions;
use crate::stack::{StackOptions, UNDO_CHANGES};
use crate::steer::SteerOptions;
use crate::sweep::SweepOptions;
use crate::top::TopOptions;
use crate::whatif::WhatIfOptions;
use crate::why::{InstructionPart, ModeName, WhyOptions};

/// What the user asked for.
#[derive(Debug)]
pub(crate) enum Command {
    Run(RunOptions),
    Record(RecordOptions),
    Report(ReportOptions),
    Demo(DemoOptions),
    Doctor,
    Diff(DiffOptions),
    Characterize(Box<CharacterizeOptions>),
    Check(CheckOptions),
    Explain(ExplainOptions),
    Export(ExportOptions),
    Scale(Box<ScaleOptions>),
    Sim(Box<SimOptions>),
    Stack(Box<StackOptions>),
    UndoChanges,
    Steer(SteerOptions),
    Sweep(SweepOptions),
    Policies(Box<PoliciesOptions>),
    Top(Box<TopOptions>),
    WhatIf(WhatIfOptions),
    Why(Box<WhyOptions>),
    Completions(CompletionsOptions),
    Man(ManOptions),
}

const AFTER: &str = "\
holdup ./app args…              records the program and says what holds it up
holdup -- record                runs a program whose name is that of a command

Statuses: that of the program (128 + signal if it was killed); 1 a budget is exceeded (check), 2 wrong usage or
input, 3 something is missing on this machine, both before the program starts.";

#[derive(Parser)]
#[command(name = "holdup", version, about = "Says what holds a multi-threaded program up", after_help = AFTER)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
#[command(
    override_usage = "holdup [OPTIONS] PROGRAM [ARGS]...\n       holdup [OPTIONS] --pid PID\n       holdup COMMAND"
)]
struct Line {
    #[command(subcommand)]
    command: Option<Named>,
    #[command(flatten)]
    run: RunOptions,
}

#[derive(Subcommand)]
enum Named {
    /// Only record
    Record(RecordOptions),
    /// Say what a recording shows
    Report(ReportOptions),
    /// Build and run a small program with planted problems, and diagnose it
    Demo(DemoOptions),
    /// Say what this machine allows, and the command that would add what is missing
    Doctor,
    /// Say what changed between recordings
    Diff(DiffOptions),
    /// Say which programs behave alike, and how each moves with threads and input
    Characterize(Box<CharacterizeOptions>),
    /// Say whether recordings keep to budgets
    Check(CheckOptions),
    /// Run a program with several numbers of threads, and say how it scales and what keeps it from scaling better
    Scale(Box<ScaleOptions>),
    /// Say what a kind of finding means, and how to mend it
    Explain(ExplainOptions),
    /// Write a recording in the format of another tool
    Export(ExportOptions),
    /// Say what changes of the program would give, without making them
    #[command(name = "whatif")]
    WhatIf(WhatIfOptions),
    /// Say where the cycles of each thread go on a machine of your choice, by simulating what it executes
    Sim(Box<SimOptions>),
    /// Say what making threads fast while a program runs would give, under every policy, on a machine of your choice
    Policies(Box<PoliciesOptions>),
    /// Run a program with several numbers of threads, and say how much of its speedup is lost to cache, memory and waiting
    Stack(Box<StackOptions>),
    /// Undo what a process that is gone had changed on the machine: holdup starts it by itself
    #[command(name = UNDO_CHANGES, hide = true)]
    UndoChanges,
    /// Help the thread that the others wait for while the program runs, as far as that is of use
    Steer(SteerOptions),
    /// Record and simulate many programs with many inputs, numbers of threads and machines, as a plan says
    Sweep(SweepOptions),
    /// Show how critical each thread is while the program runs, or of a process that runs already
    Top(Box<TopOptions>),
    /// Say which line makes threads unequal, by counting what each of them executes
    Why(Box<WhyOptions>),
    /// Write a script that makes a shell complete the command line
    Completions(CompletionsOptions),
    /// Write the manual pages
    Man(ManOptions),
}

/// Options of commands that run a program.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunOptions {
    /// Where to write the recording [default: PROGRAM.holdup here; an earlier one is kept as PROGRAM.old.holdup];
    /// %r in it stands for the rank of an MPI process
    #[arg(short = 'o', long, value_name = "FILE")]
    pub recording: Option<PathBuf>,
    /// Run the program so many times: FILE.holdup, FILE.2.holdup…; tells of the run in the middle, and how the others differ
    #[arg(short = 'r', long, value_name = "N", default_value_t = 1, conflicts_with = "pid",
        value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub repeat: u16,
    /// Where to write the answer [default: standard error, after the program has ended]
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Which holds of locks to time: those of locks that somebody waited for, or all
    #[arg(long, value_enum, default_value_t = Holds::Waited)]
    pub holds: Holds,
    /// Which collectors to use: the library inside of the program (preload), the kernel's records, or both
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Collector::Preload, Collector::Kernel])]
    pub collectors: Vec<Collector>,
    /// Record every context switch, even where that slows the program down (above 30,000 a second)
    #[arg(long)]
    pub every_switch: bool,
    /// Leave the program's arguments out of the recording
    #[arg(long)]
    pub no_arguments: bool,
    /// Leave the program's source out of the recording: the lines around those where it computes and waits
    #[arg(long)]
    pub no_source: bool,
    /// Stop adding events when the recording has this size
    #[arg(long, value_name = "MIB")]
    pub size_limit: Option<u64>,
    /// Record a process that runs already, until it ends, or until Ctrl-C; it runs on
    #[arg(long, value_name = "PID", conflicts_with = "command")]
    pub pid: Option<u32>,
    /// Begin so many seconds after the start
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub delay: Option<Duration>,
    /// Tell of so many seconds at most; with --pid holdup ends then, else the program runs on to its end
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<Duration>,
    /// Begin when holdup gets the signal SIGUSR1, and end with SIGUSR2
    #[arg(long)]
    pub on_signal: bool,
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
    /// The program and its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM",
        required_unless_present = "pid"
    )]
    pub command: Vec<OsString>,
}

/// Options of `holdup record`.
#[derive(Args, Clone, Debug)]
pub(crate) struct RecordOptions {
    /// Run the program under emulation, and record its instructions: how often each thread takes which way (counts), or every
    /// block and access (stream); for holdup why
    #[arg(long, value_enum, value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "counts",
        conflicts_with_all = ["pid", "delay", "duration", "on_signal", "repeat"])]
    pub instructions: Option<ModeName>,
    #[command(flatten)]
    pub part: InstructionPart,
    #[command(flatten)]
    pub run: RunOptions,
}

/// Seconds, perhaps with a fraction.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.strip_suffix('s').unwrap_or(text).parse::<f64>().ok();
    let length = number.and_then(|number| Duration::try_from_secs_f64(number).ok());
    length.ok_or_else(|| "give seconds, such as 2 or 0.5".to_owned())
}

/// Which holds are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Holds {
    Waited,
    All,
}

/// What gives the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Collector {
    Preload,
    Kernel,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// How each of several runs of a program is done.
#[derive(Args, Clone, Debug)]
pub(crate) struct EachRun {
    /// Use runs that end with a status other than 0 too
    #[arg(long)]
    pub ignore_status: bool,
    /// Let what the program prints through, to standard error [default: its standard output is dropped]
    #[arg(long)]
    pub show_output: bool,
    /// Which collectors to use: the library inside of the program (preload), the kernel's records, or both
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Collector::Preload, Collector::Kernel])]
    pub collectors: Vec<Collector>,
    /// Stop adding events when a recording has this size
    #[arg(long, value_name = "MIB")]
    pub size_limit: Option<u64>,
}

impl EachRun {
    /// Where a program's standard output goes.
    pub(crate) fn output(&self) -> Output {
        if self.show_output { Output::Diverted } else { Output::Dropped }
    }

    /// The largest size of a recording in bytes.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.size_limit.map(|mib| mib << 20)
    }
}

/// Where an answer goes, besides JSON.
#[derive(Args, Clone, Debug)]
pub(crate) struct Faces {
    /// Write a page to look at, one file that needs nothing else (- for standard output)
    #[arg(long, value_name = "OUT")]
    pub html: Option<PathBuf>,
    /// Where to write the answer [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

/// Options of `holdup report`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReportOptions {
    /// The recording; of several of one program that with the median wall time is told, with what the others say
    #[arg(value_name = "FILE", required = true)]
    pub recordings: Vec<PathBuf>,
    /// The recordings are the ranks of one run of an MPI program: tell how well ranks and threads use their cores
    #[arg(long, conflicts_with_all = ["html", "process", "from", "to"])]
    pub ranks: bool,
    /// Print JSON, as docs/json-schema/report.schema.json says (ranks.schema.json for --ranks)
    #[arg(long)]
    pub json: bool,
    /// Write a page to look at, one file that needs nothing else (- for standard output)
    #[arg(long, value_name = "OUT")]
    pub html: Option<PathBuf>,
    /// Leave the program's source out of the page
    #[arg(long, requires = "html")]
    pub no_source: bool,
    /// Use only what these collectors gave
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Collector::Preload, Collector::Kernel])]
    pub collectors: Vec<Collector>,
    /// Only what came after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub from: Option<Duration>,
    /// Only what came before so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub to: Option<Duration>,
    /// Report first on this process (its pid) instead of the busiest
    #[arg(long, value_name = "PID")]
    pub process: Option<u32>,
    /// Say of each finding what mending it would give, however long that takes; the page always does
    #[arg(long)]
    pub all_gains: bool,
    /// Where to write the answer [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

/// Options of `holdup demo`.
#[derive(Args, Clone, Debug)]
pub(crate) struct DemoOptions {
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

/// The command line, as clap knows it.
pub(crate) fn command() -> clap::Command {
    Line::command()
}

/// Reads the command line. Does not return on wrong usage, `--help` and `--version`.
pub(crate) fn parse(arguments: impl Iterator<Item = OsString>) -> Command {
    let line = Line::parse_from(arguments);
    match line.command {
        None => Command::Run(line.run),
        Some(Named::Record(options)) => Command::Record(options),
        Some(Named::Report(options)) => Command::Report(options),
        Some(Named::Demo(options)) => Command::Demo(options),
        Some(Named::Doctor) => Command::Doctor,
        Some(Named::Diff(options)) => Command::Diff(options),
        Some(Named::Characterize(options)) => Command::Characterize(options),
        Some(Named::Check(options)) => Command::Check(options),
        Some(Named::Explain(options)) => Command::Explain(options),
        Some(Named::Export(options)) => Command::Export(options),
        Some(Named::Scale(options)) => Command::Scale(options),
        Some(Named::Sim(options)) => Command::Sim(options),
        Some(Named::Policies(options)) => Command::Policies(options),
        Some(Named::Stack(options)) => Command::Stack(options),
        Some(Named::UndoChanges) => Command::UndoChanges,
        Some(Named::Steer(options)) => Command::Steer(options),
        Some(Named::Sweep(options)) => Command::Sweep(options),
        Some(Named::Top(options)) => Command::Top(options),
        Some(Named::WhatIf(options)) => Command::WhatIf(options),
        Some(Named::Why(options)) => Command::Why(options),
        Some(Named::Completions(options)) => Command::Completions(options),
        Some(Named::Man(options)) => Command::Man(options),
    }
}
