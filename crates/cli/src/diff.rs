//! `holdup diff`.

use std::path::PathBuf;
use std::process::ExitCode;

use holdup_compare::{Against, compare};
use holdup_report::diff_json_text;

use crate::failure::Failure;
use crate::options::Faces;
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
    #[command(flatten)]
    pub faces: Faces,
}

/// Says what changed from some recordings to others.
pub(crate) fn diff(options: &DiffOptions) -> Result<ExitCode, Failure> {
    let (before, after) = match options.recordings.as_slice() {
        [before, after] => (std::slice::from_ref(before), std::slice::from_ref(after)),
        _ => (options.before.as_slice(), options.after.as_slice()),
    };
    options.faces.check_writable()?;
    options.faces.check_apart(before.iter().chain(after).map(PathBuf::as_path))?;
    let against = if options.against_threads { Against::Threads } else { Against::Change };
    let comparison = compare(&ledgers(before)?, &ledgers(after)?, against)
        .ok_or_else(|| Failure::input("there is nothing to compare; give recordings for both sides"))?;
    options.faces.answer(&comparison.answer(), || diff_json_text(&comparison))?;
    Ok(ExitCode::SUCCESS)
}
