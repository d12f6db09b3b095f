//! What the efficiency consists of: the tree of efficiencies, a column for each number of threads.

use askama::Template;
use holdup_model::Efficiency;
use holdup_scaling::Scaling;

use super::super::text::sentence;
use crate::scaling::words;

/// Deeper trees than this are cut: the hierarchy has four levels.
const DEEPEST: usize = 8;

/// From this efficiency down a value is marked, as the POP centre's reports do.
const GOOD: f64 = 0.8;

/// The section.
#[derive(Template)]
#[template(path = "scaling_efficiencies.html")]
pub(super) struct Efficiencies {
    threads: Vec<u32>,
    rows: Vec<Row>,
}

struct Row {
    depth: usize,
    name: String,
    /// Each value, and whether it is low.
    values: Vec<(String, bool)>,
}

impl Efficiencies {
    pub(super) fn new(scaling: &Scaling) -> Self {
        let roots: Vec<Option<&Efficiency>> = scaling.pop.iter().map(|point| Some(&point.root)).collect();
        let mut rows = Vec::new();
        if let Some(last) = scaling.pop.last() {
            add(&last.root, 0, &roots, &mut rows);
        }
        Self { threads: scaling.pop.iter().map(|point| point.threads).collect(), rows }
    }
}

/// Adds a row for `node` and for all below it; `same` is the node in its place at each number of threads.
fn add(node: &Efficiency, depth: usize, same: &[Option<&Efficiency>], rows: &mut Vec<Row>) {
    let value = |node: &Option<&Efficiency>| {
        node.map_or((String::new(), false), |node| (words::efficiency(node.value), node.value < GOOD))
    };
    rows.push(Row { depth, name: sentence(&node.name), values: same.iter().map(value).collect() });
    if depth >= DEEPEST {
        return;
    }
    for (place, factor) in node.factors.iter().enumerate() {
        let below: Vec<Option<&Efficiency>> = (same.iter())
            .map(|node| {
                node.and_then(|node| node.factors.get(place)).filter(|other| other.name == factor.name)
            })
            .collect();
        add(factor, depth + 1, &below, rows);
    }
}
