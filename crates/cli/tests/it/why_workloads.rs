//! Planted lines: the first cause that `holdup why` names is the line that `workloads/lime.tsv` speaks of, whoever compiled
//! it, at every level of optimization and at 8 to 64 threads.
//!
//! Executed instructions stand for time, so the answers do not depend on the machine. A part of all the ways to build and
//! run each program is tried here; `cargo xtask bench why --matrix` tries them all.

use std::fmt::Write as _;
use std::process::Command;

use serde_json::Value;

use crate::stage::lime::{LEVELS, THREADS, Way, Workload, complaint, options, table, why, workload};
use crate::stage::{HOLDUP, Stage, run, text};

/// Tried by all compilers at all levels at 8 threads; of the others one way each.
const WHOLE: [&str; 3] = ["lime_lu", "lime_root", "lime_turns"];

/// Builds and runs in one way. Nothing where the compiler is not installed.
fn tried(stage: &Stage, row: &Workload, way: Way) -> Option<Result<(), String>> {
    let program = row.build(stage, way, &[])?;
    let json = why(options(row), &program, &[&way.threads.to_string()]);
    Some(complaint(row, &json).map_or(Ok(()), Err))
}

/// All ways to build and run a workload.
fn all_ways(row: &Workload) -> Vec<Way> {
    let mut ways = Vec::new();
    for &compiler in row.compilers() {
        for level in LEVELS {
            ways.extend(THREADS.map(|threads| Way { compiler, level, threads }));
        }
    }
    ways
}

/// Those that are tried here.
fn some_ways(row: &Workload) -> Vec<Way> {
    let all = all_ways(row);
    if WHOLE.contains(&row.name.as_str()) {
        return all.into_iter().filter(|way| way.threads == 8).collect();
    }
    // Each row another one, so that all compilers, levels and numbers of threads have their turn.
    let place = table().iter().position(|other| other.name == row.name).expect("a row of the table");
    vec![all[(place * 7) % all.len()]]
}

fn check(name: &str) {
    let row = workload(name);
    let stage = Stage::new();
    let mut wrong = String::new();
    for way in some_ways(&row) {
        if let Some(Err(complaint)) = tried(&stage, &row, way) {
            let _ = writeln!(wrong, "{way}: {complaint}");
        }
    }
    assert!(wrong.is_empty(), "{name}\n{wrong}");
}

