//! The word that somebody meant.

/// The choice that is most like a word, if one is like it: at most a third of its letters are wrong, missing, too many or
/// swapped with their neighbour.
pub(super) fn nearest<'a>(word: &str, choices: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase().replace('_', "-");
    choices
        .into_iter()
        .map(|choice| (distance(&word, choice), choice))
        .filter(|(distance, choice)| *distance <= choice.len().max(word.len()).div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, choice)| choice)
}

/// Insertions, deletions, replacements and swaps of neighbours that make one word of the other (optimal string alignment).
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows = vec![(0..=other.len()).collect::<Vec<usize>>()];
    for i in 1..=one.len() {
        let mut row = vec![i];
        for j in 1..=other.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_single_mistakes() {
        for (one, other, expected) in [
            ("", "abc", 3),
            ("width", "width", 0),
            ("widht", "width", 1),
            ("wdth", "width", 1),
            ("size", "ways", 4),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn only_words_that_are_like_it_are_offered() {
        let keys = ["width", "window", "front-end", "latency"];
        assert_eq!(nearest("widht", keys), Some("width"));
        assert_eq!(nearest("Front_End", keys), Some("front-end"));
        assert_eq!(nearest("banana", keys), None);
    }
}
