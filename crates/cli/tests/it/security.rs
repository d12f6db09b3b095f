//! Who may do what to whom: each boundary of docs/security.md, attacked.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stage::{Stage, assert_refused, is_root, record, report, run, skip, text};

/// With this `hold_and_wait` ends.
const ENDS: i32 = 6;
/// The user that calls sudo in these tests.
const USER: u32 = 1000;

fn as_if_by_sudo(command: &mut Command) -> &mut Command {
    command.env("SUDO_UID", USER.to_string()).env("SUDO_GID", USER.to_string()).env("SUDO_USER", "somebody")
}

/// A directory of the user's, with a program in it; and a directory of root's beside it, which others can look into.
fn places(stage: &Stage, program: &str) -> (PathBuf, PathBuf, PathBuf) {
    for place in stage.directory().ancestors() {
        // The user must be able to come here.
        if place.starts_with(std::env::temp_dir()) && place != std::env::temp_dir() {
            fs::set_permissions(place, Permissions::from_mode(0o755)).expect("our own directory");
        }
    }
    let (home, protected) = (stage.path("home"), stage.path("protected"));
    fs::create_dir(&home).expect("home");
    fs::create_dir(&protected).expect("protected");
    let copy = home.join(program);
    fs::copy(stage.program(program, &[]), &copy).expect("the program");
    chown(&home, Some(USER), Some(USER)).expect("as root");
    (home, protected, copy)
}

fn entries(directory: &Path) -> usize {
    fs::read_dir(directory).expect("a directory").count()
}

#[test]
fn a_program_that_swaps_the_session_gets_no_file_elsewhere() {
    if !is_root() {
        return skip("only root can be as if called by sudo");
    }
    let stage = Stage::new();
    let (home, protected, program) = places(&stage, "session_swap");
    let recording = home.join("swap.holdup");
    let ended = run(as_if_by_sudo(record(&recording, &program).arg(&protected)));
    assert_eq!((ended.status, entries(&protected)), (0, 0), "{ended:?}");
    let facts = fs::metadata(&recording).expect("a recording");
    assert_eq!((facts.uid(), facts.mode() & 0o777), (USER, 0o600));
    assert_eq!(report(&recording, &["--json"]).status, 0);
}

#[test]
fn a_recording_is_made_with_the_rights_of_who_called_sudo() {
    if !is_root() {
        return skip("only root can be as if called by sudo");
    }
    let stage = Stage::new();
    let (home, protected, program) = places(&stage, "hold_and_wait");
    let link = home.join("link.holdup");
    symlink(protected.join("made"), &link).expect("a link");
    let refused = run(as_if_by_sudo(&mut record(&link, &program)));
    assert_refused(&refused, 2, &["link.holdup", "symbolic link"]);
    let refused = run(as_if_by_sudo(&mut record(&protected.join("made"), &program)));
    assert_refused(&refused, 2, &["made", "Permission denied"]);
    assert_eq!(entries(&protected), 0);
    // The name that a recording has by itself is a link, or there is no right to make it here.
    symlink(protected.join("made"), home.join("hold_and_wait.holdup")).expect("a link");
    let here = |place: &Path| {
        let mut command = Command::new(crate::stage::HOLDUP);
        command.args(["record", "--"]).arg(&program).current_dir(place);
        run(as_if_by_sudo(&mut command))
    };
    let moved = here(&home);
    assert_eq!(moved.status, ENDS, "{moved:?}");
    assert!(fs::symlink_metadata(home.join("hold_and_wait.holdup")).expect("a recording").is_file());
    let elsewhere = here(&protected);
    assert_eq!((elsewhere.status, entries(&protected)), (ENDS, 0), "{elsewhere:?}");
    let said = text(&elsewhere.stderr);
    let made = said
        .trim()
        .rsplit_once("recording: ")
        .map(|(_, path)| path)
        .unwrap_or_else(|| panic!("{elsewhere:?}"));
    assert_eq!(fs::metadata(made).expect("a recording").uid(), USER);
    fs::remove_file(made).expect("ours");
}

#[test]
fn commands_that_record_by_the_way_do_so_under_sudo() {
    if !is_root() {
        return skip("only root can be as if called by sudo");
    }
    let stage = Stage::new();
    let (_, _, program) = places(&stage, "hold_and_wait");
    let kept = stage.path("home/kept");
    for words in [
        &["scale", "-t", "1,2", "-r", "1", "--ignore-status", "--"][..],
        &["scale", "-t", "1,2", "-r", "1", "--ignore-status", "--runs", kept.to_str().expect("UTF-8"), "--"],
        &["stack", "-t", "1,2", "--no-pirate", "--ignore-status", "--"],
    ] {
        let mut command = Command::new(crate::stage::HOLDUP);
        let ended = run(as_if_by_sudo(command.args(words).arg(&program).arg("{threads}")));
        assert!(!text(&ended.stderr).contains("ermission denied"), "{words:?} {ended:?}");
        assert_eq!(ended.status, 0, "{words:?} {ended:?}");
    }
    assert_eq!(fs::metadata(&kept).expect("a directory").uid(), USER);
}

#[test]
fn a_recording_can_be_read_by_its_owner_alone() {
    let stage = Stage::new();
    let program = stage.program("hold_and_wait", &[]);
    let recording = stage.write("old.holdup", "whatever");
    fs::set_permissions(&recording, Permissions::from_mode(0o666)).expect("ours");
    assert_eq!(run(&mut record(&recording, &program)).status, ENDS);
    assert_eq!(fs::metadata(&recording).expect("a recording").mode() & 0o777, 0o600);
    assert_eq!(report(&recording, &[]).status, 0);
    for (place, why) in [("-", "standard output"), ("/dev/null", "device"), ("/dev/fd/1", "symbolic link")] {
        assert_refused(&run(&mut record(Path::new(place), &program)), 2, &[place, why]);
    }
}

#[test]
fn a_program_that_cuts_its_files_is_recorded_to_its_end() {
    let stage = Stage::new();
    let program = stage.program("truncates", &[]);
    let recording = stage.path("cut.holdup");
    let ended = run(&mut record(&recording, &program));
    assert_eq!((ended.status, text(&ended.stdout)), (7, String::new()), "{ended:?}");
    assert_eq!(report(&recording, &["--json"]).status, 0);
}

#[test]
fn a_library_below_anothers_directory_is_not_used() {
    if !is_root() {
        return skip("only root can make another user's directory");
    }
    let stage = Stage::new();
    let (home, _, program) = places(&stage, "hold_and_wait");
    let recording = stage.path("own.holdup");
    let ended = run(record(&recording, &program).env("XDG_CACHE_HOME", home.join("cache")));
    assert_eq!(ended.status, ENDS, "{ended:?}");
    assert!(!home.join("cache").exists());
}
