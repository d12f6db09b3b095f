//! Building a workload in one of its forms, in whatever language it is written.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Stage, is_installed, run, skip, text};

/// The clang whose OpenMP runtime has a place for tools, as `xtask/src/packages.rs` installs it.
pub(crate) const CLANG: &str = "clang-19";
const CLANG_CPP: &str = "clang++-19";

/// A workload as it is run.
#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) program: PathBuf,
    /// What comes before the arguments of the workload itself: an interpreter's options and the script.
    pub(crate) before: Vec<String>,
}

impl Stage {
    /// Builds `source` under `name`; `language` is that column of the tables in `workloads/`, and `flags` choose the
    /// form. Gives nothing where the language's tools are not installed, which is then said.
    pub(crate) fn form(&self, name: &str, language: &str, source: &Path, flags: &[String]) -> Option<Form> {
        let words: Vec<&str> = flags.iter().map(String::as_str).collect();
        let program = match language {
            "c" => self.compile(name, source, &words),
            "openmp" => self.compile(name, source, &[&["-fopenmp"], &words[..]].concat()),
            "openmp-clang" => is_installed(CLANG).then(|| self.clang(name, source, &words))?,
            "static" => is_static_possible()
                .then(|| self.compile(name, source, &[&["-static"], &words[..]].concat()))?,
            "rust" => self.rustc(name, source, &words),
            "cargo" => self.cargo(name, source, &words),
            "go" => is_installed("go").then(|| self.go(name, source, &words))?,
            "python" => {
                let script = source.to_string_lossy().into_owned();
                let before = [flags, &[script]].concat();
                return Some(Form { program: python()?, before });
            }
            _ => panic!("no workload is written in {language:?}"),
        };
        Some(Form { program, before: Vec::new() })
    }

    /// As [`Stage::compile`] with OpenMP, by clang.
    pub(crate) fn clang(&self, name: &str, source: &Path, flags: &[&str]) -> PathBuf {
        let program = self.path(name);
        let (compiler, standard) = match source.extension().and_then(OsStr::to_str) {
            Some("cpp") => (CLANG_CPP, "-std=gnu++17"),
            _ => (CLANG, "-std=gnu11"),
        };
        let mut clang = Command::new(compiler);
        clang.args([standard, "-O2", "-g", "-pthread", "-fopenmp", "-w", "-o"]);
        demand(clang.arg(&program).arg(source).args(flags));
        program
    }

    fn rustc(&self, name: &str, source: &Path, flags: &[&str]) -> PathBuf {
        let program = self.path(name);
        let folder = source.parent().and_then(Path::file_name).expect("a folder for each workload");
        let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.args(["-O", "-g", "--edition", "2024", "--crate-name"]).arg(folder).arg("-o").arg(&program);
        demand(rustc.arg(source).args(flags));
        program
    }

    /// Dependencies are built once, for all workloads, and kept with the build.
    fn cargo(&self, name: &str, folder: &Path, flags: &[&str]) -> PathBuf {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("workloads");
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(folder).args(["rustc", "--release", "--locked", "--quiet", "--target-dir"]);
        demand(cargo.arg(&target).arg("--").args(flags));
        let program = self.path(name);
        let built = target.join("release").join(folder.file_name().expect("a folder"));
        fs::copy(&built, &program).unwrap_or_else(|error| panic!("{}: {error}", built.display()));
        program
    }

    fn go(&self, name: &str, source: &Path, flags: &[&str]) -> PathBuf {
        let program = self.path(name);
        let mut go = Command::new("go");
        go.env("GOCACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("go"));
        demand(go.args(["build", "-o"]).arg(&program).args(flags).arg(source));
        program
    }
}

fn demand(compiler: &mut Command) {
    let ended = run(compiler);
    assert_eq!(ended.status, 0, "{compiler:?}: {ended:?}");
}

/// True if the C library can be linked statically; else says so.
fn is_static_possible() -> bool {
    let ended = run(Command::new("cc").arg("-print-file-name=libc.a"));
    // gcc repeats the bare name where it finds no such file.
    let found = Path::new(text(&ended.stdout).trim()).is_absolute();
    if !found {
        skip("there is no libc.a to link statically (Debian: libc6-dev)");
    }
    found
}

/// Python itself, not a wrapper that chooses one.
pub(crate) fn python() -> Option<PathBuf> {
    if !is_installed("python3") {
        return None;
    }
    let ended =
        run(Command::new("python3").args([OsStr::new("-c"), "import sys; print(sys.executable)".as_ref()]));
    Some(text(&ended.stdout).trim().into())
}
