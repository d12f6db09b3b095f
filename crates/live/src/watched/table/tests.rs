//! Events of a script, and `/proc` made of files.

use std::fs;
use std::path::Path;

use holdup_kernel::Cpu;

use super::*;

const PID: Pid = Pid(10);

fn event(time_ns: u64, tid: u32, what: What<'_>) -> Event<'_> {
    Event { time_ns, pid: PID, tid: Tid(tid), cpu: Cpu(0), what }
}

fn switch(time_ns: u64, tid: u32, switch: Switch) -> Event<'static> {
    event(time_ns, tid, What::Switch(switch))
}

fn table() -> Table {
    Table::new(Processes::below(Path::new("/nonexistent")), 0)
}

fn figures(table: &mut Table, at_ns: u64) -> Vec<(u32, u64, u64)> {
    table.is_known_to(at_ns);
    let survey = table.survey();
    let threads = survey.processes.iter().flat_map(|process| &process.threads);
    threads.map(|thread| (thread.tid, thread.criticality_ns, thread.active_ns)).collect()
}

#[test]
fn a_thread_is_active_from_its_wake_up_until_it_blocks() {
    let mut table = table();
    table.take(&switch(0, 10, Switch::In));
    table.take(&event(0, 10, What::Fork { pid: PID, tid: Tid(11), parent_pid: PID, parent_tid: Tid(10) }));
    table.take(&switch(100, 11, Switch::Blocked));
    // 10 loses its core and could go on: it stays active.
    table.take(&switch(150, 10, Switch::Preempted));
    table.take(&event(200, 10, What::Waking { wakee: Tid(11), by: holdup_kernel::Waker::Thread }));
    table.take(&switch(260, 11, Switch::In));
    assert_eq!(figures(&mut table, 300), [(10, 200, 300), (11, 100, 200)]);
}

#[test]
fn criticality_is_by_process() {
    let mut table = table();
    table.take(&switch(0, 10, Switch::In));
    let (pid, tid) = (Pid(20), Tid(20));
    table.take(&event(0, 10, What::Fork { pid, tid, parent_pid: PID, parent_tid: Tid(10) }));
    assert_eq!(figures(&mut table, 100), [(10, 100, 100), (20, 100, 100)]);
    table.take(&event(100, 20, What::Exit { pid, tid }));
    table.is_known_to(200);
    let survey = table.survey();
    assert!(survey.processes[1].has_ended && !survey.processes[0].has_ended);
    assert_eq!(table.living(), [PID]);
}

#[test]
fn an_exec_ends_all_threads_but_one() {
    let mut table = table();
    table.take(&switch(0, 10, Switch::In));
    table.take(&switch(0, 11, Switch::In));
    table.take(&event(100, 10, What::Name { pid: PID, tid: Tid(10), name: b"other", exec: true }));
    table.is_known_to(200);
    let survey = table.survey();
    let process = &survey.processes[0];
    assert_eq!((process.name.as_str(), process.has_ended), ("other", false));
    let states: Vec<&Doing> = process.threads.iter().map(|thread| &thread.state).collect();
    assert_eq!(states, [&Doing::Active, &Doing::Ended]);
    assert_eq!(process.threads[0].criticality_ns, 150);
}

#[test]
fn an_id_that_is_used_again_is_another_thread() {
    let mut table = table();
    table.take(&switch(0, 10, Switch::In));
    for round in 0..1000 {
        table.take(&switch(round * 10, 11, Switch::In));
        table.take(&event(round * 10 + 5, 11, What::Exit { pid: PID, tid: Tid(11) }));
    }
    let survey = table.survey();
    let threads = &survey.processes[0].threads;
    assert!(threads.len() <= MOST_ENDED + 1, "{}", threads.len());
    assert_eq!(threads.last().map(|thread| (thread.number, thread.active_ns)), Some((1000, 5)));
}

#[test]
fn looks_divide_the_time_among_those_that_could_run() {
    let folder = tempfile::tempdir().unwrap();
    let write = |tid: u32, name: &str, text: &str| {
        let task = folder.path().join(format!("10/task/{tid}"));
        fs::create_dir_all(&task).unwrap();
        fs::write(task.join(name), text).unwrap();
    };
    for (tid, state) in [(10, "S"), (11, "R"), (12, "R")] {
        write(tid, "stat", &format!("{tid} (x) {state} 1"));
        write(tid, "comm", &format!("thread{tid}\n"));
        write(tid, "schedstat", "1000 0 1");
        write(tid, "status", "voluntary_ctxt_switches:\t4\n");
        write(tid, "wchan", "futex_wait_queue");
    }
    let mut table = Table::new(Processes::below(folder.path()), 0);
    table.list(&[PID], 0);
    table.begin_looks(0);
    table.look(100);
    write(12, "stat", "12 (x) S 1");
    write(11, "schedstat", "1080 40 2");
    write(12, "status", "voluntary_ctxt_switches:\t5\n");
    table.look(200);
    let survey = table.survey();
    let threads = &survey.processes[0].threads;
    assert_eq!(threads[0].state, Doing::Waits("futex".to_owned()));
    assert_eq!(
        (threads[1].criticality_ns, threads[1].active_ns, threads[1].name.as_str()),
        (150, 120, "thread11")
    );
    assert_eq!((threads[2].criticality_ns, threads[2].active_ns, threads[2].changes), (50, 0, 2));
    fs::remove_dir_all(folder.path().join("10/task/12")).unwrap();
    table.list(&[PID], 300);
    assert_eq!(table.survey().processes[0].threads[2].state, Doing::Ended);
    table.keep_only(&[], 300);
    assert!(table.survey().processes[0].has_ended);
}
