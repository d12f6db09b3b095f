//! A sign of life while something takes long.

use std::io::{IsTerminal, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::ProgressBar;

/// What takes less time than this needs no sign.
const PATIENCE: Duration = Duration::from_millis(600);

/// How often what is shown is looked at again.
const NEWS: Duration = Duration::from_millis(100);

/// Shows on the terminal that something goes on, until it is dropped. Nothing is shown where standard error is no
/// terminal.
pub(crate) struct Progress {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    pub(crate) fn start(what: &'static str) -> Progress {
        Progress::telling(move || format!("holdup: {what}"))
    }

    /// The same with the number of instructions that were executed so far.
    pub(crate) fn counting(what: &'static str, executed: Arc<AtomicU64>) -> Progress {
        Progress::telling(move || match executed.load(Ordering::Relaxed) / 1_000_000 {
            0 => format!("holdup: {what}"),
            millions => format!("holdup: {what}, {millions} million instructions so far"),
        })
    }

    /// The same with what is said now and then.
    pub(crate) fn telling(what: impl Fn() -> String + Send + 'static) -> Progress {
        if !stderr().is_terminal() {
            return Progress { running: None };
        }
        let (done, ended) = channel();
        let thread = std::thread::Builder::new().name("holdup progress".into()).spawn(move || {
            if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let bar = ProgressBar::new_spinner().with_message(what());
                while ended.recv_timeout(NEWS) == Err(RecvTimeoutError::Timeout) {
                    bar.set_message(what());
                    bar.tick();
                }
                bar.finish_and_clear();
            }
        });
        // Without a thread there is no sign.
        Progress { running: thread.ok().map(|thread| (done, thread)) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.running.take() {
            drop(done);
            let _ = thread.join();
        }
    }
}
