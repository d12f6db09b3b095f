//! How often answers were right, from all results; and the rates of reference in `workloads/truth.tsv`.

use std::fmt;

use anyhow::{Context, Result};

use super::machine::Where;
use super::results::Measured;
use crate::bench::measure::Spread;

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rate {
    pub(super) right: u64,
    pub(super) of: u64,
}

impl Rate {
    fn count(answers: impl Iterator<Item = bool>) -> Rate {
        answers.fold(Rate::default(), |rate, right| Rate {
            right: rate.right + u64::from(right),
            of: rate.of + 1,
        })
    }

    /// The share of right answers; 1 of none.
    pub(super) fn share(self) -> f64 {
        if self.of == 0 { 1.0 } else { self.right as f64 / self.of as f64 }
    }

    /// Both together.
    pub(super) fn and(self, other: Rate) -> Rate {
        Rate { right: self.right + other.right, of: self.of + other.of }
    }

    fn parse(text: &str) -> Option<Rate> {
        if text.is_empty() {
            return Some(Rate::default());
        }
        let (right, of) = text.split_once('/')?;
        let rate = Rate { right: right.parse().ok()?, of: of.parse().ok()? };
        (rate.right <= rate.of && rate.of > 0).then_some(rate)
    }
}

/// Empty where nothing was asked.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.of == 0 { Ok(()) } else { write!(f, "{}/{}", self.right, self.of) }
    }
}

/// The rates of a row, in the order of [`NAMES`].
pub(super) const NAMES: [&str; 6] =
    ["first, quiet", "place, quiet", "first, load", "place, load", "fixed form", "gain in interval"];

/// The rate of right first answers on a quiet machine.
pub(super) const QUIET_FIRST: usize = 0;

/// A row of the table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) rates: [Rate; 6],
    /// Medians of what is told on a quiet machine: least, likely and most, as shares of the time.
    pub(super) predicted: Option<[f64; 3]>,
    /// What the fixed form really saves: 1 less the ratio of the medians of both plain times.
    pub(super) measured: Option<f64>,
    /// Runs that were repeated because others used the machine.
    pub(super) repeated: u32,
    /// Answers that counted though others did.
    pub(super) disturbed: u32,
    /// What is said most often where it is wrong on a quiet machine.
    pub(super) said: String,
}

/// A row for each name, in the order in which they were first measured.
pub(super) fn rows(results: &[Measured]) -> Vec<Row> {
    let mut names: Vec<&str> = Vec::new();
    for result in results {
        if !names.contains(&result.answer.row.as_str()) {
            names.push(&result.answer.row);
        }
    }
    names.into_iter().map(|name| row(name, results)).collect()
}

fn row(name: &str, results: &[Measured]) -> Row {
    let own = || results.iter().filter(|result| result.answer.row == name);
    let at = |place: Where| own().filter(move |result| result.place == place).map(|result| &result.answer);
    let median = |values: Vec<f64>| Spread::of(values).map(|spread| spread.median);
    let quiet = || at(Where::Quiet);
    let gains = || quiet().filter_map(|answer| answer.gain);
    let planted = median(quiet().filter_map(|answer| answer.planted_s).collect());
    let fixed = median(quiet().filter_map(|answer| answer.fixed_s).collect());
    let measured = planted.zip(fixed).map(|(planted, fixed)| 1.0 - fixed / planted);
    let likely = median(gains().map(|gain| gain.likely).collect());
    let low = median(gains().map(|gain| gain.low).collect());
    let high = median(gains().map(|gain| gain.high).collect());
    let inside = measured.map_or(Rate::default(), |measured| {
        Rate::count(gains().map(|gain| (gain.low..=gain.high).contains(&measured)))
    });
    let rates = [
        Rate::count(quiet().filter_map(|answer| answer.first)),
        Rate::count(quiet().filter_map(|answer| answer.place)),
        Rate::count(at(Where::Load).filter_map(|answer| answer.first)),
        Rate::count(at(Where::Load).filter_map(|answer| answer.place)),
        Rate::count(quiet().filter_map(|answer| answer.gone)),
        inside,
    ];
    Row {
        name: name.to_owned(),
        rates,
        predicted: low.zip(likely).zip(high).map(|((low, likely), high)| [low, likely, high]),
        measured,
        repeated: own().map(|result| result.repeated).sum(),
        disturbed: own().filter(|result| result.disturbed > 0).count() as u32,
        said: most_frequent(quiet().filter(|answer| answer.first == Some(false)).map(|answer| &answer.said)),
    }
}

