//! The JSON: it follows its schema, the schema is complete, and the terminal shows nothing that is not in it.

use std::collections::BTreeSet;

use holdup_criticality::{Gain, NobodyCause};
use holdup_model::Nanos;
use holdup_report::{Look, json, render};
use serde_json::Value;

use crate::faces::examples::{self, ms};

pub(crate) fn schema() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json-schema/report.schema.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn reports() -> Vec<(&'static str, Value)> {
    let mut reports: Vec<_> =
        examples::all().into_iter().map(|(name, run, diagnoses)| (name, json(&run, &diagnoses))).collect();
    let (run, mut diagnoses) = examples::planted_lock();
    diagnoses[0].findings[0].gain = Some(Gain {
        time: ms(4_400),
        low: ms(3_900),
        high: ms(4_700),
        expression: "lock:cache_lock=0".to_owned(),
        capped_by: None,
    });
    reports.push(("with a gain", json(&run, &diagnoses)));
    reports
}

#[test]
fn every_report_follows_the_schema() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    for (name, report) in reports() {
        let errors: Vec<String> =
            validator.iter_errors(&report).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    let (_, good) = reports().swap_remove(0);
    for (pointer, wrong) in [
        ("/schema", Value::from(2)),
        ("/run/wall_ns", Value::from(1.5)),
        ("/criticality/threads/0/share", Value::from(1.5)),
        ("/findings/0/where", Value::Null),
        ("/findings/0/where/line", Value::from("212")),
        ("/critical_path/steps/0/state", Value::from("running")),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = wrong;
        assert!(!validator.is_valid(&bad), "{pointer} was accepted");
    }
}

/// Walks a report along its schema and notes each member that the schema does not describe.
fn undescribed(value: &Value, schema: &Value, root: &Value, path: &str, out: &mut BTreeSet<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap();
        return undescribed(value, target, root, path, out);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        if !value.is_null() {
            undescribed(value, &choices[0], root, path, out);
        }
        return;
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let path = format!("{path}/{name}");
                match schema["properties"].get(name) {
                    Some(inner) => undescribed(member, inner, root, &path, out),
                    None => {
                        out.insert(path);
                    }
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                undescribed(item, &schema["items"], root, &format!("{path}[]"), out);
            }
        }
        _ => {}
    }
}

#[test]
fn every_member_is_described() {
    let schema = schema();
    let mut missing = BTreeSet::new();
    for (_, report) in reports() {
        undescribed(&report, &schema, &schema, "", &mut missing);
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn each_cause_of_nobodys_time_has_its_member() {
    let (run, mut diagnoses) = examples::planted_lock();
    diagnoses[0].criticality.threads = vec![0.0; 8];
    diagnoses[0].criticality.nobody = vec![
        (NobodyCause::Io, 1e9),
        (NobodyCause::Sleep, 2e9),
        (NobodyCause::WakeUp, 3e9),
        (NobodyCause::RunQueue, 4e9),
        (NobodyCause::Other, 2.4e9),
    ];
    let expected = serde_json::json!({
        "io": 1_000_000_000, "sleep": 2_000_000_000, "wake_up": 3_000_000_000u64,
        "run_queue": 4_000_000_000u64, "other": 2_400_000_000u64,
    });
    assert_eq!(json(&run, &diagnoses)["criticality"]["nobody_ns"], expected);
}

#[test]
fn criticality_adds_up_exactly() {
    let (run, mut diagnoses) = examples::planted_lock();
    let sevenths = diagnoses[0].wall.get() as f64 / 70.0;
    diagnoses[0].criticality.threads = (1..=8).map(|index| f64::from(index) * sevenths).collect();
    diagnoses[0].criticality.nobody =
        vec![(NobodyCause::Io, 33.5 * sevenths), (NobodyCause::Sleep, 0.5 * sevenths)];
    let mut reports = reports();
    reports.push(("sevenths", json(&run, &diagnoses)));
    for (name, report) in reports {
        let criticality = &report["criticality"];
        if criticality.is_null() {
            continue;
        }
        let threads = criticality["threads"].as_array().unwrap();
        let nobody = criticality["nobody_ns"].as_object().unwrap().values();
        let sum: u64 =
            threads.iter().map(|t| &t["criticality_ns"]).chain(nobody).map(|n| n.as_u64().unwrap()).sum();
        assert_eq!(Some(sum), criticality["total_ns"].as_u64(), "{name}");
    }
}

#[test]
fn what_is_not_known_is_null() {
    let (run, diagnoses) = examples::planted_lock();
    let report = json(&run, &diagnoses);
    let unknown = &report["critical_path"]["steps"][0]["where"];
    for member in ["function", "file", "line", "module", "address"] {
        assert_eq!(unknown.get(member), Some(&Value::Null), "{member}");
    }
    assert_eq!(report["findings"][0]["where"]["function"], "cache_put");
    assert_eq!(report["findings"][0]["where"]["line"], 212);
    assert_eq!(report["findings"][0]["gain"], Value::Null);
    let nothing = json(&holdup_model::Run::default(), &[]);
    assert_eq!(nothing["process"], Value::Null);
    assert_eq!(nothing["criticality"], Value::Null);
}

/// All numbers and texts of a report.
fn leaves<'a>(value: &'a Value, numbers: &mut Vec<f64>, texts: &mut Vec<&'a str>) {
    match value {
        Value::Number(number) => numbers.extend(number.as_f64()),
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, numbers, texts)),
        Value::Object(members) => members.values().for_each(|member| leaves(member, numbers, texts)),
        _ => {}
    }
}

