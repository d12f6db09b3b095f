//! The page about how a program scales: speedup and efficiency, where the time goes at each number of threads, region by
//! region, what helps, and what more threads would do.

mod curves;
mod efficiencies;
mod hints;
mod law;
mod losses;
mod regions;

use askama::Template;
use holdup_model::Nanos;
use holdup_scaling::Scaling;

use super::header::{Header, KeyFigure, command};
use super::text::{Figure, LOOK, counted, percent, time};
use super::{SCRIPT_OF_TABLES, policy};
use crate::numbers;
use crate::scaling::{told, words};

const STYLE: &[&str] = &[
    include_str!("../../page/palette.css"),
    include_str!("../../page/page.css"),
    include_str!("../../page/sections.css"),
    include_str!("../../page/scaling.css"),
    include_str!("../../page/narrow.css"),
];

#[derive(Template)]
#[template(path = "scaling.html")]
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
    curves: curves::Curves,
    hints: hints::Hints,
    losses: losses::Losses,
    regions: regions::Regions,
    law: law::Law,
    efficiencies: efficiencies::Efficiencies,
}

/// How a program scales as one HTML page: no network, no script but its own. The same input gives the same bytes.
pub fn scale_page(scaling: &Scaling) -> String {
    let (style, script) = (STYLE.concat(), SCRIPT_OF_TABLES.join("\n"));
    let page = Page {
        policy: policy::policy(&script, &style),
        title: told::program(scaling, LOOK),
        style,
        script,
        header: header(scaling),
        told: (!scaling.points.is_empty()).then(|| Sections {
            curves: curves::Curves::new(scaling),
            hints: hints::Hints::new(scaling),
            losses: losses::Losses::new(scaling),
            regions: regions::Regions::new(scaling),
            law: law::Law::new(scaling),
            efficiencies: efficiencies::Efficiencies::new(scaling),
        }),
        notes: scaling.notes.iter().map(|note| unbroken(&words::sentences(note, LOOK))).collect(),
        version: env!("CARGO_PKG_VERSION"),
    };
    page.render().expect("a String takes all that is written to it")
}

/// A sentence in which each unit stays on the line of its number.
pub(super) fn unbroken(text: &str) -> String {
    const UNITS: [&str; 5] = ["s", "ms", "µs", "ns", "%"];
    let is_unit = |word: &str| UNITS.contains(&word.trim_end_matches(|c: char| ",;.:)".contains(c)));
    let mut out = String::with_capacity(text.len());
    for word in text.split(' ') {
        if !out.is_empty() {
            let is_number = out.ends_with(|c: char| c.is_ascii_digit());
            out.push_str(if is_number && is_unit(word) { "\u{a0}" } else { " " });
        }
        out.push_str(word);
    }
    out
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
    let ideal = f64::from(last.threads) / f64::from(base.threads.max(1));
    add("Speedup", Figure::with(numbers::factor(last.speedup), format!("of {}", words::ratio(ideal))));
    add("Efficiency", Figure::of(&words::efficiency(last.efficiency)));
    add("Lost", Figure::of(&signed(last.losses.lost)));
    if let Some(share) = last.whole_share {
        add("Regions recorded whole", Figure::of(&percent(share)));
    }
    figures
}
