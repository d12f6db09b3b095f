//! Which opened event a record comes from, and whether another record says the same.

use std::collections::{BTreeMap, BTreeSet};

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
    /// Those that stay open.
    lasting: BTreeSet<u64>,
    /// The threads that have events of their own.
    owners: BTreeSet<Tid>,
    /// Records about this process are not wanted.
    unwanted: Option<Pid>,
    layout: Option<WakingLayout>,
    stacks: bool,
    /// The latest waking on each processor: when, by whom, of whom.
    wakings: BTreeMap<Cpu, (u64, Tid, Tid)>,
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

    /// An event of a processor was opened, for good.
    pub(crate) fn add_lasting(&mut self, id: u64, kind: Kind) {
        self.add(id, kind, None);
        self.lasting.insert(id);
    }

    /// All events but those of processors were closed, and their records read.
    pub(crate) fn clear(&mut self) {
        self.events.retain(|(id, _)| self.lasting.contains(id));
        self.owners.clear();
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
            let latest = self.wakings.insert(cpu, (time_ns, tid, wakee));
            return latest.is_none_or(|(at, waker, woken)| {
                (waker, woken) != (tid, wakee) || time_ns.abs_diff(at) > SAME_WAKING_NS
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Switch, Waker};

    fn event(id: u64, time_ns: u64, tid: u32, what: What<'static>) -> Parsed<'static> {
        Parsed { id, event: Event { time_ns, pid: Pid(10), tid: Tid(tid), cpu: Cpu(0), what } }
    }

    const IN: What<'static> = What::Switch(Switch::In);

    #[test]
    fn events_are_known_by_their_identifier() {
        let mut sources = Sources::new(None, true, None);
        for (id, kind) in [(9, Kind::Tasks), (3, Kind::Samples), (5, Kind::Switches)] {
            sources.add(id, kind, None);
        }
        let kinds = [3, 5, 9, 4].map(|id| sources.kind(id));
        assert_eq!(kinds, [Some(Kind::Samples), Some(Kind::Switches), Some(Kind::Tasks), None]);
    }

    #[test]
    fn a_thread_with_events_of_its_own_is_not_told_twice() {
        let mut sources = Sources::new(None, true, None);
        sources.add(1, Kind::Switches, Some(Tid(11)));
        sources.add(2, Kind::Switches, Some(Tid(12)));
        assert!(sources.admit(&event(1, 5, 11, IN)));
        // 12 was made by 11 before it had its own.
        assert!(!sources.admit(&event(1, 6, 12, IN)));
        assert!(sources.admit(&event(2, 6, 12, IN)));
        // 13 was made later.
        assert!(sources.admit(&event(1, 7, 13, IN)));
        // Another thread has the number 12 after the end of the first one.
        assert!(!sources.admit(&event(1, 8, 12, What::Exit { pid: Pid(10), tid: Tid(12) })));
        assert!(sources.admit(&event(2, 8, 12, What::Exit { pid: Pid(10), tid: Tid(12) })));
        assert!(sources.admit(&event(1, 9, 12, IN)));
    }

    #[test]
    fn what_samples_a_processor_stays() {
        let mut sources = Sources::new(None, true, None);
        sources.add_lasting(4, Kind::Samples);
        sources.add(2, Kind::Tasks, Some(Tid(11)));
        sources.clear();
        assert_eq!([2, 4].map(|id| sources.kind(id)), [None, Some(Kind::Samples)]);
        // It is nobody's: what it says of any thread counts.
        sources.add(3, Kind::Tasks, Some(Tid(11)));
        assert!(sources.admit(&event(4, 5, 11, IN)) && sources.admit(&event(4, 6, 12, IN)));
    }

    #[test]
    fn the_recorder_is_not_told() {
        let mut sources = Sources::new(None, true, Some(Pid(10)));
        assert!(!sources.admit(&event(1, 5, 11, IN)));
    }

    #[test]
    fn a_waking_is_told_once() {
        let mut sources = Sources::new(None, true, None);
        let waking = |time, wakee| event(1, time, 11, What::Waking { wakee: Tid(wakee), by: Waker::Thread });
        let elsewhere = |time, wakee| {
            let mut parsed = waking(time, wakee);
            (parsed.event.cpu, parsed.event.tid) = (Cpu(1), Tid(14));
            parsed
        };
        assert!(sources.admit(&waking(10_000, 12)));
        assert!(sources.admit(&elsewhere(10_100, 15)));
        assert!(!sources.admit(&waking(10_300, 12)));
        assert!(sources.admit(&waking(10_600, 13)));
        assert!(sources.admit(&waking(90_000, 13)));
    }
}
