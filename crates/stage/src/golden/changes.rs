//! What two outputs differ by, as facts: which finding costs what now, which appeared, which numbers are others.

use std::collections::BTreeMap;

use serde_json::Value;

use super::ask::Subject;
use super::outputs::Outputs;

/// A fact about a subject that is not what it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// What it is about: `finding 2, cost`.
    pub fact: String,
    /// What was said; empty where only that it is another is known.
    pub before: String,
    /// What is said now.
    pub after: String,
}

impl Change {
    fn new(fact: impl Into<String>, before: impl Into<String>, after: impl Into<String>) -> Change {
        Change { fact: fact.into(), before: before.into(), after: after.into() }
    }
}

/// What stands where there was nothing, or is nothing now.
const NOTHING: &str = "nothing";

/// So many characters of a value are shown.
const SHOWN: usize = 110;

/// What outputs of a subject differ by, the most important first.
pub fn changes(subject: &Subject, before: &Outputs, after: &Outputs) -> Vec<Change> {
    let mut found = Vec::new();
    let own = format!("{}.holdup", subject.name);
    // Limits and tables of one command are one fact.
    let called = |command: &str| {
        let command = command.replace(&own, "FILE");
        let end = [" --budget", ": ", "    ("].iter().filter_map(|rest| command.find(rest)).min();
        command[..end.unwrap_or(command.len())].to_owned()
    };
    let commands =
        before.whole.keys().chain(after.whole.keys().filter(|key| !before.whole.contains_key(*key)));
    let mut members = Vec::new();
    for command in commands {
        let [old, new] = [before, after].map(|outputs| outputs.whole.get(command));
        if old == new {
            continue;
        }
        let json = |said: Option<&String>| said.and_then(|said| serde_json::from_str(said).ok());
        match (json(old), json(new)) {
            (Some(old), Some(new)) => {
                of_findings(&old, &new, &mut found);
                of_members(&called(command), &old, &new, &mut members);
            }
            _ => members.push(Change::new(format!("output of {}", called(command)), "", "")),
        }
    }
    let [old, new] = [before, after].map(|outputs| &outputs.text);
    let first = |text: &[(String, String)]| text.get(1).map(|(_, said)| sentence(said)).unwrap_or_default();
    if first(old) != first(new) {
        found.insert(0, Change::new("headline", first(old), first(new)));
    }
    found.extend(members);
    for (what, old, new) in [("text", old, new), ("bytes", &before.sums, &after.sums)] {
        let known: BTreeMap<&str, &str> = by_name(old);
        let now: BTreeMap<&str, &str> = by_name(new);
        for command in known.keys().chain(now.keys().filter(|command| !known.contains_key(*command))) {
            let change = Change::new(format!("{what} of {}", called(command)), "", "");
            if known.get(command) != now.get(command) && !found.contains(&change) {
                found.push(change);
            }
        }
    }
    found
}

fn by_name(outputs: &[(String, String)]) -> BTreeMap<&str, &str> {
    outputs.iter().map(|(name, said)| (name.as_str(), said.as_str())).collect()
}

/// The first sentence of an answer, which may have several lines.
fn sentence(said: &str) -> String {
    said.lines().take_while(|line| !line.trim().is_empty()).map(str::trim).collect::<Vec<_>>().join(" ")
}

/// A finding of a report: its place, what it costs, what fixing it saves.
struct Finding {
    place: usize,
    cost: String,
    gain: String,
}

fn findings(json: &Value) -> BTreeMap<String, Finding> {
    let mut found = BTreeMap::new();
    let list = json["findings"].as_array().map_or(&[][..], Vec::as_slice);
    for (place, finding) in (1..).zip(list) {
        let what = finding["what"].as_str().unwrap_or_default();
        // Several may be called alike.
        let name =
            (1..).map(|number| if number == 1 { what.to_owned() } else { format!("{what} ({number})") });
        let name = name.into_iter().find(|name| !found.contains_key(name)).unwrap_or_default();
        let cost = shown("cost_ns", &finding["cost_ns"]);
        let gain = shown("ns", &finding["gain"]["ns"]);
        found.insert(name, Finding { place, cost, gain });
    }
    found
}

fn of_findings(before: &Value, after: &Value, found: &mut Vec<Change>) {
    let (old, new) = (findings(before), findings(after));
    for (what, was) in old.iter().filter(|(what, _)| !new.contains_key(*what)) {
        found.push(Change::new("finding vanished", format!("{}. {what}, {}", was.place, was.cost), NOTHING));
    }
    for (what, is) in &new {
        let Some(was) = old.get(what) else {
            found.push(Change::new(
                "finding appeared",
                NOTHING,
                format!("{}. {what}, {}", is.place, is.cost),
            ));
            continue;
        };
        if was.place != is.place {
            let place = |place: usize| format!("{place}. {what}");
            found.push(Change::new("finding moved", place(was.place), place(is.place)));
        }
        for (part, was, now) in [("cost", &was.cost, &is.cost), ("gain", &was.gain, &is.gain)] {
            if was != now {
                found.push(Change::new(format!("finding {}, {part}", is.place), was, now));
            }
        }
    }
}

