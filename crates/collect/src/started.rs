//! The program that was started, known to the whole process: whatever becomes of us, its status is to be had.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::{io, thread};

enum Started {
    Nothing,
    Runs,
    Ended(ExitStatus),
}

static STARTED: Mutex<Started> = Mutex::new(Started::Nothing);
static CHANGED: Condvar = Condvar::new();

fn becomes(state: Started) {
    *STARTED.lock().unwrap_or_else(PoisonError::into_inner) = state;
    CHANGED.notify_all();
}

/// The status of the program that was started last, once it has ended; `None` if none was started.
pub fn status_of_started() -> Option<ExitStatus> {
    let mut state = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        match *state {
            Started::Nothing => return None,
            Started::Ended(status) => return Some(status),
            Started::Runs => state = CHANGED.wait(state).unwrap_or_else(PoisonError::into_inner),
        }
    }
}

/// A thread that waits for the end of a program which is not started yet: once it runs, it may have used up all threads
/// that the user may have.
pub(crate) struct Waiter(Sender<Child>);

impl Waiter {
    /// Starts the thread. `at_end` is called with the program's status; a wait that failed counts as a program that could
    /// not be observed: 255.
    pub(crate) fn prepare(at_end: impl FnOnce(ExitStatus) + Send + 'static) -> io::Result<Waiter> {
        let (sender, program) = channel::<Child>();
        thread::Builder::new().name("holdup wait".into()).spawn(move || {
            let Ok(mut child) = program.recv() else { return };
            let status = child.wait().unwrap_or_else(|_| ExitStatus::from_raw(255 << 8));
            becomes(Started::Ended(status));
            at_end(status);
        })?;
        Ok(Waiter(sender))
    }

    /// It waits for this program.
    pub(crate) fn wait_for(self, child: Child) {
        becomes(Started::Runs);
        let _ = self.0.send(child);
    }
}
