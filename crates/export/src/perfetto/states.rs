//! A thread's states as slices, and who released whom as flows.

use holdup_model::{Edge, EdgeKind, Segment, ThreadId};

use super::ThreadTrack;
use super::writer::{Track, Value, What, Writer};
use crate::ExportError;
use crate::subject::Subject;

/// The flows of a process: by released thread, in order of time, when it goes on and the flow's number.
pub(super) struct Flows(Vec<(ThreadId, u64, u64)>);

impl Flows {
    fn of_thread(&self, thread: ThreadId) -> &[(ThreadId, u64, u64)] {
        let first = self.0.partition_point(|flow| flow.0 < thread);
        let after = self.0.partition_point(|flow| flow.0 <= thread);
        &self.0[first..after]
    }
}

fn verb(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::Release => "unlocks for",
        EdgeKind::Signal => "wakes",
        EdgeKind::Barrier => "arrives last, frees",
        EdgeKind::Join => "ends, frees",
        EdgeKind::Create => "creates",
    }
}

/// Writes an instant for each edge of the timeline, where its flow begins.
pub(super) fn releases(
    subject: &Subject<'_>,
    tracks: &[ThreadTrack],
    writer: &mut Writer<'_>,
) -> Result<Flows, ExportError> {
    let mut flows = Vec::with_capacity(subject.timeline.edges.len());
    for edge in &subject.timeline.edges {
        let Edge { from, from_time, to, to_time, kind, object } = *edge;
        let flow = writer.flow();
        let name = format!("{} {}", verb(kind), subject.names.thread(to));
        let object = object.map(|object| ("object", Value::Text(subject.names.object(object))));
        let facts: Vec<_> = object.into_iter().collect();
        let what = What { category: "release", name: &name, facts: &facts };
        writer.instant(tracks[from.index()].0, subject.time(from_time), what, vec![flow], Vec::new())?;
        flows.push((to, subject.time(to_time), flow));
    }
    flows.sort_unstable();
    Ok(Flows(flows))
}

/// Writes the states of a thread. A flow ends at the slice that begins when the thread goes on, or at an instant where
/// none begins then.
pub(super) fn states(
    subject: &Subject<'_>,
    thread: ThreadId,
    track: Track,
    flows: &Flows,
    writer: &mut Writer<'_>,
) -> Result<(), ExportError> {
    let mut flows = flows.of_thread(thread).iter().peekable();
    for segment in &subject.timeline.row(thread).segments {
        let (start, end) = (subject.time(segment.start), subject.time(segment.end));
        let mut ends = Vec::new();
        while let Some((_, time, flow)) = flows.next_if(|flow| flow.1 <= start) {
            if *time == start {
                ends.push(*flow);
            } else {
                goes_on(track, *time, *flow, writer)?;
            }
        }
        slice(subject, track, segment, start, ends, writer)?;
        while let Some((_, time, flow)) = flows.next_if(|flow| flow.1 < end) {
            goes_on(track, *time, *flow, writer)?;
        }
        writer.end(track, end)?;
    }
    for (_, time, flow) in flows {
        goes_on(track, *time, *flow, writer)?;
    }
    Ok(())
}

fn goes_on(track: Track, time: u64, flow: u64, writer: &mut Writer<'_>) -> Result<(), ExportError> {
    let what = What { category: "release", name: "goes on", facts: &[] };
    writer.instant(track, time, what, Vec::new(), vec![flow])
}

fn slice(
    subject: &Subject<'_>,
    track: Track,
    segment: &Segment,
    start: u64,
    ends: Vec<u64>,
    writer: &mut Writer<'_>,
) -> Result<(), ExportError> {
    let state = segment.state.word();
    let name = match segment.object {
        Some(object) => format!("{state}: {}", subject.names.object(object)),
        None => state.to_owned(),
    };
    let place = segment.site.map(|site| subject.names.place(site));
    // The site of active time is that of the call that ends it.
    let place_is = if segment.state.is_active() { "until" } else { "place" };
    let mut facts = Vec::new();
    if let Some(place) = &place {
        facts.push((place_is, Value::Text(place)));
    }
    if let Some(by) = segment.by {
        facts.push(("released by", Value::Text(subject.names.thread(by))));
    }
    if let Some(cpu) = segment.cpu {
        facts.push(("cpu_ns", Value::Number(cpu.get())));
    }
    writer.begin(track, start, What { category: state, name: &name, facts: &facts }, ends)
}
