//! A watch that is dropped leaves nothing behind. It counts its process's descriptors, so that it has a process of its own.

use std::process::Command;
use std::time::Duration;

use crate::program::{Task, command, over_process};
use holdup_kernel::{Pid, Processes, Wanted};

/// What this process has open: everything, and events.
fn open() -> (usize, usize) {
    let links: Vec<_> = std::fs::read_dir("/proc/self/fd")
        .expect("descriptors")
        .filter_map(|entry| std::fs::read_link(entry.expect("a descriptor").path()).ok())
        .collect();
    let events = links.iter().filter(|link| link.to_string_lossy().contains("perf_event")).count();
    (links.len(), events)
}

/// Set for the process that counts.
const COUNTS: &str = "HOLDUP_TEST_COUNTS_DESCRIPTORS";

#[test]
fn attaching_and_detaching_leaves_nothing() {
    if std::env::var_os(COUNTS).is_none() {
        let mut alone = Command::new(std::env::current_exe().expect("this test"));
        alone.args(["--exact", "leftovers::attaching_and_detaching_leaves_nothing", "--nocapture"]);
        let ended = alone.env(COUNTS, "1").output().expect("this test");
        assert!(ended.status.success(), "{ended:?}");
        assert!(String::from_utf8_lossy(&ended.stdout).contains("1 passed"), "{ended:?}");
        return;
    }
    let mut child = command(Task::UntilKilled).spawn().expect("a program");
    let pid = Pid(child.id());
    while Processes::here().threads(pid).expect("threads").len() < 4 {
        std::thread::yield_now();
    }
    let (before, events) = open();
    assert_eq!(events, 0);
    let rounds = 25;
    let mut records = 0;
    for _ in 0..rounds {
        let Some(mut watch) = over_process(pid, Wanted::default()) else { break };
        watch.enable().expect("on");
        assert!(open().1 > 0);
        watch.wait(Duration::from_millis(2));
        records += watch.drain(|_| {}).records;
    }
    println!("{records} records in {rounds} rounds");
    assert_eq!(open(), (before, 0));
    assert_eq!(child.try_wait().expect("a status"), None, "it was not disturbed");
    child.kill().expect("it runs");
    child.wait().expect("its end");
}
