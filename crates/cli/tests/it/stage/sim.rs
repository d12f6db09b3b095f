//! What `holdup sim` says, on the machine of paper 3, of the workloads of `workloads/sim.tsv` and other programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

pub(crate) use holdup_stage::sim::*;

use super::{HOLDUP, Stage, run, text, workspace};

const MACHINE: &str = "dunnington";

/// Builds a workload and records it.
pub(crate) fn record(stage: &Stage, name: &str, flags: &[&str], arguments: &[&str]) -> PathBuf {
    let source = workspace().join("workloads").join(name).join("main.c");
    let openmp = std::fs::read_to_string(&source).expect("the workload").contains("#pragma omp");
    let flags = [flags, if openmp { &["-fopenmp"] } else { &[] }].concat();
    let called = [&[name], &flags[..], arguments].concat().join("_");
    let program = stage.compile(&called.replace(['-', '='], ""), source, &flags);
    record_program(stage, &program, arguments)
}

/// Records a program with all of its instructions; gives the recording.
pub(crate) fn record_program(stage: &Stage, program: &Path, arguments: &[&str]) -> PathBuf {
    let name = program.file_name().expect("a name").to_string_lossy();
    let recording = stage.path(format!("{name}.{}.holdup", arguments.join("_")));
    let mut command = Command::new(HOLDUP);
    command.args(["record", "--instructions=stream", "-o"]).arg(&recording).arg("--");
    let ended = run(command.arg(program).args(arguments));
    assert_eq!(ended.status, 0, "{ended:?}");
    recording
}

/// The bytes of `holdup sim` of a recording.
pub(crate) fn sim_bytes(options: &[&str], recording: &Path) -> Vec<u8> {
    let mut command = Command::new(HOLDUP);
    command.arg("sim").args(options).arg(recording);
    let ended = run(&mut command);
    assert_eq!(ended.status, 0, "{command:?}: {ended:?}");
    ended.stdout
}

/// `holdup sim --json` of a recording: the simulations, in the order in which they were asked for.
pub(crate) fn sim(options: &[&str], recording: &Path) -> Vec<Value> {
    let said = text(&sim_bytes(&[&["--json", "--machine", MACHINE], options].concat(), recording));
    let json: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("no JSON ({error}): {said}"));
    json["simulations"].as_array().expect("simulations").clone()
}

/// The one simulation on so many cores.
pub(crate) fn on_cores(cores: u32, recording: &Path) -> Value {
    sim(&["--cores", &cores.to_string()], recording).swap_remove(0)
}

pub(crate) fn cycles(run: &Value) -> f64 {
    run["cycles"].as_f64().expect("cycles")
}

/// Cycles of a stack for some components together.
pub(crate) fn of_stack(stack: &Value, components: &[impl AsRef<str>]) -> f64 {
    components.iter().filter_map(|component| stack[component.as_ref()].as_f64()).sum()
}

/// All cycles of a stack.
pub(crate) fn whole(stack: &Value) -> f64 {
    stack.as_object().expect("a stack").values().filter_map(Value::as_f64).sum()
}

/// The stack of the thread with this number.
pub(crate) fn stack_of(run: &Value, thread: u64) -> &Value {
    let threads = run["threads"].as_array().expect("threads");
    let found = threads.iter().find(|one| one["thread"].as_u64() == Some(thread));
    &found.unwrap_or_else(|| panic!("no thread {thread} in {run}"))["stack"]
}

/// The share of some components of a thread's cycles.
pub(crate) fn share(run: &Value, thread: u64, components: &[impl AsRef<str>]) -> f64 {
    let stack = stack_of(run, thread);
    of_stack(stack, components) / whole(stack)
}
