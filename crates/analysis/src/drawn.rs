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
