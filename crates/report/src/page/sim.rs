//! The page about where the cycles of a simulated run go: stacks of threads, of runs beside each other, of lines; what the
//! speedup is lost to; and what cores share.

mod places;
mod shared;
pub(super) mod speedups;
mod stacks;

use holdup_model::cycles::CycleComponent;

use super::frame::Frame;
use super::header::{Header, KeyFigure, command};
use super::text::{Figure, LOOK, counted, grouped, percent, sentence, time, unbroken};
use crate::numbers;
use crate::sim::view::{View, cpi};
use crate::sim::{SimTold, told};

/// Where cycles go as one HTML page: no network, no script but its own. The same input gives the same bytes.
pub fn sim_page(told: &SimTold) -> String {
    let view = View::new(told);
    let mut frame = Frame::new("holdup sim", told::program(&view, LOOK), header(&view));
    frame.styles.push(include_str!("../../page/sim.css"));
    frame.scripts.push(include_str!("../../page/sim.js"));
    if view.main().is_some_and(|run| run.simulated.cycles > 0) {
        frame.add("answer", "Threads", stacks::Stacks::of_threads(&view));
        if let Some(runs) = stacks::Stacks::of_runs(&view) {
            frame.add("runs", "Side by side", runs);
        }
        if let Some(speedups) = speedups::Speedups::new(&told.speedup_stacks) {
            frame.add("speedup", "Speedup", speedups);
        }
        if let Some(places) = places::Places::new(&view) {
            frame.add("places", "Lines", places);
        }
        if let Some(shared) = shared::Shared::new(&view) {
            frame.add("shared", "Shared", shared);
        }
    }
    frame.notes = notes(&view);
    frame.page()
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
        warnings: told::doubts(view).iter().map(|doubt| sentence(doubt)).collect(),
        way_out: false,
    }
}

/// Text in which names of components are not broken at their hyphens, which large letters would be.
fn whole_names(text: &str) -> String {
    CycleComponent::ALL.iter().fold(text.to_owned(), |text, component| {
        text.replace(component.name(), &component.name().replace('-', "\u{2011}"))
    })
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
