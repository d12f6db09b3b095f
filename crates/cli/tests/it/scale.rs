//! `holdup scale`: what the program is told, which runs are done, what is kept of them, and how it ends.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stage;
use crate::stage::{
    Ended, HOLDUP, Stage, assert_refused, can_mount, eventually, in_own_mounts, record, run, start, text,
};
use rustix::process::{Signal, kill_process, kill_process_group};
use serde_json::Value;

/// `holdup scale` with words, in the test's directory, with nothing of OpenMP in the environment.
fn scale(stage: &Stage, words: &[&str]) -> Command {
    let mut command = Command::new(HOLDUP);
    command.current_dir(stage.directory()).arg("scale").args(words);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OMP_")) {
        command.env_remove(name);
    }
    command
}

/// One run for each number of threads, none without recording, and the answer as JSON.
const ONCE: [&str; 5] = ["-r", "1", "--plain", "0", "--json"];

fn json(ended: &Ended) -> Value {
    serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {ended:?}"))
}

/// The answer of a call that must succeed and say nothing else.
fn answer(command: &mut Command) -> Value {
    let ended = run(command);
    assert_eq!((ended.status, text(&ended.stderr)), (0, String::new()), "{ended:?}");
    json(&ended)
}

/// Numbers of threads in the answer.
fn counts(json: &Value) -> Vec<u64> {
    let runs = json["runs"].as_array().unwrap_or_else(|| panic!("no runs: {json:#}"));
    runs.iter().map(|point| point["threads"].as_u64().expect("a number")).collect()
}

/// How often each was run.
fn repetitions(json: &Value) -> Vec<u64> {
    let runs = json["runs"].as_array().expect("runs");
    runs.iter().map(|point| point["measured"]["runs"].as_u64().expect("a number")).collect()
}

fn notes(json: &Value) -> Vec<&str> {
    json["notes"].as_array().expect("notes").iter().filter_map(Value::as_str).collect()
}

/// The note with these words.
fn note<'a>(json: &'a Value, words: &str) -> &'a str {
    let found = notes(json).into_iter().find(|note| note.contains(words));
    found.unwrap_or_else(|| panic!("no note with {words:?}: {:#}", json["notes"]))
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// `sh -c SCRIPT LOG WORD`: `$0` is the file that the script writes to, `$1` what holdup makes of the placeholder.
fn script<'a>(words: &[&'a str], script: &'a str) -> Vec<&'a str> {
    [words, &["--", "sh", "-c", script, "log", "{threads}"]].concat()
}

#[test]
fn arguments_and_variables_say_the_number() {
    let stage = Stage::new();
    let told = r#"echo "$1 $OMP_NUM_THREADS $RAYON_NUM_THREADS $OPTIONS" >>"$0""#;
    let variables = ["-t", "4,1-2", "--variable", "RAYON_NUM_THREADS", "--variable", "OPTIONS=-j{threads}"];
    let json = answer(&mut scale(&stage, &script(&[&variables[..], &ONCE].concat(), told)));
    assert_eq!((counts(&json), repetitions(&json)), (vec![1, 2, 4], vec![1, 1, 1]));
    assert_eq!(lines(&stage.path("log")), ["1 1 1 -j1", "2 2 2 -j2", "4 4 4 -j4"]);
    assert_eq!(json["command"], serde_json::json!(["sh", "-c", told, "log", "{threads}"]));
    // Who tells the program otherwise may keep OpenMP's variable for something else.
    let own = &script(&[&["-t", "3"], &ONCE[..]].concat(), told);
    answer(scale(&stage, own).env("OMP_NUM_THREADS", "1"));
    assert_eq!(lines(&stage.path("log"))[3], "3 1  ");
}

#[test]
fn nothing_of_holdups_making_stays_without_a_directory() {
    let stage = Stage::new();
    let (own, temporary) = (stage.path("own"), stage.path("tmp"));
    fs::create_dir(&own).and_then(|()| fs::create_dir(&temporary)).expect("mkdir");
    answer(
        scale(&stage, &[&["-t", "1,2"], &ONCE[..], &["--", "true"]].concat())
            .current_dir(&own)
            .env("TMPDIR", &temporary),
    );
    for folder in [own, temporary] {
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0, "{}", folder.display());
    }
}

