//! The course of the run. Times are counted from its start, as `--from` and `--to` do.

use holdup_criticality::{OverTime, Phase, Slice};
use holdup_model::{Run, ThreadId};

use crate::schema;

pub(super) fn over_time(run: &Run, course: &OverTime) -> schema::OverTime {
    schema::OverTime {
        slice_ns: course.slice.get(),
        slices: course.slices.iter().map(|one| slice(run, one)).collect(),
        phases: course.phases.iter().map(|one| phase(run, one)).collect(),
        worst: course.worst.as_ref().map(|one| phase(run, one)),
    }
}

fn slice(run: &Run, slice: &Slice) -> schema::Slice {
    schema::Slice {
        start_ns: slice.start.since(run.start).get(),
        parallelism: slice.parallelism,
        threads: threads(&slice.threads),
        nobody_ns: slice.nobody.round() as u64,
    }
}

fn phase(run: &Run, phase: &Phase) -> schema::Phase {
    schema::Phase {
        start_ns: phase.start.since(run.start).get(),
        end_ns: phase.end.since(run.start).get(),
        parallelism: phase.parallelism,
        threads: threads(&phase.threads),
        nobody_ns: phase.nobody.round() as u64,
    }
}

fn threads(shares: &[(ThreadId, f64)]) -> Vec<schema::ThreadCriticality> {
    shares
        .iter()
        .map(|(thread, critical)| schema::ThreadCriticality {
            thread: thread.index(),
            criticality_ns: critical.round() as u64,
        })
        .collect()
}
