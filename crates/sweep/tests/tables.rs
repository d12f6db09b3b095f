//! What of answers comes into the tables: read back with the libraries of their formats.

use std::collections::BTreeMap;
use std::path::Path;

use holdup_sweep::{
    Cell, Host, Measure, Numbers, Outcome, ROWS, Row, Status, TABLE_FORMAT, numbers, write_tables,
};
use serde_json::json;

/// The rows of a table, their values as text; what is missing is empty.
#[cfg(feature = "parquet")]
fn rows(folder: &Path, name: &str) -> Vec<BTreeMap<String, String>> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    let text = |field: Field| match field {
        Field::Null => String::new(),
        Field::Str(text) => text,
        Field::Long(value) => value.to_string(),
        Field::Double(value) => value.to_string(),
        other => panic!("{other:?}"),
    };
    let file = std::fs::File::open(folder.join(name).with_extension("parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    let row =
        |row: parquet::record::Row| row.into_columns().into_iter().map(|(name, field)| (name, text(field)));
    rows.map(|each| row(each.unwrap()).collect()).collect()
}

#[cfg(not(feature = "parquet"))]
fn rows(folder: &Path, name: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(folder.join(name).with_extension("csv")).unwrap();
    let rows = reader.deserialize().map(Result::unwrap);
    rows.collect()
}

fn cell(program: &str, measure: Measure) -> Cell {
    Cell {
        program: program.to_owned(),
        suite: None,
        input: Some("small".to_owned()),
        threads: Some(4),
        repeat: 1,
        measure,
        machine: None,
        cores: None,
        what_if: None,
        recording: Some("r".to_owned()),
        answer: "a".to_owned(),
    }
}

fn outcome(status: Status, numbers: Numbers) -> Outcome {
    Outcome {
        key: "a".to_owned(),
        status,
        reason: (status != Status::Done).then(|| "why".to_owned()),
        time_limit_ns: None,
        spent_ns: 5,
        holdup: "1".to_owned(),
        host: Host { name: "h".to_owned(), processor: "p".to_owned(), cpus: 2 },
        recording: None,
        numbers,
        files: BTreeMap::new(),
    }
}

fn simulation() -> serde_json::Value {
    let run = |cycles: u32, changes: serde_json::Value| {
        json!({"changes": changes, "cores": 4, "cycles": cycles, "instructions": 100, "frequency_ghz": 2.0, "cpi": 3.0,
            "threads": [{}, {}],
            "aggregate": [{"stack": {"branch": 30, "mem-l1d": 10}}, {"stack": {"branch": 60}}]})
    };
    json!({"components": [{"name": "branch"}, {"name": "mem-l1d"}, {"name": "tlb"}],
        "simulations": [run(200, json!([])), run(150, json!(["free-locks"]))],
        "speedup_stacks": [{"speedup": 3.0, "losses": [{"component": "memory", "speedup": 1.5}, {"component": "x", "speedup": -0.5}]}]})
}

fn report() -> serde_json::Value {
    json!({"run": {"wall_ns": 1000}, "process": {"threads": 3, "workers": 2, "parallelism": 1.5, "efficiency": 0.75},
        "cost_identity": {"useful_ns": 700, "unexplained_ns": 0, "parts": [{"kind": "lock", "cost_ns": 200}, {"kind": "lock", "cost_ns": 100}]},
        "criticality": {"nobody_ns": {"io": 100, "sleep": 0}, "threads": [{"criticality_ns": 300}, {"criticality_ns": 600}]}})
}

#[test]
fn components_add_up_over_the_threads_that_work_and_shares_to_one() {
    let of = |answer: &serde_json::Value, measure, is_changed| {
        numbers(answer.to_string().as_bytes(), measure, is_changed).unwrap()
    };
    let (plain, changed) = (of(&simulation(), Measure::Sim, false), of(&simulation(), Measure::Sim, true));
    assert_eq!((plain.whole["cycles"], changed.whole["cycles"]), (200, 150));
    assert_eq!((plain.real["simulated_ns"], plain.real["cpi"]), (100.0, 3.0));
    let reported = of(&report(), Measure::Report, false);
    for stack in plain.stacks.iter().chain(&reported.stacks) {
        let sum: f64 = stack.components.iter().map(|(_, value)| value).sum();
        assert!((sum - stack.total).abs() < 1e-9, "{}", stack.name);
    }
    let totals: Vec<(&str, f64)> =
        plain.stacks.iter().chain(&reported.stacks).map(|stack| (stack.name.as_str(), stack.total)).collect();
    assert_eq!(totals, [("cycles", 100.0), ("speedup", 4.0), ("loss", 1000.0), ("criticality", 1000.0)]);
    for (rubbish, part) in [("{", "JSON"), ("{}", "simulation"), (r#"{"simulations": 3}"#, "simulation")] {
        assert!(numbers(rubbish.as_bytes(), Measure::Sim, false).unwrap_err().contains(part), "{rubbish}");
    }
}

#[test]
fn tables_have_a_row_for_each_cell_and_for_each_component() {
    let folder = tempfile::tempdir().unwrap();
    let sim = numbers(simulation().to_string().as_bytes(), Measure::Sim, false).unwrap();
    let all = [
        Row { cell: cell("s", Measure::Sim), outcome: Some(outcome(Status::Done, sim)), recorded: None },
        Row {
            cell: cell("r", Measure::Report),
            outcome: Some(outcome(
                Status::Done,
                numbers(report().to_string().as_bytes(), Measure::Report, false).unwrap(),
            )),
            recorded: Some(outcome(Status::Done, Numbers::default())),
        },
        Row {
            cell: cell("f", Measure::Sim),
            outcome: Some(outcome(Status::Failed, Numbers::default())),
            recorded: None,
        },
        Row { cell: cell("m", Measure::Sim), outcome: None, recorded: None },
    ];
    // Twice: the second replaces the first.
    for _ in 0..2 {
        write_tables(folder.path(), &all).unwrap();
    }
    let wide = rows(folder.path(), "results");
    let of = |column: &str| wide.iter().map(|row| row[column].as_str()).collect::<Vec<_>>();
    assert_eq!(of("status"), ["done", "done", "failed", "missing"]);
    assert_eq!(of("reason"), ["", "", "why", ""]);
    assert_eq!(of("threads"), ["4"; 4]);
    assert_eq!(of("cycles_branch")[0], "90");
    assert_eq!(of("cycles_tlb_share"), ["0", "", "", ""]);
    assert_eq!(of("cycles_mem_l1d_share")[0], "0.1");
    assert_eq!(of("loss_lock_ns"), ["", "300", "", ""]);
    assert_eq!(of("criticality_thread_1_share")[1], "0.6");
    assert_eq!(of("speedup_memory_share")[0], "0.375");
    assert!(wide[0].keys().all(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')));
    let long = rows(folder.path(), "components");
    assert_eq!(long.len(), 3 + 3 + 3 + 4);
    assert!(ROWS.iter().all(|(name, ..)| long[0].contains_key(*name)));
    assert_eq!((long[1]["component"].as_str(), long[1]["share"].as_str()), ("mem-l1d", "0.1"));
    let other = if TABLE_FORMAT.ending() == "csv" { "parquet" } else { "csv" };
    let old = folder.path().join("results").with_extension(other);
    std::fs::write(&old, "of another build").unwrap();
    write_tables(folder.path(), &all).unwrap();
    assert!(!old.exists(), "two tables that say different things");
}
