//! Bad input: one clear line and the right status, nothing readable lost, and never a panic.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use holdup_criticality::{Diagnosis, ProcessTree, diagnose};
use holdup_model::Run;
use holdup_recording::{ReadError, Recording};
use holdup_report::Look;

use crate::stage;
use crate::stage::forged::{Numbers, file_of, frames};
use crate::stage::{
    HOLDUP, Stage, assert_adds_up, assert_refused, is_installed, is_root, record, report, report_json, run,
    text,
};

/// `holdup` with words, run in a directory of its own.
fn holdup(stage: &Stage, words: &[&str]) -> stage::Ended {
    run(Command::new(HOLDUP).args(words).current_dir(stage.directory()))
}

/// A recording of a program with one hot lock, and the top finding's object.
fn recorded(stage: &Stage) -> PathBuf {
    let program = stage.program("hold_and_wait", &[]);
    let recording = stage.path("whole.holdup");
    let ended = run(record(&recording, &program).args(["1500", "40"]));
    assert_eq!((ended.status, text(&ended.stderr)), (6, String::new()));
    recording
}

#[test]
fn files_that_are_no_recordings() {
    let stage = Stage::new();
    stage.write("short", "holdup recording");
    stage.write("header", [&b"holdup recording\x01\0\0\0"[..], &[0; 12]].concat());
    let newer = fs::read(recorded(&stage)).expect("a recording");
    stage.write("newer", [&newer[..16], &[99, 0, 0, 0], &newer[20..]].concat());
    for (file, says) in [
        ("short", "not a recording"),
        ("header", "nothing is in this recording"),
        ("newer", "version 99"),
        ("/dev/null", "empty"),
    ] {
        for options in [&["report", file][..], &["report", "--json", file]] {
            assert_refused(&holdup(&stage, options), 2, &[file, says]);
        }
    }
}

#[test]
fn hostile_file_names_do_not_reach_the_terminal() {
    let stage = Stage::new();
    let ended = holdup(&stage, &["report", "a\x1b[2J\nb\u{202e}"]);
    assert_refused(&ended, 2, &["a\\u{1b}[2J\\nb\\u{202e}"]);
}

/// A reader of the answer that goes away is no failure.
#[test]
fn a_closed_pipe_is_no_failure() {
    let stage = Stage::new();
    let recording = recorded(&stage);
    let mut shell = Command::new("bash");
    shell
        .args(["-c", "\"$0\" report --json \"$1\" | true; echo ${PIPESTATUS[0]}"])
        .arg(HOLDUP)
        .arg(&recording);
    let ended = run(&mut shell);
    assert_eq!((text(&ended.stdout), text(&ended.stderr)), ("0\n".to_owned(), String::new()));
}

/// As an ordinary user: root reads and writes everything.
#[test]
fn without_permission() {
    let stage = Stage::new();
    let recording = recorded(&stage);
    let program = stage.program("hold_and_wait", &[]);
    let locked = stage.path("locked");
    fs::create_dir(&locked).expect("mkdir");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).expect("chmod");
    let unreadable = stage.path("unreadable.holdup");
    fs::copy(&recording, &unreadable).expect("a copy");
    fs::set_permissions(&unreadable, fs::Permissions::from_mode(0o000)).expect("chmod");
    let mut holdup = PathBuf::from(HOLDUP);
    let home = stage.path("home");
    fs::create_dir(&home).expect("mkdir");
    if is_root() {
        if !is_installed("setpriv") {
            return;
        }
        holdup = stage.path("holdup");
        fs::copy(HOLDUP, &holdup).expect("a copy of holdup");
        chown(&home, Some(65534), Some(65534)).expect("chown");
    }
    let ordinary = |words: &[&Path], directory: &Path| {
        let mut command = Command::new(if is_root() { Path::new("setpriv") } else { &holdup });
        if is_root() {
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&holdup);
        }
        let temporary = home.join("tmp");
        command.args(words).env("XDG_CACHE_HOME", &home).env("TMPDIR", &temporary).current_dir(directory);
        run(&mut command)
    };
    assert_refused(
        &ordinary(&["report".as_ref(), &unreadable], &home),
        2,
        &["unreadable.holdup", "ermission denied"],
    );
    let place = locked.join("x.holdup");
    let words: [&Path; 5] = ["record".as_ref(), "-o".as_ref(), &place, "--".as_ref(), &program];
    assert_refused(&ordinary(&words, &home), 2, &["x.holdup", "ermission denied", "-o FILE"]);
    // Without a place asked for, a directory that cannot be written to is no obstacle.
    fs::create_dir(home.join("tmp")).expect("mkdir");
    fs::set_permissions(home.join("tmp"), fs::Permissions::from_mode(0o1777)).expect("chmod");
    let ended = ordinary(&[&program], &locked);
    assert_eq!(ended.status, 6, "{ended:?}");
    assert!(text(&ended.stderr).contains("hold_and_wait ran"), "{ended:?}");
    assert!(home.join("tmp/hold_and_wait.holdup").exists(), "{ended:?}");
}

