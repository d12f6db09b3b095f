//! A sweep's directory.
//!
//! | | |
//! |---|---|
//! | `outcomes/KEY.json` | how a task ended ([`Outcome`]) |
//! | `recordings/KEY.holdup` | what a recording task made |
//! | `answers/KEY.json` | what holdup printed for an answer task |
//! | `logs/KEY.log` | what the task's processes said on standard error |
//! | `work/` | what tasks that run write to |
//! | `manifest.json` | all cells, and the keys of their tasks |
//! | `results.parquet`, `components.parquet` | the tables; `.csv` in a build without Parquet |

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::error::SweepError;
use crate::outcome::{Outcome, Status};

/// A sweep's directory.
#[derive(Clone, Debug)]
pub struct Store {
    path: PathBuf,
}

const FOLDERS: [&str; 5] = ["outcomes", "recordings", "answers", "logs", "work"];

impl Store {
    /// Makes what is not there yet of a directory, for its owner alone: recordings hold copies of stack memory.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn open(path: &Path) -> Result<Store, SweepError> {
        for folder in FOLDERS {
            let folder = path.join(folder);
            DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(|error| {
                SweepError::File { path: folder, problem: "results cannot be kept here", error }
            })?;
        }
        Ok(Store { path: path.to_owned() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the recording of this key is, once it is done.
    pub fn recording(&self, key: &str) -> PathBuf {
        self.path.join(format!("recordings/{key}.holdup"))
    }

    /// Where the answer of this key is, once it is done.
    pub fn answer(&self, key: &str) -> PathBuf {
        self.path.join(format!("answers/{key}.json"))
    }

    /// Where what the processes of a task said is kept.
    pub fn log(&self, key: &str) -> PathBuf {
        self.path.join(format!("logs/{key}.log"))
    }

    /// A directory for a task that runs, which nobody else uses; `who` tells attempts on one task apart.
    pub fn work(&self, key: &str, who: &str) -> PathBuf {
        self.path.join(format!("work/{key}.{who}"))
    }

    /// How a task ended; `None` if it was not done, or what is kept cannot be read: it is done again then.
    pub fn outcome(&self, key: &str) -> Option<Outcome> {
        let text = fs::read(self.path.join(format!("outcomes/{key}.json"))).ok()?;
        let outcome: Outcome = serde_json::from_slice(&text).ok()?;
        (outcome.key == key && outcome.status != Status::Missing).then_some(outcome)
    }

    /// Keeps an outcome: from now on the task is done. The files that it speaks of must be in their places. It is written
    /// where `who` works, as [`Store::work`] has it, so that a kill at any moment leaves nothing that nobody removes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&self, outcome: &Outcome, who: &str) -> Result<(), SweepError> {
        let text = serde_json::to_vec_pretty(outcome).unwrap_or_default();
        let new = self.work(&format!("outcome-{}", outcome.key), who);
        let written = fs::write(&new, text);
        written.map_err(|error| SweepError::File {
            path: new.clone(),
            problem: "it cannot be written",
            error,
        })?;
        self.take(&new, &self.path.join(format!("outcomes/{}.json", outcome.key)))
    }

    /// Lets a task count as not done.
    pub fn forget(&self, key: &str) {
        let _ = fs::remove_file(self.path.join(format!("outcomes/{key}.json")));
    }

    /// Puts a file that a task wrote into its place, with its content on the disk.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn take(&self, from: &Path, to: &Path) -> Result<(), SweepError> {
        let put = || {
            File::open(from)?.sync_all()?;
            fs::rename(from, to)?;
            sync_folder(to)
        };
        put().map_err(|error| SweepError::File {
            path: to.to_owned(),
            problem: "a result cannot be kept here",
            error,
        })
    }

    /// Removes what tasks left that were killed. `is_alive` says whether somebody still works there, by what [`Store::work`] was
    /// told of it.
    pub fn tidy(&self, is_alive: impl Fn(&str) -> bool) {
        for entry in fs::read_dir(self.path.join("work")).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let who = name.split_once('.').map_or("", |(_, who)| who);
            if !is_alive(who) {
                let _ = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
            }
        }
    }
}

/// Replaces a file: whenever this is stopped, the old content or the new one is there as a whole.
///
/// # Errors
/// If it cannot be written.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), SweepError> {
    let new = path.with_extension(format!("{}.new", std::process::id()));
    let write = || -> io::Result<()> {
        let mut file = File::create(&new)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        sync_folder(path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&new);
        SweepError::File { path: path.to_owned(), problem: "it cannot be written", error }
    })
}

/// Puts a new name in a directory on the disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::Numbers;
    use crate::outcome::Host;

    fn outcome(key: &str) -> Outcome {
        Outcome {
            key: key.to_owned(),
            status: Status::Done,
            reason: None,
            time_limit_ns: Some(5),
            spent_ns: 7,
            holdup: "1".to_owned(),
            host: Host::default(),
            recording: Some("ab".to_owned()),
            numbers: Numbers::default(),
            files: std::collections::BTreeMap::new(),
        }
    }

    #[test]
    fn what_is_kept_is_read_back_and_what_is_cut_off_is_not_done() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(store.outcome("k"), None);
        store.keep(&outcome("k"), "host.1").unwrap();
        assert_eq!(store.outcome("k"), Some(outcome("k")));
        let path = folder.path().join("outcomes/k.json");
        let text = fs::read(&path).unwrap();
        for length in 0..text.len() {
            fs::write(&path, &text[..length]).unwrap();
            assert_eq!(store.outcome("k"), None, "{length} bytes");
        }
        fs::write(folder.path().join("outcomes/other.json"), &text).unwrap();
        assert_eq!(store.outcome("other"), None, "an outcome under another key");
    }

    #[test]
    fn only_what_dead_tasks_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let (dead, alive) = (store.work("k", "host.1"), store.work("k", "host.2"));
        fs::create_dir(&dead).unwrap();
        fs::create_dir(&alive).unwrap();
        store.tidy(|who| who == "host.2");
        assert!(!dead.exists() && alive.exists());
    }
}
