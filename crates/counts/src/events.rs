//! From the emulator's blocks to the program's basic blocks, and from sums of executions to events.

use std::collections::BTreeMap;

use holdup_code::{BlockTable, RawBlock};
use holdup_model::Frame;
use holdup_model::counts::{BasicBlock, BlockExit, BlockId, EventId, Section};
use holdup_recording::Instructions;
use holdup_recording::facts::BlockNames;
use holdup_trace::instructions::CodeClass;

use crate::tally::Tally;

/// A place in the code.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum CodeLine {
    /// A line of a file.
    Line(String, u32),
    /// The address of a block without one.
    Block(u64),
}

/// What a tally is in terms of events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Executed {
    /// Instructions, without those of code that waits.
    pub time: u64,
    /// Instructions of code that waits.
    pub waited: u64,
    /// (event in order of discovery, how often), sorted.
    pub events: Vec<(EventId, u64)>,
    /// (block, instructions of libraries), sorted.
    pub library: Vec<(BlockId, u64)>,
}

/// Finds events.
pub(crate) struct Events {
    table: BlockTable,
    waits: Vec<bool>,
    /// For a block of the stream its number among those of the table.
    own: Vec<Option<u32>>,
    /// Edges in the order of their discovery.
    edges: Vec<(BlockId, BlockId)>,
    numbers: BTreeMap<(BlockId, BlockId), EventId>,
}

impl Events {
    pub(crate) fn new(instructions: &Instructions<'_>, names: Option<&BlockNames>) -> Events {
        let mut own = vec![None; instructions.blocks.len()];
        let mut raw = Vec::new();
        for (number, block) in own.iter_mut().zip(&instructions.blocks) {
            if matches!(block.class, CodeClass::Own | CodeClass::Generated) {
                *number = Some(raw.len() as u32);
                let generated = block.class == CodeClass::Generated;
                raw.push(RawBlock { address: block.address, bytes: &block.bytes, generated });
            }
        }
        let table = BlockTable::new(&raw, &|_| None);
        let waiting: std::collections::BTreeSet<u64> =
            names.map(|names| names.waiting.iter().copied().collect()).unwrap_or_default();
        let waits = table
            .blocks()
            .iter()
            .map(|block| block.waits || !block.generated && waiting.contains(&block.address))
            .collect();
        Events { table, waits, own, edges: Vec::new(), numbers: BTreeMap::new() }
    }

    /// The return address of each block of the stream that ends with a call.
    pub(crate) fn return_addresses(&self) -> BTreeMap<u32, u64> {
        let numbered = (0..).zip(&self.own).filter_map(|(number, own)| Some((number, (*own)?)));
        let last = numbered.filter_map(|(number, own)| Some((number, self.table.parts(own).last()?.index())));
        last.map(|(number, last)| (number, &self.table.blocks()[last]))
            .filter(|(_, block)| matches!(block.exit, BlockExit::Call | BlockExit::IndirectCall))
            .map(|(number, block)| (number, block.next()))
            .collect()
    }

    fn waits(&self, block: BlockId) -> bool {
        self.waits.get(block.index()).copied().unwrap_or(false)
    }

    fn own(&self, block: u32) -> Option<u32> {
        self.own.get(block as usize).copied().flatten()
    }

    /// Instructions of the program's own code, without those of code that waits, and these.
    pub(crate) fn own_instructions(&self, tally: &Tally) -> (u64, u64) {
        let (mut time, mut waited) = (0, 0);
        for (&block, &count) in &tally.executed {
            let Some(own) = self.own(block) else { continue };
            for &part in self.table.parts(own) {
                let sum = if self.waits(part) { &mut waited } else { &mut time };
                *sum += count * u64::from(self.table.blocks()[part.index()].instructions);
            }
        }
        (time, waited)
    }

    /// Turns a tally into events.
    pub(crate) fn of(&mut self, tally: &Tally) -> Executed {
        let mut counts: BTreeMap<(BlockId, BlockId), u64> = BTreeMap::new();
        let (mut time, waited) = self.own_instructions(tally);
        for (&(from, to), &count) in &tally.edges {
            if let (Some(from), Some(to)) = (self.own(from), self.own(to)) {
                *counts.entry(self.table.edge(from, to)).or_default() += count;
            }
        }
        for (&block, &count) in &tally.executed {
            let Some(own) = self.own(block) else { continue };
            for edge in self.table.inner(own) {
                *counts.entry(edge).or_default() += count;
            }
        }
        let mut library: BTreeMap<BlockId, u64> = BTreeMap::new();
        for (&block, &instructions) in &tally.library {
            let last = self.own(block).and_then(|own| self.table.parts(own).last().copied());
            if let Some(block) = last.filter(|block| !self.waits(*block)) {
                *library.entry(block).or_default() += instructions;
                time += instructions;
            }
        }
        let mut events: Vec<(EventId, u64)> =
            counts.into_iter().map(|(edge, count)| (self.number(edge), count)).collect();
        events.sort_unstable();
        Executed { time, waited, events, library: library.into_iter().collect() }
    }

