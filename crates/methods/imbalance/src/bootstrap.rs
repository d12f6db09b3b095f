//! How sure a score is: the bootstrap.
//!
//! Threads are drawn with replacement within each instance, as many as there were; β and s are computed again for the same
//! clusters and leaders. The interval holds the middle 95 % of the scores (percentile bootstrap: Efron and Tibshirani, An
//! Introduction to the Bootstrap, section 13.3). It says how far the score hangs on single threads; that clusters and
//! causes were chosen by the same data is not in it.

use holdup_model::Arrange;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::causes::Found;
use super::charge::Charges;
use super::events::Events;
use super::leaders::entering;
use super::program::Program;
use super::regress::together;
use super::rows::{dot, to_unit};

/// The same numbers are drawn each time.
const SEED: u64 = 0x006c_696d_6500;

/// 95 % intervals of the scores; `None` where none was asked for, or half of the draws have no score (all their threads are
/// alike).
pub(super) fn intervals(
    program: &Program<'_>,
    charges: &Charges,
    events: &Events,
    chosen: &[&[f64]],
    found: &[Found],
    draws: u32,
) -> Vec<Option<(f64, f64)>> {
    let mut scores: Vec<Vec<f64>> = vec![Vec::new(); found.len()];
    let Some(time) = &events.time else { return vec![None; found.len()] };
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let paths: Vec<Option<Path>> = found.iter().map(|found| path(program, charges, events, found)).collect();
    let mut needed: Vec<usize> = paths
        .iter()
        .flatten()
        .flat_map(|path| path.before.iter().map(|(at, _)| *at).chain([path.after]))
        .collect();
    needed.sort_unstable();
    needed.dedup();
    for _ in 0..draws {
        let rows = draw(events, &mut random);
        let again = |column: &[f64]| -> Option<Vec<f64>> {
            let mut values: Vec<f64> = rows.iter().map(|row| column[*row]).collect();
            events.rows.centre(&mut values);
            to_unit(&mut values, 1.0).map(|_| values)
        };
        let Some(time) = again(time) else { continue };
        let Some(columns) = chosen.iter().map(|column| again(column)).collect::<Option<Vec<_>>>() else {
            continue;
        };
        let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let Some(beta) = together(&time, &columns) else { continue };
        let with_time =
            |distinct: usize| again(events.vector(distinct)).map_or(0.0, |column| dot(&column, &time));
        for ((found, path), scores) in found.iter().zip(&paths).zip(&mut scores) {
            let step = match path {
                None => 1.0,
                Some(Path { after, before }) => {
                    let before =
                        before.iter().map(|(at, weight)| weight * with_time(*at)).fold(0.0, f64::max);
                    with_time(*after) - before
                }
            };
            scores.push(beta[found.regressor] * step);
        }
    }
    scores.into_iter().map(|scores| middle(scores, draws)).collect()
}

/// What makes the score of a leader.
struct Path {
    /// The column of its edge.
    after: usize,
    /// Those of what leads in, with the share that counts.
    before: Vec<(usize, f64)>,
}

fn path(program: &Program<'_>, charges: &Charges, events: &Events, found: &Found) -> Option<Path> {
    let leader = found.leader?;
    let before = entering(program, charges, events, leader.block, leader.edge);
    let before = before.into_iter().filter_map(|(edge, weight)| Some((events.of(edge)?, weight))).collect();
    Some(Path { after: events.of(leader.edge)?, before })
}

/// Rows, drawn within each instance.
fn draw(events: &Events, random: &mut ChaCha8Rng) -> Vec<usize> {
    let mut rows = Vec::with_capacity(events.rows.len());
    for span in events.rows.spans() {
        for _ in span.clone() {
            // The high half of a product is even enough: an instance has far fewer than 2^32 threads.
            let number = (u128::from(random.next_u64()) * span.len() as u128) >> 64;
            rows.push(span.start + number as usize);
        }
    }
    rows
}

/// The middle 95 % of scores.
fn middle(mut scores: Vec<f64>, draws: u32) -> Option<(f64, f64)> {
    if scores.is_empty() || scores.len() * 2 < draws as usize {
        return None;
    }
    scores.arrange_by(f64::total_cmp);
    let at = |share: f64| {
        let place = share * (scores.len() - 1) as f64;
        let (low, part) = (place.floor() as usize, place.fract());
        let high = (low + 1).min(scores.len() - 1);
        scores[low] + part * (scores[high] - scores[low])
    };
    Some((at(0.025), at(0.975)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_between_the_percentiles() {
        let scores: Vec<f64> = (0..=200).rev().map(f64::from).collect();
        assert_eq!(middle(scores, 201), Some((5.0, 195.0)));
    }

    #[test]
    fn too_few_scores_are_no_interval() {
        assert_eq!(middle(vec![1.0; 99], 200), None);
        assert_eq!(middle(Vec::new(), 0), None);
    }
}
