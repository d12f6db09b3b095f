//! The workloads as commands, in whatever language they are written: planted, and fixed.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

/// A command under a name.
pub(super) struct Form {
    pub(super) name: String,
    pub(super) words: Vec<String>,
}

/// Both forms of every workload of `workloads/expected.tsv` whose name is wanted. One that cannot be built here is
/// named on stderr.
pub(super) fn workloads(
    workspace: &Workspace,
    scratch: &Path,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<Form>> {
    let table = workspace.text("workloads/expected.tsv").context("there is no workloads/expected.tsv")?;
    let mut lines = table.lines().map(|line| line.split('\t').collect::<Vec<&str>>());
    let head = lines.next().context("workloads/expected.tsv has no head")?;
    let column = |name: &str| {
        head.iter()
            .position(|known| *known == name)
            .with_context(|| format!("expected.tsv has no column {name}"))
    };
    let columns = ["name", "rank", "language", "source", "args", "fixed_flags"].map(column);
    let [name, rank, language, source, arguments, flags] = columns;
    let at = [name?, rank?, language?, source?, arguments?, flags?];
    let mut forms = Vec::new();
    for line in lines {
        let [name, rank, language, source, arguments, flags] =
            at.map(|index| line.get(index).copied().unwrap_or(""));
        if rank != "1" || !wanted(name) {
            continue;
        }
        let given: Vec<&str> = arguments.split_whitespace().collect();
        // The first argument is the number of threads; where there is none, some more than this machine may have.
        let few = if given.is_empty() { &["2"][..] } else { &given };
        for (form, flags, arguments) in
            [("", "", &given[..]), (", threads: 2", "", few), (", fixed", flags, &given)]
        {
            if form == ", threads: 2" && few == given {
                continue;
            }
            match build(workspace, scratch, &format!("{name}{form}"), language, source, flags) {
                Ok(words) => forms.push(Form {
                    name: format!("{name}{form}"),
                    words: words.into_iter().chain(arguments.iter().map(|word| (*word).to_owned())).collect(),
                }),
                Err(error) => eprintln!("xtask: without {name}{form}: {error:#}"),
            }
        }
    }
    Ok(forms)
}

fn build(
    workspace: &Workspace,
    scratch: &Path,
    name: &str,
    language: &str,
    source: &str,
    flags: &str,
) -> Result<Vec<String>> {
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let source = workspace.path("workloads").join(source);
    let program = scratch.join(name.replace([' ', ','], "_"));
    let folder = source.parent().and_then(Path::file_name).unwrap_or(OsStr::new("workload"));
    let mut command = match language {
        "c" | "static" | "openmp" => {
            let mut cc = workspace.command("cc");
            cc.args(["-std=gnu11", "-O2", "-g", "-pthread", "-o"]).arg(&program).arg(&source);
            cc.args((language == "static").then_some("-static"));
            cc.args((language == "openmp").then_some("-fopenmp"));
            cc
        }
        "rust" => {
            let mut rustc = workspace.command("rustc");
            rustc.args(["-O", "-g", "--edition", "2024", "--crate-name"]).arg(folder).arg("-o");
            rustc.arg(&program).arg(&source);
            rustc
        }
        "cargo" => {
            let mut cargo = workspace.cargo();
            cargo.current_dir(&source).args(["rustc", "--release", "--locked", "--quiet", "--target-dir"]);
            cargo.arg(scratch.join("cargo")).arg("--");
            cargo
        }
        "go" => {
            let mut go = workspace.command("go");
            go.env("GOCACHE", scratch.join("go")).args(["build", "-o"]).arg(&program);
            go
        }
        "python" => {
            let script = source.to_string_lossy().into_owned();
            let words = [&["python3"], &flags[..], &[&script]].concat();
            return Ok(words.into_iter().map(str::to_owned).collect());
        }
        _ => bail!("no way to build what is written in {language:?}"),
    };
    command.args(&flags);
    if language == "go" {
        command.arg(&source);
    }
    let output = command.output().with_context(|| format!("the compiler of {language} does not run"))?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    if language == "cargo" {
        let built = scratch.join("cargo/release").join(source.file_name().unwrap_or_default());
        fs::copy(&built, &program).with_context(|| built.display().to_string())?;
    }
    Ok(vec![program.to_string_lossy().into_owned()])
}
