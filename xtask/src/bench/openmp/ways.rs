//! The ways to run an OpenMP program: plain, with an idle tool, passing through, recorded.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::codes::Compiler;
use crate::workspace::Workspace;

/// One way to run a program.
pub(super) struct Way {
    pub(super) name: &'static str,
    variable: Option<(&'static str, PathBuf)>,
    /// The recorder, and the recording that it writes.
    recorder: Option<(PathBuf, PathBuf)>,
}

/// The ways for programs of a compiler, plain first.
pub(super) fn ways_of(
    compiler: Compiler,
    workspace: &Workspace,
    holdup: &Path,
    scratch: &Path,
) -> Result<Vec<Way>> {
    let way = |name, variable| Way { name, variable, recorder: None };
    let mut ways = vec![way("plain", None)];
    if compiler == Compiler::Clang {
        let tool = idle_tool(workspace, scratch, compiler)?;
        ways.push(way("idle tool", Some(("OMP_TOOL_LIBRARIES", tool))));
    }
    let library = injected_library(holdup, scratch)?;
    ways.push(way("passing through", Some(("LD_PRELOAD", library))));
    let recorder = Some((holdup.to_owned(), scratch.join("run.holdup")));
    ways.push(Way { name: "recorded", variable: None, recorder });
    Ok(ways)
}

impl Way {
    /// A command that runs `program` this way; its arguments follow.
    pub(super) fn command(&self, program: &Path) -> Command {
        let Some((holdup, recording)) = &self.recorder else {
            let mut command = Command::new(program);
            command.envs(self.variable.iter().map(|(name, value)| (name, value)));
            return command;
        };
        // A recording that is there is not written over.
        let _ = fs::remove_file(recording);
        let mut command = Command::new(holdup);
        command.args(["record", "-o"]).arg(recording).arg("--").arg(program);
        command
    }

    /// How long the last program ran (ns), without its recorder's start and search for names; `None` where there was no
    /// recorder.
    pub(super) fn program_ns(&self) -> Option<Result<f64>> {
        let (holdup, recording) = self.recorder.as_ref()?;
        let told = || {
            let output = Command::new(holdup).arg("report").arg(recording).arg("--json").output()?;
            let report: serde_json::Value =
                serde_json::from_slice(&output.stdout).context("report --json")?;
            report["run"]["wall_ns"].as_f64().context("the report has no run.wall_ns")
        };
        Some(told())
    }
}

fn idle_tool(workspace: &Workspace, scratch: &Path, compiler: Compiler) -> Result<PathBuf> {
    let library = scratch.join("libidle_tool.so");
    let output = workspace
        .command(compiler.command())
        .args(["-O2", "-fPIC", "-shared", "-w", "-o"])
        .arg(&library)
        .arg("bench/openmp/idle_tool.c")
        .output()?;
    if !output.status.success() {
        bail!("bench/openmp/idle_tool.c: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(library)
}

/// Where this holdup put the library that it injects: a program that it runs knows.
fn injected_library(holdup: &Path, scratch: &Path) -> Result<PathBuf> {
    let recording = scratch.join("environment.holdup");
    let _ = fs::remove_file(&recording);
    let output = Command::new(holdup)
        .args(["record", "-o"])
        .arg(&recording)
        .args(["--", "sh", "-c", "printf %s \"$LD_PRELOAD\""])
        .output()?;
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    let library = list.split([':', ' ']).find(|path| path.contains("libholdup")).map(PathBuf::from);
    library.context("a program under holdup finds no injected library in LD_PRELOAD")
}
