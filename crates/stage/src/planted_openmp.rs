//! The OpenMP workloads: what `holdup scale` must say of them at one and at two threads, whichever compiler made them.

use serde_json::Value;

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
        region: "",
        largest: &["lock_algorithm", "lock_contention"],
        hints: &["lock-hint", "atomic", "queue-lock", "fewer-concurrent"],
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

/// What is not as it was planted.
pub fn complaints(json: &Value, planted: &Planted) -> Option<String> {
    let is_it = |region: &Value| region["kind"] == "parallel" && function(region).starts_with(planted.region);
    let Some((index, region)) = regions(json).find(|(_, region)| is_it(region)) else {
        return Some(format!("no region in {:?}", planted.region));
    };
    let most = largest(region).unwrap_or_default();
    if !planted.largest.contains(&most) {
        return Some(format!("the largest cost is {most}"));
    }
    let hints: Vec<&str> = json["hints"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|hint| hint["region"].as_u64() == Some(index as u64) || planted.region.is_empty())
        .filter_map(|hint| hint["kind"].as_str())
        .collect();
    let hinted = hints.iter().any(|kind| planted.hints.contains(kind));
    (!hinted).then(|| format!("the hints are {hints:?}"))
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
