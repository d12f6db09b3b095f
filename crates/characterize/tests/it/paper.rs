//! Paper 3's own numbers (tables 4 and 5), and what they say of how they were made.

use holdup_characterize::{Keep, Labels, Pca, PcaOptions, TableBuilder};

/// Table 5: the weights of six components, by column; dashes are zeros.
const WEIGHTS: [[f64; 6]; 13] = [
    [0.03, 0.0, 0.08, 0.03, 0.13, 0.19],
    [0.19, 0.0, 0.42, 0.20, 0.84, -0.02],
    [0.24, 0.94, -0.02, -0.23, 0.0, 0.0],
    [0.03, 0.03, 0.05, 0.03, 0.08, 0.04],
    [0.15, 0.17, -0.39, 0.89, -0.06, 0.0],
    [0.0, 0.0, 0.0, 0.01, 0.0, 0.01],
    [0.06, 0.0, 0.14, 0.08, -0.06, -0.32],
    [0.0, 0.0, 0.0, 0.0, 0.01, 0.0],
    [0.20, -0.02, 0.35, 0.14, -0.20, -0.28],
    [0.16, -0.02, 0.43, 0.12, -0.31, 0.65],
    [0.85, -0.29, -0.35, -0.24, 0.04, 0.02],
    [0.28, 0.0, 0.46, 0.11, -0.36, -0.36],
    [0.12, 0.01, 0.06, 0.07, -0.01, 0.48],
];

/// Table 5's first line: the shares of the first five components, as differences of the sums, in per cent.
const SHARES: [f64; 5] = [51.16, 20.43, 8.14, 6.66, 5.52];

/// Table 4: mean and deviation of five components in each suite, and how many rows of it the paper names (its section 3.2).
const SUITES: [(f64, [(f64, f64); 5]); 3] = [
    (12.0, [(0.34, 0.10), (0.05, 0.21), (0.09, 0.09), (0.01, 0.07), (0.12, 0.11)]),
    (16.0, [(0.29, 0.10), (0.12, 0.21), (0.13, 0.12), (0.04, 0.05), (0.05, 0.18)]),
    (12.0, [(0.37, 0.15), (0.07, 0.23), (0.00, 0.13), (0.04, 0.10), (0.07, 0.12)]),
];

#[test]
fn the_papers_weights_are_orthonormal() {
    for a in 0..6 {
        for b in 0..6 {
            let dot: f64 = WEIGHTS.iter().map(|column| column[a] * column[b]).sum();
            let wanted = f64::from(u8::from(a == b));
            // Two decimals of 13 weights.
            assert!((dot - wanted).abs() < 0.06, "components {} and {}: {dot}", a + 1, b + 1);
        }
    }
}

#[test]
fn the_papers_shares_are_those_of_squares_about_zero() {
    let rows: f64 = SUITES.iter().map(|(rows, _)| rows).sum();
    let mean = |at: usize| SUITES.iter().map(|(count, of)| count * of[at].0).sum::<f64>() / rows;
    let about_zero = |at: usize| {
        SUITES.iter().map(|(count, of)| count * (of[at].0.powi(2) + of[at].1.powi(2))).sum::<f64>() / rows
    };
    let shares = |of: &dyn Fn(usize) -> f64| -> Vec<f64> {
        let total: f64 = (0..5).map(of).sum();
        (0..5).map(|at| 91.91 * of(at) / total).collect()
    };
    let uncentred = shares(&about_zero);
    let centred = shares(&|at| about_zero(at) - mean(at).powi(2));
    for at in 0..3 {
        assert!((uncentred[at] - SHARES[at]).abs() < 4.0, "PC{}: {:.1}", at + 1, uncentred[at]);
    }
    // The fourth and the fifth do not fit: docs/sweep.md says so.
    assert!((uncentred[3] - 2.6).abs() < 0.1 && (uncentred[4] - 10.9).abs() < 0.1, "{uncentred:?}");
    // About the mean PC1 would have less than PC2, which no order of components allows.
    assert!(centred[0] < 15.0 && centred[1] > 35.0, "{centred:?}");
}

#[test]
fn an_uncentred_analysis_finds_the_papers_weights_again() {
    // Rows whose values in the six components are those of a Walsh basis, of the sizes that the shares want: they do not
    // correlate, so the components of the rows are the weights.
    let sixth = 94.24 - 91.91;
    let sizes: Vec<f64> = SHARES.iter().chain([&sixth]).map(|share| share.sqrt()).collect();
    let mut table = TableBuilder::new((0..15).map(|column| format!("c{column}"))).unwrap();
    for row in 0..8u32 {
        let sign = |at: usize| if (row & at as u32).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
        let mut values: Vec<f64> =
            WEIGHTS.iter().map(|column| (0..6).map(|at| sign(at) * sizes[at] * column[at]).sum()).collect();
        // What the six components leave is in columns of its own, two of them so that neither comes before the fifth.
        values.extend([6, 7].map(|at| sign(at) * ((100.0 - 94.24f64) / 2.0).sqrt()));
        table.push(Labels::of(&format!("r{row}")), &values).unwrap();
    }
    let pca = Pca::of(&table.build().unwrap(), PcaOptions { centred: false, scaled: false }).unwrap();
    for at in 0..5 {
        for (column, weights) in WEIGHTS.iter().enumerate() {
            assert!((pca.weights(at)[column] - weights[at]).abs() < 0.08, "PC{} of {column}", at + 1);
        }
    }
    // Five pass 90 %; the paper kept six.
    assert_eq!(pca.kept(Keep::default()), 5);
}
