//! `holdup demo`: a small program with planted problems, built here and diagnosed.

use std::ffi::OsString;
use std::fs;
use std::process::{Command, ExitCode};

use clap::Args;
use holdup_collect::{Options, record};

use crate::answer::{self, Color, Diagnosed, Part};
use crate::collectors::PRELOAD;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::status::exit_code;

const SOURCE: &str = include_str!("../../../workloads/demo/thumbnails.c");
const SOURCE_NAME: &str = "thumbnails.c";

/// Options of `holdup demo`.
#[derive(Args, Clone, Debug)]
pub(crate) struct DemoOptions {
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

/// Builds the program, runs it and says what holds it up.
pub(crate) fn demo(options: &DemoOptions) -> Result<ExitCode, Failure> {
    let directory = answer::passing_directory("holdup-demo-").map_err(|error| {
        Failure::machine(format!("no directory for the demonstration ({error}); set TMPDIR"))
    })?;
    let source = directory.path().join(SOURCE_NAME);
    let program = directory.path().join("thumbnails");
    let recording = directory.path().join("thumbnails.holdup");
    fs::write(&source, SOURCE).map_err(|error| Failure::machine(format!("{}: {error}", source.display())))?;
    eprintln!("holdup demo: {SOURCE_NAME} holds a lock while it computes, and deals its rows out unevenly.");
    let built = Command::new("cc").args(["-O2", "-g", "-pthread", "-o"]).arg(&program).arg(&source).status();
    match built {
        Ok(status) if status.success() => {}
        Ok(status) => {
            return Err(Failure::machine(format!("cc could not build the demonstration ({status})")));
        }
        Err(error) => {
            return Err(Failure::machine(format!(
                "cc cannot be run ({error}); install a C compiler (Debian: apt-get install gcc libc6-dev)"
            )));
        }
    }
    let command: Vec<OsString> = vec![program.into()];
    let ended = record(&command, &Options::new(&recording), PRELOAD)?;
    let look = answer::look(options.color, false, &std::io::stdout(), false);
    let progress = Progress::start("finding names");
    let answer = Diagnosed::of(&recording, Some(&ended.file), &Part::default(), &progress)?;
    drop(progress);
    answer::write(&answer.text(false, look), None, std::io::stdout())?;
    Ok(exit_code(ended.status))
}