/// A word without the signs behind it.
fn bare(word: &str) -> &str {
    word.trim_end_matches([',', ';', ':', '.', ')'])
}

/// The words of a text, a number in groups of three as one word.
fn words(text: &str) -> Vec<String> {
    let is_group = |word: &str| word.len() == 3 && word.chars().all(|c| c.is_ascii_digit());
    let mut out: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match out.last_mut() {
            Some(last) if is_group(word) && last.ends_with(|c: char| c.is_ascii_digit()) => {
                last.push_str(word)
            }
            _ => out.push(word.to_owned()),
        }
    }
    out
}

#[test]
fn the_terminal_shows_nothing_else() {
    let units = [("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0), ("%", 0.01), ("", 1.0)];
    for (name, run, diagnoses) in examples::all() {
        let report = json(&run, &diagnoses);
        let (mut numbers, mut texts) = (Vec::new(), Vec::new());
        leaves(&report, &mut numbers, &mut texts);
        // A loss of the cost identity is shown as a share of the wall time, what programs did as a share of the run.
        let wall = |of: &str| report[of]["wall_ns"].as_f64().filter(|wall| *wall > 0.0).unwrap_or(1.0);
        let walls = [wall("process"), wall("run")];
        numbers.extend(numbers.clone().iter().flat_map(|number| walls.map(|wall| number / wall)));
        // Threads that are merged in the bar are shown by their sum: `others 12 %`, `4 threads of NAME ████ 80 %`.
        let merged = |before: &[String]| {
            let is_bar = |word: &String| word.chars().all(|c| c == '█');
            match before.split_last() {
                Some((bar, [.., threads, of, _])) if is_bar(bar) => threads == "threads" && of == "of",
                Some((word, _)) => word == "others" || word == "threads",
                None => false,
            }
        };
        let shown = render(&run, &diagnoses, Look::plain(120));
        let words = words(&shown);
        for (index, word) in words.iter().enumerate() {
            let Ok(number) = bare(word).parse::<f64>() else { continue };
            let unit = words.get(index + 1).map_or("", |unit| bare(unit));
            let scale = units.iter().find(|(word, _)| *word == unit).map_or(1.0, |(_, scale)| *scale);
            let digits = bare(word).split_once('.').map_or(0, |(_, d)| d.len());
            let half = 0.5001 * 10f64.powi(-(digits as i32));
            let found = numbers.iter().any(|known| (known / scale - number).abs() <= half)
                || texts
                    .iter()
                    .any(|text| text.contains(&format!("{} {unit}", word.trim_start_matches('('))))
                || merged(&words[..index]);
            let context = &words[index.saturating_sub(4)..(index + 3).min(words.len())];
            assert!(found, "{name}: {context:?} is not in the JSON");
        }
    }
}

#[test]
fn hot_spots_have_shares_of_what_was_sampled() {
    let (run, diagnoses) = examples::sampled_lock();
    let hot = &json(&run, &diagnoses)["hot_spots"];
    let inside = &hot["lines"][1];
    assert_eq!(inside["where"]["line"], 1204);
    assert_eq!(inside["inside"], "memcpy");
    assert_eq!(inside["critical_ns"], ms(2_900).get());
    assert_eq!(inside["active_share"], 0.5);
    assert_eq!(inside["threads"][0]["time_ns"], ms(19_000).get());
    let shares = hot["lines"].as_array().unwrap().iter().map(|line| line["critical_share"].as_f64().unwrap());
    assert!((shares.sum::<f64>() - 11.5 / 12.3).abs() < 1e-12);
    let (run, diagnoses) = examples::planted_lock();
    assert_eq!(json(&run, &diagnoses)["hot_spots"], Value::Null);
}

#[test]
fn the_course_is_counted_from_the_start_of_the_run() {
    let (mut run, diagnoses) = examples::sampled_lock();
    run.start = examples::at(1_000);
    let course = &json(&run, &diagnoses)["over_time"];
    assert_eq!(course["slice_ns"], ms(62).get());
    assert_eq!(course["slices"].as_array().unwrap().len(), 200);
    assert_eq!(course["phases"][1]["start_ns"], ms(240).get());
    assert_eq!(course["phases"][1]["end_ns"], ms(10_200).get());
    assert_eq!(course["phases"][1]["threads"][0]["criticality_ns"], ms(2_988).get());
    assert_eq!(course["worst"]["start_ns"], ms(10_400).get());
}

#[test]
fn what_surrounded_the_run_is_there() {
    let (run, diagnoses) = examples::surrounded();
    let environment = &json(&run, &diagnoses)["run"]["environment"];
    let placement = &environment["placements"][0];
    assert_eq!(environment["online"], "0-7,16");
    assert_eq!(placement["effective_cores"], 3);
    assert_eq!(placement["pins"][0], serde_json::json!({"cpus": "2", "tids": [103, 104]}));
    assert_eq!(placement["quotas"][0]["cpus"], 2.5);
    assert_eq!(placement["quotas"][0]["throttling"]["throttled"], 41);
    assert_eq!(environment["load"]["others_ns"], ms(22_190).get());
    assert_eq!(environment["frequencies"][0]["driver"], Value::Null);
    let (run, diagnoses) = examples::planted_lock();
    assert_eq!(json(&run, &diagnoses)["run"]["environment"]["online"], Value::Null);
}

#[test]
fn numbers_agree_with_the_diagnosis() {
    let (run, diagnoses) = examples::planted_lock();
    let report = json(&run, &diagnoses);
    let told = &diagnoses[0];
    assert_eq!(report["run"]["wall_ns"], told.wall.get());
    assert_eq!(report["process"]["efficiency"], told.efficiency);
    assert_eq!(report["findings"][0]["cost_ns"], told.findings[0].cost.get());
    assert_eq!(report["objects"][0]["hold_basis"], "estimated");
    assert_eq!(report["objects"][0]["hold_ns"], ms(8_800).get());
    let identity = &report["cost_identity"];
    let parts: u64 =
        identity["parts"].as_array().unwrap().iter().map(|p| p["cost_ns"].as_u64().unwrap()).sum();
    let whole =
        identity["useful_ns"].as_u64().unwrap() + parts + identity["unexplained_ns"].as_u64().unwrap();
    assert_eq!(Nanos::new(whole), told.wall);
}
