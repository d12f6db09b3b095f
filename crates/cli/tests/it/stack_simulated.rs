//! The workloads after paper 1's programs on a simulated machine with four cores, where each resource can be made private
//! exactly: what their speedup is lost to. The machine is that of the paper with all caches made small, so that little work
//! shows what they are for.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::stage::sim::record_program;
use crate::stage::{HOLDUP, Stage, is_installed, run, text, workspace};
use serde_json::Value;

const CORES: f64 = 4.0;

/// The machine of paper 1 (nehalem) with 8 KiB of private caches and 512 KiB that are shared, and so many memory channels.
fn machine(stage: &Stage, channels: u32) -> PathBuf {
    let ended = run(Command::new(HOLDUP).args(["sim", "--show-machine", "nehalem"]));
    let mut whole: toml::Table = text(&ended.stdout).parse().expect("a machine's file");
    for (cache, bytes) in [("l1i", 8 << 10), ("l1d", 8 << 10), ("l2", 8 << 10), ("l3", 512 << 10)] {
        let level = whole.get_mut(cache).and_then(toml::Value::as_table_mut).expect("a level");
        level.insert("size".to_owned(), toml::Value::Integer(bytes));
    }
    let memory = whole.get_mut("memory").and_then(toml::Value::as_table_mut).expect("memory");
    memory.insert("channels".to_owned(), toml::Value::Integer(channels.into()));
    let path = stage.path(format!("small-{channels}.toml"));
    fs::write(&path, whole.to_string()).expect("a file");
    path
}

/// What a workload's speedup with four threads on four cores is lost to, by component.
struct Lost(Value);

impl Lost {
    fn by(name: &str, flags: &[&str], channels: u32, arguments: &[&str]) -> Option<Lost> {
        if !is_installed("qemu-x86_64") {
            return None;
        }
        let stage = Stage::new();
        let source = workspace().join("workloads").join(name).join("main.c");
        let program = stage.compile(name, source, &[flags, &["-lm"]].concat());
        let recording = record_program(&stage, &program, arguments);
        let mut command = Command::new(HOLDUP);
        command.args(["sim", "--json", "--speedup-stack", "--cores", "4", "--machine"]);
        let ended = run(command.arg(machine(&stage, channels)).arg(recording));
        assert_eq!(ended.status, 0, "{ended:?}");
        let json: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
        let lost = Lost(json["speedup_stacks"][0].clone());
        let reached = lost.0["speedup"].as_f64().expect("a speedup");
        let sum: f64 = lost.parts().map(|(_, amount)| amount).sum();
        assert!((reached + sum - CORES).abs() < 1e-6, "{name}: {}", lost.0);
        Some(lost)
    }

    fn parts(&self) -> impl Iterator<Item = (&str, f64)> {
        let losses = self.0["losses"].as_array().expect("losses");
        losses.iter().map(|loss| {
            (loss["component"].as_str().expect("a name"), loss["speedup"].as_f64().expect("a part"))
        })
    }

    fn to(&self, component: &str) -> f64 {
        self.parts().filter(|(name, _)| *name == component).map(|(_, amount)| amount).sum()
    }
}

const CACHE: &str = "shared caches";
const MEMORY: &str = "memory";
const LOCKS: &str = "locks";

#[test]
fn ub_tiny_loses_to_its_lock_and_to_nothing_that_is_shared() {
    let Some(lost) = Lost::by("stack_tiny", &[], 3, &["4", "3", "200", "100", "2"]) else { return };
    assert!(lost.to(LOCKS) > 0.2, "{}", lost.0);
    assert!(lost.to(CACHE).abs() < 0.1 && lost.to(MEMORY).abs() < 0.1, "{}", lost.0);
}

#[test]
fn ub_rnd_loses_to_the_cache_and_not_to_memory() {
    let Some(lost) = Lost::by("stack_rnd", &[], 3, &["4", "4", "40", "200", "192"]) else { return };
    assert!(lost.to(CACHE) > 0.3, "{}", lost.0);
    assert!(lost.to(MEMORY).abs() < 0.1, "{}", lost.0);
}

