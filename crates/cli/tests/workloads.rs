//! Planted problems: the first finding names what `workloads/expected.tsv` says, and the mended form no longer has it.
//!
//! The programs do a fixed amount of work, but how their threads meet is up to the machine, which may be shared with
//! others: what must be found is asked of up to three recordings.

mod stage;

use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

use rustix::process::{Signal, kill_process};
use serde_json::Value;
use stage::forms::Form;
use stage::{Stage, assert_adds_up, eventually, record, report_json, run, start, text, workspace};

/// How often a program is recorded until it shows what it must.
const TRIES: usize = 5;

/// One at a time: two programs with two threads each on two cores would show each other's load.
static ALONE: Mutex<()> = Mutex::new(());

/// What holdup must say.
const TABLE: &str = "expected.tsv";

/// A row of a table in `workloads/`.
#[derive(Clone, Debug)]
struct Expected {
    name: String,
    rank: usize,
    language: String,
    source: PathBuf,
    arguments: Vec<String>,
    fixed_flags: Vec<String>,
    kinds: Vec<String>,
    functions: Vec<String>,
    object: String,
    created_in: String,
}

fn table() -> Vec<Expected> {
    let folder = workspace().join("workloads");
    let table =
        std::fs::read_to_string(folder.join(TABLE)).unwrap_or_else(|error| panic!("{TABLE}: {error}"));
    let list = |text: &str, by: char| -> Vec<String> {
        text.split(by).map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, rank, language, source, arguments, fixed, kinds, functions, object, created_in, ..] =
            fields[..]
        else {
            panic!("a row: {line}")
        };
        Expected {
            name: name.to_owned(),
            rank: rank.parse().expect("a rank"),
            language: language.to_owned(),
            source: folder.join(source),
            arguments: list(arguments, ' '),
            fixed_flags: list(fixed, ' '),
            kinds: list(kinds, ','),
            functions: list(functions, ','),
            object: object.to_owned(),
            created_in: created_in.to_owned(),
        }
    };
    table.lines().skip(1).map(row).collect()
}

/// The rows of one workload.
fn rows_of(name: &str) -> Vec<Expected> {
    let rows: Vec<Expected> = table().into_iter().filter(|row| row.name == name).collect();
    assert!(!rows.is_empty(), "{name} is not in workloads/{TABLE}");
    rows
}

/// The planted and the mended form, where the tools for the language are there.
fn forms(stage: &Stage, row: &Expected) -> Option<[Form; 2]> {
    let planted = stage.form(&row.name, &row.language, &row.source, &[])?;
    let fixed = stage.form(&format!("{}_fixed", row.name), &row.language, &row.source, &row.fixed_flags)?;
    Some([planted, fixed])
}

/// Runs a program plain and recorded, demands the same output, and gives the report.
fn recorded(stage: &Stage, row: &Expected, form: &Form) -> Value {
    let recording = stage.path("workload.holdup");
    let plain = run(Command::new(&form.program).args(&form.before).args(&row.arguments));
    let ended = run(record(&recording, &form.program).args(&form.before).args(&row.arguments));
    assert!(plain == ended, "without holdup:\n{plain:?}\nunder holdup:\n{ended:?}");
    assert_eq!(ended.status, 0, "{ended:?}");
    let json = report_json(&recording);
    assert_adds_up(&json);
    json
}

/// What is found, less what other programs on the machine did: that is not the workload's.
fn findings(json: &Value) -> Vec<&Value> {
    let all = json["findings"].as_array().expect("findings");
    all.iter().filter(|finding| !["delayed", "load"].contains(&word(finding, "kind"))).collect()
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// The object that a finding is about.
fn object_of<'a>(json: &'a Value, finding: &Value) -> Option<&'a Value> {
    let index = finding["object"].as_u64()?;
    json["objects"].as_array()?.iter().find(|object| object["object"] == index)
}

/// True if a sentence names counts of threads and of cores, as "3 threads share 2 cores" does.
fn names_counts(what: &str) -> bool {
    let words: Vec<&str> = what.split_whitespace().collect();
    let counted =
        |noun: &str| words.windows(2).any(|pair| pair[0].parse::<u32>().is_ok() && pair[1].starts_with(noun));
    counted("threads") && (counted("cores") || counted("CPUs"))
}

/// True if the finding is the one that a row describes. Having too few cores has no place in the source: it is known by
/// its counts.
fn is_it(json: &Value, finding: &Value, row: &Expected) -> bool {
    let told = finding.to_string();
    let object = object_of(json, finding);
    let named = row.object.is_empty()
        || object.is_some_and(|object| word(object, "name") == row.object)
        || word(finding, "what").contains(&row.object);
    let made = row.created_in.is_empty()
        || object.is_some_and(|object| word(&object["created_at"], "function") == row.created_in)
        || told.contains(&row.created_in);
    let function = word(&finding["where"], "function");
    // Where a test may use some of the machine's CPUs only, it is their affinity that makes them few.
    if ["oversubscription", "affinity"].contains(&word(finding, "kind")) {
        return row.kinds.iter().any(|kind| kind == "oversubscription")
            && names_counts(word(finding, "what"));
    }
    let placed = row.functions.iter().any(|wanted| wanted == function)
        || row.functions.iter().any(|wanted| word(finding, "what").contains(wanted.as_str()));
    row.kinds.iter().any(|kind| kind == word(finding, "kind")) && named && made && placed
}

/// A line for each finding, for what a failed test says.
fn shown(json: &Value) -> String {
    let lines = findings(json).into_iter().enumerate().map(|(index, finding)| {
        let object = object_of(json, finding).map_or_else(String::new, |object| {
            format!(", object {} made in {}", object["name"], object["created_at"]["function"])
        });
        format!(
            "{}. {} in {}, {:.1} %: {}{object}\n",
            index + 1,
            word(finding, "kind"),
            finding["where"]["function"],
            finding["share"].as_f64().unwrap_or(0.0) * 100.0,
            word(finding, "what"),
        )
    });
    lines.collect()
}

