//! The fixed method: all instances of a section at once.
//!
//! Rows are thread × instance, everything centred within its instance, so that many instances of few threads give as much to
//! go by as one of many threads, and instances do not cancel each other. What enters is bounded for the number of
//! candidates ([`Rules::bounded`]); only what grows with time is a candidate, only edges in the cluster make a score.

use std::collections::BTreeMap;

use super::bootstrap::intervals;
use super::causes::{Blamed, Found, find};
use super::charge::Charges;
use super::cluster::Tree;
use super::deal::Dealt;
use super::events::Events;
use super::leaders::Cluster;
use super::program::Program;
use super::regress::{Fit, Rules, forward};
use super::{Method, WhyOptions};

/// Thresholds are tried in steps of this.
const STEP: f64 = 0.05;

/// A cause with what is known of how sure it is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judged {
    pub(super) found: Found,
    pub(super) interval: Option<(f64, f64)>,
    pub(super) stable: Option<(f64, f64)>,
}

/// Causes in instances that are looked at together.
pub(super) fn stacked(
    program: &Program<'_>,
    charges: &Charges,
    instances: &[&Dealt<'_>],
    options: &WhyOptions,
) -> Vec<Judged> {
    let events = Events::new(program, instances);
    let tree = tree(&events, options);
    let (found, candidates, fit) =
        at_threshold(program, charges, &events, &tree, options.threshold, Method::Stacked);
    let found: Vec<Found> = found.into_iter().filter(|found| found.score >= options.least_score).collect();
    if found.is_empty() {
        return Vec::new();
    }
    let mut range: BTreeMap<Blamed, (f64, f64)> = BTreeMap::new();
    for threshold in thresholds(options) {
        let (other, _, _) = at_threshold(program, charges, &events, &tree, threshold, Method::Stacked);
        for other in other.iter().filter(|other| other.score >= options.least_score) {
            let (low, high) = range.entry(other.blamed).or_insert((threshold, threshold));
            (*low, *high) = (low.min(threshold), high.max(threshold));
        }
    }
    let chosen: Vec<&[f64]> = fit.chosen.iter().map(|at| candidates[*at].as_slice()).collect();
    let intervals = intervals(program, charges, &events, &chosen, &found, options.draws);
    found
        .into_iter()
        .zip(intervals)
        .map(|(found, interval)| Judged { stable: range.get(&found.blamed).copied(), interval, found })
        .collect()
}

/// The tree of clusters, as deep as any threshold needs.
pub(super) fn tree(events: &Events, options: &WhyOptions) -> Tree {
    let weights: Vec<f64> = events.members.iter().map(|members| members.len() as f64).collect();
    let lowest = options.threshold.min(options.tried_thresholds.0);
    Tree::new(events.vectors(), events.rows.len(), &weights, lowest)
}

/// All thresholds to try.
pub(super) fn thresholds(options: &WhyOptions) -> Vec<f64> {
    let (low, high) = options.tried_thresholds;
    let steps = ((high - low) / STEP + 1e-9).clamp(0.0, 100.0) as u32;
    (0..=steps).map(|step| low + STEP * f64::from(step)).map(|value| (value * 1e9).round() / 1e9).collect()
}

/// What is found at one threshold, with the candidates and the regression that it comes from.
pub(super) fn at_threshold(
    program: &Program<'_>,
    charges: &Charges,
    events: &Events,
    tree: &Tree,
    threshold: f64,
    method: Method,
) -> (Vec<Found>, Vec<Vec<f64>>, Fit) {
    let Some(time) = &events.time else { return (Vec::new(), Vec::new(), Fit::default()) };
    let mut clusters = Vec::new();
    let mut candidates = Vec::new();
    for distinct in tree.clusters(threshold) {
        // A cluster of events that cancel each other is none.
        if let Some(average) = events.average(&distinct) {
            candidates.push(average);
            clusters.push(Cluster { distinct });
        }
    }
    let rules = match method {
        Method::Paper => Rules::PAPER,
        Method::Stacked => Rules::bounded(candidates.len()),
    };
    let freedom = events.rows.len() - events.rows.instances();
    let fit = forward(time, &candidates, freedom, rules);
    let found = find(program, charges, events, &clusters, &fit, &candidates, method);
    (found, candidates, fit)
}
