//! Programs that the library must not enter, or cannot: they run as they do without holdup, and the report says in a
//! sentence that they were not recorded, and why.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stage::{
    Ended, HOLDUP, Stage, assert_refused, is_installed, is_root, record, report, report_json, run, skip, text,
};
use serde_json::Value;

/// Runs plain and recorded, demands the same, and gives what the report says.
fn compare(stage: &Stage, program: &Path, arguments: &[&str]) -> (Ended, Value) {
    let plain = run(Command::new(program).args(arguments));
    let recording = stage.path("left_alone.holdup");
    let recorded = run(record(&recording, program).args(arguments));
    assert!(plain == recorded, "without holdup:\n{plain:?}\nunder holdup:\n{recorded:?}");
    (plain, report_json(&recording))
}

/// The sentences about processes that were not recorded.
fn unseen(json: &Value) -> Vec<&str> {
    json["run"]["unseen"].as_array().expect("unseen").iter().filter_map(Value::as_str).collect()
}

/// All processes that are told of: each is in the list of the others, or the one that is told of first.
fn told_of(json: &Value) -> Vec<&Value> {
    let others = json["processes"].as_array().expect("processes");
    others.iter().chain(Some(&json["process"]).filter(|process| !process.is_null())).collect()
}

/// How many processes the library entered.
fn entered(json: &Value) -> usize {
    told_of(json).iter().filter(|process| process["seen_by"]["preload"] == true).count()
}

/// Demands that the library stayed out of the program (what the kernel sees from outside is another matter), that one
/// sentence says why with these words, and that `holdup PROGRAM` and
/// `holdup report` say it too.
fn assert_left_alone(stage: &Stage, program: &Path, words: &str) {
    let (plain, json) = compare(stage, program, &["given"]);
    assert_eq!(plain.status, 5, "{plain:?}");
    assert_eq!(entered(&json), 0);
    let said = unseen(&json);
    assert!(said.len() == 1 && said[0].contains(words) && said[0].contains("count"), "{said:?}");
    let shown = report(&stage.path("left_alone.holdup"), &[]);
    let one_line =
        |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ").replace(" warning ", " ");
    assert!(one_line(text(&shown.stdout)).contains(words), "{words:?} is not in {shown:?}");

    let answered =
        run(Command::new(HOLDUP).arg("-o").arg(stage.path("again.holdup")).arg(program).arg("given"));
    assert_eq!((answered.status, &answered.stdout), (plain.status, &plain.stdout));
    assert!(one_line(text(&answered.stderr)).contains(words), "{words:?} is not in {answered:?}");
}

#[test]
fn static_programs() {
    let stage = Stage::new();
    assert_left_alone(&stage, &stage.program("count", &["-static"]), "is statically linked");
    assert_left_alone(&stage, &stage.program("count", &["-static-pie", "-fPIE"]), "is statically linked");
}

fn sanitized(flag: &str, words: &str) {
    let stage = Stage::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/count.c");
    match stage.try_compile("count", source, &[flag]) {
        Ok(program) if run(&mut Command::new(&program)).status == 5 => {
            assert_left_alone(&stage, &program, words);
        }
        Ok(_) => skip(&format!("programs built with {flag} do not run here")),
        Err(error) => skip(&format!("{flag} is not available here: {error}")),
    }
}

#[test]
fn programs_with_the_address_sanitizer() {
    sanitized("-fsanitize=address", "AddressSanitizer");
}

#[test]
fn programs_with_the_thread_sanitizer() {
    sanitized("-fsanitize=thread", "ThreadSanitizer");
}

#[test]
fn programs_with_a_sanitizer_linked_in_statically() {
    let stage = Stage::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/count.c");
    match stage.try_compile("count", source, &["-fsanitize=address", "-static-libasan"]) {
        Ok(program) => assert_left_alone(&stage, &program, "is built with a sanitizer"),
        Err(error) => skip(&format!("-static-libasan is not available here: {error}")),
    }
}

