//! A sign of life while something takes long.

use std::io::{IsTerminal, stderr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::ProgressBar;

/// What takes less time than this needs no sign.
const PATIENCE: Duration = Duration::from_millis(600);

/// Shows on the terminal that something goes on, until it is dropped. Nothing is shown where standard error is no
/// terminal.
pub(crate) struct Progress {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    pub(crate) fn start(what: &'static str) -> Progress {
        if !stderr().is_terminal() {
            return Progress { running: None };
        }
        let (done, ended) = channel();
        let thread = std::thread::spawn(move || {
            if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let bar = ProgressBar::new_spinner().with_message(format!("holdup: {what}"));
                bar.enable_steady_tick(Duration::from_millis(100));
                let _ = ended.recv();
                bar.finish_and_clear();
            }
        });
        Progress { running: Some((done, thread)) }
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
