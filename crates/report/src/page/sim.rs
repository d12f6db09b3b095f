//! The page about where the cycles of a simulated run go: stacks of threads, of runs beside each other, of lines; what the
//! speedup is lost to; and what cores share.

mod places;
mod shared;
pub(super) mod speedups;
mod stacks;

use askama::Template;
use holdup_model::cycles::CycleComponent;

use super::header::{Header, KeyFigure, command};
use super::text::{Figure, LOOK, counted, grouped, percent, sentence, time};
use super::{SCRIPT_OF_TABLES, policy};
use crate::numbers;
use crate::sim::view::{View, cpi};
use crate::sim::{SimTold, told};

const STYLE: &[&str] = &[
    include_str!("../../page/palette.css"),
    include_str!("../../page/page.css"),
    include_str!("../../page/sections.css"),
    include_str!("../../page/sim.css"),
    include_str!("../../page/narrow.css"),
];

#[derive(Template)]
#[template(path = "sim.html")]
struct Page {
    policy: String,
    title: String,
    style: String,
    script: String,
    header: Header,
    /// Places on the page and what the line of links calls them.
    links: Vec<(&'static str, &'static str)>,
    told: Option<Sections>,
    notes: Vec<String>,
    version: &'static str,
}

struct Sections {
    threads: stacks::Stacks,
    runs: Option<stacks::Stacks>,
    speedups: Option<speedups::Speedups>,
    places: Option<places::Places>,
    shared: Option<shared::Shared>,
}

/// Where cycles go as one HTML page: no network, no script but its own. The same input gives the same bytes.
pub fn sim_page(told: &SimTold) -> String {
    let view = View::new(told);
    let scripts = SCRIPT_OF_TABLES.iter().copied().chain([include_str!("../../page/sim.js")]);
    let (style, script) = (STYLE.concat(), scripts.collect::<Vec<_>>().join("\n"));
    let sections = view.main().filter(|run| run.simulated.cycles > 0).map(|_| Sections {
        threads: stacks::Stacks::of_threads(&view),
        runs: stacks::Stacks::of_runs(&view),
        speedups: speedups::Speedups::new(&told.speedup_stacks),
        places: places::Places::new(&view),
        shared: shared::Shared::new(&view),
    });
    let notes = notes(&view);
    let page = Page {
        policy: policy::policy(&script, &style),
        title: told::program(&view, LOOK),
        style,
        script,
        header: header(&view),
        links: sections.as_ref().map_or_else(Vec::new, |sections| links(sections, !notes.is_empty())),
        told: sections,
        notes,
        version: env!("CARGO_PKG_VERSION"),
    };
    page.render().expect("a String takes all that is written to it")
}

fn links(sections: &Sections, has_notes: bool) -> Vec<(&'static str, &'static str)> {
    let mut links = vec![("answer", "Threads")];
    let mut add = |there: bool, link| links.extend(there.then_some(link));
    add(sections.runs.is_some(), ("runs", "Side by side"));
    add(sections.speedups.is_some(), ("speedup", "Speedup"));
    add(sections.places.is_some(), ("places", "Lines"));
    add(sections.shared.is_some(), ("shared", "Shared"));
    add(has_notes, ("notes", "Notes"));
    links
}

fn header(view: &View) -> Header {
    let places = view.places();
    Header {
        kick: "holdup sim".to_owned(),
        heading: unbroken(&told::heading(view, LOOK)),
        continued: whole_names(&unbroken(&told::because(view, &places, LOOK).unwrap_or_default())),
        command: command(&view.told.command),
        figures: figures(view),
        budget: None,
        warnings: Vec::new(),
        way_out: false,
    }
}

/// Text in which names of components are not broken at their hyphens, which large letters would be.
fn whole_names(text: &str) -> String {
    CycleComponent::ALL.iter().fold(text.to_owned(), |text, component| {
        text.replace(component.name(), &component.name().replace('-', "\u{2011}"))
    })
}

/// Text in which each unit stays on the line of its number.
fn unbroken(text: &str) -> String {
    const UNITS: [&str; 9] = ["k", "M", "G", "T", "s", "ms", "µs", "ns", "%"];
    let is_unit = |word: &str| UNITS.contains(&word.trim_end_matches(|c: char| ",;.:)".contains(c)));
    let mut out = String::with_capacity(text.len());
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 {
            let is_number = out.ends_with(|c: char| c.is_ascii_digit());
            out.push_str(if is_number && is_unit(word) { "\u{a0}" } else { " " });
        }
        out.push_str(word);
    }
    out
}

/// The key figures of the simulation that is told in detail.
fn figures(view: &View) -> Vec<KeyFigure> {
    let mut figures = Vec::new();
    let Some(run) = view.main().filter(|run| run.simulated.cycles > 0) else { return figures };
    let simulated = &run.simulated;
    let mut add = |name, value| figures.push(KeyFigure { name, value });
    add("Cycles", Figure::of(&crate::why::words::count(simulated.cycles)));
    if simulated.frequency > 0.0 {
        add("Time", Figure::of(&time(simulated.time())));
    }
    let all: u64 = simulated.threads.iter().map(|thread| thread.stack.total()).sum();
    if let Some(cpi) = cpi(all, simulated.instructions) {
        add("Cycles per instruction", Figure::with(numbers::factor(cpi), ""));
    }
    add("Instructions", Figure::of(&crate::why::words::count(simulated.instructions)));
    add("Threads", Figure::with(grouped(simulated.threads.len() as u64), ""));
    add("Cores", Figure::with(grouped(u64::from(simulated.cores)), ""));
    if let Some(growth) = view.growth() {
        let from = counted(growth.cores.0 as usize, "core", "cores");
        add("Speedup", Figure::with(numbers::factor(growth.speedup), format!("over {from}")));
    }
    if let Some(sample) = simulated.sampled {
        add("95 % interval", Figure::of(&format!("± {}", percent(sample.error))));
    }
    figures
}

fn notes(view: &View) -> Vec<String> {
    let mut notes: Vec<String> = told::warnings(view).iter().map(|note| sentence(note)).collect();
    notes.extend(told::speed(view));
    notes
}
