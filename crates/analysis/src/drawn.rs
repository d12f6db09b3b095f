//! What a drawing of a run starts from, as [`crate::diagnose`] sees it.

use holdup_model::{ObjectKind, Process, Timeline};

use crate::interrupted::spinning_goes_on;
use crate::places::Places;
use crate::role::Roles;

/// The timeline of a process as the diagnosis sees it: call stacks that come to one place are one site, a thread that
/// lost its core while it spun has spun on, and the parts of a runtime's lock are one object.
pub fn timeline(process: &Process) -> Timeline {
    let mut timeline = Timeline::build(process);
    Places::of(process).put_into(&mut timeline);
    spinning_goes_on(process, &mut timeline);
    Roles::of(process).put_into(&mut timeline);
    timeline
}

/// What each object of a process is for, by its id: its kind, or, for a futex word, what the runtime that waits on it
/// makes of it.
pub fn roles(process: &Process) -> Vec<ObjectKind> {
    Roles::of(process).kinds
}

#[cfg(test)]
mod tests {
    use holdup_model::{Nanos, Run, State};
    use holdup_testkit::{any_process, any_script};
    use proptest::prelude::*;

    use super::*;
    use crate::diagnose;

    proptest! {
        #[test]
        fn what_is_drawn_is_what_was_diagnosed(process in any_process()) {
            let drawn = timeline(&process);
            prop_assert_eq!(drawn.check(), Ok(()));
            let diagnosis = diagnose(&Run { processes: vec![process], cores: 2, ..Run::default() }, 0);
            for (row, times) in drawn.threads.iter().zip(&diagnosis.threads) {
                prop_assert_eq!(row.time_in(State::is_active), times.active);
                prop_assert_eq!(row.time_in(|state| state == State::Spinning), times.spinning);
            }
        }

        #[test]
        fn the_critical_path_has_no_gaps(script in any_script()) {
            let process = script.play();
            let (start, end) = (process.start, process.end);
            let path = diagnose(&Run { processes: vec![process], cores: 2, ..Run::default() }, 0).path;
            let mut at = start;
            for piece in &path.pieces {
                prop_assert_eq!(piece.start, at);
                at = piece.end;
            }
            prop_assert_eq!(at, end);
            let of_thread = |thread| -> Nanos {
                let pieces = path.pieces.iter().filter(|piece| piece.thread == thread);
                pieces.map(|piece| piece.end.since(piece.start)).sum()
            };
            for (thread, time) in &path.by_thread {
                prop_assert_eq!(of_thread(*thread), *time);
            }
        }
    }
}
