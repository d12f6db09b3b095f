//! The workloads of `workloads/expected.tsv`: what is planted in each, and whether a report says so.
//!
//! How threads meet is up to the machine, so that a report of one run is not held to this by a test: how many of many runs
//! are right is what `cargo xtask truth` measures.

use std::path::PathBuf;

use serde_json::Value;

use crate::{Form, Stage, workspace};

/// What holdup must say.
const TABLE: &str = "expected.tsv";

/// A row of a table in `workloads/`.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The folder in `workloads/`, and how tests and tables call it.
    pub name: String,
    /// The place of the finding, from 1.
    pub rank: usize,
    /// How [`Stage::form`] builds it.
    pub language: String,
    /// The file, or the folder of a project.
    pub source: PathBuf,
    /// What it is run with.
    pub arguments: Vec<String>,
    /// The flags that choose the fixed form.
    pub fixed_flags: Vec<String>,
    /// Kinds of findings of which any will do; empty where nothing is planted.
    pub kinds: Vec<String>,
    /// Functions of which any will do.
    pub functions: Vec<String>,
    /// The name of the object, if it has one.
    pub object: String,
    /// The function that made the object, if it has no name.
    pub created_in: String,
}

/// All rows of the table.
pub fn table() -> Vec<Expected> {
    let folder = workspace().join("workloads");
    let table =
        std::fs::read_to_string(folder.join(TABLE)).unwrap_or_else(|error| panic!("{TABLE}: {error}"));
    let list = |text: &str, by: char| -> Vec<String> {
        text.split(by).map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, rank, language, source, arguments, fixed, kinds, functions, object, created_in, ..] =
            fields[..]
        else {
            panic!("a row: {line}")
        };
        Expected {
            name: name.to_owned(),
            rank: rank.parse().expect("a rank"),
            language: language.to_owned(),
            source: folder.join(source),
            arguments: list(arguments, ' '),
            fixed_flags: list(fixed, ' '),
            kinds: list(kinds, ','),
            functions: list(functions, ','),
            object: object.to_owned(),
            created_in: created_in.to_owned(),
        }
    };
    table.lines().skip(1).map(row).collect()
}

/// The planted and the fixed form of a row's program, where the tools for its language are there.
pub fn forms(stage: &Stage, row: &Expected) -> Option<[Form; 2]> {
    let planted = stage.form(&row.name, &row.language, &row.source, &[])?;
    let fixed = stage.form(&format!("{}_fixed", row.name), &row.language, &row.source, &row.fixed_flags)?;
    Some([planted, fixed])
}

/// What is not as the table says.
pub fn complaints(rows: &[Expected], with: &Value, without: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for row in rows {
        if row.kinds.is_empty() {
            for (form, json) in [("planted", with), ("fixed", without)] {
                if let Some(first) = findings(json).first()
                    && first["share"].as_f64() > Some(0.10)
                {
                    wrong.push(format!("the {form} form is said to be held up: {}", word(first, "what")));
                }
            }
            continue;
        }
        let at = findings(with).into_iter().nth(row.rank - 1);
        if !at.is_some_and(|finding| is_it(with, finding, row)) {
            wrong.push(format!("finding {} is not what was planted", row.rank));
            continue;
        }
        let (before, after) = (share(with, row), share(without, row));
        let first = findings(without).into_iter().next().filter(|finding| is_it(without, finding, row));
        // A slow stage that has got more threads is still the slow one, and that is what mending it means.
        let threads = |finding: &Value| finding["threads"].as_array().map_or(0, Vec::len);
        let shared_out = |first: &Value| {
            word(first, "kind") == "pipeline" && at.is_some_and(|planted| threads(first) > threads(planted))
        };
        if first.is_some_and(|first| !shared_out(first)) && after > before / 3.0 {
            wrong.push(format!("mended, it still costs {:.1} % of {:.1} %", after * 100.0, before * 100.0));
        }
    }
    wrong
}

/// What is found, less what other programs on the machine did: that is not the workload's.
pub fn findings(json: &Value) -> Vec<&Value> {
    let all = json["findings"].as_array().expect("findings");
    all.iter().filter(|finding| !["delayed", "load"].contains(&word(finding, "kind"))).collect()
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// The object that a finding is about.
fn object_of<'a>(json: &'a Value, finding: &Value) -> Option<&'a Value> {
    let index = finding["object"].as_u64()?;
    json["objects"].as_array()?.iter().find(|object| object["object"] == index)
}

/// True if a sentence names counts of threads and of cores, as "3 threads share 2 cores" does.
fn names_counts(what: &str) -> bool {
    let words: Vec<&str> = what.split_whitespace().collect();
    let counted =
        |noun: &str| words.windows(2).any(|pair| pair[0].parse::<u32>().is_ok() && pair[1].starts_with(noun));
    counted("threads") && (counted("cores") || counted("CPUs"))
}

/// True if the finding is the one that a row describes. Having too few cores has no place in the source: it is known by
/// its counts.
fn is_it(json: &Value, finding: &Value, row: &Expected) -> bool {
    let told = finding.to_string();
    let object = object_of(json, finding);
    let named = row.object.is_empty()
        || object.is_some_and(|object| word(object, "name") == row.object)
        || word(finding, "what").contains(&row.object);
    let made = row.created_in.is_empty()
        || object.is_some_and(|object| word(&object["created_at"], "function") == row.created_in)
        || told.contains(&row.created_in);
    let function = word(&finding["where"], "function");
    // Where a test may use some of the machine's CPUs only, it is their affinity that makes them few.
    if ["oversubscription", "affinity"].contains(&word(finding, "kind")) {
        return row.kinds.iter().any(|kind| kind == "oversubscription")
            && names_counts(word(finding, "what"));
    }
    let placed = row.functions.iter().any(|wanted| wanted == function)
        || row.functions.iter().any(|wanted| word(finding, "what").contains(wanted.as_str()));
    row.kinds.iter().any(|kind| kind == word(finding, "kind")) && named && made && placed
}

/// A line for each finding, for what a failed test says.
pub fn shown(json: &Value) -> String {
    let lines = findings(json).into_iter().enumerate().map(|(index, finding)| {
        let object = object_of(json, finding).map_or_else(String::new, |object| {
            format!(", object {} made in {}", object["name"], object["created_at"]["function"])
        });
        format!(
            "{}. {} in {}, {:.1} %: {}{object}\n",
            index + 1,
            word(finding, "kind"),
            finding["where"]["function"],
            finding["share"].as_f64().unwrap_or(0.0) * 100.0,
            word(finding, "what"),
        )
    });
    lines.collect()
}

/// The finding's share of the time, 0 where it is not there.
fn share(json: &Value, row: &Expected) -> f64 {
    let shares = findings(json).into_iter().filter(|finding| is_it(json, finding, row));
    shares.filter_map(|finding| finding["share"].as_f64()).fold(0.0, f64::max)
}
