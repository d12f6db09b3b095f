//! `holdup steer`: helps the critical thread while the program runs (paper 4, sections 5.2, 7 and 8).

mod told;

use std::cell::{OnceCell, RefCell};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::ValueEnum;
use holdup_collect::{LiveRun, Setting, start_live};
use holdup_live::Live;
use holdup_pirate::{Change, Guardian, Undo, allowed_cpus, takes_short_turns};
use holdup_policy::{Ratio, Rules, ScheduledOut};
use holdup_steer::{Linux, Options, Rights, Steering, Tool, examine};

use crate::collectors::PRELOAD;
use crate::failure::Failure;
use crate::status::exit_code;
use crate::undo_changes::UNDO_CHANGES;

const AFTER: &str = "\
holdup steer -- ./app args…              helps the thread that the others wait for, as far as that is of use
holdup steer --only own-core -- ./app    by no other means
holdup doctor                            says which means there are

What is printed, what the program returns and what it computes stay the same. What steer did and gained is one line on
standard error, at the end. All that it changes is taken back, also if it is killed. docs/policies.md has more.
Statuses: that of the program (128 + signal if it was killed); 2 wrong usage or input, 3 something is missing on this
machine, both before the program starts.";

/// Options of `holdup steer`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = AFTER)]
pub(crate) struct SteerOptions {
    /// Decide anew after so many milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub slice: u64,
    /// Help a thread whose criticality is more than so many times the smallest
    #[arg(long, value_name = "RATIO", default_value = "1.2", value_parser = ratio)]
    pub alpha: Ratio,
    /// Help it no longer when it is less than this share of the largest
    #[arg(long, value_name = "RATIO", default_value = "0.8", value_parser = ratio)]
    pub beta: Ratio,
    /// By which means [default: all that there are]
    #[arg(long, value_name = "MEANS", value_enum, value_delimiter = ',')]
    pub only: Vec<ToolName>,
    /// Help always, instead of trying whether it is of use and leaving it where it is not
    #[arg(long)]
    pub always: bool,
    /// Say nothing at the end
    #[arg(long)]
    pub quiet: bool,
    /// Say on standard error, as it happens, who is helped and what came of it
    #[arg(long, conflicts_with = "quiet")]
    pub verbose: bool,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM", required = true)]
    pub command: Vec<OsString>,
}

/// What may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolName {
    /// A lower nice value (root, or as far as ulimit -e allows)
    Priority,
    /// A CPU for the thread alone
    OwnCore,
    /// The CPUs that are better than the others
    BestCores,
    /// A floor for the frequency (root)
    Frequency,
}

impl ToolName {
    fn tool(self) -> Tool {
        match self {
            ToolName::Priority => Tool::Priority,
            ToolName::OwnCore => Tool::OwnCore,
            ToolName::BestCores => Tool::BestCores,
            ToolName::Frequency => Tool::Frequency,
        }
    }
}

fn ratio(text: &str) -> Result<Ratio, String> {
    let ratio = text.parse().ok().and_then(Ratio::of);
    ratio.ok_or_else(|| "give a number such as 1.2".to_owned())
}

/// Runs the program, and helps its critical thread.
pub(crate) fn steer(options: &SteerOptions) -> Result<ExitCode, Failure> {
    let (means, _) = examine(Path::new("/"), &allowed_cpus(), Rights::of_this_process());
    let wanted: Vec<Tool> = options.only.iter().map(|name| name.tool()).collect();
    let means = if wanted.is_empty() { means } else { means.only(&wanted) };
    if !means.is_any() {
        return Err(Failure::machine(
            "there is no means to help a thread here: see the lines of steer in holdup doctor",
        ));
    }
    let run = start_live(&options.command, &Setting::default(), PRELOAD)?;
    // Who has nothing to take back needs nobody who does: most programs are short, or have no critical thread.
    let guardian = OnceCell::new();
    // What the kernel still knows of changes when this function ends is taken back by these.
    let changes: RefCell<Vec<Change>> = RefCell::default();
    let guard = |undo: Undo| {
        if guardian.get().is_none() {
            let mut command = Command::new("/proc/self/exe");
            command.arg(UNDO_CHANGES);
            let _ = guardian.set(Guardian::start(command)?);
        }
        let guardian = guardian.get().ok_or(std::io::ErrorKind::NotConnected)?;
        changes.borrow_mut().push(guardian.before(undo)?);
        Ok(())
    };
    let rules = Rules {
        alpha: options.alpha,
        beta: options.beta,
        // A thread that sleeps for a moment is to find help when it wakes.
        scheduled_out: ScheduledOut::Ignored,
        ..Rules::default()
    };
    let slice = Duration::from_millis(options.slice);
    let steered = Options { slice, rules, means, always: options.always };
    let tell = |process, at, event| {
        if options.verbose {
            eprintln!("holdup steer: {}", holdup_report::escaped(&told::line(process, at, &event)));
        }
    };
    // Where it has to wait for a turn, a thread keeps a CPU that it does not need. Without this it is only slower.
    let _ = takes_short_turns();
    let (status, sentence) = follow(&run, Steering::new(steered, &Linux, &guard, &tell));
    let unseen = run.unseen().map(str::to_owned);
    drop(run);
    changes.borrow_mut().clear();
    if !options.quiet {
        eprintln!("holdup steer: {}", holdup_report::escaped(&unseen.unwrap_or(sentence)));
    }
    Ok(exit_code(status))
}

/// Steers until the program has ended; gives its status and what is said of it.
fn follow(run: &LiveRun, mut steering: Steering<'_>) -> (std::process::ExitStatus, String) {
    const LONG: Duration = Duration::from_secs(3600);
    let mut live = match Live::open(run.directory()) {
        Ok(live) => live,
        Err(error) => loop {
            if let Some(status) = run.wait(LONG) {
                return (status, error.to_string());
            }
        },
    };
    let mut pause = Duration::ZERO;
    loop {
        if let Some(status) = run.wait(pause) {
            return (status, told::sentence(&steering.finish(), allowed_cpus().len()));
        }
        pause = steering.step(&mut live);
    }
}
