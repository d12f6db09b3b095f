//! speedscope's format, held against its published schema.

use holdup_export::speedscope;
use holdup_model::Run;
use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::Value;

use super::cases::{any_run, assert_shown_safely, empty, hostile, times};

fn file(run: &Run) -> Value {
    let mut out = Vec::new();
    speedscope(run, &mut out).expect("memory takes everything");
    serde_json::from_slice(&out).expect("JSON")
}

fn validator() -> Validator {
    let schema = serde_json::from_str(include_str!("../schema/speedscope.schema.json")).expect("JSON");
    jsonschema::validator_for(&schema).expect("a schema")
}

fn check(file: &Value, validator: &Validator) {
    if let Some(error) = validator.iter_errors(file).next() {
        panic!("{}: {error}", error.instance_path());
    }
    let frames = file["shared"]["frames"].as_array().expect("frames").len() as u64;
    for profile in file["profiles"].as_array().expect("profiles") {
        let (samples, weights) =
            (profile["samples"].as_array().unwrap(), profile["weights"].as_array().unwrap());
        assert_eq!(samples.len(), weights.len());
        let total: u64 = weights.iter().map(|weight| weight.as_u64().expect("whole nanoseconds")).sum();
        assert_eq!(total, profile["endValue"].as_u64().unwrap() - profile["startValue"].as_u64().unwrap());
        for sample in samples {
            let stack = sample.as_array().unwrap();
            assert!(!stack.is_empty() && stack.iter().all(|frame| frame.as_u64().unwrap() < frames));
        }
    }
}

proptest! {
    #[test]
    fn the_schema_accepts_every_run(run in any_run()) {
        let (file, validator) = (file(&run), validator());
        check(&file, &validator);
        // Four of all threads together, then each thread's life.
        let expected: usize = run.processes.iter().map(|process| 4 + process.threads.len()).sum();
        let profiles = file["profiles"].as_array().unwrap();
        prop_assert_eq!(profiles.len(), expected);
        let mut at = 0;
        for process in &run.processes {
            at += 4;
            for sums in times(process) {
                let profile = &profiles[at];
                let length = profile["endValue"].as_u64().unwrap() - profile["startValue"].as_u64().unwrap();
                prop_assert_eq!(length, sums.values().sum::<u64>());
                at += 1;
            }
        }
    }
}

#[test]
fn hostile_names_are_spelled_out() {
    let file = file(&hostile());
    check(&file, &validator());
    for frame in file["shared"]["frames"].as_array().unwrap() {
        assert_shown_safely(frame["name"].as_str().unwrap());
        assert_shown_safely(frame["file"].as_str().unwrap_or_default());
    }
}

#[test]
fn an_empty_run_is_an_empty_file() {
    check(&file(&empty()), &validator());
}
