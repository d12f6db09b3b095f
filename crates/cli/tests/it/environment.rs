//! What the environment takes away is told first, and a machine that takes nothing away is not accused.

use std::collections::BTreeSet;
use std::fs;

use crate::stage::{CpuQuota, Stage, assert_adds_up, is_installed, record, report_json, run, skip};
use serde_json::Value;

/// Millions of steps of each thread: some tenths of a second.
const WORK: &str = "200";

/// The CPUs that this test may use, as the kernel lists them, and how many of the machine's there are.
fn cpus() -> (Vec<u32>, usize) {
    let numbers = |list: &str| -> Vec<u32> {
        let parts = list.trim().split(',').filter(|part| !part.is_empty());
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            first.parse::<u32>().expect("a CPU")..=last.parse::<u32>().expect("a CPU")
        };
        parts.flat_map(range).collect()
    };
    let status = fs::read_to_string("/proc/self/status").expect("status");
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a mask");
    let online = fs::read_to_string("/sys/devices/system/cpu/online").expect("the list of CPUs");
    (numbers(allowed), numbers(&online).len())
}

/// Records a command.
fn recorded(stage: &Stage, command: &[&str]) -> Value {
    let recording = stage.path("environment.holdup");
    let ended = run(record(&recording, command[0]).args(&command[1..]));
    assert_eq!(ended.status, 0, "{ended:?}");
    let json = report_json(&recording);
    assert_adds_up(&json);
    json
}

/// What is found, less what other programs on the machine did, who may have taken any share of the CPUs.
fn findings(json: &Value) -> Vec<&Value> {
    let all = json["findings"].as_array().expect("findings");
    all.iter().filter(|finding| finding["kind"] != "delayed").collect()
}

/// Demands that findings of a kind are in these words. Whether there is one, and which comes first, is up to who else uses the
/// CPUs: `cargo xtask truth` measures it.
fn assert_words(json: &Value, kind: &str, what: &str) {
    for finding in findings(json).into_iter().filter(|finding| finding["kind"] == kind) {
        assert_eq!(finding["what"], what, "{finding:#}");
    }
}

/// Which CPUs the first process may use, and to which sets of them threads are confined that were looked at: how many are is up
/// to when the recorder gets to look.
fn placement(json: &Value) -> (&str, BTreeSet<&str>) {
    let placement = &json["run"]["environment"]["placements"][0];
    let pins = placement["pins"].as_array().expect("pins").iter();
    (placement["allowed"].as_str().expect("CPUs"), pins.filter_map(|pin| pin["cpus"].as_str()).collect())
}

/// Demands a finding in these words.
fn assert_found<'a>(json: &'a Value, kind: &str, what: &str) -> &'a Value {
    let found = findings(json).into_iter().find(|finding| finding["kind"] == kind && finding["what"] == what);
    let found = found.unwrap_or_else(|| panic!("no {what:?}: {:#} of {:#}", json["findings"], json["run"]));
    assert!(found["cost_ns"].as_u64() > Some(0), "{found:#}");
    found
}

fn program(stage: &Stage) -> String {
    stage.program("compute", &[]).to_str().expect("a path of plain letters").to_owned()
}

#[test]
fn as_many_threads_as_cpus_are_held_up_by_no_limit() {
    let (allowed, _) = cpus();
    let stage = Stage::new();
    let json = recorded(&stage, &[&program(&stage), &allowed.len().to_string(), WORK]);
    let kinds: Vec<&Value> = findings(&json).iter().map(|finding| &finding["kind"]).collect();
    let limits = ["quota", "affinity", "oversubscription"];
    assert!(kinds.iter().all(|kind| !limits.contains(&kind.as_str().unwrap_or_default())), "{kinds:?}");
    assert_eq!(json["process"]["cores"], allowed.len());
    assert_eq!(json["run"]["environment"]["placements"][0]["pid"], json["process"]["pid"]);
}

#[test]
fn one_cpu_for_four_threads() {
    let (allowed, online) = cpus();
    if !is_installed("taskset") {
        return;
    }
    if online < 2 {
        return skip("the machine has one CPU");
    }
    let stage = Stage::new();
    let cpu = allowed[0].to_string();
    let json = recorded(&stage, &["taskset", "-c", &cpu, &program(&stage), "4", WORK]);
    let what =
        format!("CPU affinity: the program may use 1 of the machine's {online} CPUs; 4 threads share it");
    assert_words(&json, "affinity", &what);
    assert_eq!(placement(&json), (cpu.as_str(), BTreeSet::from([cpu.as_str()])));
    assert_eq!((&json["process"]["cores"], &json["process"]["effective_cores"]), (&1.into(), &1.into()));
}

#[test]
fn threads_that_pin_themselves_to_one_cpu() {
    let (allowed, _) = cpus();
    if allowed.len() < 2 {
        return skip("one CPU only may be used here");
    }
    let stage = Stage::new();
    let cpu = allowed[1].to_string();
    let json = recorded(&stage, &[&program(&stage), "4", WORK, &cpu]);
    let of = allowed.len();
    let what = format!("CPU affinity: 4 threads are pinned to 1 of the {of} CPUs that the program may use");
    assert_words(&json, "affinity", &what);
    let (all, pins) = placement(&json);
    assert!(pins.iter().all(|cpus| [all, cpu.as_str()].contains(cpus)), "{all} {pins:?}");
    assert_eq!(json["process"]["effective_cores"], of);
}

#[test]
fn four_threads_for_each_cpu() {
    let (allowed, online) = cpus();
    let stage = Stage::new();
    let threads = (4 * allowed.len()).min(256);
    let json = recorded(&stage, &[&program(&stage), &threads.to_string(), WORK]);
    let cores = allowed.len();
    if cores < online {
        let what = format!(
            "CPU affinity: the program may use {cores} of the machine's {online} CPUs; {threads} threads share them"
        );
        assert_words(&json, "affinity", &what);
        return;
    }
    let noun = if cores == 1 { "core" } else { "cores" };
    assert_eq!(
        (&json["process"]["cores"], &json["process"]["threads"]),
        (&cores.into(), &(threads + 1).into()),
        "{:#}",
        json["process"]
    );
    assert_words(&json, "oversubscription", &format!("{threads} threads share {cores} {noun}"));
}

/// So little that even a machine that is busy with other work gives the group, with the weight that it has, more than that.
#[test]
fn a_real_quota_of_a_tenth_of_a_cpu() {
    let Some(group) = CpuQuota::of(&format!("holdup-test-quota-{}", std::process::id()), 10_000) else {
        return skip("no control group with a CPU quota can be made here");
    };
    let stage = Stage::new();
    let program = program(&stage);
    let folder = group.folder().to_str().expect("a path of plain letters");
    let json = recorded(&stage, &["sh", "-c", &group.joined(&format!("{program} 4 60"))]);
    let what = "CPU quota: the control group gives 0.1 CPUs; 4 threads share them";
    let evidence = assert_found(&json, "quota", what)["evidence"][0].as_str().expect("words").to_owned();
    assert_eq!(json["process"]["effective_cores"], 1);
    assert!(evidence.contains(folder) && evidence.contains(" was throttled in "), "{evidence}");
}
