//! What of an answer goes into the tables.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::plan::Measure;

/// The numbers of one answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Numbers {
    /// Whole numbers by column.
    #[serde(default)]
    pub whole: BTreeMap<String, u64>,
    /// Numbers with a fraction by column.
    #[serde(default)]
    pub real: BTreeMap<String, f64>,
    /// The stacks.
    #[serde(default)]
    pub stacks: Vec<StackNumbers>,
}

/// Components that add up to a total.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StackNumbers {
    /// `cycles`, `speedup`, `loss` or `criticality`.
    pub name: String,
    /// `cycles`, `threads` (of a speedup) or `ns`.
    pub unit: String,
    /// Each once, in the order of the answer.
    pub components: Vec<(String, f64)>,
    /// What a share is a share of.
    pub total: f64,
}

impl StackNumbers {
    fn new(name: &str, unit: &str, components: Vec<(String, f64)>) -> StackNumbers {
        let total = components.iter().map(|(_, value)| value).sum();
        StackNumbers { name: name.to_owned(), unit: unit.to_owned(), components, total }
    }
}

/// Takes the numbers out of what holdup printed with `--json`. `is_changed` asks for the simulation with a change instead of the
/// unchanged one.
///
/// # Errors
/// Says in one line what the answer lacks.
pub fn numbers(answer: &[u8], measure: Measure, is_changed: bool) -> Result<Numbers, String> {
    let answer: Value =
        serde_json::from_slice(answer).map_err(|error| format!("holdup's answer is no JSON ({error})"))?;
    let found = match measure {
        Measure::Sim => simulated(&answer, is_changed),
        Measure::Report => reported(&answer),
    };
    found.ok_or_else(|| match measure {
        Measure::Sim => "holdup's answer has no such simulation".to_owned(),
        Measure::Report => "nothing is known of the program's threads".to_owned(),
    })
}

fn simulated(answer: &Value, is_changed: bool) -> Option<Numbers> {
    let is_it =
        |run: &&Value| run["changes"].as_array().is_some_and(|changes| changes.is_empty() != is_changed);
    let run = answer["simulations"].as_array()?.iter().find(is_it)?;
    let names = answer["components"].as_array()?.iter().filter_map(|component| component["name"].as_str());
    // Paper 3, section 2.3: the threads that work, added component by component.
    let groups = run["aggregate"].as_array()?;
    // Not a plain sum: that of nothing is -0.
    let of = |name: &str| {
        groups.iter().filter_map(|group| group["stack"][name].as_f64()).fold(0.0, |sum, cycles| sum + cycles)
    };
    let mut numbers = Numbers::default();
    numbers.stacks.push(StackNumbers::new(
        "cycles",
        "cycles",
        names.map(|name| (name.to_owned(), of(name))).collect(),
    ));
    for name in ["cycles", "instructions"] {
        numbers.whole.insert(name.to_owned(), run[name].as_u64()?);
    }
    numbers.whole.insert("simulated_cores".to_owned(), run["cores"].as_u64()?);
    numbers.whole.insert("program_threads".to_owned(), run["threads"].as_array()?.len() as u64);
    numbers.real.extend(run["cpi"].as_f64().map(|cpi| ("cpi".to_owned(), cpi)));
    let frequency = run["frequency_ghz"].as_f64()?;
    // Cycles over cycles for each ns.
    numbers.real.insert("simulated_ns".to_owned(), run["cycles"].as_f64()? / frequency);
    if let Some(stack) = answer["speedup_stacks"].as_array()?.first() {
        let speedup = stack["speedup"].as_f64()?;
        let losses = stack["losses"].as_array()?.iter();
        let mut components = vec![("speedup".to_owned(), speedup)];
        components
            .extend(losses.filter_map(|loss| {
                Some((loss["component"].as_str()?.to_owned(), loss["speedup"].as_f64()?))
            }));
        numbers.stacks.push(StackNumbers::new("speedup", "threads", components));
    }
    Some(numbers)
}

fn reported(answer: &Value) -> Option<Numbers> {
    let mut numbers = Numbers::default();
    numbers.whole.insert("wall_ns".to_owned(), answer["run"]["wall_ns"].as_u64()?);
    let process = &answer["process"];
    for (column, name) in [("program_threads", "threads"), ("workers", "workers")] {
        numbers.whole.insert(column.to_owned(), process[name].as_u64()?);
    }
    for name in ["parallelism", "efficiency"] {
        numbers.real.extend(process[name].as_f64().map(|value| (name.to_owned(), value)));
    }
    let identity = &answer["cost_identity"];
    if let Some(parts) = identity["parts"].as_array() {
        let mut losses: BTreeMap<String, f64> = BTreeMap::new();
        for part in parts {
            *losses.entry(part["kind"].as_str()?.to_owned()).or_default() += part["cost_ns"].as_f64()?;
        }
        let mut components = vec![("useful".to_owned(), identity["useful_ns"].as_f64()?)];
        components.extend(losses);
        components.push(("unexplained".to_owned(), identity["unexplained_ns"].as_f64()?));
        numbers.stacks.push(StackNumbers::new("loss", "ns", components));
    }
    let criticality = &answer["criticality"];
    if let Some(threads) = criticality["threads"].as_array() {
        // Threads by rank: their numbers mean nothing from run to run.
        let mut each: Vec<f64> =
            threads.iter().filter_map(|thread| thread["criticality_ns"].as_f64()).collect();
        each.sort_by(|a, b| b.total_cmp(a));
        let nobody = criticality["nobody_ns"].as_object()?;
        let mut components: Vec<(String, f64)> =
            nobody.iter().filter_map(|(why, time)| Some((format!("nobody_{why}"), time.as_f64()?))).collect();
        components
            .extend(each.iter().enumerate().map(|(rank, time)| (format!("thread_{}", rank + 1), *time)));
        numbers.stacks.push(StackNumbers::new("criticality", "ns", components));
    }
    Some(numbers)
}
