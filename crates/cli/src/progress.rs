//! A sign of life while something takes long.

use std::borrow::Cow;
use std::io::{IsTerminal, stderr};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use holdup_collect::FileCounts;
use holdup_model::figures::{bytes, counted};
use indicatif::ProgressBar;

/// What takes less time than this needs no sign.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often what is shown is looked at again.
const NEWS: Duration = Duration::from_millis(100);

/// Shows on the terminal that something goes on, until it is dropped. Nothing is shown where standard error is no
/// terminal.
pub(crate) struct Progress {
    step: Arc<Mutex<Step>>,
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

/// What is done at the moment.
#[derive(Clone, Default)]
struct Step {
    /// With one of several things.
    part: String,
    what: Cow<'static, str>,
    /// While names are looked for.
    files: Option<Arc<FileCounts>>,
}

impl Step {
    fn text(&self) -> String {
        let Step { part, what, files } = self;
        let counts = files
            .as_deref()
            .map(|files| (files.opened.load(Ordering::Relaxed) as u64, files.read.load(Ordering::Relaxed)));
        match counts {
            Some((opened @ 1.., read)) => {
                format!("holdup: {part}{what} in {}, {read} read so far", counted(opened, "file", "files"))
            }
            _ => format!("holdup: {part}{what}"),
        }
    }
}

impl Progress {
    pub(crate) fn start(what: &'static str) -> Progress {
        let step = Arc::new(Mutex::new(Step { what: what.into(), ..Step::default() }));
        let shown = Arc::clone(&step);
        let current = move || shown.lock().unwrap_or_else(PoisonError::into_inner).text();
        Progress::showing(step, current)
    }

    /// What follows is done with the recording at `index` of so many.
    pub(crate) fn with_recording(&self, index: usize, count: usize) {
        if count > 1 {
            self.change(|step| step.part = format!("recording {} of {count}: ", index + 1));
        }
    }

    /// Something else is done from now on.
    pub(crate) fn at(&self, what: impl Into<Cow<'static, str>>) {
        let what = what.into();
        self.change(|step| (step.what, step.files) = (what, None));
    }

    /// A recording is read from now on.
    pub(crate) fn reading(&self, path: &Path) {
        let size = path.metadata().map_or(0, |facts| facts.len());
        self.at(match size {
            0 => "reading the recording".to_owned(),
            size => format!("reading the recording of {}", bytes(size)),
        });
    }

    /// Names are looked for from now on, in files that are counted there.
    pub(crate) fn names(&self) -> Arc<FileCounts> {
        let counts = Arc::default();
        self.change(|step| (step.what, step.files) = ("finding names".into(), Some(Arc::clone(&counts))));
        counts
    }

    fn change(&self, change: impl FnOnce(&mut Step)) {
        change(&mut self.step.lock().unwrap_or_else(PoisonError::into_inner));
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
        Progress::showing(Arc::default(), what)
    }

    fn showing(step: Arc<Mutex<Step>>, what: impl Fn() -> String + Send + 'static) -> Progress {
        if !stderr().is_terminal() {
            return Progress { step, running: None };
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
        Progress { step, running: thread.ok().map(|thread| (done, thread)) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_what_is_done_with_the_numbers_that_are_known() {
        let progress = Progress::start("reading the recordings");
        let said = || progress.step.lock().unwrap().text();
        assert_eq!(said(), "holdup: reading the recordings");
        progress.with_recording(0, 1);
        progress.reading(Path::new("/nonexistent"));
        assert_eq!(said(), "holdup: reading the recording");
        progress.with_recording(1, 3);
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(5 << 20).unwrap();
        progress.reading(file.path());
        assert_eq!(said(), "holdup: recording 2 of 3: reading the recording of 5 MiB");
        let files = progress.names();
        assert_eq!(said(), "holdup: recording 2 of 3: finding names");
        files.opened.store(24, Ordering::Relaxed);
        files.read.store(5, Ordering::Relaxed);
        assert_eq!(said(), "holdup: recording 2 of 3: finding names in 24 files, 5 read so far");
        progress.at("diagnosing");
        assert_eq!(said(), "holdup: recording 2 of 3: diagnosing");
    }
}