#[test]
fn the_answer_has_standard_output_to_itself() {
    let stage = Stage::new();
    let words = [&["-t", "1"], &ONCE[..], &["--", "sh", "-c", "echo out; echo err >&2"]].concat();
    let ended = run(&mut scale(&stage, &words));
    assert_eq!((ended.status, text(&ended.stderr).as_str()), (0, "err\n"));
    json(&ended);
    let ended = run(&mut scale(&stage, &[&["--show-output"], &words[..]].concat()));
    assert_eq!((ended.status, text(&ended.stderr).as_str()), (0, "out\nerr\n"));
    json(&ended);
    // Text and page of the same.
    let words = ["-t", "1", "-r", "1", "--html", "out.html", "--output", "out.txt", "--", "true"];
    let ended = run(&mut scale(&stage, &words));
    assert_eq!((ended.status, ended.stdout.as_slice()), (0, &b""[..]), "{ended:?}");
    assert!(fs::read_to_string(stage.path("out.html")).is_ok_and(|page| page.starts_with("<!doctype html>")));
    assert!(fs::read_to_string(stage.path("out.txt")).is_ok_and(|said| said.starts_with("true ran")));
}

#[test]
fn threads_that_the_program_starts_and_openmp_teams_are_seen() {
    let stage = Stage::new();
    stage.program("compute", &[]);
    let words = [&["-t", "1,2"], &ONCE[..], &["--", "./compute", "{threads}", "20"]].concat();
    let json = answer(&mut scale(&stage, &words));
    assert!(json["ignored"].is_null(), "{json:#}");
    stage.program("team", &["-fopenmp"]);
    let words = [&["-t", "1,2,3"], &ONCE[..], &["--", "./team", "20"]].concat();
    let json = answer(&mut scale(&stage, &words));
    assert_eq!(counts(&json), [1, 2, 3]);
    assert!(json["ignored"].is_null(), "{json:#}");
    let json = answer(scale(&stage, &words).env("OMP_THREAD_LIMIT", "2"));
    let small = note(&json, "largest team");
    assert!(small.contains("At 3 threads") && small.contains("had 2"), "{small}");
}

#[test]
fn a_program_that_ignores_the_number_is_told_of() {
    let stage = Stage::new();
    stage.program("compute", &[]);
    let words = [&["-t", "1,2,4"], &ONCE[..], &["--", "./compute", "2", "200"]].concat();
    let json = answer(&mut scale(&stage, &words));
    let ignored = json["ignored"].as_str().expect("that it ignores the number");
    assert!(
        ignored.contains("OMP_NUM_THREADS") && ignored.contains("2 threads worked each time"),
        "{ignored}"
    );
    assert!(ignored.contains("{threads}") && ignored.contains("--variable"), "{ignored}");
    let is_empty = |name: &str| json[name].as_array().is_some_and(Vec::is_empty);
    assert!(is_empty("regions") && is_empty("hints"), "{json:#}");
}

#[test]
fn runs_take_turns_and_plain_ones_leave_no_recording() {
    let stage = Stage::new();
    let words = ["-t", "1,2", "-r", "2", "--plain", "1", "--warm-up", "1", "--runs", "sweep", "--json"];
    let recorded = r#"echo "$1 ${LD_PRELOAD:+recorded}" >>"$0""#;
    let json = answer(&mut scale(&stage, &script(&words, recorded)));
    assert_eq!(repetitions(&json), [2, 2]);
    let expected = ["2 ", "1 recorded", "1 ", "2 recorded", "2 ", "1 recorded", "2 recorded"];
    assert_eq!(lines(&stage.path("log")), expected);
    assert_eq!(recordings(&stage.path("sweep")).len(), 4);
    note(&json, "Each number of threads was run 2 times");
}

fn recordings(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory").flatten();
    entries.map(|entry| entry.path()).filter(|path| path.extension() == Some(OsStr::new("holdup"))).collect()
}