#[test]
fn programs_that_are_set_user_id() {
    if !is_root() {
        return skip("a program of another user needs root");
    }
    let stage = Stage::new();
    let program = stage.program("count", &[]);
    const NOBODY: u32 = 65534;
    chown(&program, Some(NOBODY), Some(NOBODY)).expect("chown");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).expect("chmod");
    assert_left_alone(&stage, &program, "rights of another user");
}

/// 32-bit programs where the compiler makes them; else nothing can be said.
#[test]
fn programs_of_32_bits() {
    let stage = Stage::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/count.c");
    match stage.try_compile("count", source, &["-m32"]) {
        Ok(program) => assert_left_alone(&stage, &program, "32-bit"),
        Err(_) => skip("the compiler makes no 32-bit programs here"),
    }
}

#[test]
fn programs_that_nobody_may_read() {
    let stage = Stage::new();
    let program = stage.program("count", &[]);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o711)).expect("chmod");
    if !is_root() {
        // Readable by its owner all the same: take that away too.
        fs::set_permissions(&program, fs::Permissions::from_mode(0o111)).expect("chmod");
        return assert_left_alone(&stage, &program, "cannot be read");
    }
    if !is_installed("setpriv") {
        return;
    }
    let nobody = Nobody::new(&stage);
    let plain = run(&mut nobody.command(&[program.as_path()]));
    assert_eq!(plain.status, 5, "{plain:?}");
    let recording = nobody.home.join("unreadable.holdup");
    let words: [&Path; 6] =
        [&nobody.holdup, "record".as_ref(), "-o".as_ref(), &recording, "--".as_ref(), &program];
    let recorded = run(&mut nobody.command(&words));
    assert!(plain == recorded, "without holdup:\n{plain:?}\nunder holdup:\n{recorded:?}");
    let said = report_json(&recording);
    assert!(unseen(&said)[0].contains("cannot be read"), "{said:#}");
}

/// What a program is when it has become another user and has executed another program is not its own any more.
#[test]
fn programs_that_execute_others_as_another_user() {
    if !is_root() || !is_installed("setpriv") {
        return;
    }
    let stage = Stage::new();
    for collectors in ["preload", "preload,kernel"] {
        let recording = stage.path("user.holdup");
        let words = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "sleep", "1"];
        let ended = run(Command::new(HOLDUP)
            .args(["record", "--collectors", collectors, "-o"])
            .arg(&recording)
            .args(["--", "setpriv"])
            .args(words));
        assert_eq!((ended.status, text(&ended.stdout)), (0, String::new()), "{ended:?}");
        let json = report_json(&recording);
        let processes = told_of(&json);
        let is_own = |process: &&&Value| process["command"][0] == "setpriv";
        let own = processes.iter().find(is_own).unwrap_or_else(|| panic!("{collectors}: {processes:?}"));
        assert!(unseen(&json)[0].contains("another user"), "{collectors}: {json:#}");
        let [own, all] =
            [&own["wall_ns"], &json["run"]["wall_ns"]].map(|wall| wall.as_u64().expect("a time"));
        // The second that the other one sleeps.
        assert!(own + 900_000_000 < all, "{collectors}: {own} of {all}");
    }
}

/// An ordinary user with a copy of holdup and a directory, for tests that run as root.
struct Nobody {
    holdup: PathBuf,
    home: PathBuf,
}

impl Nobody {
    const ID: u32 = 65534;

    fn new(stage: &Stage) -> Nobody {
        let holdup = stage.path("holdup");
        fs::copy(HOLDUP, &holdup).expect("a copy of holdup");
        let home = stage.path("home");
        fs::create_dir(&home).expect("mkdir");
        chown(&home, Some(Self::ID), Some(Self::ID)).expect("chown");
        Nobody { holdup, home }
    }

    fn command(&self, words: &[&Path]) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).args(words);
        command.env("XDG_CACHE_HOME", &self.home).env("HOME", &self.home).current_dir(&self.home);
        command
    }
}

