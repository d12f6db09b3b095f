//! Processes that run already: they are recorded for a while, and left as they were.

use std::fs;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Signal, kill_process};

use crate::stage::{
    HOLDUP, Stage, assert_refused, eventually, report_json, run, skip, start, text, workspace,
};

/// How often the server is attached to.
const TIMES: usize = 40;

/// The server's threads, and the connections over which it is asked: enough to be busy all the time, few enough that
/// recorders have their share of the cores.
const WORKERS: &str = "2";

/// Why events of other processes cannot be opened here, or `None` if they can.
pub(crate) fn refused() -> Option<String> {
    let stage = Stage::new();
    let mut sleeper = start(Command::new("sleep").arg("60"));
    let ended = run(Command::new(HOLDUP)
        .args(["record", "--duration", "0.05", "-o"])
        .arg(stage.path("a.holdup"))
        .args(["--pid", &sleeper.pid().to_string()]));
    let _ = kill_process(sleeper.pid(), Signal::KILL);
    sleeper.wait();
    (ended.status != 0).then(|| text(&ended.stderr))
}

/// What must be the same after holdup has been there: descriptors, threads, mappings, tracer.
fn traces(pid: rustix::process::Pid) -> (usize, usize, usize, String) {
    let entries = |name: &str| {
        fs::read_dir(format!("/proc/{}/{name}", pid.as_raw_pid())).map_or(0, |entries| entries.count())
    };
    let maps = fs::read_to_string(format!("/proc/{}/maps", pid.as_raw_pid())).unwrap_or_default();
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_pid())).unwrap_or_default();
    let tracer = status.lines().find(|line| line.starts_with("TracerPid")).unwrap_or_default().to_owned();
    let files = maps.lines().filter(|line| line.contains('/')).count();
    (entries("fd"), entries("task"), files, tracer)
}

/// CPU time that a process has had, in hundredths of a second.
fn cpu_ticks(pid: rustix::process::Pid) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_name.split_whitespace().skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum()
}

#[test]
fn a_server_under_load_does_not_notice() {
    if let Some(why) = refused() {
        return skip(&format!("no process can be attached to here: {why}"));
    }
    let stage = Stage::new();
    let source = |name: &str| workspace().join("workloads/server").join(name);
    let server = stage.compile("server", source("server.c"), &["-O2", "-g", "-pthread"]);
    let load = stage.compile("load", source("load.c"), &["-O2", "-g", "-pthread"]);
    let mut server = start(Command::new(server).arg(WORKERS));
    let said = server.first_line();
    let port = said.trim().strip_prefix("port ").unwrap_or_else(|| panic!("no port: {said}")).to_owned();
    let load = start(Command::new(load).args([&port, WORKERS, "0"]));
    let pid = server.pid();
    let before = eventually("the server to have all its connections", || {
        let now = traces(pid);
        std::thread::sleep(Duration::from_millis(300));
        (traces(pid) == now && now.0 > 6).then_some(now)
    });
    let recording = stage.path("server.holdup");
    for time in 0..TIMES {
        let mut attached = start(
            Command::new(HOLDUP)
                .args(["record", "--duration", "0.02", "-o"])
                .arg(&recording)
                .args(["--pid", &pid.to_string()]),
        );
        if time % 10 == 0 {
            // As when the user loses patience.
            std::thread::sleep(Duration::from_millis(10));
            let _ = kill_process(attached.pid(), if time % 20 == 0 { Signal::INT } else { Signal::KILL });
        }
        let status = attached.wait();
        assert!(status == 0 || time % 10 == 0, "time {time}: {:?}", attached.end());
    }
    assert_eq!(traces(pid), before, "descriptors, threads, mapped files, tracer");
    let _ = kill_process(load.pid(), Signal::TERM);
    let load = load.end();
    assert_eq!(load.status, 0, "{load:?}");
    let _ = kill_process(pid, Signal::TERM);
    let server = server.end();
    assert_eq!(server.status, 0, "{server:?}");
    let answered = |output: &[u8]| text(output).split_whitespace().find_map(|word| word.parse::<u64>().ok());
    assert!(answered(&load.stdout) > Some(0));
}

#[test]
fn what_a_running_process_does_is_told_by_its_lines() {
    if let Some(why) = refused() {
        return skip(&format!("no process can be attached to here: {why}"));
    }
    let stage = Stage::new();
    let source = workspace().join("workloads/server");
    let server = stage.compile("server", source.join("server.c"), &["-O2", "-g", "-pthread"]);
    let load = stage.compile("load", source.join("load.c"), &["-O2", "-g", "-pthread"]);
    let mut server = start(Command::new(server).arg(WORKERS));
    let port = server.first_line().trim().trim_start_matches("port ").to_owned();
    let load = start(Command::new(load).args([&port, WORKERS, "0"]));
    let recording = stage.path("server.holdup");
    let mut short = Command::new(HOLDUP);
    short.args(["record", "--delay", "0.1", "--duration", "0.2", "-o"]).arg(&recording);
    let ended = run(short.args(["--pid", &server.pid().to_string()]));
    assert_eq!(ended.status, 0, "{ended:?}");
    let wall = report_json(&recording)["run"]["wall_ns"].as_u64();
    assert!(wall >= Some(200_000_000), "a fifth of a second was asked for, {wall:?} ns were recorded");
    fs::remove_file(&recording).expect("the recording");
    let recorder = start(
        Command::new(HOLDUP)
            .args(["record", "-o"])
            .arg(&recording)
            .args(["--pid", &server.pid().to_string()]),
    );
    // Samples are taken each some milliseconds of CPU time, however long those take.
    eventually("the recording", || recording.exists().then_some(()));
    let before = cpu_ticks(server.pid());
    eventually("a second of the server's CPU time", || {
        (cpu_ticks(server.pid()) >= before + 100).then_some(())
    });
    let _ = kill_process(recorder.pid(), Signal::INT);
    let ended = recorder.end();
    let _ = kill_process(load.pid(), Signal::TERM);
    assert_eq!(load.end().status, 0);
    let _ = kill_process(server.pid(), Signal::TERM);
    assert_eq!(server.end().status, 0);
    assert_eq!(ended.status, 0, "{ended:?}");
    let json = report_json(&recording);
    assert_eq!(json["run"]["collectors"], serde_json::json!(["kernel"]));
    let hot = json["hot_spots"].to_string();
    assert!(hot.contains("compute") || hot.contains("handle_request"), "{hot}");
}

#[test]
fn a_process_that_is_not_there_is_refused_in_a_line() {
    let stage = Stage::new();
    // Above the largest process id that Linux gives.
    let ended = run(Command::new(HOLDUP)
        .args(["record", "-o"])
        .arg(stage.path("a.holdup"))
        .args(["--pid", "4194305"]));
    assert_refused(&ended, 2, &["4194305", "ps -e"]);
}
