//! What the length of the run consists of, and who waited for whom.

use serde::Serialize;

use super::{Place, ThreadTime};

/// The sequence of work and delays that the length of the run consists of.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CriticalPath {
    /// Its length: the wall time.
    pub(crate) length_ns: u64,
    /// Its parts by thread, state and site, most time first; they add up to its length.
    pub(crate) steps: Vec<PathStep>,
    /// Time on the path by thread, most first; it adds up to the length.
    pub(crate) by_thread: Vec<ThreadTime>,
    /// Time on the path by object, most first.
    pub(crate) by_object: Vec<ObjectTime>,
}

/// Parts of the path that are alike.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PathStep {
    /// Whose time it is.
    pub(crate) thread: usize,
    /// The sync site that ends the work, or where the thread waits.
    #[serde(rename = "where")]
    pub(crate) place: Place,
    /// What the thread did.
    pub(crate) state: State,
    /// All such parts together.
    pub(crate) time_ns: u64,
}

/// What a thread does. waking: released, and not yet running. descheduled: able to run, without a core.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    Active,
    Blocked,
    Io,
    Asleep,
    Spinning,
    Waking,
    Descheduled,
    NotRecorded,
}

/// How much of the path an object is.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ObjectTime {
    /// The object.
    pub(crate) object: usize,
    /// Its on_path_ns.
    pub(crate) time_ns: u64,
}

/// Waits of the same course.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Chain {
    /// The threads that waited in this way.
    pub(crate) waiters: Vec<usize>,
    /// How long, all of them together.
    pub(crate) time_ns: u64,
    /// From the waiters' object to the root.
    pub(crate) links: Vec<ChainLink>,
}

/// What was waited for, and who had it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ChainLink {
    /// What was waited for.
    pub(crate) object: usize,
    /// Where it was waited for.
    #[serde(rename = "where")]
    pub(crate) wait_place: Place,
    /// Who was waited for; null where it is not known.
    pub(crate) holder: Option<usize>,
    /// What that thread did meanwhile; where it was blocked, the next link says on what.
    pub(crate) holder_state: State,
    /// Where it took the object, or, for what cannot be held, the sync site that ends what it did.
    pub(crate) holder_where: Place,
}
