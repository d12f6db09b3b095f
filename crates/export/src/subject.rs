//! One process with what every format needs of it.

use holdup_criticality::Diagnosis;
use holdup_model::names::Names;
use holdup_model::{Edge, Frame, ObjectId, Process, Run, SiteId, State, ThreadId, Time, Timeline, Wait};

use crate::names;
use crate::pieces::{Piece, Samples};
use crate::text::plain;

/// A process of a run, its timeline and its names.
pub(crate) struct Subject<'a> {
    pub(crate) run: &'a Run,
    /// The index into [`Run::processes`].
    pub(crate) index: usize,
    pub(crate) process: &'a Process,
    pub(crate) timeline: Timeline,
    pub(crate) names: Names<'a>,
    samples: Samples,
}

impl<'a> Subject<'a> {
    /// The processes of a run, one at a time: a timeline of ten million events is large.
    pub(crate) fn all(run: &'a Run) -> impl Iterator<Item = Subject<'a>> {
        (0..run.processes.len()).map(|index| Subject::of(run, index))
    }

    pub(crate) fn of(run: &'a Run, index: usize) -> Subject<'a> {
        let process = &run.processes[index];
        Subject {
            run,
            index,
            process,
            timeline: Timeline::build(process),
            names: names_of(process),
            samples: Samples::of(process),
        }
    }

    /// Nanoseconds since the start of the run; 0 before that.
    pub(crate) fn time(&self, time: Time) -> u64 {
        time.since(self.run.start).get()
    }

    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.process.threads.len()).map(|index| ThreadId::new(index as u32))
    }

    /// The thread's time with the stacks that were seen in it.
    pub(crate) fn pieces(&self, thread: ThreadId) -> impl Iterator<Item = Piece> {
        self.samples.pieces(thread, self.timeline.row(thread))
    }

    /// The frames of a stack from the outermost on.
    pub(crate) fn frames(&self, site: SiteId) -> impl Iterator<Item = &'a Frame> + use<'a> {
        self.process.site(site).frames.iter().rev()
    }

    /// What a stack ends with, to say what the thread did there; `None` for work at a known stack.
    pub(crate) fn leaf(&self, state: State, object: Option<ObjectId>, has_stack: bool) -> Option<String> {
        let word = state.word();
        match (state, object) {
            (State::Active, _) => (!has_stack).then(|| names::NOT_SAMPLED.to_owned()),
            (_, Some(object)) => Some(format!("[{word}: {}]", self.names.object(object))),
            (_, None) => Some(format!("[{word}]")),
        }
    }

    /// Who ended this wait.
    pub(crate) fn released_by(&self, wait: &Wait) -> Option<ThreadId> {
        let edges = &self.timeline.edges;
        let first = edges.partition_point(|edge| (edge.to_time, edge.to) < (wait.end, wait.thread));
        let ends = |edge: &&Edge| (edge.to_time, edge.to) == (wait.end, wait.thread);
        let mut same = edges[first..].iter().take_while(ends);
        let of_wait = |edge: &&Edge| edge.object == Some(wait.object) || edge.object == wait.mutex;
        same.find(|edge| edge.object.is_some() && of_wait(edge)).map(|edge| edge.from)
    }

    /// The diagnosis of this process among `diagnoses`.
    pub(crate) fn diagnosis<'d>(&self, diagnoses: &'d [Diagnosis]) -> Option<&'d Diagnosis> {
        diagnoses.iter().find(|diagnosis| diagnosis.process == self.index)
    }
}

/// The function of a frame alone: where it has no name by where it begins, if that is known, else by the address.
pub(crate) fn function(frame: &Frame) -> String {
    let show = |name: &str| plain(name).into_owned();
    match frame.begin {
        Some(_) => frame.by_function(None, &show),
        None => frame.told_function(&show),
    }
}

/// The names of a process, safe to show.
pub(crate) fn names_of(process: &Process) -> Names<'_> {
    Names::shown(process, None, |name| plain(name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_one_function_are_one_function() {
        let frame =
            |address, begin| Frame { module: Some("app".to_owned()), address, begin, ..Frame::default() };
        assert_eq!(function(&frame(0x1240, Some(0x1230))), "function at app+0x1230");
        assert_eq!(function(&frame(0x1260, Some(0x1230))), "function at app+0x1230");
        assert_eq!(function(&frame(0x1240, None)), "app+0x1240");
        let named = Frame { function: Some("put".to_owned()), line: Some(3), ..frame(0x1240, None) };
        assert_eq!(function(&named), "put");
    }
}
