//! What holds for every table.

use holdup_characterize::{
    Characterization, Choice, Keep, Labels, Options, PcaOptions, Reduced, TableBuilder, characterize,
};
use proptest::prelude::*;

fn told(columns: usize, values: &[f64], options: &Options) -> Characterization {
    let mut table = TableBuilder::new((0..columns).map(|column| format!("c{column}"))).unwrap();
    for (row, values) in values.chunks_exact(columns).enumerate() {
        let labels = Labels {
            suite: Some(format!("s{}", row % 3)),
            input: Some(["small", "large"][row % 2].to_owned()),
            threads: Some(1 << (row % 4)),
            ..Labels::of(&format!("p{}", row / 8))
        };
        table.push(labels, values).unwrap();
    }
    characterize(table.build().unwrap(), options).unwrap()
}

/// Tables with few different numbers, so that rows are equal, columns are constant, and distances are tied.
fn tables() -> impl Strategy<Value = (usize, Vec<f64>)> {
    let value = prop_oneof![3 => (0..4).prop_map(f64::from), 1 => -1e3..1e3];
    (1usize..8, 1usize..20).prop_flat_map(move |(columns, rows)| {
        (Just(columns), prop::collection::vec(value.clone(), columns * rows))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn components_are_orthonormal_and_give_the_table_back(
        (columns, values) in tables(), centred: bool, scaled: bool,
    ) {
        let options = Options { pca: PcaOptions { centred, scaled }, ..Options::default() };
        let told = told(columns, &values, &options);
        let pca = &told.pca;
        for a in 0..pca.components() {
            for b in 0..pca.components() {
                let dot: f64 = pca.weights(a).iter().zip(pca.weights(b)).map(|(a, b)| a * b).sum();
                prop_assert!((dot - f64::from(u8::from(a == b))).abs() < 1e-9, "{a} and {b}: {dot}");
            }
            prop_assert!(a == 0 || pca.variances[a] <= pca.variances[a - 1]);
            prop_assert!(pca.weights(a)[pca.main(a)] > 0.0);
        }
        for (row, given) in values.chunks_exact(columns).enumerate() {
            for (back, value) in pca.columns_at(pca.scores(row)).iter().zip(given) {
                prop_assert!((back - value).abs() < 1e-8, "{back} was {value}");
            }
        }
        let sum: f64 = pca.shares.iter().sum();
        prop_assert!(pca.components() == 0 || (sum - 1.0).abs() < 1e-12);
    }

    #[test]
    fn clusters_have_each_row_once_and_a_representative_of_their_own(
        (columns, values) in tables(), count in 1usize..9,
    ) {
        let options = Options { clusters: Choice::Count(count), keep: Keep::Share(1.0), ..Options::default() };
        let told = told(columns, &values, &options);
        let rows = values.len() / columns;
        let clusters = &told.clusters;
        prop_assert_eq!(clusters.clusters.len(), count.min(rows));
        prop_assert_eq!(clusters.clusters.iter().map(|cluster| cluster.rows).sum::<usize>(), rows);
        let mut seen: Vec<usize> =
            clusters.clusters.iter().flat_map(|cluster| cluster.leaves.clone()).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..rows).collect::<Vec<_>>());
        for cluster in &clusters.clusters {
            prop_assert!(cluster.leaves.contains(&cluster.representative));
        }
        prop_assert!(told.tree.merges.windows(2).all(|pair| pair[0].distance <= pair[1].distance));
        for merge in &told.tree.merges {
            prop_assert!(merge.a < merge.b);
        }
    }

    #[test]
    fn the_same_table_gives_the_same((columns, values) in tables()) {
        let options = Options::default();
        prop_assert_eq!(told(columns, &values, &options), told(columns, &values, &options));
    }
}

#[test]
fn one_row_and_rows_without_a_difference_are_one_cluster() {
    for rows in [1, 2, 7] {
        let told = told(3, &[1.0, 0.1, 0.7].repeat(rows), &Options::default());
        assert_eq!((told.pca.components(), told.kept), (0, 0));
        assert_eq!(told.clusters.clusters.len(), 1);
        assert!(told.gaps.is_empty());
        assert!(told.clusters.is_enough);
    }
}

#[test]
fn many_rows_are_clustered_by_cells_of_the_space() {
    let clouds = [[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]];
    let values: Vec<f64> = (0..6_000)
        .flat_map(|row: u32| {
            let [x, y] = clouds[row as usize % 3];
            // The golden ratio's multiples spread evenly.
            let along = f64::from(row) * 0.618_033_988_75;
            let across = f64::from(row) * 0.754_877_666_25;
            [x + along.fract(), y + across.fract()]
        })
        .collect();
    let told = told(2, &values, &Options::default());
    assert!(matches!(told.tree.reduced, Reduced::Cells(width) if width < 0.2), "{:?}", told.tree.reduced);
    assert_eq!(told.clusters.clusters.iter().map(|cluster| cluster.rows).collect::<Vec<_>>(), [2_000; 3]);
    for row in 0..6_000 {
        assert_eq!(told.cluster_of[row], told.cluster_of[row % 3]);
    }
}
