//! Where the tests of the `holdup` command play: a directory of their own, programs built in it, and runs of them
//! with and without holdup whose results can be compared.

// Each test file is a program of its own and uses a part of this.
#![allow(dead_code)]

pub(crate) mod forms;
pub(crate) mod lime;
pub(crate) mod sim;

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

/// A run that takes longer hangs, and is killed: no test runs for more than some seconds, whatever the machine.
const HANGS: Duration = Duration::from_secs(240);

/// The binary under test.
pub(crate) const HOLDUP: &str = env!("CARGO_BIN_EXE_holdup");

/// The top of the workspace.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace exists")
}

/// A directory that all users can read, removed with all that is in it.
pub(crate) struct Stage {
    directory: tempfile::TempDir,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        let directory =
            tempfile::Builder::new().prefix("holdup-test-").tempdir().expect("a directory for the test");
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("chmod");
        Stage { directory }
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).expect("write a file of the test");
        path
    }

    pub(crate) fn write_executable(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.write(name, content);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("chmod");
        path
    }

    /// Builds `source`, a path, with the compiler that its ending asks for, as threaded program with debug
    /// information and optimization; `flags` come last.
    pub(crate) fn compile(&self, name: &str, source: impl AsRef<Path>, flags: &[&str]) -> PathBuf {
        self.try_compile(name, source, flags)
            .unwrap_or_else(|error| panic!("{name} cannot be built: {error}"))
    }

    /// As [`Stage::compile`]; the compiler's words where it fails.
    pub(crate) fn try_compile(
        &self,
        name: &str,
        source: impl AsRef<Path>,
        flags: &[&str],
    ) -> Result<PathBuf, String> {
        let source = source.as_ref();
        let program = self.path(name);
        let ending = source.extension().and_then(OsStr::to_str);
        let (compiler, standard) =
            if ending == Some("cpp") { ("c++", "-std=gnu++17") } else { ("cc", "-std=gnu11") };
        let mut command = Command::new(compiler);
        command.args([standard, "-O2", "-g", "-pthread", "-o"]).arg(&program).arg(source).args(flags);
        let ended = run(&mut command);
        if ended.status == 0 { Ok(program) } else { Err(text(&ended.stderr)) }
    }

    /// Builds a program of `tests/programs`.
    pub(crate) fn program(&self, name: &str, flags: &[&str]) -> PathBuf {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.c"));
        self.compile(name, source, flags)
    }
}

/// How a program ended and what it said.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    /// As a shell gives it: 128 + signal for a program that was killed.
    pub(crate) status: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl fmt::Debug for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            if text.len() > 2000 {
                format!("{}… ({} bytes)", text.chars().take(2000).collect::<String>(), text.len())
            } else {
                text
            }
        };
        writeln!(f, "status {}", self.status)?;
        writeln!(f, "stdout {}", shown(&self.stdout))?;
        write!(f, "stderr {}", shown(&self.stderr))
    }
}

/// The status as a shell gives it.
pub(crate) fn shell_status(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A program that was started in a process group of its own.
pub(crate) struct Running {
    child: Child,
    stdout: mpsc::Receiver<Vec<u8>>,
    stderr: mpsc::Receiver<Vec<u8>>,
}

/// Starts a program with nothing on its standard input.
pub(crate) fn start(command: &mut Command) -> Running {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stdout = listen(child.stdout.take().expect("a pipe"));
    let stderr = listen(child.stderr.take().expect("a pipe"));
    Running { child, stdout, stderr }
}

/// Passes on what is written to a pipe, piece by piece.
fn listen(mut pipe: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = pipe.read(&mut buffer) {
            if send.send(buffer[..length].to_vec()).is_err() {
                break;
            }
        }
    });
    receive
}

impl Running {
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits until a line is on the standard output and gives all that came so far.
    pub(crate) fn first_line(&mut self) -> String {
        let mut said = Vec::new();
        while !said.ends_with(b"\n") {
            match self.stdout.recv_timeout(HANGS) {
                Ok(more) => said.extend(more),
                Err(error) => {
                    self.kill_group();
                    panic!(
                        "no line came ({error}), only {:?}; stderr {:?}",
                        text(&said),
                        text(&drain(&self.stderr))
                    );
                }
            }
        }
        text(&said)
    }

    /// As [`Running::first_line`], of the standard error.
    pub(crate) fn first_error_line(&mut self) -> String {
        let mut said = Vec::new();
        while !said.contains(&b'\n') {
            match self.stderr.recv_timeout(HANGS) {
                Ok(more) => said.extend(more),
                Err(error) => panic!("no line came ({error}), only {:?}", text(&said)),
            }
        }
        text(&said)
    }

    fn kill_group(&self) {
        let _ = kill_process_group(self.pid(), Signal::KILL);
    }

    /// Waits for its end, and for the end of everybody who holds its pipes.
    pub(crate) fn end(mut self) -> Ended {
        let status = self.wait();
        Ended { status, stdout: drain(&self.stdout), stderr: drain(&self.stderr) }
    }

