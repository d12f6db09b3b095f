//! Whether runs of a program keep to limits, as a test that runs with every change wants to know.
//!
//! A value over several runs is their mean. A regression holds where the mean slow-down is within its limit, or is not
//! beyond noise: its 95 % interval (Welch's t-test) has zero. One run on each side has no interval; then only what is above
//! [`ONE_PAIR`] counts.

mod grammar;

pub use grammar::{Budget, BudgetError, Limited, Op, Unit, parse};

use holdup_criticality::FindingKind;
use holdup_model::Arrange;
use holdup_model::selector::Pattern;

use crate::Place;
use crate::compare::{Change, Entries, Ledger, Name, Scale, Subject, mean_and_half_width, whole};

/// One run against one: a slow-down below this share of the baseline may be noise.
pub const ONE_PAIR: f64 = 0.05;

/// Names that are less like the one that was asked for than this are not offered (Jaro-Winkler, from 0 to 1).
const LIKENESS: f64 = 0.7;

/// At most so many names are offered.
const MOST_OFFERED: usize = 3;

/// What to make of names that no run has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Missing {
    /// An error, where it is certain: a budget for a name that was mistyped would hold for ever.
    #[default]
    Refused,
    /// The budget holds: what is not there costs nothing.
    Allowed,
}

/// One thing that was held against its limit.
#[derive(Clone, PartialEq, Debug)]
pub struct Judged {
    /// What it is called. Hostile.
    pub what: String,
    /// Where to look.
    pub place: Option<Place>,
    /// Its value, in the unit of the budget; the mean of several runs.
    pub value: f64,
    /// The ends of the value's 95 % interval, where there are several runs.
    pub interval: Option<(f64, f64)>,
    /// Whether it keeps to the limit.
    pub holds: bool,
}

/// What became of one budget.
#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    /// The budget.
    pub budget: Budget,
    /// What was held against it: those that exceed it first, the greatest excess first.
    pub judged: Vec<Judged>,
    /// What to keep in mind, a sentence each. Hostile.
    pub notes: Vec<String>,
}

impl Verdict {
    /// Whether everything keeps to the limit.
    pub fn holds(&self) -> bool {
        self.judged.iter().all(|judged| judged.holds)
    }
}

/// Holds the runs against the budgets, and for regressions against the runs of the baseline.
///
/// # Errors
/// [`BudgetError::NoRuns`] without runs, [`BudgetError::NoBaseline`] for a regression without a baseline, and
/// [`BudgetError::Unknown`] for a name that the runs, and the baseline, certainly do not have.
pub fn judge(
    budgets: &[Budget],
    runs: &[Ledger],
    baseline: &[Ledger],
    missing: Missing,
) -> Result<Vec<Verdict>, BudgetError> {
    if runs.is_empty() {
        return Err(BudgetError::NoRuns);
    }
    budgets.iter().map(|budget| verdict(budget, runs, baseline, missing)).collect()
}

fn verdict(
    budget: &Budget,
    runs: &[Ledger],
    baseline: &[Ledger],
    missing: Missing,
) -> Result<Verdict, BudgetError> {
    let mut notes = Vec::new();
    let mut judged = match (budget.limited, &budget.pattern) {
        (Limited::Regression, _) => vec![regression(budget, runs, baseline, &mut notes)?],
        (limited, None) => whole_run(budget, limited, runs, &mut notes),
        (Limited::Cost, Some(pattern)) => classes(budget, pattern, runs),
        (limited, Some(pattern)) => {
            let judged = things(budget, limited, pattern, runs);
            if judged.is_empty() {
                notes.push(absent(budget, limited, pattern, runs, baseline, missing)?);
            }
            judged
        }
    };
    let excess =
        |judged: &Judged| if judged.holds { f64::NEG_INFINITY } else { (judged.value - budget.limit).abs() };
    judged.arrange_by(|a, b| {
        excess(b)
            .total_cmp(&excess(a))
            .then_with(|| b.value.total_cmp(&a.value))
            .then_with(|| a.what.cmp(&b.what))
    });
    Ok(Verdict { budget: budget.clone(), judged, notes })
}

fn judged(budget: &Budget, what: String, place: Option<Place>, values: &[f64]) -> Judged {
    let (value, half) = mean_and_half_width(values);
    Judged {
        what,
        place,
        value,
        // None of these values can be below nothing.
        interval: half.map(|half| ((value - half).max(0.0), value + half)),
        holds: budget.op.holds(value, budget.limit),
    }
}