#[test]
fn an_earlier_recording_is_kept() {
    let stage = Stage::new();
    let program = stage.program("hold_and_wait", &[]);
    let program = program.to_string_lossy();
    for _ in 0..2 {
        assert_eq!(holdup(&stage, &[&program, "20"]).status, 6);
    }
    report_json(&stage.path("hold_and_wait.holdup"));
    report_json(&stage.path("hold_and_wait.old.holdup"));
}

// Damaged recordings, in process: what `holdup report` does, many times.

/// A recording of the same program as it is stored: the same bytes are damaged each time.
fn stored() -> Vec<u8> {
    fs::read(stage::golden::recordings().join("hold_and_wait.holdup")).expect("a recording")
}

/// What is read of a recording, and told about it: everything that a report goes through.
fn tell(bytes: &[u8]) -> Result<(Run, Vec<Diagnosis>), ReadError> {
    let (mut recording, warnings) = Recording::parse(bytes, Path::new("damaged.holdup"))?;
    holdup_collect::name_all(&mut recording, &Default::default());
    let run = recording.run(&warnings);
    let mut diagnoses: Vec<Diagnosis> =
        (0..run.processes.len().min(32)).map(|index| diagnose(&run, index)).collect();
    for diagnosis in &diagnoses {
        let criticality = &diagnosis.criticality;
        let sum = criticality.threads.iter().sum::<f64>() + criticality.nobody_total();
        let total = criticality.total.get() as f64;
        assert!((sum - total).abs() <= total * 1e-3 + 1.0, "criticality adds up to {sum} of {total} ns");
    }
    let plain = Look::plain(100);
    if let Some(first) = diagnoses.first_mut() {
        first.tree = ProcessTree::of(&run);
    }
    assert_harmless(&holdup_report::render(&run, &diagnoses, plain));
    assert_harmless(&holdup_report::json_text(&run, &diagnoses));
    Ok((run, diagnoses))
}

/// Nothing that acts on a terminal, or that a reader takes for something else.
pub(crate) fn assert_harmless(shown: &str) {
    let bad = |c: &char| {
        c.is_control() && *c != '\n' || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
    };
    assert_eq!(shown.chars().find(bad), None, "in {shown}");
}

/// Whether the planted lock is among the findings.
fn names_the_lock(told: &(Run, Vec<Diagnosis>)) -> bool {
    told.1.iter().flat_map(|diagnosis| &diagnosis.findings).any(|finding| finding.what.contains("the_lock"))
}

#[test]
fn a_recording_that_is_cut_off_anywhere() {
    const PARTS: usize = 37;
    let stage = Stage::new();
    // Its names are looked up in the program's own file, so that beginnings have them too.
    let whole = fs::read(recorded(&stage)).expect("a recording");
    assert!(names_the_lock(&tell(&whole).expect("a whole recording")));
    let cut = stage.path("cut.holdup");
    let mut named = 0;
    for part in 0..PARTS {
        let length = whole.len() * part / PARTS;
        // What ends between two frames that come after the end of the run looks whole: one byte less does not.
        let is_border = length > 0 && frames(&whole[..length]).len() > frames(&whole[..length - 1]).len();
        let rest = &whole[..length - usize::from(is_border)];
        fs::write(&cut, rest).expect("write");
        let ended = report(&cut, &[]);
        match tell(rest) {
            Ok(told) => {
                assert_eq!((ended.status, text(&ended.stderr)), (0, String::new()), "part {part}");
                let said = text(&ended.stdout);
                assert!(said.contains("cut off") || said.contains("not finished"), "part {part}: {said}");
                named += usize::from(names_the_lock(&told));
            }
            Err(_) => assert_refused(&ended, 2, &["cut.holdup"]),
        }
    }
    // The events of the lock fill most of the file: most of its beginnings hold enough to name it.
    assert!(named > PARTS / 2, "only {named} of {PARTS} beginnings name the lock");
}

