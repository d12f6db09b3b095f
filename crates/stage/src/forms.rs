//! Building a workload in one of its forms, in whatever language it is written.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Stage, is_installed, kept, run, skip, text};

/// The clang whose OpenMP runtime has a place for tools, as `xtask/src/packages.rs` installs it.
pub const CLANG: &str = "clang-19";
/// The same compiler for C++.
pub const CLANG_CPP: &str = "clang++-19";

/// A workload as it is run.
#[derive(Debug)]
pub struct Form {
    /// What is started.
    pub program: PathBuf,
    /// What comes before the arguments of the workload itself: an interpreter's options and the script.
    pub before: Vec<String>,
}

impl Stage {
    /// Builds `source` under `name`; `language` is that column of the tables in `workloads/`, and `flags` choose the
    /// form. Gives nothing where the language's tools are not installed, which is then said.
    pub fn form(&self, name: &str, language: &str, source: &Path, flags: &[String]) -> Option<Form> {
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

    /// As [`Stage::form`], with a tenth of the computing where `workloads/work.h` counts it: for tests of what does not depend
    /// on how long the program runs.
    pub fn small_form(&self, name: &str, language: &str, source: &Path, flags: &[String]) -> Option<Form> {
        let mut flags = flags.to_vec();
        if ["c", "openmp", "openmp-clang", "static"].contains(&language) {
            flags.push("-DITERATIONS_PER_US=60L".to_owned());
        }
        self.form(name, language, source, &flags)
    }

    /// As [`Stage::compile`] with OpenMP, by clang.
    pub fn clang(&self, name: &str, source: &Path, flags: &[&str]) -> PathBuf {
        let is_cpp = source.extension() == Some(OsStr::new("cpp"));
        let (compiler, standard) = if is_cpp { (CLANG_CPP, "-std=gnu++17") } else { (CLANG, "-std=gnu11") };
        self.demand(name, source, |program| {
            let mut clang = Command::new(compiler);
            clang.args([standard, "-O2", "-g", "-pthread", "-fopenmp", "-w", "-o"]);
            clang.arg(program).arg(source).args(flags);
            clang
        })
    }

    fn rustc(&self, name: &str, source: &Path, flags: &[&str]) -> PathBuf {
        let folder = source.parent().and_then(Path::file_name).expect("a folder for each workload");
        self.demand(name, source, |program| {
            let mut rustc = rustc();
            rustc.args(["-O", "-g", "--edition", "2024", "--crate-name"]).arg(folder).arg("-o").arg(program);
            rustc.arg(source).args(flags);
            rustc
        })
    }

    /// Dependencies are built once, for all workloads.
    fn cargo(&self, name: &str, folder: &Path, flags: &[&str]) -> PathBuf {
        let target = kept::directory("workloads");
        let built = target.join("release").join(folder.file_name().expect("a folder"));
        self.demand(name, folder, |program| {
            // cargo has no option that says where one program goes.
            let mut build = Command::new("sh");
            build.current_dir(folder).args(["-ec", r#""$@"; cp "$BUILT" "$PROGRAM""#, "build"]);
            build.arg(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            build.args(["rustc", "--release", "--locked", "--quiet", "--target-dir"]).arg(&target);
            build.arg("--").args(flags).env("BUILT", &built).env("PROGRAM", program);
            build
        })
    }

    fn go(&self, name: &str, source: &Path, flags: &[&str]) -> PathBuf {
        self.demand(name, source, |program| {
            let mut go = Command::new("go");
            go.env("GOCACHE", kept::directory("go"));
            go.args(["build", "-o"]).arg(program).args(flags).arg(source);
            go
        })
    }

    fn demand(&self, name: &str, source: &Path, make: impl Fn(&Path) -> Command) -> PathBuf {
        self.build(name, source, make).unwrap_or_else(|error| panic!("{name} cannot be built: {error}"))
    }
}

/// The compiler that builds this.
pub(crate) fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
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
pub fn python() -> Option<PathBuf> {
    if !is_installed("python3") {
        return None;
    }
    let ended =
        run(Command::new("python3").args([OsStr::new("-c"), "import sys; print(sys.executable)".as_ref()]));
    Some(text(&ended.stdout).trim().into())
}
