//! Misses of the simulator on its own recording against those of cachegrind, an independent simulator of caches, function by
//! function of a program.
//!
//! On the same addresses both are equal exactly (`crates/sim/tests/oracle.rs`). Here they are not the same addresses, and the
//! simulator has more than caches; what differs is this:
//!
//! - The stack and the heap lie elsewhere, since the two emulators lay out memory differently: other sets of the caches. Functions
//!   that use them much are left out.
//! - The C library chooses other variants of its string functions, as the emulated processors can do different things. Its
//!   functions are left out, but they leave other lines behind.
//! - What is used while its line is on its way has not hit for us: where it comes from is who gives the line. Here all answer
//!   nearly at once, so that this is rare.
//! - Our outer levels include the inner ones: a line that they give up is lost in the inner ones too.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::stage::sim::sim;
use crate::stage::{HOLDUP, Stage, is_installed, run, workspace};
use serde_json::Value;

/// Functions of the program itself that use neither the heap nor the stack much.
const FUNCTIONS: [&str; 3] = ["multiply", "straddle", "in_place"];

/// Misses of data in the first level, and in the last of two.
#[derive(Clone, Copy, Debug, Default)]
struct Misses {
    first: f64,
    last: f64,
}

type ByFunction = BTreeMap<String, Misses>;

/// Lines `fn=NAME`, and for each of its lines of source `line Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw`.
fn by_cachegrind(stage: &Stage, program: &Path) -> ByFunction {
    let out = stage.path("cachegrind.out");
    let mut command = Command::new("valgrind");
    command.args([
        "--tool=cachegrind",
        "--cache-sim=yes",
        "--I1=32768,8,64",
        "--D1=4096,4,64",
        "--LL=65536,8,64",
    ]);
    let ended = run(command.arg(format!("--cachegrind-out-file={}", out.display())).arg(program));
    assert_eq!(ended.status, 0, "{ended:?}");
    let text = std::fs::read_to_string(out).expect("cachegrind's file");
    let mut all = ByFunction::new();
    let mut function = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            name.clone_into(&mut function);
        } else if line.starts_with(|first: char| first.is_ascii_digit()) {
            let numbers: Vec<f64> =
                line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
            let misses = all.entry(function.clone()).or_default();
            misses.first += numbers[5] + numbers[8];
            misses.last += numbers[6] + numbers[9];
        }
    }
    all
}

fn by_holdup(stage: &Stage, program: &Path) -> ByFunction {
    let recording = stage.path("touch.holdup");
    let mut command = Command::new(HOLDUP);
    command.args(["record", "--instructions=stream", "--roi", "all", "-o"]).arg(&recording);
    let ended = run(command.arg("--").arg(program));
    assert_eq!(ended.status, 0, "{ended:?}");
    // Caches of the same geometry that answer nearly at once, so that hardly anything is used while it is on its way.
    let geometry = "l1d.ways=4,l1d.size=4096,l2.ways=8,l2.size=65536";
    let at_once = "l1d.tags=0,l1d.latency=1,l2.tags=0,l2.latency=2,l3.tags=0,l3.latency=3,memory.latency-ns=0,\
                   memory.bandwidth=0,on-chip.bandwidth=0";
    let what_if = format!("{geometry},{at_once}");
    let runs = sim(&["--cores", "1", "--what-if", &what_if], &recording);
    let functions = runs[1]["functions"].as_array().expect("functions");
    let misses = |function: &Value| {
        let served = |names: &[&str]| names.iter().filter_map(|name| function["served"][name].as_f64()).sum();
        Misses { first: served(&["l2", "l3", "dram"]), last: served(&["l3", "dram"]) }
    };
    let name = |function: &Value| function["where"]["function"].as_str().map(str::to_owned);
    functions.iter().filter_map(|function| Some((name(function)?, misses(function)))).collect()
}

#[test]
fn misses_of_each_function_are_near_those_of_cachegrind() {
    if !is_installed("valgrind") || !is_installed("qemu-x86_64") {
        return;
    }
    let stage = Stage::new();
    let source = workspace().join("crates/sim/tests/oracle/touch.c");
    let program = stage.compile("touch", source, &["-O1", "-no-pie", "-fno-inline"]);
    let (theirs, ours) = (by_cachegrind(&stage, &program), by_holdup(&stage, &program));
    for function in FUNCTIONS {
        let (theirs, ours) = (theirs[function], ours.get(function).copied().unwrap_or_default());
        println!("{function}: ours {ours:?}, cachegrind's {theirs:?}");
        let near = |ours: f64, theirs: f64, share: f64| (ours - theirs).abs() <= 100.0 + share * theirs;
        assert!(near(ours.first, theirs.first, 0.03), "{function}: {ours:?} and {theirs:?}");
        assert!(near(ours.last, theirs.last, 0.25), "{function}: {ours:?} and {theirs:?}");
    }
}
