//! The JSON follows its schema, which describes all of it.

use std::collections::BTreeSet;

use holdup_report::{stack_json, stack_json_text};
use serde_json::Value;

use crate::shared::schema::{all_follow, schema_of, undescribed};
use crate::stack::examples;

fn schema() -> Value {
    schema_of("stack")
}

#[test]
fn every_profile_follows_the_schema() {
    let answers = examples::all().into_iter().map(|(name, profile)| (name.to_owned(), stack_json(&profile)));
    all_follow(&schema(), answers);
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let validator = jsonschema::draft202012::new(&schema()).expect("a schema");
    let good = stack_json(&examples::swaptions());
    for (pointer, wrong) in [
        ("/schema", Value::from(2)),
        ("/phases/0/kind", Value::from("loop")),
        ("/phases/0/curves/measured", Value::Null),
        ("/phases/0/stacks/2/components/cache", Value::from("0.8")),
        ("/phases/1/stacks/2/groups/0/cache_curve/0/bytes", Value::from(1.5)),
        ("/phases/0/discarded/0/beside", Value::from("friend")),
        ("/order/0", Value::from("luck")),
        ("/effort/runs", Value::Null),
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
    for (_, profile) in examples::all() {
        undescribed(&stack_json(&profile), &schema, &schema, "", &mut out);
    }
    assert!(out.is_empty(), "{out:?}");
}

#[test]
fn numbers_are_those_of_the_profile() {
    let profile = examples::swaptions();
    let value = stack_json(&profile);
    assert_eq!(value["phases"][0]["threads"], serde_json::json!([1, 2, 4]));
    assert_eq!(value["phases"][0]["stacks"][2]["components"]["cache"], 0.84);
    assert_eq!(value["phases"][1]["where"]["function"], "main");
    assert_eq!(value["phases"][1]["stacks"][2]["groups"][0]["sensitivity"]["lost_with_more"], 0.04);
    // Those that do not count are with the whole program.
    assert_eq!(value["phases"][0]["discarded"][0]["beside"], "pirate");
    for phase in value["phases"].as_array().expect("phases") {
        for stack in phase["stacks"].as_array().expect("stacks") {
            let parts = stack["components"].as_object().expect("components").values();
            let sum: f64 = parts.map(|part| part.as_f64().expect("a number")).sum();
            let total = sum + stack["speedup"].as_f64().expect("a speedup");
            assert!((total - stack["threads"].as_f64().expect("a count")).abs() < 1e-9, "{stack}");
        }
    }
}

#[test]
fn what_is_missing_is_null_and_not_nothing() {
    let value = stack_json(&examples::missing());
    let stack = &value["phases"][0]["stacks"][1];
    for component in ["extra_work", "cache", "memory"] {
        assert_eq!(stack["components"][component], Value::Null);
    }
    assert_eq!(stack["together"]["amount"], 0.9);
    assert_eq!(value["phases"][0]["curves"]["pirate"], serde_json::json!([1.0, null]));
    assert_eq!(value["phases"][1]["stacks"][0]["components"], Value::Null);
    assert_eq!(value["simulated"][0]["machine"], "nehalem");
}

#[test]
fn the_text_is_the_value_and_safe_to_print() {
    for (name, profile) in examples::all() {
        let text = stack_json_text(&profile);
        assert!(
            !text.contains(|c: char| c.is_control() && c != '\n') && !text.contains('\u{202e}'),
            "{name}"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), stack_json(&profile), "{name}");
    }
}