#[test]
fn each_run_reads_a_file_from_its_beginning() {
    let stage = Stage::new();
    let input = stage.write("input", "line\n");
    let words = ["-t", "1,2", "-r", "2", "--warm-up", "1", "--json", "--", "sh", "-c", "cat >>log"];
    let output = scale(&stage, &words).stdin(fs::File::open(input).expect("just written")).output();
    let output = output.expect("holdup runs");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    assert_eq!(lines(&stage.path("log")), ["line"; 7]);
}

#[test]
fn the_stop_rule_is_told() {
    let stage = Stage::new();
    let json =
        answer(&mut scale(&stage, &["-t", "1", "--time-limit", "0", "--plain", "0", "--json", "true"]));
    assert_eq!(repetitions(&json), [1]);
    note(&json, "1: 1, the time was up");
    let json = answer(&mut scale(&stage, &["-t", "1", "--json", "true"]));
    let runs = repetitions(&json)[0];
    assert!((3..=5).contains(&runs), "{runs} runs");
    note(&json, "2 to 5 times");
}

#[test]
fn a_number_of_threads_that_fails_is_left_out() {
    let stage = Stage::new();
    let fails = r#"echo x >>"$0"; test "$1" != 2 || exit 7"#;
    let sweep = [&["-t", "1,2,4", "--runs", "sweep"], &ONCE[..]].concat();
    let ended = run(&mut scale(&stage, &script(&sweep, fails)));
    assert_eq!(ended.status, 7, "{ended:?}");
    let said = text(&ended.stderr);
    assert!(
        said.starts_with("holdup: with 2 threads the program ended with status 7")
            && said.lines().count() == 1,
        "{said}"
    );
    assert_eq!(counts(&json(&ended)), [1, 4]);
    note(&json(&ended), "With 2 threads the program ended with status 7");
    // What failed is tried again, and nothing else.
    assert_eq!(run(&mut scale(&stage, &script(&sweep, fails))).status, 7);
    assert_eq!(lines(&stage.path("log")).len(), 4);
    let json = answer(&mut scale(&stage, &script(&[&["--ignore-status"], &sweep[..]].concat(), fails)));
    assert_eq!(counts(&json), [1, 2, 4]);
}

#[test]
fn when_every_run_fails_the_status_is_the_programs() {
    let stage = Stage::new();
    for (script, status, words) in [("exit 3", 3, "status 3"), ("kill -SEGV $$", 139, "signal 11")] {
        let ended =
            run(&mut scale(&stage, &[&["-t", "1,2"], &ONCE[..], &["--", "sh", "-c", script]].concat()));
        assert_eq!((ended.status, text(&ended.stdout).as_str()), (status, ""), "{ended:?}");
        assert_eq!(text(&ended.stderr).matches(words).count(), 2, "{ended:?}");
    }
}

/// A program that waits in its third run until there is a file `go`.
const WAITS: &str =
    r#"echo x >>"$0"; if [ "$(wc -l <"$0")" = 3 ]; then while ! [ -e go ]; do sleep 0.01; done; fi"#;

fn started(stage: &Stage, words: &[&str]) -> stage::Running {
    let running = start(&mut scale(stage, &script(words, WAITS)));
    eventually("the third run", || (lines(&stage.path("log")).len() == 3).then_some(()));
    running
}

