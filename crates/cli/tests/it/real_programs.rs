//! Real programs on real files: their output is bit for bit what it is without holdup, and criticality adds up.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::stage;
use crate::stage::{HOLDUP, assert_adds_up, is_installed, report_json, shell_status};

/// How much they read.
const INPUT: u64 = 20_000_000;

/// Programs and libraries of this machine, one after the other in the order of their names, up to [`INPUT`] bytes.
/// Kept with the build, so that it is made once.
fn input() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("real_input");
        if fs::metadata(&path).is_ok_and(|facts| facts.len() == INPUT) {
            return path;
        }
        let partial = path.with_extension(std::process::id().to_string());
        let mut file = File::create(&partial).expect("a file for the input");
        let mut missing = INPUT;
        for source in sources() {
            let Ok(source) = File::open(source) else { continue };
            missing -= std::io::copy(&mut source.take(missing), &mut file).expect("copy");
            if missing == 0 {
                break;
            }
        }
        assert_eq!(missing, 0, "/usr/bin and /usr/lib hold less than {INPUT} bytes");
        file.flush().expect("flush");
        fs::rename(&partial, &path).expect("rename");
        path
    })
}

fn sources() -> Vec<PathBuf> {
    let folders = ["/usr/bin", "/usr/lib", "/usr/lib/x86_64-linux-gnu"];
    let mut found: Vec<PathBuf> = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flat_map(|entries| entries.flatten().map(|entry| entry.path()))
        .filter(|path| fs::symlink_metadata(path).is_ok_and(|facts| facts.is_file()))
        .collect();
    found.sort();
    found
}

/// Runs `command` with its output into a file, and gives status and standard error.
fn into_file(mut command: Command, output: &Path) -> (i32, Vec<u8>) {
    let file = File::create(output).expect("a file for the output");
    let ended = command.stdin(Stdio::null()).stdout(file).stderr(Stdio::piped()).output().expect("it runs");
    (shell_status(ended.status), ended.stderr)
}

/// True if two files have the same content.
fn same(one: &Path, other: &Path) -> bool {
    let read = |path: &Path| fs::read(path).expect("an output");
    read(one) == read(other)
}

/// A program that compresses its input to its standard output with `threads` threads.
fn check(program: &str, arguments: &dyn Fn(u32) -> Vec<String>) {
    if !is_installed(program) {
        return;
    }
    let stage = stage::Stage::new();
    for threads in [1, 2, 4] {
        let words = arguments(threads);
        let (plain, recorded) = (stage.path("plain"), stage.path("recorded"));
        let recording = stage.path("real.holdup");
        let mut command = Command::new(program);
        command.args(&words).arg(input());
        let without = into_file(command, &plain);
        let mut command = Command::new(HOLDUP);
        command.args(["record", "-o"]).arg(&recording).arg("--").arg(program).args(&words).arg(input());
        let with = into_file(command, &recorded);
        assert_eq!(without.0, 0, "{program} {words:?}: {}", String::from_utf8_lossy(&without.1));
        assert_eq!(with, without, "{program} {words:?}");
        assert!(same(&plain, &recorded), "{program} {words:?}: the output differs");
        let json = report_json(&recording);
        assert_adds_up(&json);
        assert_eq!(json["run"]["lost_events"], 0, "{program} {words:?}");
        let seen = json["process"]["threads"].as_u64().expect("a number");
        assert!(threads == 1 || seen >= u64::from(threads), "{program} {words:?}: {seen} threads");
    }
}

fn words(text: String) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn pigz() {
    check("pigz", &|threads| words(format!("-1 -n -c -p {threads}")));
}

#[test]
fn pbzip2() {
    check("pbzip2", &|threads| words(format!("-1 -c -k -p{threads}")));
}

#[test]
fn xz() {
    check("xz", &|threads| words(format!("-0 -c -k -T{threads}")));
}

#[test]
fn zstd() {
    check("zstd", &|threads| words(format!("-3 -c -k -q -T{threads}")));
}

#[test]
fn pigz_decompresses() {
    if !is_installed("pigz") {
        return;
    }
    let stage = stage::Stage::new();
    let packed = stage.path("input.gz");
    let mut command = Command::new("pigz");
    command.args(["-1", "-c"]).arg(input());
    assert_eq!(into_file(command, &packed).0, 0);
    let recording = stage.path("unpack.holdup");
    let unpacked = stage.path("unpacked");
    let mut command = Command::new(HOLDUP);
    command.args(["record", "-o"]).arg(&recording).args(["--", "pigz", "-d", "-c"]).arg(&packed);
    assert_eq!(into_file(command, &unpacked), (0, Vec::new()));
    assert!(same(&unpacked, input()));
    assert_adds_up(&report_json(&recording));
}
