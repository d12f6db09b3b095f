//! What a directory of `holdup stack` says of itself: the command, the cache, and what each run was for.
//!
//! It is one file of TOML, replaced as a whole after each run, beside the recordings that it names.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use holdup_model::Nanos;
use serde::{Deserialize, Serialize};

use super::plan::{Kind, Step};
use crate::failure::Failure;

/// The file's name.
const NAME: &str = "stack.toml";
/// What it is called while it is written.
const NEW: &str = "stack.toml.new";
/// Its version. Members are only added; a change that older versions would misread raises it.
const VERSION: u32 = 1;

/// All runs that were done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Kept {
    version: u32,
    /// Program and arguments, with the placeholder.
    pub command: Vec<String>,
    /// How many CPUs the program could use.
    pub cores: u32,
    /// The shared cache, where a part of it could be taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cache>,
    /// What the reader must know, as sentences.
    #[serde(default)]
    pub notes: Vec<String>,
    /// With how many threads it was run under emulation, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated: Option<u32>,
    /// The runs, in their order.
    #[serde(default, rename = "run")]
    pub runs: Vec<Done>,
}

/// The cache that the threads share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Cache {
    /// How much of it could be had (bytes).
    pub bytes: u64,
    /// How large it is said to be (bytes).
    pub nominal: u64,
    /// Its level.
    pub level: u32,
    /// How long filling it takes (ns).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refill_ns: Option<u64>,
    /// The memory's bandwidth (bytes per second).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<u64>,
}

/// A run that was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Done {
    /// What was asked for.
    pub step: Step,
    /// Its wall time.
    pub wall_ns: u64,
    /// The cache that was left to the thread that ran by itself (bytes).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<u64>,
    /// What a thief took (bytes per second).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken: Option<u64>,
    /// Why it does not count; `None` if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discarded: Option<String>,
    /// The recording's file; `None` of a run without recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording: Option<String>,
}

impl Done {
    /// A run that counts, with nothing taken from it.
    pub(super) fn new(step: Step, wall: Nanos, recording: Option<String>) -> Done {
        Done { step, wall_ns: wall.get(), cache: None, taken: None, discarded: None, recording }
    }
}

impl Kept {
    /// Nothing yet.
    pub(super) fn new(command: Vec<String>, cores: u32) -> Kept {
        Kept {
            version: VERSION,
            command,
            cores,
            cache: None,
            notes: Vec::new(),
            emulated: None,
            runs: Vec::new(),
        }
    }

    /// What is kept in `directory`.
    pub(super) fn read(directory: &Path) -> Result<Kept, Failure> {
        let path = directory.join(NAME);
        let wrong = |why: String| Failure::input(format!("{}: {why}", path.display()));
        let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Failure::input(format!(
                "{}: there are no runs of holdup stack here; make some with --runs",
                directory.display()
            )),
            _ => wrong(format!("it cannot be read ({error})")),
        })?;
        let kept: Kept = toml::from_str(&text).map_err(|error| {
            let first = error.message().lines().next().unwrap_or_default().to_owned();
            wrong(format!("it is damaged ({first}); make the runs again with -o"))
        })?;
        match kept.version {
            VERSION => Ok(kept),
            other => Err(wrong(format!(
                "it is of version {other}, and this holdup reads {VERSION}; use a newer one"
            ))),
        }
    }

    /// Replaces what is kept in `directory`.
    pub(super) fn write(&self, directory: &Path) -> Result<(), Failure> {
        let path = directory.join(NAME);
        let new = directory.join(NEW);
        let failed = |error: std::io::Error| {
            Failure::input(format!("{}: it cannot be written ({error})", path.display()))
        };
        let text =
            toml::to_string(self).map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
        fs::write(&new, text).and_then(|()| fs::rename(&new, &path)).map_err(failed)
    }

    /// A name for the next recording: none that is taken.
    pub(super) fn free_name(&self, step: Step) -> String {
        let what = match step.kind {
            Kind::Plain | Kind::Together => "together".to_owned(),
            Kind::Whole { which } => format!("thread-{which}"),
            Kind::Part { which, of } => format!("thread-{which}.part-{of}"),
            Kind::Thief { which, percent } => format!("thread-{which}.thief-{percent}"),
        };
        let is_taken = |name: &String| self.runs.iter().any(|done| done.recording.as_ref() == Some(name));
        let mut names = (1..).map(|run| format!("threads-{}.{what}.run-{run}.holdup", step.threads));
        names.find(|name| !is_taken(name)).unwrap_or_default()
    }

    /// The recordings that count or were discarded, with what they are of.
    pub(super) fn recordings<'a>(&'a self, directory: &'a Path) -> impl Iterator<Item = (&'a Done, PathBuf)> {
        self.runs.iter().filter_map(|done| Some((done, directory.join(done.recording.as_ref()?))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Kept {
        let step = Step { threads: 2, kind: Kind::Part { which: 1, of: 2 } };
        Kept {
            cache: Some(Cache {
                bytes: 1 << 24,
                nominal: 1 << 25,
                level: 3,
                refill_ns: Some(5),
                bandwidth: None,
            }),
            runs: vec![
                Done::new(Step { threads: 1, kind: Kind::Plain }, Nanos::new(17), None),
                Done {
                    cache: Some(1 << 23),
                    discarded: Some("the pirate lost 9 % of its lines".to_owned()),
                    ..Done::new(
                        step,
                        Nanos::new(18),
                        Some("threads-2.thread-1.part-2.run-1.holdup".to_owned()),
                    )
                },
            ],
            ..Kept::new(vec!["app".to_owned(), "{threads}".to_owned()], 2)
        }
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let kept = example();
        kept.write(directory.path()).unwrap();
        assert_eq!(Kept::read(directory.path()).unwrap(), kept);
        let recordings: Vec<_> = kept.recordings(directory.path()).collect();
        assert_eq!(recordings.len(), 1);
    }

    #[test]
    fn names_are_used_once() {
        let kept = example();
        let step = Step { threads: 2, kind: Kind::Part { which: 1, of: 2 } };
        assert_eq!(kept.free_name(step), "threads-2.thread-1.part-2.run-2.holdup");
        let other = Step { threads: 2, kind: Kind::Whole { which: 1 } };
        assert_eq!(kept.free_name(other), "threads-2.thread-1.run-1.holdup");
    }

    #[test]
    fn rubbish_is_refused_with_the_file_and_a_way_out() {
        let directory = tempfile::tempdir().unwrap();
        let said = |directory: &Path| format!("{:?}", Kept::read(directory).unwrap_err());
        assert!(said(directory.path()).contains("make some with --runs"));
        fs::write(directory.path().join(NAME), "version = \"rubbish").unwrap();
        assert!(said(directory.path()).contains("damaged"));
        fs::write(directory.path().join(NAME), "version = 99\ncommand = []\ncores = 1\n").unwrap();
        assert!(said(directory.path()).contains("version 99"));
    }
}
