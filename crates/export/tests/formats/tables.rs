//! Tables, read back by the readers of their formats.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use holdup_criticality::{Diagnosis, diagnose};
use holdup_export::{ColumnKind, ExportError, TABLES, Table, TableFormat, tables};
use holdup_model::{ObjectKind, Run, Timeline};
#[cfg(feature = "parquet")]
use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::Field,
};
use proptest::prelude::*;

use super::cases::{HOSTILE, any_run, assert_shown_safely, empty, hostile, times};

/// A value of a table, however it was written.
#[derive(Clone, PartialEq, Debug)]
enum Value {
    Missing,
    Whole(u64),
    Real(f64),
    Flag(bool),
    Text(String),
}

type Rows = Vec<BTreeMap<String, Value>>;

fn diagnoses(run: &Run) -> Vec<Diagnosis> {
    (0..run.processes.len()).map(|process| diagnose(run, process)).collect()
}

fn written(run: &Run, format: TableFormat) -> (tempfile::TempDir, BTreeMap<&'static str, Rows>) {
    let folder = tempfile::tempdir().expect("a folder");
    tables(run, &diagnoses(run), format, folder.path()).expect("the tables are written");
    let read = |table: &Table| {
        let path = folder.path().join(format!("{}.{}", table.name, format.ending()));
        match format {
            TableFormat::Csv => read_csv(&path, table),
            TableFormat::Parquet => read_parquet(&path, table),
        }
    };
    let rows = TABLES.iter().map(|table| (table.name, read(table))).collect();
    (folder, rows)
}

fn read_csv(path: &Path, table: &Table) -> Rows {
    let mut reader = csv::Reader::from_path(path).expect("a file");
    let names: Vec<String> = reader.headers().expect("names").iter().map(str::to_owned).collect();
    assert_eq!(names, table.columns.iter().map(|column| column.name).collect::<Vec<_>>());
    let value = |kind, text: &str| match kind {
        _ if text.is_empty() => Value::Missing,
        ColumnKind::Whole | ColumnKind::Address => Value::Whole(text.parse().expect("a whole number")),
        ColumnKind::Real => Value::Real(text.parse().expect("a number")),
        ColumnKind::Flag => Value::Flag(text.parse().expect("true or false")),
        _ => Value::Text(text.to_owned()),
    };
    let rows = reader.records().map(|record| {
        let record = record.expect("a row of the same length");
        let cells = table.columns.iter().zip(&record);
        cells.map(|(column, text)| (column.name.to_owned(), value(column.kind, text))).collect()
    });
    rows.collect()
}

#[cfg(not(feature = "parquet"))]
fn read_parquet(_: &Path, _: &Table) -> Rows {
    panic!("this build writes none")
}

#[cfg(feature = "parquet")]
fn read_parquet(path: &Path, table: &Table) -> Rows {
    let reader = SerializedFileReader::new(fs::File::open(path).expect("a file")).expect("a Parquet file");
    let notes = reader.metadata().file_metadata().key_value_metadata().expect("notes").clone();
    for column in table.columns {
        let about = notes.iter().find(|note| note.key == format!("holdup.{}", column.name));
        assert_eq!(about.and_then(|note| note.value.as_deref()), Some(column.about));
    }
    let value = |field: &Field| match field {
        Field::Null => Value::Missing,
        Field::Long(value) => Value::Whole(u64::try_from(*value).expect("not negative")),
        Field::ULong(value) => Value::Whole(*value),
        Field::Double(value) => Value::Real(*value),
        Field::Bool(value) => Value::Flag(*value),
        Field::Str(value) => Value::Text(value.clone()),
        other => panic!("{other:?}"),
    };
    let rows = reader.get_row_iter(None).expect("rows").map(|row| {
        let row = row.expect("a row");
        let cells: BTreeMap<String, Value> =
            row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect();
        assert_eq!(cells.len(), table.columns.len());
        cells
    });
    rows.collect()
}

