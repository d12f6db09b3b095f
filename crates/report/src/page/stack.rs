//! The page about a measured speedup stack: what costs most, the curves and stacks of the program and of its phases (paper
//! 1, Figs. 3, 11, 13 and 14), what more cache would give (Figs. 4, 7 and 8), copies of programs with one thread (Figs. 5
//! and 6), what the simulator says, and how far all of it goes.

mod cache;
mod copies;
mod curves;
mod phases;

use askama::Template;
use holdup_speedup::{NOT_TOLD_APART, Speedup, SpeedupProfile};

use super::header::{Header, KeyFigure, command};
use super::scaling::unbroken;
use super::sim::speedups::Speedups;
use super::text::{Figure, LOOK, counted, time};
use super::{SCRIPT_OF_TABLES, policy};
use crate::stack::{told, words};

const STYLE: &[&str] = &[
    include_str!("../../page/palette.css"),
    include_str!("../../page/page.css"),
    include_str!("../../page/sections.css"),
    include_str!("../../page/scaling.css"),
    include_str!("../../page/stack.css"),
    include_str!("../../page/narrow.css"),
];

/// At most so many measurements that do not count are listed.
const MOST_DISCARDED: usize = 40;

#[derive(Template)]
#[template(path = "stack.html")]
struct Page {
    policy: String,
    title: String,
    style: String,
    script: String,
    header: Header,
    /// Where sections begin, and their names.
    links: Vec<(&'static str, &'static str)>,
    sections: Vec<String>,
    has_answer: bool,
    has_foot: bool,
    missing: Vec<(String, String)>,
    discarded: Vec<String>,
    notes: Vec<String>,
    effort: Vec<String>,
    version: &'static str,
}

/// A measured speedup stack as one HTML page: no network, no script but its own. The same input gives the same bytes.
pub fn stack_page(profile: &SpeedupProfile) -> String {
    // The colours of simulated components are in the styles of their own page.
    let simulated = if profile.simulated.is_empty() { "" } else { include_str!("../../page/sim.css") };
    let (style, script) = (STYLE.concat() + simulated, SCRIPT_OF_TABLES.join("\n"));
    let mut links = Vec::new();
    let mut sections = Vec::new();
    let mut add = |id, name, section: Option<String>| {
        if let Some(section) = section {
            links.push((id, name));
            sections.push(section);
        }
    };
    add("answer", "Answer", phases::Phases::of_whole(profile).map(rendered));
    add("phases", "Phases", phases::Phases::of_phases(profile).map(rendered));
    add("cache", "Cache", cache::Cache::new(profile).map(rendered));
    add("copies", "Copies", copies::Copies::new(profile).map(rendered));
    add("speedup", "Simulated", Speedups::beside_measured(&profile.simulated).map(rendered));

    let last = told::whole(profile).and_then(|whole| whole.points.last());
    let missing = last.map(|point| told::missing(point, LOOK)).unwrap_or_default();
    let mut discarded = told::all_discarded(profile, LOOK);
    let more = discarded.len().checked_sub(MOST_DISCARDED);
    discarded.truncate(MOST_DISCARDED);
    discarded.iter_mut().for_each(|told| *told = unbroken(told));
    if let Some(more @ 1..) = more {
        discarded.push(format!("And {more} more: holdup stack --json has them."));
    }
    let notes: Vec<String> = profile
        .notes
        .iter()
        .filter(|note| !note.trim().is_empty())
        .map(|note| unbroken(&crate::scaling::words::sentences(note, LOOK)))
        .collect();
    let effort: Vec<String> = [told::effort(&profile.effort, profile.base, LOOK), told::cache(profile)]
        .into_iter()
        .flatten()
        .collect();
    let has_foot = !(missing.is_empty() && discarded.is_empty() && notes.is_empty() && effort.is_empty());
    if has_foot {
        links.push(("notes", "How far it goes"));
    }
    let page = Page {
        policy: policy::policy(&script, &style),
        title: told::program(profile, LOOK),
        style,
        script,
        header: header(profile),
        has_answer: links.first().is_some_and(|link| link.0 == "answer"),
        links,
        sections,
        has_foot,
        missing,
        discarded,
        notes,
        effort: effort.iter().map(|line| unbroken(line)).collect(),
        version: env!("CARGO_PKG_VERSION"),
    };
    page.render().expect("a String takes all that is written to it")
}

fn rendered(section: impl Template) -> String {
    section.render().expect("a String takes all that is written to it")
}

fn header(profile: &SpeedupProfile) -> Header {
    let heading = unbroken(&told::heading(profile, LOOK));
    // The first half says what costs most, the second one what fixing it would save.
    let (heading, continued) = match heading.split_once(". ") {
        Some((costs, gives)) => (format!("{costs}."), gives.to_owned()),
        None => (heading, String::new()),
    };
    Header {
        kick: "holdup stack".to_owned(),
        heading,
        continued,
        command: command(&profile.command),
        figures: figures(profile),
        budget: None,
        warnings: Vec::new(),
        way_out: false,
    }
}

fn figures(profile: &SpeedupProfile) -> Vec<KeyFigure> {
    let mut figures = Vec::new();
    let mut add = |name, value| figures.push(KeyFigure { name, value });
    let Some((point, stack)) = told::whole(profile).and_then(told::last) else { return figures };
    let told = time(point.time);
    let (number, unit) = told.rsplit_once('\u{a0}').unwrap_or((&told, ""));
    let with = counted(point.threads as usize, "thread", "threads");
    add("Wall time", Figure::with(number, format!("{unit} with {with}")));
    let of = format!("of {}", point.threads);
    add("Speedup", Figure::with(words::speedup(stack.curves.measured, LOOK), of));
    if let Some(part) = told::named(profile, point, stack) {
        let what = if part.key == NOT_TOLD_APART { "not told apart" } else { &*part.label };
        add("Lost most to", Figure::with(words::speedup(Speedup::of(part.amount), LOOK), what));
    }
    if profile.effort.runs > 0 {
        add("Measured in", Figure::with(profile.effort.runs.to_string(), "runs"));
    }
    if let Some(recording) = profile.effort.recording {
        add("Recorded runs longer by", Figure::of(&super::text::percent(recording.max(0.0))));
    }
    figures
}
