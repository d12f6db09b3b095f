//! `holdup sweep`: what is done and what is not done again, what is kept of it, and how it ends.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::stage::{
    Ended, HOLDUP, Stage, assert_refused, eventually, processes_with, record, run, start, text,
};
use rustix::process::{Signal, kill_process, kill_process_group};
use serde_json::Value;

fn sweep(stage: &Stage, words: &[&str]) -> Command {
    let mut command = Command::new(HOLDUP);
    command.current_dir(stage.directory()).args(["sweep", "plan.toml"]).args(words);
    command
}

/// A file of JSON in a sweep's directory.
fn json(path: &Path) -> Value {
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: no JSON ({error})", path.display()))
}

/// Status and reason of each cell, by program and number of threads.
fn cells(directory: &Path) -> BTreeMap<(String, u64), (String, String)> {
    let manifest = json(&directory.join("manifest.json"));
    let word = |cell: &Value, name: &str| cell[name].as_str().unwrap_or_default().to_owned();
    let cells = manifest["cells"].as_array().expect("cells").iter();
    cells
        .map(|cell| {
            let name = (word(cell, "program"), cell["threads"].as_u64().unwrap_or(0));
            (name, (word(cell, "status"), word(cell, "reason")))
        })
        .collect()
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).unwrap_or_default().lines().count()
}

/// Each call leaves a line in a log.
/// What tables are written as.
const TABLES: &str = if cfg!(feature = "parquet") { "parquet" } else { "csv" };

const LOGS: &str = r#"command = ["sh", "-c", "echo $0 >>log", "{threads}"]"#;

#[test]
fn what_is_done_is_not_done_again_unless_program_or_input_changed() {
    let stage = Stage::new();
    stage
        .write("plan.toml", format!("threads = [1, 2]\n[[program]]\nname = 'a'\nfiles = ['data']\n{LOGS}\n"));
    stage.write("data", "1");
    let ended = run(&mut sweep(&stage, &[]));
    assert_eq!((ended.status, lines(&stage.path("log"))), (0, 2), "{ended:?}");
    assert!(text(&ended.stdout).starts_with("2 cells: 2 done\n"), "{ended:?}");
    for name in ["results", "components"] {
        let table = fs::read(stage.path(format!("plan.sweep/{name}.{TABLES}"))).expect("a table");
        let (begin, end) =
            if TABLES == "csv" { (&b"program,"[..], &b"\r\n"[..]) } else { (&b"PAR1"[..], &b"PAR1"[..]) };
        assert!(table.starts_with(begin) && table.ends_with(end), "{name}");
    }
    assert_eq!((run(&mut sweep(&stage, &[])).status, lines(&stage.path("log"))), (0, 2), "all was done");
    // Another number: only that is new. A label is none of a program's business.
    let text =
        format!("threads = [1, 2, 4]\nsuite = 's'\n[[program]]\nname = 'b'\nfiles = ['data']\n{LOGS}\n");
    stage.write("plan.toml", text);
    assert_eq!((run(&mut sweep(&stage, &[])).status, lines(&stage.path("log"))), (0, 3), "one was new");
    stage.write("data", "2");
    assert_eq!((run(&mut sweep(&stage, &[])).status, lines(&stage.path("log"))), (0, 6), "another input");
    stage.write("data", "1");
    assert_eq!(
        (run(&mut sweep(&stage, &[])).status, lines(&stage.path("log"))),
        (0, 6),
        "the first input again"
    );
}

#[test]
fn an_input_is_several_arguments_where_a_command_is_one_text() {
    let stage = Stage::new();
    stage.write("count.sh", "echo $# >>log\n");
    stage.write(
        "plan.toml",
        "[[program]]\nname = 'a'\ncommand = 'sh count.sh {input}'\ninputs = { none = '', three = '1 2 3' }\n\
         [[program]]\nname = 'b'\ncommand = ['sh', 'count.sh', '{input}']\ninputs = ['1 2 3']\n",
    );
    let ended = run(&mut sweep(&stage, &[]));
    assert_eq!(ended.status, 0, "{ended:?}");
    let log = fs::read_to_string(stage.path("log")).expect("a log");
    let mut counts: Vec<&str> = log.lines().collect();
    counts.sort_unstable();
    assert_eq!(counts, ["0", "1", "3"]);
}

