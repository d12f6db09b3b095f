//! The command line: `holdup ./app args…`, or one of the commands.

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::characterize::CharacterizeOptions;
use crate::check::CheckOptions;
use crate::completions::CompletionsOptions;
use crate::demo::DemoOptions;
use crate::diff::DiffOptions;
use crate::explain::ExplainOptions;
use crate::export::ExportOptions;
use crate::failure::{Failure, INPUT};
use crate::man::ManOptions;
use crate::meant::{FIRST, arranged};
use crate::open::OpenOptions;
use crate::policies::PoliciesOptions;
use crate::report::ReportOptions;
use crate::run::{RecordOptions, RunOptions};
use crate::scale::ScaleOptions;
use crate::serve::ServeOptions;
use crate::sim::SimOptions;
use crate::stack::StackOptions;
use crate::steer::SteerOptions;
use crate::sweep::SweepOptions;
use crate::top::TopOptions;
use crate::undo_changes::UNDO_CHANGES;
use crate::usage;
use crate::whatif::WhatIfOptions;
use crate::why::WhyOptions;

/// What the user asked for.
#[derive(Debug)]
pub(crate) enum Command {
    Run(RunOptions),
    Record(RecordOptions),
    Report(ReportOptions),
    Open(OpenOptions),
    Serve(ServeOptions),
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

/// Commands that are for one thing, as `--help` shows them.
struct Group {
    what_for: &'static str,
    example: &'static str,
    commands: &'static [&'static str],
}

const GROUPS: [Group; 5] = [
    Group {
        what_for: "Record and answer",
        example: "holdup ./app input.dat",
        commands: &["record", "report", "open", "serve", "demo"],
    },
    Group {
        what_for: "Look closer",
        example: "holdup whatif app.holdup 'lock:cache_lock/4'",
        commands: &["whatif", "why", "sim", "explain", "export"],
    },
    Group {
        what_for: "Compare",
        example: "holdup scale -t 1,2,4 -- ./app",
        commands: &["diff", "check", "scale", "stack", "characterize", "sweep"],
    },
    Group {
        what_for: "Act while the program runs",
        example: "holdup top ./app input.dat",
        commands: &["top", "steer", "policies"],
    },
    Group {
        what_for: "This machine",
        example: "holdup doctor",
        commands: &["doctor", "completions", "man", "help"],
    },
];

const AFTER: &str = "\
holdup -- record runs a program whose name is that of a command.

Statuses: that of the program (128 + signal if it was killed); 1 a budget is exceeded (check), 2 wrong usage or \
input, 3 something is missing on this machine, both before the program starts.";

#[derive(Parser)]
#[command(name = "holdup", version = env!("HOLDUP_VERSION"), about = "Says what holds a multi-threaded program up", after_help = AFTER)]
#[command(args_conflicts_with_subcommands = true)]
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
    /// Show the page of a recording in the browser
    Open(OpenOptions),
    /// Give the page to browsers, at an address of this machine
    Serve(ServeOptions),
    /// Build, run and diagnose a small program with planted problems
    Demo(DemoOptions),
    /// Say what this machine allows, and how to allow more
    Doctor,
    /// Say what changed between recordings
    Diff(DiffOptions),
    /// Say which programs behave alike
    Characterize(Box<CharacterizeOptions>),
    /// Say whether recordings keep to budgets
    Check(CheckOptions),
    /// Say how a program scales, and what keeps it from scaling better
    Scale(Box<ScaleOptions>),
    /// Say what a kind of finding means, and how to fix it
    Explain(ExplainOptions),
    /// Write a recording in the format of another tool
    Export(ExportOptions),
    /// Say what changes of the program would give
    #[command(name = "whatif")]
    WhatIf(WhatIfOptions),
    /// Say where cycles go on a machine of your choice, by simulation
    Sim(Box<SimOptions>),
    /// Say what making critical threads faster would give, by policy
    Policies(Box<PoliciesOptions>),
    /// Say how much speedup is lost to cache, memory and waiting
    Stack(Box<StackOptions>),
    /// Undo what a process that is gone had changed on the machine: holdup starts it by itself
    #[command(name = UNDO_CHANGES, hide = true)]
    UndoChanges,
    /// Help the thread that the others wait for, while the program runs
    Steer(SteerOptions),
    /// Run a plan: programs, inputs, numbers of threads, machines
    Sweep(SweepOptions),
    /// Show how critical each thread is, while the program runs
    Top(Box<TopOptions>),
    /// Say which line makes threads unequal
    Why(Box<WhyOptions>),
    /// Write a script that makes a shell complete the command line
    Completions(CompletionsOptions),
    /// Write the manual pages
    Man(ManOptions),
}

