//! Stacks from the JSON of `holdup sim`, `holdup report` and `holdup stack`.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use holdup_characterize::Labels;
use serde_json::Value;

use super::labels::of_command;
use super::rows::{Found, Gathered, Kind};
use super::stacks::{StackKind, criticality, shares};
use crate::failure::Failure;

/// The rows of one file.
pub(super) fn read(path: &Path, of: Option<StackKind>) -> Result<Gathered, Failure> {
    let refused = |what: &str| Failure::input(format!("{}: {what}", path.display()));
    let file = File::open(path).map_err(|error| refused(&format!("it cannot be read ({error})")))?;
    let value: Value = serde_json::from_reader(BufReader::new(file))
        .map_err(|error| refused(&format!("it is no JSON ({error}); give a file of holdup sim, stack or report --json, a recording, CSV or Parquet")))?;
    let told = match (of, Told::of(&value)) {
        (_, None) => {
            return Err(refused("it has no stacks; give what holdup sim, stack or report --json wrote"));
        }
        (None | Some(StackKind::Cycles), Some(Told::Sim)) => sim(&value),
        (None | Some(StackKind::Speedup), Some(Told::Stack)) => speedup(&value),
        (None | Some(StackKind::Losses), Some(Told::Report)) => losses(&value),
        (Some(StackKind::Criticality), Some(Told::Report)) => of_threads(&value),
        (Some(_), Some(told)) => {
            return Err(refused(&format!("it has {}, not what --of asks for", told.what())));
        }
    };
    let (kind, rows) = told.ok_or_else(|| refused("nothing was recorded in it; holdup report says why"))?;
    let mut gathered = Gathered::new(Kind::Stack(kind));
    rows.into_iter().for_each(|row| gathered.push(row));
    Ok(gathered)
}

type Rows = Option<(StackKind, Vec<Found>)>;

/// Which command wrote it.
#[derive(Clone, Copy)]
enum Told {
    Sim,
    Stack,
    Report,
}

impl Told {
    fn of(value: &Value) -> Option<Told> {
        let has = |member: &str| value.get(member).is_some();
        if has("simulations") {
            Some(Told::Sim)
        } else if has("phases") && has("order") {
            Some(Told::Stack)
        } else if has("cost_identity") {
            Some(Told::Report)
        } else {
            None
        }
    }

    fn what(self) -> &'static str {
        match self {
            Told::Sim => "cycle stacks",
            Told::Stack => "speedup stacks",
            Told::Report => "losses and criticality",
        }
    }
}

fn words(value: &Value) -> Vec<String> {
    let words = value.as_array().map(Vec::as_slice).unwrap_or_default();
    words.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

fn count(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|count| u32::try_from(count).ok())
}

/// A row for each simulation and each group of threads that does work (paper 3, section 2.3).
fn sim(value: &Value) -> Rows {
    let command = words(&value["run"]["command"]);
    let mut rows = Vec::new();
    for simulation in value["simulations"].as_array()? {
        let works = |group: &&Value| group["stack"].as_object().is_some_and(|stack| !stack.is_empty());
        let groups: Vec<&Value> = simulation["aggregate"].as_array()?.iter().filter(works).collect();
        for group in &groups {
            let mut labels = of_command(&command, count(&simulation["cores"]));
            // Several recordings in one answer are told by their files.
            if let Some(input) = simulation["input"].as_str().filter(|input| !input.is_empty()) {
                labels = Labels { threads: labels.threads, ..Labels::of(stem(input)) };
            }
            if groups.len() > 1 {
                labels.program =
                    format!("{}_{}", labels.program, group["group"].as_str().unwrap_or("unknown"));
            }
            labels.machine = simulation["machine"].as_str().map(str::to_owned);
            let changes = words(&simulation["changes"]);
            labels.what_if = (!changes.is_empty()).then(|| changes.join("; "));
            let stack = group["stack"].as_object()?;
            let parts: Vec<(String, f64)> =
                stack.iter().filter_map(|(name, cycles)| Some((name.clone(), number(cycles)?))).collect();
            rows.push(Found { labels, parts: shares(parts) });
        }
    }
    Some((StackKind::Cycles, rows))
}

/// A file's name without its folder and its ending.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".holdup").unwrap_or(name)
}

/// What the wall time of the process that is told was lost to.
fn losses(value: &Value) -> Rows {
    let identity = &value["cost_identity"];
    let mut parts = vec![("useful".to_owned(), number(&identity["useful_ns"])?)];
    for part in identity["parts"].as_array()? {
        parts.push((part["kind"].as_str()?.to_owned(), number(&part["cost_ns"])?));
    }
    parts.push(("unexplained".to_owned(), number(&identity["unexplained_ns"])?));
    let found = Found { labels: of_process(value), parts: shares(parts) };
    Some((StackKind::Losses, vec![found]))
}

fn of_threads(value: &Value) -> Rows {
    let of = &value["criticality"];
    let threads = of["threads"].as_array()?.iter().filter_map(|thread| number(&thread["share"])).collect();
    let found =
        Found { labels: of_process(value), parts: criticality(threads, number(&of["nobody_share"])?) };
    Some((StackKind::Criticality, vec![found]))
}

fn of_process(value: &Value) -> Labels {
    let process = &value["process"];
    of_command(&words(&process["command"]), count(&process["workers"]))
}

/// A row for each number of threads: what of it the whole program's speedup is lost to.
fn speedup(value: &Value) -> Rows {
    let command = words(&value["command"]);
    let whole = value["phases"].as_array()?.iter().find(|phase| phase["kind"] == "whole")?;
    let mut rows = Vec::new();
    for point in whole["stacks"].as_array()? {
        let (Some(threads), Some(reached)) = (count(&point["threads"]), number(&point["speedup"])) else {
            continue;
        };
        let of = f64::from(threads.max(1));
        let mut parts = vec![("speedup".to_owned(), reached / of)];
        let components = point["components"].as_object()?;
        let known = components.iter().filter_map(|(name, lost)| Some((name.clone(), number(lost)? / of)));
        parts.extend(known);
        if let Some(amount) = number(&point["together"]["amount"]) {
            parts.push((words(&point["together"]["of"]).join("+"), amount / of));
        }
        rows.push(Found { labels: of_command(&command, Some(threads)), parts });
    }
    Some((StackKind::Speedup, rows))
}
