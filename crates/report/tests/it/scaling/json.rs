//! The JSON follows its schema, which describes all of it.

use std::collections::BTreeSet;

use holdup_report::{scale_json, scale_json_text};
use serde_json::Value;

use crate::scaling::examples;
use crate::shared::schema::{all_follow, schema_of, undescribed};

fn schema() -> Value {
    schema_of("scale")
}

#[test]
fn every_analysis_follows_the_schema() {
    let answers = examples::all().into_iter().map(|(name, scaling)| (name.to_owned(), scale_json(&scaling)));
    all_follow(&schema(), answers);
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let validator = jsonschema::draft202012::new(&schema()).expect("a schema");
    let good = scale_json(&examples::lu());
    for (pointer, wrong) in [
        ("/schema", Value::from(2)),
        ("/runs/0/wall_ns", Value::from(1.5)),
        ("/runs/0/losses/lost_ns", Value::Null),
        ("/regions/0/where", Value::Null),
        ("/regions/0/kind", Value::from("loop")),
        ("/regions/0/points/0/ns", Value::from("7")),
        ("/hints/0/gain/low_ns", Value::from("640")),
        ("/model/predictions/0/efficiency", Value::from("1")),
        ("/pop/points/3/efficiency/factors/0/factors/1/value", Value::from(true)),
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
    undescribed(&scale_json(&examples::lu()), &schema, &schema, "", &mut out);
    assert!(out.is_empty(), "{out:?}");
}

#[test]
fn numbers_are_those_of_the_analysis() {
    let lu = examples::lu();
    let value = scale_json(&lu);
    assert_eq!(value["runs"][3]["wall_ns"], lu.points[3].wall.median.get());
    assert_eq!(value["regions"][0]["points"][3]["efficiency"], lu.regions[0].points[3].efficiency);
    assert_eq!(value["regions"][0]["where"]["function"], "blts._omp_fn.0");
    assert_eq!(value["regions"][0]["losses"]["imbalance_ns"], lu.regions[0].points[3].losses.imbalance);
    assert_eq!(value["hints"][1]["bound"], true);
    assert_eq!(value["hints"][2]["gain"], Value::Null);
    for run in value["runs"].as_array().expect("runs") {
        let losses = run["losses"].as_object().expect("losses");
        let parts = losses.iter().filter(|(name, _)| *name != "lost_ns");
        let sum: i64 = parts.map(|(_, part)| part.as_i64().expect("whole nanoseconds")).sum();
        assert_eq!(Value::from(sum), losses["lost_ns"]);
    }
}

#[test]
fn the_text_is_the_value_and_safe_to_print() {
    for (name, scaling) in examples::all() {
        let text = scale_json_text(&scaling);
        assert!(
            !text.contains(|c: char| c.is_control() && c != '\n') && !text.contains('\u{202e}'),
            "{name}"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), scale_json(&scaling), "{name}");
    }
}
