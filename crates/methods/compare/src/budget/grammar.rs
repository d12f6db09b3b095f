//! The words of a budget.
//!
//! ```text
//! budget  = what op limit
//! what    = "wall" | "cpu" | "efficiency" | "parallelism" | "regression"
//!         | subject ":" name
//! subject = "lock" | "object" | "site" | "function" | "thread" | "region" | "finding" | "cost"
//! op      = "<=" | "<" | ">=" | ">"
//! limit   = number [ "%" | "ns" | "us" | "µs" | "ms" | "s" ]
//! ```
//!
//! Names are as everywhere in expressions: see `holdup_model::selector`. The operator is the last one in the text, so that
//! names may hold `<` and `>`.

use holdup_criticality::FindingKind;
use holdup_model::selector::Pattern;

/// Why budgets cannot be judged. Each text is one line: what is wrong, and the way out.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BudgetError {
    /// It is no budget.
    #[error("budget '{text}', character {at}: {problem}")]
    Grammar {
        /// The budget. Hostile.
        text: String,
        /// The character at which it goes wrong, from 1.
        at: usize,
        /// What is wrong there, and what could be there.
        problem: String,
    },
    /// It names something that the run does not have.
    #[error(
        "budget '{text}': no {what} of this name in the recording{nearest}; if it may be missing, say --allow-missing"
    )]
    Unknown {
        /// The budget. Hostile.
        text: String,
        /// What should have had the name.
        what: &'static str,
        /// The names that are most like it, in words; empty where there are none.
        nearest: String,
    },
    /// A regression is a difference from something.
    #[error(
        "budget '{text}': a regression is measured against other recordings: give them with --baseline FILE"
    )]
    NoBaseline {
        /// The budget. Hostile.
        text: String,
    },
    /// There is no recording to judge.
    #[error("there is no recording to judge; give one or several")]
    NoRuns,
}

/// What a budget limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limited {
    /// The wall time.
    Wall,
    /// The CPU time of all threads.
    Cpu,
    /// The efficiency.
    Efficiency,
    /// The average number of active threads.
    Parallelism,
    /// How much longer it takes than the baseline.
    Regression,
    /// What a lock costs.
    Lock,
    /// What any sync object costs.
    Object,
    /// What waits and calls at places in a function cost.
    Site,
    /// The critical time of a function.
    Function,
    /// The criticality of threads of a sort.
    Thread,
    /// The time in what has a label.
    Region,
    /// What a finding of a kind costs.
    Finding,
    /// What is lost to a class, whether it is large enough for a finding or not.
    Cost,
}

const WITHOUT_NAME: [(&str, Limited); 5] = [
    ("wall", Limited::Wall),
    ("cpu", Limited::Cpu),
    ("efficiency", Limited::Efficiency),
    ("parallelism", Limited::Parallelism),
    ("regression", Limited::Regression),
];

const WITH_NAME: [(&str, Limited); 8] = [
    ("lock", Limited::Lock),
    ("object", Limited::Object),
    ("site", Limited::Site),
    ("function", Limited::Function),
    ("thread", Limited::Thread),
    ("region", Limited::Region),
    ("finding", Limited::Finding),
    ("cost", Limited::Cost),
];

impl Limited {
    /// The word for it in a budget.
    pub fn word(self) -> &'static str {
        let all = WITHOUT_NAME.iter().chain(&WITH_NAME);
        all.into_iter().find(|(_, limited)| *limited == self).map_or("", |(word, _)| word)
    }

    /// The words for all of them.
    pub fn words() -> Vec<&'static str> {
        WITHOUT_NAME.iter().chain(&WITH_NAME).map(|(word, _)| *word).collect()
    }

    fn units(self) -> &'static [Unit] {
        match self {
            Limited::Wall | Limited::Cpu => &[Unit::Time],
            Limited::Parallelism => &[Unit::Plain],
            Limited::Efficiency => &[Unit::Plain, Unit::Share],
            _ => &[Unit::Share, Unit::Time],
        }
    }
}

/// How a value must be to its limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// At most the limit.
    AtMost,
    /// Below the limit.
    Below,
    /// At least the limit.
    AtLeast,
    /// Above the limit.
    Above,
}

impl Op {
    /// True if the value keeps to the limit.
    pub(crate) fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Op::AtMost => value <= limit,
            Op::Below => value < limit,
            Op::AtLeast => value >= limit,
            Op::Above => value > limit,
        }
    }

    fn is_upper(self) -> bool {
        matches!(self, Op::AtMost | Op::Below)
    }
}

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A share of the wall time (for a regression, of the baseline's): 1 is all of it.
    Share,
    /// A length of time (ns).
    Time,
    /// A plain number.
    Plain,
}