/// The finding's share of the time, 0 where it is not there.
fn share(json: &Value, row: &Expected) -> f64 {
    let shares = findings(json).into_iter().filter(|finding| is_it(json, finding, row));
    shares.filter_map(|finding| finding["share"].as_f64()).fold(0.0, f64::max)
}

fn check(name: &str) {
    let alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let rows = rows_of(name);
    let first = &rows[0];
    let stage = Stage::new();
    let Some([planted, fixed]) = forms(&stage, first) else { return };

    let mut tried = String::new();
    for attempt in 1..=TRIES {
        let with = recorded(&stage, first, &planted);
        let without = recorded(&stage, first, &fixed);
        let wrong = complaints(&rows, &with, &without);
        if wrong.is_empty() {
            return;
        }
        tried += &format!(
            "attempt {attempt}: {}\nplanted:\n{}fixed:\n{}",
            wrong.join("; "),
            shown(&with),
            shown(&without)
        );
    }
    drop(alone);
    panic!("{name} in {TRIES} attempts:\n{tried}");
}

/// What is not as the table says.
fn complaints(rows: &[Expected], with: &Value, without: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for row in rows {
        if row.kinds.is_empty() {
            for (form, json) in [("planted", with), ("fixed", without)] {
                if let Some(first) = findings(json).first()
                    && first["share"].as_f64() > Some(0.10)
                {
                    wrong.push(format!("the {form} form is said to be held up: {}", word(first, "what")));
                }
            }
            continue;
        }
        let at = findings(with).into_iter().nth(row.rank - 1);
        if !at.is_some_and(|finding| is_it(with, finding, row)) {
            wrong.push(format!("finding {} is not what was planted", row.rank));
            continue;
        }
        let (before, after) = (share(with, row), share(without, row));
        let first = findings(without).into_iter().next().filter(|finding| is_it(without, finding, row));
        // A slow stage that has got more threads is still the slow one, and that is what mending it means.
        let threads = |finding: &Value| finding["threads"].as_array().map_or(0, Vec::len);
        let shared_out = |first: &Value| {
            word(first, "kind") == "pipeline" && at.is_some_and(|planted| threads(first) > threads(planted))
        };
        if first.is_some_and(|first| !shared_out(first)) && after > before / 3.0 {
            wrong.push(format!("mended, it still costs {:.1} % of {:.1} %", after * 100.0, before * 100.0));
        }
    }
    wrong
}

macro_rules! a_test_for_each {
    ($($name:ident)*) => {
        $(#[test] fn $name() { super::check(stringify!($name)); })*

        #[test]
        fn every_row_of_the_table_has_a_test() {
            let tested = [$(stringify!($name)),*];
            let mut names: Vec<String> = super::table().into_iter().map(|row| row.name).collect();
            names.dedup();
            assert_eq!(names, tested, "the table and this list must name the same, in the same order");
        }
    };
}

mod first_findings {
    a_test_for_each! {
        demo
        critical_section
        convoy
        late_thread
        serial_phase
        pipeline
        two_locks
        lock_chain
        rust_sync
        io_wait
        oversubscribed
        rwlock
        semaphore
        balanced
        go_mutex
        go_serial
        static_stage
        rayon_uneven
        rayon_lock
        tokio_blocking
        python_gil
        hand_spin
        hand_spin_pause
        spin_yield
        malloc_arena
        stdio_lock
        mmap_lock
        loader_lock
        pool_idle
        pool_contended
        omp_mandelbrot
        omp_locks
        omp_starve
        omp_critical
        omp_barriers
        omp_serial
        omp_collapse
        omp_sections
    }
}

/// What the demonstration says is the first thing that anybody sees of holdup.
#[test]
fn the_demonstration_names_its_planted_problems() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let ended = run(Command::new(stage::HOLDUP).args(["demo", "--color", "never"]));
    assert_eq!(ended.status, 0, "{ended:?}");
    let said = text(&ended.stdout);
    assert!(said.contains("cache_lock") && said.contains("cache_put"), "{said}");
}

/// The test of attaching relies on it: what asks the server must notice when answers do not come.
#[test]
fn a_server_that_dies_is_noticed_by_its_load() {
    let stage = Stage::new();
    let source = |name: &str| workspace().join("workloads/server").join(name);
    let server = stage.compile("server", source("server.c"), &[]);
    let load = stage.compile("load", source("load.c"), &[]);
    let mut server = start(&mut Command::new(server));
    let port = server.first_line().trim().trim_start_matches("port ").to_owned();

    let ended = run(Command::new(&load).args([&port, "3", "200"]));
    assert_eq!((ended.status, text(&ended.stderr)), (0, String::new()));
    assert_eq!(text(&ended.stdout), "load: 600 right answers over 3 connections\n");

    let asking = start(Command::new(&load).args([&port, "2", "0"]));
    let sockets = || {
        let entries = std::fs::read_dir(format!("/proc/{}/fd", server.pid().as_raw_pid())).ok()?;
        let is_socket = |path: PathBuf| {
            std::fs::read_link(path).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))
        };
        (entries.flatten().filter(|entry| is_socket(entry.path())).count() >= 3).then_some(())
    };
    eventually("both connections", sockets);
    kill_process(server.pid(), Signal::KILL).expect("kill the server");
    server.wait();
    let ended = asking.end();
    assert_eq!(ended.status, 1, "{ended:?}");
    assert!(text(&ended.stderr).starts_with("load: request "), "{ended:?}");
}
