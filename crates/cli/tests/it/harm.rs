//! It does not harm: each program of `tests/harm` gives the same output and the same status under holdup as without,
//! and what was recorded of it can be read. `tests/harm/README.md` says what each of them is about.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stage;
use crate::stage::{Ended, Stage, is_root, record, report_json, run, skip, workspace};

/// A row of `tests/harm/cases.tsv`.
#[derive(Debug)]
struct Case {
    file: String,
    flags: Vec<String>,
    arguments: Vec<String>,
    needs_root: bool,
    status: i32,
}

impl Case {
    /// What its test is called: the file, and the first argument where there is one.
    fn name(&self) -> String {
        let stem = self.file.split('.').next().unwrap_or_default();
        match self.arguments.first().filter(|argument| !argument.starts_with('{')) {
            Some(argument) => format!("{stem}_{argument}"),
            None => stem.to_owned(),
        }
    }
}

fn folder() -> PathBuf {
    workspace().join("tests/harm")
}

fn cases() -> Vec<Case> {
    let table = std::fs::read_to_string(folder().join("cases.tsv")).expect("tests/harm/cases.tsv");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [file, _, flags, arguments, needs_root, status, ..] = fields[..] else { panic!("a row: {line}") };
        Case {
            file: file.to_owned(),
            flags: words(flags),
            arguments: words(arguments),
            needs_root: needs_root == "1",
            status: status.parse().expect("a status"),
        }
    };
    table.lines().skip(1).map(row).collect()
}

fn case(name: &str) -> Case {
    let found = cases().into_iter().find(|case| case.name() == name);
    found.unwrap_or_else(|| panic!("{name} is not in tests/harm/cases.tsv"))
}

/// A case that was built: its program and its arguments.
struct Built {
    program: PathBuf,
    arguments: Vec<String>,
}

fn build(stage: &Stage, case: &Case) -> Built {
    let flags: Vec<&str> = case.flags.iter().map(String::as_str).collect();
    let arguments = case.arguments.iter().map(|argument| match argument.strip_prefix('{') {
        Some(library) => {
            let library = library.trim_end_matches('}');
            let source = folder().join(Path::new(library).with_extension("c"));
            stage.compile(library, source, &["-shared", "-fPIC"]).to_string_lossy().into_owned()
        }
        None => argument.clone(),
    });
    let arguments = arguments.collect();
    Built { program: stage.compile(&case.name(), folder().join(&case.file), &flags), arguments }
}

/// Runs a case plain and recorded, with `set` on the environment of both, and demands the same.
fn compare(stage: &Stage, case: &Case, set: &[(&str, &str)]) {
    let built = build(stage, case);
    let environment = set.iter().copied();
    let plain = run(Command::new(&built.program).args(&built.arguments).envs(environment.clone()));
    if plain.status != case.status && !set.is_empty() {
        // Other libraries beside it may fail by themselves: that says nothing of holdup.
        return skip(&format!("{} with {set:?} fails without holdup too: {plain:?}", case.name()));
    }
    assert_eq!(plain.status, case.status, "without holdup: {plain:?}");
    let recording = stage.path(format!("{}.holdup", case.name()));
    let recorded = run(record(&recording, &built.program).args(&built.arguments).envs(environment));
    assert_same(&plain, &recorded);
    let json = report_json(&recording);
    assert_eq!(json["schema"], 1);
}

fn assert_same(plain: &Ended, recorded: &Ended) {
    assert!(plain == recorded, "without holdup:\n{plain:?}\nunder holdup:\n{recorded:?}");
}

fn check(name: &str) {
    let case = case(name);
    if case.needs_root && !is_root() {
        return skip(&format!("{name} needs root"));
    }
    compare(&Stage::new(), &case, &[]);
}