#[test]
fn scripts_are_recorded_by_their_interpreters() {
    let stage = Stage::new();
    let program = stage.program("count", &[]);
    let script =
        stage.write_executable("script", format!("#!/bin/sh\n{} \"$1\"\nexit 8\n", program.display()));
    let (plain, json) = compare(&stage, &script, &["given"]);
    assert_eq!(plain.status, 8);
    assert_eq!(unseen(&json), [""; 0]);
    let own = |process: &&&Value| process["command"][0] == program.to_string_lossy().as_ref();
    let told = told_of(&json);
    let own = told.iter().find(own).unwrap_or_else(|| panic!("{told:?}"));
    assert_eq!(own["threads"], 3);
    assert_eq!(entered(&json), 2, "the shell and what it starts");
}

#[test]
fn scripts_of_interpreters_that_are_left_alone() {
    let stage = Stage::new();
    let interpreter = stage.program("count", &["-static"]);
    let script = stage.write_executable("script", format!("#!{}\n", interpreter.display()));
    let (plain, json) = compare(&stage, &script, &[]);
    assert_eq!(plain.status, 5);
    assert!(unseen(&json)[0].contains("is statically linked"), "{json:#}");
}

#[test]
fn scripts_without_an_interpreter_are_refused_with_the_way_out() {
    let stage = Stage::new();
    let script = stage.write_executable("script", "echo here\n");
    let recording = stage.path("script.holdup");
    assert_refused(&run(&mut record(&recording, &script)), 2, &["script", "#!", "holdup sh"]);
}

/// The program that is started is recorded; the one that it becomes or starts is not, and runs in peace.
#[test]
fn what_a_recorded_program_executes() {
    let stage = Stage::new();
    let first = stage.program("leave_for", &[]);
    let fixed = stage.compile(
        "count_static",
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/count.c"),
        &["-static"],
    );
    for how in ["exec", "spawn"] {
        let (plain, json) = compare(&stage, &first, &[&fixed.to_string_lossy(), how]);
        assert_eq!((plain.status, text(&plain.stderr)), (5, String::new()));
        assert_eq!(entered(&json), 1, "{how}");
        let said = unseen(&json);
        assert!(said.len() == 1 && said[0].contains("must not enter"), "{how}: {said:?}");
    }
}

/// A program that gets an environment of its own runs without the library, and the report says so.
#[test]
fn programs_that_are_executed_with_an_empty_environment() {
    let stage = Stage::new();
    let first = stage.program("leave_for", &[]);
    let second = stage.program("count", &[]);
    let (plain, json) = compare(&stage, &first, &[&second.to_string_lossy(), "bare"]);
    assert_eq!(plain.status, 5);
    assert_eq!(entered(&json), 1);
    assert!(unseen(&json).len() == 1 && unseen(&json)[0].contains("environment"), "{:?}", unseen(&json));
}

#[test]
fn programs_behind_env_i() {
    let stage = Stage::new();
    let program = stage.program("count", &[]);
    let plain = run(Command::new("env").arg("-i").arg(&program).env("COLOUR", "green"));
    let recording = stage.path("bare.holdup");
    let recorded = run(record(&recording, "env").arg("-i").arg(&program).env("COLOUR", "green"));
    assert!(plain == recorded, "without holdup:\n{plain:?}\nunder holdup:\n{recorded:?}");
    assert!(text(&recorded.stdout).contains("colour unset"), "{recorded:?}");
    let json = report_json(&recording);
    assert!(unseen(&json).len() == 1 && unseen(&json)[0].contains("environment"), "{:?}", unseen(&json));
}

#[test]
fn a_preloaded_library_is_kept() {
    let stage = Stage::new();
    let library = stage.program("say_hello", &["-shared", "-fPIC"]);
    let program = stage.program("parent", &[]);
    let recording = stage.path("preloaded.holdup");
    let plain = run(Command::new(&program).env("LD_PRELOAD", &library));
    assert_eq!(text(&plain.stdout), "hello from the library\nparent 4711\n");
    // holdup itself is a program too, and hears the greeting first.
    let recorded = run(record(&recording, &program).env("LD_PRELOAD", &library));
    assert_eq!(text(&recorded.stdout), format!("hello from the library\n{}", text(&plain.stdout)));
    assert_eq!((recorded.status, text(&recorded.stderr)), (0, String::new()));
    assert_eq!(report_json(&recording)["run"]["processes"], 1, "and it is recorded");
}