/// A limit on something of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Budget {
    /// As it was written. Hostile.
    pub text: String,
    /// What is limited.
    pub limited: Limited,
    /// Which of them, where they have names.
    pub pattern: Option<Pattern>,
    /// How the value must be to the limit.
    pub op: Op,
    /// The limit.
    pub limit: f64,
    /// What the limit, and so the value, is counted in.
    pub unit: Unit,
}

/// Reads one budget.
///
/// # Errors
/// [`BudgetError::Grammar`] tells the place in the text and what could be there.
pub fn parse(text: &str) -> Result<Budget, BudgetError> {
    let fail = |byte: usize, problem: String| BudgetError::Grammar {
        text: text.to_owned(),
        at: text[..byte].chars().count() + 1,
        problem,
    };
    let last = text.rfind(['<', '>', '=']);
    let (start, end, op) = match last {
        Some(at) if text[at..].starts_with('<') => (at, at + 1, Op::Below),
        Some(at) if text[at..].starts_with('>') => (at, at + 1, Op::Above),
        Some(at) if text[..at].ends_with('<') => (at - 1, at + 1, Op::AtMost),
        Some(at) if text[..at].ends_with('>') => (at - 1, at + 1, Op::AtLeast),
        Some(at) => return Err(fail(at, "a single '='; say <=, <, >= or >".to_owned())),
        None => {
            return Err(fail(
                text.len(),
                "there is no limit; a budget is like 'lock:cache_lock<=5%', 'efficiency>=0.7' or 'wall<=2.5s'".to_owned(),
            ));
        }
    };
    let what = text[..start].trim_end();
    let begin = what.len() - what.trim_start().len();
    let what = what.trim_start();
    let (limited, pattern) = subject(what).map_err(|(at, problem)| fail(begin + at, problem))?;
    let limit_text = text[end..].trim();
    let limit_at = end + (text[end..].len() - text[end..].trim_start().len());
    let (limit, unit) =
        limit_of(limit_text, limited).map_err(|(at, problem)| fail(limit_at + at, problem))?;
    if limited == Limited::Regression && !op.is_upper() {
        return Err(fail(start, "a regression has an upper limit; say <= or <".to_owned()));
    }
    Ok(Budget { text: text.trim().to_owned(), limited, pattern, op, limit, unit })
}

/// The byte at which something is wrong, and what.
type Wrong = (usize, String);

fn subject(what: &str) -> Result<(Limited, Option<Pattern>), Wrong> {
    let words = |list: &[(&str, Limited)]| list.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
    let known = |list: &[(&str, Limited)], word: &str| {
        list.iter().find(|(known, _)| *known == word).map(|(_, limited)| *limited)
    };
    let Some((word, name)) = what.split_once(':') else {
        return match (known(&WITHOUT_NAME, what), known(&WITH_NAME, what)) {
            (Some(limited), _) => Ok((limited, None)),
            (None, Some(_)) => {
                Err((what.len(), format!("'{what}' needs a name: {what}:NAME, or {what}:* for all")))
            }
            (None, None) => Err((
                0,
                format!(
                    "'{what}' is nothing that can be limited; say {}, or one of these with :NAME: {}",
                    words(&WITHOUT_NAME),
                    words(&WITH_NAME)
                ),
            )),
        };
    };
    let Some(limited) = known(&WITH_NAME, word.trim_end()) else {
        return Err((0, format!("'{word}:' is nothing that has names; say one of {}", words(&WITH_NAME))));
    };
    let name_at = word.len() + 1 + (name.len() - name.trim_start().len());
    let name = name.trim();
    if name.is_empty() {
        return Err((name_at, "a name is missing; * stands for all".to_owned()));
    }
    let Some(pattern) = Pattern::parse(name) else {
        return Err((name_at, "the quotes do not fit together; double those that are in a name".to_owned()));
    };
    let is_of_kinds = matches!(limited, Limited::Finding | Limited::Cost);
    let kinds = || FindingKind::ALL.iter().filter(|kind| limited == Limited::Cost || kind.is_finding());
    if is_of_kinds && !kinds().any(|kind| pattern.matches(kind.word())) {
        let kinds: Vec<&str> = kinds().map(|kind| kind.word()).collect();
        return Err((name_at, format!("'{name}' is no kind of finding; there are {}", kinds.join(", "))));
    }
    Ok((limited, Some(pattern)))
}

