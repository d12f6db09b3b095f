//! The `holdup` command: arguments, wiring, exit statuses.
//!
//! Commands that run one program end with its status (128 + signal). 1 to 3 mean holdup itself, and come only
//! before the program starts or from commands on files: 2 usage or input, 3 something needed is missing on this
//! machine.

mod answer;
mod arguments;
mod demo;
mod doctor;
mod failure;
mod progress;
mod report;
mod run;

use std::process::ExitCode;

use arguments::Command;

fn main() -> ExitCode {
    let result = match arguments::parse(std::env::args_os()) {
        Command::Run(options) => run::run(&options),
        Command::Record(options) => run::record(&options),
        Command::Report(options) => report::report(&options),
        Command::Demo(options) => demo::demo(&options),
        Command::Doctor => doctor::doctor(),
    };
    result.unwrap_or_else(|failure| failure.tell())
}
