//! Whatever becomes of holdup's own words, threads and files, the program's status comes through, and holdup ends.

use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::stage::{
    self, HOLDUP, Stage, child_of, eventually, is_root, record, run, shell_status, skip, start, text,
};
use rustix::process::{Signal, kill_process};

/// A program that ends with status 3 and writes nothing; with a name that holdup has to speak of.
const ENDS_WITH_3: [&str; 3] = ["sh", "-c", "exit 3"];

/// Each way to run a program whose status counts.
fn ways(stage: &Stage) -> Vec<Command> {
    let recording = stage.path("mishap.holdup");
    let mut all = Vec::new();
    for words in [&["record", "-o"][..], &["-o"], &["steer"], &["top", "--batch"]] {
        let mut command = Command::new(HOLDUP);
        command.args(words).args((words.last() == Some(&"-o")).then_some(&recording));
        command.arg("--").args(ENDS_WITH_3).current_dir(stage.directory());
        all.push(command);
    }
    all
}

#[test]
fn nobody_can_be_told() {
    let stage = Stage::new();
    for mut command in ways(&stage) {
        let full = File::options().write(true).open("/dev/full").expect("/dev/full");
        let status = command.stdout(Stdio::null()).stderr(full).status().expect("holdup");
        assert_eq!(shell_status(status), 3, "a full disk: {command:?}");
    }
    for mut command in ways(&stage) {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let status = command.stdout(Stdio::null()).stderr(writer).status().expect("holdup");
        assert_eq!(shell_status(status), 3, "a closed pipe: {command:?}");
    }
    for command in ways(&stage) {
        let words: Vec<_> = [command.get_program()].into_iter().chain(command.get_args()).collect();
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$@\" 1>&- 2>&-", "sh"]).args(words).current_dir(stage.directory());
        assert_eq!(shell_status(shell.status().expect("sh")), 3, "closed descriptors: {command:?}");
    }
}

#[test]
fn the_program_takes_all_threads_that_the_user_may_have() {
    if !is_root() || !stage::is_installed("setpriv") {
        return skip("not root, or no setpriv (Debian: util-linux)");
    }
    let stage = Stage::new();
    let program = stage.program("takes_threads", &[]);
    for place in stage.directory().ancestors().filter(|place| *place != std::env::temp_dir()) {
        if place.starts_with(std::env::temp_dir()) {
            fs::set_permissions(place, Permissions::from_mode(0o777)).expect("our own directory");
        }
    }
    let holdup = stage.path("a_holdup");
    fs::copy(HOLDUP, &holdup).expect("a copy that the user can reach");
    let recording = stage.path("threads.holdup");
    let recording = recording.to_str().expect("UTF-8");
    for words in [&["record", "-o", recording][..], &["-o", recording], &["top", "--batch"], &["steer"]] {
        // A user of whom nothing else runs here.
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "48211", "--regid", "48211", "--clear-groups", "--", "sh", "-c"]);
        command.args(["ulimit -u 60; exec \"$@\"", "sh"]).arg(&holdup).args(words).arg("--").arg(&program);
        let ended = run(command.env("XDG_CACHE_HOME", "").env("HOME", stage.directory()));
        assert_eq!((ended.status, text(&ended.stdout)), (5, "begun\n".to_owned()), "{words:?} {ended:?}");
        assert!(!text(&ended.stderr).contains("defect"), "{ended:?}");
    }
}

