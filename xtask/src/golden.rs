//! `cargo xtask golden`: recordings that are kept, and what every command says of them.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use holdup_stage::golden::{self, Change, Outputs, Recipe, Shown, Subject};

use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Record again what tests/recordings/list.tsv lists: other times, and so other answers
    Make(Make),
    /// Say what the commands say otherwise than when it was last accepted; 1 if there is something
    Diff(Compared),
    /// The same, and take it as right from now on
    Accept(Compared),
}

#[derive(Args)]
struct Make {
    #[command(flatten)]
    chosen: Chosen,
    /// Only recordings that are not there yet
    #[arg(long)]
    missing: bool,
}

#[derive(Args)]
struct Compared {
    #[command(flatten)]
    chosen: Chosen,
    /// Show all that changes, however much it is
    #[arg(long)]
    all: bool,
}

#[derive(Args)]
struct Chosen {
    /// Only these recordings and questions
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The holdup binary [default: the one that is built now, without optimization]
    #[arg(long, value_name = "FILE")]
    holdup: Option<PathBuf>,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    match &options.what {
        What::Make(options) => make(workspace, &options.chosen, options.missing),
        What::Diff(options) => diff(workspace, options, false),
        What::Accept(options) => diff(workspace, options, true),
    }
}

impl Chosen {
    /// The binary to ask, which may be anywhere.
    fn holdup(&self, workspace: &Workspace) -> Result<PathBuf> {
        if let Some(holdup) = &self.holdup {
            return holdup.canonicalize().with_context(|| format!("{}: no such file", holdup.display()));
        }
        let status = workspace.cargo().args(["build", "--package", "holdup"]).status()?;
        if !status.success() {
            bail!("holdup cannot be built");
        }
        let own = std::env::current_exe().context("where this program is")?;
        Ok(own.with_file_name("holdup"))
    }

    /// Those of all that were chosen, by name.
    fn of<T>(&self, all: Vec<T>, name: impl Fn(&T) -> &str) -> Result<Vec<T>> {
        if let Some(unknown) = self.names.iter().find(|wanted| !all.iter().any(|one| name(one) == **wanted)) {
            bail!("{unknown}: neither list.tsv nor questions.tsv in tests/recordings has it");
        }
        let is_chosen =
            |one: &T| self.names.is_empty() || self.names.iter().any(|wanted| wanted == name(one));
        Ok(all.into_iter().filter(is_chosen).collect())
    }
}

fn make(workspace: &Workspace, chosen: &Chosen, missing: bool) -> Result<ExitCode> {
    let holdup = chosen.holdup(workspace)?;
    let mut failed = 0;
    for recipe in chosen.of(golden::recipes(), |recipe: &Recipe| &recipe.name)? {
        if missing && recipe.path().exists() {
            continue;
        }
        match golden::make(&recipe, &holdup) {
            Ok(found) => println!("{:<28} {found}", recipe.name),
            Err(error) => {
                failed += 1;
                println!("{:<28} not made: {error}", recipe.name);
            }
        }
    }
    println!("Now look at what `cargo xtask golden accept` says of them.");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn diff(workspace: &Workspace, options: &Compared, accept: bool) -> Result<ExitCode> {
    let chosen = &options.chosen;
    let holdup = chosen.holdup(workspace)?;
    let mut changed: Vec<(String, Vec<Change>)> = Vec::new();
    let mut new = Vec::new();
    for subject in chosen.of(Subject::all(), |subject: &Subject| &subject.name)? {
        let now = Outputs::of(&subject, &holdup);
        let kept = Outputs::kept(&subject.name).map_err(anyhow::Error::msg)?;
        match &kept {
            Some(kept) if *kept == now => {}
            Some(kept) => changed.push((subject.name.clone(), golden::changes(&subject, kept, &now))),
            None => new.push(subject.name.clone()),
        }
        if accept {
            now.keep(&subject).map_err(anyhow::Error::msg)?;
        }
    }
    let shown = if options.all { Shown::ALL } else { Shown::SOME };
    print!("{}", golden::table(&changed, shown));
    if !new.is_empty() {
        println!("new: {}", new.join(", "));
    }
    let count = changed.len() + new.len();
    match (count, accept) {
        (0, _) => println!("Every command says what it said."),
        (_, true) => println!("Accepted; git diff tests/golden shows the text of {count}."),
        (_, false) => println!("{count} differ; `cargo xtask golden accept` takes this as right."),
    }
    Ok(if count == 0 || accept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