macro_rules! a_test_for_each {
    ($($name:ident)*) => {
        $(#[test] fn $name() { super::check(stringify!($name)); })*

        #[test]
        fn every_row_of_the_table_has_a_test() {
            let names: Vec<String> = super::table().into_iter().map(|row| row.name).collect();
            assert_eq!(names, [$(stringify!($name)),*], "the table and this list must name the same");
        }
    };
}

mod planted_lines {
    a_test_for_each! {
        lime_lu
        lime_radix
        lime_root
        lime_tree
        lime_turns
        lime_sort
        lime_libm
        lime_pointer
        lime_switch
        lime_condition
        lime_poll
        lime_poll_pause
        lime_rows
        lime_cpp
        lime_rust
        lime_two
        lime_numbers
        lime_paths
        lime_zones
        lime_meet
        lime_meet_inlined
        lime_look
        lime_cache
        lime_queue
        lime_equal
        lime_noise
        lime_dynamic
    }
}

#[test]
fn threads_that_draw_their_numbers_and_locks_taken_unequally_are_no_schedule() {
    let row = workload("lime_numbers");
    let stage = Stage::new();
    for compiler in row.compilers().iter().copied() {
        let way = Way { compiler, level: '2', threads: 16 };
        let Some(program) = row.build(&stage, way, &[]) else { continue };
        let json = why(&["--no-intervals"], &program, &["16"]);
        let first = &json["sections"][0];
        assert_eq!(first["depends_on_schedule"], Value::Null, "{way}: a second run says so");
        assert_eq!(complaint(&row, &json), None, "{way}");
    }
}

#[test]
fn a_recording_that_is_read_again_says_what_the_other_runs_said() {
    let row = workload("lime_numbers");
    let stage = Stage::new();
    let way = Way { compiler: row.compilers()[0], level: '2', threads: 8 };
    let Some(program) = row.build(&stage, way, &[]) else { return };
    let kept = stage.path("run.holdup");
    let options = ["--no-intervals", "-o", kept.to_str().expect("a path of text")];
    let first = why(&options, &program, &["8"]);
    assert_eq!(
        first["sections"][0]["native"]["time_ns"].as_array().map(|times| times.is_empty()),
        Some(false)
    );
    let read = run(Command::new(HOLDUP).args(["why", "--json", "--no-intervals"]).arg(&kept));
    let again: Value = serde_json::from_slice(&read.stdout).expect("JSON");
    assert_eq!(again, first);
    let without = run(Command::new(HOLDUP).args(["why", "--json", "--no-native"]).arg(&kept));
    let without: Value = serde_json::from_slice(&without.stdout).expect("JSON");
    assert_eq!(without["sections"][0]["native"], Value::Null);
}

#[test]
fn what_a_script_starts_is_counted() {
    let row = workload("lime_root");
    let stage = Stage::new();
    let way = Way { compiler: row.compilers()[0], level: '2', threads: 8 };
    let Some(program) = row.build(&stage, way, &[]) else { return };
    let program = program.to_str().expect("a path of text");
    for script in [format!("exec {program} 8"), format!("{program} 8; true")] {
        let mut command = Command::new(HOLDUP);
        let ended = run(command.args(["why", "--json", "--no-intervals", "--", "sh", "-c", &script]));
        let said = text(&ended.stdout);
        let json: Value = serde_json::from_str(&said[said.find("{\n").expect("JSON")..]).expect("JSON");
        assert_eq!(json["run"]["command"][0], program, "{script}");
        assert_eq!(complaint(&row, &json), None, "{script}");
        let warnings = json["run"]["warnings"].to_string();
        assert!(warnings.contains("was counted by itself: sh starts it"), "{warnings}");
    }
}

/// Unrolled loops and functions that are inlined into themselves: each copy of the decision has a part of the weight.
#[test]
fn a_decision_that_compilers_copy_is_one_cause() {
    let stage = Stage::new();
    let copied = [
        ("lime_radix", "clang", '2', 16),
        ("lime_sort", "clang", '2', 16),
        ("lime_switch", "clang", '3', 16),
        ("lime_tree", "gcc", '3', 16),
        // Copies of a recursion, in itself and in its caller.
        ("lime_zones", "gcc", '3', 8),
        ("lime_zones", "gcc", '3', 16),
    ];
    let mut wrong = String::new();
    for (name, compiler, level, threads) in copied {
        let row = workload(name);
        let is_it =
            |way: &Way| way.threads == threads && way.level == level && way.to_string().starts_with(compiler);
        let way = all_ways(&row).into_iter().find(is_it).expect("a way of the matrix");
        if let Some(Err(complaint)) = tried(&stage, &row, way) {
            let _ = writeln!(wrong, "{name}, {way}: {complaint}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_section_that_is_reached_along_several_paths_is_one() {
    let row = workload("lime_paths");
    let stage = Stage::new();
    for way in all_ways(&row).into_iter().filter(|way| way.threads == 16) {
        let Some(program) = row.build(&stage, way, &[]) else { continue };
        let json = why(&["--no-native", "--no-intervals"], &program, &["16"]);
        // Of the steps of the sweep; the barrier behind it, two steps in three, has nothing but itself.
        assert_eq!(json["sections"][0]["instances"], 12, "{way}");
    }
}

/// Every way of every row, and a table of hits: `cargo xtask bench why --matrix` runs this and shows what it prints.
/// `HOLDUP_WHY_ROWS` chooses rows by a part of their names.
#[test]
#[ignore = "takes minutes"]
fn the_whole_matrix() {
    let wanted = std::env::var("HOLDUP_WHY_ROWS").unwrap_or_default();
    let (mut hits, mut runs) = (0, 0);
    for row in table().iter().filter(|row| row.name.contains(&wanted)) {
        let stage = Stage::new();
        let (mut right, mut all, mut misses) = (0, 0, String::new());
        for way in all_ways(row) {
            match tried(&stage, row, way) {
                Some(Ok(())) => (right, all) = (right + 1, all + 1),
                Some(Err(complaint)) => {
                    all += 1;
                    let _ = writeln!(misses, "    {way}: {complaint}");
                }
                None => {}
            }
        }
        println!("{:<18} {right:>3} of {all}", row.name);
        print!("{misses}");
        (hits, runs) = (hits + right, runs + all);
    }
    println!("{:<18} {hits:>3} of {runs}", "all");
    assert!(runs > 0, "no row's name contains {wanted:?}");
}
