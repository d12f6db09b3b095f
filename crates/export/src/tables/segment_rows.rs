//! The rows of tables that are parts of the timeline.

use holdup_criticality::Diagnosis;
use holdup_model::EdgeKind;

use super::Cell::{Text, Whole};
use super::Sink;
use super::rows::{Places, index, object, site, thread, whole};
use crate::ExportError;
use crate::subject::Subject;

pub(super) fn segments(
    subject: &Subject<'_>,
    _: Option<&Diagnosis>,
    sink: &mut Sink<'_>,
) -> Result<(), ExportError> {
    let mut places = Places::default();
    for id in subject.threads() {
        for segment in &subject.timeline.row(id).segments {
            places.know(subject, [segment.site]);
            sink(&[
                index(subject.index),
                index(id.index()),
                Whole(subject.time(segment.start)),
                Whole(subject.time(segment.end)),
                Whole(segment.length().get()),
                Text(segment.state.word()),
                object(segment.object),
                site(segment.site),
                places.text(segment.site),
                thread(segment.by),
                whole(segment.cpu.map(|cpu| cpu.get())),
            ])?;
        }
    }
    Ok(())
}

pub(super) fn edges(
    subject: &Subject<'_>,
    _: Option<&Diagnosis>,
    sink: &mut Sink<'_>,
) -> Result<(), ExportError> {
    for edge in &subject.timeline.edges {
        let kind = match edge.kind {
            EdgeKind::Release => "release",
            EdgeKind::Signal => "signal",
            EdgeKind::Barrier => "barrier",
            EdgeKind::Join => "join",
            EdgeKind::Create => "create",
        };
        sink(&[
            index(subject.index),
            index(edge.from.index()),
            Whole(subject.time(edge.from_time)),
            index(edge.to.index()),
            Whole(subject.time(edge.to_time)),
            Text(kind),
            object(edge.object),
        ])?;
    }
    Ok(())
}
