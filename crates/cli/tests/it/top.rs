//! `holdup top`: programs are followed, and do not notice it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stage;
use crate::stage::{
    HOLDUP, Stage, assert_follow_schema, assert_refused, eventually, run, start, text, workspace,
};
use rustix::process::{Signal, kill_process};
use serde_json::Value;

fn top() -> Command {
    let mut command = Command::new(HOLDUP);
    command.args(["top", "--interval", "0.05"]);
    command
}

/// One of four threads, the fourth of the process, works ten times as much as the others.
fn critical(stage: &Stage) -> PathBuf {
    stage.compile("critical", workspace().join("tests/annotate/critical.c"), &[])
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// How critical the critical thread is shown is up to who else uses the CPUs: `cargo xtask truth` measures it.
#[test]
fn the_last_line_has_all_that_each_thread_had_and_the_program_is_as_without() {
    let stage = Stage::new();
    let program = critical(&stage);
    let out = stage.path("lines");
    let ended = run(top().args(["--json", "--sort", "all", "--output"]).arg(&out).arg("--").arg(program));
    assert_eq!(ended.status, 3, "{ended:?}");
    assert!(text(&ended.stdout).starts_with("kept 1 1\n"), "{ended:?}");
    assert_eq!(text(&ended.stderr), "");
    let lines = lines(&out);
    assert_follow_schema("top", &lines);
    let last = lines.last().expect("a line at the end");
    assert_eq!((&last["ended"], &last["source"]), (&true.into(), &"library".into()));
    assert_eq!(last["processes"][0]["name"], "critical");
    assert_eq!(last["processes"][0]["ended"], true);
    let threads = last["threads"].as_array().expect("threads");
    let mut numbers: Vec<u64> = threads.iter().filter_map(|thread| thread["number"].as_u64()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2, 3, 4], "{last}");
    let sum = |member: &str| threads.iter().filter_map(|thread| thread[member].as_f64()).sum::<f64>();
    for thread in threads {
        assert_eq!((&thread["state"], &thread["name"]), (&"ended".into(), &"critical".into()), "{last}");
        let [criticality, active] = ["criticality_ns", "active_ns"].map(|member| thread[member].as_u64());
        assert!(criticality > Some(0) && criticality <= active, "{thread}");
        // Each has its part of the time, and is the more critical the more of it it has.
        let share = thread["criticality_share_of_all"].as_f64().expect("a share");
        assert!(
            (share
                - criticality.unwrap_or(0) as f64 / sum("criticality_ns") * sum("criticality_share_of_all"))
            .abs()
                < 1e-6
        );
    }
    let all = sum("criticality_share_of_all");
    assert!(all > 0.0 && all <= 1.0 + 1e-6, "{last}");
}

#[test]
fn programs_that_the_library_cannot_enter_are_followed_from_outside() {
    let stage = Stage::new();
    let source = workspace().join("tests/annotate/critical.c");
    let Ok(program) = stage.try_compile("still", source, &["-static"]) else { return };
    let out = stage.path("lines");
    let ended = run(top().args(["--json", "--output"]).arg(&out).arg("--").arg(program));
    assert_eq!((ended.status, text(&ended.stdout)), (3, "kept -1 -1\n".to_owned()), "{ended:?}");
    assert!(lines(&out).iter().all(|line| line["source"] != "library"));
}

#[test]
fn programs_that_fork_and_exec_are_followed_and_keep_their_status() {
    let stage = Stage::new();
    let (out, go) = (stage.path("lines"), stage.path("go"));
    let waits = format!("while [ ! -e {} ]; do sleep 0.02; done", go.display());
    let script = format!("sh -c '{waits}; exec true' & {waits}; wait; exec sh -c 'exit 9'");
    let viewer = start(top().args(["--json", "--output"]).arg(&out).args(["--", "sh", "-c", &script]));
    // Who executes another program goes on under its id and with another name; one of many sleeps is seen in the end.
    eventually("both names", || {
        let lines = lines(&out);
        let processes = lines.iter().filter_map(|line| line["processes"].as_array()).flatten();
        let names: BTreeSet<&str> = processes.filter_map(|process| process["name"].as_str()).collect();
        (names.contains("sh") && names.contains("sleep")).then_some(())
    });
    fs::write(&go, "").expect("a file");
    let ended = viewer.end();
    assert_eq!(ended.status, 9, "{ended:?}");
}

