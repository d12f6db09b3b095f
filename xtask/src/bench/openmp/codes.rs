//! What is measured: codes with loops, single constructs, and a code full of locks.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// What a code is an example of, which decides what recording it may cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sort {
    /// A code with loops, as programs are.
    Loops,
    /// One construct, very often.
    Construct,
    /// An acquisition of a lock every 100 ns.
    Locks,
}

/// A program, and which figure of it counts.
pub(super) struct Code {
    pub(super) name: &'static str,
    pub(super) sort: Sort,
    /// Below the workspace.
    pub(super) source: &'static str,
    pub(super) arguments: &'static [&'static str],
    /// The name of the figure that it prints (ns); without, its wall time.
    pub(super) figure: Option<&'static str>,
}

const fn workload(
    name: &'static str,
    sort: Sort,
    source: &'static str,
    arguments: &'static [&'static str],
) -> Code {
    Code { name, sort, source, arguments, figure: None }
}

const fn kernel(name: &'static str, arguments: &'static [&'static str]) -> Code {
    Code { name, sort: Sort::Loops, source: "bench/openmp/kernels.c", arguments, figure: Some("step_ns") }
}

const fn construct(name: &'static str, sort: Sort, arguments: &'static [&'static str]) -> Code {
    Code { name, sort, source: "bench/openmp/constructs.c", arguments, figure: Some("construct_ns") }
}

/// In the order of the table. Workloads get two threads and their size; the rest take the number of threads from the
/// machine.
pub(super) const ALL: &[Code] = &[
    workload("Mandelbrot", Sort::Loops, "workloads/omp_mandelbrot/main.c", &["2", "2"]),
    workload("Hydro", Sort::Loops, "workloads/omp_hydro/main.c", &["2", "2"]),
    kernel("Lulesh-like", &["lulesh"]),
    kernel("CG-like", &["cg"]),
    kernel("EP-like", &["ep"]),
    kernel("FT-like", &["ft"]),
    kernel("IS-like", &["is"]),
    kernel("LU-like", &["lu"]),
    kernel("MG-like", &["mg"]),
    kernel("Snap-like", &["snap"]),
    kernel("AMG-like", &["amg"]),
    kernel("Pennant-like", &["pennant"]),
    workload("UA-like", Sort::Locks, "workloads/omp_ua/main.c", &["2", "2"]),
    construct("lock each 100 ns", Sort::Locks, &["lock"]),
    construct("empty region", Sort::Construct, &["region"]),
    construct("reduction", Sort::Construct, &["reduction"]),
    construct("static loop", Sort::Construct, &["for"]),
    construct("barrier", Sort::Construct, &["barrier"]),
    construct("single", Sort::Construct, &["single"]),
    construct("critical", Sort::Construct, &["critical"]),
    construct("dynamic, 1", Sort::Construct, &["chunk"]),
    construct("task", Sort::Construct, &["task"]),
    construct("sections", Sort::Construct, &["sections"]),
];

/// Whose OpenMP it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::bench) enum Compiler {
    Gcc,
    Clang,
}

impl Compiler {
    pub(in crate::bench) const ALL: [Compiler; 2] = [Compiler::Gcc, Compiler::Clang];

    pub(in crate::bench) fn name(self) -> &'static str {
        match self {
            Compiler::Gcc => "gcc",
            Compiler::Clang => "clang",
        }
    }

    pub(in crate::bench) fn command(self) -> &'static str {
        match self {
            Compiler::Gcc => "gcc",
            Compiler::Clang => "clang-19",
        }
    }

    /// What a recorded run may take, as a multiple of a plain one (gcc) or of one with an idle tool (clang).
    pub(super) fn at_most(self, sort: Sort) -> f64 {
        match (self, sort) {
            (_, Sort::Loops) => 1.02,
            (Compiler::Gcc, _) => 1.15,
            (Compiler::Clang, _) => 1.05,
        }
    }

    /// Fails where it is not installed.
    pub(super) fn answers(self) -> Result<()> {
        let command = self.command();
        let status = Command::new(command)
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .with_context(|| format!("{command} does not run (packages {command}, libomp-19-dev)"))?;
        if !status.success() {
            bail!("{command} --version: {status}");
        }
        Ok(())
    }
}
