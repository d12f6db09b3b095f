//! What the page says in JSON beside the columns: names, numbers, findings.
//!
//! All times are nanoseconds after the start of the process, but for `start`, which is after that of the recording.

use serde_json::{Value, json};

use super::drawing::Drawing;
use super::exact::Dictionary;
use super::focus::{Focus, example};
use super::marks::{Mark, Marks};
use super::rows;
use super::survey::Survey;
use super::words::{self, LOOK};
use crate::{escape, names};

/// All of it. `lanes` are the objects of the lanes by their numbers, `parts` the lengths of the compressed columns (bytes).
pub(super) fn told(
    drawing: &Drawing<'_>,
    survey: &Survey,
    dictionary: &Dictionary<'_>,
    lanes: &[Option<usize>],
    parts: &[usize],
) -> Value {
    let Drawing { process, timeline, diagnosis, .. } = drawing;
    let labels = names::threads(process, LOOK);
    let marks = Marks::of(process);
    let names = names::of(process, Some(&timeline.roles), LOOK);
    let object = |id| words::object(process, &names, id);
    let window = |(from, to): &(_, _)| [drawing.after(*from), drawing.after(*to)];
    json!({
        "start": timeline.start.nanos(),
        "length": timeline.wall().get(),
        "bin": survey.grid.bin,
        "bins": survey.grid.bins,
        "parts": parts,
        "shades": words::shades(),
        "threads": threads(drawing, &labels),
        "left_out": process.threads.len() - drawing.rows.len(),
        "groups": groups(drawing),
        "windows": survey.windows.iter().map(window).collect::<Vec<_>>(),
        "lanes": lanes,
        "objects": dictionary.objects().iter().map(|id| object(*id)).collect::<Vec<_>>(),
        "places": dictionary.sites().iter().map(|id| words::place(process, *id)).collect::<Vec<_>>(),
        "findings": survey.focuses.iter().map(|focus| finding(drawing, survey, focus)).collect::<Vec<_>>(),
        "regions": told_marks(drawing, &marks.regions),
        "phases": told_marks(drawing, &marks.phases),
        "work": told_marks(drawing, &marks.work),
        "parallelism": diagnosis.parallelism,
    })
}

fn threads(drawing: &Drawing<'_>, labels: &[String]) -> Vec<Value> {
    let wall = drawing.timeline.wall().get().max(1) as f64;
    let told = drawing.rows.iter().map(|thread| {
        let critical = rows::criticality(drawing.diagnosis, *thread) / wall;
        json!({"name": labels[thread.index()], "critical": critical})
    });
    told.collect()
}

fn groups(drawing: &Drawing<'_>) -> Vec<Value> {
    let groups = rows::groups(drawing.process, drawing.diagnosis, &drawing.rows);
    let told = groups.iter().map(|group| {
        let name = group.sort.as_deref().map(|sort| escape::short_name(sort, LOOK));
        json!({"name": name, "rows": group.rows})
    });
    told.collect()
}

/// Where a finding happens most, and one example of it there.
fn finding(drawing: &Drawing<'_>, survey: &Survey, focus: &Focus) -> Value {
    let finding = &drawing.diagnosis.findings[focus.finding];
    let (from, to) = (survey.tiles.begin(focus.from), survey.tiles.begin(focus.to).min(drawing.timeline.end));
    let of_row = |thread: &_| {
        let thread = *thread;
        drawing.window(thread, from, to).map(move |span| (thread, span))
    };
    let example = example(finding, from, to, drawing.rows.iter().flat_map(of_row));
    json!({
        "rank": focus.finding,
        "kind": finding.kind.word(),
        "what": escape::sentence(&finding.what, LOOK),
        "from": drawing.after(from),
        "to": drawing.after(to),
        "row": example.and_then(|(thread, _)| drawing.row_of[thread.index()]),
        "at": example.map(|(_, at)| drawing.after(at)),
        "lane": finding.object.and_then(|object| survey.lanes.lane(object)),
    })
}

/// Marks as start, length, row, and label.
fn told_marks(drawing: &Drawing<'_>, marks: &[Mark]) -> Vec<Value> {
    let told = marks.iter().map(|mark| {
        let label = mark.label.as_deref().map(|label| escape::name(label, LOOK));
        let row = drawing.row_of.get(mark.thread.index()).copied().flatten();
        json!([drawing.after(mark.start), mark.end.since(mark.start).get(), row, label])
    });
    told.collect()
}