#[test]
fn a_program_outlives_a_killed_viewer() {
    let stage = Stage::new();
    let [begun, go, done] = ["begun", "go", "done"].map(|name| stage.path(name));
    let script = format!(
        "echo > {}; while [ ! -e {} ]; do sleep 0.02; done; echo said; echo yes > {}",
        begun.display(),
        go.display(),
        done.display()
    );
    let mut viewer = start(top().args(["--batch", "--", "sh", "-c", &script]));
    eventually("the program's beginning", || begun.exists().then_some(()));
    let _ = kill_process(viewer.pid(), Signal::KILL);
    viewer.wait();
    fs::write(&go, "").expect("a file");
    eventually("the program to end as it should", || done.exists().then_some(()));
}

#[test]
fn a_running_process_is_followed_by_switches_or_looks_and_left_alone() {
    let mut sleeper = start(Command::new("sleep").arg("60"));
    let pid = sleeper.pid().as_raw_pid().to_string();
    for way in [&["--pid", pid.as_str()][..], &["--looks", "--pid", pid.as_str()]] {
        let ended = run(top().args(["--json", "--count", "2"]).args(way));
        assert_eq!(ended.status, 0, "{ended:?}");
        let told = text(&ended.stdout);
        let lines: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_follow_schema("top", &lines);
        assert_eq!(lines[1]["processes"][0]["name"], "sleep");
        assert_eq!(lines[1]["threads"][0]["state"], "waits");
    }
    // Once it shows something it follows.
    let mut viewer = start(top().args(["--batch", "--pid", &pid]));
    viewer.first_line();
    let _ = kill_process(viewer.pid(), Signal::INT);
    assert_eq!(viewer.end().status, 0, "Ctrl-C ends the view");
    assert!(Path::new(&format!("/proc/{pid}")).exists(), "and not the process");
    let mut viewer = start(top().args(["--batch", "--pid", &pid]));
    viewer.first_line();
    let _ = kill_process(sleeper.pid(), Signal::KILL);
    sleeper.wait();
    assert_eq!(viewer.end().status, 0, "the view ends with the process");
}

#[test]
fn what_cannot_be_is_refused_in_a_line() {
    assert_refused(&run(top().args(["--pid", "4194305"])), 2, &["4194305", "ps -e"]);
    assert_refused(&run(top().args(["--", "/nonexistent/app"])), 2, &["/nonexistent/app"]);
    assert_refused(&run(top().args(["--output", "/nonexistent/x", "--", "true"])), 2, &["/nonexistent/x"]);
}

