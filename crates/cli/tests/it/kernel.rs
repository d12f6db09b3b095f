//! What the kernel's records add: programs that the library cannot enter, time on a core, parts of a run.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::Value;

use crate::stage::{
    HOLDUP, Stage, assert_adds_up, child_of, is_installed, is_root, record, report, run, skip, start, text,
    workspace,
};

fn json(recording: &Path, options: &[&str]) -> Value {
    let ended = report(recording, &[&["--json"], options].concat());
    assert_eq!(ended.status, 0, "{ended:?}");
    serde_json::from_slice(&ended.stdout).expect("JSON")
}

/// Why the kernel's records cannot be had here, or `None` if they can.
fn refused(stage: &Stage) -> Option<String> {
    let recording = stage.path("true.holdup");
    let ended = run(record(&recording, "true").env("PATH", "/bin:/usr/bin"));
    assert_eq!(ended.status, 0, "{ended:?}");
    let told = json(&recording, &[]);
    let collectors = told["run"]["collectors"].to_string();
    (!collectors.contains("kernel")).then(|| told["run"]["warnings"].to_string())
}

/// Criticality as shares of the wall time, by kernel thread id.
fn shares(json: &Value) -> Vec<(u64, f64)> {
    let total = json["criticality"]["total_ns"].as_f64().unwrap_or(1.0);
    let threads = json["criticality"]["threads"].as_array().expect("threads");
    let mut shares: Vec<(u64, f64)> = threads
        .iter()
        .map(|thread| {
            let share = thread["criticality_ns"].as_f64().unwrap_or(0.0) / total;
            (thread["tid"].as_u64().unwrap_or(0), share)
        })
        .collect();
    shares.sort_by_key(|(tid, _)| *tid);
    shares
}

#[test]
fn the_collectors_agree_on_who_is_critical() {
    let stage = Stage::new();
    if let Some(why) = refused(&stage) {
        return skip(&why);
    }
    let source = workspace().join("workloads/critical_section/main.c");
    let program = stage.compile("locked", source, &["-O2", "-g", "-pthread", "-lm"]);
    let recording = stage.path("locked.holdup");
    let ended = run(record(&recording, &program).arg("2"));
    assert_eq!(ended.status, 0, "{ended:?}");
    let both = json(&recording, &[]);
    let kernel = json(&recording, &["--collectors", "kernel"]);
    let preload = json(&recording, &["--collectors", "preload"]);
    for told in [&both, &kernel, &preload] {
        assert_adds_up(told);
    }
    // By both, and by the kernel alone, active means on a core: what is left is who calls a moment of a wait active.
    for ((tid, by_both), (same, by_kernel)) in shares(&both).into_iter().zip(shares(&kernel)) {
        assert_eq!(tid, same);
        let (both, kernel) = (&both["criticality"], &kernel["criticality"]);
        let close = (by_both - by_kernel).abs() < 0.05;
        assert!(close, "thread {tid}: {by_both} and {by_kernel}\n{both}\n{kernel}");
    }
    // The preload alone cannot tell a thread without a core from one that works. No thread can differ by more than all
    // the time that threads were without a core, or on their way to one.
    let wall = both["run"]["wall_ns"].as_f64().unwrap_or(1.0);
    let without: f64 = both["criticality"]["threads"]
        .as_array()
        .expect("threads")
        .iter()
        .map(|thread| thread["descheduled_ns"].as_f64().unwrap_or(0.0))
        .sum();
    for ((tid, by_both), (same, by_preload)) in shares(&both).into_iter().zip(shares(&preload)) {
        assert_eq!(tid, same);
        let most = without / wall + 0.05;
        assert!((by_both - by_preload).abs() < most, "thread {tid}: {by_both}, {by_preload}, {most}");
    }
}

#[test]
fn a_static_program_is_told_of_by_the_kernel() {
    let stage = Stage::new();
    if let Some(why) = refused(&stage) {
        return skip(&why);
    }
    let source = workspace().join("workloads/serial_phase/main.c");
    let program = stage.compile("static", source, &["-O2", "-g", "-static", "-pthread", "-lm"]);
    let recording = stage.path("static.holdup");
    let ended = run(&mut record(&recording, &program));
    assert_eq!(ended.status, 0, "{ended:?}");
    let told = json(&recording, &[]);
    assert_adds_up(&told);
    assert_eq!(told["run"]["collectors"], serde_json::json!(["kernel"]));
    assert!(told["run"]["threads"].as_u64() >= Some(2), "{}", told["run"]);
    let lines = told["hot_spots"]["lines"].to_string();
    assert!(lines.contains("compute"), "the line that computes is not named: {lines}");
}

