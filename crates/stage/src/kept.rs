//! What was compiled is kept, by what it was made of.
//!
//! The programs under test do not change between runs of the tests, and many tests want the same one. A compiler's
//! command line, the compiler itself and all that it can read of the workspace are hashed; a program with that hash is
//! copied instead of compiled. Sources that a test writes are compiled anew: their path is part of what is made.

use std::collections::hash_map::DefaultHasher;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{run, text};
use crate::workspace;

/// What Cargo puts into the directory of all it builds: the first only where it makes the directory itself, which it does
/// not after a runner of tests has put its own notes there.
const MARKS: [&str; 2] = ["CACHEDIR.TAG", ".rustc_info.json"];

/// A directory that outlives the tests, for what is expensive to make: beside what Cargo builds.
///
/// # Panics
///
/// Where this program was not built by Cargo.
pub fn directory(name: &str) -> PathBuf {
    // Cargo marks the directory of all it builds, if it makes it; this program lies somewhere below it.
    let own = std::env::current_exe().expect("this program's path");
    let is_target = |above: &&Path| MARKS.iter().any(|mark| above.join(mark).is_file());
    let target = own.ancestors().find(is_target);
    let directory = target.unwrap_or_else(|| panic!("{}: no target directory", own.display())).join(name);
    fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    directory
}

/// Makes `program` by a compiler, or copies what the same command made before from the same files. `make` gives the
/// compiler's command for a path of the program; the words of a compiler that fails.
///
/// `source` is a file, whose directory and the one above are taken to hold all headers, or a directory with all of a
/// project.
pub(crate) fn make(program: &Path, source: &Path, make: impl Fn(&Path) -> Command) -> Result<(), String> {
    let compile = |to: &Path| {
        let ended = run(&mut make(to));
        if ended.status == 0 { Ok(()) } else { Err(text(&ended.stderr)) }
    };
    let command = make(Path::new("program"));
    let stage = program.parent().expect("a program in a directory").to_string_lossy().into_owned();
    let is_here = |argument: &OsStr| argument.to_string_lossy().contains(&stage);
    let source = source.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", source.display()));
    if !source.starts_with(workspace()) || command.get_args().any(is_here) {
        return compile(program);
    }
    let key = key(&command, &source);
    let directory = directory("programs");
    let kept = directory.join(format!("{key:016x}"));
    if !kept.exists() {
        // Tests that want the same program at once wait for the one that makes it.
        let lock = File::create(directory.join(format!("{key:016x}.lock"))).expect("a lock file");
        lock.lock().expect("a lock");
        if !kept.exists() {
            let made = directory.join(format!("{key:016x}.new"));
            compile(&made)?;
            fs::rename(&made, &kept).expect("keep the program");
        }
    }
    // By another process: a file that this one has open for writing cannot be executed, and threads of other tests
    // may fork at any time.
    let copied = run(Command::new("cp").arg(&kept).arg(program));
    assert_eq!(copied.status, 0, "{copied:?}");
    Ok(())
}

fn key(command: &Command, source: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    let compiler = find(command.get_program());
    let compiler = fs::canonicalize(&compiler).unwrap_or(compiler);
    compiler.hash(&mut hasher);
    if let Ok(about) = compiler.metadata() {
        (about.len(), about.mtime()).hash(&mut hasher);
    }
    command.get_args().for_each(|argument| argument.hash(&mut hasher));
    for (name, value) in command.get_envs() {
        (name, value).hash(&mut hasher);
    }
    for file in inputs(source) {
        file.hash(&mut hasher);
        fs::read(&file).unwrap_or_default().hash(&mut hasher);
    }
    hasher.finish()
}

fn find(program: &OsStr) -> PathBuf {
    let list = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&list).map(|directory| directory.join(program));
    found.into_iter().find(|path| path.is_file()).unwrap_or_else(|| program.into())
}

/// All files that can go into a program, in a fixed order.
fn inputs(source: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    if source.is_dir() {
        collect(source, &mut files);
    } else {
        files.push(source.to_owned());
        let above = source.ancestors().skip(1).take(2).map(Path::to_owned);
        for directory in above.chain([workspace().join("include")]) {
            let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
            let beside = |path: &PathBuf| {
                let ending = path.extension().and_then(OsStr::to_str);
                ending.is_some_and(|ending| ["h", "c", "cpp", "rs"].contains(&ending)) && path != source
            };
            files.extend(entries.filter(beside));
        }
    }
    files.sort();
    files
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for path in fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
