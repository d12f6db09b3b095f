//! OpenMP workloads from gcc and from clang: `holdup scale` names the same region, the same largest cost and the same way
//! out for both, the planted one; and the mended form runs no slower than the planted one.
//!
//! How threads meet is up to the machine, which may be shared with others: what must be found is asked of up to three
//! sweeps.

mod stage;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use serde_json::Value;
use stage::forms::Form;
use stage::{HOLDUP, Stage, is_installed, run, skip, text, workspace};

/// How often a program is swept until it shows what it must.
const TRIES: usize = 3;

/// One at a time: two programs with two threads each on two cores would show each other's load.
static ALONE: Mutex<()> = Mutex::new(());

/// The languages of `workloads/expected.tsv` that stand for the two compilers.
const COMPILERS: [&str; 2] = ["openmp", "openmp-clang"];

/// What `holdup scale` must say of a workload at one and at two threads.
struct Planted {
    name: &'static str,
    /// The region's function, or the beginning of the function that the compiler made of it.
    region: &'static str,
    /// The member of `costs` at two threads that must be the largest of those that name a cause: any of these.
    largest: &'static [&'static str],
    /// The kind of a hint for it: any of these.
    hints: &'static [&'static str],
}

const PLANTED: &[Planted] = &[
    Planted { name: "omp_mandelbrot", region: "render", largest: &["imbalance"], hints: &["schedule"] },
    Planted {
        name: "omp_locks",
        region: "",
        largest: &["lock_algorithm", "lock_contention"],
        hints: &["lock-hint", "atomic", "queue-lock", "fewer-concurrent"],
    },
    Planted {
        name: "omp_ua",
        region: "gather",
        largest: &["lock_algorithm"],
        hints: &["lock-hint", "atomic"],
    },
    Planted {
        name: "omp_tasks",
        region: "",
        largest: &["scheduling", "starvation"],
        hints: &["task-cutoff"],
    },
    Planted {
        name: "omp_starve",
        region: "filter_frame",
        largest: &["starvation", "imbalance"],
        hints: &["more-tasks"],
    },
    Planted {
        name: "omp_critical",
        region: "add_items",
        largest: &["lock_contention"],
        hints: &["fewer-concurrent"],
    },
    Planted {
        name: "omp_barriers",
        region: "run_steps",
        largest: &["imbalance"],
        hints: &["barriers", "schedule"],
    },
    Planted { name: "omp_serial", region: "run_frames", largest: &["serial"], hints: &["parallelize"] },
    Planted {
        name: "omp_collapse",
        region: "blur_frame",
        largest: &["imbalance"],
        hints: &["collapse", "schedule"],
    },
    Planted {
        name: "omp_sections",
        region: "decode_frame",
        largest: &["imbalance"],
        hints: &["schedule", "collapse"],
    },
];

fn planted(name: &str) -> &'static Planted {
    PLANTED.iter().find(|planted| planted.name == name).unwrap_or_else(|| panic!("{name} is not planted"))
}

fn build(stage: &Stage, name: &str, language: &str, flags: &[String]) -> Option<Form> {
    let source = workspace().join("workloads").join(name).join("main.c");
    stage.form(&format!("{name}_{language}_{}", flags.len()), language, &source, flags)
}

/// `holdup scale -t 1,2 --json` of a program.
fn sweep(program: impl AsRef<OsStr>, arguments: &[&str]) -> Value {
    let mut command = Command::new(HOLDUP);
    command.args(["scale", "-t", "1,2", "-r", "1", "--json", "--"]).arg(program).args(arguments);
    let ended = run(&mut command);
    assert_eq!(ended.status, 0, "{ended:?}");
    // The program's own line comes before the answer.
    let said = text(&ended.stdout);
    let begin = said.find('{').unwrap_or_else(|| panic!("no JSON: {ended:?}"));
    serde_json::from_str(&said[begin..]).unwrap_or_else(|error| panic!("no JSON ({error}): {ended:?}"))
}

fn at_two(value: &Value) -> Option<&Value> {
    value["points"].as_array()?.iter().find(|point| point["threads"] == 2)
}

/// The costs that the program causes. The others, the time from the last arrival on among them, are also what a machine
/// makes of it that other programs use too.
const CAUSES: [&str; 6] =
    ["imbalance", "lock_algorithm", "lock_contention", "scheduling", "serial", "starvation"];

/// The largest cost of a region that the program causes.
fn largest(region: &Value) -> Option<&'static str> {
    let costs = at_two(region)?["costs"].as_object()?;
    CAUSES.into_iter().max_by_key(|cause| costs.get(&format!("{cause}_ns")).and_then(Value::as_i64))
}

fn regions(json: &Value) -> impl Iterator<Item = (usize, &Value)> {
    json["regions"].as_array().into_iter().flatten().enumerate()
}

fn function(value: &Value) -> &str {
    value["where"]["function"].as_str().unwrap_or_default()
}

/// What is not as it was planted.
fn complaints(json: &Value, planted: &Planted) -> Option<String> {
    let is_it = |region: &Value| region["kind"] == "parallel" && function(region).starts_with(planted.region);
    let Some((index, region)) = regions(json).find(|(_, region)| is_it(region)) else {
        return Some(format!("no region in {:?}", planted.region));
    };
    let most = largest(region).unwrap_or_default();
    if !planted.largest.contains(&most) {
        return Some(format!("the largest cost is {most}"));
    }
    let hints: Vec<&str> = json["hints"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|hint| hint["region"].as_u64() == Some(index as u64) || planted.region.is_empty())
        .filter_map(|hint| hint["kind"].as_str())
        .collect();
    let hinted = hints.iter().any(|kind| planted.hints.contains(kind));
    (!hinted).then(|| format!("the hints are {hints:?}"))
}

