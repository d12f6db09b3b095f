//! Which programs there are, and how they are built.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::bench::openmp::Compiler;
use crate::bench::programs::REAL;
use crate::workspace::Workspace;

/// Where the workloads are, from the root of the workspace.
const WORKLOADS: &str = "workloads";
/// Those that wait for clients, and never end by themselves.
const SERVERS: &[&str] = &["server"];
/// Further arguments that make another program of a workload: its name, the workload, the arguments behind the threads.
const FORMS: &[(&str, &str, &[&str])] = &[("hand_spin, with PAUSE", "hand_spin", &["1", "2"])];

/// A program, and how one comes to it.
pub(super) struct Program {
    pub(super) name: String,
    how: How,
    /// What comes behind its name; `{threads}` stands for the number of threads.
    arguments: Vec<String>,
    /// True if the library cannot be in it: it is static, or of a language that does not use the C library.
    pub(super) is_foreign: bool,
}

enum How {
    /// It is installed.
    Installed(&'static str),
    /// A compiler makes it of one file: the compiler, with what comes before the output's name.
    Compiled(Vec<&'static str>, PathBuf),
    /// Cargo makes it.
    Cargo(PathBuf),
    /// An interpreter runs this file.
    Interpreted(&'static str, PathBuf),
}

/// All of them: workloads by name, then what is installed, with `input` to work on.
pub(super) fn all(workspace: &Workspace, input: &Path) -> Result<Vec<Program>> {
    let mut folders: Vec<PathBuf> = fs::read_dir(workspace.path(WORKLOADS))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<PathBuf>>>()?;
    folders.retain(|folder| folder.is_dir());
    folders.sort();
    let mut programs = Vec::new();
    for folder in folders {
        let name = folder.file_name().context("a folder has a name")?.to_string_lossy().into_owned();
        if !SERVERS.contains(&name.as_str()) {
            programs.extend(of_workload(&name, &folder, &[])?);
        }
        for (form, _, arguments) in FORMS.iter().filter(|(_, of, _)| *of == name) {
            programs.extend(of_workload(form, &folder, arguments)?);
        }
    }
    programs.extend(REAL.iter().map(|real| Program {
        name: real.name.to_owned(),
        how: How::Installed(real.name),
        arguments: real.arguments("{threads}", input),
        is_foreign: false,
    }));
    Ok(programs)
}

/// A workload: two programs where it uses OpenMP.
fn of_workload(name: &str, folder: &Path, further: &[&str]) -> Result<Vec<Program>> {
    let arguments: Vec<String> = ["{threads}"].iter().chain(further).map(|word| (*word).to_owned()).collect();
    let program =
        |name: String, how, is_foreign| Program { name, how, arguments: arguments.clone(), is_foreign };
    let cargo = folder.join("Cargo.toml");
    if cargo.exists() {
        return Ok(vec![program(name.to_owned(), How::Cargo(cargo), false)]);
    }
    let mut sources: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    sources.sort();
    let Some((source, kind)) = sources.iter().find_map(|source| {
        let kind = source.extension()?.to_str()?;
        ["c", "cpp", "rs", "go", "py"].contains(&kind).then(|| (source.clone(), kind.to_owned()))
    }) else {
        bail!("{}: there is no program in it", folder.display());
    };
    let one = |words: Vec<&'static str>, is_foreign| {
        program(name.to_owned(), How::Compiled(words, source.clone()), is_foreign)
    };
    Ok(match kind.as_str() {
        "go" => vec![one(vec!["go", "build", "-o"], true)],
        "py" => vec![program(name.to_owned(), How::Interpreted("python3", source), false)],
        "rs" => vec![one(vec!["rustc", "-O", "-g", "--edition", "2024", "-o"], false)],
        "cpp" => vec![one(vec!["c++", "-O2", "-g", "-pthread", "-w", "-o"], false)],
        _ if name.starts_with("static") => {
            vec![one(vec!["cc", "-O2", "-g", "-pthread", "-static", "-o"], true)]
        }
        _ if fs::read_to_string(&source)?.contains("#pragma omp") => Compiler::ALL
            .map(|compiler| {
                let words = vec![compiler.command(), "-O2", "-g", "-pthread", "-fopenmp", "-w", "-o"];
                program(format!("{name}, {}", compiler.name()), How::Compiled(words, source.clone()), false)
            })
            .into(),
        _ => vec![one(vec!["cc", "-std=gnu11", "-O2", "-g", "-pthread", "-w", "-o"], false)],
    })
}

impl Program {
    /// Makes it, in `scratch`; its words then.
    pub(super) fn build(&self, workspace: &Workspace, scratch: &Path) -> Result<Vec<String>> {
        let place = scratch.join(self.name.replace([' ', ','], "-"));
        let mut begin = vec![place.to_string_lossy().into_owned()];
        match &self.how {
            How::Installed(name) => begin = vec![found(name)?],
            How::Interpreted(interpreter, file) => {
                begin = vec![found(interpreter)?, file.to_string_lossy().into_owned()];
            }
            How::Compiled(words, source) => {
                let mut command = workspace.command(words[0]);
                command.args(&words[1..]).arg(&place).arg(source);
                if matches!(source.extension().and_then(|kind| kind.to_str()), Some("c" | "cpp")) {
                    command.arg("-lm");
                }
                demand(&mut command)?;
            }
            How::Cargo(manifest) => {
                let mut command = workspace.cargo();
                command.args(["build", "--release", "--locked", "--quiet", "--manifest-path"]).arg(manifest);
                demand(command.arg("--target-dir").arg(scratch.join("cargo")))?;
                let folder = manifest.parent().and_then(Path::file_name).context("a folder")?;
                let built = scratch.join("cargo/release").join(folder);
                begin = vec![built.to_string_lossy().into_owned()];
            }
        }
        Ok([begin, self.arguments.clone()].concat())
    }
}

/// Where PATH has a program.
fn found(name: &str) -> Result<String> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::split_paths(&paths).map(|folder| folder.join(name)).find(|path| path.is_file());
    Ok(path.with_context(|| format!("{name} is not installed"))?.to_string_lossy().into_owned())
}

fn demand(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{name} does not run"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{name}: {}", said.lines().next().unwrap_or_default().trim());
    }
    Ok(())
}
