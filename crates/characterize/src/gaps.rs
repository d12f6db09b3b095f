//! Where in the plane of the first two components no program lies.

use crate::tree::distance;
use crate::{Pca, Tree};

/// A circle without a row in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// Its centre in the first two components.
    pub centre: [f64; 2],
    /// Its radius, in units of the components.
    pub radius: f64,
    /// The columns' values at its centre, if the other components are zero there.
    pub columns: Vec<f64>,
}

/// At most so many gaps are told.
const MOST: usize = 3;

/// Centres are looked for on a grid with so many steps on each side.
const GRID: usize = 64;

/// A circle counts as a gap if it is so many times as wide as it is from a row to the next one, in the middle of them all.
const WIDE: f64 = 2.0;

/// The largest circles that have no leaf in them and their centre among the leaves (in their convex hull), the widest
/// first; none reaches the centre of another one. A grid finds them, so a radius is off by at most one step of it.
pub(crate) fn gaps(pca: &Pca, tree: &Tree) -> Vec<Gap> {
    if pca.components() < 2 {
        return Vec::new();
    }
    let mut points: Vec<[f64; 2]> = tree
        .leaves
        .iter()
        .map(|rows| {
            let scores = pca.scores(rows[0]);
            [scores[0], scores[1]]
        })
        .collect();
    let hull = hull(&points);
    if hull.len() < 3 {
        return Vec::new();
    }
    let nearest = |from: &[f64; 2], points: &[[f64; 2]]| {
        points.iter().map(|point| distance(from, point)).fold(f64::INFINITY, f64::min)
    };
    let mut to_next: Vec<f64> = (0..points.len())
        .map(|at| nearest(&points[at], &points[..at]).min(nearest(&points[at], &points[at + 1..])))
        .filter(|distance| *distance > 0.0)
        .collect();
    to_next.sort_by(f64::total_cmp);
    let usual = to_next.get(to_next.len() / 2).copied().unwrap_or(0.0);
    let side = |at: usize| {
        let values = hull.iter().map(|point| point[at]);
        values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (x, y) = (side(0), side(1));
    let step = |(low, high): (f64, f64), k: usize| low + (high - low) * k as f64 / GRID as f64;
    let mut candidates: Vec<([f64; 2], f64)> = (0..=GRID)
        .flat_map(|i| (0..=GRID).map(move |j| (i, j)))
        .map(|(i, j)| [step(x, i), step(y, j)])
        .filter(|place| is_inside(place, &hull))
        .map(|place| (place, nearest(&place, &points)))
        .collect();
    let mut found = Vec::new();
    while found.len() < MOST {
        let widest = candidates.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
        let Some((centre, radius)) = widest.filter(|(_, radius)| *radius > WIDE * usual) else { break };
        found.push(Gap { centre, radius, columns: pca.columns_at(&centre) });
        points.push(centre);
        candidates.iter_mut().for_each(|(place, free)| *free = free.min(distance(place, &centre)));
    }
    found
}

/// Twice the area of the triangle, positive if it turns left.
fn turn(a: &[f64; 2], b: &[f64; 2], c: &[f64; 2]) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// The corners of the smallest convex shape around all points, turning left (Andrew's monotone chain).
fn hull(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    sorted.dedup();
    let half = |points: &mut dyn Iterator<Item = [f64; 2]>| {
        let mut chain: Vec<[f64; 2]> = Vec::new();
        for point in points {
            while chain.len() > 1 && turn(&chain[chain.len() - 2], &chain[chain.len() - 1], &point) <= 0.0 {
                chain.pop();
            }
            chain.push(point);
        }
        chain.pop();
        chain
    };
    let mut corners = half(&mut sorted.iter().copied());
    corners.extend(half(&mut sorted.iter().rev().copied()));
    corners
}

fn is_inside(place: &[f64; 2], hull: &[[f64; 2]]) -> bool {
    (0..hull.len()).all(|at| turn(&hull[at], &hull[(at + 1) % hull.len()], place) >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hull_of_a_square_has_its_corners() {
        let points = [[0.0, 0.0], [1.0, 0.0], [0.5, 0.5], [1.0, 1.0], [0.0, 1.0], [0.5, 0.0]];
        assert_eq!(hull(&points), [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]);
        assert!(is_inside(&[0.9, 0.9], &hull(&points)));
        assert!(!is_inside(&[1.1, 0.9], &hull(&points)));
    }

    #[test]
    fn points_on_a_line_have_no_inside() {
        assert!(hull(&[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]).len() < 3);
    }
}
