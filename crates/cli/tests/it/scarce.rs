//! Scarce memory, disk, descriptors and address space cost events, never the program.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stage;
use crate::stage::{
    Ended, HOLDUP, Stage, can_mount, in_own_mounts, is_root, report, report_json, run, skip, text, workspace,
};

/// Programs that use much of what can be scarce: many threads, many processes, many events.
fn programs(stage: &Stage) -> Vec<PathBuf> {
    let source = |name: &str| workspace().join(format!("tests/harm/{name}.c"));
    let harm = |name: &str| stage.compile(name, source(name), &["-DREST_US=200", "-DSHORT=400"]);
    vec![harm("fork_threads"), harm("many_threads"), stage.program("hold_and_wait", &[]), harm("spawn")]
}

/// Runs `command` after `prepare`, both in one shell.
fn shell(prepare: &str, command: &[&OsStr]) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{prepare}; exec \"$@\""), "sh"]).args(command);
    shell
}

fn recording_of<'a>(recording: &'a Path, program: &'a Path) -> Vec<&'a OsStr> {
    let words: [&OsStr; 5] =
        [HOLDUP.as_ref(), "record".as_ref(), "-o".as_ref(), recording.as_ref(), "--".as_ref()];
    words.into_iter().chain([program.as_os_str()]).collect()
}

/// What must be so: the program ran as it does without holdup, which may have added a line of its own behind the
/// program's; or holdup could not begin, said why in one line, and the program did not run at all.
#[derive(Debug, PartialEq, Eq)]
enum Result {
    Recorded,
    Refused,
}

fn result(plain: &Ended, recorded: &Ended) -> Result {
    let said = text(&recorded.stderr);
    let own = said.strip_prefix(&text(&plain.stderr)).unwrap_or_else(|| panic!("{plain:?}\n{recorded:?}"));
    assert!(own.is_empty() || own.starts_with("holdup: ") && own.lines().count() == 1, "{recorded:?}");
    if (recorded.status, &recorded.stdout) == (plain.status, &plain.stdout) {
        return Result::Recorded;
    }
    assert!(matches!(recorded.status, 2 | 3) && !own.is_empty(), "plain {plain:?}\nrecorded {recorded:?}");
    assert_eq!(text(&recorded.stdout), "", "it ran and says that it did not");
    Result::Refused
}

/// All programs after `prepare`, whatever becomes of the recording.
fn under(prepare: &str) -> Vec<Result> {
    let stage = Stage::new();
    let run_one = |program: PathBuf| {
        let recording = stage.path("scarce.holdup");
        let _ = fs::remove_file(&recording);
        let plain = run(&mut shell(prepare, &[program.as_os_str()]));
        let recorded = run(&mut shell(prepare, &recording_of(&recording, &program)));
        let result = result(&plain, &recorded);
        if result == Result::Recorded && fs::metadata(&recording).is_ok_and(|facts| facts.len() > 100) {
            assert_eq!(report(&recording, &["--json"]).status, 0);
        }
        result
    };
    programs(&stage).into_iter().map(run_one).collect()
}

#[test]
fn no_file_may_grow() {
    under("ulimit -f 0");
    under("ulimit -f 1");
}

#[test]
fn no_file_may_be_larger_than_one_mebibyte() {
    under("ulimit -f 2048");
}

#[test]
fn no_file_may_be_larger_than_what_a_process_needs_at_its_start() {
    under("ulimit -f 100000");
}

#[test]
fn files_may_be_large_enough() {
    assert_eq!(under("ulimit -f 400000"), [const { Result::Recorded }; 4]);
}

#[test]
fn little_address_space() {
    assert_eq!(under("ulimit -v 2097152"), [const { Result::Recorded }; 4]);
}

#[test]
fn hardly_any_address_space() {
    // Stacks of the usual 8 MiB leave no room for many threads, with holdup or without.
    under("ulimit -s 512; ulimit -v 204800");
}

#[test]
fn few_descriptors() {
    assert_eq!(under("ulimit -n 40"), [const { Result::Recorded }; 4]);
    under("ulimit -n 16");
    under("ulimit -n 8");
}

#[test]
fn no_signals_may_be_queued_and_nothing_locked() {
    assert_eq!(under("ulimit -l 0"), [const { Result::Recorded }; 4]);
}

/// In a mount namespace whose /dev/shm is a file system of `size`.
fn with_shared_memory_of(size: &str, prepare: &str, command: &[&OsStr]) -> Ended {
    let script = format!("mount -t tmpfs -o size={size} none /dev/shm && {prepare}; exec \"$@\"");
    let arguments: Vec<&OsStr> = [OsStr::new("sh")].into_iter().chain(command.iter().copied()).collect();
    run(&mut in_own_mounts(&script, &arguments))
}

#[test]
fn a_small_dev_shm_is_passed_over_for_the_temporary_directory() {
    if !can_mount() {
        return;
    }
    let stage = Stage::new();
    for program in programs(&stage) {
        let recording = stage.path("small.holdup");
        let plain = with_shared_memory_of("2m", "true", &[program.as_os_str()]);
        let recorded = with_shared_memory_of("2m", "true", &recording_of(&recording, &program));
        assert_eq!(result(&plain, &recorded), Result::Recorded);
        assert!(report_json(&recording)["run"]["processes"].as_u64() > Some(0));
    }
}

