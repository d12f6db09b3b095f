//! An instance as it is looked at: with its units of work dealt out.
//!
//! Who executed a unit that was dealt out at run time is an accident of that run: under emulation, on fewer cores than
//! threads, one thread may take nearly all. So each goes to the thread with the least time so far, which is what dealing out
//! does on a machine with a core for each thread (list scheduling: Graham, Bell System Technical Journal 45, 1966). What is
//! left of the imbalance then is what dealing out cannot fix.

use std::collections::BTreeMap;

use holdup_model::Nanos;
use holdup_model::counts::{CountedThread, Counts, Instance, SectionPlace};

/// A column: an event's number, or, behind all events, the number of a block whose libraries' instructions it counts.
pub(super) type Column = u32;

/// An instance with its units dealt out.
#[derive(Clone, Debug)]
pub(super) struct Dealt<'a> {
    /// The threads: the rows.
    pub(super) threads: &'a [CountedThread],
    /// Where it begins, if that is not where its section does.
    pub(super) begin: Option<&'a SectionPlace>,
    /// The time of each row.
    pub(super) time: Vec<u64>,
    /// The native time of each row.
    pub(super) native: Option<&'a [Nanos]>,
    /// (column, row, how often), by column and row, each once.
    pub(super) entries: Vec<(Column, u32, u64)>,
    /// How many units were dealt out.
    pub(super) units: u64,
}

impl<'a> Dealt<'a> {
    /// Deals out the units of an instance. Rows, events and blocks that do not exist are left out.
    pub(super) fn new(counts: &Counts, instance: &'a Instance) -> Dealt<'a> {
        let rows = instance.threads.len().min(instance.time.len());
        let events = counts.events() as u32;
        let blocks = counts.blocks.len();
        let library = |block: holdup_model::counts::BlockId| {
            (block.index() < blocks).then(|| events.saturating_add(block.0))
        };
        let mut entries: Vec<(Column, u32, u64)> =
            Vec::with_capacity(instance.executed.entries.len() + instance.library.len());
        entries.extend(
            instance
                .executed
                .entries
                .iter()
                .filter(|(event, row, _)| event.0 < events && (*row as usize) < rows)
                .map(|(event, row, count)| (event.0, *row, *count)),
        );
        entries.extend(
            instance
                .library
                .iter()
                .filter(|(_, row, _)| (*row as usize) < rows)
                .filter_map(|(block, row, count)| Some((library(*block)?, *row, *count))),
        );
        let mut time = instance.time[..rows].to_vec();
        let units = if rows > 0 { instance.units.len() } else { 0 };
        let owners = owners(instance, &mut time, units);
        for (unit, row) in instance.units.iter().zip(owners) {
            let executed = unit.executed.iter().filter(|(event, _)| event.0 < events);
            entries.extend(executed.map(|(event, count)| (event.0, row, *count)));
            let own = unit.library.iter().filter_map(|(block, count)| Some((library(*block)?, row, *count)));
            entries.extend(own);
        }
        if !entries.is_sorted_by(|a, b| (a.0, a.1) < (b.0, b.1)) {
            entries.sort_unstable();
            entries.dedup_by(|later, first| {
                let same = (later.0, later.1) == (first.0, first.1);
                if same {
                    first.2 = first.2.saturating_add(later.2);
                }
                same
            });
        }
        let native = instance.native.as_deref().filter(|native| native.len() == instance.threads.len());
        Dealt {
            threads: &instance.threads[..rows],
            begin: instance.begin.as_ref(),
            time,
            native: native.map(|native| &native[..rows]),
            entries,
            units: units as u64,
        }
    }

    /// Σ_t (longest − t): what the instance weighs.
    pub(super) fn idle(&self) -> u64 {
        let longest = self.longest();
        self.time.iter().fold(0, |sum: u64, time| sum.saturating_add(longest - time))
    }

    /// The longest row's time.
    pub(super) fn longest(&self) -> u64 {
        self.time.iter().copied().max().unwrap_or(0)
    }
}

/// The row for each unit, which is added to that row's time. Constructs follow each other in the order of their first units.
fn owners(instance: &Instance, time: &mut [u64], units: usize) -> Vec<u32> {
    let mut constructs: BTreeMap<u64, (usize, Vec<usize>)> = BTreeMap::new();
    for (at, unit) in instance.units.iter().enumerate().take(units) {
        constructs.entry(unit.construct).or_insert_with(|| (at, Vec::new())).1.push(at);
    }
    let mut in_order: Vec<(usize, Vec<usize>)> = constructs.into_values().collect();
    in_order.sort_unstable();
    let mut owners = vec![0; units];
    for at in in_order.into_iter().flat_map(|(_, units)| units) {
        let mut least = 0;
        for row in 1..time.len() {
            if time[row] < time[least] {
                least = row;
            }
        }
        time[least] = time[least].saturating_add(instance.units[at].time);
        owners[at] = least as u32;
    }
    owners
}

#[cfg(test)]
mod tests {
    use holdup_model::counts::{BlockId, EventId, EventTable, Unit};

    use super::*;

    fn unit(row: u32, construct: u64, time: u64) -> Unit {
        Unit { row, construct, time, executed: vec![(EventId(0), 1)], library: vec![(BlockId(1), time)] }
    }

    #[test]
    fn units_go_to_the_row_with_the_least_time() {
        let counts = Counts {
            blocks: vec![Default::default(); 2],
            edges: vec![(BlockId(0), BlockId(1))],
            ..Counts::default()
        };
        // Thread 0 took all of them: that was the run, not the program.
        let instance = Instance {
            threads: vec![CountedThread(0), CountedThread(1)],
            time: vec![10, 0],
            executed: EventTable { entries: vec![(EventId(0), 0, 5)] },
            units: vec![unit(0, 7, 6), unit(0, 7, 6), unit(0, 7, 2)],
            ..Instance::default()
        };
        let dealt = Dealt::new(&counts, &instance);
        assert_eq!(dealt.time, [12, 12]);
        assert_eq!(dealt.entries, [(0, 0, 6), (0, 1, 2), (2, 0, 2), (2, 1, 12)]);
        assert_eq!((dealt.units, dealt.idle()), (3, 0));
    }

    #[test]
    fn what_does_not_exist_is_left_out() {
        let counts = Counts { blocks: vec![Default::default()], ..Counts::default() };
        let instance = Instance {
            threads: vec![CountedThread(0)],
            time: vec![1],
            executed: EventTable { entries: vec![(EventId(9), 0, 1), (EventId(0), 3, 1)] },
            library: vec![(BlockId(5), 0, 1), (BlockId(0), 0, 4)],
            ..Instance::default()
        };
        assert_eq!(Dealt::new(&counts, &instance).entries, [(0, 0, 4)]);
    }
}