fn most_frequent<'a>(said: impl Iterator<Item = &'a String>) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for said in said {
        match counts.iter_mut().find(|(known, _)| known == said) {
            Some((_, count)) => *count += 1,
            None => counts.push((said, 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max();
    counts
        .into_iter()
        .find(|(_, count)| Some(*count) == most)
        .map_or_else(String::new, |(said, _)| said.into())
}

const HEAD: &str = "name\tquiet first\tquiet place\tload first\tload place\tfixed\tin interval\tgain predicted\tgain measured";

/// The rows as the reference has them.
pub(super) fn to_reference(rows: &[Row]) -> String {
    let share = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
    let line = |row: &Row| {
        let rates = row.rates.map(|rate| rate.to_string()).join("\t");
        let predicted = row.predicted.map(|[_, likely, _]| likely);
        format!("{}\t{rates}\t{}\t{}\n", row.name, share(predicted), share(row.measured))
    };
    let is_answered = |row: &&Row| row.rates.iter().any(|rate| rate.of > 0);
    format!("{HEAD}\n{}", rows.iter().filter(is_answered).map(line).collect::<String>())
}

/// The rates of a reference.
///
/// # Errors
///
/// A line that is not as [`to_reference`] writes them.
pub(super) fn of_reference(text: &str) -> Result<Vec<Row>> {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, rates @ .., _, _] = &fields[..] else { return None };
        let rates: Vec<Rate> = rates.iter().map(|text| Rate::parse(text)).collect::<Option<_>>()?;
        Some(Row { name: (*name).to_owned(), rates: rates.try_into().ok()?, ..Row::default() })
    };
    let parsed = |line: &str| row(line).with_context(|| format!("no row of reference: {line}"));
    text.lines().skip(1).map(parsed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::case::Answer;
    use holdup_stage::planted::Gain;

    fn result(place: Where, round: u32, answer: Answer) -> Measured {
        Measured { place, round, repeated: 1, disturbed: round % 2, answer }
    }

    fn right(row: &str, first: bool) -> Answer {
        Answer { row: row.to_owned(), first: Some(first), said: "wrong".to_owned(), ..Answer::default() }
    }

    #[test]
    fn rates_are_of_what_was_asked() {
        let gain = Some(Gain { low: 0.1, likely: 0.3, high: 0.5 });
        let with = |round, planted, fixed| Answer {
            gain,
            gone: Some(round == 1),
            planted_s: Some(planted),
            fixed_s: Some(fixed),
            place: Some(true),
            ..right("a", true)
        };
        let results = [
            result(Where::Quiet, 1, with(1, 2.0, 1.0)),
            result(Where::Load, 1, right("a", false)),
            result(Where::Quiet, 2, right("b", true)),
            result(Where::Quiet, 3, with(3, 4.0, 3.0)),
            result(Where::Quiet, 4, right("a", false)),
        ];
        let [a, b] = &rows(&results)[..] else { panic!("two rows") };
        let told: Vec<String> = a.rates.iter().map(Rate::to_string).collect();
        // Medians of 3 s and 2 s: a third, which is in both intervals.
        assert_eq!(told, ["2/3", "2/2", "0/1", "", "1/2", "2/2"]);
        assert!((a.measured.expect("two times") - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(a.predicted, Some([0.1, 0.3, 0.5]));
        assert_eq!((a.repeated, a.disturbed, a.said.as_str()), (4, 3, "wrong"));
        assert_eq!((b.name.as_str(), b.rates[0], b.measured), ("b", Rate { right: 1, of: 1 }, None));
    }

    #[test]
    fn the_reference_goes_there_and_back() {
        let rates =
            [(9, 10), (10, 10), (0, 10), (0, 0), (5, 5), (1, 9)].map(|(right, of)| Rate { right, of });
        let row = Row { name: "report demo".to_owned(), rates, measured: Some(0.25), ..Row::default() };
        let text = to_reference(std::slice::from_ref(&row));
        assert!(text.ends_with("report demo\t9/10\t10/10\t0/10\t\t5/5\t1/9\t\t0.250\n"), "{text}");
        let back = of_reference(&text).expect("a reference");
        assert_eq!((&back[0].name, back[0].rates), (&row.name, rates));
        for wrong in ["a\t1/2", "a\t3/2\t\t\t\t\t\t\t", "a\tx\t\t\t\t\t\t\t"] {
            assert!(of_reference(&format!("{HEAD}\n{wrong}\n")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_stored_reference_can_be_read() {
        let path = holdup_stage::workspace().join("workloads/truth.tsv");
        let text = std::fs::read_to_string(path).expect("the stored reference");
        let rows = of_reference(&text).expect("a reference");
        assert!(!rows.is_empty());
        assert!(rows.iter().all(|row| row.rates.iter().any(|rate| rate.of > 0)), "{rows:?}");
        assert!(rows.iter().flat_map(|row| &row.rates).all(|rate| rate.right <= rate.of), "{rows:?}");
    }
}