/// Other members of JSON, by their path without the numbers of lists' members. Of each path the first that differs.
fn of_members(command: &str, before: &Value, after: &Value, found: &mut Vec<Change>) {
    let mut differing = Vec::new();
    compare("", before, after, &mut differing);
    for (path, was, is) in differing {
        let told = ["findings[].cost_ns", "findings[].gain.ns", "findings[].what", "findings"];
        let fact = format!("{path} of {command}");
        if !told.contains(&path.as_str()) && !found.iter().any(|change| change.fact == fact) {
            found.push(Change::new(fact, was, is));
        }
    }
}

fn compare(path: &str, before: &Value, after: &Value, found: &mut Vec<(String, String, String)>) {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
            for name in names {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let [old, new] = [old, new].map(|map| map.get(name).unwrap_or(&Value::Null));
                compare(&path, old, new, found);
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            if old.len() != new.len() {
                let count = |list: &[Value]| format!("{} of them", list.len());
                found.push((path.to_owned(), count(old), count(new)));
            }
            for (old, new) in old.iter().zip(new) {
                compare(&format!("{path}[]"), old, new, found);
            }
        }
        _ if before != after => {
            let name = path.rsplit('.').next().unwrap_or_default();
            found.push((path.to_owned(), shown(name, before), shown(name, after)));
        }
        _ => {}
    }
}

/// A value of a member of this name.
fn shown(name: &str, value: &Value) -> String {
    let is_time = name == "ns" || name.trim_end_matches("[]").ends_with("_ns");
    match value {
        Value::Number(number) if is_time => time(number.as_f64().unwrap_or(f64::NAN)),
        Value::Null => NOTHING.to_owned(),
        Value::String(text) => cut(text),
        Value::Array(list) => format!("{} of them", list.len()),
        Value::Object(_) => "an object".to_owned(),
        other => cut(&other.to_string()),
    }
}

fn cut(text: &str) -> String {
    let mut cut: String = text.chars().take(SHOWN).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

/// A time with as many digits as tell small changes: four.
fn time(ns: f64) -> String {
    let (unit, scale) = [("s", 1e9), ("ms", 1e6), ("µs", 1e3)]
        .into_iter()
        .find(|(_, scale)| ns.abs() >= *scale)
        .unwrap_or(("ns", 1.0));
    let value = ns / scale;
    let decimals = if scale == 1.0 { 0 } else { 3 - (value.abs().log10().floor() as usize).min(3) };
    format!("{value:.decimals$} {unit}")
}

/// How much of the changes is shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Facts about outputs in general: members of JSON, texts, bytes.
    pub facts: usize,
    /// Values of each fact.
    pub values: usize,
}

impl Shown {
    /// What fits on a few screens.
    pub const SOME: Shown = Shown { facts: 25, values: 6 };
    /// All.
    pub const ALL: Shown = Shown { facts: usize::MAX, values: usize::MAX };
}

/// A fact, and who says which of it now.
type Group<'a> = (&'a str, Vec<(&'a Change, Vec<&'a str>)>);

/// All changes of all subjects, grouped by what they are about, with who has them: findings first, then what most have.
pub fn table(changes: &[(String, Vec<Change>)], shown: Shown) -> String {
    let mut groups: BTreeMap<&str, Vec<(&Change, Vec<&str>)>> = BTreeMap::new();
    for (subject, of_subject) in changes {
        for change in of_subject {
            let group = groups.entry(&change.fact).or_default();
            match group.iter_mut().find(|(other, _)| *other == change) {
                Some((_, names)) => names.push(subject),
                None => group.push((change, vec![subject])),
            }
        }
    }
    let count = |group: &Group<'_>| group.1.iter().map(|(_, names)| names.len()).sum::<usize>();
    let mut groups: Vec<Group<'_>> = groups.into_iter().collect();
    groups.sort_by_key(|group| (rank(group.0), std::cmp::Reverse(count(group))));
    let mut text = String::new();
    let (mut of_outputs, mut left_out) = (0, 0);
    for group in &groups {
        of_outputs += usize::from(rank(group.0) >= KINDS.len());
        if of_outputs > shown.facts {
            left_out += 1;
            continue;
        }
        let (fact, values) = group;
        text.push_str(&format!("{fact}, in {}:\n", count(group)));
        for (change, names) in values.iter().take(shown.values) {
            let names = some(names, shown.values);
            let line = match (change.before.is_empty(), change.after.is_empty()) {
                (true, true) => names,
                _ => format!("{} -> {}   {names}", change.before, change.after),
            };
            text.push_str(&format!("  {line}\n"));
        }
        if values.len() > shown.values {
            text.push_str(&format!("  and {} more\n", values.len() - shown.values));
        }
    }
    if left_out > 0 {
        text.push_str(&format!("and {left_out} more members of JSON, texts and files\n"));
    }
    text
}

