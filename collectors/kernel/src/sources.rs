//! Which opened event a record comes from, and whether another record says the same.

use std::collections::BTreeSet;

use crate::attributes::Kind;
use crate::event::{Event, What};
use crate::ids::{Cpu, Pid, Tid};
use crate::parse::{Parsed, Schema};
use crate::tracepoint::WakingLayout;

/// The opened events, and what has been seen of their records so far.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// By identifier, sorted.
    events: Vec<(u64, Source)>,
    /// The threads that have events of their own.
    owners: BTreeSet<Tid>,
    /// Records about this process are not wanted.
    unwanted: Option<Pid>,
    layout: Option<WakingLayout>,
    stacks: bool,
    /// The latest waking in each ring: when, by whom, of whom.
    waking: Option<(Cpu, u64, Tid, Tid)>,
}

/// An opened event.
#[derive(Clone, Copy, Debug)]
struct Source {
    kind: Kind,
    owner: Option<Tid>,
}

/// Two records of one waking are no farther apart than this, in ns: both are written with interrupts off. The same
/// thread cannot be woken, run and block again within it.
const SAME_WAKING_NS: u64 = 1_000;

impl Sources {
    /// None yet. Records about the process `unwanted` will be dropped.
    pub(crate) fn new(layout: Option<WakingLayout>, stacks: bool, unwanted: Option<Pid>) -> Sources {
        Sources { layout, stacks, unwanted, ..Sources::default() }
    }

    /// An event was opened, for the thread `owner` if it is one that ran before.
    pub(crate) fn add(&mut self, id: u64, kind: Kind, owner: Option<Tid>) {
        let at = self.events.partition_point(|(other, _)| *other < id);
        self.events.insert(at, (id, Source { kind, owner }));
        self.owners.extend(owner);
    }

    /// Whether this record is wanted and no other one has told it.
    ///
    /// A thread that was made while the threads of its process were being listed has events of its own, and has
    /// inherited those of the thread that made it: only its own count. A waking is told by the events of the thread
    /// that wakes *and* by those of the thread that is woken, one right behind the other.
    pub(crate) fn admit(&mut self, parsed: &Parsed<'_>) -> bool {
        let Event { time_ns, pid, tid, cpu, what } = parsed.event;
        if self.unwanted == Some(pid) {
            return false;
        }
        if let What::Waking { wakee, .. } = what {
            let latest = self.waking.replace((cpu, time_ns, tid, wakee));
            return latest.is_none_or(|(on, at, waker, woken)| {
                (on, waker, woken) != (cpu, tid, wakee) || time_ns.abs_diff(at) > SAME_WAKING_NS
            });
        }
        if self.owners.is_empty() || matches!(what, What::Lost { .. } | What::Throttle { .. }) {
            return true;
        }
        let subject = if let What::Exit { tid, .. } = what { tid } else { tid };
        let Some(owner) = self.source(parsed.id).and_then(|source| source.owner) else { return true };
        let own = owner == subject;
        let admitted = own || !self.owners.contains(&subject);
        if own && matches!(what, What::Exit { .. }) {
            // The number may be given to another thread.
            self.owners.remove(&subject);
        }
        admitted
    }

    fn source(&self, id: u64) -> Option<Source> {
        let at = self.events.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(self.events[at].1)
    }
}

impl Schema for Sources {
    fn kind(&self, id: u64) -> Option<Kind> {
        self.source(id).map(|source| source.kind)
    }

    fn wakings(&self) -> Option<&WakingLayout> {
        self.layout.as_ref()
    }

    fn stacks(&self) -> bool {
        self.stacks
    }
}
