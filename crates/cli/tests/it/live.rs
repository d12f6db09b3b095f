//! What a program's threads have had of its time can be read while it runs, and nobody has to stop for it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::stage;
use crate::stage::Stage;
use holdup_collect::{LiveRun, Output, Setting, start_live};
use holdup_live::{Live, LiveProcess, Snapshot, State, ThreadNow};

/// The library that is injected, as it is embedded in the command.
const LIBRARY: &[u8] = include_bytes!(env!("HOLDUP_PRELOAD"));
const HANGS: Duration = Duration::from_secs(60);

struct Looked {
    run: LiveRun,
    live: Live,
    pipe: PathBuf,
}

/// Runs a mode of the program up to where it stands still.
fn look(stage: &Stage, mode: &str) -> Looked {
    let program = stage.program("live", &[]);
    let [ready, pipe] = ["ready", "pipe"].map(|name| stage.path(name));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let words = [program.as_os_str(), mode.as_ref(), ready.as_os_str(), pipe.as_os_str()];
    let command: Vec<_> = words.map(Into::into).to_vec();
    let setting = Setting { output: Output::Silent, ..Setting::default() };
    let run = start_live(&command, &setting, LIBRARY).expect("it starts");
    let live = Live::open(run.directory()).expect("it keeps criticality");
    until(|| ready.exists());
    Looked { run, live, pipe }
}

fn until(is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    let mut is_so = is_so;
    while !is_so() {
        assert!(begin.elapsed() < HANGS, "it hangs");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Looked {
    /// Lets the program go on; gives its status.
    fn go_on(self) -> i32 {
        release(&self.pipe);
        stage::shell_status(self.run.wait(HANGS).expect("it ends"))
    }
}

fn release(pipe: &Path) {
    fs::OpenOptions::new().write(true).open(pipe).unwrap().write_all(b"x").unwrap();
}

fn sum(snapshot: &Snapshot) -> u64 {
    snapshot.threads.iter().map(|thread| thread.criticality_ns).sum::<u64>() + snapshot.ended.criticality_ns
}

fn named<'a>(snapshot: &'a Snapshot, name: &str) -> &'a ThreadNow {
    snapshot.threads.iter().find(|thread| &*thread.name == name).unwrap_or_else(|| panic!("{snapshot:?}"))
}

#[test]
fn each_thread_is_named_while_the_program_runs() {
    let stage = Stage::new();
    let mut looked = look(&stage, "team");
    looked.live.refresh();
    let [process] = looked.live.processes() else { panic!("one process") };
    assert_eq!(process.pid(), looked.run.pid());
    until(|| process.snapshot().active == 0);
    let snapshot = process.snapshot();
    assert_eq!(snapshot.threads.len(), 4, "{snapshot:?}");
    let heavy = named(&snapshot, "heavy");
    for other in snapshot.threads.iter().filter(|other| other.number != heavy.number && other.number != 0) {
        assert!(matches!(other.state, State::Waits(_)), "{other:?}");
        assert!(other.criticality_ns > 0 && other.criticality_ns <= other.active_ns, "{other:?}");
        assert_eq!(other.parent, Some(0));
    }
    assert!(matches!(snapshot.threads[0].state, State::Calls(_)), "{snapshot:?}");
    assert!(sum(&snapshot) <= snapshot.at_ns, "no more than the time that has passed");
    // It works until it has had 60 ms of CPU time.
    assert!(heavy.active_ns >= 60_000_000 && sum(&snapshot) >= 60_000_000, "{snapshot:?}");
    let slice = process.snapshot().since(&snapshot);
    assert_eq!(slice.with_somebody_ns(), 0, "nobody is active");
    assert_eq!(looked.go_on(), 7);
}

#[test]
fn threads_that_end_in_any_way_and_processes_that_fork_and_exec_are_followed() {
    let stage = Stage::new();
    let mut looked = look(&stage, "family");
    let first = looked.run.pid();
    until(|| {
        looked.live.refresh();
        looked.live.processes().len() == 2
    });
    let of = |wanted: bool| looked.live.processes().iter().find(|found| (found.pid() == first) == wanted);
    let parent: &LiveProcess = of(true).expect("the first process");
    let child = of(false).expect("the one that it forked, which has executed another program");
    assert_eq!((child.parent_pid(), child.is_fork()), (first, false));
    // The one that left by a bare system call is missed a little later.
    until(|| parent.snapshot().ended.threads == 4);
    let snapshot = parent.snapshot();
    assert_eq!((snapshot.threads.len(), snapshot.active), (1, 0), "{snapshot:?}");
    assert!(sum(&snapshot) <= snapshot.at_ns);
    assert_eq!(Live::session_of(child.pid()).as_deref(), Some(looked.run.directory()));
    assert_eq!(looked.go_on(), 8);
}

#[test]
fn a_program_outlives_whoever_looks_at_it() {
    let stage = Stage::new();
    let Looked { run, live, pipe } = look(&stage, "alone");
    let pid = run.pid();
    drop((run, live));
    release(&pipe);
    until(|| !Path::new(&format!("/proc/{pid}")).exists());
}
