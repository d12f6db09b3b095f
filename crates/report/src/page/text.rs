//! Words and figures for the page. Every name leaves here with its control characters spelled out; what is markup in
//! HTML is escaped by the template engine.

use std::collections::BTreeMap;

use holdup_criticality::{Diagnosis, ObjectCost};
use holdup_model::names::Names;
use holdup_model::{Nanos, ObjectId, ObjectKind, Process, Run, SiteId, State, ThreadId, Time, Timeline};

use super::chart::{Color, color_of_state};
use crate::lines::UNITS;
use crate::{Look, escape, names, numbers};

/// A page shows all characters, and its lines are broken by the browser.
pub(super) const LOOK: Look = Look::plain(Look::WIDEST);

/// Between a number and its unit: the two stay on one line.
const NO_BREAK: &str = "\u{a0}";

/// One process of a run as the page tells it: the data, and what its threads are called.
pub(super) struct Told<'a> {
    pub(super) run: &'a Run,
    pub(super) process: &'a Process,
    pub(super) diagnosis: &'a Diagnosis,
    pub(super) timeline: &'a Timeline,
    threads: Vec<String>,
    objects: BTreeMap<ObjectId, String>,
}

impl<'a> Told<'a> {
    pub(super) fn new(run: &'a Run, diagnosis: &'a Diagnosis) -> Self {
        let timeline = &diagnosis.timeline;
        let process = &run.processes[diagnosis.process];
        let threads = names::threads(process, LOOK);
        let objects = objects(process, diagnosis, &names::of(process, Some(&timeline.roles), LOOK));
        Self { run, process, diagnosis, timeline, threads, objects }
    }

    /// What a thread is called everywhere on the page.
    pub(super) fn thread(&self, id: ThreadId) -> String {
        self.threads.get(id.index()).cloned().unwrap_or_else(|| format!("thread {}", id.index()))
    }

    /// `main, worker 1 to 4, 7`; of more than `most` such parts the first ones, and the number of the other threads.
    pub(super) fn threads(&self, ids: &[ThreadId], most: usize) -> String {
        let names: Vec<String> = ids.iter().map(|id| self.thread(*id)).collect();
        in_short(&names, most)
    }

    /// `cache_put (cache.c:212)`; empty where the place is not known.
    pub(super) fn place(&self, site: Option<SiteId>) -> String {
        site.map_or_else(String::new, |site| names::place(self.process, site, None, LOOK))
    }

    /// `cache_put (cache.c:212)` for each frame of a call stack, innermost first.
    pub(super) fn stack(&self, site: SiteId) -> Vec<String> {
        self.process.site(site).frames.iter().map(|frame| frame.told(None, &shown)).collect()
    }

    fn names(&self) -> Names<'_> {
        names::of(self.process, Some(&self.timeline.roles), LOOK)
    }

    /// What an object is called everywhere on the page.
    pub(super) fn object(&self, id: ObjectId) -> String {
        self.objects.get(&id).cloned().unwrap_or_else(|| object(&self.names(), self.process, id))
    }

    /// What a family of objects is called.
    pub(super) fn family(&self, name: &str) -> String {
        self.names().shown_as(name)
    }

    /// What an object is for: its kind, but of a futex word what the runtime that waits on it makes of it.
    pub(super) fn role(&self, id: ObjectId) -> ObjectKind {
        self.timeline.roles.kinds.get(id.index()).copied().unwrap_or(self.process.object(id).kind)
    }

    /// The colour of waiting for an object.
    pub(super) fn color_of(&self, id: ObjectId) -> Color {
        color_of_state(State::Blocked, Some(self.role(id)))
    }

    /// What the diagnosis says of an object, if anything.
    pub(super) fn cost_of(&self, object: ObjectId) -> Option<&'a ObjectCost> {
        self.diagnosis.objects.iter().find(|cost| cost.object == object)
    }

    /// The function of a place alone, or the whole place where it has none.
    pub(super) fn function(&self, site: SiteId) -> String {
        let function = self.process.site(site).place().and_then(|frame| frame.function.as_deref());
        function.map_or_else(|| self.place(Some(site)), |name| escape::name(name, LOOK))
    }

    /// A moment, counted from the start of the run, as `--from` and `--to` do.
    pub(super) fn moment(&self, at: Time) -> String {
        match at.since(self.run.start) {
            Nanos::ZERO => format!("0{NO_BREAK}s"),
            length => time(length),
        }
    }

    /// A part of the wall time, in per cent.
    pub(super) fn of_wall(&self, part: Nanos) -> String {
        percent(part.share_of(self.diagnosis.wall))
    }
}

