//! Where the figures come from.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdup_collect::LiveRun;
use holdup_live::{Followed, Live, Means, Survey, Watched};
use holdup_report::top;

use super::lines;
use super::metrics::Ask;
use crate::failure::Failure;

/// What is followed.
#[derive(Clone)]
pub(crate) enum Source {
    /// A process, from outside.
    Watched(Arc<Watched>),
    /// A program that keeps it by itself.
    Run(Arc<Run>),
}

/// A program that holdup started.
pub(crate) struct Run {
    followed: Mutex<Followed>,
    run: Arc<LiveRun>,
}

/// The name that the kernel gives to a process that executes a program.
fn comm(command: &OsStr) -> String {
    const MOST_BYTES: usize = 15;
    let name = Path::new(command).file_name().unwrap_or_default().as_encoded_bytes();
    String::from_utf8_lossy(&name[..name.len().min(MOST_BYTES)]).into_owned()
}

impl Source {
    /// A process that runs.
    pub(crate) fn running(pid: u32, looks: bool) -> Result<Source, Failure> {
        let watched =
            Watched::follow(pid, looks).map_err(|error| holdup_collect::CollectError::Kernel { error })?;
        Ok(Source::Watched(Arc::new(watched)))
    }

    /// A program that holdup has started; from outside if the library could not enter it.
    /// `command` is what it is called.
    pub(crate) fn started(run: &Arc<LiveRun>, command: &OsStr) -> Result<Source, Failure> {
        if run.unseen().is_some() {
            return Source::running(run.pid(), false);
        }
        let live = Live::open(run.directory()).map_err(Failure::machine)?;
        let followed = Mutex::new(Followed::new(live, (run.pid(), comm(command))));
        Ok(Source::Run(Arc::new(Run { followed, run: Arc::clone(run) })))
    }

    pub(crate) fn survey(&self) -> Survey {
        match self {
            Source::Watched(watched) => watched.survey(),
            Source::Run(run) => run.followed.lock().unwrap_or_else(PoisonError::into_inner).survey(),
        }
    }

    /// What is followed has ended.
    pub(crate) fn has_ended(&self) -> bool {
        match self {
            Source::Watched(watched) => watched.has_ended(),
            Source::Run(run) => run.run.wait(Duration::ZERO).is_some(),
        }
    }

    /// The way to ask from another thread.
    pub(crate) fn ask(&self) -> Ask {
        let source = self.clone();
        Arc::new(move || source.survey())
    }

    /// For JSON.
    pub(crate) fn word(&self) -> lines::Source {
        match self {
            Source::Watched(watched) => match watched.means() {
                Means::Switches { .. } => lines::Source { word: top::Source::Switches, estimate: false },
                Means::Looks { .. } => lines::Source { word: top::Source::Looks, estimate: true },
            },
            Source::Run(_) => lines::Source { word: top::Source::Library, estimate: false },
        }
    }

    /// For a person: in a few words, and in a sentence.
    pub(crate) fn sentences(&self) -> (&'static str, String) {
        match self {
            Source::Run(_) => (
                "by the library",
                "by the library: waits for locks, other threads, channels and time count; spinning and files do not"
                    .to_owned(),
            ),
            Source::Watched(watched) => match watched.means() {
                Means::Switches { wakings: true } => (
                    "by the kernel's switches",
                    "by the kernel's switches: every wait counts as one (locks, I/O, sleep); spinning does not"
                        .to_owned(),
                ),
                Means::Switches { wakings: false } => (
                    "by the kernel's switches",
                    "by the kernel's switches: every wait counts as one (locks, I/O, sleep), and so does the way from a \
                     wake-up to a core; spinning does not"
                        .to_owned(),
                ),
                Means::Looks { why } => {
                    ("estimated by looks", format!("estimated by looks at /proc, since {why}"))
                }
            },
        }
    }
}