#[test]
fn a_sweep_goes_on_after_a_kill() {
    let stage = Stage::new();
    let words = ["-t", "1,2", "-r", "2", "--plain", "0", "--runs", "sweep", "--json"];
    let mut running = started(&stage, &words);
    // Meanwhile nobody else may write there.
    assert_refused(&run(&mut scale(&stage, &script(&words, WAITS))), 2, &["sweep", "another holdup"]);
    kill_process(running.pid(), Signal::KILL).expect("kill holdup");
    assert_eq!(running.wait(), 137);
    fs::write(stage.path("go"), "").expect("a file");
    running.end();
    // Shown as far as it is.
    let shown = answer(&mut scale(&stage, &["--from", "sweep", "--json"]));
    assert_eq!(repetitions(&shown), [1, 1]);
    let json = answer(&mut scale(&stage, &script(&words, WAITS)));
    assert_eq!(repetitions(&json), [2, 2]);
    assert_eq!(lines(&stage.path("log")).len(), 5, "two were done, the third was begun again");
    // Nothing is left to do.
    assert_eq!(answer(&mut scale(&stage, &script(&words, WAITS))), json);
    assert_eq!(answer(&mut scale(&stage, &["--from", "sweep", "--json"])), json);
    assert_eq!(lines(&stage.path("log")).len(), 5);
    // A recording that was damaged since is made again, and more can be asked for.
    let whole = fs::read(stage.path("sweep/threads-2.run-1.holdup")).expect("a recording");
    fs::write(stage.path("sweep/threads-2.run-1.holdup"), &whole[..whole.len() - 9]).expect("write");
    let more = ["-t", "1,2,3", "-r", "2", "--plain", "0", "--runs", "sweep", "--json"];
    assert_eq!(repetitions(&answer(&mut scale(&stage, &script(&more, WAITS)))), [2, 2, 2]);
    assert_eq!(lines(&stage.path("log")).len(), 8);
    // The numbers that were last asked for are those that it goes on with.
    let again = ["-r", "2", "--plain", "0", "--runs", "sweep", "--json"];
    assert_eq!(counts(&answer(&mut scale(&stage, &script(&again, WAITS)))), [1, 2, 3]);
}

#[test]
fn an_interrupt_stops_the_sweep_and_keeps_it() {
    let stage = Stage::new();
    for (signal, status, directory) in
        [(Signal::INT, 130, &["--runs", "sweep"][..]), (Signal::TERM, 143, &[])]
    {
        let _ = fs::remove_file(stage.path("log"));
        let words = [&["-t", "1,2", "-r", "2", "--plain", "0", "--json"], directory].concat();
        let running = started(&stage, &words);
        if signal == Signal::INT {
            // As from a terminal: the program gets it too.
            kill_process_group(running.pid(), signal).expect("interrupt");
        } else {
            kill_process(running.pid(), signal).expect("terminate");
        }
        let ended = running.end();
        assert_eq!((ended.status, text(&ended.stdout).as_str()), (status, ""), "{ended:?}");
        let said = text(&ended.stderr);
        assert!(said.contains("holdup: stopped after 2 runs"), "{said}");
        assert_eq!(lines(&stage.path("log")).len(), 3, "no other run was started");
    }
    let words = ["-t", "1,2", "-r", "2", "--plain", "0", "--runs", "sweep", "--json"];
    let json = answer(&mut scale(&stage, &script(&words, WAITS)));
    assert_eq!(repetitions(&json), [2, 2]);
}

#[test]
fn each_run_has_the_cpus_that_it_is_given() {
    let stage = Stage::new();
    let tells = r#"sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status >>"$0""#;
    let words = [&["-t", "1,4096", "--affinity", "compact"], &ONCE[..]].concat();
    let json = answer(&mut scale(&stage, &script(&words, tells)));
    let seen = lines(&stage.path("log"));
    assert!(seen.len() == 2 && seen[0].parse::<u32>().is_ok(), "one CPU: {seen:?}");
    let own = fs::read_to_string("/proc/self/status").expect("status");
    assert!(own.contains(&format!("Cpus_allowed_list:\t{}\n", seen[1])), "all CPUs: {seen:?}");
    let confined = note(&json, "confined");
    assert!(confined.contains(&format!("1: CPUs {}; 4096: CPUs {}", seen[0], seen[1])), "{confined}");
}

