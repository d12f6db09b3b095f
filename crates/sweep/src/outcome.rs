//! What a task gave.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::numbers::Numbers;

/// How a task or a cell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It gave a result.
    Done,
    /// It failed, or cannot be begun.
    Failed,
    /// It took longer than its time limit.
    Timeout,
    /// It was not done yet.
    Missing,
}

impl Status {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Status::Done => "done",
            Status::Failed => "failed",
            Status::Timeout => "timeout",
            Status::Missing => "missing",
        }
    }
}

/// A task's end, kept under the task's key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The task's key.
    pub key: String,
    /// Done, failed or timeout: others are not kept.
    pub status: Status,
    /// Why there is no result, in one line.
    #[serde(default)]
    pub reason: Option<String>,
    /// The time limit that it had (ns).
    #[serde(default)]
    pub time_limit_ns: Option<u64>,
    /// How long it took (ns).
    #[serde(default)]
    pub spent_ns: u64,
    /// The version of holdup that did it.
    #[serde(default)]
    pub holdup: String,
    /// Where it was done.
    #[serde(default)]
    pub host: Host,
    /// Of a recording: the hash of its file. Of an answer: that of the recording which it tells of.
    #[serde(default)]
    pub recording: Option<String>,
    /// Of an answer: what goes into the tables.
    #[serde(default)]
    pub numbers: Numbers,
    /// Of a recording: the hashes of the program and of its files, by path.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

/// A machine that tasks run on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The processor's name, as the kernel tells it.
    pub processor: String,
    /// How many CPUs may be used.
    pub cpus: u32,
}

impl Host {
    /// True if times that were measured on both can be put beside each other, as far as is known.
    pub fn is_alike(&self, other: &Host) -> bool {
        (&self.processor, self.cpus) == (&other.processor, other.cpus)
    }
}
