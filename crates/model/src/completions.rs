//! What is known of waits until others have done all that they were given: where they are, and whose.

use std::collections::{BTreeMap, BTreeSet};

use crate::{ObjectId, SiteId, ThreadId};

/// Where threads wait so, and for whom.
#[derive(Default)]
pub(crate) struct Completions {
    /// Places at which (nearly) all waits are such.
    pub sites: BTreeSet<SiteId>,
    /// Those of them at which somebody waits that did a part itself.
    pub shared: BTreeSet<SiteId>,
    /// Those of them at which those who are waited for then end.
    pub ends: BTreeSet<SiteId>,
    /// By object: those who did what was waited for there, where that is what (nearly) all waits for them on it are.
    pub by: BTreeSet<(ObjectId, ThreadId)>,
    /// By thread: what its end was waited for on, where that is another object than its end.
    pub ended_on: BTreeMap<ThreadId, ObjectId>,
    /// Who gives out work in rounds.
    pub givers: BTreeMap<ThreadId, Team>,
}

/// Those to whom a thread gives work in rounds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Team {
    pub members: BTreeSet<ThreadId>,
    /// The thread that gives them work does a part itself.
    pub takes_part: bool,
}