#[test]
fn a_recording_with_flipped_bits() {
    let stage = Stage::new();
    let whole = stored();
    let flipped = stage.path("flipped.holdup");
    let mut numbers = Numbers(0x10c4);
    let mut named = 0;
    for round in 0..300 {
        let mut bytes = whole.clone();
        let flips = 1 + numbers.below(4);
        for _ in 0..flips {
            // Behind the header: what a damaged header does is tested above.
            let at = 32 + numbers.below(bytes.len() - 32);
            bytes[at] ^= 1 << numbers.below(8);
        }
        let told = tell(&bytes);
        if round % 30 == 0 {
            fs::write(&flipped, &bytes).expect("write");
            let ended = report(&flipped, &["--json"]);
            match &told {
                Ok(_) => assert_eq!((ended.status, text(&ended.stderr)), (0, String::new())),
                Err(_) => assert_refused(&ended, 2, &["flipped.holdup"]),
            }
        }
        if let Ok(told) = told {
            assert!(!told.0.warnings.is_empty(), "round {round}: damage is told");
            named += usize::from(names_the_lock(&told));
        }
    }
    assert!(named > 150, "only {named} of 300 damaged recordings still name the lock");
}

#[test]
fn frames_survive_being_taken_apart() {
    let whole = stored();
    let again = file_of(&frames(&whole));
    let (one, other) = (tell(&whole).expect("whole"), tell(&again).expect("whole"));
    assert_eq!(holdup_report::json_text(&one.0, &one.1), holdup_report::json_text(&other.0, &other.1));
}

/// Recordings that are wrong inside of frames whose checksums are right: somebody made them so.
#[test]
fn a_forged_recording() {
    let whole = stored();
    let mut numbers = Numbers(0xf0_26ed);
    let mut told = 0;
    for _ in 0..300 {
        let mut frames = frames(&whole);
        for _ in 0..1 + numbers.below(6) {
            let index = numbers.below(frames.len());
            match numbers.below(8) {
                0 => drop(frames.remove(index)),
                1 => {
                    let other = numbers.below(frames.len());
                    frames.swap(index, other);
                }
                2 => frames[index].process = numbers.below(5) as u32,
                3 => {
                    let length = numbers.below(frames[index].content.len().max(1));
                    frames[index].content.truncate(length);
                }
                // A word becomes something extreme, or something from elsewhere in the frame.
                4 | 5 => {
                    let content = &mut frames[index].content;
                    if content.len() > 16 {
                        let at = numbers.below(content.len() / 8 - 1) * 8;
                        let from = numbers.below(content.len() / 8 - 1) * 8;
                        let word = match numbers.below(4) {
                            0 => [0xff; 8],
                            1 => [0; 8],
                            2 => (i64::MIN as u64).to_le_bytes(),
                            _ => content[from..from + 8].try_into().expect("eight bytes"),
                        };
                        content[at..at + 8].copy_from_slice(&word);
                    }
                }
                _ => {
                    let content = &mut frames[index].content;
                    if !content.is_empty() {
                        let at = numbers.below(content.len());
                        content[at] ^= 1 << numbers.below(8);
                    }
                }
            }
            if frames.is_empty() {
                break;
            }
        }
        told += usize::from(tell(&file_of(&frames)).is_ok());
    }
    assert!(told > 200, "only {told} of 300 forged recordings were told about");
}

#[test]
fn hostile_names_reach_neither_terminal_nor_json() {
    let stage = Stage::new();
    for (name, flags) in [("with\x1b[31m<b>", &[][..]), ("without", &["-g0"])] {
        let program = stage.program("hostile", flags);
        let renamed = stage.path(name);
        fs::rename(&program, &renamed).expect("rename");
        let recording = stage.path("hostile.holdup");
        let plain = run(&mut Command::new(&renamed));
        let recorded = run(&mut record(&recording, &renamed));
        assert!(plain == recorded, "without holdup:\n{plain:?}\nunder holdup:\n{recorded:?}");
        let json = report(&recording, &["--json"]);
        let shown = report(&recording, &[]);
        assert_eq!((json.status, shown.status), (0, 0));
        for told in [&json, &shown] {
            assert_harmless(std::str::from_utf8(&told.stdout).expect("UTF-8"));
        }
        // Shown escaped, not left out; and whole where programs read it.
        assert!(text(&shown.stdout).contains("lock\\u{1b}]0;owned\\u{7}"), "{shown:?}");
        let json = report_json(&recording);
        assert_adds_up(&json);
        let threads = json["criticality"]["threads"].as_array().expect("threads");
        assert!(threads.iter().any(|thread| thread["name"] == "\x1b[31mred\x1b[0m"), "{json:#}");
        let names =
            json["objects"].as_array().expect("objects").iter().filter_map(|object| object["name"].as_str());
        assert!(names.into_iter().any(|name| name.contains("\x1b]0;owned\x07<script>")), "{json:#}");
    }
}
