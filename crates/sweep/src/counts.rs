//! Which numbers of threads are tried.

use std::collections::BTreeSet;
use std::str::FromStr;

/// More than this are a slip of the keyboard.
const MOST_THREADS: u32 = 4096;
/// More runs than these nobody waits for.
const MOST_COUNTS: usize = 64;

/// Numbers of threads, ascending; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts(BTreeSet<u32>);

impl Counts {
    /// What is tried where nothing was asked for: the powers of two below the number of cores, and that itself.
    pub fn up_to(cores: u32) -> Counts {
        let cores = cores.clamp(1, MOST_THREADS);
        let powers = std::iter::successors(Some(1), |count: &u32| count.checked_mul(2));
        Counts(powers.take_while(|count| *count < cores).chain([cores]).collect())
    }

    /// These numbers; `None` where there are none.
    pub fn of(numbers: impl IntoIterator<Item = u32>) -> Option<Counts> {
        let numbers: BTreeSet<u32> = numbers.into_iter().collect();
        (!numbers.is_empty()).then_some(Counts(numbers))
    }

    /// From few to many.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// The most threads.
    pub fn most(&self) -> u32 {
        self.0.last().copied().unwrap_or(1)
    }
}

/// Numbers and ranges with commas between them: `1,2,4`, `1-8`, `1-64:x2` (doubling), `4-16:4` (in steps of 4).
impl FromStr for Counts {
    type Err = String;

    fn from_str(text: &str) -> Result<Counts, String> {
        let mut counts = BTreeSet::new();
        for part in text.split(',') {
            counts.extend(range(part.trim())?);
        }
        if counts.len() > MOST_COUNTS {
            return Err(format!("these are {} numbers of threads; give at most {MOST_COUNTS}", counts.len()));
        }
        Ok(Counts(counts))
    }
}

fn range(part: &str) -> Result<Vec<u32>, String> {
    let Some((first, rest)) = part.split_once('-') else { return Ok(vec![number(part)?]) };
    let (last, step) = rest.split_once(':').map_or((rest, None), |(last, step)| (last, Some(step)));
    let (first, last) = (number(first)?, number(last)?);
    if last < first {
        return Err(format!("{part} goes down; give the smaller number first"));
    }
    let next: Box<dyn Fn(u32) -> u32> = match step.map(|step| (step.strip_prefix('x'), step)) {
        None => Box::new(|count| count + 1),
        Some((Some(factor), _)) => match factor.parse::<u32>() {
            Ok(factor @ 2..=MOST_THREADS) => Box::new(move |count| count.saturating_mul(factor)),
            _ => return Err(format!("x{factor} is no factor; give x2 to double, or a larger one")),
        },
        Some((None, step)) => match step.parse::<u32>() {
            Ok(step @ 1..=MOST_THREADS) => Box::new(move |count| count + step),
            _ => return Err(format!("{step} is no step; give a number, or x2 to double")),
        },
    };
    Ok(std::iter::successors(Some(first), |count| Some(next(*count)))
        .take_while(|count| *count <= last)
        .collect())
}

fn number(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(count @ 1..=MOST_THREADS) => Ok(count),
        _ => Err(format!(
            "{text:?} is no number of threads; give numbers from 1 to {MOST_THREADS}, such as 1,2,4 or 1-8 or 1-64:x2"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Result<Vec<u32>, String> {
        text.parse::<Counts>().map(|counts| counts.iter().collect())
    }

    #[test]
    fn lists_ranges_and_steps() {
        for (text, expected) in [
            ("4", &[4][..]),
            ("4, 1,2,4", &[1, 2, 4]),
            ("1-4", &[1, 2, 3, 4]),
            ("1-64:x2", &[1, 2, 4, 8, 16, 32, 64]),
            ("3-30:x3", &[3, 9, 27]),
            ("2-9:3,1", &[1, 2, 5, 8]),
            ("7-7", &[7]),
        ] {
            assert_eq!(counts(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_list_is_refused_with_its_part() {
        for (text, named) in [
            ("", "\"\""),
            ("0", "\"0\""),
            ("1,,2", "\"\""),
            ("a", "\"a\""),
            ("2-1", "2-1"),
            ("-4", "\"\""),
            ("1-4:0", "0 is no step"),
            ("1-4:x1", "x1"),
            ("1-4:x", "x is no factor"),
            ("4097", "4097"),
            ("99999999999", "99999999999"),
            ("1-4096", "at most 64"),
        ] {
            let refused = counts(text).expect_err(text);
            assert!(refused.contains(named), "{text}: {refused}");
        }
    }

    #[test]
    fn without_a_list_cores_are_doubled() {
        for (cores, expected) in [(1, &[1][..]), (2, &[1, 2]), (6, &[1, 2, 4, 6]), (8, &[1, 2, 4, 8])] {
            assert_eq!(Counts::up_to(cores).iter().collect::<Vec<_>>(), expected);
        }
    }
}
