//! Ends by force at random moments: nothing hangs, nothing panics, everything is readable, every setting is as it was.
//!
//! `cargo xtask kills` does this as often as it is asked to; as a test it does the same few kills each time. What the moments meet is
//! up to the machine, what must be so is not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::stage::forged::Numbers;
use crate::stage::{
    Ended, HOLDUP, Stage, children_of, eventually, is_root, processes_with, report, settings_of, start, text,
    workspace,
};

/// How often a test does it, and which.
const KILLS: u64 = 10;
const SEED: u64 = 20_261_122;

/// A way to start a program.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// The words before the program; FILE is a recording.
    words: &'static [&'static str],
    program: &'static str,
    arguments: &'static [&'static str],
    /// When it is killed: after less than so many ms.
    within: usize,
}

const WAYS: &[Way] = &[
    Way {
        words: &["record", "-o", "FILE", "--"],
        program: "critical",
        arguments: &["barrier", "20"],
        within: 900,
    },
    Way { words: &["record", "-o", "FILE", "--"], program: "team", arguments: &["300"], within: 900 },
    Way { words: &["record", "-o", "FILE", "--"], program: "forks_at_once", arguments: &["60"], within: 400 },
    Way { words: &["-o", "FILE"], program: "critical", arguments: &["lock", "10"], within: 1200 },
    Way {
        words: &["steer", "--always", "--quiet", "--"],
        program: "critical",
        arguments: &["barrier", "40"],
        within: 1200,
    },
    Way {
        words: &["top", "-i", "0.1", "--"],
        program: "critical",
        arguments: &["barrier", "20"],
        within: 1000,
    },
    Way { words: &["stack", "-t", "1,2", "-r", "1"], program: "team", arguments: &["60"], within: 2500 },
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Victim {
    Program,
    Holdup,
    /// Who takes back what holdup has changed, where there is one; else holdup.
    Guardian,
    All,
}

const VICTIMS: &[Victim] = &[Victim::Program, Victim::Holdup, Victim::Guardian, Victim::All];
const SIGNALS: &[Signal] =
    &[Signal::KILL, Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT, Signal::STOP];

fn programs(stage: &Stage) {
    for (name, program) in [
        ("critical", stage.compile("critical", workspace().join("bench/steer/critical.c"), &[])),
        ("team", stage.program("team", &["-fopenmp"])),
        ("forks_at_once", stage.program("forks_at_once", &[])),
    ] {
        // Others may run the same.
        fs::copy(program, stage.path(format!("killed-{name}"))).expect("a copy of a program");
    }
}

struct Kill {
    way: Way,
    victim: Victim,
    signal: Signal,
    after: Duration,
}

impl Kill {
    fn drawn(numbers: &mut Numbers) -> Kill {
        let way = *numbers.of(WAYS);
        Kill {
            way,
            victim: *numbers.of(VICTIMS),
            signal: *numbers.of(SIGNALS),
            after: Duration::from_millis(numbers.below(way.within) as u64),
        }
    }

    /// Does it; gives what is wrong afterwards.
    fn done(&self, stage: &Stage, recording: &Path) -> Vec<String> {
        let program = stage.path(format!("killed-{}", self.way.program));
        let mut command = Command::new(HOLDUP);
        let word = |word: &&str| if *word == "FILE" { recording.into() } else { PathBuf::from(word) };
        command.args(self.way.words.iter().map(word)).arg(&program).args(self.way.arguments);
        let mut running = start(&mut command);
        let holdup = running.pid();
        thread::sleep(self.after);
        let own = || -> Vec<Pid> {
            let named = processes_with(&program.display().to_string());
            named.into_iter().filter(|pid| *pid != holdup).collect()
        };
        let guardian = children_of(holdup).into_iter().find(|child| !own().contains(child));
        let send = |pid: Pid, signal: Signal| _ = kill_process(pid, signal);
        let hit = |signal: Signal| match (self.victim, guardian) {
            (Victim::Program, _) => own().into_iter().for_each(|pid| send(pid, signal)),
            (Victim::Guardian, Some(guardian)) => send(guardian, signal),
            (Victim::Holdup | Victim::Guardian, _) => send(holdup, signal),
            (Victim::All, _) => _ = kill_process_group(holdup, signal),
        };
        hit(self.signal);
        if self.signal == Signal::STOP {
            thread::sleep(Duration::from_millis(50));
            hit(Signal::CONT);
        }
        running.wait();
        // What is left of the program has its own settings again, and ends. Killed in one moment, holdup and its guardian leave
        // them.
        let expected = settings_of(rustix::process::getpid());
        let is_left = self.victim == Victim::All && self.signal == Signal::KILL;
        for pid in own().into_iter().filter(|_| !is_left) {
            let is_restored = || settings_of(pid).iter().all(|found| expected.contains(found));
            eventually("the settings of before", || is_restored().then_some(()));
        }
        eventually("the program's end", || own().is_empty().then_some(()));
        let ended = running.end();
        let mut wrong = self.wrong(&ended);
        wrong.extend(unreadable(recording));
        let _ = fs::remove_file(recording);
        wrong
    }

    fn wrong(&self, ended: &Ended) -> Vec<String> {
        let said = text(&ended.stderr);
        let mut wrong = Vec::new();
        if said.contains("panicked") || said.contains("a defect of holdup") {
            wrong.push(format!("a panic: {ended:?}"));
        }
        // 101 is Rust's for a panic; an abort and an illegal access are nobody's wish here.
        if [101, 134, 132, 135, 139].contains(&ended.status) {
            wrong.push(format!("an end that nobody asked for: {ended:?}"));
        }
        wrong
    }
}

/// Why a recording that is there cannot be read; nothing may be in it.
fn unreadable(recording: &Path) -> Option<String> {
    if !recording.exists() {
        return None;
    }
    let ended = report(recording, &["--json"]);
    let said = text(&ended.stderr);
    let is_nothing = ended.status == 2
        && (said.contains("nothing is in this recording") || said.contains("the file is empty"));
    let is_read = ended.status == 0 && serde_json::from_slice::<serde_json::Value>(&ended.stdout).is_ok();
    (!is_read && !is_nothing).then(|| format!("the recording cannot be read: {ended:?}"))
}

#[test]
fn at_random_moments() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let fresh = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
    let count = number("HOLDUP_KILLS");
    let seed = number("HOLDUP_KILLS_SEED").unwrap_or_else(|| if count.is_some() { fresh() } else { SEED });
    let stage = Stage::new();
    programs(&stage);
    let mut numbers = Numbers(seed);
    let mut wrong = Vec::new();
    for at in 0..count.unwrap_or(KILLS) {
        let kill = Kill::drawn(&mut numbers);
        let name = format!(
            "{at}: {:?} to {:?} after {:?} of {} {}",
            kill.signal,
            kill.victim,
            kill.after,
            kill.way.words.join(" "),
            kill.way.program
        );
        if count.is_some() {
            eprintln!("{name}");
        }
        let found = kill.done(&stage, &stage.path("killed.holdup"));
        wrong.extend(found.into_iter().map(|what| format!("{name}: {what}")));
    }
    let note = if is_root() { "" } else { " (without root steer changes less)" };
    assert!(wrong.is_empty(), "seed {seed}{note}: {wrong:#?}");
}