/// A time (ns) of a run in the unit of the budget.
fn in_unit(budget: &Budget, time: i64, run: &Ledger) -> f64 {
    match budget.unit {
        Unit::Share => time as f64 / run.wall.get().max(1) as f64,
        Unit::Time | Unit::Plain => time as f64,
    }
}

fn whole_run(budget: &Budget, limited: Limited, runs: &[Ledger], notes: &mut Vec<String>) -> Vec<Judged> {
    let values: Option<Vec<f64>> = runs
        .iter()
        .map(|run| match limited {
            Limited::Wall => Some(run.wall.get() as f64),
            Limited::Cpu => run.cpu.map(|cpu| cpu.get() as f64),
            Limited::Efficiency => Some(run.efficiency),
            _ => Some(run.parallelism),
        })
        .collect();
    match values {
        Some(values) => vec![judged(budget, limited.word().to_owned(), None, &values)],
        None => {
            notes.push("Not judged: the CPU time of all threads is not known.".to_owned());
            Vec::new()
        }
    }
}

fn regression(
    budget: &Budget,
    runs: &[Ledger],
    baseline: &[Ledger],
    notes: &mut Vec<String>,
) -> Result<Judged, BudgetError> {
    if baseline.is_empty() {
        return Err(BudgetError::NoBaseline { text: budget.text.clone() });
    }
    let walls = |runs: &[Ledger]| runs.iter().map(|run| whole(run.wall)).collect::<Vec<_>>();
    let change = Change::between(&walls(baseline), &walls(runs), Scale::NONE);
    let base = change.before.max(1) as f64;
    let unit = |time: i64| if budget.unit == Unit::Share { time as f64 / base } else { time as f64 };
    let value = unit(change.difference);
    let is_within = budget.op.holds(value, budget.limit);
    let slower = change.difference as f64 / base;
    let is_noise = match change.interval {
        Some((low, _)) => low <= 0,
        None => slower <= ONE_PAIR,
    };
    if !is_within && is_noise {
        notes.push(match change.interval {
            Some(_) => "More than the limit, but no more than noise: its interval has zero. More recordings narrow it.".to_owned(),
            None => format!(
                "More than the limit, but one run against one cannot tell less than {} % from noise. Give several \
                 recordings (holdup record -r 5).",
                ONE_PAIR * 100.0
            ),
        });
    }
    for (one, other) in [(&runs[0], &baseline[0])] {
        if one.command != other.command {
            notes.push("The baseline ran another command.".to_owned());
        }
        let differ = other.surroundings.differences(&one.surroundings);
        for surrounding in differ.iter().filter(|surrounding| surrounding.is_grave) {
            notes.push(format!(
                "The baseline had other surroundings ({}: {} then, {} now).",
                surrounding.what, surrounding.before, surrounding.after
            ));
        }
    }
    Ok(Judged {
        what: "wall time".to_owned(),
        place: None,
        value,
        interval: change.interval.map(|(low, high)| (unit(low), unit(high))),
        holds: is_within || is_noise,
    })
}

/// What is lost to each class that the pattern names.
fn classes(budget: &Budget, pattern: &Pattern, runs: &[Ledger]) -> Vec<Judged> {
    let kinds = FindingKind::ALL.iter().filter(|kind| pattern.matches(kind.word()));
    kinds
        .map(|&kind| {
            let values: Vec<f64> =
                runs.iter().map(|run| in_unit(budget, whole(run.part(kind)), run)).collect();
            judged(budget, format!("all of kind {}", kind.word()), None, &values)
        })
        .collect()
}

fn subject(limited: Limited) -> Subject {
    match limited {
        Limited::Lock | Limited::Object => Subject::Objects,
        Limited::Site => Subject::Sites,
        Limited::Function => Subject::Functions,
        Limited::Thread => Subject::Threads,
        Limited::Region => Subject::Labels,
        _ => Subject::Findings,
    }
}

/// The name by which a budget calls a thing: of an object its symbol, or without one the function that made it or
/// uses it.
fn called(limited: Limited, name: &Name) -> Option<&str> {
    let function = || name.place.as_ref().and_then(|place| place.function.as_deref());
    match limited {
        Limited::Lock if !is_lock(name.sort) => None,
        Limited::Finding => Some(name.sort),
        // The time with no thread active has no symbol.
        Limited::Thread => name.symbol.as_deref(),
        Limited::Lock | Limited::Object | Limited::Region => name.symbol.as_deref().or_else(function),
        _ => function(),
    }
}