#[test]
fn what_used_a_changed_library_is_done_again() {
    let stage = Stage::new();
    let library = |value: &str| {
        let source = stage.write("value.c", format!("int value(void) {{ return {value}; }}\n"));
        stage.compile("libvalue.so", source, &["-shared", "-fPIC"]);
    };
    library("1");
    let source = stage.write(
        "main.c",
        "#include <stdio.h>\nint value(void);\n\
         int main(void) { FILE *log = fopen(\"log\", \"a\"); fprintf(log, \"%d\\n\", value()); return fclose(log); }\n",
    );
    let folder = stage.directory().display().to_string();
    stage.compile("app", source, &["-L", &folder, "-lvalue", "-Wl,-rpath,$ORIGIN"]);
    stage.write_executable("script", "#!./app\n");
    stage.write(
        "plan.toml",
        "[[program]]\nname = 'app'\ncommand = './app'\n[[program]]\nname = 'script'\ncommand = './script'\n",
    );
    let log = || fs::read_to_string(stage.path("log")).unwrap_or_default();
    for (value, logged) in [("1", "1\n1\n"), ("1", "1\n1\n"), ("2", "1\n1\n2\n2\n"), ("1", "1\n1\n2\n2\n")] {
        library(value);
        let ended = run(&mut sweep(&stage, &[]));
        assert_eq!((ended.status, log().as_str()), (0, logged), "{ended:?}");
    }
    // What cannot be known is said.
    stage.write_executable("odd", "neither a program nor a script");
    stage.write("plan.toml", "[[program]]\nname = 'odd'\ncommand = './odd'\n");
    let said = text(&run(&mut sweep(&stage, &["--dry-run"])).stdout);
    assert!(said.contains("odd: a change of its shared libraries would not be noticed"), "{said}");
}

#[test]
fn cells_that_fail_or_hang_or_lack_something_are_marked_and_the_rest_is_done() {
    let stage = Stage::new();
    stage.write(
        "plan.toml",
        r#"
[[program]]
name = "good"
command = "true"
[[program]]
name = "fails"
command = ["sh", "-c", "exit 3"]
[[program]]
name = "killed"
command = ["sh", "-c", "kill -9 $$"]
[[program]]
name = "hangs"
command = ["sh", "-c", "trap '' TERM; sleep 9753 & wait; wait; sleep 9753"]
time-limit = 0.7
[[program]]
name = "no-program"
command = "./none"
[[program]]
name = "no-input"
command = "true"
files = ["none.dat"]
[[program]]
name = "no-recording"
recording = "none.holdup"
[[program]]
name = "rubbish"
recording = "plan.toml"
[[program]]
name = "ignored"
command = ["sh", "-c", "exit 3"]
ignore-status = true
"#,
    );
    let ended = run(&mut sweep(&stage, &["--runs", "out"]));
    assert_eq!(ended.status, 1, "{ended:?}");
    let said = text(&ended.stdout);
    assert!(said.starts_with("9 cells: 2 done, 6 failed, 1 took too long\n"), "{said}");
    let cells = cells(&stage.path("out"));
    for (program, status, reason) in [
        ("good", "done", ""),
        ("ignored", "done", ""),
        ("fails", "failed", "the program ended with status 3"),
        ("killed", "failed", "the program was killed by signal 9"),
        ("hangs", "timeout", "time limit of 0.7 s"),
        ("no-program", "failed", "./none: there is no such program"),
        ("no-input", "failed", "none.dat: it cannot be read"),
        ("no-recording", "failed", "none.holdup: it cannot be read"),
        ("rubbish", "failed", "plan.toml"),
    ] {
        let (is, why) = &cells[&(program.to_owned(), 0)];
        assert!(
            is == status && why.contains(reason) && why.is_empty() == (status == "done"),
            "{program}: {is} {why}"
        );
    }
    assert!(processes_with("sleep 9753").is_empty(), "what hung is gone, with what it started");
    // What failed is not tried again, but on request; a longer time limit is a reason to.
    let log = stage.path("out/logs");
    let before = fs::read_dir(&log).expect("logs").count();
    fs::remove_dir_all(&log).expect("logs");
    assert_eq!(run(&mut sweep(&stage, &["--runs", "out"])).status, 1);
    assert_eq!(fs::read_dir(&log).expect("logs").count(), 0, "{before} logs before");
    assert_eq!(run(&mut sweep(&stage, &["--runs", "out", "--retry"])).status, 1);
    assert_eq!(fs::read_dir(&log).expect("logs").count(), 4, "those that could be begun");
}

#[test]
fn rubbish_is_refused_with_its_line_and_column() {
    let stage = Stage::new();
    assert_refused(&run(&mut sweep(&stage, &[])), 2, &["plan.toml", "cannot be read"]);
    let one = "[[program]]\nname = 'a'\ncommand = 'true'\n";
    for (plan, place) in [
        ("threads = \n".to_owned(), "plan.toml:1:"),
        ("[[program]]\nname = 'a'\n".to_owned(), "plan.toml:2:8: "),
        (format!("{one}machines = ['dunnington',\n  'abacus']\n"), "plan.toml:5:3: "),
        (format!("{one}machines = ['host']\n"), "plan.toml:4:13: "),
        (format!("{one}machines = ['dunnington']\nwhat-ifs = ['magic']\n"), "plan.toml:5:13: "),
    ] {
        stage.write("plan.toml", &plan);
        assert_refused(&run(&mut sweep(&stage, &[])), 2, &[place]);
    }
    stage.write("plan.toml", b"[[program]]\n\xff");
    assert_refused(&run(&mut sweep(&stage, &[])), 2, &["plan.toml:2:1: ", "UTF-8"]);
    assert!(!stage.path("plan.sweep").exists(), "nothing is made of rubbish");
}

