//! The method as the paper's section 3 has it: each dynamic instance by itself, then a weighted average (section 3.6).

use std::collections::BTreeMap;

use super::causes::{Blamed, Found};
use super::charge::Charges;
use super::deal::Dealt;
use super::events::Events;
use super::program::Program;
use super::stacked::{Judged, at_threshold, thresholds, tree};
use super::{Method, WhyOptions};

/// Instances with fewer threads have no degree of freedom left for an F-test.
const FEWEST_THREADS: usize = 3;

/// Scores of one cause, as they come in.
struct Sum {
    score: f64,
    /// The cause as it is in the instance that weighs most so far.
    heaviest: (u64, Found),
    instances: u32,
}

/// Causes in each instance, their scores averaged with the instances' idle time as weights: instances in which a cause was not
/// found count with a score of 0.
pub(super) fn paper(
    program: &Program<'_>,
    charges: &Charges,
    instances: &[&Dealt<'_>],
    options: &WhyOptions,
) -> Vec<Judged> {
    let tried = thresholds(options);
    let mut sums: BTreeMap<Blamed, Sum> = BTreeMap::new();
    let mut at_others: BTreeMap<(Blamed, usize), f64> = BTreeMap::new();
    let mut weights = 0.0;
    for instance in instances.iter().filter(|instance| instance.threads.len() >= FEWEST_THREADS) {
        let idle = instance.idle();
        if idle == 0 {
            continue;
        }
        let weight = idle as f64;
        weights += weight;
        let events = Events::new(program, &[instance]);
        let tree = tree(&events, options);
        let (found, _, _) = at_threshold(program, charges, &events, &tree, options.threshold, Method::Paper);
        for found in found {
            let sum = sums.entry(found.blamed).or_insert_with(|| Sum {
                score: 0.0,
                heaviest: (0, found.clone()),
                instances: 0,
            });
            sum.score += weight * found.score;
            sum.instances += 1;
            if sum.heaviest.0 < idle {
                sum.heaviest = (idle, found);
            }
        }
        for (at, threshold) in tried.iter().enumerate() {
            let (found, _, _) = at_threshold(program, charges, &events, &tree, *threshold, Method::Paper);
            for found in found {
                *at_others.entry((found.blamed, at)).or_insert(0.0) += weight * found.score;
            }
        }
    }
    let mut judged = Vec::new();
    for (blamed, sum) in sums {
        let score = sum.score / weights;
        if score < options.least_score {
            continue;
        }
        let at: Vec<f64> = tried
            .iter()
            .enumerate()
            .filter(|(at, _)| {
                at_others.get(&(blamed, *at)).is_some_and(|score| score / weights >= options.least_score)
            })
            .map(|(_, threshold)| *threshold)
            .collect();
        let stable = at.first().copied().zip(at.last().copied());
        let found = Found { score, instances: sum.instances, ..sum.heaviest.1 };
        judged.push(Judged { found, interval: None, stable });
    }
    judged
}
