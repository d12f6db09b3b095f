//! The lines to optimise: where critical time passes, which is not always where most of the time passes.

use holdup_analysis::{Diagnosis, HotSpot, HotSpots};
use holdup_model::Process;
use textwrap::core::display_width;

use crate::lines::{Line, labelled, text_room};
use crate::look::Ink;
use crate::numbers::{counted, percent};
use crate::{Look, escape, names, shares};

/// With fewer samples than this, no line is told. By the binomial distribution, the standard error of a share of a half
/// is 11 points with 20 samples.
const FEWEST_SAMPLES: u64 = 20;

/// A share that rests on fewer samples than this is told with their number. The standard error of a share of a half is
/// 3 points with 256.
const FEW_SAMPLES: u64 = 256;

/// At most so many lines are told.
const MOST: usize = 3;

/// Below this share of the critical time a line is told only if it is the first.
const SMALL: f64 = 0.05;

/// Up to three lines of code by critical time, one below the other. Empty where there are too few samples.
pub(crate) fn lines(process: &Process, diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    let Some(hot) = diagnosis.hot.as_ref().filter(|hot| hot.samples >= FEWEST_SAMPLES) else {
        return Vec::new();
    };
    let told: Vec<(String, String)> = hot
        .lines
        .iter()
        .enumerate()
        .filter(|(rank, spot)| *rank == 0 || shares::of_critical(spot, hot) >= SMALL)
        .take(MOST)
        .map(|(rank, spot)| (place(process, spot, look), figures(spot, hot, rank == 0)))
        .collect();
    let widest = told.iter().map(|(place, _)| display_width(place)).max().unwrap_or(0);
    let longest = told.iter().map(|(_, figures)| display_width(figures)).max().unwrap_or(0);
    let column = if widest + 2 + longest <= text_room(look) { widest } else { 0 };
    told.iter()
        .enumerate()
        .flat_map(|(rank, (place, figures))| {
            let gap = " ".repeat(2 + column.saturating_sub(display_width(place)));
            let piece = Line::default().with(&format!("{place}{gap}{figures}"), Ink::Text);
            labelled(if rank == 0 { "hot lines" } else { "" }, Ink::Faint, vec![piece], look)
        })
        .collect()
}

fn place(process: &Process, spot: &HotSpot, look: Look) -> String {
    let mut place = names::place(process, spot.place, look);
    if let Some(inside) = &spot.inside {
        place.push_str(&format!(", inside {}", escape::name(inside, look)));
    }
    place
}

fn figures(spot: &HotSpot, hot: &HotSpots, in_full: bool) -> String {
    let critical = percent(shares::of_critical(spot, hot));
    let active = percent(spot.active.share_of(hot.active));
    let of = |what| if in_full { what } else { "" };
    let samples = match spot.samples {
        FEW_SAMPLES.. => String::new(),
        few => format!(", {}", counted(few, "sample", "samples")),
    };
    format!("{critical}{} ({active}{}{samples})", of(" of critical time"), of(" of active"))
}