fn whole(row: &BTreeMap<String, Value>, column: &str) -> u64 {
    match &row[column] {
        Value::Whole(value) => *value,
        other => panic!("{column}: {other:?}"),
    }
}

/// What both formats must say alike. Empty texts are missing in CSV, and names are escaped there.
fn comparable(rows: &BTreeMap<&'static str, Rows>) -> BTreeMap<&'static str, Rows> {
    let mut rows = rows.clone();
    for value in rows.values_mut().flatten().flat_map(BTreeMap::values_mut) {
        if *value == Value::Text(String::new()) {
            *value = Value::Missing;
        }
    }
    rows
}

fn check_against(run: &Run, rows: &BTreeMap<&'static str, Rows>) {
    let sum = |count: fn(&holdup_model::Process) -> usize| run.processes.iter().map(count).sum::<usize>();
    assert_eq!(rows["processes"].len(), run.processes.len());
    assert_eq!(rows["threads"].len(), sum(|process| process.threads.len()));
    assert_eq!(rows["objects"].len(), sum(|process| process.objects.len()));
    assert_eq!(rows["waits"].len(), sum(|process| process.waits.len()));
    assert_eq!(rows["holds"].len(), sum(|process| process.holds.len()));
    assert_eq!(rows["wakes"].len(), sum(|process| process.wakes.len()));
    assert_eq!(rows["calls"].len(), sum(|process| process.blocks.len()));
    assert_eq!(rows["markers"].len(), sum(|process| process.markers.len()));
    assert_eq!(rows["samples"].len(), sum(|process| process.samples.len()));
    assert_eq!(rows["frames"].len(), sum(|process| process.sites.iter().map(|site| site.frames.len()).sum()));
    assert_eq!(rows["edges"].len(), sum(|process| Timeline::build(process).edges.len()));
    let findings: usize = diagnoses(run).iter().map(|diagnosis| diagnosis.findings.len()).sum();
    assert_eq!(rows["findings"].len(), findings);
    let mut found: BTreeMap<(u64, u64, String), u64> = BTreeMap::new();
    for row in &rows["segments"] {
        let Value::Text(state) = &row["state"] else { panic!("a state") };
        assert_eq!(whole(row, "length_ns"), whole(row, "end_ns") - whole(row, "start_ns"));
        let key = (whole(row, "process"), whole(row, "thread"), state.clone());
        *found.entry(key).or_default() += whole(row, "length_ns");
    }
    let expected: u64 = run.processes.iter().flat_map(times).flat_map(BTreeMap::into_values).sum();
    assert_eq!(found.values().sum::<u64>(), expected);
    for (index, process) in run.processes.iter().enumerate() {
        for (thread, sums) in times(process).into_iter().enumerate() {
            let of_thread = found.keys().filter(|key| (key.0, key.1) == (index as u64, thread as u64));
            assert_eq!(of_thread.count(), sums.len());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn both_formats_say_what_was_recorded(run in any_run()) {
        let (_csv, csv) = written(&run, TableFormat::Csv);
        check_against(&run, &csv);
        if cfg!(feature = "parquet") {
            let (_parquet, parquet) = written(&run, TableFormat::Parquet);
            check_against(&run, &parquet);
            prop_assert_eq!(comparable(&csv), comparable(&parquet));
        }
    }
}

#[test]
#[cfg(feature = "parquet")]
fn more_rows_than_are_kept_in_memory_are_all_written() {
    let mut run = hostile();
    let sample = run.processes[0].samples[0];
    run.processes[0].samples = vec![sample; (1 << 16) + 5];
    let (folder, rows) = written(&run, TableFormat::Parquet);
    assert_eq!(rows["samples"].len(), (1 << 16) + 5);
    let file = File::open(folder.path().join("samples.parquet")).expect("a file");
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    assert_eq!(reader.metadata().num_row_groups(), 2);
}

#[test]
fn parquet_has_names_byte_for_byte_and_csv_has_them_harmless() {
    if cfg!(feature = "parquet") {
        let (_folder, rows) = written(&hostile(), TableFormat::Parquet);
        assert!(rows["objects"].iter().any(|row| row["name"] == Value::Text(HOSTILE.to_owned())));
    }
    let (folder, rows) = written(&hostile(), TableFormat::Csv);
    let texts = rows.values().flatten().flat_map(BTreeMap::values);
    for text in texts.filter_map(|value| if let Value::Text(text) = value { Some(text) } else { None }) {
        assert_shown_safely(text);
        assert!(!text.starts_with(['=', '+', '-', '@', '\t', '\r']), "{text:?}");
    }
    let bytes = fs::read(folder.path().join("objects.csv")).expect("a file");
    assert!(bytes.ends_with(b"\r\n"));
    assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), rows["objects"].len() + 1);
}

#[test]
fn large_addresses_keep_all_their_bits() {
    let mut run = hostile();
    run.processes[0].objects[0].address = u64::MAX;
    for &format in TableFormat::BUILT_IN {
        let (_folder, rows) = written(&run, format);
        assert_eq!(whole(&rows["objects"][0], "address"), u64::MAX);
    }
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    for &format in TableFormat::BUILT_IN {
        let (first, _) = written(&hostile(), format);
        let (second, _) = written(&hostile(), format);
        for table in TABLES {
            let name = format!("{}.{}", table.name, format.ending());
            let read = |folder: &tempfile::TempDir| fs::read(folder.path().join(&name)).expect("a file");
            assert!(read(&first) == read(&second), "{name}");
        }
    }
}

#[test]
fn an_empty_run_has_all_tables() {
    for &format in TableFormat::BUILT_IN {
        let (_folder, rows) = written(&empty(), format);
        assert_eq!(rows.len(), TABLES.len());
        assert!(rows.values().all(Vec::is_empty));
    }
}

#[test]
#[cfg(not(feature = "parquet"))]
fn parquet_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let below = folder.path().join("tables");
    let error = tables(&hostile(), &[], TableFormat::Parquet, &below).expect_err("no Parquet");
    assert!(error.to_string().contains("--features parquet"), "{error}");
    assert!(!below.exists());
}

