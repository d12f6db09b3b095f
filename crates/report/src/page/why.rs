//! The page about what makes threads unequal: the causes, section by section, with their source and what each thread did;
//! and all sections as a table.

mod causes;
mod excerpt;
mod sections;
mod threads;

use holdup_imbalance::Why;

use super::frame::Frame;
use super::header::{Header, KeyFigure, command};
use super::text::{Figure, LOOK, grouped, percent, sentence, time};
use crate::why::{WhyScene, told, words};

/// What makes threads unequal as one HTML page: no network, no script but its own. The same input gives the same bytes.
pub fn why_page(why: &Why, scene: &WhyScene) -> String {
    let mut frame = Frame::new("holdup why", scene.program(LOOK), header(why, scene));
    frame.styles.push(include_str!("../../page/why.css"));
    if !why.sections.is_empty() {
        frame.add("answer", "Which line", causes::Causes::new(why, scene));
        frame.add("sections", "Sections", sections::Sections::new(why));
    }
    frame.notes.push(told::method(why));
    frame.notes.extend(why.warnings.iter().filter(|note| !note.trim().is_empty()).map(|note| sentence(note)));
    frame.page()
}

fn header(why: &Why, scene: &WhyScene) -> Header {
    Header {
        kick: "holdup why".to_owned(),
        heading: told::heading(why, scene, LOOK),
        continued: told::because(why, scene, LOOK).unwrap_or_default(),
        command: command(&scene.command),
        figures: figures(why, scene),
        budget: None,
        warnings: Vec::new(),
        way_out: false,
    }
}

/// The key figures of the section that matters most.
fn figures(why: &Why, scene: &WhyScene) -> Vec<KeyFigure> {
    let mut figures = Vec::new();
    let Some(section) = why.sections.first() else { return figures };
    let mut add = |name, value| figures.push(KeyFigure { name, value });
    add("Imbalance", Figure::of(&percent(section.imbalance)));
    add("Spread", Figure::of(&percent(section.spread)));
    if let Some(native) = section.native.as_ref().filter(|native| !native.is_little()) {
        add("Imbalance natively", Figure::of(&percent(native.imbalance)));
    }
    if let Some(cause) = section.causes.iter().find(|cause| !cause.minor) {
        if told::has_score(section) {
            let interval = cause.interval.map_or_else(String::new, |(low, high)| {
                format!("{} to {}", words::score(low), words::score(high))
            });
            add("Score of the first cause", Figure::with(words::score(cause.score), interval));
        }
        add("Explained", Figure::of(&percent(section.explained)));
    }
    add("Threads", Figure::with(grouped(u64::from(section.threads)), ""));
    add("Instances", Figure::with(grouped(u64::from(section.instances)), ""));
    if let Some(wall) = scene.wall {
        add("Wall time natively", Figure::of(&time(wall)));
    }
    figures
}
