//! Which line: section by section what makes its threads unequal, with source, and what each thread did.

use askama::Template;
use holdup_imbalance::{Cause, SectionWhy, Why};

use super::super::chart::across;
use super::super::text::{LOOK, sentence};
use super::excerpt::{Excerpt, excerpts};
use super::threads::Threads;
use crate::escape;
use crate::why::{WhyScene, removed, told, words};

/// At most so many sections are told in detail, and so many causes of each.
pub(super) const MOST_SECTIONS: usize = 24;
const MOST_CAUSES: usize = 12;

/// At most so many instructions of a leader are shown: what decides comes last.
const MOST_INSTRUCTIONS: usize = 40;

/// The most columns of an instruction.
const COLUMNS: usize = 240;

/// The section of the page.
#[derive(Template)]
#[template(path = "why_causes.html")]
pub(super) struct Causes {
    parts: Vec<Part>,
    more: usize,
    has_scores: bool,
}

/// A parallel section.
struct Part {
    id: usize,
    name: String,
    facts: String,
    sentences: Vec<String>,
    causes: Vec<Row>,
    more: usize,
    excerpts: Vec<Excerpt>,
    threads: Option<Threads>,
    unexplained: Option<String>,
}

struct Row {
    letter: String,
    /// Pieces of a sentence, and whether each is source.
    clause: Vec<(bool, String)>,
    certain: String,
    inlined: Option<String>,
    minor: bool,
    score: Option<String>,
    charge: String,
    given: Option<Given>,
    /// Why the instructions are worth a look.
    instructions: Option<&'static str>,
    listing: Vec<(String, String)>,
}

/// A score on the scale that all causes of a section share.
struct Given {
    cost: Option<String>,
    low: String,
    width: String,
    at: String,
    range: String,
    label: String,
}

impl Causes {
    pub(super) fn new(why: &Why, scene: &WhyScene) -> Self {
        let is_told = |(index, section): &(usize, &SectionWhy)| *index == 0 || !told::is_quiet(section);
        let all: Vec<(usize, &SectionWhy)> = why.sections.iter().enumerate().filter(is_told).collect();
        let told = &all[..all.len().min(MOST_SECTIONS)];
        Self {
            parts: told.iter().map(|&(index, section)| part(index, section, why, scene)).collect(),
            more: all.len() - told.len(),
            has_scores: told
                .iter()
                .any(|(_, section)| told::has_score(section) && !section.causes.is_empty()),
        }
    }
}

fn part(index: usize, section: &SectionWhy, why: &Why, scene: &WhyScene) -> Part {
    let told = &section.causes[..section.causes.len().min(MOST_CAUSES)];
    let highest = |cause: &Cause| cause.interval.map_or(cause.score, |(_, high)| high.max(cause.score));
    let scale = told.iter().map(highest).filter(|score| score.is_finite()).fold(1.0, f64::max);
    let sentences = [
        Some(told::imbalance(why, section)),
        told::worst(section),
        told::native(section),
        told::schedule(section).map(|text| sentence(&text)),
        told::dealt(section),
        told::verdict(section, why),
        removed::sentence(section, &scene.removed),
    ];
    Part {
        id: index + 1,
        name: words::section_name(section, LOOK),
        facts: told::facts(section, LOOK),
        sentences: sentences.into_iter().flatten().collect(),
        causes: told
            .iter()
            .enumerate()
            .map(|(index, cause)| row(index, cause, section, why, scene, scale))
            .collect(),
        more: section.causes.len() - told.len(),
        excerpts: excerpts(told, scene),
        threads: Threads::new(section, why.time_unit, scene),
        unexplained: told::unexplained(section, why),
    }
}

fn row(index: usize, cause: &Cause, section: &SectionWhy, why: &Why, scene: &WhyScene, scale: f64) -> Row {
    let has_score = told::has_score(section);
    let across = |value: f64| across(value, scale);
    let given = cause.interval.filter(|_| has_score).map(|(low, high)| Given {
        cost: None,
        low: across(low),
        width: across(high.min(scale) - low.max(0.0)),
        at: across(cause.score),
        range: format!("{} to {}", words::score(low), words::score(high)),
        label: format!("score {}", words::score_told(cause)),
    });
    // The share that goes through it stands beside this.
    let certain: Vec<String> = told::certainty(why, section, cause).into_iter().skip(1).collect();
    let certain = if certain.is_empty() { String::new() } else { sentence_of(&certain.join("; ")) };
    let from = cause.listing.len().saturating_sub(MOST_INSTRUCTIONS);
    Row {
        letter: crate::why::letter(index),
        clause: pieces(&format!("{}.", told::cause_clause(cause, scene, LOOK))),
        certain,
        inlined: told::inlined(cause, LOOK),
        minor: cause.minor,
        score: has_score.then(|| words::score(cause.score)),
        charge: super::percent(cause.charge),
        given,
        instructions: told::instructions(cause).filter(|_| !cause.listing.is_empty()),
        listing: cause.listing[from..]
            .iter()
            .map(|(address, text)| {
                (format!("{address:#x}"), escape::cut(&escape::visible(text, LOOK), COLUMNS, LOOK))
            })
            .collect(),
    }
}

/// Words as a sentence.
fn sentence_of(words: &str) -> String {
    let mut chars = words.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(chars).chain(['.']).collect()
}

/// What stands between backquotes is source.
fn pieces(sentence: &str) -> Vec<(bool, String)> {
    sentence.split('`').enumerate().map(|(index, text)| (index % 2 == 1, text.to_owned())).collect()
}
