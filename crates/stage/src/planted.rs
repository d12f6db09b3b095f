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

/// How much of the run a change would save, as shares of its wall time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// The least.
    pub low: f64,
    /// The one that is told.
    pub likely: f64,
    /// The most.
    pub high: f64,
}

impl Gain {
    /// The `gain` of a finding, or of a hint, of a run that took `wall_ns`; nothing where none is told.
    pub fn of(gain: &Value, wall_ns: f64) -> Option<Gain> {
        let share = |key: &str| Some(gain[key].as_f64()? / wall_ns).filter(|share| share.is_finite());
        Some(Gain { low: share("low_ns")?, likely: share("ns")?, high: share("high_ns")? })
    }
}

/// Whether a report says what was planted.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The finding at the row's rank is the planted one; where nothing is planted, nothing is said to hold the program up.
    pub first: bool,
    /// Some finding, of whatever kind and rank, names the planted place. `None` where nothing is planted.
    pub place: Option<bool>,
    /// What is told of the planted finding, where it is at its rank.
    pub gain: Option<Gain>,
}

/// Holds the report of the planted form against a row. `alone` says that nobody else used the machine: then findings about
/// others are wrong answers, else they are left out.
pub fn verdict(json: &Value, row: &Expected, alone: bool) -> Verdict {
    let told = if alone { all_findings(json) } else { findings(json) };
    if row.kinds.is_empty() {
        let held_up = told.first().is_some_and(|first| first["share"].as_f64() > Some(0.10));
        return Verdict { first: !held_up, place: None, gain: None };
    }
    let at = told.get(row.rank - 1).filter(|finding| is_it(json, finding, row));
    let wall_ns = json["process"]["wall_ns"].as_f64().unwrap_or(0.0);
    Verdict {
        first: at.is_some(),
        place: Some(told.iter().any(|finding| is_there(json, finding, row))),
        gain: at.and_then(|finding| Gain::of(&finding["gain"], wall_ns)),
    }
}

/// True if the report of the fixed form no longer has the finding: it is not the first one, or costs less than a third.
pub fn is_gone(planted: &Value, fixed: &Value, row: &Expected) -> bool {
    if row.kinds.is_empty() {
        return verdict(fixed, row, false).first;
    }
    let Some(first) = findings(fixed).into_iter().next().filter(|first| is_it(fixed, first, row)) else {
        return true;
    };
    // A slow stage that has got more threads is still the slow one, and that is what fixing it means.
    let threads = |finding: &Value| finding["threads"].as_array().map_or(0, Vec::len);
    let before = findings(planted).into_iter().find(|finding| is_it(planted, finding, row));
    let shared_out =
        word(first, "kind") == "pipeline" && before.is_some_and(|before| threads(first) > threads(before));
    shared_out || share(fixed, row) <= share(planted, row) / 3.0
}

/// What is found, less what other programs on the machine did: that is not the workload's.
pub fn findings(json: &Value) -> Vec<&Value> {
    all_findings(json).into_iter().filter(|finding| word(finding, "kind") != "delayed").collect()
}

fn all_findings(json: &Value) -> Vec<&Value> {
    json["findings"].as_array().map_or(&[][..], Vec::as_slice).iter().collect()
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

/// True if the finding is the one that a row describes: at its place, of one of its kinds.
fn is_it(json: &Value, finding: &Value, row: &Expected) -> bool {
    is_there(json, finding, row)
        && (about_cores(finding) || row.kinds.iter().any(|kind| kind == word(finding, "kind")))
}

/// True if a finding says that there are too few cores. It has no place in the source: it is known by its counts. Where a
/// program may use some of the machine's CPUs only, it is their affinity that makes them few.
fn about_cores(finding: &Value) -> bool {
    ["oversubscription", "affinity"].contains(&word(finding, "kind"))
}

/// True if the finding is at the place that a row describes.
fn is_there(json: &Value, finding: &Value, row: &Expected) -> bool {
    if about_cores(finding) {
        return row.kinds.iter().any(|kind| kind == "oversubscription")
            && names_counts(word(finding, "what"));
    }
    let object = object_of(json, finding);
    let named = row.object.is_empty()
        || object.is_some_and(|object| word(object, "name") == row.object)
        || word(finding, "what").contains(&row.object);
    let made = row.created_in.is_empty()
        || object.is_some_and(|object| word(&object["created_at"], "function") == row.created_in)
        || finding.to_string().contains(&row.created_in);
    let function = word(&finding["where"], "function");
    let placed = row
        .functions
        .iter()
        .any(|wanted| wanted == function || word(finding, "what").contains(wanted.as_str()));
    named && made && placed
}

/// A line for each finding, for a reader.
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
