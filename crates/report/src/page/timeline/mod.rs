//! What did each thread do when? The zoomable timeline of the page.
//!
//! [`payload`] turns a [`Timeline`] into what the page carries: names and numbers as JSON, and compressed columns.
//! [`SCRIPT`] draws them. A frame must cost its width and not its events, and a page its budget and not the length of
//! the run ([`budget`]); so each row (`rows`) comes twice:
//!
//! - as a level of detail (`coverage`): how much of each state there is in bins of equal length. Coarser levels are sums of
//!   it, which the script adds up faster than it could read them;
//! - as the exact `spans` of the parts of the run (`windows`) for which there is room: all of it for most runs, else
//!   what surrounds the findings (`focus`), the ends of the longest waits, and what is cheap. Their layout is
//!   described in `exact`. Elsewhere the script says how long a bin is, and how to get a page of that part.
//!
//! What is drawn is not quite what a thread's segments say: waits are told apart by what is waited for (`shade`), and
//! work by whether a lock is held (`holds`). Beside the rows there are `lanes` for who waits for an object and who holds
//! it, the critical path, and what the program said about itself (`marks`).

mod budget;
mod columns;
mod coverage;
mod drawing;
mod exact;
mod focus;
mod holds;
mod lanes;
mod marks;
mod on_path;
mod rows;
mod spans;
mod survey;
mod told;
mod windows;
mod words;

#[cfg(test)]
mod tests;

use columns::{Columns, Packed};
use drawing::Drawing;
use exact::Dictionary;
use holds::Holds;
use holdup_criticality::Diagnosis;
use holdup_model::{Process, Timeline};
use serde_json::Value;
use survey::Survey;

/// The script: it defines `mountTimeline(element, json, base64)`.
pub(crate) const SCRIPT: &str = concat!(
    include_str!("../../../page/timeline_data.js"),
    include_str!("../../../page/timeline_view.js"),
    include_str!("../../../page/timeline_draw.js"),
    include_str!("../../../page/timeline_input.js"),
    include_str!("../../../page/timeline_words.js"),
    include_str!("../../../page/timeline.js"),
);

/// The style sheet. Colours are the page's CSS variables, and a few more for states that only the timeline tells apart.
pub(crate) const STYLE: &str = include_str!("../../../page/timeline.css");

/// What the page carries for its timeline.
pub(crate) struct Payload {
    /// Names, states, findings: small. Text in it is safe to show as text.
    pub(crate) json: Value,
    /// Columns: parts that are compressed with gzip, one behind the other; `json.parts` has their lengths.
    pub(crate) base64: String,
}

/// The timeline of one process for the page. `timeline` is the process's.
pub(crate) fn payload(process: &Process, timeline: &Timeline, diagnosis: &Diagnosis) -> Payload {
    let holds = Holds::of(process);
    let drawing = Drawing::new(process, timeline, diagnosis, &holds);
    let survey = Survey::of(&drawing);
    let mut dictionary = Dictionary::new(&drawing.row_of, timeline.start);
    let lanes: Vec<Option<usize>> =
        survey.lanes.objects.iter().map(|object| dictionary.object(*object)).collect();
    let mut lane_columns = Columns::default();
    survey.lanes.write(&survey.grid, &drawing.row_of, &mut lane_columns);
    let exact = exact::columns(&drawing, &survey, &mut dictionary);
    let mut packed = Packed::default();
    for part in [&survey.level, &lane_columns, &exact] {
        packed.add(part);
    }
    let json = told::told(&drawing, &survey, &dictionary, &lanes, &packed.lengths);
    Payload { json, base64: packed.base64() }
}
