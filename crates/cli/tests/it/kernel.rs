//! What the kernel's records add: programs that the library cannot enter, time on a core, parts of a run.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use holdup_model::{Access, AccessKind, Sample, ThreadId};
use holdup_recording::Recording;
use rustix::process::{Signal, kill_process};
use serde_json::Value;

use crate::stage::{
    HOLDUP, Stage, assert_adds_up, is_installed, is_root, record, report, run, skip, start, text, workspace,
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

/// The kernel ids of the threads.
fn tids(json: &Value) -> BTreeSet<u64> {
    let threads = json["criticality"]["threads"].as_array().expect("threads");
    threads.iter().filter_map(|thread| thread["tid"].as_u64()).collect()
}

/// How close their figures are is up to the machine: `cargo xtask truth` measures it.
#[test]
fn each_collector_tells_of_all_threads_and_adds_up() {
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
    assert_adds_up(&both);
    assert_eq!(tids(&both).len(), 3);
    for collector in ["kernel", "preload"] {
        let told = json(&recording, &["--collectors", collector]);
        assert_adds_up(&told);
        assert_eq!(tids(&told), tids(&both), "{collector}");
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
    assert!(active(&all) > active(&asleep), "it works when it has slept");
    let nothing = report(&recording, &["--from", "1000"]);
    assert_eq!(nothing.status, 2);
    assert!(text(&nothing.stderr).contains("nothing was recorded in that part"), "{nothing:?}");
}

#[test]
fn signals_to_holdup_open_and_close_the_part_that_is_told_of() {
    let stage = Stage::new();
    let recording = stage.path("window.holdup");
    // The program itself says when. How soon holdup hears it is up to the machine: `cargo xtask truth` measures it.
    let script = "echo go; sleep 0.1; kill -USR1 $PPID; sleep 0.2; kill -USR2 $PPID; sleep 0.1";
    let begin = Instant::now();
    let ended = run(Command::new(HOLDUP)
        .args(["record", "--on-signal", "-o"])
        .arg(&recording)
        .args(["--", "sh", "-c", script]));
    let whole = begin.elapsed();
    assert_eq!((ended.status, text(&ended.stdout)), (0, "go\n".to_owned()), "{ended:?}");
    let wall = Duration::from_nanos(json(&recording, &[])["run"]["wall_ns"].as_u64().unwrap_or_default());
    assert!(!wall.is_zero() && wall + Duration::from_millis(100) <= whole, "{wall:?} of {whole:?}");
}

/// Two ways to ask for the time again and again: to note it down, which is work, and until it has come, which is waiting; for as
/// long on a core, whatever else runs.
const CLOCK: &str = r#"
#include <pthread.h>
#include <time.h>
static double at(clockid_t clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static double now(void) { return at(CLOCK_MONOTONIC); }
static volatile double noted;
static void *notes(void *unused) { (void)unused; for (long i = 0; i < 6000000; i++) noted += now(); return 0; }
static void *waits(void *unused) { (void)unused; while (at(CLOCK_THREAD_CPUTIME_ID) < 0.4) for (double end = now() + 0.01; now() < end;) ; return 0; }
int main(int count, char **words) {
    (void)words;
    pthread_t thread;
    return pthread_create(&thread, 0, count > 1 ? waits : notes, 0) || pthread_join(thread, 0);
}
"#;

#[test]
fn asking_for_the_time_is_work_unless_a_loop_waits_for_it() {
    let stage = Stage::new();
    if let Some(why) = refused(&stage) {
        return skip(&why);
    }
    let source = stage.path("clock.c");
    std::fs::write(&source, CLOCK).expect("a source file");
    let program = stage.compile("clock", &source, &["-O2", "-g", "-pthread"]);
    let spinning = |words: &[&str]| {
        let recording = stage.path("clock.holdup");
        let ended = run(record(&recording, &program).args(words));
        assert_eq!(ended.status, 0, "{ended:?}");
        let told = json(&recording, &[]);
        assert_adds_up(&told);
        let threads = told["criticality"]["threads"].as_array().expect("threads");
        threads.iter().filter_map(|thread| thread["spinning_ns"].as_u64()).sum::<u64>()
    };
    assert_eq!(spinning(&[]), 0);
    // Most of the 400 ms that it is on a core.
    let waited = spinning(&["wait"]);
    assert!(waited > 300_000_000, "{waited} ns spinning");
}

/// 40,000 turns are some 100,000 records of 0.7 µs; 0.1 % of half a second of CPU time are 700 of them.
#[test]
fn switches_are_recorded_as_far_as_their_cost_may_go() {
    let stage = Stage::new();
    if let Some(why) = refused(&stage) {
        return skip(&why);
    }
    let program = stage.program("hands_on", &[]);
    let left_out = |max_cost: &str| {
        let recording = stage.path("turns.holdup");
        let mut holdup = Command::new(HOLDUP);
        holdup.args(["record", "--max-cost", max_cost, "-o"]).arg(&recording).arg("--").arg(&program);
        let ended = run(holdup.arg("40000"));
        assert_eq!(ended.status, 0, "{ended:?}");
        let told = json(&recording, &[]);
        assert_adds_up(&told);
        told["run"]["warnings"].to_string().contains("too many context switches")
    };
    assert!(left_out("0.1"), "all was recorded");
    assert!(!left_out("none"), "not all was recorded");
}

#[test]
fn what_is_no_share_is_refused() {
    for share in ["0", "-1", "101", "2x", "", "nan", "all"] {
        let mut holdup = Command::new(HOLDUP);
        let ended = run(holdup.arg("record").arg(format!("--max-cost={share}")).arg("true"));
        assert_eq!(ended.status, 2, "{share}: {ended:?}");
        assert!(text(&ended.stderr).contains("give percent from 0.1 to 100"), "{share}: {ended:?}");
    }
}

/// Registers, code and names together: both threads do nothing but count in one variable.
#[test]
fn samples_say_which_variable_threads_access() {
    let stage = Stage::new();
    if let Some(why) = refused(&stage) {
        return skip(&why);
    }
    let source = workspace().join("workloads/false_sharing/main.c");
    let program = stage.compile("false_sharing", source, &["-O2", "-g", "-pthread"]);
    let recording = stage.path("sharing.holdup");
    let ended = run(&mut record(&recording, &program));
    assert_eq!(ended.status, 0, "{ended:?}");
    let (recording, warnings) = Recording::open(&recording).expect("a recording");
    let run = recording.run(&warnings);
    let process = &run.processes[0];
    let rows = |access: Access| process.variables.get(&access.address).is_some_and(|name| name == "rows");
    let written = |sample: &Sample| {
        sample
            .access
            .is_some_and(|access| rows(access) && access.kind != AccessKind::Read && access.bytes == 8)
    };
    let writers: BTreeSet<ThreadId> =
        process.samples.iter().filter(|sample| written(sample)).map(|sample| sample.thread).collect();
    assert_eq!(writers.len(), 2, "{:?}", process.variables);
}