/// Panics where a text is not as OpenMetrics 1.0 wants it, as far as counters go: families one after the other, their
/// descriptions first and in any order, samples of the family alone, each set of labels once, numbers, and the end.
fn assert_open_metrics(text: &str) {
    let lines = text.strip_suffix("# EOF\n").unwrap_or_else(|| panic!("no end: {text}"));
    assert!(lines.is_empty() || lines.ends_with('\n'));
    let is_name = |name: &str| {
        let mut letters = name.chars();
        letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    let mut families: Vec<String> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for line in lines.lines() {
        if let Some(description) = line.strip_prefix("# ") {
            let words: Vec<&str> = description.splitn(3, ' ').collect();
            let [kind, family, value] = words[..] else { panic!("{line}") };
            if families.last().is_none_or(|last| last != family) {
                assert!(is_name(family) && !families.iter().any(|other| other == family), "{line}");
                families.push(family.to_owned());
            }
            match kind {
                "TYPE" => assert_eq!(value, "counter", "{line}"),
                "UNIT" => assert!(family.ends_with(&format!("_{value}")), "{line}"),
                _ => assert_eq!(kind, "HELP", "{line}"),
            }
            assert!(seen.insert(format!("{kind} {family}")), "twice: {line}");
            continue;
        }
        let (name, rest) = line.split_once('{').unwrap_or_else(|| panic!("no labels: {line}"));
        assert_eq!(name.strip_suffix("_total"), families.last().map(String::as_str), "{line}");
        let (labels, value) = rest.rsplit_once("} ").unwrap_or_else(|| panic!("{line}"));
        assert!(value.parse::<f64>().is_ok_and(|value| value >= 0.0), "{line}");
        assert!(seen.insert(format!("{name} {labels}")), "twice: {line}");
        let mut left = labels;
        while !left.is_empty() {
            let (label, after) = left.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
            assert!(is_name(label), "{line}");
            let mut escaped = false;
            let end = after.find(|letter: char| {
                let ends = letter == '"' && !escaped;
                escaped = letter == '\\' && !escaped;
                ends
            });
            left = &after[end.unwrap_or_else(|| panic!("{line}")) + 1..];
            assert!(left.is_empty() || left.starts_with(','), "{line}");
            left = left.trim_start_matches(',');
        }
    }
    assert!(!families.is_empty());
}

#[test]
fn monitoring_is_answered_on_the_loopback() {
    let mut viewer = start(top().args(["--metrics", "--batch", "--", "sh", "-c", "echo go; exec sleep 60"]));
    viewer.first_line();
    let said = viewer.first_error_line();
    let address = said.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address");
    assert!(address.starts_with("127.0.0.1:"), "{said}");
    // The shell becomes another program, which has no thread for a moment.
    loop {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").expect("a body");
        assert!(head.contains("application/openmetrics-text; version=1.0.0"), "{head}");
        assert_open_metrics(body);
        if body.contains("holdup_thread_criticality_seconds_total{pid=") {
            break;
        }
    }
    let _ = kill_process(viewer.pid(), Signal::TERM);
    viewer.wait();
}

/// Runs a command line in a terminal of its own; what came to that terminal.
fn in_terminal(words: &str) -> String {
    let mut script = Command::new("script");
    script.args(["-qec", words, "/dev/null"]).env("TERM", "xterm");
    text(&run(&mut script).stdout)
}

#[test]
fn what_a_program_writes_is_shown_when_the_screen_is_left() {
    if !stage::is_installed("script") {
        return stage::skip("no script (Debian: bsdutils)");
    }
    let told = in_terminal(&format!(
        "{HOLDUP} top -i 0.1 -- sh -c 'echo first; sleep 0.5; echo second >&2; exit 4'; echo status $?"
    ));
    let (screen, after) = told.split_once("\u{1b}[?1049l").unwrap_or_else(|| panic!("no screen: {told:?}"));
    assert!(screen.contains("\u{1b}[?1049h") && !screen.contains("first"), "{told:?}");
    assert!(after.contains("first\r\nsecond\r\n") && after.contains("status 4"), "{told:?}");
}

#[test]
fn a_view_that_is_left_lets_the_program_go_on() {
    if !stage::is_installed("script") {
        return stage::skip("no script (Debian: bsdutils)");
    }
    let told = in_terminal(&format!(
        "{HOLDUP} top -i 0.1 -n 1 -- sh -c 'echo first; sleep 0.7; echo second; exit 5'; echo status $?"
    ));
    let (_, after) = told.split_once("\u{1b}[?1049l").unwrap_or_else(|| panic!("no screen: {told:?}"));
    let (first, second) = (after.find("first"), after.find("second"));
    assert!(first.is_some() && first < second && after.contains("status 5"), "{told:?}");
}

#[test]
fn a_killed_view_leaves_the_terminal_as_it_was() {
    if !stage::is_installed("script") {
        return stage::skip("no script (Debian: bsdutils)");
    }
    let stage = Stage::new();
    let before = stage.path("before");
    // The program kills the view as soon as the terminal is no longer as it was.
    let kills = "while [ \"$(stty -g </dev/tty)\" = \"$(cat \"$0\")\" ]; do sleep 0.05; done; kill -9 $PPID";
    let waits = "n=0; while [ \"$(stty -g)\" != \"$(cat \"$2\")\" ] && [ $n -lt 2000 ]; do sleep 0.05; n=$((n+1)); done";
    let script = stage.path("script");
    let text = format!(
        "stty -g >\"$2\"\n\"$1\" top -i 0.1 -- sh -c '{kills}' \"$2\"\n{waits}\nstty -g >\"$2.after\"\n"
    );
    fs::write(&script, text).unwrap();
    let told = in_terminal(&format!("sh {} {HOLDUP} {}", script.display(), before.display()));
    let after = fs::read_to_string(before.with_extension("after")).unwrap_or_default();
    assert_eq!(after, fs::read_to_string(&before).unwrap(), "{told:?}");
    assert!(!after.is_empty() && told.contains("\u{1b}[?1049l"), "{told:?}");
}
