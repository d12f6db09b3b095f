//! The `holdup` command: arguments, wiring, exit statuses.
//!
//! Commands that run one program end with its status (128 + signal). 1 to 3 mean holdup itself, and come only
//! before the program starts or from commands on files: 1 a budget is exceeded (`check`), 2 usage or input, 3
//! something needed is missing on this machine.

// First: its macros are for all others.
#[macro_use]
mod say;

mod answer;
mod arguments;
mod characterize;
mod check;
mod collectors;
mod completions;
mod demo;
mod diff;
mod doctor;
mod example;
mod explain;
mod export;
mod failure;
mod instructions;
mod kept_measurements;
mod man;
mod meant;
mod open;
mod options;
mod policies;
mod progress;
mod rank;
mod report;
mod run;
mod runs;
mod scale;
mod seconds;
mod serve;
mod several;
mod sim;
mod simulation;
mod sources;
mod stack;
mod status;
mod steer;
mod sweep;
mod thread_count;
mod threads_used;
mod top;
mod undo_changes;
mod usage;
mod whatif;
mod why;

use std::path::Path;
use std::process::ExitCode;

use arguments::Command;

fn main() -> ExitCode {
    holdup_collect::outlive_truncation();
    say::outlive_defects(command)
}

fn command() -> ExitCode {
    let result = match arguments::parse(std::env::args_os()) {
        Command::Run(options) => run::run(&options),
        Command::Record(options) => run::record(&options),
        Command::Report(options) => report::report(&options),
        Command::Open(options) => open::open(&options),
        Command::Serve(options) => serve::serve(&options),
        Command::Demo(options) => demo::demo(&options),
        Command::Diff(options) => diff::diff(&options),
        Command::Characterize(options) => characterize::characterize(&options),
        Command::Check(options) => check::check(&options),
        Command::Doctor => doctor::doctor(),
        Command::Explain(options) => explain::explain(&options),
        Command::Export(options) => export::export(&options),
        Command::Scale(options) => scale::scale(&options),
        Command::Sim(options) => sim::sim(&options),
        Command::UndoChanges => undo_changes::undo_changes(),
        Command::Stack(options) => stack::stack(&options),
        Command::Steer(options) => steer::steer(&options),
        Command::Sweep(options) => sweep::sweep(&options),
        Command::Top(options) => top::top(&options),
        Command::WhatIf(options) => whatif::what_if(&options),
        Command::Why(options) => why::why(&options),
        Command::Completions(options) => completions::completions(&options, arguments::command()),
        Command::Man(options) => man::man(&options, arguments::command()),
        Command::Policies(options) => policies::policies(&options),
    };
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let instead_of = |program: &Path| meant::instead_of(program.as_os_str(), &words, &arguments::command());
    result.unwrap_or_else(|failure| failure.or_meant(instead_of).tell())
}