#[test]
fn ub_seq_loses_to_memory_more_with_fewer_channels_and_not_to_the_cache() {
    let arguments = ["4", "1", "40", "800", "4096"];
    let Some(one) = Lost::by("stack_seq", &[], 1, &arguments) else { return };
    assert!(one.to(MEMORY) > 1.0, "{}", one.0);
    assert!(one.to(CACHE) < 0.3, "{}", one.0);
    let Some(three) = Lost::by("stack_seq", &[], 3, &arguments) else { return };
    assert!(three.to(MEMORY) < one.to(MEMORY) - 0.3, "{} after {}", three.0, one.0);
}

#[test]
fn swaptions_like_work_loses_to_the_cache_only() {
    let Some(lost) = Lost::by("stack_options", &["-DTRIALS=1200L"], 3, &["4", "1", "192"]) else { return };
    assert!(lost.to(CACHE) > 0.2, "{}", lost.0);
    assert!(lost.to(MEMORY).abs() < 0.1, "{}", lost.0);
}

#[test]
fn a_stencil_loses_to_memory_and_not_to_the_cache() {
    let Some(lost) = Lost::by("stack_lattice", &[], 1, &["4", "1", "40"]) else { return };
    assert!(lost.to(MEMORY) > 0.2, "{}", lost.0);
    assert!(lost.to(CACHE).abs() < 0.1, "{}", lost.0);
}

#[test]
fn histograms_lose_to_cache_and_memory() {
    let flags = ["-DMILLION=(1L<<17)"];
    let Some(lost) = Lost::by("stack_sort", &flags, 1, &["4", "1", "1", "256"]) else { return };
    assert!(lost.to(CACHE) > 0.5 && lost.to(MEMORY) > 0.3, "{}", lost.0);
}

#[test]
fn independent_options_lose_to_nothing() {
    let Some(lost) = Lost::by("stack_prices", &["-DOPTIONS=8192L"], 3, &["4", "1"]) else { return };
    assert!(lost.to(CACHE).abs() < 0.1 && lost.to(MEMORY).abs() < 0.1, "{}", lost.0);
    assert!(lost.to(LOCKS).abs() < 0.01, "{}", lost.0);
}

#[test]
fn one_lock_for_all_cells_costs_more_than_one_for_each() {
    let arguments = ["4", "1"];
    let flags = |more: &'static str| ["-DCELLS=512L", "-DSTEPS=2", more];
    let Some(many) = Lost::by("stack_fluid", &flags("-DMANY_LOCKS"), 3, &arguments) else { return };
    let Some(one) = Lost::by("stack_fluid", &flags("-DONE_LOCK"), 3, &arguments) else { return };
    assert!(one.to(LOCKS) > 1.5, "{}", one.0);
    assert!(many.to(LOCKS) < 0.2, "{}", many.0);
}

#[test]
fn the_simulators_stack_stands_beside_the_measured_one_under_its_own_name() {
    if !is_installed("qemu-x86_64") {
        return;
    }
    let stage = Stage::new();
    let source = workspace().join("workloads/stack_tiny/main.c");
    let program = stage.compile("stack_tiny", source, &["-lm"]).to_string_lossy().into_owned();
    let place = stage.path("runs").to_string_lossy().into_owned();
    let machine = machine(&stage, 3).to_string_lossy().into_owned();
    let stack = |arguments: &[&str]| run(Command::new(HOLDUP).arg("stack").args(arguments));
    let measured =
        ["-t", "1,2", "-r", "1", "--profiled", "1", "--no-pirate", "--simulate", "--machine", &machine];
    let ended = stack(
        &[&measured[..], &["--runs", &place, "--json", "--", &program, "{threads}", "3", "100"]].concat(),
    );
    assert_eq!(ended.status, 0, "{ended:?}");
    let told: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    assert_eq!(told["simulated"][0]["cores"], 2, "{told}");
    assert!(told["phases"][0]["stacks"][1]["speedup"].is_number(), "{told}");
    // Shown again it is simulated again, on any machine.
    let ended = stack(&["--from", &place, "--simulate", "--machine", "dunnington"]);
    assert!(
        text(&ended.stdout).contains("simulated") && text(&ended.stdout).contains("dunnington"),
        "{ended:?}"
    );
    let ended = stack(&["--machine", "nonsense", "--simulate", "--", "true"]);
    assert_eq!(ended.status, 2, "{ended:?}");
}
