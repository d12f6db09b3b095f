//! OpenMP programs that stress or misuse OpenMP: the same output and the same status under holdup as without, whatever the
//! compiler; and what was recorded can be read, and adds up.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stage;
use crate::stage::CLANG;
use crate::stage::{Stage, assert_adds_up, is_installed, record, report_json, run};
use serde_json::Value;

/// Whose OpenMP a program uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum From {
    Gcc,
    Clang,
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/openmp").join(name)
}

/// The compilers that are installed, gcc first.
fn compilers() -> Vec<From> {
    let clang = is_installed(CLANG).then_some(From::Clang);
    [From::Gcc].into_iter().chain(clang).collect()
}

fn build(stage: &Stage, from: From, name: &str, file: &str, flags: &[&str]) -> PathBuf {
    match from {
        From::Gcc => stage.compile(name, source(file), &[&["-fopenmp"], flags].concat()),
        From::Clang => stage.clang(name, &source(file), flags),
    }
}

/// Runs a program plain and recorded, with `set` on the environment of both; demands the same, and a readable recording.
fn compare(stage: &Stage, program: &Path, arguments: &[&str], set: &[(&str, &str)], status: i32) -> Value {
    let plain = run(Command::new(program).args(arguments).envs(set.iter().copied()));
    assert_eq!(plain.status, status, "without holdup, {arguments:?}: {plain:?}");
    let recording = stage.path("stress.holdup");
    let _ = fs::remove_file(&recording);
    let recorded = run(record(&recording, program).args(arguments).envs(set.iter().copied()));
    assert!(plain == recorded, "{arguments:?} {set:?} without:\n{plain:?}\nunder holdup:\n{recorded:?}");
    let json = report_json(&recording);
    assert_eq!(json["schema"], 1);
    json
}

/// Runs a mode of `stress.c` from each compiler under each environment.
fn stress(mode: &str, environments: &[&[(&str, &str)]], status: i32) {
    for from in compilers() {
        stress_from(from, mode, environments, status);
    }
}

fn stress_from(from: From, mode: &str, environments: &[&[(&str, &str)]], status: i32) {
    let stage = Stage::new();
    let program = build(&stage, from, &format!("stress_{from:?}"), "stress.c", &[]);
    for set in environments {
        let json = compare(&stage, &program, &[mode], set, status);
        assert_adds_up(&json);
    }
}

/// Settings of the runtimes that change how threads wait, how many there are, and whether a tool is let in.
const SETTINGS: &[&[(&str, &str)]] = &[
    &[],
    &[("OMP_TOOL", "disabled")],
    &[("OMP_NUM_THREADS", "8")],
    &[("OMP_WAIT_POLICY", "passive")],
    &[("OMP_WAIT_POLICY", "active"), ("OMP_NUM_THREADS", "2")],
    &[("KMP_BLOCKTIME", "infinite"), ("OMP_NUM_THREADS", "2")],
    &[("KMP_BLOCKTIME", "0"), ("OMP_NUM_THREADS", "3")],
    &[("OMP_DYNAMIC", "true")],
    &[("OMP_THREAD_LIMIT", "3"), ("OMP_NUM_THREADS", "3")],
    &[("OMP_SCHEDULE", "guided,3"), ("OMP_PROC_BIND", "true")],
    &[("OMP_NUM_THREADS", "1")],
    &[("OMP_NUM_THREADS", "2"), ("OMP_STACKSIZE", "64K")],
];

const AS_IT_IS: &[&[(&str, &str)]] = &[&[]];

