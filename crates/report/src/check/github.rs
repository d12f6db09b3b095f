//! What became of budgets as workflow commands, which GitHub shows beside the lines of the source.

use holdup_compare::{Place, Verdict};

use super::{file_below, sentence};
use crate::escape;

/// An `::error` for each thing that exceeds a budget, at its line where that is known, and a `::notice` for each note.
/// Source files below `root` are named from there, as GitHub wants them: the folder of the repository.
pub fn check_github(verdicts: &[Verdict], root: Option<&str>) -> String {
    let mut out = String::new();
    for verdict in verdicts {
        let budget = &verdict.budget;
        let title = property(&format!("holdup: {}", budget.text));
        for judged in verdict.judged.iter().filter(|judged| !judged.holds) {
            let place = judged.place.as_ref().map(|place| place_properties(place, root)).unwrap_or_default();
            out.push_str(&format!("::error {place}title={title}::{}\n", data(&sentence(budget, judged))));
        }
        for note in &verdict.notes {
            out.push_str(&format!("::notice title={title}::{}\n", data(note)));
        }
    }
    out
}

/// `file=…,line=…,`, as far as they are known.
fn place_properties(place: &Place, root: Option<&str>) -> String {
    let Some(file) = file_below(place, root) else { return String::new() };
    let mut out = format!("file={},", property(file));
    if let Some(line) = place.line {
        out.push_str(&format!("line={line},"));
    }
    out
}

/// Text behind `::`. A line break would end the command, and what follows could be another one.
fn data(text: &str) -> String {
    escape::escaped(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property, which a comma or a colon would end.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