/// Waits for a file, and ends soon after the file is gone.
const WAITS: &str = r#"command = ["sh", "-c", "touch at-work; while [ -e at-work ]; do sleep 0.02; done"]"#;

#[test]
fn two_at_once_are_refused_and_a_signal_ends_it_with_what_it_runs() {
    let stage = Stage::new();
    stage.write(
        "plan.toml",
        format!("[[program]]\nname = 'a'\ncommand = 'true'\n[[program]]\nname = 'b'\n{WAITS}\n"),
    );
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let running = start(&mut sweep(&stage, &["--jobs", "1"]));
        eventually("the second program", || stage.path("at-work").exists().then_some(()));
        assert_refused(&run(&mut sweep(&stage, &[])), 2, &["another holdup is at work"]);
        match signal {
            // As from a terminal: all get it.
            Signal::INT => kill_process_group(running.pid(), signal),
            _ => kill_process(running.pid(), signal),
        }
        .expect("a signal");
        let Ended { status: was, stdout, stderr } = running.end();
        assert_eq!((was, text(&stderr)), (status, String::new()));
        // All is recorded before anything is asked.
        assert!(text(&stdout).starts_with("2 cells: 2 not done yet\n"), "{}", text(&stdout));
        assert_eq!(fs::read_dir(stage.path("plan.sweep/outcomes")).expect("outcomes").count(), 1);
        fs::remove_file(stage.path("at-work")).expect("the mark");
    }
    let running = start(&mut sweep(&stage, &[]));
    eventually("the second program", || fs::remove_file(stage.path("at-work")).ok());
    assert_eq!(running.end().status, 0);
}

/// All that a sweep gave, without times: outcomes and tables by name.
fn results(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for name in ["manifest.json".to_owned(), format!("components.{TABLES}")] {
        all.insert(name.clone(), fs::read(directory.join(&name)).unwrap_or_default());
    }
    for folder in ["outcomes", "answers"] {
        for entry in fs::read_dir(directory.join(folder)).expect("a folder").flatten() {
            let name = format!("{folder}/{}", entry.file_name().display());
            let mut content = fs::read(entry.path()).expect("a file");
            if folder == "outcomes" {
                let mut outcome: Value = serde_json::from_slice(&content).expect("JSON");
                outcome["spent_ns"] = Value::Null;
                content = outcome.to_string().into_bytes();
            }
            all.insert(name, content);
        }
    }
    let left: Vec<_> = fs::read_dir(directory.join("work")).expect("work").flatten().collect();
    assert!(left.is_empty(), "{left:?} is left");
    all
}

/// Kills at moments that chance gives: multiples of the golden section, which fall everywhere.
#[test]
fn a_sweep_that_is_killed_twenty_times_ends_as_one_that_nobody_disturbed() {
    let stage = Stage::new();
    let recording = stage.path("made.holdup");
    let ended = run(record(&recording, "sh").args(["-c", "sleep 0.01 & wait"]));
    assert_eq!(ended.status, 0, "{ended:?}");
    let mut plan = String::new();
    for number in 0..6 {
        fs::copy(&recording, stage.path(format!("r{number}.holdup"))).expect("a copy");
        plan.push_str(&format!("[[program]]\nname = 'p{number}'\nrecording = 'r{number}.holdup'\n"));
    }
    plan.push_str("[[program]]\nname = 'bad'\nrecording = 'plan.toml'\n");
    stage.write("plan.toml", plan);
    let whole = std::time::Instant::now();
    assert_eq!(run(&mut sweep(&stage, &["--runs", "whole", "--jobs", "2"])).status, 1);
    let whole = whole.elapsed();
    let mut is_done = false;
    for number in 1..=20u32 {
        // What is left of the work is less each time: so are the times.
        let share = (f64::from(number) * 0.618_034).fract();
        let running = start(&mut sweep(&stage, &["--runs", "killed", "--jobs", "2"]));
        std::thread::sleep(whole.mul_f64(share * 0.3) + Duration::from_millis(1));
        let _ = kill_process_group(running.pid(), Signal::KILL);
        is_done |= running.end().status == 1;
        if is_done {
            fs::remove_dir_all(stage.path("killed")).expect("a directory");
            is_done = false;
        }
    }
    let ended = run(&mut sweep(&stage, &["--runs", "killed", "--jobs", "2"]));
    assert_eq!(ended.status, 1, "{ended:?}");
    assert_eq!(results(&stage.path("killed")), results(&stage.path("whole")));
}
