//! Which thing of one run is which of another.

use std::collections::BTreeMap;

use holdup_model::Arrange;

use super::names::{Key, Name};

/// The index of a thing on the one side and on the other; one of them is there.
pub(crate) type Pair = (Option<usize>, Option<usize>);

/// Above so many things of one function on both sides together they are paired in order, not by distance.
const MOST_ALIGNED: usize = 512;

/// Pairs the things of two runs by ever looser parts of their names: with all of it, then regardless of the line,
/// then of the file. What remains is on one side only. Swapping the sides swaps the pairs and changes nothing else.
pub(crate) fn pairs(one: &[&Name], other: &[&Name]) -> Vec<Pair> {
    let mut partner: Vec<Option<usize>> = vec![None; one.len()];
    let mut is_taken = vec![false; other.len()];
    for round in 0..Name::KEYS {
        let mut groups: BTreeMap<Key<'_>, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        for (index, name) in one.iter().enumerate().filter(|(index, _)| partner[*index].is_none()) {
            if let Some(key) = name.key(round) {
                groups.entry(key).or_default().0.push(index);
            }
        }
        for (index, name) in other.iter().enumerate().filter(|(index, _)| !is_taken[*index]) {
            if let Some(key) = name.key(round) {
                groups.entry(key).or_default().1.push(index);
            }
        }
        for (mut ours, mut theirs) in groups.into_values() {
            // Equal names keep the order that they were given in, which is that of their cost.
            ours.arrange_by_key(|&index| one[index].line());
            theirs.arrange_by_key(|&index| other[index].line());
            let line = |name: &Name| i64::from(name.line().unwrap_or(0));
            let lines_of_ours: Vec<i64> = ours.iter().map(|&index| line(one[index])).collect();
            let lines_of_theirs: Vec<i64> = theirs.iter().map(|&index| line(other[index])).collect();
            for (a, b) in aligned(&lines_of_ours, &lines_of_theirs) {
                partner[ours[a]] = Some(theirs[b]);
                is_taken[theirs[b]] = true;
            }
        }
    }
    let found = partner.iter().enumerate().map(|(index, &partner)| (Some(index), partner));
    let left =
        is_taken.iter().enumerate().filter(|(_, taken)| !**taken).map(|(index, _)| (None, Some(index)));
    found.chain(left).collect()
}

/// Pairs of indices into two ascending lists, in order, so that the shorter list is used up and the distances add up
/// to the least. O(n · m).
fn aligned(a: &[i64], b: &[i64]) -> Vec<(usize, usize)> {
    if a.len() > b.len() {
        return aligned(b, a).into_iter().map(|(short, long)| (long, short)).collect();
    }
    if a.len() == b.len() || a.len() + b.len() > MOST_ALIGNED {
        return (0..a.len()).map(|index| (index, index)).collect();
    }
    // least[i][j]: the first i of the shorter list paired within the first j of the longer one.
    let mut least = vec![vec![i64::MAX; b.len() + 1]; a.len() + 1];
    least[0].fill(0);
    for i in 1..=a.len() {
        for j in i..=b.len() {
            let paired = least[i - 1][j - 1].saturating_add((a[i - 1] - b[j - 1]).abs());
            least[i][j] = paired.min(least[i][j - 1]);
        }
    }
    let (mut i, mut j) = (a.len(), b.len());
    let mut pairs = Vec::with_capacity(a.len());
    while i > 0 {
        if least[i][j] == least[i][j - 1] {
            j -= 1;
        } else {
            pairs.push((i - 1, j - 1));
            (i, j) = (i - 1, j - 1);
        }
    }
    pairs.reverse();
    pairs
}

#[cfg(test)]
mod tests {
    use super::super::names::Place;
    use super::*;

    fn site(function: &str, file: &str, line: u32) -> Name {
        let place = Place {
            function: Some(function.to_owned()),
            file: Some(file.to_owned()),
            line: Some(line),
            ..Place::default()
        };
        Name { sort: "site", place: Some(place), ..Name::default() }
    }

    fn found(one: &[Name], other: &[Name]) -> Vec<Pair> {
        let mut pairs = pairs(&one.iter().collect::<Vec<_>>(), &other.iter().collect::<Vec<_>>());
        pairs.sort_unstable();
        pairs
    }

    #[test]
    fn lines_that_moved_are_paired_within_their_function() {
        let old =
            [site("put", "/a/cache.c", 10), site("put", "/a/cache.c", 20), site("get", "/a/cache.c", 40)];
        let new =
            [site("put", "/b/cache.c", 20), site("get", "/b/cache.c", 55), site("put", "/b/cache.c", 13)];
        assert_eq!(found(&old, &new), [(Some(0), Some(2)), (Some(1), Some(0)), (Some(2), Some(1))]);
    }

    #[test]
    fn a_line_too_many_is_the_one_that_is_farthest() {
        let old = [site("put", "cache.c", 10), site("put", "cache.c", 30)];
        let new = [site("put", "cache.c", 12), site("put", "cache.c", 19), site("put", "cache.c", 33)];
        assert_eq!(found(&old, &new), [(None, Some(1)), (Some(0), Some(0)), (Some(1), Some(2))]);
        assert_eq!(found(&new, &old), [(Some(0), Some(0)), (Some(1), None), (Some(2), Some(1))]);
    }

    #[test]
    fn a_function_that_moved_to_another_file_is_the_same() {
        let old = [site("put", "cache.c", 10), site("main", "main.c", 1)];
        let new = [site("put", "store.c", 90), site("start", "main.c", 1)];
        assert_eq!(found(&old, &new), [(None, Some(1)), (Some(0), Some(0)), (Some(1), None)]);
    }

    #[test]
    fn a_named_lock_is_the_same_wherever_it_is_held() {
        let lock = |symbol: &str, function: &str| Name {
            sort: "mutex",
            symbol: Some(symbol.to_owned()),
            ..site(function, "a.c", 5)
        };
        assert_eq!(
            found(&[lock("table", "put"), lock("log", "put")], &[lock("log", "get"), lock("table", "get")]),
            [(Some(0), Some(1)), (Some(1), Some(0))]
        );
        assert_eq!(
            found(&[lock("table", "put")], &[lock("other", "put")]),
            [(None, Some(0)), (Some(0), None)]
        );
    }
}
