//! Who goes with whom: the assignment problem.

/// For each row of `benefits` a column of its own, so that the sum of what they are worth is the largest. There are at least as
/// many columns as rows.
///
/// Shortest augmenting paths with potentials (H. W. Kuhn, *The Hungarian Method for the Assignment Problem*, 1955; in the
/// form of R. Jonker and A. Volgenant, 1987): rows² · columns steps. Of equal sums the one that leaves rows where they are is
/// found first.
pub(crate) fn assignment(benefits: &[Vec<f64>]) -> Vec<usize> {
    let columns = benefits.first().map_or(0, Vec::len);
    debug_assert!(benefits.len() <= columns);
    let mut of_row = vec![0.0; benefits.len()];
    let mut of_column = vec![0.0; columns];
    let mut taken: Vec<Option<usize>> = vec![None; columns];
    for first in 0..benefits.len() {
        let mut costs = vec![f64::INFINITY; columns];
        let mut before: Vec<Option<usize>> = vec![None; columns];
        let mut settled = vec![false; columns];
        // The columns that were reached, with what it cost.
        let mut reached: Vec<(usize, f64)> = Vec::new();
        let (mut row, mut via, mut so_far) = (first, None, 0.0);
        let last = loop {
            for column in (0..columns).filter(|column| !settled[*column]) {
                let cost = so_far - benefits[row][column] - of_row[row] - of_column[column];
                if cost < costs[column] {
                    (costs[column], before[column]) = (cost, via);
                }
            }
            // Rather a free column, and rather the row's own, among those that cost the same.
            let rank = |column: &usize| (costs[*column], taken[*column].is_some(), *column != first);
            let open = (0..columns).filter(|column| !settled[*column]);
            let Some(next) = open.min_by(|a, b| {
                let ((x, p, q), (y, r, s)) = (rank(a), rank(b));
                x.total_cmp(&y).then((p, q).cmp(&(r, s)))
            }) else {
                return Vec::new();
            };
            so_far = costs[next];
            settled[next] = true;
            reached.push((next, so_far));
            match taken[next] {
                Some(other) => (row, via) = (other, Some(next)),
                None => break next,
            }
        };
        of_row[first] += so_far;
        for (column, cost) in &reached {
            if let Some(row) = taken[*column] {
                of_row[row] += so_far - cost;
            }
            of_column[*column] -= so_far - cost;
        }
        let mut column = last;
        while let Some(previous) = before[column] {
            taken[column] = taken[previous];
            column = previous;
        }
        taken[column] = Some(first);
    }
    let mut found = vec![0; benefits.len()];
    for (column, row) in taken.iter().enumerate() {
        if let Some(row) = row {
            found[*row] = column;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The largest sum, by trying all.
    fn largest(benefits: &[Vec<f64>], free: &mut Vec<bool>) -> f64 {
        let Some((row, rest)) = benefits.split_first() else { return 0.0 };
        let mut most = f64::NEG_INFINITY;
        for column in 0..row.len() {
            if std::mem::replace(&mut free[column], false) {
                most = most.max(row[column] + largest(rest, free));
                free[column] = true;
            }
        }
        most
    }

    proptest! {
        #[test]
        fn no_other_assignment_is_worth_more(
            rows in 1_usize..=5,
            more in 0_usize..=2,
            values in prop::collection::vec(-9_i32..=9, 35),
        ) {
            let columns = rows + more;
            let benefits: Vec<Vec<f64>> =
                values.chunks(columns).take(rows).map(|row| row.iter().map(|value| f64::from(*value)).collect()).collect();
            let found = assignment(&benefits);
            let mut columns_taken = found.clone();
            columns_taken.sort_unstable();
            columns_taken.dedup();
            prop_assert_eq!(columns_taken.len(), rows, "each has a column of its own");
            let sum: f64 = found.iter().zip(&benefits).map(|(column, row)| row[*column]).sum();
            prop_assert!((sum - largest(&benefits, &mut vec![true; columns])).abs() < 1e-9);
        }
    }

    #[test]
    fn who_is_like_everybody_stays() {
        assert_eq!(assignment(&[vec![0.0; 4], vec![0.0; 4], vec![0.0; 4]]), [0, 1, 2]);
        assert_eq!(assignment(&[]), Vec::<usize>::new());
    }
}
