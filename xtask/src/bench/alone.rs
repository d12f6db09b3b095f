//! `cargo xtask bench alone`: does running threads alone leave what programs do as it is? Each program is run plainly, twice,
//! and by `holdup stack`, where one thread of each phase runs by itself; what they print and how they end is compared.
//!
//! Programs are all workloads, compressors that have worked with threads for many years, and the loop that waits by hand in
//! its other form. OpenMP workloads come from gcc and from clang. A row ends with what the watchdog had to do.

mod programs;

use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use super::ways::last_line;
use super::{Options, input, the_holdup};
use crate::workspace::Workspace;
use programs::Program;

/// Who takes longer hangs.
const HANGS: Duration = Duration::from_secs(60);
/// Who was asked to end has so long until it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// So many runs `holdup stack` makes here: a plain one, a recorded one, one with a thread alone.
const RUNS: usize = 3;

/// Compares, and prints a line for each program and number of threads. `part` chooses by a part of the program's name.
pub(super) fn run(workspace: &Workspace, options: &Options, part: Option<&str>) -> Result<ExitCode> {
    let holdup = the_holdup(workspace, options)?;
    let scratch = tempfile::tempdir().context("no room for programs")?;
    let file = input::make(scratch.path(), true)?;
    let counts: &[u32] = if options.quick { &[2] } else { &[2, 4] };
    let mut bad = 0;
    println!("| program | threads | equal? | CPU share alone | watchdog |");
    println!("|---|---|---|---|---|");
    for program in programs::all(workspace, &file)? {
        if part.is_some_and(|part| !program.name.contains(part)) {
            continue;
        }
        let command = match program.build(workspace, scratch.path()) {
            Ok(command) => command,
            Err(why) => {
                println!("| {} | | not built: {why:#} | | |", program.name);
                continue;
            }
        };
        for &threads in counts {
            let compared = compare(&holdup, scratch.path(), &program, &command, threads)?;
            bad += u32::from(compared.is_bad);
            println!(
                "| {} | {threads} | {} | {} | {} |",
                program.name, compared.equal, compared.share, compared.watchdog
            );
        }
    }
    if bad > 0 {
        eprintln!("xtask: {bad} lines tell of another output or status, or of a run that hangs");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// A row of the table.
#[derive(Default)]
struct Compared {
    equal: String,
    share: String,
    watchdog: String,
    is_bad: bool,
}

impl Compared {
    fn bad(equal: String) -> Compared {
        Compared { equal, is_bad: true, ..Compared::default() }
    }
}

fn compare(
    holdup: &Path,
    scratch: &Path,
    program: &Program,
    command: &[String],
    threads: u32,
) -> Result<Compared> {
    let words: Vec<String> =
        command.iter().map(|word| word.replace("{threads}", &threads.to_string())).collect();
    let plainly = || ended(Command::new(&words[0]).args(&words[1..]), threads, scratch, true);
    let (first, second) = (plainly()?, plainly()?);
    let (Some(status), Some(_)) = (first.status, second.status) else {
        return Ok(Compared {
            equal: "hangs without holdup too: not compared".to_owned(),
            ..Compared::default()
        });
    };
    let steady = first == second;
    let mut stack = Command::new(holdup);
    stack.args([
        "stack",
        "-t",
        &threads.to_string(),
        "-r",
        "1",
        "--profiled",
        "1",
        "--no-pirate",
        "--show-output",
    ]);
    // Where it is 0 plainly, holdup ends with another one that a held run ends with.
    stack.args((!status.success()).then_some("--ignore-status")).args(["--json", "--"]).args(command);
    let held = ended(&mut stack, threads, scratch, false)?;
    let Some(how) = held.status else {
        return Ok(Compared::bad(format!("HANGS: not at its end after {} s", HANGS.as_secs())));
    };
    if !how.success() {
        let said = last_line(&held.errors);
        // What cannot be entered is refused before it runs.
        return Ok(match (how.code(), program.is_foreign) {
            (Some(3), true) => Compared { equal: format!("refused: {said}"), ..Compared::default() },
            _ => Compared::bad(format!("holdup ended with {how}: {said}")),
        });
    }
    let told: Value = serde_json::from_slice(&held.output).context("holdup stack --json printed no JSON")?;
    let (is_same, equal) = if !steady {
        (true, "plain runs differ: not compared".to_owned())
    } else if without_own_lines(&held.errors) == first.errors.repeat(RUNS) {
        (true, format!("yes, {} bytes, {status}", first.errors.len()))
    } else {
        let kept =
            scratch.parent().unwrap_or(scratch).join(format!("holdup-alone-{}-{threads}", program.name));
        std::fs::create_dir_all(&kept)?;
        std::fs::write(kept.join("plain"), &first.errors)?;
        std::fs::write(kept.join("held"), &held.errors)?;
        (false, format!("NO: see {}", kept.display()))
    };
    let (share, watchdog) = watched(&told);
    Ok(Compared { equal, share, watchdog, is_bad: !is_same })
}

/// What a command printed, and how it ended.
#[derive(PartialEq)]
struct Ended {
    /// `None` if it had to be killed.
    status: Option<ExitStatus>,
    output: Vec<u8>,
    errors: Vec<u8>,
}

/// Runs a command in a process group of its own, which is killed if it hangs. `merged` writes its standard output and its
/// standard error to one file, in the order in which they come: both are in `errors` then.
fn ended(command: &mut Command, threads: u32, scratch: &Path, merged: bool) -> Result<Ended> {
    let names = [scratch.join("output"), scratch.join("errors")];
    let [output, errors] = [File::create(&names[0])?, File::create(&names[1])?];
    let output = if merged { errors.try_clone()? } else { output };
    command.env("OMP_NUM_THREADS", threads.to_string());
    command.stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0);
    let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
    let status = match wait(&mut child, HANGS)? {
        Some(status) => Some(status),
        None => {
            for signal in ["-TERM", "-KILL"] {
                let group = format!("-{}", child.id());
                Command::new("kill").args([signal, "--", &group]).stderr(Stdio::null()).status()?;
                if wait(&mut child, GRACE)?.is_some() {
                    break;
                }
            }
            None
        }
    };
    let read = |path: &PathBuf| -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    Ok(Ended { status, output: read(&names[0])?, errors: read(&names[1])? })
}

fn wait(child: &mut std::process::Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begin.elapsed() > limit {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What the programs have printed: all but holdup's own lines.
fn without_own_lines(errors: &[u8]) -> Vec<u8> {
    errors
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| !line.starts_with(b"holdup: "))
        .flatten()
        .copied()
        .collect()
}

/// The share of CPU time that was alone, and why the rest was not.
fn watched(told: &Value) -> (String, String) {
    let percent = |value: &Value| value.as_f64().map(|share| format!("{:.1} %", 100.0 * share));
    let run = &told["alone_runs"][0];
    let Some(share) = percent(&run["alone"]) else { return ("none".to_owned(), String::new()) };
    let rest = run["rest"].as_array().into_iter().flatten();
    let rest =
        rest.filter_map(|why| Some(format!("{} {}", why["reason"].as_str()?, percent(&why["share"])?)));
    (share, rest.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn lines_of_holdup_itself_are_not_the_programs() {
        assert_eq!(without_own_lines(b"one\nholdup: with 2 threads\ntwo\n"), b"one\ntwo\n");
        assert_eq!(without_own_lines(b"\xff\x00no end"), b"\xff\x00no end");
    }

    #[test]
    fn what_hangs_is_ended() {
        let scratch = tempfile::tempdir().unwrap();
        let mut child = Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        assert_eq!(wait(&mut child, Duration::ZERO).unwrap(), None);
        child.kill().unwrap();
        let status = wait(&mut child, HANGS).unwrap().unwrap();
        assert_eq!(status.signal(), Some(9));
        let echo =
            ended(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]), 2, scratch.path(), true);
        let echo = echo.unwrap();
        assert_eq!((echo.status.unwrap().code(), &echo.errors[..]), (Some(3), &b"out\nerr\n"[..]));
    }
}
