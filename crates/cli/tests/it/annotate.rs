//! What programs say about themselves arrives in the recording, and is nothing where nobody records.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use holdup_model::{Marker, MarkerKind, Run};
use holdup_recording::Recording;
use tempfile::TempDir;

const STRICT: &[&str] = &["-Wall", "-Wextra", "-Werror", "-pedantic", "-pthread"];
const C: &[&str] = &["c89", "c99", "c11", "c17", "gnu89", "gnu17"];
const CPP: &[&str] = &["c++98", "c++03", "c++11", "c++14", "c++17", "c++20"];
/// Ways to link: in each of them a weak reference becomes an address by other means.
const LINKED: &[&[&str]] =
    &[&["-fPIE", "-pie"], &["-fno-pie", "-no-pie"], &["-O2", "-fno-pie", "-no-pie"], &["-O2", "-masm=intel"]];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn source(name: &str) -> PathBuf {
    workspace().join("tests/annotate").join(name)
}

fn exists(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// Runs a command that must succeed.
fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{command:?}: {}\n{said}{printed}", output.status);
    output
}

fn compile(compiler: &str, arguments: &[&str], source: &Path, directory: &TempDir) -> PathBuf {
    let program = directory.path().join("program");
    done(Command::new(compiler).args(arguments).arg("-o").arg(&program).arg(source).arg("-ldl"));
    program
}

/// What the program prints when nobody records.
fn plain(program: &Path) -> String {
    let output = done(Command::new(program).env_remove("INTEL_LIBITTNOTIFY64"));
    String::from_utf8(output.stdout).unwrap()
}

/// What the program prints under holdup, and what was recorded of it.
fn recorded(program: &Path) -> (String, Run) {
    let recording = program.with_extension("holdup");
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    command.env_remove("INTEL_LIBITTNOTIFY64").env_remove("INTEL_ITTNOTIFY_GROUPS");
    let output = done(command.args(["record", "-o"]).arg(&recording).arg("--").arg(program));
    let (recording, warnings) = Recording::open(&recording).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    (String::from_utf8(output.stdout).unwrap(), recording.run(&warnings))
}

/// Markers as (is it the main thread's, what, label), in the order of time.
fn markers(run: &Run) -> Vec<(bool, MarkerKind, Option<&str>)> {
    let mut markers: Vec<&Marker> = run.processes[0].markers.iter().collect();
    // Each thread tells in order; the sort is stable, so equal times keep it.
    markers.sort_by_key(|marker| marker.time);
    markers
        .into_iter()
        .map(|marker| (marker.thread.index() == 0, marker.kind, marker.label.as_deref()))
        .collect()
}

fn expected(phase: &str) -> Vec<(bool, MarkerKind, Option<&str>)> {
    vec![
        (true, MarkerKind::RegionBegin, Some("solve")),
        (true, MarkerKind::Phase, Some(phase)),
        (false, MarkerKind::WorkBegin, Some("tile")),
        (false, MarkerKind::SpinBegin, None),
        (false, MarkerKind::SpinEnd, None),
        (false, MarkerKind::WorkEnd, None),
        (true, MarkerKind::RegionEnd, Some("solve")),
    ]
}

#[test]
fn without_holdup_the_header_is_nothing_in_any_c_and_cpp() {
    let directory = tempfile::tempdir().unwrap();
    let mut compilers =
        vec![("gcc", C, "c"), ("g++", CPP, "c++"), ("clang", C, "c"), ("clang++", CPP, "c++")];
    compilers.retain(|(compiler, ..)| exists(compiler));
    assert!(!compilers.is_empty(), "no C compiler: apt-get install gcc libc6-dev");
    for (compiler, standards, language) in compilers {
        for standard in standards {
            let standard = format!("-std={standard}");
            let arguments = [STRICT, &["-x", language, &standard]].concat();
            let program = compile(compiler, &arguments, &source("markers.c"), &directory);
            assert_eq!(plain(&program), "recording 0, label evaluated 0\n", "{compiler} {standard}");
        }
    }
}

