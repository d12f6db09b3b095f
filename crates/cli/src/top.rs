//! `holdup top`: criticality while the program runs.

mod held;
mod lines;
mod metrics;
mod screen;
mod source;
mod ui;
mod view;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use holdup_collect::{Setting, start_live};

use crate::collectors::PRELOAD;
use crate::failure::Failure;
use crate::options::{Answered, EarlierOutput, pid};
use crate::seconds::seconds;
use crate::status::exit_code;
use held::Held;
use view::Order;
use watch::Outlet;

/// Options of `holdup top`.
#[derive(Args, Clone, Debug)]
pub(crate) struct TopOptions {
    /// Follow a process that runs already, from outside
    #[arg(long, value_name = "PID", conflicts_with = "command", value_parser = pid)]
    pub pid: Option<u32>,
    /// Seconds between two looks
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    pub interval: Duration,
    /// Leave after so many looks; a program that holdup started goes on
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// What threads are sorted by at first
    #[arg(long, value_enum, default_value_t = Order::Now)]
    pub sort: Order,
    /// Print lines instead of a screen, as where there is no terminal
    #[arg(long)]
    pub batch: bool,
    #[command(flatten)]
    pub answered: Answered,
    #[command(flatten)]
    pub earlier: EarlierOutput,
    /// Give the figures to monitoring as OpenMetrics, on this port of 127.0.0.1 [default: one that is free]
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    pub metrics: Option<u16>,
    /// With --pid: look at /proc instead of recording each context switch, which is an estimate and costs the program nothing
    #[arg(long, requires = "pid")]
    pub looks: bool,
    /// The program and its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM",
        required_unless_present = "pid"
    )]
    pub command: Vec<OsString>,
}

/// Shorter intervals show nothing that an eye could follow, and cost more.
fn interval(text: &str) -> Result<Duration, String> {
    let length = seconds(text)?;
    let allowed = Duration::from_millis(50)..=Duration::from_secs(3600);
    if allowed.contains(&length) { Ok(length) } else { Err("give 0.05 to 3600 seconds".to_owned()) }
}

/// Follows a program until it ends, or until its user has seen enough.
pub(crate) fn top(options: &TopOptions) -> Result<ExitCode, Failure> {
    match options.pid {
        Some(pid) => {
            let outlet = Outlet::choose(options, true)?;
            let source = source::Source::running(pid, options.looks)?;
            watch::watch(options, outlet, source, None)?;
            Ok(ExitCode::SUCCESS)
        }
        None => run(options),
    }
}

/// Runs a program and follows it; its status is the result, whenever its user has seen enough.
fn run(options: &TopOptions) -> Result<ExitCode, Failure> {
    /// How long one wait for its end takes; it is repeated.
    const LONG: Duration = Duration::from_secs(3600);
    /// As long as what it writes comes by way of us.
    const SHORT: Duration = Duration::from_millis(50);
    let outlet = Outlet::choose(options, false)?;
    let mut held = match &outlet {
        Outlet::Screen { .. } => Some(Held::new().map_err(|error| {
            Failure::machine(format!(
                "no file can be made to hold the program's output ({error}); set TMPDIR"
            ))
        })?),
        Outlet::Lines(_) => None,
    };
    let path = held.as_ref().and_then(|held| held.path().map(Into::into));
    let setting = Setting { held: path, ..Setting::default() };
    let run = Arc::new(start_live(&options.command, &setting, PRELOAD)?);
    // From here on what the program does counts, whatever becomes of the view.
    held = held.and_then(|held| held.taken().ok());
    let followed =
        source::Source::started(&run, options.command.first().map_or("".as_ref(), |program| program));
    let shown = followed.and_then(|source| watch::watch(options, outlet, source, held.as_mut()));
    let _ = shown.map_err(|failure| failure.tell());
    loop {
        let status = run.wait(if held.is_some() { SHORT } else { LONG });
        // Where the terminal is gone, nobody misses it.
        held.as_mut().map(Held::show);
        if let Some(status) = status {
            return Ok(exit_code(status));
        }
    }
}
