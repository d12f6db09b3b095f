//! `holdup open`: the page of a recording, in the browser.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Args;

use crate::failure::Failure;
use crate::report::page_of;

/// Options of `holdup open`.
#[derive(Args, Clone, Debug)]
pub(crate) struct OpenOptions {
    /// The recording; of several of one program that with the median wall time is told, with what the others say
    #[arg(value_name = "FILE", required = true)]
    pub recordings: Vec<PathBuf>,
    /// Leave the program's source out of the page
    #[arg(long)]
    pub no_source: bool,
}

/// Makes the page in a file of the user's own, and has the browser show it.
pub(crate) fn open(options: &OpenOptions) -> Result<ExitCode, Failure> {
    let page = page_of(&options.recordings, options.no_source)?;
    let path = written(&options.recordings[0], &page).map_err(|error| {
        Failure::machine(format!(
            "the page cannot be written into {}: {error}",
            std::env::temp_dir().display()
        ))
    })?;
    println!("page: {}", holdup_report::escaped(&path.display().to_string()));
    if !browsers().into_iter().any(|browser| starts(&browser, &path)) {
        eprintln!("holdup: no browser was found (BROWSER, xdg-open): open that file in one");
    }
    Ok(ExitCode::SUCCESS)
}

/// Only the user can read it, like the recording.
fn written(recording: &Path, page: &str) -> std::io::Result<PathBuf> {
    let name = recording.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut file = tempfile::Builder::new().prefix(&format!("{name}-")).suffix(".html").tempfile()?;
    file.write_all(page.as_bytes())?;
    Ok(file.into_temp_path().keep()?)
}

/// Commands to try, as words: those of `BROWSER`, then the desktop's own.
fn browsers() -> Vec<Vec<String>> {
    let named = std::env::var("BROWSER").unwrap_or_default();
    named
        .split(':')
        .chain(["xdg-open"])
        .map(|command| command.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .filter(|words| !words.is_empty())
        .collect()
}

/// Whether a browser could be started with the page: in place of its `%s`, else behind.
fn starts(browser: &[String], page: &Path) -> bool {
    let mut command = Command::new(&browser[0]);
    let takes = browser.iter().any(|word| word == "%s");
    for word in &browser[1..] {
        match word.as_str() {
            "%s" => command.arg(page),
            word => command.arg(word),
        };
    }
    if !takes {
        command.arg(page);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
}
