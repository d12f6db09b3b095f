//! `holdup characterize`, on tables and answers that are written by the test.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

mod stage;
use stage::{Ended, HOLDUP, Stage, assert_refused, run, text};

fn characterize(arguments: &[&str], files: &[&Path]) -> Ended {
    run(Command::new(HOLDUP).arg("characterize").args(arguments).args(files))
}

fn told(arguments: &[&str], files: &[&Path]) -> Value {
    let ended = characterize(&[arguments, &["--json"]].concat(), files);
    assert_eq!((ended.status, text(&ended.stderr)), (0, String::new()), "{ended:?}");
    serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {ended:?}"))
}

/// What `holdup sim --json` says, as far as it is read.
fn simulation(program: &str, threads: u32, parts: &[(&str, u64)]) -> String {
    let stack: serde_json::Map<String, Value> =
        parts.iter().map(|(name, cycles)| ((*name).to_owned(), json!(cycles))).collect();
    let group = json!({"group": "worker", "stack": stack});
    let left = json!({"group": "main", "stack": {}});
    json!({
        "schema": 1,
        "run": {"command": [format!("./{program}"), threads.to_string(), "big"]},
        "simulations": [
            {"input": "", "machine": "haswell", "cores": threads, "changes": [], "aggregate": [group, left]},
        ],
    })
    .to_string()
}

#[test]
fn simulations_are_compared_by_folder_program_input_and_cores() {
    let stage = Stage::new();
    for folder in ["splash", "parsec"] {
        std::fs::create_dir_all(stage.path(folder)).expect("a folder");
    }
    for (folder, program, parts) in [
        ("splash", "fft", [("mem-dram", 60), ("depend-fp", 40)]),
        ("splash", "lu", [("mem-dram", 10), ("depend-fp", 90)]),
        ("parsec", "vips", [("mem-dram", 15), ("depend-fp", 85)]),
    ] {
        for threads in [4, 16] {
            let mut parts = parts.to_vec();
            parts.push(("sync-barrier", u64::from(threads)));
            stage.write(&format!("{folder}/{program}-{threads}.json"), simulation(program, threads, &parts));
        }
    }
    let json = told(&[], &[stage.directory()]);
    assert_eq!((&json["of"], &json["shares"]), (&json!("cycle stacks"), &json!(true)));
    assert_eq!(json["columns"], json!(["depend-fp", "mem-dram", "sync-barrier"]));
    let points = json["points"].as_array().expect("points");
    assert_eq!(points.len(), 6);
    let labels = |point: &Value| {
        [point["suite"].clone(), point["program"].clone(), point["input"].clone(), point["threads"].clone()]
    };
    assert_eq!(labels(&points[0]), [json!("parsec"), json!("vips"), json!("{threads} big"), json!(16)]);
    assert_eq!(json["suites"].as_array().map(Vec::len), Some(2));
    let scaling = json["scaling"].as_array().expect("moves");
    assert_eq!(scaling.len(), 3);
    assert!(scaling.iter().all(|one| one["grew"]["sync-barrier"].as_f64() > Some(0.0)), "{scaling:?}");
    let json = told(&["--only", "threads=16", "--only", "suite=splash"], &[stage.directory()]);
    assert_eq!(json["points"].as_array().map(Vec::len), Some(2));
}

#[test]
fn tables_are_read_with_labels_numbers_and_what_is_missing() {
    let stage = Stage::new();
    let table = stage.write(
        "table.csv",
        "name,suite,ipc,misses,remark\nfft,s,1.5,200,good\nlu,s,0.5,\"900\",bad\nradix,p,,800,none\nmap,p,0.75,850,\n",
    );
    let json = told(&["--scaled"], &[&table]);
    assert_eq!(json["columns"], json!(["ipc", "misses"]));
    assert_eq!(json["points"].as_array().map(Vec::len), Some(3));
    assert_eq!(json["left_out"][0]["program"], "radix");
    assert_eq!(json["left_out"][0]["column"], "ipc");
    assert!(json["notes"].to_string().contains("remark"), "{}", json["notes"]);
    let json = told(&["--columns", "misses"], &[&table]);
    assert_eq!(json["points"].as_array().map(Vec::len), Some(4));
    // Semicolons, and a mark at the beginning, as spreadsheets write them.
    let table = stage.write("table2.csv", "\u{feff}name;x\na;1\nb;2\n");
    assert_eq!(told(&[], &[&table])["points"][1]["name"], "b");
}

#[test]
fn the_same_files_give_the_same_bytes() {
    let stage = Stage::new();
    let lines: String = (0..40).map(|row| format!("p{row},{},{}\n", row % 7, row % 5)).collect();
    let table = stage.write("table.csv", format!("name,x,y\n{lines}"));
    let one = characterize(&["--all"], &[&table]);
    assert_eq!(one.status, 0);
    assert_eq!(text(&one.stdout), text(&characterize(&["--all"], &[&table]).stdout));
}

#[test]
fn rubbish_is_refused_in_one_line() {
    let stage = Stage::new();
    let empty = stage.write("empty.csv", "");
    let words = stage.write("words.csv", "name,remark\na,good\n");
    let ragged = stage.write("ragged.csv", "name,x\na,1,2\n");
    let missing = stage.write("missing.csv", "name,x\na,\n");
    let broken = stage.write("broken.json", "{");
    let other = stage.write("other.json", "{}");
    let parquet = stage.write("broken.parquet", "PAR1");
    let recording = stage.write("broken.holdup", "no recording");
    let sim = stage.write("sim.json", simulation("fft", 4, &[("io", 1)]));
    let table = stage.write("table.csv", "name,x\na,1\n");
    std::fs::create_dir(stage.path("nothing")).expect("a folder");
    for (arguments, files, names) in [
        (vec![], vec![stage.path("absent.csv")], vec!["absent.csv", "cannot be read"]),
        (vec![], vec![empty], vec!["no column"]),
        (vec![], vec![words], vec!["no column"]),
        (vec![], vec![ragged], vec!["ragged.csv", "no table"]),
        (vec![], vec![missing], vec!["no row"]),
        (vec![], vec![broken], vec!["broken.json", "no JSON"]),
        (vec![], vec![other], vec!["other.json", "no stacks"]),
        (vec![], vec![parquet], vec!["broken.parquet", "Parquet"]),
        (vec![], vec![recording], vec!["broken.holdup"]),
        (vec![], vec![stage.path("nothing")], vec!["no file"]),
        (vec![], vec![sim.clone(), table.clone()], vec!["cycle stacks", "a table"]),
        (vec!["--of", "losses"], vec![sim], vec!["cycle stacks"]),
        (vec!["--columns", "y"], vec![table.clone()], vec!["no column y", "there are x"]),
        (vec!["--only", "threads=4"], vec![table], vec!["--only"]),
    ] {
        let files: Vec<&Path> = files.iter().map(|file| file.as_path()).collect();
        assert_refused(&characterize(&arguments, &files), 2, &names);
    }
}
