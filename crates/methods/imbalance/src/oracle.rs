//! Each statistic against SciPy and statsmodels: values that `tests/it/oracle.py` recorded.

use std::collections::BTreeMap;

use super::cluster::Tree;
use super::gram_schmidt::own_part;
use super::regress::{Rules, forward};
use super::rows::dot;

/// A case: for each name its lines of numbers.
type Case = BTreeMap<String, Vec<Vec<f64>>>;

fn cases() -> Vec<Case> {
    let mut cases = vec![Case::new()];
    for line in include_str!("../tests/it/oracle.txt").lines().filter(|line| !line.starts_with('#')) {
        match line.split_once(": ") {
            Some((name, numbers)) => {
                let numbers = numbers.split(' ').map(|number| number.parse().expect("a number")).collect();
                cases.last_mut().expect("there is one").entry(name.to_owned()).or_default().push(numbers);
            }
            None => cases.push(Case::new()),
        }
    }
    cases.retain(|case| !case.is_empty());
    assert_eq!(cases.len(), 3);
    cases
}

fn close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        let error = (found - expected).abs();
        assert!(error <= 1e-9 * expected.abs().max(1e-3), "{what}: {found} is not {expected}");
    }
}

fn rows(case: &Case) -> usize {
    case["rows"][0][0] as usize
}

fn columns(case: &Case) -> Vec<Vec<f64>> {
    case["columns"][0].chunks_exact(rows(case)).map(<[f64]>::to_vec).collect()
}

#[test]
fn clusters() {
    for case in cases() {
        let columns = &case["columns"][0];
        let leaves = columns.len() / rows(&case);
        let tree = Tree::new(columns, rows(&case), &vec![1.0; leaves], 0.6);
        for expected in &case["clusters"] {
            let mut labels = vec![0.0; leaves];
            for (label, cluster) in tree.clusters(expected[0]).iter().enumerate() {
                cluster.iter().for_each(|leaf| labels[*leaf] = label as f64);
            }
            assert_eq!(labels, expected[1..]);
        }
    }
}

#[test]
fn correlations() {
    for case in cases() {
        let found: Vec<f64> = columns(&case).iter().map(|column| dot(column, &case["time"][0])).collect();
        close(&found, &case["pearson"][0], "pearson");
    }
}

#[test]
fn regression() {
    for case in cases() {
        let rules = Rules { significance: 2.0, least_added: 0.0, only_growing: false };
        let columns = columns(&case);
        // As many as were recorded: those that the oracle chose, and others that could have been.
        let fit = forward(&case["time"][0], &columns, rows(&case) - 1, rules);
        let expected: Vec<usize> = case["chosen"][0].iter().map(|at| *at as usize).collect();
        assert_eq!(fit.chosen[..3], expected);
        close(&fit.p[..3], &case["p"][0], "p");
        let three: Vec<Vec<f64>> = expected.iter().map(|at| columns[*at].clone()).collect();
        let fit = forward(&case["time"][0], &three, rows(&case) - 1, rules);
        assert_eq!(fit.chosen, [0, 1, 2]);
        close(&fit.beta, &case["beta"][0], "beta");
        close(&[fit.r_squared], &case["r_squared"][0], "r²");
    }
}

#[test]
fn gram_schmidt() {
    for case in cases() {
        let columns = columns(&case);
        let own = own_part(&columns[20], &[columns[3].clone(), columns[10].clone()]);
        close(&own, &case["own_part"][0], "own part");
    }
}