/// The first of these names, and how many there are besides.
fn some(names: &[&str], most: usize) -> String {
    let first = names.iter().take(most).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// Facts that come first in the table, in their order.
const KINDS: [&str; 5] = ["headline", "finding vanished", "finding appeared", "finding moved", "finding "];

/// What comes first in the table.
fn rank(fact: &str) -> usize {
    let kind = KINDS.iter().position(|kind| fact.starts_with(kind));
    let others = ["text of ", "output of ", "bytes of "].iter().position(|kind| fact.starts_with(kind));
    kind.unwrap_or(KINDS.len() + others.map_or(0, |at| at + 1))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn finding(what: &str, cost: u64, gain: u64) -> Value {
        json!({"what": what, "cost_ns": cost, "gain": {"ns": gain}, "kind": "lock"})
    }

    fn between(before: &[Value], after: &[Value]) -> Vec<(String, String, String)> {
        let mut found = Vec::new();
        of_findings(&json!({"findings": before}), &json!({"findings": after}), &mut found);
        found.into_iter().map(|change| (change.fact, change.before, change.after)).collect()
    }

    fn text(words: [&str; 3]) -> (String, String, String) {
        let [a, b, c] = words.map(str::to_owned);
        (a, b, c)
    }

    #[test]
    fn findings_are_known_by_what_they_say() {
        let (a, b) = (finding("lock a", 1_200_000_000, 5), finding("lock b", 10, 5));
        let dearer = finding("lock a", 1_310_000_000, 6);
        assert_eq!(
            between(&[a.clone(), b.clone()], &[b.clone(), dearer]),
            [
                text(["finding moved", "1. lock a", "2. lock a"]),
                text(["finding 2, cost", "1.200 s", "1.310 s"]),
                text(["finding 2, gain", "5 ns", "6 ns"]),
                text(["finding moved", "2. lock b", "1. lock b"]),
            ]
        );
        assert_eq!(between(std::slice::from_ref(&a), &[b]).len(), 2, "one is gone, another is new");
        assert_eq!(
            between(&[a.clone(), a.clone()], std::slice::from_ref(&a)),
            [text(["finding vanished", "2. lock a (2), 1.200 s", "nothing"])]
        );
    }

    #[test]
    fn members_are_told_by_their_path_once() {
        let before = json!({"a": [{"x_ns": 1500}, {"x_ns": 2}], "b": "old", "c": [1]});
        let after = json!({"a": [{"x_ns": 2500}, {"x_ns": 3}], "b": "new", "c": [1, 2], "d": 1});
        let mut found = Vec::new();
        of_members("holdup sim FILE", &before, &after, &mut found);
        let told: Vec<_> =
            found.iter().map(|one| format!("{}: {} {}", one.fact, one.before, one.after)).collect();
        assert_eq!(
            told,
            [
                "a[].x_ns of holdup sim FILE: 1.500 µs 2.500 µs",
                "b of holdup sim FILE: old new",
                "c of holdup sim FILE: 1 of them 2 of them",
                "d of holdup sim FILE: nothing 1",
            ]
        );
    }

    #[test]
    fn recordings_with_the_same_change_are_in_one_line() {
        let cost = |before, after| Change::new("finding 2, cost", before, after);
        let of = |name: &str, changes: &[Change]| (name.to_owned(), changes.to_vec());
        let bytes = Change::new("bytes of holdup report FILE --html -", "", "");
        let all = [
            of("a", &[bytes.clone(), cost("1 s", "2 s")]),
            of("b", &[cost("1 s", "2 s"), bytes]),
            of("c", &[cost("3 s", "4 s")]),
        ];
        assert_eq!(
            table(&all, Shown::ALL),
            "finding 2, cost, in 3:\n  1 s -> 2 s   a, b\n  3 s -> 4 s   c\n\
             bytes of holdup report FILE --html -, in 2:\n  a, b\n"
        );
        assert_eq!(
            table(&all, Shown { facts: 0, values: 1 }),
            "finding 2, cost, in 3:\n  1 s -> 2 s   a and 1 more\n  and 1 more\n\
             and 1 more members of JSON, texts and files\n"
        );
    }

    #[test]
    fn times_have_four_digits() {
        let shown = [0.0, 999.0, 1500.0, 12_345_678.0, 123_456_789.0, 1.5e9, 12.0e9].map(time);
        assert_eq!(shown, ["0 ns", "999 ns", "1.500 µs", "12.35 ms", "123.5 ms", "1.500 s", "12.00 s"]);
    }
}