#[test]
fn a_static_program_can_use_the_header() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("gcc", &[STRICT, &["-static"]].concat(), &source("markers.c"), &directory);
    assert_eq!(plain(&program), "recording 0, label evaluated 0\n");
}

#[test]
fn under_holdup_a_c_program_is_heard_however_it_is_linked() {
    let directory = tempfile::tempdir().unwrap();
    for compiler in ["gcc", "clang"].into_iter().filter(|compiler| exists(compiler)) {
        for linked in LINKED {
            let program = compile(compiler, &[STRICT, linked].concat(), &source("markers.c"), &directory);
            let (printed, run) = recorded(&program);
            assert_eq!(printed, "recording 1, label evaluated 1\n", "{compiler} {linked:?}");
            assert_eq!(markers(&run), expected("from a call"), "{compiler} {linked:?}");
        }
    }
}

/// Builds a Rust program with our crate.
fn rust_program(name: &str, directory: &TempDir) -> PathBuf {
    let library = directory.path().join("libholdup_annotate.rlib");
    let rustc = || {
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition", "2024", "-O"]);
        rustc
    };
    let annotate = workspace().join("crates/annotate/src/lib.rs");
    done(
        rustc()
            .args(["--crate-name", "holdup_annotate", "--crate-type", "rlib", "-o"])
            .arg(&library)
            .arg(annotate),
    );
    let program = directory.path().join("program");
    let mut found = std::ffi::OsString::from("holdup_annotate=");
    found.push(&library);
    done(rustc().arg("--extern").arg(found).arg("-o").arg(&program).arg(source(name)));
    program
}

#[test]
fn a_rust_program_is_heard_under_holdup_only() {
    let directory = tempfile::tempdir().unwrap();
    let program = rust_program("markers.rs", &directory);
    assert_eq!(plain(&program), "recording 0\n");
    let (printed, run) = recorded(&program);
    assert_eq!(printed, "recording 1\n");
    assert_eq!(markers(&run), expected("from Rust"));
}

/// What a program prints, and its status, under `holdup top`.
fn followed(program: &Path) -> (String, Option<i32>) {
    let lines = program.with_extension("lines");
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    command.args(["top", "--interval", "0.05", "--output"]).arg(lines).arg("--").arg(program);
    let output = command.output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

#[test]
fn a_critical_thread_of_a_c_program_names_itself() {
    let directory = tempfile::tempdir().unwrap();
    for standard in ["-std=c89", "-std=gnu17"] {
        let arguments = [STRICT, &[standard, "-O1"]].concat();
        let program = compile("gcc", &arguments, &source("critical.c"), &directory);
        let output = Command::new(&program).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "kept -1 -1\n");
        let (printed, status) = followed(&program);
        assert_eq!((printed.as_str(), status), ("kept 1 1\ncritical: 2\n", Some(3)));
    }
}

#[test]
fn a_critical_thread_of_a_rust_program_names_itself() {
    let directory = tempfile::tempdir().unwrap();
    let program = rust_program("critical.rs", &directory);
    assert_eq!(plain(&program), "kept false\n");
    assert_eq!(followed(&program), ("kept true\ncritical: 2\n".to_owned(), Some(0)));
}

#[test]
fn tasks_and_frames_of_itt_are_heard() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("gcc", &["-std=gnu11", "-Wall"], &source("itt.c"), &directory);
    assert_eq!(plain(&program), "no collector\n");
    let (printed, run) = recorded(&program);
    assert_eq!(printed, "told\n");
    assert_eq!(
        markers(&run),
        [
            (true, MarkerKind::Phase, Some("frame")),
            (true, MarkerKind::WorkBegin, Some("tile")),
            (true, MarkerKind::WorkEnd, None),
            (true, MarkerKind::Phase, Some("between frames")),
        ]
    );
}