/// What was run before the disk was full is told, and nothing that was not.
#[test]
fn a_full_disk_stops_the_sweep() {
    if !can_mount() {
        return;
    }
    let stage = Stage::new();
    fs::create_dir(stage.path("small")).expect("mkdir");
    // The third run leaves no room for its recording.
    let fills =
        r#"echo x >>log; if [ "$(wc -l <log)" = 3 ]; then cat /dev/zero >small/zeros 2>/dev/null; fi; true"#;
    let outer = r#"mount -t tmpfs -o size=2m none small && exec "$@""#;
    let mut command = in_own_mounts(outer, &["sh".as_ref()]);
    command.current_dir(stage.directory()).arg(HOLDUP).args(["scale", "-t", "1,2", "--runs", "small/sweep"]);
    command.args(["-r", "2", "--plain", "0", "--json", "--", "sh", "-c", fills]);
    let ended = run(&mut command);
    let said = text(&ended.stderr);
    assert!(
        said.starts_with("holdup: ") && said.contains("small/sweep") && said.lines().count() == 1,
        "{ended:?}"
    );
    assert_eq!((ended.status, repetitions(&json(&ended))), (0, vec![1, 1]), "{ended:?}");
    note(&json(&ended), "not finished");
    assert_eq!(lines(&stage.path("log")).len(), 3);
}

#[test]
fn lists_that_are_none_are_refused() {
    let stage = Stage::new();
    for list in ["0", "2-1", "a", "1,,2", "", "1-5000", "1-4:x1"] {
        let ended = run(&mut scale(&stage, &[&["-t", list], &ONCE[..], &["--", "true"]].concat()));
        assert_eq!((ended.status, text(&ended.stdout).as_str()), (2, ""), "{list}: {ended:?}");
        assert!(text(&ended.stderr).starts_with("holdup: -t "), "{list}: {ended:?}");
    }
    for words in [&["-r", "0", "true"][..], &["--variable", "A=4", "true"], &[], &["--from", "a", "true"]] {
        assert_eq!(run(&mut scale(&stage, words)).status, 2, "{words:?}");
    }
}

/// In this version for the last time.
#[test]
fn the_directory_of_runs_is_understood_by_its_earlier_names() {
    for earlier in ["-o", "--directory"] {
        let stage = Stage::new();
        let ended =
            run(&mut scale(&stage, &[&["-t", "1", earlier, "kept"], &ONCE[..], &["--", "true"]].concat()));
        assert_eq!(ended.status, 0, "{ended:?}");
        assert!(text(&ended.stderr).contains("--runs DIR"), "{ended:?}");
        assert!(stage.path("kept/scale.toml").exists());
    }
}

#[test]
fn what_cannot_be_run_or_kept_is_refused_before_anything_runs() {
    let stage = Stage::new();
    let log = ["--", "sh", "-c", "echo x >>log"];
    stage.write("file", "");
    fs::create_dir(stage.path("folder")).expect("mkdir");
    stage.write("folder/mine", "");
    for (words, says) in [
        (&["--runs", "file"][..], &["file", "--runs another directory"][..]),
        (&["--runs", "file/below"], &["file/below", "--runs another directory"]),
        (&["--runs", "/proc/sweep"], &["/proc/sweep", "--runs another directory"]),
        (&["--runs", "folder"], &["folder", "mine", "--runs a new directory"]),
        (&["--html", "no/such/place"], &["no/such/place"]),
        (&["--output", "folder/no/place"], &["folder/no/place"]),
    ] {
        assert_refused(&run(&mut scale(&stage, &[words, &log].concat())), 2, says);
    }
    assert_refused(
        &run(&mut scale(&stage, &["--runs", "new", "--", "./missing"])),
        2,
        &["missing", "no such program"],
    );
    assert!(!stage.path("log").exists() && !stage.path("new").exists());
}

