//! `holdup diff`.

use std::path::PathBuf;
use std::process::ExitCode;

use holdup_compare::{Against, compare};
use holdup_report::{diff_json_text, render_diff};

use crate::answer::{self, Color};
use crate::failure::Failure;
use crate::several::ledgers;

/// Options of `holdup diff`.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct DiffOptions {
    /// The recording before a change, and the one after it
    #[arg(value_names = ["BEFORE", "AFTER"], num_args = 2, required_unless_present_any = ["before", "after"])]
    pub recordings: Vec<PathBuf>,
    /// Several recordings from before the change: differences then have intervals
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "recordings", requires = "after")]
    pub before: Vec<PathBuf>,
    /// Several recordings from after it
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "recordings", requires = "before")]
    pub after: Vec<PathBuf>,
    /// The same work with few threads (before) and with many (after): say what keeps it from scaling
    #[arg(long)]
    pub against_threads: bool,
    /// Print JSON, as docs/json-schema/diff.schema.json says
    #[arg(long)]
    pub json: bool,
    /// Where to write the answer [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

/// Says what changed from some recordings to others.
pub(crate) fn diff(options: &DiffOptions) -> Result<ExitCode, Failure> {
    let (before, after) = match options.recordings.as_slice() {
        [before, after] => (std::slice::from_ref(before), std::slice::from_ref(after)),
        _ => (options.before.as_slice(), options.after.as_slice()),
    };
    let against = if options.against_threads { Against::Threads } else { Against::Change };
    let comparison = compare(&ledgers(before)?, &ledgers(after)?, against)
        .ok_or_else(|| Failure::input("there is nothing to compare; give recordings for both sides"))?;
    let look = answer::look(options.color, &std::io::stdout(), options.output.is_some());
    let text = if options.json { diff_json_text(&comparison) } else { render_diff(&comparison, look) };
    answer::write(&text, options.output.as_deref(), std::io::stdout())?;
    Ok(ExitCode::SUCCESS)
}
