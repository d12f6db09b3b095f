//! The places to optimise: where critical time passes, which is not always where most of the time passes.

use holdup_criticality::{Diagnosis, HotSpot, HotSpots};
use holdup_model::{Frame, Process};
use textwrap::core::display_width;

use crate::ink::Ink;
use crate::lines::{Line, labelled, text_room};
use crate::numbers::{counted, percent};
use crate::{Look, escape, names, shares};

/// With fewer samples than this, no place is told. By the binomial distribution, the standard error of a share of a half
/// is 11 points with 20 samples.
const FEWEST_SAMPLES: u64 = 20;

/// A share that rests on fewer samples than this is told with their number. The standard error of a share of a half is
/// 3 points with 256.
const FEW_SAMPLES: u64 = 256;

/// At most so many places are shown.
pub(crate) const MOST: usize = 3;

/// Below this share of the critical time a place is told only if it is the first.
const SMALL: f64 = 0.05;

/// What the shares of the first place are of, in full, and where there is no room for that.
const IN_WORDS: [&str; 2] = [" of critical time", " of active"];
const IN_SHORT: [&str; 2] = [" critical", " active"];

/// Columns between a place and its shares.
const GAP: usize = 2;

/// From this share of a function's critical time on, one line stands for it.
const ONE_LINE: f64 = 0.8;

/// Below this share of a function's critical time a line is no part of its hot lines.
const SMALL_LINE: f64 = 0.1;

/// Up to `most` places by critical time, one below the other: a line of a function, or the range of its lines where none
/// of them stands out, since the lines of one loop are one place to fix. Empty where there are too few samples.
pub(crate) fn lines(process: &Process, diagnosis: &Diagnosis, most: usize, look: Look) -> Vec<Line> {
    let Some(hot) = diagnosis.hot.as_ref().filter(|hot| hot.samples >= FEWEST_SAMPLES) else {
        return Vec::new();
    };
    let spots: Vec<_> = hot
        .functions
        .iter()
        .enumerate()
        .filter(|(rank, spot)| *rank == 0 || shares::of_critical(spot, hot) >= SMALL)
        .take(most)
        .map(|(_, function)| standing_for(process, hot, function))
        .collect();
    let places = escape::apart(&spots, look, |(spot, shown), look| {
        let place = match shown {
            Shown::Line => names::place(process, spot.place, None, look),
            Shown::Function(lines) => names::by_function(process, spot.place, *lines, look),
        };
        match &spot.inside {
            Some(inside) => format!("{place}, inside {}", escape::name(inside, look)),
            None => place,
        }
    });
    let told = spots.iter().zip(places).enumerate().map(|(rank, ((spot, _), place))| {
        let mut shares = figures(spot, hot, if rank == 0 { IN_WORDS } else { ["", ""] });
        if rank == 0 && display_width(&place) + GAP + display_width(&shares) > text_room(look) {
            shares = figures(spot, hot, IN_SHORT);
        }
        (place, shares)
    });
    let told: Vec<(String, String)> = told.collect();
    let widest = told.iter().map(|(place, _)| display_width(place)).max().unwrap_or(0);
    let longest = told.iter().map(|(_, figures)| display_width(figures)).max().unwrap_or(0);
    let column = if widest + GAP + longest <= text_room(look) { widest } else { 0 };
    told.iter()
        .enumerate()
        .flat_map(|(rank, (place, figures))| {
            let gap = " ".repeat(GAP + column.saturating_sub(display_width(place)));
            let piece = Line::default().with(&format!("{place}{gap}{figures}"), Ink::Text);
            labelled(if rank == 0 { "hot lines" } else { "" }, Ink::Faint, vec![piece], look)
        })
        .collect()
}

/// What is shown of a place.
#[derive(PartialEq)]
enum Shown {
    Line,
    /// The whole function, with its first and its last hot line where they are known.
    Function(Option<(u32, u32)>),
}

/// What stands for a function: its line (or instruction, where lines are not known) that has nearly all of it, else the
/// function.
fn standing_for<'a>(process: &Process, hot: &'a HotSpots, function: &'a HotSpot) -> (&'a HotSpot, Shown) {
    let frame_of = |spot: &HotSpot| process.site(spot.place).place();
    let is_known = |frame: &&Frame| frame.function.is_some() || frame.begin.is_some();
    let Some(hottest) = frame_of(function).filter(is_known) else { return (function, Shown::Line) };
    let own =
        || hot.lines.iter().filter(|line| frame_of(line).is_some_and(|frame| key(frame) == key(hottest)));
    if let Some(line) = own().find(|line| line.critical >= ONE_LINE * function.critical) {
        return (line, Shown::Line);
    }
    let numbers = || {
        own()
            .filter(|line| line.critical >= SMALL_LINE * function.critical)
            .filter_map(|line| frame_of(line)?.line)
    };
    (function, Shown::Function(numbers().min().zip(numbers().max())))
}

/// Lines with the same of these are of one function in one file: of one that is inlined, they need not be.
fn key(frame: &Frame) -> (&Option<String>, &Option<String>, &Option<String>, Option<u64>) {
    (&frame.function, &frame.module, &frame.file, frame.begin)
}

/// The shares, `words` behind them.
fn figures(spot: &HotSpot, hot: &HotSpots, [of_critical, of_active]: [&str; 2]) -> String {
    let critical = percent(shares::of_critical(spot, hot));
    let active = percent(spot.active.share_of(hot.active));
    let samples = match spot.samples {
        FEW_SAMPLES.. => String::new(),
        few => format!(", {}", counted(few, "sample", "samples")),
    };
    format!("{critical}{of_critical} ({active}{of_active}{samples})")
}
