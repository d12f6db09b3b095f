//! Perfetto's trace format: track events as protobuf, for <https://ui.perfetto.dev> and `trace_processor`.
//!
//! A process has counters and threads. A thread's own track has its states, which abut, and at the moments at which it
//! released another thread an instant, where a flow begins; the flow ends at what the released thread did next. Spans
//! that cut across states have tracks below: waits and blocking calls, holds of locks, what the program said. All times
//! are nanoseconds since the start of the run.

mod counters;
mod lanes;
mod packets;
mod spans;
mod states;
mod wire;
mod writer;

use std::collections::BTreeSet;
use std::io::Write;

use holdup_model::{Run, ThreadId};

use crate::rows::Rows;
use crate::subject::Subject;
use crate::{ExportError, text};
use packets::{ProcessDescriptor, ThreadDescriptor, TrackDescriptor};
use writer::{Track, Writer};

/// Writes the trace.
///
/// # Errors
/// If `out` takes no more.
pub fn perfetto(run: &Run, out: &mut dyn Write) -> Result<(), ExportError> {
    let mut writer = Writer::new(out);
    let mut ids = Ids::default();
    for subject in Subject::all(run) {
        process(&subject, &mut ids, &mut writer)?;
    }
    Ok(())
}

fn process(subject: &Subject<'_>, ids: &mut Ids, writer: &mut Writer<'_>) -> Result<(), ExportError> {
    let track = process_track(subject, ids, writer)?;
    let mut threads = Vec::new();
    for thread in subject.threads() {
        threads.push(thread_track(subject, track, thread, ids, writer)?);
    }
    // Where a flow begins at the time at which it ends, its beginning must come first in the file.
    let flows = states::releases(subject, &threads, writer)?;
    let rows = Rows::by_thread(subject.process);
    for thread in subject.threads() {
        states::states(subject, thread, threads[thread.index()].0, &flows, writer)?;
        spans::spans(subject, &rows[thread.index()], threads[thread.index()].0, writer)?;
    }
    counters::counters(subject, track, writer)
}

/// The kernel's ids that were used. Perfetto takes what has one pid or tid for one process or thread, so that a second
/// program under one pid (exec), a reused tid, and threads whose tid is not known get tracks without.
#[derive(Default)]
struct Ids {
    pids: BTreeSet<u32>,
    tids: BTreeSet<u32>,
}

fn process_track(
    subject: &Subject<'_>,
    ids: &mut Ids,
    writer: &mut Writer<'_>,
) -> Result<Track, ExportError> {
    let process = subject.process;
    let name = &subject.names.program();
    let pid = i32::try_from(process.pid).ok().filter(|&pid| pid > 0);
    let like = match pid.filter(|_| ids.pids.insert(process.pid)) {
        Some(pid) => TrackDescriptor {
            process: Some(ProcessDescriptor {
                pid: Some(pid),
                cmdline: process.command.iter().map(|word| text::plain(word).into_owned()).collect(),
                process_name: Some(name.clone()),
            }),
            ..TrackDescriptor::default()
        },
        None => {
            TrackDescriptor { name: Some(format!("{name} {}", process.pid)), ..TrackDescriptor::default() }
        }
    };
    writer.track(None, subject.index, like)
}

fn thread_track(
    subject: &Subject<'_>,
    process: Track,
    thread: ThreadId,
    ids: &mut Ids,
    writer: &mut Writer<'_>,
) -> Result<ThreadTrack, ExportError> {
    let name = subject.names.thread(thread);
    let (pid, tid) = (subject.process.pid, subject.process.thread(thread).tid);
    let is_known = pid > 0 && tid > 0 && i32::try_from(pid).is_ok();
    let like = if is_known && ids.tids.insert(tid) {
        let thread = ThreadDescriptor {
            pid: i32::try_from(pid).ok(),
            tid: Some(i64::from(tid)),
            thread_name: Some(name.to_owned()),
        };
        TrackDescriptor { thread: Some(thread), ..TrackDescriptor::default() }
    } else {
        TrackDescriptor { name: Some(name.to_owned()), ..TrackDescriptor::default() }
    };
    // After the counters.
    writer.track(Some(process), 1_000 + thread.index(), like).map(ThreadTrack)
}

/// The track of a thread's states.
struct ThreadTrack(Track);

#[cfg(test)]
mod tests;
