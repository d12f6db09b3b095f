//! The JSON follows its schema, which describes all of it.

use std::collections::BTreeSet;

use holdup_report::{SimTold, sim_json, sim_json_text};
use serde_json::Value;

use crate::shared::schema::{all_follow, schema_of, undescribed};
use crate::sim::examples;

fn schema() -> Value {
    schema_of("sim")
}

#[test]
fn every_simulation_follows_the_schema() {
    let answers = examples::all().into_iter().map(|(name, told)| (name.to_owned(), sim_json(&told)));
    all_follow(&schema(), answers);
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let validator = jsonschema::draft202012::new(&schema()).expect("a schema");
    let good =
        sim_json(&SimTold { speedup_stacks: examples::streamcluster().speedup_stacks, ..examples::fft() });
    for (pointer, wrong) in [
        ("/schema", Value::from(2)),
        ("/machine", Value::Null),
        ("/cycles", Value::from(-1)),
        ("/threads/0/stack/mem-dram", Value::from(1.5)),
        ("/aggregate/0/kind", Value::from("some")),
        ("/speed/mips", Value::from("fast")),
        ("/components/0/name", Value::from("base")),
        ("/simulations/0/lines/0/where", Value::Null),
        ("/simulations/0/lines/1/served/l3", Value::from("3")),
        ("/simulations/0/sections/0/kind", Value::from("lock")),
        ("/simulations/0/shared_lines/0/bytes/0/variable/name", Value::Null),
        ("/simulations/0/shared_lines/0/padded_cycles", Value::from(0.5)),
        ("/simulations/0/resources/0/busy_cycles", Value::Null),
        ("/speedup_stacks/0/variant_cycles/5", Value::Null),
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
    for (_, told) in examples::all() {
        undescribed(&sim_json(&told), &schema, &schema, "", &mut out);
    }
    assert!(out.is_empty(), "{out:?}");
}

/// The sum of a stack.
fn sum(stack: &Value) -> u64 {
    stack.as_object().expect("a stack").values().map(|cycles| cycles.as_u64().expect("cycles")).sum()
}

#[test]
fn every_stack_adds_up_to_the_cycles_beside_it() {
    for (name, told) in examples::all() {
        let value = sim_json(&told);
        for one in value["simulations"].as_array().expect("simulations") {
            for thread in one["threads"].as_array().expect("threads") {
                assert_eq!(sum(&thread["stack"]), one["cycles"].as_u64().unwrap(), "{name}");
                assert_eq!(thread["cycles"], one["cycles"], "{name}");
            }
            for member in ["aggregate", "lines", "functions", "sections"] {
                for part in one[member].as_array().expect("parts") {
                    assert_eq!(sum(&part["stack"]), part["cycles"].as_u64().unwrap(), "{name}: {member}");
                }
            }
        }
        for stack in value["speedup_stacks"].as_array().expect("stacks") {
            let losses = stack["losses"].as_array().expect("losses").iter();
            let all = losses.filter_map(|loss| loss["speedup"].as_f64()).sum::<f64>()
                + stack["speedup"].as_f64().unwrap_or(f64::NAN);
            assert!(all.is_nan() || (all - stack["cores"].as_f64().unwrap()).abs() < 1e-9, "{name}: {all}");
        }
    }
}

#[test]
fn the_first_simulation_stands_at_the_top() {
    let value = sim_json(&examples::streamcluster());
    assert_eq!(
        (&value["machine"], &value["cores"], &value["cycles"]),
        (&"dunnington".into(), &2.into(), &60_000_000.into())
    );
    for member in ["machine", "cores", "cycles", "instructions", "threads", "aggregate", "speed"] {
        assert_eq!(value[member], value["simulations"][0][member]);
    }
    assert_eq!(value["simulations"][4]["speedup"]["of"], 3);
    assert_eq!(value["growth"]["to_cores"], 16);
}

#[test]
fn numbers_are_those_of_the_simulation() {
    let value = sim_json(&examples::fft());
    let one = &value["simulations"][0];
    assert_eq!(value["aggregate"][0]["group"], "slave_start");
    assert_eq!(value["aggregate"][0]["threads"], serde_json::json!([1, 2, 3, 4, 5, 6, 7]));
    assert_eq!(value["aggregate"][1]["group"], "main");
    assert_eq!(
        (&one["lines"][0]["where"]["line"], &one["lines"][0]["cycles"]),
        (&240.into(), &25_000_000.into())
    );
    assert_eq!(one["lines"][1]["stack"]["mem-off_socket"], 14_000_000);
    assert_eq!(one["lines"][1]["served"]["off_socket"], 30);
    assert_eq!(one["functions"][1]["where"]["function"], "transpose");
    let line = &one["shared_lines"][0];
    assert_eq!((&line["false_sharing"], &line["padded_cycles"]), (&true.into(), &11_900_000.into()));
    assert_eq!(line["bytes"][0]["variable"]["part"], "[0]");
    assert_eq!(line["bytes"][1]["writers"], serde_json::json!([5]));
    assert_eq!(line["bytes"][1]["at"][0]["line"], 31);
    assert_eq!(one["shared_lines"][1]["false_sharing"], false);
    assert_eq!(one["speed"]["mips"], 142.3);
}

#[test]
fn the_text_is_the_value_and_safe_to_print() {
    for (name, told) in examples::all() {
        let text = sim_json_text(&told);
        assert!(
            !text.contains(|c: char| c.is_control() && c != '\n') && !text.contains('\u{202e}'),
            "{name}"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), sim_json(&told), "{name}");
    }
}
