//! Schemas of answers: that answers follow them, and that they describe every member.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

/// The schema of the answers of `holdup NAME`.
pub(crate) fn schema_of(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json-schema");
    let path = folder.join(format!("{name}.schema.json"));
    serde_json::from_str(&std::fs::read_to_string(path).expect("a schema")).expect("JSON")
}

/// Panics where one of these answers, by name, does not follow the schema.
pub(crate) fn all_follow(schema: &Value, answers: impl IntoIterator<Item = (String, Value)>) {
    let validator = jsonschema::draft202012::new(schema).expect("a schema");
    for (name, value) in answers {
        let errors = validator.iter_errors(&value);
        let errors: Vec<String> = errors.map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
}

/// Notes each member that the schema does not describe.
pub(crate) fn undescribed(
    value: &Value,
    schema: &Value,
    root: &Value,
    path: &str,
    out: &mut BTreeSet<String>,
) {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).expect("a definition");
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
            items.iter().for_each(|item| undescribed(item, &schema["items"], root, path, out));
        }
        _ => {}
    }
}