    /// Waits for the end of the program alone.
    pub(crate) fn wait(&mut self) -> i32 {
        let deadline = Instant::now() + HANGS;
        loop {
            match self.child.try_wait().expect("wait for a child") {
                Some(status) => return shell_status(status),
                None if Instant::now() > deadline => {
                    self.kill_group();
                    panic!(
                        "it hangs; so far {:?} {:?}",
                        text(&drain(&self.stdout)),
                        text(&drain(&self.stderr))
                    );
                }
                None => thread::sleep(Duration::from_millis(2)),
            }
        }
    }
}

fn drain(pipe: &mpsc::Receiver<Vec<u8>>) -> Vec<u8> {
    let mut all = Vec::new();
    let deadline = Instant::now() + HANGS;
    while let Ok(more) = pipe.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        all.extend(more);
    }
    all
}

/// Runs a program to its end.
pub(crate) fn run(command: &mut Command) -> Ended {
    start(command).end()
}

/// `holdup record -o RECORDING -- PROGRAM`.
pub(crate) fn record(recording: &Path, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(HOLDUP);
    command.args(["record", "-o"]).arg(recording).arg("--").arg(program);
    command
}

/// `holdup report FILE` with options.
pub(crate) fn report(recording: &Path, options: &[&str]) -> Ended {
    run(Command::new(HOLDUP).arg("report").arg(recording).args(options))
}

/// `holdup report --json FILE`, which must succeed and say nothing else.
pub(crate) fn report_json(recording: &Path) -> Value {
    let ended = report(recording, &["--json"]);
    assert_eq!(
        (ended.status, text(&ended.stderr)),
        (0, String::new()),
        "report --json {}",
        recording.display()
    );
    serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {ended:?}"))
}

/// Demands one line on stderr that starts with `holdup: ` and contains `names`, nothing on stdout, and the status.
pub(crate) fn assert_refused(ended: &Ended, status: i32, names: &[&str]) {
    let said = text(&ended.stderr);
    assert_eq!(ended.status, status, "{ended:?}");
    assert_eq!(text(&ended.stdout), "", "{ended:?}");
    assert!(said.starts_with("holdup: ") && said.ends_with('\n') && said.lines().count() == 1, "{ended:?}");
    for name in names {
        assert!(said.contains(name), "{name:?} is not in: {said}");
    }
}

/// The sum of a report's criticalities and of the time with nobody active, and the wall time, in ns.
pub(crate) fn criticality_sum(json: &Value) -> (f64, f64) {
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("no number: {value}"));
    let criticality = &json["criticality"];
    let threads = criticality["threads"].as_array().expect("threads");
    let nobody = criticality["nobody_ns"].as_object().expect("nobody");
    let sum = threads.iter().map(|thread| number(&thread["criticality_ns"])).sum::<f64>()
        + nobody.values().map(number).sum::<f64>();
    (sum, number(&json["process"]["wall_ns"]))
}

/// Demands that criticality adds up: Σ C_j + nobody = T within 0.1 %, in the process that is told about.
pub(crate) fn assert_adds_up(json: &Value) {
    let (sum, wall) = criticality_sum(json);
    assert!(wall > 0.0 && (sum - wall).abs() <= wall * 1e-3, "criticality adds up to {sum} of {wall} ns");
}

/// The processes whose parent is `parent`, zombies included.
pub(crate) fn children_of(parent: Pid) -> Vec<Pid> {
    let stat = |pid: Pid| fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).ok();
    all_processes()
        .into_iter()
        .filter(|pid| {
            // The name in parentheses may contain anything; the state and the parent come after it.
            let told = stat(*pid).and_then(|text| {
                text.rsplit_once(')')
                    .and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<i32>().ok())
            });
            told == Some(parent.as_raw_pid())
        })
        .collect()
}

/// The only child of a process that is just starting one.
pub(crate) fn child_of(parent: Pid) -> Pid {
    eventually("a child process", || children_of(parent).first().copied())
}

fn all_processes() -> Vec<Pid> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// Processes, zombies not counted, whose command line contains `words`.
pub(crate) fn processes_with(words: &str) -> Vec<Pid> {
    let contains = |pid: &Pid| {
        fs::read(format!("/proc/{}/cmdline", pid.as_raw_pid())).is_ok_and(|line| text(&line).contains(words))
    };
    all_processes().into_iter().filter(contains).collect()
}

/// Waits for something that must come in the end.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + HANGS;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not come");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Says why a test, or a part of it, does not take place here.
pub(crate) fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// True if a program can be found in PATH; else says that its test is skipped.
pub(crate) fn is_installed(program: &str) -> bool {
    let found = std::env::var_os("PATH")
        .is_some_and(|list| std::env::split_paths(&list).any(|directory| directory.join(program).is_file()));
    if !found {
        skip(&format!("{program} is not installed"));
    }
    found
}

/// True where this process may make mount namespaces and mount in them; else says so.
pub(crate) fn can_mount() -> bool {
    let may = is_root()
        && is_installed("unshare")
        && run(Command::new("unshare").args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"])).status == 0;
    if !may {
        skip("a small file system cannot be mounted here (needs root and unshare)");
    }
    may
}

/// A command run by `sh` in a mount namespace of its own. `$0`, `$1`… are `arguments`.
pub(crate) fn in_own_mounts(script: &str, arguments: &[&OsStr]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script]).args(arguments);
    command
}