/// Runs a command in a terminal of its own, which is closed once the program under holdup has said that it runs.
fn in_a_terminal_that_closes(words: &str, mark: &std::path::Path) {
    let mut script = Command::new("script");
    script.args(["-qec", words, "/dev/null"]).env("TERM", "xterm").stdin(Stdio::null());
    let mut terminal = start(&mut script);
    let mark = |name: &str| mark.with_extension(name);
    eventually("the program", || mark("begun").exists().then_some(()));
    let shell = child_of(terminal.pid());
    kill_process(terminal.pid(), Signal::KILL).expect("the terminal");
    terminal.wait();
    eventually("the end of holdup", || {
        let mut text = String::new();
        let stat = File::open(format!("/proc/{}/stat", shell.as_raw_pid()));
        let is_there = stat.is_ok_and(|mut stat| stat.read_to_string(&mut text).is_ok());
        (!is_there || text.contains(") Z ")).then_some(())
    });
    let status = fs::read_to_string(mark("status")).unwrap_or_default();
    assert_eq!(status.trim(), "3", "{words}");
}

#[test]
fn the_terminal_closes() {
    if !stage::is_installed("script") {
        return skip("no script (Debian: bsdutils)");
    }
    let stage = Stage::new();
    let begun = stage.path("it.begun");
    let program = format!("sh -c \"trap : HUP; : > {}; sleep 0.7; exit 3\"", begun.display());
    let recording = stage.path("it.holdup");
    for way in [
        format!("top -- {program}"),
        format!("steer -- {program}"),
        format!("-o {} -- {program}", recording.display()),
    ] {
        let _ = fs::remove_file(&begun);
        let status = stage.path("it.status");
        let _ = fs::remove_file(&status);
        // The shell that notes the status does not hear the end of its terminal.
        let words = format!("trap : HUP; {HOLDUP} {way}; echo $? > {}", status.display());
        in_a_terminal_that_closes(&words, &begun);
    }
}

#[test]
fn a_recording_of_nothing_is_empty_and_not_damaged() {
    let stage = Stage::new();
    let program = stage.program("hold_and_wait", &[]);
    let recording = stage.path("cut.holdup");
    assert_eq!(run(&mut record(&recording, &program)).status, 6);
    let whole = fs::read(&recording).expect("a recording");
    for length in [0, 32, 40] {
        let cut = stage.write("cut.holdup", &whole[..length]);
        let ended = stage::report(&cut, &[]);
        let said = text(&ended.stderr);
        let right = if length == 0 { "is empty" } else { "nothing is in this recording" };
        assert!(
            ended.status == 2 && said.contains(right) && !said.contains("damaged"),
            "{length}: {ended:?}"
        );
    }
}

#[test]
fn who_did_the_work_is_the_subject_and_not_who_started_it() {
    let stage = Stage::new();
    let program = stage.program("sleeps_then_works", &[]);
    let recording = stage.path("wrapped.holdup");
    // Killed at work, so that without the kernel's records more is known of the CPU time of its wrapper.
    for collectors in ["preload,kernel", "preload"] {
        let mut command = Command::new(HOLDUP);
        command.args(["record", "--collectors", collectors, "-o"]).arg(&recording);
        let ended = run(command.args(["--", "timeout", "100"]).arg(&program).arg("300"));
        assert_eq!(ended.status, 128 + 9, "{ended:?}");
        let said = stage::report_json(&recording);
        let commands = said["process"]["command"].to_string();
        assert!(commands.contains("sleeps_then_works") && !commands.contains("timeout"), "{commands}");
    }
}

#[test]
fn cpu_time_from_before_an_exec_is_not_the_new_programs() {
    let stage = Stage::new();
    let program = stage.program("hold_and_wait", &[]);
    let recording = stage.path("exec.holdup");
    let script = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; exec \"$0\" 1";
    let ended = run(record(&recording, "sh").args(["-c", script]).arg(&program));
    assert_eq!(ended.status, 6, "{ended:?}");
    let ended = stage::report(&recording, &["--json", "--collectors", "preload"]);
    let said: serde_json::Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    let told = &said["process"];
    let wall = told["wall_ns"].as_u64().expect("a number");
    for thread in said["criticality"]["threads"].as_array().expect("threads") {
        let cpu = thread["cpu_ns"].as_u64().unwrap_or(0);
        assert!(cpu <= wall, "{cpu} ns of CPU time in {wall} ns: {thread}");
    }
}
