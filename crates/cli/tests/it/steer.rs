//! `holdup steer` helps the critical thread, leaves the program as it is, and leaves nothing behind.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::stage;
use crate::stage::{HOLDUP, Stage, children_of, eventually, run, settings_of, start, text, workspace};
use rustix::process::{Pid, Signal, kill_process};

fn critical(stage: &Stage) -> std::path::PathBuf {
    stage.compile("critical", workspace().join("bench/steer/critical.c"), &[])
}

fn steer(words: &[&str], program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(HOLDUP);
    command.arg("steer").args(words).arg("--").arg(program).args(arguments);
    command
}

fn has_several_cpus() -> bool {
    std::thread::available_parallelism().is_ok_and(|count| count.get() > 1)
}

#[test]
fn what_the_program_prints_and_returns_is_as_without() {
    let stage = Stage::new();
    let program = critical(&stage);
    let plain = run(Command::new(&program).args(["barrier", "4"]));
    let steered = run(&mut steer(&["--always"], &program, &["barrier", "4"]));
    assert_eq!((steered.status, text(&steered.stdout)), (plain.status, text(&plain.stdout)));
    let said = text(&steered.stderr);
    assert!(said.starts_with("holdup steer: ") && said.lines().count() == 1, "{said}");
    let failed = run(&mut steer(&["--quiet"], Path::new("sh"), &["-c", "exit 23"]));
    assert_eq!((failed.status, text(&failed.stderr)), (23, String::new()));
}

/// Kills steer while it helps; the program goes on with the settings that it had.
fn is_undone_after_a_kill(only: &str) {
    if !has_several_cpus() || only == "priority" && !rustix::process::geteuid().is_root() {
        return stage::skip("there is nothing to change here");
    }
    let stage = Stage::new();
    let program = critical(&stage);
    let running = start(&mut steer(&["--always", "--only", only], &program, &["barrier", "2000"]));
    // It has another child: the one that takes changes back.
    let is_the_program = |child: &Pid| {
        fs::read_to_string(format!("/proc/{}/comm", child.as_raw_pid()))
            .is_ok_and(|name| name == "critical\n")
    };
    let child = eventually("the program", || children_of(running.pid()).into_iter().find(is_the_program));
    // The program has what this process has; who looks at the program may come too late to see that.
    let before = settings_of(rustix::process::getpid()).first().cloned().expect("own settings");
    let is_changed = || settings_of(child).iter().any(|found| *found != before);
    eventually("a thread that is helped", || is_changed().then_some(()));
    kill_process(running.pid(), Signal::KILL).expect("kill steer");
    eventually("the settings of before", || (!is_changed() && settings_of(child).len() == 9).then_some(()));
    // Nobody helps any more.
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(!is_changed(), "{:?}", settings_of(child));
    kill_process(child, Signal::KILL).expect("kill the program");
}

#[test]
fn priority_is_undone_after_a_kill() {
    is_undone_after_a_kill("priority");
}

#[test]
fn a_cpu_of_its_own_is_undone_after_a_kill() {
    is_undone_after_a_kill("own-core");
}

#[test]
fn programs_that_cannot_be_entered_run_as_they_are() {
    let stage = Stage::new();
    let program = stage.compile("still", workspace().join("bench/steer/critical.c"), &["-static"]);
    let ended = run(&mut steer(&[], &program, &["balanced", "1"]));
    assert_eq!(ended.status, 0);
    assert!(text(&ended.stderr).contains("static"), "{}", text(&ended.stderr));
}

#[test]
fn bad_input_is_one_line_and_status_2() {
    for words in
        [&["--alpha", "x", "--", "true"][..], &["--slice", "0", "--", "true"], &["--", "./not-there"], &[]]
    {
        let ended = run(Command::new(HOLDUP).arg("steer").args(words));
        assert_eq!(ended.status, 2, "{words:?} {ended:?}");
    }
}