/// Labels of the objects that the diagnosis tells of, all of them different.
fn objects(process: &Process, diagnosis: &Diagnosis, names: &Names<'_>) -> BTreeMap<ObjectId, String> {
    let costs = diagnosis.objects.iter().map(|cost| cost.object);
    let links = diagnosis.chains.iter().flat_map(|chain| chain.links.iter().map(|link| link.object));
    let on_path = diagnosis.path.by_object.iter().map(|(object, _)| *object);
    let mut labels: BTreeMap<ObjectId, String> =
        costs.chain(links).chain(on_path).map(|id| (id, object(names, process, id))).collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for label in labels.values() {
        *counts.entry(label.clone()).or_default() += 1;
    }
    for (id, label) in &mut labels {
        if counts[label] > 1 {
            // The number comes early: what is too long for its place loses its end or its middle.
            *label = match label.split_once(" (") {
                Some((kind, place)) => format!("{kind} #{} ({place}", id.index()),
                None => format!("{label} #{}", id.index()),
            };
        }
    }
    labels
}

/// The name of an object; without one, what it is and where it was made.
fn object(names: &Names<'_>, process: &Process, id: ObjectId) -> String {
    match process.object(id).name {
        Some(_) => names.object_in_parts(id).1,
        None => names.object(id).to_owned(),
    }
}

fn shown(name: &str) -> String {
    escape::name(name, LOOK)
}

/// Names in their order, those that differ in a number only together: `main, worker 1 to 4, 7`. Each range counts as a
/// part, and of more than `most` parts the first ones are told, with the number of the names behind them.
fn in_short(names: &[String], most: usize) -> String {
    struct Range<'a> {
        stem: &'a str,
        first: Option<u64>,
        last: u64,
        names: usize,
    }
    let mut ranges: Vec<Range<'_>> = Vec::new();
    for name in names {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        // A number with a zero before it, or a very long one, is no number to count with.
        let digits = &name[stem.len()..];
        let number =
            digits.parse::<u64>().ok().filter(|number| !stem.is_empty() && number.to_string() == digits);
        match (ranges.last_mut(), number) {
            (Some(range), Some(number))
                if range.stem == stem
                    && range.first.is_some()
                    && number.checked_sub(1) == Some(range.last) =>
            {
                (range.last, range.names) = (number, range.names + 1);
            }
            (_, Some(number)) => {
                ranges.push(Range { stem, first: Some(number), last: number, names: 1 });
            }
            (_, None) => ranges.push(Range { stem: name, first: None, last: 0, names: 1 }),
        }
    }
    let mut told = String::new();
    let mut before = None;
    for range in ranges.iter().take(most) {
        let comma = if told.is_empty() { "" } else { ", " };
        let stem = if range.first.is_some() && before == Some(range.stem) { "" } else { range.stem };
        told.push_str(&match (range.first, range.last) {
            (None, _) => format!("{comma}{stem}"),
            (Some(first), last) if first == last => format!("{comma}{stem}{first}"),
            (Some(first), last) if first + 1 == last => format!("{comma}{stem}{first}, {last}"),
            (Some(first), last) => format!("{comma}{stem}{first} to {last}"),
        });
        before = range.first.map(|_| range.stem);
    }
    match ranges.iter().skip(most).map(|range| range.names).sum::<usize>() {
        0 => told,
        more => format!("{told} and {more} more"),
    }
}

/// A sentence with names of the program in it.
pub(super) fn sentence(text: &str) -> String {
    escape::sentence(text, LOOK)
}

/// A sentence in which no number stands in a line without its unit.
pub(super) fn unbroken(text: &str) -> String {
    let is_unit = |word: &str| UNITS.contains(&word.trim_end_matches(|c: char| ",;.:)".contains(c)));
    let mut out = String::with_capacity(text.len());
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 {
            let is_number = out.ends_with(|c: char| c.is_ascii_digit());
            out.push_str(if is_number && is_unit(word) { NO_BREAK } else { " " });
        }
        out.push_str(word);
    }
    out
}

