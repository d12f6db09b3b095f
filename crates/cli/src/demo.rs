//! `holdup demo`: a small program with planted problems, which travels inside `holdup`, is run and diagnosed.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use flate2::write::GzDecoder;
use holdup_collect::{Options, record};

use crate::answer::{self, Color, Diagnosed, Part};
use crate::collectors::PRELOAD;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::status::exit_code;

/// What the build script made of `workloads/demo/thumbnails.c`, packed by gzip.
static PROGRAM: &[u8] = include_bytes!(env!("HOLDUP_DEMO"));

/// Options of `holdup demo`.
#[derive(Args, Clone, Debug)]
pub(crate) struct DemoOptions {
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

/// Runs the program and says what holds it up.
pub(crate) fn demo(options: &DemoOptions) -> Result<ExitCode, Failure> {
    let directory = answer::passing_directory("holdup-demo-").map_err(|error| {
        Failure::machine(format!("no directory for the demonstration ({error}); set TMPDIR"))
    })?;
    let program = directory.path().join("thumbnails");
    let recording = directory.path().join("thumbnails.holdup");
    unpack(&program)
        .map_err(|error| Failure::machine(format!("{}: {error}; set TMPDIR", program.display())))?;
    eprintln!("holdup demo: thumbnails holds a lock while it computes, and deals its rows out unevenly.");
    let command: Vec<OsString> = vec![program.into()];
    let ended = record(&command, &Options::new(&recording), PRELOAD)?;
    let look = answer::look(options.color, false, &std::io::stdout(), false);
    let progress = Progress::start("finding names");
    let answer = Diagnosed::of(&recording, Some(&ended.file), &Part::default(), &progress)?;
    drop(progress);
    answer::write(&answer.text(false, look), None, std::io::stdout())?;
    Ok(exit_code(ended.status))
}

fn unpack(to: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o700).open(to)?;
    let mut unpacking = GzDecoder::new(file);
    unpacking.write_all(PROGRAM)?;
    unpacking.finish()?;
    Ok(())
}