fn is_lock(sort: &str) -> bool {
    use holdup_model::ObjectKind::{Mutex, RwLock, SpinLock};
    [Mutex, RwLock, SpinLock].iter().any(|kind| kind.word() == sort)
}

fn things(budget: &Budget, limited: Limited, pattern: &Pattern, runs: &[Ledger]) -> Vec<Judged> {
    let subject = subject(limited);
    // All places of one function are one thing, all else is told apart by its whole name.
    let by_function = matches!(limited, Limited::Site | Limited::Function);
    let group = |name: &Name| match called(limited, name).filter(|_| by_function) {
        Some(function) => Name { sort: name.sort, symbol: Some(function.to_owned()), ..Name::default() },
        None => name.clone(),
    };
    let mut found: Vec<(Name, String, Option<Place>, Vec<i64>)> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let Entries { all, .. } = run.entries(subject);
        for entry in
            all.iter().filter(|entry| called(limited, &entry.name).is_some_and(|name| pattern.matches(name)))
        {
            let name = group(&entry.name);
            let at = found.iter().position(|(known, ..)| *known == name).unwrap_or_else(|| {
                let told =
                    if by_function { name.symbol.clone().unwrap_or_default() } else { entry.told.clone() };
                found.push((name, told, entry.place.clone(), vec![0; runs.len()]));
                found.len() - 1
            });
            let amount = match limited {
                // What threads wait for at a place, and what they are in system calls there.
                Limited::Site => entry.amounts.iter().flatten().sum(),
                _ => entry.amounts[0].unwrap_or(0),
            };
            let sum = &mut found[at].3[index];
            *sum = sum.saturating_add(amount);
        }
    }
    found
        .into_iter()
        .map(|(_, told, place, amounts)| {
            let values: Vec<f64> =
                amounts.iter().zip(runs).map(|(&amount, run)| in_unit(budget, amount, run)).collect();
            judged(budget, told, place, &values)
        })
        .collect()
}

/// A note on a budget for something that no run has; or an error where that is certain and not expected.
fn absent(
    budget: &Budget,
    limited: Limited,
    pattern: &Pattern,
    runs: &[Ledger],
    baseline: &[Ledger],
    missing: Missing,
) -> Result<String, BudgetError> {
    let what = limited.word();
    if limited == Limited::Finding {
        return Ok("No finding of this kind.".to_owned());
    }
    let subject = subject(limited);
    let names = |ledgers: &[Ledger]| -> Vec<String> {
        let entries = ledgers.iter().flat_map(|ledger| &ledger.entries(subject).all);
        let mut names: Vec<String> =
            entries.filter_map(|entry| called(limited, &entry.name).map(str::to_owned)).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    if names(baseline).iter().any(|name| pattern.matches(name)) {
        return Ok(format!("The baseline has this {what}; it no longer occurs."));
    }
    let known_function =
        || runs.iter().flat_map(|run| &run.functions_known).any(|name| pattern.matches(name));
    let is_seen_only_at_times = matches!(limited, Limited::Site | Limited::Function);
    if is_seen_only_at_times && known_function() {
        return Ok(match limited {
            Limited::Site => "No thread waited in this function.".to_owned(),
            _ => "No thread was seen at work in this function.".to_owned(),
        });
    }
    let mut near = names(runs);
    if is_seen_only_at_times {
        near.extend(runs.iter().flat_map(|run| run.functions_known.iter().cloned()));
    }
    let nearest = nearest(&pattern.to_string(), near);
    // Samples, waits and what the kernel alone sees may miss a thing by chance; a count of all uses does not.
    let is_certain = match limited {
        Limited::Lock | Limited::Object => runs.iter().all(|run| run.counts_uses),
        Limited::Thread | Limited::Region => true,
        _ => false,
    };
    if is_certain && !pattern.is_open() && missing == Missing::Refused {
        return Err(BudgetError::Unknown { text: budget.text.clone(), what, nearest });
    }
    Ok(format!("No {what} of this name in the recording{nearest}."))
}

/// ` (it has cache_lock, table_lock)`, the most like the name first.
fn nearest(wanted: &str, names: Vec<String>) -> String {
    let mut near: Vec<(f64, String)> =
        names.into_iter().map(|name| (strsim::jaro_winkler(wanted, &name), name)).collect();
    near.retain(|(likeness, _)| *likeness >= LIKENESS);
    near.arrange_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    near.dedup();
    let names: Vec<String> = near.into_iter().take(MOST_OFFERED).map(|(_, name)| name).collect();
    if names.is_empty() { String::new() } else { format!(" (most like it: {})", names.join(", ")) }
}
