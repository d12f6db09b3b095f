//! An instance while its lines are read.

use std::collections::BTreeMap;

use holdup_model::Nanos;
use holdup_model::counts::{
    BasicBlock, BlockId, CountedThread, EventId, EventTable, Instance, TimeUnit, Unit,
};

use super::error::TextError;

/// An event before all edges are known: then edges are numbered in their order, and hardware events behind them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Event {
    Edge(BlockId, BlockId),
    Hardware(u32),
}

/// Events and their counts.
pub(super) type Executed<K> = BTreeMap<K, u64>;

/// A unit of work that was dealt out.
#[derive(Default)]
pub(super) struct DraftUnit {
    pub(super) row: u32,
    pub(super) construct: u64,
    pub(super) time: Option<u64>,
    pub(super) executed: Executed<Event>,
    pub(super) library: Executed<BlockId>,
}

/// An instance.
#[derive(Default)]
pub(super) struct Draft {
    /// The line at which it begins.
    line: u64,
    /// Threads by row.
    threads: Vec<CountedThread>,
    rows: BTreeMap<CountedThread, u32>,
    time: Vec<Option<u64>>,
    native: Vec<Option<u64>>,
    pub(super) executed: Executed<(Event, u32)>,
    pub(super) library: Executed<(BlockId, u32)>,
    pub(super) units: Vec<DraftUnit>,
}

/// What is needed to make an instance of a draft.
pub(super) struct Numbers<'a> {
    pub(super) edges: &'a BTreeMap<(BlockId, BlockId), u32>,
    pub(super) blocks: &'a [BasicBlock],
    pub(super) unit: TimeUnit,
    /// Ids of threads in the text.
    pub(super) threads: &'a [u64],
}

/// Adds a count; none is told of by 0.
pub(super) fn add<K: Ord>(to: &mut Executed<K>, key: K, count: u64) {
    if count > 0 {
        let sum = to.entry(key).or_default();
        *sum = sum.saturating_add(count);
    }
}

impl Draft {
    /// An instance that begins at a line.
    pub(super) fn new(line: u64) -> Self {
        Self { line, ..Self::default() }
    }

    /// The row of a thread, which takes part from now on.
    pub(super) fn row(&mut self, thread: CountedThread) -> u32 {
        *self.rows.entry(thread).or_insert_with(|| {
            self.threads.push(thread);
            self.time.push(None);
            self.native.push(None);
            self.threads.len() as u32 - 1
        })
    }

    pub(super) fn add_time(&mut self, thread: CountedThread, time: u64) {
        let row = self.row(thread) as usize;
        self.time[row] = Some(self.time[row].unwrap_or(0).saturating_add(time));
    }

    pub(super) fn add_native(&mut self, thread: CountedThread, nanos: u64) {
        let row = self.row(thread) as usize;
        self.native[row] = Some(self.native[row].unwrap_or(0).saturating_add(nanos));
    }

    pub(super) fn finish(self, numbers: &Numbers<'_>) -> Result<Instance, TextError> {
        let lacks = |row: usize, what| {
            let thread = self.threads[row].index();
            TextError::NoTime { line: self.line, thread: numbers.threads[thread], what }
        };
        let mut time = Vec::with_capacity(self.threads.len());
        for (row, known) in self.time.iter().enumerate() {
            let executed = || {
                let of_row = self.executed.iter().filter(|((_, other), _)| *other as usize == row);
                let library = self.library.iter().filter(|((_, other), _)| *other as usize == row);
                numbers.time(
                    of_row.map(|((event, _), count)| (*event, *count)),
                    library.map(|(_, count)| *count),
                )
            };
            time.push(known.or_else(executed).ok_or_else(|| lacks(row, "time"))?);
        }
        let mut native = None;
        if self.native.iter().any(Option::is_some) {
            let nanos = |(row, nanos): (usize, &Option<u64>)| {
                nanos.map(Nanos::new).ok_or_else(|| lacks(row, "native"))
            };
            native = Some(self.native.iter().enumerate().map(nanos).collect::<Result<Vec<_>, _>>()?);
        }
        let mut units = Vec::with_capacity(self.units.len());
        for unit in self.units {
            let executed = || {
                numbers.time(
                    unit.executed.iter().map(|(event, count)| (*event, *count)),
                    unit.library.values().copied(),
                )
            };
            let row = unit.row as usize;
            let time = unit.time.or_else(executed);
            let thread = numbers.threads[self.threads[row].index()];
            units.push(Unit {
                row: unit.row,
                construct: unit.construct,
                time: time.ok_or(TextError::NoTime { line: self.line, thread, what: "time" })?,
                executed: unit.executed.iter().map(|(event, count)| (numbers.id(*event), *count)).collect(),
                library: unit.library.into_iter().collect(),
            });
        }
        let entries = self.executed.iter().map(|((event, row), count)| (numbers.id(*event), *row, *count));
        Ok(Instance {
            executed: EventTable { entries: entries.collect() },
            library: self.library.iter().map(|((block, row), count)| (*block, *row, *count)).collect(),
            threads: self.threads,
            begin: None,
            time,
            waited: 0,
            native,
            units,
        })
    }
}

impl Numbers<'_> {
    fn id(&self, event: Event) -> EventId {
        match event {
            Event::Edge(from, to) => EventId(self.edges.get(&(from, to)).copied().unwrap_or(0)),
            Event::Hardware(number) => EventId(self.edges.len() as u32 + number),
        }
    }

    /// Instructions of the blocks that edges lead to, and of libraries; `None` where time is something else.
    fn time(
        &self,
        executed: impl Iterator<Item = (Event, u64)>,
        library: impl Iterator<Item = u64>,
    ) -> Option<u64> {
        let of_event = |(event, count): (Event, u64)| match event {
            Event::Edge(_, to) => count.saturating_mul(self.blocks[to.index()].instructions.into()),
            Event::Hardware(_) => 0,
        };
        let instructions = executed.map(of_event).chain(library).fold(0, u64::saturating_add);
        (self.unit == TimeUnit::Instructions).then_some(instructions)
    }
}
