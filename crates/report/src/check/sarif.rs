//! What became of budgets as SARIF (Static Analysis Results Interchange Format 2.1.0), which reviews show at the lines of the source.

use holdup_compare::{Place, Verdict};
use serde_json::{Value, json};

use super::{file_below, sentence};
use crate::escape::escaped;

/// A result for each thing that exceeds a budget, at its line where that is known, with a line break at the end. Source files below
/// `root` are named from there.
pub fn check_sarif(verdicts: &[Verdict], root: Option<&str>) -> String {
    let exceeded = |verdict: &&Verdict| verdict.judged.iter().any(|judged| !judged.holds);
    let rules: Vec<Value> = verdicts
        .iter()
        .filter(exceeded)
        .map(|verdict| json!({ "id": rule(verdict), "shortDescription": { "text": rule(verdict) } }))
        .collect();
    let results = verdicts.iter().filter(exceeded).enumerate().flat_map(|(index, verdict)| {
        verdict.judged.iter().filter(|judged| !judged.holds).map(move |judged| {
            let mut result = json!({
                "ruleId": rule(verdict),
                "ruleIndex": index,
                "level": "error",
                "message": { "text": escaped(&sentence(&verdict.budget, judged)) },
            });
            if let Some(location) = judged.place.as_ref().and_then(|place| location(place, root)) {
                result["locations"] = json!([location]);
            }
            result
        })
    });
    let results: Vec<Value> = results.collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "holdup",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "results": results,
        }],
    });
    format!("{document:#}\n")
}

fn rule(verdict: &Verdict) -> String {
    escaped(&verdict.budget.text)
}

fn location(place: &Place, root: Option<&str>) -> Option<Value> {
    let file = file_below(place, root)?;
    let mut physical = json!({ "artifactLocation": { "uri": address(file) } });
    // Lines count from 1.
    if let Some(line @ 1..) = place.line {
        physical["region"] = json!({ "startLine": line });
    }
    Some(json!({ "physicalLocation": physical }))
}

/// A path as an address (RFC 3986): relative ones stay so.
fn address(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let mut out = if path.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in path.bytes() {
        if is_plain(byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_addresses() {
        assert_eq!(address("src/a b#.c"), "src/a%20b%23.c");
        assert_eq!(address("/usr/ä.c"), "file:///usr/%C3%A4.c");
    }
}
