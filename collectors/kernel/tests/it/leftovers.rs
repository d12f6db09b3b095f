//! A watch that is dropped leaves nothing behind. It counts this process's descriptors, so it is alone in its binary.

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

#[test]
fn attaching_and_detaching_leaves_nothing() {
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