/// Demands of every part that is told that it adds up, as far as integers say.
fn assert_losses_add_up(json: &Value) {
    let points = regions(json).filter_map(|(_, region)| region["points"].as_array()).flatten();
    for point in points.chain(json["runs"].as_array().into_iter().flatten()) {
        for kind in ["losses", "costs"] {
            let parts = point[kind].as_object().expect("an object");
            let of = |key: &str| parts[key].as_i64().expect("a number");
            let sum: i64 = parts.keys().filter(|key| *key != "lost_ns").map(|key| of(key)).sum();
            assert_eq!(sum, of("lost_ns"), "{kind} of {point}");
        }
    }
}

fn shown(json: &Value) -> String {
    let lines = regions(json).map(|(index, region)| {
        let costs = at_two(region).map_or_else(String::new, |point| point["costs"].to_string());
        format!("  {index} {} {}: {costs}\n", region["kind"], region["where"]["function"])
    });
    let hints = json["hints"].as_array().into_iter().flatten();
    lines.chain(hints.map(|hint| format!("  hint {}: {}\n", hint["kind"], hint["what"]))).collect()
}

fn check(name: &str) {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let planted = planted(name);
    let stage = Stage::new();
    for compiler in COMPILERS {
        let Some(form) = build(&stage, name, compiler, &[]) else { return };
        let mut tried = String::new();
        let found = (1..=TRIES).any(|attempt| {
            let json = sweep(&form.program, &[]);
            assert_losses_add_up(&json);
            let wrong = complaints(&json, planted);
            tried += &format!("attempt {attempt}: {wrong:?}\n{}", shown(&json));
            wrong.is_none()
        });
        assert!(found, "{name} from {compiler}, {TRIES} attempts:\n{tried}");
    }
}

macro_rules! a_test_for_each {
    ($($name:ident)*) => {
        $(#[test] fn $name() { super::check(stringify!($name)); })*

        #[test]
        fn every_row_has_a_test() {
            let tested = [$(stringify!($name)),*];
            let names: Vec<&str> = super::PLANTED.iter().map(|planted| planted.name).collect();
            assert_eq!(names, tested, "the table and this list must name the same, in the same order");
        }
    };
}

mod largest_costs {
    a_test_for_each! {
        omp_mandelbrot
        omp_locks
        omp_ua
        omp_tasks
        omp_starve
        omp_critical
        omp_barriers
        omp_serial
        omp_collapse
        omp_sections
    }
}

/// Every OpenMP workload prints the same line in both forms, from both compilers.
#[test]
fn all_forms_print_the_same() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let stage = Stage::new();
    let folder = std::fs::read_dir(workspace().join("workloads")).expect("workloads");
    let mut names: Vec<String> =
        folder.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| name.starts_with("omp_"));
    names.sort();
    assert!(names.len() >= PLANTED.len(), "{names:?}");
    for name in names {
        let mut said: Vec<(String, String)> = Vec::new();
        for compiler in COMPILERS {
            for flags in [vec![], vec!["-DFIXED".to_owned()]] {
                let Some(form) = build(&stage, &name, compiler, &flags) else { continue };
                // Waiting threads that give way, should others use the cores too.
                let mut command = Command::new(&form.program);
                command.env("OMP_WAIT_POLICY", "passive").env("OMP_NUM_THREADS", "2");
                let ended = run(&mut command);
                assert_eq!(ended.status, 0, "{name} {compiler} {flags:?}: {ended:?}");
                said.push((format!("{compiler} {flags:?}"), text(&ended.stdout)));
            }
        }
        assert!(said.iter().all(|(_, line)| *line == said[0].1), "{name}: {said:?}");
    }
}

/// A program as Debian has it: regions that were executed by two threads are told, whole ones among them.
fn assert_analysed(json: &Value) {
    assert_losses_add_up(json);
    let teams = regions(json).filter(|(_, region)| region["kind"] == "parallel").filter_map(|(_, region)| {
        let point = at_two(region)?;
        Some((point["team"].as_f64()?, point["whole_instances"].as_u64()?))
    });
    let teams: Vec<(f64, u64)> = teams.collect();
    assert!(teams.iter().any(|(team, whole)| *team > 1.5 && *whole > 0), "{teams:?} in {json}");
}

#[test]
fn graphicsmagick_without_rebuild() {
    if !is_installed("gm") {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let stage = Stage::new();
    let picture = stage.path("picture.pgm").to_string_lossy().into_owned();
    let arguments = ["convert", "-size", "900x700", "gradient:red-blue", "-blur", "0x4", &picture];
    assert_analysed(&sweep("gm", &arguments));
}

#[test]
fn a_blas_under_python_without_rebuild() {
    let python = Path::new("/usr/bin/python3");
    let multiply = "import numpy; a = numpy.ones((700, 700)); print((a @ a).sum())";
    let uses_openmp =
        run(Command::new(python).args(["-c", &format!("{multiply}; print(open('/proc/self/maps').read())")]));
    if uses_openmp.status != 0 || !text(&uses_openmp.stdout).contains("libgomp") {
        return skip(
            "Debian's numpy with an OpenMP BLAS is not installed (python3-numpy, libopenblas0-openmp)",
        );
    }
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    assert_analysed(&sweep(python, &["-c", multiply]));
}
