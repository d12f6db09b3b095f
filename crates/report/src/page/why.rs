//! The page about what makes threads unequal: the causes, section by section, with their source and what each thread did;
//! and all sections as a table.

mod causes;
mod excerpt;
mod sections;
mod threads;

use askama::Template;
use holdup_imbalance::Why;

use super::header::{Header, KeyFigure, command};
use super::text::{Figure, LOOK, grouped, percent, sentence, time};
use super::{SCRIPT_OF_TABLES, policy};
use crate::why::{WhyScene, told, words};

const STYLE: &[&str] = &[
    include_str!("../../page/palette.css"),
    include_str!("../../page/page.css"),
    include_str!("../../page/sections.css"),
    include_str!("../../page/why.css"),
    include_str!("../../page/narrow.css"),
];

#[derive(Template)]
#[template(path = "why.html")]
struct Page {
    policy: String,
    title: String,
    style: String,
    script: String,
    header: Header,
    told: Option<Sections>,
    notes: Vec<String>,
    version: &'static str,
}

struct Sections {
    causes: causes::Causes,
    sections: sections::Sections,
}

/// What makes threads unequal as one HTML page: no network, no script but its own. The same input gives the same bytes.
pub fn why_page(why: &Why, scene: &WhyScene) -> String {
    let (style, script) = (STYLE.concat(), SCRIPT_OF_TABLES.join("\n"));
    let mut notes = vec![told::method(why)];
    notes.extend(why.warnings.iter().filter(|note| !note.trim().is_empty()).map(|note| sentence(note)));
    let page = Page {
        policy: policy::policy(&script, &style),
        title: scene.program(LOOK),
        style,
        script,
        header: header(why, scene),
        told: (!why.sections.is_empty()).then(|| Sections {
            causes: causes::Causes::new(why, scene),
            sections: sections::Sections::new(why),
        }),
        notes,
        version: env!("CARGO_PKG_VERSION"),
    };
    page.render().expect("a String takes all that is written to it")
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
