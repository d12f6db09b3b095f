//! What `holdup why` says of the workloads of `workloads/lime.tsv`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

pub(crate) use holdup_stage::lime::*;

use super::{HOLDUP, run, text};

/// `holdup why --json` of a program, whose own output comes first.
pub(crate) fn why(options: &[&str], program: &Path, arguments: &[&str]) -> Value {
    let mut command = Command::new(HOLDUP);
    command.args(["why", "--json"]).args(options).arg("--").arg(program).args(arguments);
    let ended = run(&mut command);
    assert_eq!(ended.status, 0, "{command:?}: {ended:?}");
    let said = text(&ended.stdout);
    let begin = said.find("{\n").unwrap_or_else(|| panic!("no JSON: {ended:?}"));
    serde_json::from_str(&said[begin..]).unwrap_or_else(|error| panic!("no JSON ({error}): {ended:?}"))
}
