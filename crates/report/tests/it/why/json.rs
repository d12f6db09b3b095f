//! The JSON follows its schema, which describes all of it.

use std::collections::BTreeSet;

use holdup_report::{why_json, why_json_text};
use serde_json::Value;

use crate::shared::schema::{all_follow, schema_of, undescribed};
use crate::why::examples;

fn schema() -> Value {
    schema_of("why")
}

#[test]
fn every_analysis_follows_the_schema() {
    let answers =
        examples::all().into_iter().map(|(name, why, scene)| (name.to_owned(), why_json(&why, &scene)));
    all_follow(&schema(), answers);
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let validator = jsonschema::draft202012::new(&schema()).expect("a schema");
    let good = why_json(&examples::lu(), &examples::scene());
    for (pointer, wrong) in [
        ("/schema", Value::from(2)),
        ("/run/source", Value::from("guessed")),
        ("/run/wall_ns", Value::from(1.5)),
        ("/method/name", Value::from("best")),
        ("/time_unit", Value::from("seconds")),
        ("/sections/0/where", Value::Null),
        ("/sections/0/kind", Value::from("lock")),
        ("/sections/0/verdict", Value::from("maybe")),
        ("/sections/0/native/time_ns/0", Value::from(-1)),
        ("/sections/0/causes/0/kind", Value::from("branch")),
        ("/sections/0/causes/0/interval/1", Value::from("1")),
        ("/sections/0/causes/0/counts", Value::Null),
        ("/sections/0/causes/0/inlined/0/line", Value::from("7")),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = wrong;
        assert!(!validator.is_valid(&bad), "{pointer} was accepted");
    }
}

#[test]
fn the_schema_describes_every_member() {
    let schema = schema();
    let mut out = BTreeSet::new();
    for (_, why, scene) in examples::all() {
        undescribed(&why_json(&why, &scene), &schema, &schema, "", &mut out);
    }
    assert!(out.is_empty(), "{out:?}");
}

#[test]
fn numbers_are_those_of_the_analysis() {
    let lu = examples::lu();
    let value = why_json(&lu, &examples::scene());
    let (section, first) = (&value["sections"][0], &value["sections"][0]["causes"][0]);
    assert_eq!(
        (&value["run"]["wall_ns"], &value["time_unit"]),
        (&1_240_000_000.into(), &"instructions".into())
    );
    assert_eq!((&section["instances"], &section["imbalance"]), (&32.into(), &0.355.into()));
    assert_eq!(section["where"]["line"], 420);
    assert_eq!(
        (&section["explained"], &section["verdict"]),
        (&lu.sections[0].explained.into(), &"found".into())
    );
    assert_eq!((&first["kind"], &first["what"]), (&"control-flow".into(), &"branch".into()));
    assert_eq!((&first["where"]["function"], &first["where"]["line"]), (&"owner".into(), &407.into()));
    assert_eq!((&first["score"], &first["charge"]), (&0.88.into(), &0.85.into()));
    assert_eq!(first["interval"], serde_json::json!([0.88 - 0.07, 0.88 + 0.05]));
    assert_eq!(first["counts"], serde_json::json!([240, 210, 180, 150, 120, 90, 60, 30]));
    assert_eq!(value["sections"][1]["native"], Value::Null);
    assert_eq!(section["causes"][2]["minor"], true);
}

#[test]
fn no_score_is_given_where_there_are_no_statistics() {
    let value = why_json(&examples::two_threads(), &examples::scene());
    let cause = &value["sections"][0]["causes"][0];
    assert_eq!((&cause["score"], &cause["charge"]), (&Value::Null, &0.93.into()));
}

#[test]
fn the_text_is_the_value_and_safe_to_print() {
    for (name, why, scene) in examples::all() {
        let text = why_json_text(&why, &scene);
        assert!(
            !text.contains(|c: char| c.is_control() && c != '\n') && !text.contains('\u{202e}'),
            "{name}"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), why_json(&why, &scene), "{name}");
    }
}
