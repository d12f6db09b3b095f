//! Names of stripped programs from a server of debug information on this machine (Debian's `debuginfod`).

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use crate::stage::{
    HOLDUP, Stage, assert_refused, eventually, is_installed, record, run, skip, start, text, workspace,
};

/// The workload's function with the planted lock.
const FUNCTION: &str = "update_table";

/// `holdup report` of the recording, with servers as these variables say.
fn report(stage: &Stage, words: &[&str], variables: &[(&str, &str)]) -> crate::stage::Ended {
    let mut command = Command::new(HOLDUP);
    command.args(["report", "run.holdup"]).args(words).current_dir(stage.directory());
    run(command.env_remove("DEBUGINFOD_URLS").envs(variables.iter().copied()))
}

fn succeeds(command: &mut Command) {
    let ended = run(command);
    assert_eq!(ended.status, 0, "{command:?}: {ended:?}");
}

#[test]
fn a_server_names_what_was_stripped() {
    if !is_installed("debuginfod") || !is_installed("objcopy") {
        return skip("debuginfod, or binutils, is not installed");
    }
    let stage = Stage::new();
    let source = workspace().join("workloads/critical_section/main.c");
    let program = stage.compile("stripped", &source, &["-Wl,--build-id", "-lm"]);
    let served = stage.path("served");
    fs::create_dir(&served).expect("mkdir");
    let debug = served.join("stripped.debug");
    succeeds(Command::new("objcopy").arg("--only-keep-debug").args([&program, &debug]));
    let own = stage.path("own");
    succeeds(Command::new("objcopy").arg("--strip-all").args([&program, &own]));
    let ended = run(record(&stage.path("run.holdup"), &own).args(["2", "2"]));
    assert_eq!(ended.status, 0, "{ended:?}");
    let before = fs::read(stage.path("run.holdup")).expect("a recording");

    let plain = report(&stage, &[], &[]);
    assert_eq!(plain.status, 0, "{plain:?}");
    assert!(!text(&plain.stdout).contains(FUNCTION), "{}", text(&plain.stdout));
    assert_refused(&report(&stage, &["--debuginfod"], &[]), 3, &["--debuginfod", "DEBUGINFOD_URLS"]);
    assert_refused(
        &report(
            &stage,
            &["--debuginfod"],
            &[("DEBUGINFOD_URLS", "http://localhost:1"), ("PATH", "/nowhere")],
        ),
        3,
        &["debuginfod-find", "apt-get install debuginfod"],
    );

    // A port that is free now.
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
    let url = format!("http://127.0.0.1:{port}");
    let mut server = Command::new("debuginfod");
    server.args(["-F", "-p", &port.to_string(), "-d", ":memory:"]).arg(&served);
    let _server = start(server.env_remove("DEBUGINFOD_URLS"));
    // What a server did not have is remembered in the cache: each look has one of its own.
    let mut looks = 0;
    let cache = eventually("the server to know the program", || {
        looks += 1;
        let cache = stage.path(format!("cache{looks}")).to_string_lossy().into_owned();
        let mut find = Command::new("debuginfod-find");
        find.args(["debuginfo".as_ref(), own.as_os_str()]);
        let ended = run(find.env("DEBUGINFOD_URLS", &url).env("DEBUGINFOD_CACHE_PATH", &cache));
        (ended.status == 0).then_some(cache)
    });
    let variables = [("DEBUGINFOD_URLS", url.as_str()), ("DEBUGINFOD_CACHE_PATH", cache.as_str())];
    let unasked = report(&stage, &[], &variables);
    assert_eq!(unasked.stdout, plain.stdout, "nobody is asked without --debuginfod");
    let named = report(&stage, &["--debuginfod"], &variables);
    assert_eq!(named.status, 0, "{named:?}");
    let said = text(&named.stdout);
    assert!(said.contains(FUNCTION) && said.contains("main.c"), "{said}");
    assert!(
        fs::read(stage.path("run.holdup")).expect("a recording") == before,
        "a report changes no recording"
    );

    let mut command = Command::new(HOLDUP);
    command.args(["--debuginfod", "-o", "again.holdup", "--output", "answer"]).arg(Path::new("./own"));
    succeeds(command.args(["2", "2"]).current_dir(stage.directory()).envs(variables));
    let answer = fs::read_to_string(stage.path("answer")).expect("an answer");
    assert!(answer.contains(FUNCTION), "{answer}");

    // As on another machine: what was found when the program was there stays.
    fs::remove_file(&own).expect("the program");
    let elsewhere = report(&stage, &["--debuginfod"], &variables);
    assert_eq!(text(&elsewhere.stdout), text(&plain.stdout));
}
