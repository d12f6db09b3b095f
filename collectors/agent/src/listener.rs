//! Who listens to marks inside of the program: a part of it that its compiler put there.

use holdup_trace::instructions::VERSION;

use crate::marks::{Listener, are_heard_by, heard, tell_begin};
use crate::{enter, life};

/// From now on marks are told to `listener`, which is of the given version, and lives as long as the process. False if they
/// are not wanted, or told to a plugin.
pub fn listen_inside(version: u32, listener: Listener) -> bool {
    if version != VERSION || heard() || !life::wants_marks() {
        return false;
    }
    let Some(recorder) = enter() else { return false };
    are_heard_by(listener);
    life::tells_marks();
    tell_begin(recorder.thread(), recorder.slot());
    true
}
