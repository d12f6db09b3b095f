//! `cargo xtask bench sim`: how fast programs are simulated, against running natively and against only decoding what was
//! recorded; what share of it all recording takes; how that and the memory grow with cores and with length.
//!
//! All steps of a case take turns with the others', so that a machine that slows down slows all of them.

mod kernels;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use super::measure::{Spread, printed};
use super::process::{Ran, run_to_end};
use super::{Options, input, the_holdup, warn_of_load};
use crate::workspace::Workspace;
use kernels::Case;
use table::{Row, Table};

/// The machine that is simulated: sockets are added where it has fewer cores.
const MACHINE: &str = "dunnington";
/// Bytes that the compressor gets.
const COMPRESSED: usize = 4 << 20;
const COMPRESSED_QUICK: usize = 1 << 20;

/// What is run.
struct Bench {
    holdup: PathBuf,
    /// Decodes a recording, and nothing else.
    decoder: PathBuf,
    scratch: PathBuf,
}

/// Of one turn of a case.
#[derive(Clone, Copy, Default)]
struct Turn {
    native_s: f64,
    record_s: f64,
    decode_s: f64,
    simulate_s: f64,
    mips: f64,
    instructions: f64,
    peak_mib: f64,
}

/// Measures, and prints the tables. `part` chooses cases by a part of their names.
pub(super) fn run(workspace: &Workspace, options: &Options, part: Option<&str>) -> Result<ExitCode> {
    let runs = options.runs.unwrap_or(if options.quick { 1 } else { 3 });
    let scratch = tempfile::tempdir().context("no room for recordings")?;
    let bench = Bench {
        holdup: the_holdup(workspace, options)?,
        decoder: build_decoder(workspace)?,
        scratch: scratch.path().to_owned(),
    };
    let compressed = compressor_input(&bench.scratch, options.quick)?;
    warn_of_load();
    for (heading, cases) in [("cores", kernels::by_cores()), ("length", kernels::by_length())] {
        let mut table = Table::default();
        for case in cases.iter().filter(|case| part.is_none_or(|part| case.name().contains(part))) {
            eprintln!("xtask: {}", case.name());
            table.push(measure(workspace, &bench, case, &compressed, runs, options.quick)?);
        }
        if !table.is_empty() {
            println!("growth with {heading}, on {MACHINE}\n{table}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The first bytes of what the other benchmarks compress whole.
fn compressor_input(scratch: &Path, quick: bool) -> Result<PathBuf> {
    let whole = fs::read(input::make(scratch, true)?)?;
    let path = scratch.join("compressed");
    fs::write(&path, &whole[..whole.len().min(if quick { COMPRESSED_QUICK } else { COMPRESSED })])?;
    Ok(path)
}

fn build_decoder(workspace: &Workspace) -> Result<PathBuf> {
    let words = ["build", "--release", "--package", "holdup-recording", "--example", "decode"];
    if !workspace.cargo().args(words).status()?.success() {
        bail!("the example decode of holdup-recording cannot be built");
    }
    Ok(workspace.metadata()?.target_directory.join("release/examples/decode"))
}

fn measure(
    workspace: &Workspace,
    bench: &Bench,
    case: &Case,
    compressed: &Path,
    runs: u32,
    quick: bool,
) -> Result<Row> {
    let program = case.kernel.build(workspace, &bench.scratch)?;
    let arguments = case.arguments(quick, compressed);
    let turns: Vec<Turn> = (0..runs)
        .map(|_| turn(bench, case, &program, &arguments).with_context(|| case.name()))
        .collect::<Result<_>>()?;
    let of = |figure: fn(&Turn) -> f64| Spread::of(turns.iter().map(figure).collect()).context("no runs");
    Ok(Row {
        name: case.name(),
        instructions: of(|turn| turn.instructions)?,
        mips: of(|turn| turn.mips)?,
        by_native: of(|turn| turn.simulate_s / turn.native_s)?,
        by_decoding: of(|turn| turn.simulate_s / turn.decode_s)?,
        recording: of(|turn| turn.record_s / (turn.record_s + turn.simulate_s))?,
        peak_mib: of(|turn| turn.peak_mib)?,
    })
}

/// Runs a program natively on one core, records it, decodes and simulates what was recorded.
fn turn(bench: &Bench, case: &Case, program: &Path, arguments: &[String]) -> Result<Turn> {
    let recording = bench.scratch.join("recording.holdup");
    // A recording that is there is not written over.
    let _ = fs::remove_file(&recording);
    let native = run_to_end(Command::new("taskset").args(["-c", "0"]).arg(program).args(arguments))?;
    let mut record = Command::new(&bench.holdup);
    record.args(["record", "--instructions=stream", "--size-limit", "65536", "-o"]).arg(&recording);
    let record = run_to_end(record.arg("--").arg(program).args(arguments))?;
    let decode = run_to_end(Command::new(&bench.decoder).arg(&recording))?;
    let mut simulate = Command::new(&bench.holdup);
    simulate.arg("sim").arg(&recording).args(["--machine", MACHINE, "--jobs", "1", "--json", "--speed"]);
    let simulated = run_to_end(simulate.args(["--cores", &case.cores.to_string()]))?;
    let (mips, instructions) = speed(&simulated)?;
    let kernel_s = |ran: &Ran| printed(&ran.stdout, "kernel_ns").map(|ns| ns / 1e9);
    let decode_ns = printed(&decode.stdout, "decode_ns").context("the decoder printed no decode_ns")?;
    Ok(Turn {
        native_s: kernel_s(&native).unwrap_or(native.seconds),
        record_s: record.seconds,
        decode_s: decode_ns / 1e9,
        simulate_s: instructions / mips / 1e6,
        mips,
        instructions,
        peak_mib: simulated.peak_mib,
    })
}

/// Million instructions each second, and how many there were.
fn speed(simulated: &Ran) -> Result<(f64, f64)> {
    let json: serde_json::Value =
        serde_json::from_slice(&simulated.stdout).context("holdup sim --json gave no JSON")?;
    let mips = json["speed"]["mips"].as_f64();
    let instructions = json["instructions"].as_f64();
    mips.zip(instructions).context("no speed in what holdup sim --json said")
}