#[test]
fn a_folder_with_files_stays_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("waits.csv"), "mine").expect("write");
    let result = tables(&hostile(), &[], TableFormat::Csv, folder.path());
    assert!(matches!(result, Err(ExportError::FolderInUse { .. })), "{result:?}");
    assert_eq!(fs::read(folder.path().join("waits.csv")).expect("read"), b"mine");
    let below_a_file = folder.path().join("waits.csv/tables");
    let result = tables(&hostile(), &[], TableFormat::Csv, &below_a_file);
    assert!(matches!(result, Err(ExportError::File { .. })), "{result:?}");
}

#[test]
fn every_column_is_documented() {
    let page = include_str!("../../../../docs/export.md");
    for table in TABLES {
        let heading = format!("### `{}`", table.name);
        let (_, rest) = page.split_once(&heading).unwrap_or_else(|| panic!("no {heading}"));
        let section = rest.split("\n### ").next().expect("text");
        for column in table.columns {
            let row = format!("| `{}` | {} |", column.name, column.about);
            assert!(section.contains(&row), "{heading} lacks {row}");
        }
    }
}

#[test]
fn every_kind_of_object_is_described() {
    let page = include_str!("../../../../docs/export.md");
    let (_, section) = page.split_once("### `objects`").expect("the table of the objects");
    let row = section.lines().find(|line| line.starts_with("| `kind` |")).expect("its kinds");
    let schema = include_str!("../../../../docs/json-schema/report.schema.json");
    let line = schema.lines().find(|line| line.contains("description\": \"mutex, ")).expect("the schema's");
    for word in ObjectKind::ALL.map(ObjectKind::word) {
        assert!(row.contains(&format!("`{word}`")), "{row} lacks {word}");
        let ends = [",", ";", "."].map(|end| format!("{word}{end}"));
        assert!(ends.iter().any(|listed| line.contains(listed)), "{line} lacks {word}");
    }
}