/// A length of time with its unit: `12.4 s`.
pub(super) fn time(length: Nanos) -> String {
    numbers::time(length, LOOK).replace(' ', NO_BREAK)
}

/// Two lengths of time as the ends of a range: `442 to 664 ms`.
pub(super) fn range(low: Nanos, high: Nanos) -> String {
    Nanos::range(low, high).replace(' ', NO_BREAK)
}

/// The same of a length that is no whole number of nanoseconds.
pub(super) fn time_of(nanos: f64) -> String {
    time(Nanos::new(nanos.max(0.0).round() as u64))
}

/// A share from 0 to 1 in per cent.
pub(super) fn percent(share: f64) -> String {
    numbers::percent(share).replace(' ', NO_BREAK)
}

/// A range of shares in per cent.
pub(super) fn percent_range(least: f64, most: f64) -> String {
    numbers::percent_range(least, most).replace(' ', NO_BREAK)
}

/// A whole number in groups of three.
pub(super) fn grouped(value: u64) -> String {
    numbers::grouped(value).replace(' ', "\u{202f}")
}

/// A number and its noun.
pub(super) fn counted(value: usize, one: &str, many: &str) -> String {
    format!("{}{NO_BREAK}{}", grouped(value as u64), if value == 1 { one } else { many })
}

/// A number, and its unit apart, since the unit is set smaller.
pub(super) struct Figure {
    pub(super) number: String,
    pub(super) unit: String,
    /// Whether the unit is a few words rather than a sign.
    pub(super) has_words: bool,
}

impl Figure {
    /// Splits what [`time`] and [`percent`] give.
    pub(super) fn of(text: &str) -> Self {
        let (number, unit) = text.rsplit_once(NO_BREAK).unwrap_or((text, ""));
        Self { number: number.to_owned(), unit: unit.to_owned(), has_words: false }
    }

    /// A number with words behind it.
    pub(super) fn with(number: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { number: number.into(), unit: unit.into(), has_words: true }
    }
}

/// What a thread in this state does, in a word or two.
pub(super) fn state_word(state: State) -> &'static str {
    match state {
        State::Active => "active",
        State::Blocked => "blocked",
        State::Io => "in I/O",
        State::Asleep => "asleep",
        State::Spinning => "spinning",
        State::Waking => "waking up",
        State::Descheduled => "without a core",
        State::NotRecorded => "not recorded",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_a_number_are_told_together() {
        let told =
            |names: &str, most| in_short(&names.split(';').map(str::to_owned).collect::<Vec<_>>(), most);
        assert_eq!(told("main;worker 1;worker 2;worker 3;worker 7", 9), "main, worker 1 to 3, 7");
        assert_eq!(told("a #1;a #2;b", 9), "a #1, 2, b");
        assert_eq!(told("x;x", 9), "x, x");
        assert_eq!(told("1;2;3", 9), "1, 2, 3");
        assert_eq!(told("w01;w02", 9), "w01, w02");
        assert_eq!(told("a;b;c 1;c 2;d", 2), "a, b and 3 more");
        assert_eq!(told("n18446744073709551615;n0", 9), "n18446744073709551615, 0");
    }

    #[test]
    fn a_range_names_its_unit_once() {
        let told = |low, high| range(Nanos::new(low), Nanos::new(high)).replace(NO_BREAK, " ");
        assert_eq!(told(442_000_000, 664_000_000), "442 to 664 ms");
        assert_eq!(told(0, 1_200_000_000), "0 to 1.2 s");
        assert_eq!(told(999_000_000, 1_200_000_000), "999 ms to 1.2 s");
    }

    #[test]
    fn figures_split_at_the_unit() {
        let figure = Figure::of(&time(Nanos::new(12_437_000_000)));
        assert_eq!((figure.number.as_str(), figure.unit.as_str()), ("12.4", "s"));
        let small = Figure::of(&percent(0.0001));
        assert_eq!((small.number.as_str(), small.unit.as_str()), ("under\u{a0}0.1", "%"));
    }
}