    /// The edge that an event in order of discovery is.
    pub(crate) fn edge(&self, event: EventId) -> Option<(BlockId, BlockId)> {
        self.edges.get(event.index()).copied()
    }

    fn number(&mut self, edge: (BlockId, BlockId)) -> EventId {
        let next = EventId(self.edges.len() as u32);
        let number = *self.numbers.entry(edge).or_insert(next);
        if number == next {
            self.edges.push(edge);
        }
        number
    }

    /// What a section executes, before events are sorted: instructions by line or, where there is none, by block.
    pub(crate) fn lines(
        &self,
        section: &Section,
        names: Option<&BlockNames>,
        modules: &Modules<'_>,
    ) -> BTreeMap<CodeLine, u64> {
        let mut blocks: BTreeMap<BlockId, u64> = BTreeMap::new();
        for instance in &section.instances {
            let own = instance.executed.entries.iter().map(|(event, _, count)| (event, count));
            let dealt =
                instance.units.iter().flat_map(|unit| &unit.executed).map(|(event, count)| (event, count));
            for (event, count) in own.chain(dealt) {
                let Some((_, to)) = self.edge(*event).filter(|(_, to)| !self.waits(*to)) else { continue };
                *blocks.entry(to).or_default() +=
                    count * u64::from(self.table.blocks()[to.index()].instructions);
            }
            let library = instance.library.iter().map(|(block, _, count)| (*block, *count));
            library.for_each(|(block, count)| *blocks.entry(block).or_default() += count);
        }
        let mut lines = BTreeMap::new();
        for (block, count) in blocks {
            let address = self.table.blocks()[block.index()].address;
            let frame = modules.frames(names, address).into_iter().next();
            let line = frame.and_then(|frame| Some((frame.file?, frame.line?)));
            *lines
                .entry(line.map_or(CodeLine::Block(address), |(file, line)| CodeLine::Line(file, line)))
                .or_default() += count;
        }
        lines
    }

    /// The edges in the order that [`holdup_model::counts::Counts::edges`] has, and the new number of each.
    pub(crate) fn sorted(&self) -> (Vec<(BlockId, BlockId)>, Vec<EventId>) {
        let edges: Vec<_> = self.numbers.keys().copied().collect();
        let mut renumbered = vec![EventId(0); edges.len()];
        for (new, old) in (0..).zip(self.numbers.values()) {
            renumbered[old.index()] = EventId(new);
        }
        (edges, renumbered)
    }

    /// True if the block ends with, or contains, an atomic operation whose result the program goes by.
    pub(crate) fn deals(&self, block: BlockId) -> bool {
        let Some(found) = self.table.blocks().get(block.index()) else { return false };
        found.atomic
            && !self.waits(block)
            && self
                .table
                .listing(block)
                .iter()
                .any(|(_, text)| text.contains("xadd") || text.contains("cmpxchg"))
    }

    /// The program's basic blocks, with their names and their instructions as text.
    pub(crate) fn blocks(&self, names: Option<&BlockNames>, modules: &Modules<'_>) -> Vec<BasicBlock> {
        let numbers = (0..).map(BlockId);
        let blocks = numbers.zip(self.table.blocks()).map(|(number, block)| BasicBlock {
            address: block.address,
            begin: modules.frames(names, block.address),
            end: modules.frames(names, block.last),
            instructions: block.instructions,
            exit: block.exit,
            waits: self.waits(number),
            atomic: block.atomic,
            generated: block.generated,
            listing: self.table.listing(number),
        });
        blocks.collect()
    }
}

/// Names of addresses.
pub(crate) struct Modules<'a> {
    instructions: &'a Instructions<'a>,
}

impl<'a> Modules<'a> {
    pub(crate) fn of(instructions: &'a Instructions<'a>) -> Modules<'a> {
        Modules { instructions }
    }

    /// The frames at an address; where none has a name, one with the module alone.
    pub(crate) fn frames(&self, names: Option<&BlockNames>, address: u64) -> Vec<Frame> {
        let module =
            self.instructions.modules.iter().rfind(|module| (module.start..module.end).contains(&address));
        let relative = module.map_or(address, |module| address - module.start + module.offset);
        let named = names.and_then(|names| Some((names, names.places.get(&address)?)));
        if let Some((names, places)) = named.filter(|(_, places)| !places.is_empty()) {
            let text = |index: Option<u32>| index.and_then(|index| names.texts.get(index as usize).cloned());
            let frames = places.iter().filter_map(|place| names.frames.get(*place as usize));
            return frames
                .map(|frame| Frame {
                    function: text(frame.function),
                    file: text(frame.file),
                    line: frame.line,
                    module: text(frame.module),
                    address: relative,
                    inlined: frame.inlined,
                    ..Frame::default()
                })
                .collect();
        }
        let Some(module) = module else { return Vec::new() };
        let path = String::from_utf8_lossy(&module.path);
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        vec![Frame { module: Some(name), address: relative, ..Frame::default() }]
    }
}
