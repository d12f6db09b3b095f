//! The rows of the table of findings.

use holdup_criticality::Diagnosis;

use super::Cell::{Text, Whole};
use super::Sink;
use super::rows::{Places, index, object, site, whole};
use crate::ExportError;
use crate::subject::Subject;

pub(super) fn findings(
    subject: &Subject<'_>,
    diagnosis: Option<&Diagnosis>,
    sink: &mut Sink<'_>,
) -> Result<(), ExportError> {
    let mut places = Places::default();
    for (rank, finding) in diagnosis.into_iter().flat_map(|diagnosis| &diagnosis.findings).enumerate() {
        places.know(subject, [finding.place]);
        let gain = finding.gain.as_ref();
        sink(&[
            index(subject.index),
            index(rank + 1),
            Text(finding.kind.word()),
            Text(&finding.what),
            object(finding.object),
            site(finding.place),
            places.text(finding.place),
            Whole(finding.cost.get()),
            whole(finding.on_path.map(|time| time.get())),
            whole(gain.map(|gain| gain.time.get())),
            whole(gain.map(|gain| gain.low.get())),
            whole(gain.map(|gain| gain.high.get())),
            Text(&finding.evidence.join(" ")),
            Text(&finding.hint),
        ])?;
    }
    Ok(())
}
