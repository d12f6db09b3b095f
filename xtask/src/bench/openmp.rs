//! `cargo xtask bench openmp`: what recording costs OpenMP programs, as a table in the manner of paper 5's Table 1.
//!
//! Codes with loops, single constructs and programs full of locks, each from gcc and from clang, each run plain, with
//! the injected library present but not recording (what passing through costs), and recorded; LLVM's runtime with an idle
//! tool attached as well, since that is what a recording there is held against. The runs take turns.

mod codes;
mod table;
mod ways;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::measure::{Spread, printed};
use super::ways::last_line;
use super::{Options, the_holdup, warn_of_load};
use crate::workspace::Workspace;
use codes::Code;
pub(super) use codes::Compiler;
use table::{Row, Table};
use ways::{Way, ways_of};

/// Measures, and prints the table. `part` chooses codes by a part of their names, or of their compiler's.
pub(super) fn run(workspace: &Workspace, options: &Options, part: Option<&str>) -> Result<ExitCode> {
    let runs = options.runs.unwrap_or(if options.quick { 3 } else { 9 });
    let holdup = the_holdup(workspace, options)?;
    let scratch = tempfile::tempdir().context("no room for recordings")?;
    let scratch = scratch.path();
    warn_of_load();
    let mut table = Table::default();
    for compiler in Compiler::ALL {
        if let Err(error) = compiler.answers() {
            eprintln!("xtask: without {}: {error:#}", compiler.name());
            continue;
        }
        let ways = ways_of(compiler, workspace, &holdup, scratch)?;
        for code in codes::ALL {
            let name = format!("{} {}", code.name, compiler.name());
            if part.is_some_and(|part| !name.contains(part)) {
                continue;
            }
            eprintln!("xtask: {name}");
            let row = match measure(workspace, scratch, code, compiler, &ways, runs) {
                Ok(figures) => Row { code, compiler, figures },
                Err(error) => {
                    eprintln!("xtask: without {name}: {error:#}");
                    continue;
                }
            };
            table.push(row);
        }
    }
    print!("{table}");
    Ok(ExitCode::SUCCESS)
}

/// What one code took in one way, over all runs.
#[derive(Clone, Copy, Debug)]
struct Figure {
    /// The figure that the program prints or, where it prints none, its wall time: in ns.
    inside: Spread,
    /// The wall time of the whole command in ns, a recorder's start and end included.
    whole: Spread,
}

/// One figure for each way, in their order.
fn measure(
    workspace: &Workspace,
    scratch: &Path,
    code: &Code,
    compiler: Compiler,
    ways: &[Way],
    runs: u32,
) -> Result<Vec<Figure>> {
    let program = build(workspace, scratch, code, compiler)?;
    once(code, &program, &ways[0])?;
    let mut taken: Vec<(Vec<f64>, Vec<f64>)> = ways.iter().map(|_| Default::default()).collect();
    for _ in 0..runs {
        for (way, (inside, whole)) in ways.iter().zip(&mut taken) {
            let (figure, wall) = once(code, &program, way).with_context(|| way.name)?;
            inside.push(figure);
            whole.push(wall);
        }
    }
    let spread = |values: Vec<f64>| Spread::of(values).context("no run");
    taken
        .into_iter()
        .map(|(inside, whole)| Ok(Figure { inside: spread(inside)?, whole: spread(whole)? }))
        .collect()
}

fn build(workspace: &Workspace, scratch: &Path, code: &Code, compiler: Compiler) -> Result<PathBuf> {
    let stem = code.source.replace('/', "_");
    let program = scratch.join(format!("{stem}.{}", compiler.name()));
    if program.exists() {
        return Ok(program);
    }
    let output = workspace
        .command(compiler.command())
        .args(["-std=gnu11", "-O2", "-g", "-pthread", "-fopenmp", "-o"])
        .arg(&program)
        .arg(code.source)
        .arg("-lm")
        .output()?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(program)
}

/// One run: the printed figure and the wall time, both in ns.
fn once(code: &Code, program: &Path, way: &Way) -> Result<(f64, f64)> {
    let mut command: Command = way.command(program);
    command.args(code.arguments).stdin(Stdio::null());
    let begin = Instant::now();
    let output = command.output()?;
    let wall = begin.elapsed().as_secs_f64() * 1e9;
    if !output.status.success() {
        bail!("{}: {}", output.status, last_line(&output.stderr));
    }
    let inside = match code.figure {
        Some(figure) => printed(&output.stdout, figure).with_context(|| format!("printed no {figure}"))?,
        None => way.program_ns().transpose()?.unwrap_or(wall),
    };
    Ok((inside, wall))
}
