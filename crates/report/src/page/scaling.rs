//! The page about how a program scales: speedup and efficiency, where the time goes at each number of threads, region by
//! region, what helps, and what more threads would do.

mod curves;
mod efficiencies;
mod hints;
mod law;
mod losses;
mod regions;

use holdup_model::Nanos;
use holdup_scaling::Scaling;

use super::frame::Frame;
use super::header::{Header, KeyFigure, command};
use super::text::{Figure, LOOK, counted, percent, time, unbroken};
use crate::escape::sentences;
use crate::numbers;
use crate::scaling::{told, words};

/// How a program scales as one HTML page: no network, no script but its own. The same input gives the same bytes.
pub fn scale_page(scaling: &Scaling) -> String {
    let mut frame = Frame::new("holdup scale", told::program(scaling, LOOK), header(scaling));
    frame.styles.push(include_str!("../../page/scaling.css"));
    if !scaling.points.is_empty() && scaling.ignored.is_none() {
        frame.add("scales", "Scales", curves::Curves::new(scaling));
        frame.add("answer", "Answer", hints::Hints::new(scaling));
        frame.add("losses", "Losses", losses::Losses::new(scaling));
        frame.add("regions", "Regions", regions::Regions::new(scaling));
        frame.add("law", "More threads", law::Law::new(scaling));
        frame.add("efficiencies", "Efficiencies", efficiencies::Efficiencies::new(scaling));
    }
    frame.notes = scaling.notes.iter().map(|note| unbroken(&sentences(note, LOOK))).collect();
    frame.page()
}

/// A time that may be negative.
fn signed(nanos: i64) -> String {
    words::signed(nanos, LOOK).replace(' ', "\u{a0}")
}

fn header(scaling: &Scaling) -> Header {
    let heading = unbroken(&told::heading(scaling, LOOK));
    // The first half says what was measured, the second one what that means.
    let (heading, continued) = match heading.split_once(": ").or_else(|| heading.split_once("; ")) {
        Some((measured, meaning)) => (format!("{measured}:"), meaning.to_owned()),
        None => (heading, String::new()),
    };
    Header {
        kick: "holdup scale".to_owned(),
        heading,
        continued,
        command: command(&scaling.command),
        figures: figures(scaling),
        budget: None,
        warnings: told::shared(scaling).into_iter().collect(),
        way_out: false,
    }
}

fn figures(scaling: &Scaling) -> Vec<KeyFigure> {
    let mut figures = Vec::new();
    let mut add = |name, value| figures.push(KeyFigure { name, value });
    let (Some(base), Some(last)) = (scaling.points.first(), scaling.points.last()) else { return figures };
    let threads = |threads: u32| format!("with {}", counted(threads as usize, "thread", "threads"));
    let with = |length: Nanos, count: u32| {
        let told = time(length);
        let (number, unit) = told.rsplit_once('\u{a0}').unwrap_or((&told, ""));
        Figure::with(number, format!("{unit} {}", threads(count)))
    };
    add("Wall time", with(base.wall.median, base.threads));
    if scaling.points.len() < 2 {
        return figures;
    }
    add("Wall time", with(last.wall.median, last.threads));
    if scaling.ignored.is_some() {
        return figures;
    }
    let ideal = f64::from(last.threads) / f64::from(base.threads.max(1));
    add("Speedup", Figure::with(numbers::factor(last.speedup), format!("of {}", words::ratio(ideal))));
    add("Efficiency", Figure::of(&words::efficiency(last.efficiency)));
    add("Lost", Figure::of(&signed(last.losses.lost)));
    if let Some(share) = last.whole_share {
        add("Regions recorded whole", Figure::of(&percent(share)));
    }
    figures
}
