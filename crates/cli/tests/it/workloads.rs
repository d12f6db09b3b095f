//! The workloads of `workloads/expected.tsv`: recorded, they print and end as without holdup, and what is reported adds up.

use std::path::PathBuf;
use std::process::Command;

use crate::stage;
use crate::stage::planted::table;
use crate::stage::{Stage, assert_adds_up, eventually, record, report_json, run, start, text, workspace};
use rustix::process::{Signal, kill_process};

/// Runs the planted form plain and recorded: the same output, and a report that adds up. Whether what is planted comes
/// first depends on how the threads meet: `cargo xtask truth` measures how often it does.
fn check(name: &str) {
    let row = table().into_iter().find(|row| row.name == name).expect("a row of the table");
    let stage = Stage::new();
    let Some(form) = stage.small_form(&row.name, &row.language, &row.source, &[]) else { return };
    let recording = stage.path("workload.holdup");
    let plain = run(Command::new(&form.program).args(&form.before).args(&row.arguments));
    let ended = run(record(&recording, &form.program).args(&form.before).args(&row.arguments));
    assert!(plain == ended, "without holdup:\n{plain:?}\nunder holdup:\n{ended:?}");
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_adds_up(&report_json(&recording));
}

macro_rules! a_test_for_each {
    ($($name:ident)*) => {
        $(#[test] fn $name() { super::check(stringify!($name)); })*

        #[test]
        fn every_row_of_the_table_has_a_test() {
            let tested = [$(stringify!($name)),*];
            let mut names: Vec<String> = crate::stage::planted::table().into_iter().map(|row| row.name).collect();
            names.dedup();
            assert_eq!(names, tested, "the table and this list must name the same, in the same order");
        }
    };
}

mod first_findings {
    a_test_for_each! {
        demo
        critical_section
        stopped_threads
        own_lock
        convoy
        late_thread
        condition_barrier
        serial_phase
        early_join
        child_unpacks
        short_threads
        pipeline
        piped_stage
        forked_workers
        two_locks
        lock_array
        lock_chain
        rust_sync
        io_wait
        oversubscribed
        rwlock
        short_queue
        late_look
        fresh_buffers
        semaphore
        balanced
        go_mutex
        go_serial
        static_stage
        rayon_uneven
        rayon_lock
        tokio_blocking
        python_gil
        hand_spin
        hand_spin_pause
        idle_thieves
        idle_thieves_locked
        spin_yield
        false_sharing
        shared_counter
        malloc_arena
        stdio_lock
        mmap_lock
        loader_lock
        pool_idle
        pool_rounds
        pool_contended
        omp_mandelbrot
        omp_locks
        omp_tasks
        omp_starve
        omp_held
        omp_tallies
        omp_chunks
        omp_critical
        omp_barriers
        omp_serial
        omp_collapse
        omp_sections
    }
}

/// What the demonstration says is the first thing that anybody sees of holdup.
#[test]
fn the_demonstration_names_its_planted_problems() {
    let ended = run(Command::new(stage::HOLDUP).args(["demo", "--color", "never"]));
    assert_eq!(ended.status, 0, "{ended:?}");
    let said = text(&ended.stdout);
    assert!(said.contains("cache_lock") && said.contains("cache_put"), "{said}");
}

/// The test of attaching relies on it: what asks the server must notice when answers do not come.
#[test]
fn a_server_that_dies_is_noticed_by_its_load() {
    let stage = Stage::new();
    let source = |name: &str| workspace().join("workloads/server").join(name);
    let server = stage.compile("server", source("server.c"), &[]);
    let load = stage.compile("load", source("load.c"), &[]);
    let mut server = start(&mut Command::new(server));
    let port = server.first_line().trim().trim_start_matches("port ").to_owned();

    let ended = run(Command::new(&load).args([&port, "3", "200"]));
    assert_eq!((ended.status, text(&ended.stderr)), (0, String::new()));
    assert_eq!(text(&ended.stdout), "load: 600 right answers over 3 connections\n");

    let asking = start(Command::new(&load).args([&port, "2", "0"]));
    let sockets = || {
        let entries = std::fs::read_dir(format!("/proc/{}/fd", server.pid().as_raw_pid())).ok()?;
        let is_socket = |path: PathBuf| {
            std::fs::read_link(path).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))
        };
        (entries.flatten().filter(|entry| is_socket(entry.path())).count() >= 3).then_some(())
    };
    eventually("both connections", sockets);
    kill_process(server.pid(), Signal::KILL).expect("kill the server");
    server.wait();
    let ended = asking.end();
    assert_eq!(ended.status, 1, "{ended:?}");
    assert!(text(&ended.stderr).starts_with("load: request "), "{ended:?}");
}