/// The command line, as clap knows it.
pub(crate) fn command() -> clap::Command {
    let command = Line::command();
    let help = template(&command);
    command.help_template(help)
}

/// The help with commands in groups, which clap has for options alone.
fn template(command: &clap::Command) -> String {
    let heading = *clap::builder::styling::Styles::styled().get_header();
    let name = *clap::builder::styling::Styles::styled().get_literal();
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for Group { what_for, example, commands } in &GROUPS {
        text.push_str(&format!("\n{heading}{what_for}:{heading:#} {example}\n"));
        for &one in *commands {
            let about = match command.find_subcommand(one).and_then(clap::Command::get_about) {
                Some(about) => about.to_string(),
                None => "Print this, or the help of a command".to_owned(),
            };
            text.push_str(&format!("  {name}{one:<12}{name:#}  {about}\n"));
        }
    }
    text.push_str(&format!(
        "\n{heading}Arguments:{heading:#}\n{{positionals}}\n\n{heading}Options:{heading:#}\n"
    ));
    text + "{options}{after-help}"
}

/// Reads the command line. Does not return on wrong usage, `--help` and `--version`.
pub(crate) fn parse(arguments: impl Iterator<Item = OsString>) -> Command {
    let line = command();
    let arguments: Vec<OsString> = arguments.collect();
    if arguments.len() < 2 {
        eprint!("{FIRST}");
        std::process::exit(i32::from(INPUT));
    }
    let arguments = arranged(arguments, &line).unwrap_or_else(|sentence| {
        Failure::input(sentence).tell();
        std::process::exit(i32::from(INPUT))
    });
    let read = line.clone().try_get_matches_from(&arguments).and_then(|read| Line::from_arg_matches(&read));
    let line = read.unwrap_or_else(|error| match usage::sentence(&error, &arguments, &line) {
        Some(sentence) => {
            Failure::input(sentence).tell();
            std::process::exit(i32::from(INPUT))
        }
        None => error.exit(),
    });
    match line.command {
        None => Command::Run(line.run),
        Some(Named::Record(options)) => Command::Record(options),
        Some(Named::Report(options)) => Command::Report(options),
        Some(Named::Open(options)) => Command::Open(options),
        Some(Named::Serve(options)) => Command::Serve(options),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|group| group.commands).copied().collect();
        grouped.retain(|name| *name != "help");
        grouped.sort_unstable();
        let command = Line::command();
        let mut all: Vec<&str> =
            command.get_subcommands().filter(|one| !one.is_hide_set()).map(clap::Command::get_name).collect();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    /// Which each is tried with all the options that it declares.
    #[test]
    fn options_of_commands_do_not_contradict_each_other() {
        command().debug_assert();
    }

    /// Words of a line as a shell has them, without a comment behind them.
    fn words(line: &str) -> Vec<String> {
        let line = line.split("  ").next().unwrap_or_default();
        let mut words = vec![String::new()];
        let mut quote = None;
        for c in line.chars() {
            match (c, quote) {
                ('\'' | '"', None) => quote = Some(c),
                (c, Some(open)) if c == open => quote = None,
                (' ', None) => words.push(String::new()),
                (c, _) => words.last_mut().expect("a word").push(c),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn each_command_has_an_example_that_is_understood() {
        let line = command();
        let commands = line.get_subcommands().filter(|command| !command.is_hide_set());
        for one in commands.chain([&line]) {
            let example = crate::example::example(one);
            let understood = command().try_get_matches_from(words(&example));
            assert!(understood.is_ok(), "{example}: {understood:?}");
        }
    }

    #[test]
    fn command_lines_of_the_documents_are_understood() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
        let mut lines = 0;
        for file in ["README.md", "docs/use.md", "docs/install.md"] {
            let text = std::fs::read_to_string(format!("{root}{file}")).expect("a document");
            let (mut is_code, mut of_code) = (false, Vec::new());
            for line in text.lines() {
                match line.starts_with("```") {
                    true => is_code = !is_code,
                    false if is_code && line.starts_with("holdup ") => of_code.push(line),
                    false => {}
                }
            }
            for line in of_code {
                // What a comment behind one space, or a redirection, begins with.
                let mut words = words(line);
                words.truncate(words.iter().position(|word| word == ">").unwrap_or(words.len()));
                if let Err(error) = command().try_get_matches_from(&words) {
                    panic!("{file}: {line}\n{error}");
                }
                lines += 1;
            }
        }
        assert!(lines > 20, "{lines} command lines");
    }

    #[test]
    fn no_line_of_the_commands_is_wider_than_a_terminal() {
        let help = command().render_help().to_string();
        let commands = help.split("Arguments:").next().unwrap_or_default();
        assert!(commands.contains("\nCompare: holdup scale -t 1,2,4 -- ./app\n"), "{commands}");
        for line in commands.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
