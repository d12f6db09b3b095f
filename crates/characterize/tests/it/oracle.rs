//! Components and clusters, held against scikit-learn, SciPy and NumPy: `oracle/oracle.py` made the values.

use holdup_characterize::{Choice, Clusters, Keep, Labels, Pca, PcaOptions, Table, TableBuilder, Tree};

/// How far values may be apart, of the largest one that belongs to them.
const ALMOST: f64 = 1e-9;

struct Case {
    lines: Vec<(String, Vec<f64>)>,
}

fn cases() -> Vec<Case> {
    let text = include_str!("oracle/oracle.txt");
    let line = |line: &str| {
        let (name, numbers) = line.split_once(": ").unwrap_or((line.trim_end_matches(':'), ""));
        let numbers = numbers.split_whitespace().map(|number| number.parse().unwrap()).collect();
        (name.to_owned(), numbers)
    };
    let paragraphs = text.split("\n\n").filter(|case| case.starts_with("rows"));
    paragraphs.map(|case| Case { lines: case.lines().map(line).collect() }).collect()
}

fn table(case: &Case) -> Table {
    let (rows, data) = (case.lines[0].1[0] as usize, &case.lines[1].1);
    let columns = data.len() / rows;
    let mut table = TableBuilder::new((0..columns).map(|column| format!("c{column}"))).unwrap();
    for (row, values) in data.chunks_exact(columns).enumerate() {
        table.push(Labels::of(&format!("r{row}")), values).unwrap();
    }
    table.build().unwrap()
}

fn assert_close(what: &str, ours: &[f64], theirs: &[f64]) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let size = theirs.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    for (own, their) in ours.iter().zip(theirs) {
        assert!((own - their).abs() <= ALMOST * size.max(f64::MIN_POSITIVE), "{what}: {own} is not {their}");
    }
}

/// The distance at which each pair of leaves comes together.
fn cophenetic(tree: &Tree) -> Vec<f64> {
    let n = tree.leaves.len();
    let mut found = vec![0.0; n * n];
    for merge in &tree.merges {
        for a in tree.below(merge.a) {
            for b in tree.below(merge.b) {
                (found[a * n + b], found[b * n + a]) = (merge.distance, merge.distance);
            }
        }
    }
    (0..n).flat_map(|a| found[a * n + a + 1..(a + 1) * n].to_vec()).collect()
}

#[test]
fn components_are_those_of_scikit_learn_and_numpy() {
    let mut compared = 0;
    for case in cases() {
        let table = table(&case);
        let mut pca = None;
        for (name, theirs) in &case.lines[2..] {
            match (name.as_str(), &pca) {
                ("options", _) => {
                    let options = PcaOptions { centred: theirs[0] == 1.0, scaled: theirs[1] == 1.0 };
                    pca = Some(Pca::of(&table, options).unwrap());
                }
                ("variances", Some(pca)) => assert_close("variances", &pca.variances, theirs),
                ("shares", Some(pca)) => assert_close("shares", &pca.shares, theirs),
                ("weights", Some(pca)) => {
                    let ours: Vec<f64> =
                        (0..pca.components()).flat_map(|at| pca.weights(at).to_vec()).collect();
                    assert_close("weights", &ours, theirs);
                }
                ("scores", Some(pca)) => {
                    let ours: Vec<f64> =
                        (0..table.rows.len()).flat_map(|row| pca.scores(row).to_vec()).collect();
                    assert_close("scores", &ours, theirs);
                    compared += 1;
                }
                ("kept", Some(pca)) => assert_eq!(pca.kept(Keep::default()), theirs[0] as usize),
                _ => {}
            }
        }
    }
    assert_eq!(compared, 28);
}

#[test]
fn clusters_are_those_of_scipy() {
    let mut compared = 0;
    for case in cases() {
        let table = table(&case);
        let mut at = (None, None);
        for (name, theirs) in &case.lines[2..] {
            match (name.as_str(), &at) {
                ("options", _) => {
                    let options = PcaOptions { centred: theirs[0] == 1.0, scaled: theirs[1] == 1.0 };
                    at.0 = Some(Pca::of(&table, options).unwrap());
                }
                ("kept", (Some(pca), _)) => at.1 = Some(Tree::of(&table, pca, theirs[0] as usize)),
                ("heights", (_, Some(tree))) => {
                    let ours: Vec<f64> = tree.merges.iter().map(|merge| merge.distance).collect();
                    assert_close("heights", &ours, theirs);
                }
                ("cophenetic", (_, Some(tree))) => assert_close("cophenetic", &cophenetic(tree), theirs),
                ("correlation", (_, Some(tree))) => {
                    assert_close("correlation", &[tree.cophenetic.unwrap()], theirs);
                    compared += 1;
                }
                ("silhouette", (Some(pca), Some(tree))) => {
                    let kept = pca.kept(Keep::default());
                    let choice = Choice::Count(theirs[0] as usize);
                    let clusters = Clusters::of(tree, choice, |row| &pca.scores(row)[..kept]);
                    assert_close("silhouette", &[clusters.silhouette.unwrap()], &theirs[1..]);
                }
                _ => {}
            }
        }
    }
    assert_eq!(compared, 24);
}
