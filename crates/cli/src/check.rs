//! `holdup check`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use holdup_compare::{Budget, Ledger, Missing, Verdict, judge, parse_budget};
use holdup_model::figures::percent;
use holdup_report::{check_github, check_json_text, check_junit, check_sarif, render_check};
use serde::Deserialize;
use toml::Spanned;

use crate::failure::Failure;
use crate::options::Answered;
use crate::several::ledgers;

/// The share of the CPUs' time above which others make a run's times say little.
const MAX_LOAD: f64 = 0.2;

/// A budget is exceeded.
const EXCEEDED: u8 = 1;

const GRAMMAR: &str = "\
Budgets:
  wall<=2.5s  cpu<=8s  efficiency>=0.7  parallelism>=3
  lock:NAME<=5%      what a lock costs, as a share of the wall time or as a time; also object:NAME
  site:FUNCTION<=2%  what threads wait in a function; function:NAME, its critical time
  thread:NAME<=40%   criticality of threads by start function or name; region:LABEL<=1s
  finding:KIND<=3%   each finding of a kind (holdup explain lists them); cost:KIND, all of it
  regression<=5%     how much longer than the --baseline
In names * stands for any text and ? for any character, unless they are in single quotes. Operators are <=, <, >= and >.

Statuses: 0 all budgets are held, 1 one is not, 2 wrong usage or input, or others used the CPUs too much to judge.";

/// Options of `holdup check`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = GRAMMAR)]
pub(crate) struct CheckOptions {
    /// The recording; with several of one program their means are judged
    #[arg(value_name = "FILE", required = true)]
    pub recordings: Vec<PathBuf>,
    /// A limit, such as 'lock:cache_lock<=5%' (may be given several times)
    #[arg(long = "budget", value_name = "BUDGET", required_unless_present = "budget_file")]
    pub budgets: Vec<String>,
    /// A TOML file with a list `budget`, and perhaps `baseline`, `max-load` and `allow-missing`
    #[arg(long, value_name = "FILE")]
    pub budget_file: Option<PathBuf>,
    /// What `regression` is measured against: one recording, or better several
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub baseline: Vec<PathBuf>,
    /// Recordings of which other programs used more of the CPUs' time are not judged [default: 20%]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub max_load: Option<f64>,
    /// Names that no recording has are no error
    #[arg(long)]
    pub allow_missing: bool,
    /// How to print what became of the budgets
    #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    pub format: Format,
    #[command(flatten)]
    pub answered: Answered,
}

/// How verdicts are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a terminal
    Text,
    /// As docs/json-schema/check.schema.json says
    Json,
    /// JUnit's XML
    Junit,
    /// Workflow commands of GitHub: annotations at the lines of the source
    Github,
    /// SARIF 2.1.0, for reviews: results at the lines of the source
    Sarif,
}

/// Says whether recordings keep to budgets.
pub(crate) fn check(options: &CheckOptions) -> Result<ExitCode, Failure> {
    let file = options.budget_file.as_deref().map(BudgetFile::read).transpose()?.unwrap_or_default();
    let mut budgets = file.budgets;
    for text in &options.budgets {
        budgets.push(parse_budget(text).map_err(Failure::input)?);
    }
    if budgets.is_empty() {
        return Err(Failure::input(
            "there is no budget to keep to; give one with --budget, or write one into the file",
        ));
    }
    let baseline = if options.baseline.is_empty() { &file.baseline } else { &options.baseline };
    let missing =
        if options.allow_missing || file.allow_missing { Missing::Allowed } else { Missing::Refused };
    let max_load = options.max_load.or(file.max_load).unwrap_or(MAX_LOAD);
    let runs = ledgers_beside(max_load, &options.recordings)?;
    let baseline = ledgers_beside(max_load, baseline)?;
    let verdicts = judge(&budgets, &runs, &baseline, missing).map_err(Failure::input)?;
    let text = |look| match options.format {
        Format::Text => render_check(&verdicts, look),
        Format::Json => check_json_text(&verdicts),
        Format::Junit => check_junit(runs.first().map_or("", |run| run.program()), &verdicts),
        Format::Github => check_github(&verdicts, repository().as_deref()),
        Format::Sarif => check_sarif(&verdicts, repository().as_deref()),
    };
    options.answered.show(|| check_json_text(&verdicts), text)?;
    let holds = verdicts.iter().all(Verdict::holds);
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::from(EXCEEDED) })
}

/// The ledgers of recordings beside which others did not use more than that share of the CPUs' time.
fn ledgers_beside(max_load: f64, recordings: &[PathBuf]) -> Result<Vec<Ledger>, Failure> {
    let runs = ledgers(recordings)?;
    for (path, run) in recordings.iter().zip(&runs) {
        if let Some(others) = run.others().filter(|others| *others > max_load) {
            return Err(Failure::input(format!(
                "{}: others used {} of the CPUs' time, so it cannot be judged; record it again when nothing else runs, or allow \
                 more than {} with --max-load",
                path.display(),
                percent(others),
                percent(max_load)
            )));
        }
    }
    Ok(runs)
}

/// `20%` or `0.2`.
fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let share = number.trim().parse::<f64>().map(|number| number / unit);
    share
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "a share is 0% to 100%, as in 20%".to_owned())
}

/// The folder from which GitHub names files.
fn repository() -> Option<String> {
    let told = std::env::var("GITHUB_WORKSPACE").ok().filter(|folder| !folder.is_empty());
    let here = || std::env::current_dir().ok()?.to_str().map(str::to_owned);
    told.or_else(here).map(|folder| folder.trim_end_matches('/').to_owned())
}

/// What a file of budgets says.
#[derive(Default)]
struct BudgetFile {
    budgets: Vec<Budget>,
    baseline: Vec<PathBuf>,
    max_load: Option<f64>,
    allow_missing: bool,
}

/// The form of that file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Form {
    budget: Vec<Spanned<String>>,
    #[serde(default)]
    baseline: Vec<PathBuf>,
    max_load: Option<Spanned<String>>,
    #[serde(default)]
    allow_missing: bool,
}

impl BudgetFile {
    fn read(path: &Path) -> Result<BudgetFile, Failure> {
        let text = fs::read_to_string(path).map_err(|error| {
            Failure::input(format!(
                "{}: the budgets cannot be read ({error}); a budget alone is --budget 'wall<=2.5s'",
                path.display()
            ))
        })?;
        let wrong = |at: usize, what: &dyn std::fmt::Display| {
            let before = text.get(..at).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            Failure::input(format!("{}, line {line}, column {column}: {what}", path.display()))
        };
        let form: Form = toml::from_str(&text).map_err(|error| {
            let said = error.message().replace('\n', "; ");
            wrong(error.span().map_or(0, |span| span.start), &said)
        })?;
        let budget = |text: &Spanned<String>| {
            parse_budget(text.get_ref()).map_err(|error| wrong(text.span().start, &error))
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        Ok(BudgetFile {
            budgets: form.budget.iter().map(budget).collect::<Result<_, _>>()?,
            baseline: form.baseline.iter().map(|file| folder.join(file)).collect(),
            max_load: form
                .max_load
                .map(|text| share(text.get_ref()).map_err(|error| wrong(text.span().start, &error)))
                .transpose()?,
            allow_missing: form.allow_missing,
        })
    }
}
