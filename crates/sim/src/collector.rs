//! What threads execute in each slice and which memory they use.

use crate::program::{Act, Bookmark, Code, Item};
use crate::touched::{LINE_BITS, Touch, Touched};

/// Counts of blocks are summed in so many cells, by a hash of the block.
const CELLS: usize = 64;
/// A line that was used is not noted again as long as it is in a table of so many.
const FILTER: usize = 1024;
/// The table is emptied after so many uses that were noted, so that what is used all the time is noted as recent.
const EPOCH: usize = 2048;
/// As many instructions take about as long as to wait for each other, and to create a thread.
const SYNC: u64 = 2000;
const CREATES: u64 = 20_000;
/// At least so many of the last uses of a slice are kept: all lines of caches of 64 MiB.
pub(crate) const MOST_TOUCHES: usize = 1 << 20;

/// What one thread does in a slice.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// Instructions by cell.
    pub counts: Vec<u64>,
    pub instructions: u64,
    /// What it does besides, as instructions that would take as long, about.
    pub acts: u64,
    /// Where the thread is at its end.
    pub end: Bookmark,
    /// Lines that were used, the last ones last; some more than once. Not of the first slice.
    pub touched: Touched,
}

/// Notes what each thread does.
pub(crate) struct Collector<'a> {
    threads: Vec<OfThread<'a>>,
    /// By thread, then by slice.
    pub(crate) parts: Vec<Vec<Part>>,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(code: &'a Code, threads: usize) -> Self {
        Collector {
            threads: (0..threads).map(|_| OfThread::new(code)).collect(),
            parts: vec![Vec::new(); threads],
        }
    }

    /// Notes an item; gives how many instructions are executed.
    #[inline]
    pub(crate) fn note(&mut self, thread: usize, item: &Item<'_>) -> u64 {
        let of = &mut self.threads[thread];
        match item {
            Item::Block(block, addresses) => of.block(*block, addresses),
            Item::Partial(block, count, accesses) => {
                if of.notes_lines {
                    accesses.iter().for_each(|(access, address)| {
                        of.used(*address, access.size, access.stores);
                    });
                }
                of.partial(*block, *count)
            }
            Item::Act(Act::Cut | Act::Call { nanos: 0 }) => 0,
            Item::Act(act) => {
                of.acts += if matches!(act, Act::Create(_)) { CREATES } else { SYNC };
                0
            }
            Item::UnitEnd | Item::Skipped(_) | Item::End => 0,
        }
    }

    /// The slice ends, and the next begins.
    pub(crate) fn end(&mut self, mut at: impl FnMut(usize) -> Bookmark) {
        for (thread, (of, parts)) in self.threads.iter_mut().zip(&mut self.parts).enumerate() {
            parts.push(of.end(at(thread)));
        }
    }
}

/// The present slice of a thread.
struct OfThread<'a> {
    code: &'a Code,
    /// By block, how often it was executed whole, plus 1 if it is in `met`.
    counts: Vec<u32>,
    /// Blocks that were executed.
    met: Vec<u32>,
    /// Instructions of blocks that were executed in part.
    in_parts: u64,
    acts: u64,
    notes_lines: bool,
    /// Uses as `line << 1 | writes`, plus 1.
    filter: Box<[u64; FILTER]>,
    /// In the same form, less 1.
    touches: Vec<u64>,
    left_of_epoch: usize,
}

impl<'a> OfThread<'a> {
    fn new(code: &'a Code) -> Self {
        OfThread {
            code,
            counts: vec![0; code.blocks.len()],
            met: Vec::new(),
            in_parts: 0,
            acts: 0,
            notes_lines: false,
            filter: Box::new([0; FILTER]),
            touches: Vec::new(),
            left_of_epoch: EPOCH,
        }
    }

    /// How often a block was executed, plus 1.
    #[inline]
    fn count(&mut self, block: u32) -> &mut u32 {
        let count = &mut self.counts[block as usize];
        if *count == 0 {
            self.met.push(block);
            *count = 1;
        }
        count
    }

    #[inline]
    fn block(&mut self, block: u32, addresses: &[u64]) -> u64 {
        let count = self.count(block);
        *count = count.saturating_add(1);
        let code = self.code;
        let facts = &code.blocks[block as usize];
        if self.notes_lines && !addresses.is_empty() {
            let range = &facts.accesses;
            let table = &code.accesses[range.start as usize..range.end as usize];
            for (access, &address) in table.iter().zip(addresses) {
                self.used(address, access.size, access.stores);
            }
        }
        u64::from(facts.instructions.end - facts.instructions.start)
    }

    fn partial(&mut self, block: u32, count: u32) -> u64 {
        self.count(block);
        let all = &self.code.blocks[block as usize].instructions;
        let executed = u64::from(count.min(all.end - all.start));
        self.in_parts += executed;
        executed
    }

    #[inline]
    fn used(&mut self, address: u64, size: u32, writes: bool) {
        let first = address >> LINE_BITS;
        self.line(first, writes);
        let offset = address & ((1 << LINE_BITS) - 1);
        if offset + u64::from(size) > 1 << LINE_BITS {
            self.line(first + ((offset + u64::from(size) - 1) >> LINE_BITS), writes);
        }
    }

    #[inline]
    fn line(&mut self, line: u64, writes: bool) {
        let touch = line << 1 | u64::from(writes);
        let known = &mut self.filter[line as usize % FILTER];
        // A line that was written stands for one that was read too.
        if *known == touch + 1 || (!writes && *known == touch + 2) {
            return;
        }
        *known = touch + 1;
        self.note(touch);
    }

    #[inline(never)]
    fn note(&mut self, touch: u64) {
        self.touches.push(touch);
        if self.touches.len() >= 2 * MOST_TOUCHES {
            self.touches.drain(..MOST_TOUCHES);
        }
        self.left_of_epoch -= 1;
        if self.left_of_epoch == 0 {
            self.begin_epoch();
        }
    }

    fn begin_epoch(&mut self) {
        self.filter.fill(0);
        self.left_of_epoch = EPOCH;
    }

    /// The slice ends, and the next begins.
    fn end(&mut self, end: Bookmark) -> Part {
        let mut counts = vec![0; CELLS];
        let mut instructions = self.in_parts;
        for &block in &self.met {
            let all = &self.code.blocks[block as usize].instructions;
            let count = std::mem::take(&mut self.counts[block as usize]) - 1;
            let executed = u64::from(count) * u64::from(all.end - all.start);
            counts[(block.wrapping_mul(0x9E37_79B9) >> 26) as usize % CELLS] += executed;
            instructions += executed;
        }
        self.met.clear();
        self.in_parts = 0;
        self.notes_lines = true;
        self.begin_epoch();
        let touches = self.touches.drain(..);
        let touched = Touched::new(touches.map(|touch| Touch {
            line: touch >> 1,
            writes: touch & 1 == 1,
            is_recent: false,
        }));
        Part { counts, instructions, acts: std::mem::take(&mut self.acts), end, touched }
    }
}