#[test]
fn an_ordinary_user_gets_the_same() {
    let stage = Stage::new();
    if !is_root() || !is_installed("setpriv") {
        return skip("not root, so that this user is an ordinary one already; or no setpriv");
    }
    if let Some(why) = refused(&stage) {
        return skip(&why);
    }
    let source = workspace().join("workloads/late_thread/main.c");
    let program = stage.compile("late", source, &["-O2", "-g", "-pthread", "-lm"]);
    // A place that everybody can enter, and a copy of holdup that everybody can execute.
    let everybodys = Path::new("/tmp").join(format!("holdup-everybody-{}", std::process::id()));
    std::fs::create_dir(&everybodys).expect("a directory");
    let copy = |from: &Path, name: &str| {
        std::fs::copy(from, everybodys.join(name)).expect("a copy");
        everybodys.join(name)
    };
    let (program, holdup) = (copy(&program, "late"), copy(Path::new(HOLDUP), "holdup"));
    let chmod = run(Command::new("chmod").arg("0777").arg(&everybodys));
    assert_eq!(chmod.status, 0);
    let recording = everybodys.join("late.holdup");
    let ended = run(Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(&holdup)
        .args(["record", "-o"])
        .arg(&recording)
        .arg("--")
        .arg(&program)
        .env("TMPDIR", &everybodys)
        .env_remove("XDG_CACHE_HOME")
        .env_remove("HOME"));
    let told = json(&recording, &[]);
    let _ = std::fs::remove_dir_all(&everybodys);
    assert_eq!(ended.status, 0, "{ended:?}");
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    if paranoid.trim().parse::<i32>().is_ok_and(|value| value <= 2) {
        assert!(told["run"]["collectors"].to_string().contains("kernel"), "{}", told["run"]);
        assert!(told["hot_spots"]["samples"].as_u64() > Some(0), "{}", told["hot_spots"]);
    } else {
        assert!(told["run"]["warnings"].to_string().contains("perf_event_paranoid"), "{}", told["run"]);
    }
}

#[test]
fn without_the_kernel_s_records_the_library_s_remain() {
    let stage = Stage::new();
    let source = workspace().join("workloads/late_thread/main.c");
    let program = stage.compile("late", source, &["-O2", "-g", "-pthread", "-lm"]);
    let recording = stage.path("late.holdup");
    let ended = run(Command::new(HOLDUP)
        .args(["record", "--collectors", "preload", "-o"])
        .arg(&recording)
        .arg("--")
        .arg(&program));
    assert_eq!(ended.status, 0, "{ended:?}");
    let told = json(&recording, &[]);
    assert_eq!(told["run"]["collectors"], serde_json::json!(["preload"]));
    assert_eq!(told["hot_spots"], Value::Null);
    assert!(!told["findings"].as_array().expect("findings").is_empty());
}

#[test]
fn where_a_filter_refuses_events_the_rest_works_and_the_way_out_is_named() {
    let stage = Stage::new();
    let source = workspace().join("workloads/late_thread/main.c");
    let program = stage.compile("late", source, &["-O2", "-g", "-pthread", "-lm"]);
    let filtered = stage.program("without_perf", &["-O2"]);
    let recording = stage.path("late.holdup");
    let ended = run(Command::new(&filtered)
        .arg(HOLDUP)
        .args(["record", "-o"])
        .arg(&recording)
        .arg("--")
        .arg(&program));
    assert_eq!(ended.status, 0, "{ended:?}");
    let told = json(&recording, &[]);
    assert_eq!(told["run"]["collectors"], serde_json::json!(["preload"]));
    let warnings = told["run"]["warnings"].to_string();
    assert!(warnings.contains("seccomp") && warnings.contains("PERFMON"), "{warnings}");
    assert!(!told["findings"].as_array().expect("findings").is_empty());
    let sleeper = start(Command::new("sleep").arg("20"));
    let refused = run(Command::new(&filtered)
        .arg(HOLDUP)
        .args(["record", "-o"])
        .arg(stage.path("sleep.holdup"))
        .args(["--pid", &sleeper.pid().to_string()]));
    let _ = kill_process(sleeper.pid(), Signal::KILL);
    sleeper.end();
    let said = text(&refused.stderr);
    assert_eq!(refused.status, 3, "{refused:?}");
    assert!(said.contains("seccomp") && said.contains("PERFMON"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_part_of_a_run_is_told_of_by_itself() {
    let stage = Stage::new();
    let program = stage.program("sleeps_then_works", &["-O2", "-g", "-pthread"]);
    let recording = stage.path("part.holdup");
    let ended = run(&mut record(&recording, &program));
    assert_eq!(ended.status, 0, "{ended:?}");
    let wall = |told: &Value| told["run"]["wall_ns"].as_f64().unwrap_or_default();
    let (all, asleep) = (json(&recording, &[]), json(&recording, &["--to", "0.3"]));
    assert!(wall(&all) > 0.5e9);
    assert!((wall(&asleep) - 0.3e9).abs() < 1e6, "{}", wall(&asleep));
    let active = |told: &Value| {
        let threads = told["criticality"]["threads"].as_array().expect("threads").clone();
        threads.iter().map(|thread| thread["active_ns"].as_f64().unwrap_or_default()).sum::<f64>()
    };
    assert!(active(&asleep) < 0.5 * wall(&asleep), "it sleeps for its first half second");
    assert!(active(&all) > active(&asleep));
    let nothing = report(&recording, &["--from", "1000"]);
    assert_eq!(nothing.status, 2);
    assert!(text(&nothing.stderr).contains("nothing was recorded in that part"), "{nothing:?}");
}

#[test]
fn signals_to_holdup_open_and_close_the_part_that_is_told_of() {
    let stage = Stage::new();
    let recording = stage.path("window.holdup");
    let mut running =
        start(Command::new(HOLDUP).args(["record", "--on-signal", "-o"]).arg(&recording).args([
            "--",
            "sh",
            "-c",
            "echo go; sleep 1.5",
        ]));
    running.first_line();
    let _ = child_of(running.pid());
    std::thread::sleep(Duration::from_millis(300));
    let _ = kill_process(running.pid(), Signal::USR1);
    std::thread::sleep(Duration::from_millis(400));
    let _ = kill_process(running.pid(), Signal::USR2);
    let ended = running.end();
    assert_eq!(ended.status, 0, "{ended:?}");
    let wall = json(&recording, &[])["run"]["wall_ns"].as_f64().unwrap_or_default();
    assert!((0.3e9..1.4e9).contains(&wall), "{wall}");
}
