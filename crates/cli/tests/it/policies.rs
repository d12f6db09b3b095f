//! `holdup policies` on the workloads after paper 4, with little to do each, and online criticality on real recordings.

use std::process::Command;

use holdup_criticality::criticality;
use holdup_model::{Timeline, from_fixed};
use holdup_policy::CriticalityUnit;
use holdup_recording::Recording;
use serde_json::Value;

use crate::stage::sim::record;
use crate::stage::{HOLDUP, Stage, is_installed, run, text, workspace};

/// `holdup policies --json` of a workload with 8 threads: its program.
fn told(stage: &Stage, name: &str, flags: &[&str], arguments: &[&str], options: &[&str]) -> Value {
    let recording = record(stage, name, flags, arguments);
    let mut command = Command::new(HOLDUP);
    let ended = run(command.args(["policies", "--json"]).args(options).arg(&recording));
    assert_eq!(ended.status, 0, "{ended:?}");
    let json: Value = serde_json::from_str(&text(&ended.stdout)).expect("JSON");
    json["programs"][0].clone()
}

fn policy<'a>(program: &'a Value, name: &str) -> &'a Value {
    let runs = program["policies"].as_array().expect("policies");
    runs.iter().find(|run| run["policy"] == name).unwrap_or_else(|| panic!("no {name}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// What dividing the loop gives, and of which kind its thread's criticality is called, depend on how long threads wait for
/// each other where it was recorded: `cargo xtask truth` measures it, and a stored recording has it (`policies_sweep`).
#[test]
fn a_thread_with_a_loop_of_its_own_is_the_most_critical_one() {
    if !is_installed("qemu-x86_64") {
        return;
    }
    let stage = Stage::new();
    let planted = told(&stage, "policy_bfs", &[], &["8", "1", "4000"], &["--sweep"]);
    assert_eq!(planted["most_critical"], 0, "{planted}");
    assert!((1.0..8.0).contains(&number(&planted["threads"][0]["divided_speedup"])), "{planted}");
    for name in ["offline", "single", "bis", "dynamic"] {
        let energy = |name| number(&policy(&planted, name)["energy"]["relative"]);
        assert!(energy(name) < energy("all"), "{name}: {planted}");
    }
}

#[test]
fn the_thread_that_nobody_hides_is_named_as_the_better_one() {
    if !is_installed("qemu-x86_64") {
        return;
    }
    let stage = Stage::new();
    let program = told(&stage, "policy_fmm", &[], &["8", "1", "30"], &[]);
    let most = program["most_critical"].as_u64().expect("a thread");
    assert!([2, 7].contains(&most), "{program}");
    assert_eq!((&program["predicted_best"], &program["simulated_best"]), (&4.into(), &4.into()), "{program}");
    assert_eq!(program["better_because"], "hidden");
}

#[test]
fn criticality_while_a_program_runs_is_that_of_its_recording() {
    let stage = Stage::new();
    let mut compared = 0;
    for name in ["critical_section", "late_thread"] {
        let source = workspace().join("workloads").join(name).join("main.c");
        let program = stage.compile(name, source, &[]);
        let recording = stage.path(format!("{name}.holdup"));
        let mut command = Command::new(HOLDUP);
        command.args(["record", "-o"]).arg(&recording).arg("--").arg(&program).args(["4", "1"]);
        assert_eq!(run(&mut command).status, 0, "{name}");
        let (recording, warnings) = Recording::open(&recording).expect("a recording");
        let run = recording.run(&warnings);
        let timeline = Timeline::build(&run.processes[0]);
        let recorded = criticality(&timeline);
        let start = timeline.start;
        // A unit sees changes in the order of time, and knows nothing of what comes.
        let mut changes: Vec<(u64, bool, u32)> = Vec::new();
        for (thread, row) in (0..).zip(&timeline.threads) {
            for segment in row.segments.iter().filter(|segment| segment.state.is_active()) {
                changes.push((segment.start.since(start).get(), true, thread));
                changes.push((segment.end.since(start).get(), false, thread));
            }
        }
        changes.sort_unstable();
        // Eq. 1 by its words: each piece between two changes is divided among those who are active in it.
        let mut by_definition = vec![0.0; timeline.threads.len()];
        let (mut active, mut at) = (vec![false; by_definition.len()], 0);
        for &(time, is_active, thread) in &changes {
            let number = active.iter().filter(|active| **active).count();
            for (sum, _) in by_definition.iter_mut().zip(&active).filter(|(_, active)| **active) {
                *sum += (time - at) as f64 / number as f64;
            }
            active[thread as usize] = is_active;
            at = time;
        }
        let mut unit = CriticalityUnit::new(0);
        for (time, is_active, thread) in changes {
            unit.set_active(thread, time, is_active);
        }
        let online = unit.take(timeline.end.since(start).get(), timeline.threads.len());
        let online: Vec<f64> = online.threads.into_iter().map(from_fixed).collect();
        assert_eq!(online, recorded.threads, "{name}");
        for (sum, expected) in online.iter().zip(&by_definition) {
            assert!(
                (sum - expected).abs() <= 1e-6 * timeline.wall().get() as f64,
                "{name}: {sum} {expected}"
            );
        }
        compared += online.len();
    }
    assert!(compared >= 8);
}

#[test]
fn what_is_no_recording_and_what_is_no_number_is_refused_in_a_line() {
    let stage = Stage::new();
    let file = stage.write("text.holdup", "no recording");
    for arguments in [vec![file.to_string_lossy().into_owned()], vec!["--fast".to_owned(), "much".to_owned()]]
    {
        let ended = run(Command::new(HOLDUP).arg("policies").args(arguments));
        assert_eq!(ended.status, 2, "{ended:?}");
        assert!(!text(&ended.stderr).trim().is_empty() && ended.stdout.is_empty(), "{ended:?}");
    }
    let missing = run(Command::new(HOLDUP).args(["policies", "--", "/nonexistent/program"]));
    assert!([2, 3].contains(&missing.status), "{missing:?}");
}

#[test]
fn one_command_runs_the_program_with_each_number_of_threads() {
    if !is_installed("qemu-x86_64") {
        return;
    }
    let stage = Stage::new();
    let source = workspace().join("workloads/policy_lock/main.c");
    let program = stage.compile("policy_lock", source, &["-DHOLDS=3"]);
    let (runs, page) = (stage.path("runs"), stage.path("policies.html"));
    let mut command = Command::new(HOLDUP);
    command.args(["policies", "-t", "2,3", "--runs"]).arg(&runs).arg("--html").arg(&page);
    let ended = run(command.args(["--json", "--"]).arg(&program).arg("{threads}"));
    assert_eq!(ended.status, 0, "{ended:?}");
    let json: Value = serde_json::from_str(&text(&ended.stdout)).expect("JSON");
    let working: Vec<u64> = json["programs"]
        .as_array()
        .expect("programs")
        .iter()
        .filter_map(|one| one["threads_that_work"].as_u64())
        .collect();
    assert_eq!(working, [2, 3]);
    assert_eq!(std::fs::read_dir(&runs).expect("the directory").count(), 2);
    assert!(std::fs::read_to_string(&page).expect("a page").contains("policy_lock-3"));
    let program = &json["programs"][1];
    let gain = |name| number(&policy(program, name)["speedup"]);
    assert!(gain("bis") > gain("offline") && gain("bis") > gain("dynamic"), "{program}");
}

#[test]
fn who_ignores_the_number_of_threads_is_run_twice_and_told_once() {
    if !is_installed("qemu-x86_64") {
        return;
    }
    let stage = Stage::new();
    let source = stage.write(
        "three.c",
        "#include <pthread.h>\n\
         static void *work(void *done) { for (int i = 0; i < 200000; i++) ++*(volatile int *)done; return 0; }\n\
         int main(void) { pthread_t threads[2]; int done[3][32] = {{0}};\n\
         for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, done[i]);\n\
         work(done[2]); for (int i = 0; i < 2; i++) pthread_join(threads[i], 0); return 0; }\n",
    );
    let program = stage.compile("three", source, &[]);
    let runs = stage.path("runs");
    let mut command = Command::new(HOLDUP);
    command.args(["policies", "-t", "2,4,8", "--json", "--runs"]).arg(&runs);
    let ended = run(command.arg("--").arg(&program));
    assert_eq!(ended.status, 0, "{ended:?}");
    let json: Value = serde_json::from_str(&text(&ended.stdout)).expect("JSON");
    let programs = json["programs"].as_array().expect("programs");
    assert_eq!(programs.iter().map(|one| number(&one["threads_that_work"])).collect::<Vec<_>>(), [3.0]);
    let warnings = json["notes"].to_string();
    assert!(warnings.contains("3 threads worked each time, whatever OMP_NUM_THREADS said"), "{warnings}");
    assert_eq!(std::fs::read_dir(&runs).expect("the directory").count(), 2);
}