fn limit_of(text: &str, limited: Limited) -> Result<(f64, Unit), Wrong> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim_start());
    let number: f64 = match number.parse() {
        Ok(number) => number,
        Err(_) if number.is_empty() => {
            return Err((0, "a limit is missing: a number such as 5%, 2.5s or 0.7".to_owned()));
        }
        Err(_) => return Err((0, format!("'{number}' is no number"))),
    };
    let (limit, unit) = match unit {
        "" => (number, Unit::Plain),
        "%" => (number / 100.0, Unit::Share),
        "ns" => (number, Unit::Time),
        "us" | "µs" | "μs" => (number * 1e3, Unit::Time),
        "ms" => (number * 1e6, Unit::Time),
        "s" => (number * 1e9, Unit::Time),
        other => {
            return Err((
                text.len() - other.len(),
                format!("'{other}' is no unit; there are %, ns, us, ms, s"),
            ));
        }
    };
    let allowed = limited.units();
    if !allowed.contains(&unit) {
        let could_be: Vec<&str> = allowed
            .iter()
            .map(|unit| match unit {
                Unit::Share => "a share such as 5%",
                Unit::Time => "a time such as 2.5s",
                Unit::Plain => "a plain number such as 0.7",
            })
            .collect();
        return Err((0, format!("the limit of '{}' is {}", limited.word(), could_be.join(" or "))));
    }
    // A share may be written either way where a plain number is one.
    let unit = if limited == Limited::Efficiency { Unit::Share } else { unit };
    Ok((limit, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Limited, Option<String>, Op, f64, Unit) {
        let budget = parse(text).unwrap_or_else(|error| panic!("{error}"));
        (
            budget.limited,
            budget.pattern.map(|pattern| pattern.to_string()),
            budget.op,
            budget.limit,
            budget.unit,
        )
    }

    fn refused(text: &str) -> (usize, String) {
        match parse(text) {
            Err(BudgetError::Grammar { at, problem, .. }) => (at, problem),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn budgets_are_read() {
        use Limited::{Efficiency, Finding, Lock, Regression, Site, Wall};
        let named = |name: &str| Some(name.to_owned());
        assert_eq!(read("lock:cache_lock<=5%"), (Lock, named("cache_lock"), Op::AtMost, 0.05, Unit::Share));
        assert_eq!(read(" lock : * < 250 ms "), (Lock, named("*"), Op::Below, 250e6, Unit::Time));
        assert_eq!(read("efficiency>=0.7"), (Efficiency, None, Op::AtLeast, 0.7, Unit::Share));
        assert_eq!(read("efficiency>70%"), (Efficiency, None, Op::Above, 0.7, Unit::Share));
        assert_eq!(read("wall<=2.5s"), (Wall, None, Op::AtMost, 2.5e9, Unit::Time));
        assert_eq!(
            read("finding:imbalance<=3%"),
            (Finding, named("imbalance"), Op::AtMost, 0.03, Unit::Share)
        );
        assert_eq!(read("regression<=5%"), (Regression, None, Op::AtMost, 0.05, Unit::Share));
        let operators = "site:std::set<int, std::less<int>>::operator<=";
        let expected =
            (Site, named("std::set<int, std::less<int>>::operator<="), Op::AtMost, 0.01, Unit::Share);
        assert_eq!(read(&format!("{operators}<=1%")), expected);
    }

    #[test]
    fn errors_name_the_place_and_the_words() {
        for (text, at, word) in [
            ("", 1, "no limit"),
            ("lock:a", 7, "no limit"),
            ("lock:a=5%", 7, "single '='"),
            ("lok:a<=5%", 1, "lock, object"),
            ("lock<=5%", 5, "lock:NAME"),
            ("speed<=5%", 1, "wall, cpu"),
            ("lock:<=5%", 6, "name is missing"),
            ("lock:a<=", 9, "limit is missing"),
            ("lock:a<=5 %%", 11, "no unit"),
            ("wall<=5%", 7, "a time such as"),
            ("wall<=1.2.3s", 7, "no number"),
            ("finding:lokc<=5%", 9, "oversubscription"),
            ("regression>=5%", 11, "upper limit"),
            ("lock:größe<=5x", 14, "no unit"),
        ] {
            let (found, problem) = refused(text);
            assert_eq!(found, at, "{text}: {problem}");
            assert!(problem.contains(word), "{text}: {problem}");
        }
    }
}
