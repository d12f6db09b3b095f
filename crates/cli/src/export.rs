//! `holdup export`.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use flate2::Compression;
use flate2::write::GzEncoder;
use holdup_export::{ExportError, TableFormat, Weight};
use holdup_model::{Doing, Run};

use crate::answer::{self, Diagnosed};
use crate::failure::Failure;
use crate::options::{EarlierOutput, Span};
use crate::progress::Progress;

/// What is collected before it is written.
const BUFFER: usize = 1 << 18;

/// Options of `holdup export`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ExportOptions {
    /// The recording
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
    /// For which tool
    #[arg(long, value_enum)]
    format: Format,
    /// Where to write it: a file (compressed if its name ends in .gz), or a folder for csv and parquet; - is standard output
    /// [default: standard output if it is no terminal, else a name made of the recording's, here]
    #[arg(long, value_name = "PATH")]
    output: Option<PathBuf>,
    #[command(flatten)]
    earlier: EarlierOutput,
    /// Which time folded stacks sum: active, critical (active, divided among those who were), blocked (all that is not
    /// active), or waits for locks and other objects
    #[arg(long, value_enum, default_value_t = Sum::Active)]
    weight: Sum,
    #[command(flatten)]
    span: Span,
}

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A profile for the Firefox Profiler
    Firefox,
    /// A trace for Perfetto
    Perfetto,
    /// Flame graphs for speedscope
    Speedscope,
    /// One line a stack, for flame graph programs
    Folded,
    /// A folder of tables
    Csv,
    /// A folder of tables, for data frames
    Parquet,
}

/// What folded stacks sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sum {
    Active,
    Critical,
    Blocked,
    Wait,
}

impl Sum {
    fn weight(self) -> Weight {
        match self {
            Sum::Active => Weight::Active,
            Sum::Critical => Weight::Critical,
            Sum::Blocked => Weight::Blocked,
            Sum::Wait => Weight::Wait,
        }
    }
}

impl Format {
    /// What a file of this format that nobody named ends with.
    fn ending(self) -> &'static str {
        match self {
            Format::Firefox => ".firefox.json.gz",
            Format::Perfetto => ".pftrace",
            Format::Speedscope => ".speedscope.json",
            Format::Folded => ".folded",
            Format::Csv => ".csv",
            Format::Parquet => ".parquet",
        }
    }

    fn tables(self) -> Option<TableFormat> {
        match self {
            Format::Csv => Some(TableFormat::Csv),
            Format::Parquet => Some(TableFormat::Parquet),
            _ => None,
        }
    }
}

/// Writes a recording in another tool's format.
pub(crate) fn export(options: &ExportOptions) -> Result<ExitCode, Failure> {
    let output = options.earlier.or(options.output.as_deref());
    let is_stdout = output == Some(Path::new("-"));
    match options.format.tables() {
        Some(_) if is_stdout => {
            let why = "this format is a folder of tables, which standard output cannot take; name a folder with --output";
            Err(Failure::input(why))
        }
        Some(format) if !TableFormat::BUILT_IN.contains(&format) => {
            Err(Failure::machine(ExportError::NoParquet))
        }
        Some(format) => {
            let folder = output.map_or_else(|| chosen_name(options), Path::to_path_buf);
            let progress = Progress::start("reading the recording");
            let answer = Diagnosed::of(&options.recording, None, &options.span.part(), &progress)?;
            progress.at("writing tables");
            holdup_export::tables(&answer.run, &answer.diagnoses, format, &folder).map_err(Failure::input)?;
            tell_name(output, &folder);
            Ok(ExitCode::SUCCESS)
        }
        None if is_stdout || (output.is_none() && !io::stdout().is_terminal()) => {
            let run = read(options)?;
            let result = write(&run, options, BufWriter::with_capacity(BUFFER, io::stdout().lock()));
            match result {
                Err(error) if !error.is_broken_pipe() => Err(Failure::input(error)),
                _ => Ok(ExitCode::SUCCESS),
            }
        }
        None => to_file(options, output),
    }
}

fn to_file(options: &ExportOptions, output: Option<&Path>) -> Result<ExitCode, Failure> {
    let path = output.map_or_else(|| chosen_name(options), Path::to_path_buf);
    let run = read(options)?;
    let failed = |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
    // A name that nobody gave takes no file's place.
    let opened = if output.is_some() { File::create(&path) } else { File::create_new(&path) };
    let file = opened
        .map_err(|error| failed(&format!("cannot be written ({error}); name another place with --output")))?;
    let file = BufWriter::with_capacity(BUFFER, file);
    let _progress = Progress::start("writing the export");
    let written = if path.extension().is_some_and(|ending| ending == "gz") {
        let mut packed = GzEncoder::new(file, Compression::default());
        write(&run, options, &mut packed).and_then(|()| Ok(packed.finish()?.flush()?))
    } else {
        write(&run, options, file)
    };
    written.map_err(|error| failed(&error))?;
    tell_name(output, &path);
    Ok(ExitCode::SUCCESS)
}

fn write(run: &Run, options: &ExportOptions, mut out: impl Write) -> Result<(), ExportError> {
    match options.format {
        Format::Firefox => holdup_export::firefox(run, &mut out)?,
        Format::Perfetto => holdup_export::perfetto(run, &mut out)?,
        Format::Speedscope => holdup_export::speedscope(run, &mut out)?,
        Format::Folded => holdup_export::folded(run, options.weight.weight(), &mut out)?,
        Format::Csv | Format::Parquet => {}
    }
    Ok(out.flush()?)
}

/// Reads the recording, without a diagnosis: the formats that are one file have no place for findings.
fn read(options: &ExportOptions) -> Result<Run, Failure> {
    let progress = Progress::start("reading the recording");
    let path = &options.recording;
    let (recording, warnings) = answer::named(path, None, &progress)?;
    let part = options.span.part();
    let run = part.cut(recording.run_from(&warnings, part.sources), path)?;
    let needs_samples = match options.format {
        Format::Folded => matches!(options.weight, Sum::Active | Sum::Critical),
        _ => options.format != Format::Perfetto,
    };
    let is_running =
        |process: &holdup_model::Process| process.samples.iter().any(|look| look.doing == Doing::Running);
    if needs_samples && !run.processes.iter().any(is_running) {
        eprintln!(
            "holdup: the recording has no samples of running threads, so that active time comes without call stacks; \
             see holdup doctor for what would give them"
        );
    }
    Ok(run)
}

/// The recording's name with the format's ending, in the current directory.
fn chosen_name(options: &ExportOptions) -> PathBuf {
    let mut name = options.recording.file_stem().map_or_else(|| OsString::from("export"), OsString::from);
    name.push(options.format.ending());
    PathBuf::from(name)
}

fn tell_name(output: Option<&Path>, path: &Path) {
    if output.is_none() {
        eprintln!("holdup: {}", holdup_report::escaped(&format!("{} written", path.display())));
    }
}