#[test]
fn without_any_room_nothing_is_started() {
    if !can_mount() {
        return;
    }
    let stage = Stage::new();
    let program = stage.program("hold_and_wait", &[]);
    let recording = stage.path("none.holdup");
    let recorded = with_shared_memory_of("2m", "export TMPDIR=/dev/shm", &recording_of(&recording, &program));
    stage::assert_refused(&recorded, 3, &["/dev/shm", "TMPDIR"]);
}

#[test]
fn a_dev_shm_that_is_just_large_enough_to_begin() {
    if !can_mount() {
        return;
    }
    let stage = Stage::new();
    for program in programs(&stage) {
        let recording = stage.path("tight.holdup");
        let plain = with_shared_memory_of("40m", "true", &[program.as_os_str()]);
        let recorded =
            with_shared_memory_of("40m", "export TMPDIR=/dev/shm", &recording_of(&recording, &program));
        assert_eq!(result(&plain, &recorded), Result::Recorded);
        report_json(&recording);
    }
}

/// The program itself fills the file system on which it shares memory with holdup, then goes on.
#[test]
fn dev_shm_fills_up_while_the_program_runs() {
    if !can_mount() {
        return;
    }
    let stage = Stage::new();
    for program in programs(&stage) {
        let fill = "dd if=/dev/zero of=/dev/shm/fill bs=64k 2>/dev/null; ";
        let script = stage.write_executable(
            "fill_and_run",
            format!(
                "#!/bin/sh\n{fill}\n\"{program}\"; a=$?\n\"{program}\"\nexit $a\n",
                program = program.display()
            ),
        );
        let recording = stage.path("full.holdup");
        let plain = with_shared_memory_of("40m", "true", &[script.as_os_str()]);
        let recorded =
            with_shared_memory_of("40m", "export TMPDIR=/dev/shm", &recording_of(&recording, &script));
        assert_eq!(result(&plain, &recorded), Result::Recorded);
        let json = report_json(&recording);
        let warnings = json["run"]["warnings"].as_array().expect("warnings");
        assert!(!warnings.is_empty(), "what could not be recorded is said: {:#}", json["run"]);
    }
}

/// The file system that holds the recording fills up: the program goes on, holdup says it, and what was written can
/// be read.
#[test]
fn the_disk_with_the_recording_is_full() {
    if !can_mount() {
        return;
    }
    let stage = Stage::new();
    let program = stage.program("hold_and_wait", &[]);
    let folder = stage.path("disk");
    fs::create_dir(&folder).expect("mkdir");
    let copy = stage.path("copy.holdup");
    for size in ["4k", "32k", "64k"] {
        let script = format!(
            "mount -t tmpfs -o size={size} none \"$1\" && \"$2\" record -o \"$1/r.holdup\" -- \"$3\" 6000 10; a=$?; \
             cp \"$1/r.holdup\" \"$4\"; exit $a"
        );
        let plain = run(Command::new(&program).args(["6000", "10"]));
        let arguments: [&OsStr; 5] =
            ["sh".as_ref(), folder.as_ref(), HOLDUP.as_ref(), program.as_ref(), copy.as_ref()];
        let recorded = run(&mut in_own_mounts(&script, &arguments));
        assert_eq!(result(&plain, &recorded), Result::Recorded);
        let said = text(&recorded.stderr);
        assert!(said.contains("r.holdup") && said.contains("No space left"), "{size}: {recorded:?}");
        let told = report(&copy, &[]);
        if size == "4k" {
            // Less than what says how the run began may have fitted.
            continue;
        }
        assert_eq!(told.status, 0, "{size}: {told:?}");
        assert!(text(&told.stdout).contains("hold_and_wait ran"), "{told:?}");
    }
}

/// A memory cgroup, removed when it is dropped.
struct Cgroup(PathBuf);

impl Cgroup {
    /// Makes one below our own, of either version; `None` where that is not allowed.
    fn of(bytes: u64) -> Option<Cgroup> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let path_of = |controller: &str| {
            own.lines().find_map(|line| {
                let (_, rest) = line.split_once(':')?;
                let (controllers, path) = rest.split_once(':')?;
                (controllers == controller).then(|| path.trim_start_matches('/').to_owned())
            })
        };
        let name = format!("holdup-test-{}", std::process::id());
        let choices = [
            ("/sys/fs/cgroup/memory", path_of("memory"), "memory.limit_in_bytes"),
            ("/sys/fs/cgroup", path_of(""), "memory.max"),
        ];
        choices.into_iter().find_map(|(root, path, limit)| {
            let group = Cgroup(Path::new(root).join(path?).join(&name));
            fs::create_dir(&group.0).ok()?;
            fs::write(group.0.join(limit), bytes.to_string()).ok()?;
            Some(group)
        })
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_memory_cgroup_that_leaves_little() {
    let Some(group) = is_root().then(|| Cgroup::of(48 << 20)).flatten() else {
        return skip("no memory cgroup can be made here");
    };
    let join = format!("echo $$ > {}/cgroup.procs", group.0.display());
    assert_eq!(under(&join), [const { Result::Recorded }; 4]);
}
