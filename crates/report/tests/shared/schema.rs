//! Schemas of answers: that they describe every member.

use std::collections::BTreeSet;

use serde_json::Value;

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
