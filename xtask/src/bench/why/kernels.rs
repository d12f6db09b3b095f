//! The programs that are counted.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::ways::Flags;
use crate::workspace::Workspace;

/// A program, and what holdup wants of it.
pub(super) struct Kernel {
    pub(super) name: &'static str,
    /// Its source; without, it is installed and reads a file whose path comes last.
    pub(super) source: Option<&'static str>,
    words: &'static [&'static str],
    quick: &'static [&'static str],
    /// The figure that it prints; without, its wall time.
    pub(super) figure: Option<&'static str>,
    /// How many times as long it may take while edges are counted.
    pub(super) at_most: f64,
}

pub(super) const ALL: &[Kernel] = &[
    Kernel {
        name: "integer, 1 thread",
        source: Some("bench/why/integer.c"),
        words: &["1", "150"],
        quick: &["1", "30"],
        figure: Some("kernel_ns"),
        at_most: 8.0,
    },
    Kernel {
        name: "integer, 2 threads",
        source: Some("bench/why/integer.c"),
        words: &["2", "150"],
        quick: &["2", "30"],
        figure: Some("kernel_ns"),
        at_most: 8.0,
    },
    Kernel {
        name: "floating point, LU of 700",
        source: Some("bench/why/lu.c"),
        words: &["700"],
        quick: &["300"],
        figure: Some("kernel_ns"),
        at_most: 20.0,
    },
    Kernel {
        name: "pigz, 1 thread",
        source: None,
        words: &["-c", "-k", "-p", "1"],
        quick: &["-c", "-k", "-p", "1"],
        figure: None,
        at_most: 8.0,
    },
    Kernel {
        name: "pigz, 2 threads",
        source: None,
        words: &["-c", "-k", "-p", "2"],
        quick: &["-c", "-k", "-p", "2"],
        figure: None,
        at_most: 8.0,
    },
];

impl Kernel {
    pub(super) fn arguments(&self, quick: bool) -> Vec<String> {
        let words = if quick { self.quick } else { self.words };
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// The program, built with the flags of a way.
    pub(super) fn build(&self, workspace: &Workspace, scratch: &Path, flags: Flags) -> Result<PathBuf> {
        let Some(source) = self.source else {
            if flags == Flags::Plain {
                return Ok("pigz".into());
            }
            bail!("is installed, and not built here");
        };
        let stem = Path::new(source).file_stem().unwrap_or_default().to_string_lossy();
        let program = scratch.join(format!("{stem}-{flags:?}"));
        if program.exists() {
            return Ok(program);
        }
        let mut compiler = workspace.command(flags.compiler());
        // Scalar code, as the figures of the emulator that these are compared with are for.
        compiler.args(["-std=gnu11", "-O2", "-g", "-fno-tree-vectorize", "-pthread"]).args(flags.words());
        compiler.arg("-o").arg(&program).arg(source);
        if let Some(runtime) = flags.runtime() {
            let object = scratch.join("runtime.o");
            succeed(workspace.command("cc").args(["-O2", "-c", "-o"]).arg(&object).arg(runtime))?;
            compiler.arg(object);
        }
        succeed(&mut compiler)?;
        Ok(program)
    }
}

fn succeed(compiler: &mut Command) -> Result<()> {
    let output = compiler.output()?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
