//! OpenMP workloads from gcc and from clang: `holdup scale` answers for both, and what it tells adds up; and all forms print
//! the same.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::stage::planted_openmp::{PLANTED, at_two, regions};
use crate::stage::{Form, HOLDUP, Stage, is_installed, run, skip, text, workspace};
use serde_json::Value;

/// The languages of `workloads/expected.tsv` that stand for the two compilers.
const COMPILERS: [&str; 2] = ["openmp", "openmp-clang"];

fn build(stage: &Stage, name: &str, language: &str, flags: &[String]) -> Option<Form> {
    let source = workspace().join("workloads").join(name).join("main.c");
    stage.small_form(&format!("{name}_{language}_{}", flags.len()), language, &source, flags)
}

/// LLVM's runtime does not give its core away at each look at an empty queue of tasks: beside three programs that never wait, each
/// of these times costs it all of their slices, and a run of 0.3 s takes minutes, without holdup too.
const KEEPS_ITS_CORE: (&str, &str) = ("KMP_USE_YIELD", "0");

/// `holdup scale -t 1,2 --json` of a program.
fn sweep(program: impl AsRef<OsStr>, arguments: &[&str]) -> Value {
    let mut command = Command::new(HOLDUP);
    command.env(KEEPS_ITS_CORE.0, KEEPS_ITS_CORE.1);
    command.args(["scale", "-t", "1,2", "-r", "1", "--json", "--"]).arg(program).args(arguments);
    let ended = run(&mut command);
    assert_eq!(ended.status, 0, "{ended:?}");
    // The program's own line comes before the answer.
    let said = text(&ended.stdout);
    let begin = said.find('{').unwrap_or_else(|| panic!("no JSON: {ended:?}"));
    serde_json::from_str(&said[begin..]).unwrap_or_else(|error| panic!("no JSON ({error}): {ended:?}"))
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

/// The sweep answers for both compilers, and what it tells adds up. Whether it names what is planted depends on how the
/// threads meet: `cargo xtask truth` measures how often it does.
fn check(name: &str) {
    let stage = Stage::new();
    for compiler in COMPILERS {
        let Some(form) = build(&stage, name, compiler, &[]) else { return };
        let json = sweep(&form.program, &[]);
        assert_losses_add_up(&json);
        assert!(regions(&json).any(|(_, region)| at_two(region).is_some()), "{name} from {compiler}: {json}");
    }
}

macro_rules! a_test_for_each {
    ($($name:ident)*) => {
        $(#[test] fn $name() { super::check(stringify!($name)); })*

        #[test]
        fn every_row_has_a_test() {
            let tested = [$(stringify!($name)),*];
            let mut names: Vec<&str> =
                crate::stage::planted_openmp::PLANTED.iter().map(|planted| planted.name).collect();
            names.dedup();
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
                command.env(KEEPS_ITS_CORE.0, KEEPS_ITS_CORE.1);
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
    assert_analysed(&sweep(python, &["-c", multiply]));
}
