//! `holdup characterize`, on tables and answers that are written by the test.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::stage::{Ended, HOLDUP, Stage, assert_refused, run, text};

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

/// Two programs of two suites at two numbers of threads, one with a name that a page must not take for markup.
const HOSTILE: &str = "name,suite,threads,x,y\n<script>a,s1,2,1,2\n<script>a,s1,4,1,3\nb&\u{1b}[1m,s2,2,5,2\nb&\u{1b}[1m,s2,4,2,9\n";

#[test]
fn the_page_has_the_pictures_that_are_written_as_files() {
    let stage = Stage::new();
    let table = stage.write("table.csv", HOSTILE);
    let (page, pictures) = (stage.path("page.html"), stage.path("made/pictures"));
    let write = || {
        let words =
            ["--html", page.to_str().expect("UTF-8"), "--pictures", pictures.to_str().expect("UTF-8")];
        let ended = characterize(&words, &[&table]);
        assert_eq!((ended.status, text(&ended.stdout)), (0, String::new()));
        let says = text(&ended.stderr);
        assert_eq!(
            says.contains("SVG only") && says.contains("--features png"),
            cfg!(not(feature = "png")),
            "{says}"
        );
        assert_eq!(says.lines().count(), usize::from(cfg!(not(feature = "png"))), "{says}");
        let mut files = vec![(page.clone(), std::fs::read(&page).expect("a page"))];
        for entry in std::fs::read_dir(&pictures).expect("pictures") {
            let path = entry.expect("a picture").path();
            files.push((path.clone(), std::fs::read(path).expect("a picture")));
        }
        files.sort();
        files
    };
    let files = write();
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    let names: Vec<String> = files.iter().map(|(path, _)| name(path)).collect();
    let wanted = ["components", "dendrogram", "scaling"];
    let wanted: Vec<String> =
        wanted.iter().flat_map(|name| [format!("{name}.png"), format!("{name}.svg")]).collect();
    let is_written = |name: &String| cfg!(feature = "png") || name.ends_with(".svg");
    let wanted: Vec<String> = wanted.into_iter().filter(is_written).collect();
    assert_eq!(names, [wanted, vec!["page.html".to_owned()]].concat());
    for (path, bytes) in &files {
        if path.extension().is_some_and(|ending| ending == "png") {
            assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "{}", path.display());
            continue;
        }
        let text = String::from_utf8(bytes.clone()).expect("UTF-8");
        let (start, end) =
            if text.starts_with("<svg ") { ("<svg ", "</svg>") } else { ("<!doctype html>", "</html>") };
        assert!(text.starts_with(start) && text.trim_end().ends_with(end), "{}", path.display());
        assert!(!text.contains("<script>a") && !text.contains('\u{1b}'), "{}", path.display());
        assert!(text.contains("script&#62;a"), "{}", path.display());
    }
    assert_eq!(write(), files, "the same table gives the same files");
    // One component has no plane, and one row nothing to compare it with: there are fewer pictures, and no failure.
    for (table, pictures) in [("name,x\na,1\nb,2\n", "line"), ("name,x\na,1\n", "alone")] {
        let (table, pictures) = (stage.write("small.csv", table), stage.path(pictures));
        let ended = characterize(&["--pictures", pictures.to_str().expect("UTF-8")], &[&table]);
        assert_eq!(ended.status, 0, "{ended:?}");
        assert!(!pictures.join("components.svg").exists());
    }
}

#[test]
fn nothing_is_written_over_and_nothing_where_it_cannot_be() {
    let stage = Stage::new();
    let table = stage.write("table.csv", HOSTILE);
    let file = stage.write("file", "kept");
    let below = file.join("below");
    for (option, path, names) in [
        ("--html", &table, ["table.csv", "would replace"]),
        ("--output", &table, ["table.csv", "would replace"]),
        ("--html", &below, ["below", "cannot be written"]),
        ("--pictures", &file, ["file", "cannot be written"]),
        ("--pictures", &below, ["below", "cannot be written"]),
    ] {
        assert_refused(&characterize(&[option, path.to_str().expect("UTF-8")], &[&table]), 2, &names);
    }
    assert_eq!(std::fs::read_to_string(&table).expect("the table"), HOSTILE);
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), "kept");
}

#[test]
fn numbers_at_the_edge_are_compared_or_said() {
    let stage = Stage::new();
    let wide: String = (0..300).map(|column| format!(",c{column}")).collect();
    let ones = ",1".repeat(300);
    for (text, rows) in [
        ("name,x\na,1e119\nb,-1e119\n".to_owned(), 2),
        ("name,x\na,1e400\nb,2\nc,inf\nd,-3\n".to_owned(), 2),
        ("name,x\na,5e-324\nb,0\n".to_owned(), 2),
        (format!("name{wide}\na{ones}\nb{ones}\n"), 2),
        ("name,x\n\u{0}\u{202e},1\n\"a\nb\",2\n".to_owned(), 2),
    ] {
        let table = stage.write("table.csv", &text);
        assert_eq!(told(&[], &[&table])["points"].as_array().map(Vec::len), Some(rows), "{text}");
    }
    // Threads that are none are not told, and join no runs.
    let table = stage.write("table.csv", "program,threads,x\na,-5,1\na,99999999999,2\na,2.7,3\na,4.0,4\n");
    let points = told(&[], &[&table])["points"].clone();
    let threads: Vec<&Value> =
        points.as_array().expect("points").iter().map(|point| &point["threads"]).collect();
    assert_eq!(threads, [&Value::Null, &Value::Null, &Value::Null, &json!(4)]);
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
    let no_list = stage.write("no_list.json", r#"{"simulations": 5}"#);
    let no_number =
        stage.write("no_number.json", r#"{"simulations": [{"aggregate": [{"stack": {"io": "much"}}]}]}"#);
    let deep = stage.write("deep.json", "[".repeat(100_000));
    let twice = stage.write("twice.csv", "name,x,x\na,1,2\n");
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
        (vec![], vec![no_list], vec!["no_list.json"]),
        (vec![], vec![no_number], vec!["no column"]),
        (vec![], vec![deep], vec!["deep.json", "no JSON"]),
        (vec![], vec![twice], vec!["twice.csv", "two columns x"]),
        (vec![], vec![other], vec!["other.json", "no stacks"]),
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
    let status = if cfg!(feature = "parquet") { 2 } else { 3 };
    assert_refused(&characterize(&[], &[&parquet]), status, &["broken.parquet", "Parquet"]);
}

/// What a sweep writes where it has no Parquet.
#[test]
fn a_sweeps_components_are_stacks_also_as_csv() {
    let stage = Stage::new();
    let head = "program,suite,input,threads,repeat,measure,machine,cores,what_if,status,stack,component,value,unit,share";
    let row = |program: &str, stack: &str, component: &str, share: f64| {
        format!("{program},,,4,1,sim,m,,,done,{stack},{component},1,cycles,{share}\r\n")
    };
    let rows = [
        row("fft", "cycles", "io", 0.25),
        row("fft", "cycles", "branch", 0.75),
        row("fft", "speedup", "lock", 1.0),
        row("lu", "cycles", "branch", 1.0),
    ];
    stage.write("components.csv", format!("{head}\r\n{}", rows.concat()));
    let ended = characterize(&["--json"], &[stage.directory()]);
    assert_eq!(ended.status, 0, "{ended:?}");
    let value: serde_json::Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    assert_eq!(value["columns"].as_array().map(Vec::len), Some(2), "{value}");
    assert_eq!(value["points"].as_array().map(Vec::len), Some(2), "{value}");
}