macro_rules! modes {
    ($($name:ident: $environments:expr, $status:expr;)*) => {
        $(#[test] fn $name() { stress(stringify!($name), $environments, $status); })*
    };
}

modes! {
    exit_inside: AS_IT_IS, 7;
    quick_exit_inside: AS_IT_IS, 9;
    abort_inside: AS_IT_IS, 134;
    kill_inside: AS_IT_IS, 137;
    exit_in_task: AS_IT_IS, 7;
    exit_in_critical: AS_IT_IS, 7;
    fork_inside: AS_IT_IS, 0;
    fork_after: AS_IT_IS, 0;
    fork_before: AS_IT_IS, 0;
    exec_after: AS_IT_IS, 0;
    cancel: &[&[("OMP_CANCELLATION", "true")]], 0;
    nested: &[&[], &[("OMP_WAIT_POLICY", "active")], &[("OMP_TOOL", "disabled")]], 0;
    oversubscribed: &[&[], &[("OMP_WAIT_POLICY", "passive")], &[("OMP_TOOL", "disabled")]], 0;
    roots: AS_IT_IS, 0;
    sizes: AS_IT_IS, 0;
    teams: AS_IT_IS, 0;
    jumps: AS_IT_IS, 0;
    signals: AS_IT_IS, 0;
    schedules: SETTINGS, 0;
    locks: SETTINGS, 0;
}

/// With more threads than cores, threads of LLVM's runtime (19.1.7) that look for tasks hand the lock of a queue to one that
/// does not run, and a program of small tasks hardly gets on, without holdup as with it: two threads at most there.
#[test]
fn tasks() {
    stress_from(From::Gcc, "tasks", SETTINGS, 0);
    if is_installed(CLANG) {
        for set in SETTINGS {
            let few = |&(name, value): &(&'static str, &'static str)| match (name, value) {
                ("OMP_NUM_THREADS", "3" | "8") => (name, "2"),
                _ => (name, value),
            };
            let set: Vec<_> = set.iter().map(few).collect();
            stress_from(From::Clang, "tasks", &[&set], 0);
        }
    }
}

#[test]
fn exceptions() {
    let stage = Stage::new();
    for from in compilers() {
        let program = build(&stage, from, &format!("exceptions_{from:?}"), "exceptions.cpp", &[]);
        let json = compare(&stage, &program, &[], &[("OMP_NUM_THREADS", "2")], 0);
        assert_adds_up(&json);
        assert_adds_up(&compare_end(&stage, &program));
    }
}

/// An exception that leaves a region ends the program: both threads throw, and which one is heard is open.
fn compare_end(stage: &Stage, program: &Path) -> Value {
    let plain = run(Command::new(program).arg("uncaught"));
    let recording = stage.path("uncaught.holdup");
    let _ = fs::remove_file(&recording);
    let recorded = run(record(&recording, program).arg("uncaught"));
    assert_eq!((plain.status, &plain.stdout), (134, &recorded.stdout), "{plain:?}");
    assert_eq!(recorded.status, 134, "{recorded:?}");
    report_json(&recording)
}

/// A module from one compiler, linked to a program from the other, or opened by it.
#[test]
fn two_runtimes() {
    if compilers().len() < 2 {
        return;
    }
    for (program_from, module_from) in [(From::Gcc, From::Clang), (From::Clang, From::Gcc)] {
        let stage = Stage::new();
        let module = build(&stage, module_from, "libmodule.so", "module.c", &["-shared", "-fPIC"]);
        let module = module.to_string_lossy().into_owned();
        let linked = ["-DLINKED", &module];
        let program = build(&stage, program_from, "linked", "two_runtimes.c", &linked);
        assert_adds_up(&compare(&stage, &program, &[], &[], 0));
        let program = build(&stage, program_from, "opening", "two_runtimes.c", &["-ldl"]);
        assert_adds_up(&compare(&stage, &program, &[&module], &[], 0));
    }
}

/// A program without OpenMP that opens a module with it: no runtime is in the global scope.
#[test]
fn a_runtime_that_only_a_module_has() {
    for from in compilers() {
        let stage = Stage::new();
        let module = build(&stage, from, "libmodule.so", "module.c", &["-shared", "-fPIC"]);
        let program = stage.compile("opening", source("two_runtimes.c"), &["-ldl"]);
        let json = compare(&stage, &program, &[&module.to_string_lossy()], &[], 0);
        assert_adds_up(&json);
    }
}

/// A module that brings a copy of gcc's runtime under another name, as Python packages do.
#[test]
fn two_copies_of_one_runtime() {
    let stage = Stage::new();
    let own = stage.path("own");
    fs::create_dir(&own).expect("a folder");
    let ended = run(Command::new("cc").arg("-print-file-name=libgomp.so.1"));
    let found = stage::text(&ended.stdout);
    let runtime = match Path::new(found.trim()) {
        path if path.is_absolute() => path.to_owned(),
        _ => PathBuf::from("/usr/lib/x86_64-linux-gnu/libgomp.so.1"),
    };
    renamed(&runtime, &own.join("libgomp.so.9"));
    let module =
        build(&stage, From::Gcc, "libmodule.so", "module.c", &["-shared", "-fPIC", "-Wl,-rpath,$ORIGIN"]);
    let copy_user = own.join("libmodule_own.so");
    renamed(&module, &copy_user);
    let copy_user = copy_user.to_string_lossy().into_owned();

    let with_openmp = build(&stage, From::Gcc, "with", "two_runtimes.c", &["-ldl"]);
    assert_adds_up(&compare(&stage, &with_openmp, &[&copy_user], &[], 0));
    let without_openmp = stage.compile("without", source("two_runtimes.c"), &["-ldl"]);
    let both = [module.to_string_lossy().into_owned(), copy_user];
    let both: Vec<&str> = both.iter().map(String::as_str).collect();
    assert_adds_up(&compare(&stage, &without_openmp, &both, &[], 0));
}

/// A copy of an object in which `libgomp.so.1` has another name of the same length.
fn renamed(from: &Path, to: &Path) {
    let mut bytes = fs::read(from).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    let (old, new) = (b"libgomp.so.1\0", b"libgomp.so.9\0");
    let places: Vec<usize> =
        (0..bytes.len().saturating_sub(old.len())).filter(|&at| bytes[at..].starts_with(old)).collect();
    assert!(!places.is_empty(), "{} does not name libgomp.so.1", from.display());
    for at in places {
        bytes[at..at + new.len()].copy_from_slice(new);
    }
    fs::write(to, bytes).expect("write the copy");
}