#[test]
fn runs_of_something_else_are_not_gone_on_with() {
    let stage = Stage::new();
    stage.write_executable("app", "#!/bin/sh\n");
    let sweep = [&["-t", "1", "--runs", "sweep"], &ONCE[..]].concat();
    let again = |extra: &[&str], command: &[&str]| {
        run(&mut scale(&stage, &[&sweep, extra, &["--"], command].concat()))
    };
    assert_eq!(again(&[], &["./app", "1"]).status, 0);
    assert_refused(&again(&[], &["./app", "2"]), 2, &["the command was ./app 1, and is ./app 2 now"]);
    assert_refused(&again(&["--affinity", "spread"], &["./app", "1"]), 2, &["--affinity"]);
    assert_refused(&again(&["--variable", "X"], &["./app", "1"]), 2, &["--variable"]);
    let bound =
        run(scale(&stage, &[&sweep[..], &["--", "./app", "1"]].concat()).env("OMP_PROC_BIND", "close"));
    assert_refused(&bound, 2, &["OMP_PROC_BIND was not set"]);
    stage.write_executable("app", "#!/bin/sh\nexit 0\n");
    assert_refused(&again(&[], &["./app", "1"]), 2, &["app", "not the same file"]);
    for (content, says) in [("nonsense", "not what `holdup scale` writes"), ("version = 7\n", "version 7")] {
        stage.write("sweep/scale.toml", content);
        assert_refused(&again(&[], &["./app", "1"]), 2, &["scale.toml", says]);
        assert_refused(&run(&mut scale(&stage, &["--from", "sweep"])), 2, &["scale.toml", says]);
    }
}

#[test]
fn recordings_that_were_made_otherwise_are_put_together() {
    let stage = Stage::new();
    let program = stage.program("compute", &[]);
    for threads in ["1", "2"] {
        let recording = stage.path(format!("{threads}.holdup"));
        let ended = run(record(&recording, &program).args([threads, "20"]));
        assert_eq!(ended.status, 0, "{ended:?}");
    }
    let files = ["--from", "2=2.holdup", "--from", "1=1.holdup", "--from", "2=2.holdup", "--json"];
    let json = answer(&mut scale(&stage, &files));
    assert_eq!((counts(&json), repetitions(&json)), (vec![1, 2], vec![1, 2]));
    let refused = |words: &[&str], says: &[&str]| assert_refused(&run(&mut scale(&stage, words)), 2, says);
    refused(&["--from", "1=no.holdup"], &["no.holdup"]);
    refused(&["--from", "nowhere"], &["nowhere", "no runs of holdup scale"]);
    refused(&["--from", ".", "--from", "1=1.holdup"], &["--from", "N=FILE"]);
}

#[test]
fn the_ranks_of_a_run_are_told_together() {
    let stage = Stage::new();
    let source = stage.write(
        "rank.c",
        "#include <stdlib.h>\n\
         int main(void) { long more = 1 + atol(getenv(\"PMI_RANK\")); \
         for (volatile long i = 0; i < more * 100000000; i++); return 0; }\n",
    );
    let program = stage.compile("rank", source, &[]);
    for rank in ["0", "1"] {
        let mut one = record(&stage.path("run.%r.holdup"), &program);
        assert_eq!(run(one.env("PMI_RANK", rank)).status, 0);
    }
    let ranks = |words: &[&str]| {
        let mut command = Command::new(HOLDUP);
        command.current_dir(stage.directory()).args(["report", "--ranks"]).args(words);
        command
    };
    let told = answer(&mut ranks(&["--json", "run.0.holdup", "run.1.holdup"]));
    let names: Vec<&str> =
        told["ranks"].as_array().expect("ranks").iter().map(|rank| rank["name"].as_str().unwrap()).collect();
    assert_eq!((names, &told["ranks"][1]["workers"]), (vec!["run.0", "run.1"], &Value::from(1)));
    // One works twice as long as the other, so that three quarters of two cores are used: less on a busy machine.
    let of_ranks = told["efficiency"]["factors"][0]["value"].as_f64().expect("of ranks");
    let number = |rank: usize, name: &str| told["ranks"][rank][name].as_f64().expect("a number");
    let (first, second) = (number(0, "active_ns"), number(1, "active_ns"));
    let wall = number(0, "wall_ns").max(number(1, "wall_ns"));
    assert!(first < second && of_ranks < 0.95, "{told}");
    assert!((of_ranks - (first + second) / 2.0 / wall).abs() < 0.01, "{told}");
    let ended = run(&mut ranks(&["run.0.holdup", "run.1.holdup"]));
    assert!(text(&ended.stdout).starts_with("2 ranks in "), "{ended:?}");
    stage.write("rubbish", "none");
    assert_refused(&run(&mut ranks(&["run.0.holdup", "rubbish"])), 2, &["rubbish"]);
}
