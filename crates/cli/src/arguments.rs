//! The command line: `holdup ./app args…`, or one of the commands.

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand};

use crate::characterize::CharacterizeOptions;
use crate::check::CheckOptions;
use crate::completions::CompletionsOptions;
use crate::demo::DemoOptions;
use crate::diff::DiffOptions;
use crate::explain::ExplainOptions;
use crate::export::ExportOptions;
use crate::man::ManOptions;
use crate::policies::PoliciesOptions;
use crate::report::ReportOptions;
use crate::run::{RecordOptions, RunOptions};
use crate::scale::ScaleOptions;
use crate::sim::SimOptions;
use crate::stack::StackOptions;
use crate::steer::SteerOptions;
use crate::sweep::SweepOptions;
use crate::top::TopOptions;
use crate::undo_changes::UNDO_CHANGES;
use crate::whatif::WhatIfOptions;
use crate::why::WhyOptions;

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
