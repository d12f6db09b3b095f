//! The page about a measured speedup stack: what costs most, the curves and stacks of the program and of its phases (paper
//! 1, Figs. 3, 11, 13 and 14), what more cache would give (Figs. 4, 7 and 8), copies of programs with one thread (Figs. 5
//! and 6), what the simulator says, and how far all of it goes.

mod cache;
mod copies;
mod curves;
mod phases;

use askama::Template;
use holdup_speedup::{NOT_TOLD_APART, Speedup, SpeedupProfile};

use super::frame::Frame;
use super::header::{Header, KeyFigure, command};
use super::sim::speedups::Speedups;
use super::text::{Figure, LOOK, counted, time, unbroken};
use crate::escape::sentences;
use crate::stack::{told, words};

/// At most so many measurements that do not count are listed.
const MOST_DISCARDED: usize = 40;

/// How far the numbers go.
#[derive(Template)]
#[template(path = "stack_notes.html")]
struct Notes {
    missing: Vec<(String, String)>,
    discarded: Vec<String>,
    notes: Vec<String>,
    effort: Vec<String>,
}

/// A measured speedup stack as one HTML page: no network, no script but its own. The same input gives the same bytes.
pub fn stack_page(profile: &SpeedupProfile) -> String {
    let mut frame = Frame::new("holdup stack", told::program(profile, LOOK), header(profile));
    frame.styles.extend([include_str!("../../page/scaling.css"), include_str!("../../page/stack.css")]);
    if let Some(whole) = phases::Phases::of_whole(profile) {
        frame.add("answer", "Answer", whole);
    }
    if let Some(phases) = phases::Phases::of_phases(profile) {
        frame.add("phases", "Phases", phases);
    }
    if let Some(cache) = cache::Cache::new(profile) {
        frame.add("cache", "Cache", cache);
    }
    if let Some(copies) = copies::Copies::new(profile) {
        frame.add("copies", "Copies", copies);
    }
    if let Some(simulated) = Speedups::beside_measured(&profile.simulated) {
        // The colours of simulated components are in the styles of their own page.
        frame.styles.push(include_str!("../../page/sim.css"));
        frame.add("speedup", "Simulated", simulated);
    }
    if let Some(notes) = notes(profile) {
        frame.add("notes", "How far it goes", notes);
    }
    frame.page()
}

fn notes(profile: &SpeedupProfile) -> Option<Notes> {
    let last = told::whole(profile).and_then(|whole| whole.points.last());
    let missing = last.map(|point| told::missing(point, LOOK)).unwrap_or_default();
    let mut discarded = told::all_discarded(profile, LOOK);
    let more = discarded.len().checked_sub(MOST_DISCARDED);
    discarded.truncate(MOST_DISCARDED);
    discarded.iter_mut().for_each(|told| *told = unbroken(told));
    if let Some(more @ 1..) = more {
        discarded.push(format!("And {more} more: holdup stack --json has them."));
    }
    let notes = profile.notes.iter().filter(|note| !note.trim().is_empty());
    let notes: Vec<String> = notes.map(|note| unbroken(&sentences(note, LOOK))).collect();
    let effort = [told::effort(&profile.effort, profile.base, LOOK), told::cache(profile)];
    let effort: Vec<String> = effort.into_iter().flatten().map(|line| unbroken(&line)).collect();
    let is_empty = missing.is_empty() && discarded.is_empty() && notes.is_empty() && effort.is_empty();
    (!is_empty).then_some(Notes { missing, discarded, notes, effort })
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