/// One test for each row of the table.
macro_rules! a_test_for_each {
    ($($name:ident)*) => {
        $(#[test] fn $name() { check(stringify!($name)); })*

        #[test]
        fn every_row_of_the_table_has_a_test() {
            let tested = [$(stringify!($name)),*];
            let rows: Vec<String> = cases().iter().map(Case::name).collect();
            assert_eq!(rows, tested, "tests/harm/cases.tsv and this list must name the same, in the same order");
        }
    };
}

a_test_for_each! {
    before_main
    before_main_cpp
    c11_threads
    call_once
    cancel
    chroot_inside
    close_all
    conditions
    cpp_sync
    crash_abort
    crash_segv
    crash_kill
    crash_term
    crash_trap
    crash_quick
    crash_recover
    dlopen_threads
    errno_kept
    exec_self
    exit_from_thread
    fork_beside_loader
    fork_threads
    interrupted
    joining
    keys
    late_destructors
    library_threads
    limits_nofile
    limits_nofile4
    limits_as
    limits_fsize
    limits_nproc
    limits_memlock
    limits_lockall
    main_leaves
    malloc_lock
    many_threads
    mutex_kinds
    nothing_changed
    process_shared
    raw_calls
    raw_clone
    real_time
    robust
    rwlocks
    seccomp_filter_late
    seccomp_filter_early
    seccomp_strict
    semaphores
    setuid_inside
    signal_stack
    signal_storm_itimer
    signal_storm_timer
    small_stacks
    spawn
    spins_and_barriers
    stack_edges
    timed_locks
    unwinding
    vfork_exec
}

const JEMALLOC: &str = "libjemalloc.so.2";
const MIMALLOC: &[&str] =
    &["libmimalloc.so.2.0", "libmimalloc.so.3.0", "libmimalloc.so.2", "libmimalloc.so.3"];

/// Where the dynamic linker finds a library.
fn library(names: &[&str]) -> Option<String> {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];
    let paths = folders.iter().flat_map(|folder| names.iter().map(move |name| format!("{folder}/{name}")));
    paths.into_iter().find(|path| Path::new(path).exists())
}

/// Cases that use what a malloc replacement makes delicate: threads, forks, programs' own mallocs, things before main.
const DELICATE: &[&str] =
    &["fork_threads", "malloc_lock", "before_main_cpp", "many_threads", "spawn", "cancel", "dlopen_threads"];

fn with_malloc(list: &str) {
    let stage = Stage::new();
    for name in DELICATE {
        compare(&stage, &case(name), &[("LD_PRELOAD", list)]);
    }
}

/// The same command, started as nohup and shells start what runs in the background: with signals ignored.
fn with_signals_ignored(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "trap '' HUP INT QUIT; exec \"$0\" \"$@\""])
        .arg(command.get_program())
        .args(command.get_args());
    let set = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    shell.envs(set);
    shell
}

#[test]
fn signals_that_are_ignored_stay_so() {
    let stage = Stage::new();
    let built = build(&stage, &case("nothing_changed"));
    let plain = run(&mut with_signals_ignored(Command::new(&built.program).args(&built.arguments)));
    let recording = stage.path("ignored.holdup");
    let recorded = run(&mut with_signals_ignored(record(&recording, &built.program).args(&built.arguments)));
    assert!(stage::text(&plain.stdout).contains("signal 1: ignored"), "{plain:?}");
    assert_same(&plain, &recorded);
}

#[test]
fn beside_jemalloc() {
    match library(&[JEMALLOC]) {
        Some(jemalloc) => with_malloc(&jemalloc),
        None => skip("libjemalloc2 is not installed"),
    }
}

#[test]
fn beside_mimalloc() {
    match library(MIMALLOC) {
        Some(mimalloc) => with_malloc(&mimalloc),
        None => skip("libmimalloc is not installed"),
    }
}

#[test]
fn beside_both_mallocs_in_either_order() {
    let (Some(jemalloc), Some(mimalloc)) = (library(&[JEMALLOC]), library(MIMALLOC)) else {
        return skip("libjemalloc2 or libmimalloc is not installed");
    };
    let stage = Stage::new();
    for list in [format!("{jemalloc}:{mimalloc}"), format!("{mimalloc} {jemalloc}")] {
        for name in ["fork_threads", "malloc_lock"] {
            compare(&stage, &case(name), &[("LD_PRELOAD", &list)]);
        }
    }
}
