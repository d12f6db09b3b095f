//! For some objects: how many threads wait for each, and who holds it, in the bins of the run.

use std::collections::BTreeMap;

use holdup_criticality::Diagnosis;
use holdup_model::{ObjectId, Process, Time};

use super::budget;
use super::columns::Columns;
use super::coverage::Grid;
use super::holds::{Held, Holds};
use super::spans::Span;
use crate::page::shade::Shade;

/// Waiters are told in parts of this size of one: finer than a pixel of the drawing.
const WAITER: u64 = 64;

/// The lanes of a run: those objects for which threads wait most, and those that findings are about.
pub(super) struct Lanes {
    pub(super) objects: Vec<ObjectId>,
    by_object: BTreeMap<ObjectId, usize>,
    /// By lane, then bin: time that threads waited (ns), all together.
    waiting: Vec<Vec<u64>>,
    /// By lane: who held it, by start.
    held: Vec<Vec<Held>>,
}

impl Lanes {
    pub(super) fn of(process: &Process, diagnosis: &Diagnosis, holds: &Holds, grid: &Grid) -> Lanes {
        let told = diagnosis.findings.iter().filter_map(|finding| finding.object);
        let costly = diagnosis.objects.iter().filter(|cost| cost.waits > 0).map(|cost| cost.object);
        let mut objects: Vec<ObjectId> = Vec::new();
        for object in told.take(budget::FINDINGS).chain(costly) {
            if objects.len() < budget::LANES
                && object.index() < process.objects.len()
                && !objects.contains(&object)
            {
                objects.push(object);
            }
        }
        let by_object: BTreeMap<ObjectId, usize> =
            objects.iter().enumerate().map(|(lane, object)| (*object, lane)).collect();
        let waiting = vec![vec![0; grid.bins]; objects.len()];
        let mut held = vec![Vec::new(); objects.len()];
        for hold in holds.all() {
            if let Some(lane) = by_object.get(&hold.object) {
                held[*lane].push(*hold);
            }
        }
        held.iter_mut()
            .for_each(|held| held.sort_unstable_by_key(|held| (held.start, held.end, held.thread)));
        Lanes { objects, by_object, waiting, held }
    }

    pub(super) fn look_at(&mut self, grid: &Grid, span: &Span) {
        let waits = matches!(
            span.what.shade,
            Shade::Lock | Shade::Barrier | Shade::Signal | Shade::Spinning | Shade::Waking
        );
        if let Some(lane) = span.what.object.filter(|_| waits).and_then(|object| self.by_object.get(&object))
        {
            let waiting = &mut self.waiting[*lane];
            grid.spread(span.start, span.end, |bin, length| {
                waiting[bin] = waiting[bin].saturating_add(length)
            });
        }
    }

    /// The lane of an object, if it has one.
    pub(super) fn lane(&self, object: ObjectId) -> Option<usize> {
        self.by_object.get(&object).copied()
    }

    /// The holds of each lane that reach into each of `windows`, which are in order and apart: by lane, window, start.
    pub(super) fn within(&self, windows: &[(Time, Time)]) -> Vec<Vec<Vec<Held>>> {
        let of_lane = |held: &Vec<Held>| {
            let mut within = vec![Vec::new(); windows.len()];
            for held in held {
                let first = windows.partition_point(|(_, to)| *to <= held.start);
                for (window, (from, _)) in windows.iter().enumerate().skip(first) {
                    if *from >= held.end {
                        break;
                    }
                    within[window].push(*held);
                }
            }
            within
        };
        self.held.iter().map(of_lane).collect()
    }

    /// For each lane and bin how many threads waited; then, for each lane, whether it was ever held, and if so for
    /// each bin for how much of it (255 for all), and by which row for most of that, if by one.
    pub(super) fn write(&self, grid: &Grid, row_of: &[Option<usize>], out: &mut Columns) {
        for waiting in &self.waiting {
            for time in waiting {
                out.number((u128::from(*time) * u128::from(WAITER) / u128::from(grid.bin)) as u64);
            }
        }
        for held in &self.held {
            let owners = owners(grid, held);
            out.number(u64::from(owners.iter().any(|owner| owner.held > 0)));
            if owners.iter().all(|owner| owner.held == 0) {
                continue;
            }
            for owner in &owners {
                let share = u128::from(owner.held.min(grid.bin)) * 255 / u128::from(grid.bin);
                out.bytes.push(share.max(u128::from(owner.held > 0)) as u8);
            }
            for owner in &owners {
                let most = owner.thread.filter(|_| owner.own > owner.held / 2);
                out.maybe(most.and_then(|thread| row_of.get(thread as usize).copied().flatten()));
            }
        }
    }
}

/// Who held an object in one bin.
#[derive(Clone, Copy, Default)]
struct Owner {
    /// For how long it was held (ns), by anyone.
    held: u64,
    /// The only thread that can have held it for more than half of that.
    thread: Option<u32>,
    /// By how much that thread is ahead of all others; later, for how long it held it.
    own: u64,
}

/// The majority of each bin, found in two passes (Boyer and Moore's vote): the candidate, then its time.
fn owners(grid: &Grid, holds: &[Held]) -> Vec<Owner> {
    let mut owners = vec![Owner::default(); grid.bins];
    for held in holds {
        let thread = held.thread.index() as u32;
        grid.spread(held.start, held.end, |bin, length| {
            let owner = &mut owners[bin];
            owner.held = owner.held.saturating_add(length);
            if owner.thread == Some(thread) {
                owner.own = owner.own.saturating_add(length);
            } else if owner.own >= length {
                owner.own -= length;
            } else {
                (owner.thread, owner.own) = (Some(thread), length - owner.own);
            }
        });
    }
    owners.iter_mut().for_each(|owner| owner.own = 0);
    for held in holds {
        let thread = held.thread.index() as u32;
        grid.spread(held.start, held.end, |bin, length| {
            let owner = &mut owners[bin];
            if owner.thread == Some(thread) {
                owner.own = owner.own.saturating_add(length);
            }
        });
    }
    owners
}

#[cfg(test)]
mod tests {
    use holdup_model::ThreadId;

    use super::*;

    #[test]
    fn the_owner_of_a_bin_is_who_held_it_most() {
        let grid = Grid::new(Time::from_nanos(0), Time::from_nanos(200), 2);
        let held = |thread, start, end| Held {
            thread: ThreadId::new(thread),
            start: Time::from_nanos(start),
            end: Time::from_nanos(end),
            object: ObjectId::new(0),
        };
        let holds = [held(1, 0, 20), held(2, 30, 40), held(1, 40, 55), held(3, 60, 130)];
        let told: Vec<_> = owners(&grid, &holds).iter().map(|o| (o.held, o.thread, o.own)).collect();
        assert_eq!(told, [(85, Some(3), 40), (30, Some(3), 30)]);
        assert!(told[0].2 <= told[0].0 / 2, "no thread held it for more than half of the first bin");
    }
}
