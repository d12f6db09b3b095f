//! The OpenMP workloads: what `holdup scale` must say of them at one and at two threads, whichever compiler made them.

use serde_json::Value;

use crate::planted::Gain;

/// What `holdup scale` must say of a workload at one and at two threads.
pub struct Planted {
    /// The folder in `workloads/`.
    pub name: &'static str,
    /// The region's function, or the beginning of the function that the compiler made of it.
    pub region: &'static str,
    /// The member of `costs` at two threads that must be the largest of those that name a cause: any of these.
    pub largest: &'static [&'static str],
    /// The kind of a hint for it: any of these.
    pub hints: &'static [&'static str],
}

/// All of them.
pub const PLANTED: &[Planted] = &[
    Planted { name: "omp_mandelbrot", region: "render", largest: &["imbalance"], hints: &["schedule"] },
    Planted {
        name: "omp_locks",
        region: "own_locks",
        largest: &["lock_algorithm"],
        hints: &["lock-hint", "atomic"],
    },
    Planted {
        name: "omp_locks",
        region: "shared_lock",
        largest: &["lock_contention"],
        hints: &["queue-lock", "fewer-concurrent"],
    },
    Planted {
        name: "omp_ua",
        region: "gather",
        largest: &["lock_algorithm"],
        hints: &["lock-hint", "atomic"],
    },
    Planted {
        name: "omp_tasks",
        region: "",
        largest: &["scheduling", "starvation"],
        hints: &["task-cutoff"],
    },
    Planted {
        name: "omp_starve",
        region: "filter_frame",
        largest: &["starvation", "imbalance"],
        hints: &["more-tasks"],
    },
    Planted {
        name: "omp_critical",
        region: "add_items",
        largest: &["lock_contention"],
        hints: &["fewer-concurrent"],
    },
    Planted {
        name: "omp_barriers",
        region: "run_steps",
        largest: &["imbalance"],
        hints: &["barriers", "schedule"],
    },
    Planted { name: "omp_serial", region: "run_frames", largest: &["serial"], hints: &["parallelize"] },
    Planted {
        name: "omp_collapse",
        region: "blur_frame",
        largest: &["imbalance"],
        hints: &["collapse", "schedule"],
    },
    Planted {
        name: "omp_sections",
        region: "decode_frame",
        largest: &["imbalance"],
        hints: &["schedule", "collapse"],
    },
];

/// The point at two threads.
pub fn at_two(value: &Value) -> Option<&Value> {
    value["points"].as_array()?.iter().find(|point| point["threads"] == 2)
}

/// The costs that the program causes. The others, the time from the last arrival on among them, are also what a machine
/// makes of it that other programs use too.
const CAUSES: [&str; 6] =
    ["imbalance", "lock_algorithm", "lock_contention", "scheduling", "serial", "starvation"];

/// The largest cost of a region that the program causes.
fn largest(region: &Value) -> Option<&'static str> {
    let costs = at_two(region)?["costs"].as_object()?;
    CAUSES.into_iter().max_by_key(|cause| costs.get(&format!("{cause}_ns")).and_then(Value::as_i64))
}

/// The regions with their numbers.
pub fn regions(json: &Value) -> impl Iterator<Item = (usize, &Value)> {
    json["regions"].as_array().into_iter().flatten().enumerate()
}

fn function(value: &Value) -> &str {
    value["where"]["function"].as_str().unwrap_or_default()
}

/// Whether a sweep says what was planted.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The region's largest cost is the planted one, and a hint for the region names a way out of it.
    pub first: bool,
    /// The region is named, and its largest cost is the planted one.
    pub place: bool,
    /// What the planted cost is at two threads (ns).
    pub cost_ns: f64,
    /// What that hint would save, as shares of the time with two threads.
    pub gain: Option<Gain>,
    /// What is not as it was planted.
    pub complaint: Option<String>,
}

/// Holds an answer of `holdup scale` against what is planted.
pub fn verdict(json: &Value, planted: &Planted) -> Verdict {
    let wrong = |complaint: String| Verdict {
        first: false,
        place: false,
        cost_ns: 0.0,
        gain: None,
        complaint: Some(complaint),
    };
    let is_it = |region: &Value| region["kind"] == "parallel" && function(region).starts_with(planted.region);
    let Some((index, region)) = regions(json).find(|(_, region)| is_it(region)) else {
        return wrong(format!("no region in {:?}", planted.region));
    };
    let cost = |cause: &&str| at_two(region).and_then(|point| point["costs"][format!("{cause}_ns")].as_f64());
    let cost_ns = planted.largest.iter().filter_map(cost).fold(0.0, f64::max);
    let most = largest(region).unwrap_or_default();
    if !planted.largest.contains(&most) {
        return Verdict { cost_ns, ..wrong(format!("the largest cost is {most}")) };
    }
    let hints: Vec<&Value> = json["hints"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|hint| hint["region"].as_u64() == Some(index as u64) || planted.region.is_empty())
        .collect();
    let kind = |hint: &Value| hint["kind"].as_str().unwrap_or_default().to_owned();
    let hint = hints.iter().find(|hint| planted.hints.contains(&kind(hint).as_str()));
    let kinds: Vec<String> = hints.iter().map(|hint| kind(hint)).collect();
    Verdict {
        first: hint.is_some(),
        place: true,
        cost_ns,
        gain: hint.and_then(|hint| Gain::of(&hint["gain"], wall_at_two(json)?)),
        complaint: hint.is_none().then(|| format!("the hints are {kinds:?}")),
    }
}

/// How long the program took with two threads (ns).
fn wall_at_two(json: &Value) -> Option<f64> {
    let run = json["runs"].as_array()?.iter().find(|run| run["threads"] == 2)?;
    run["measured"]["median_ns"].as_f64()
}

/// A line for each region and hint, for a reader.
pub fn shown(json: &Value) -> String {
    let lines = regions(json).map(|(index, region)| {
        let costs = at_two(region).map_or_else(String::new, |point| point["costs"].to_string());
        format!("  {index} {} {}: {costs}\n", region["kind"], region["where"]["function"])
    });
    let hints = json["hints"].as_array().into_iter().flatten();
    lines.chain(hints.map(|hint| format!("  hint {}: {}\n", hint["kind"], hint["what"]))).collect()
}
