//! Thousands of threads and hundreds of processes at once are all in the recording.

use std::fs;
use std::process::Command;

use holdup_model::{Process, Run};
use holdup_recording::Recording;

use crate::stage::{HOLDUP, Stage, run, skip};

/// Memory that must be free (bytes): holdup takes an eighth of it at the most.
const ROOM: u64 = 4 << 30;

fn has_room() -> bool {
    let free = rustix::fs::statvfs("/dev/shm").map_or(0, |facts| facts.f_bavail * facts.f_frsize);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes: u64 =
        available.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0);
    free.min(kibibytes << 10) >= ROOM
}

/// Runs a program plain, and recorded by the library alone; gives the recorded run, and what was said to be missing.
fn recorded(name: &str, many: usize) -> (Run, Vec<String>) {
    let stage = Stage::new();
    let (program, recording) = (stage.program(name, &[]), stage.path("crowd.holdup"));
    let plain = run(Command::new(&program).arg(many.to_string()));
    let mut holdup = Command::new(HOLDUP);
    holdup.args(["record", "--collectors", "preload", "-o"]).arg(&recording).arg("--").arg(&program);
    let ended = run(holdup.arg(many.to_string()));
    assert_eq!((ended.status, &ended.stdout), (plain.status, &plain.stdout), "{ended:?}");
    let (recording, warnings) = Recording::open(&recording).expect("a recording");
    let mut missing: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    missing.extend(recording.end.iter().flat_map(|end| end.warnings.iter().chain(&end.unseen)).cloned());
    (recording.run(&warnings), missing)
}

fn lost(process: &Process) -> (u64, u64) {
    (process.lost.events, process.lost.threads)
}

#[test]
fn more_threads_than_are_mapped_at_first() {
    if !has_room() {
        return skip("4 GiB of memory are not free");
    }
    const MANY: usize = 6_000;
    let (run, missing) = recorded("threads_at_once", MANY);
    assert_eq!((run.processes[0].threads.len(), missing), (MANY + 1, vec![]));
    assert_eq!(lost(&run.processes[0]), (0, 0));
    let named =
        run.processes[0].threads.iter().filter(|thread| thread.tid != 0 && thread.end > Some(thread.start));
    assert!(named.count() >= MANY, "all but the first one end before the process does");
    // Each had to wait for the word.
    assert!(run.processes[0].waits.len() > MANY, "{}", run.processes[0].waits.len());
}

#[test]
fn more_processes_than_files_are_kept_ready() {
    if !has_room() {
        return skip("4 GiB of memory are not free");
    }
    const MANY: usize = 400;
    let (run, missing) = recorded("forks_at_once", MANY);
    let [process] = run.processes.as_slice() else { panic!("{} programs", run.processes.len()) };
    let pids: std::collections::BTreeSet<u32> = process.joined.iter().copied().chain([process.pid]).collect();
    assert_eq!((pids.len(), process.threads.len(), missing), (MANY + 1, 2 * MANY + 1, vec![]));
    assert_eq!(lost(process), (0, 0));
}

/// What finds no place among the counts is at least counted together, by threads that have ended and by those that live; of so
/// many locks one acquisition in 64 is counted, at random, as 64.
#[test]
fn more_locks_than_there_are_counts_for() {
    const MANY: usize = 30_000;
    let (run, missing) = recorded("locks_at_once", MANY);
    let process = &run.processes[0];
    assert_eq!((missing, lost(process)), (vec![], (0, 0)));
    let counted: u64 = process.uses.iter().map(|used| used.acquisitions).sum();
    assert!(process.lost.uses > 0 && counted > 0, "{counted} counted, {} lost", process.lost.uses);
    let all = 3 * 2 * MANY as u64;
    let deviation = (63.0 * all as f64).sqrt();
    assert!((counted + process.lost.uses).abs_diff(all) < (6.0 * deviation) as u64, "{counted}");
}
