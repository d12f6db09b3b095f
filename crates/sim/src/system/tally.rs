//! What is counted by instruction: executions, who gave its data, mispredictions.

use std::collections::BTreeMap;

use holdup_model::cycles::{CyclePlace, Level, PieceMisses};

use super::Options;
use super::cores::Cores;
use super::steering::miss_of;
use crate::Served;
use crate::program::{Code, Program};

const LEVELS: usize = Level::ALL.len();

pub(super) struct Tally {
    /// Instructions simulated so far.
    pub instructions: u64,
    /// How often each block was executed whole.
    blocks: Vec<u64>,
    /// What was executed of blocks that were not, by place.
    partly: Vec<u64>,
    /// By access of a block, how often who but the first level gave its data; and by place for those beyond.
    served: Vec<[u64; LEVELS]>,
    extra: BTreeMap<u32, [u64; LEVELS]>,
    /// The address of each place.
    pub addresses: Vec<u64>,
    /// The place of each access of a block.
    access_places: Vec<u32>,
    /// Whether a place's misses are erased; empty if none are.
    erased: Vec<bool>,
    /// Misses by thread and who gave the data, if a policy wants them; else empty.
    levels: Vec<[u64; 3]>,
    /// By thread, if they are wanted.
    pieces: Option<Vec<Piece>>,
}

/// What a thread's current piece has, by place.
#[derive(Clone, Default)]
struct Piece {
    misses: BTreeMap<u32, PieceMisses>,
    /// Executions of blocks, for the number of accesses.
    blocks: BTreeMap<u32, u64>,
}

impl Piece {
    /// Never inlined: pieces are hardly ever wanted.
    #[cold]
    #[inline(never)]
    fn block(&mut self, block: u32) {
        *self.blocks.entry(block).or_default() += 1;
    }
}

impl Tally {
    pub(super) fn new(program: &Program, options: &Options) -> Self {
        let code = &program.code;
        let mut access_places = vec![0; code.accesses.len()];
        for block in &code.blocks {
            for access in block.accesses.clone() {
                let instruction = block.instructions.start + code.accesses[access as usize].instruction;
                let place = code.instructions.get(instruction as usize).map_or(0, |found| found.place);
                access_places[access as usize] = place;
            }
        }
        let places = code.instructions.iter().map(|found| found.place as usize + 1).max().unwrap_or(0);
        let mut addresses = vec![0; places];
        code.instructions.iter().for_each(|found| addresses[found.place as usize] = found.address);
        let erased = match options.changes.erased.is_empty() {
            true => Vec::new(),
            false => {
                let mut erased = vec![false; places];
                for found in &code.instructions {
                    erased[found.place as usize] = options.changes.erased.contains(&found.address);
                }
                erased
            }
        };
        Self {
            instructions: 0,
            blocks: vec![0; code.blocks.len()],
            partly: vec![0; places],
            served: vec![[0; LEVELS]; code.accesses.len()],
            extra: BTreeMap::new(),
            addresses,
            access_places,
            erased,
            levels: vec![[0; 3]; if options.steering.is_some() { program.threads.len() } else { 0 }],
            pieces: options.misses.then(|| vec![Piece::default(); program.threads.len()]),
        }
    }

    /// The places of accesses of blocks.
    #[inline]
    pub(super) fn access_places(&self, accesses: std::ops::Range<usize>) -> &[u32] {
        &self.access_places[accesses]
    }

    pub(super) fn place_of(&self, code: &Code, block: u32, instruction: u32) -> u32 {
        let range = &code.blocks[block as usize].instructions;
        let index = range.start.saturating_add(instruction).min(range.end.saturating_sub(1));
        code.instructions.get(index as usize).map_or(0, |found| found.place)
    }

    /// True if any place's misses are erased.
    #[inline]
    pub(super) fn erases(&self) -> bool {
        !self.erased.is_empty()
    }

    #[inline]
    pub(super) fn is_erased(&self, place: u32) -> bool {
        self.erased.get(place as usize).copied().unwrap_or(false)
    }

    /// An access of a block's table.
    #[inline]
    pub(super) fn access(&mut self, access: usize, thread: u32, served: &Served) {
        if served.by == Level::L1 && served.tlb == 0 {
            return;
        }
        if served.by != Level::L1 {
            self.served[access][served.by as usize] += 1;
            self.miss_of_level(thread, served.by);
        }
        self.miss(self.access_places[access], thread, served);
    }

    /// An access beyond a block's table.
    pub(super) fn extra_access(&mut self, place: u32, thread: u32, served: &Served) {
        self.extra.entry(place).or_default()[served.by as usize] += 1;
        self.miss_of_level(thread, served.by);
        if self.pieces.is_some() {
            self.miss(place, thread, served);
            let piece = self.pieces.as_mut().map(|pieces| &mut pieces[thread as usize]);
            if let Some(piece) = piece {
                piece.misses.entry(place).or_default().accesses += 1;
            }
        }
    }

    fn miss_of_level(&mut self, thread: u32, by: Level) {
        if let (Some(levels), Some(level)) = (self.levels.get_mut(thread as usize), miss_of(by)) {
            levels[level] += 1;
        }
    }

    /// What the thread missed since this was asked last.
    pub(super) fn take_levels(&mut self, thread: u32) -> [u64; 3] {
        self.levels.get_mut(thread as usize).map(std::mem::take).unwrap_or_default()
    }

    fn miss(&mut self, place: u32, thread: u32, served: &Served) {
        let Some(pieces) = &mut self.pieces else { return };
        let found = pieces[thread as usize].misses.entry(place).or_default();
        if served.by != Level::L1 {
            found.served[served.by as usize] += 1;
        }
        found.tlb_misses += u64::from(served.tlb > 0);
        found.interconnect_queueing += u64::from(served.interconnect_queueing);
        found.memory_queueing += u64::from(served.memory_queueing);
    }

    /// The branch that ended a block was mispredicted.
    pub(super) fn branch_miss(&mut self, code: &Code, block: u32, thread: u32) {
        let Some(pieces) = &mut self.pieces else { return };
        let last = code.blocks[block as usize].instructions.end as usize - 1;
        let place = code.instructions[last].place;
        pieces[thread as usize].misses.entry(place).or_default().branch_misses += 1;
    }

    /// A block was executed whole.
    #[inline]
    pub(super) fn block(&mut self, block: u32, thread: u32, count: u32) {
        self.instructions += u64::from(count);
        self.blocks[block as usize] += 1;
        if let Some(pieces) = &mut self.pieces {
            pieces[thread as usize].block(block);
        }
    }

    /// The first instructions of a block were executed.
    pub(super) fn partial(&mut self, code: &Code, block: u32, thread: u32, count: u32) {
        self.instructions += u64::from(count);
        let range = &code.blocks[block as usize].instructions;
        for found in &code.instructions[range.start as usize..range.end as usize][..count as usize] {
            self.partly[found.place as usize] += 1;
        }
        if let Some(pieces) = &mut self.pieces
            && count == range.end - range.start
        {
            pieces[thread as usize].block(block);
        }
    }

    /// What the thread's piece had, which ends.
    pub(super) fn take_misses(&mut self, program: &Program, thread: u32) -> Vec<PieceMisses> {
        let Some(pieces) = &mut self.pieces else { return Vec::new() };
        let mut piece = std::mem::take(&mut pieces[thread as usize]);
        let code = &program.code;
        for (block, count) in piece.blocks {
            for access in code.blocks[block as usize].accesses.clone() {
                let place = self.access_places[access as usize];
                if let Some(found) = piece.misses.get_mut(&place) {
                    found.accesses += count;
                }
            }
        }
        let named = piece.misses.into_iter().map(|(place, found)| {
            let hits = found.accesses.saturating_sub(found.served[1..].iter().sum());
            let mut found = PieceMisses { address: self.addresses[place as usize], ..found };
            found.served[Level::L1 as usize] = hits;
            found
        });
        let mut misses: Vec<PieceMisses> = named.collect();
        misses.sort_unstable();
        misses
    }

    /// All instructions on which something was spent.
    pub(super) fn places(&self, program: &Program, cores: &Cores) -> Vec<CyclePlace> {
        let code = &program.code;
        let mut places: Vec<CyclePlace> =
            self.addresses.iter().map(|&address| CyclePlace { address, ..CyclePlace::default() }).collect();
        for (place, partly) in places.iter_mut().zip(&self.partly) {
            place.executions = *partly;
        }
        for (block, &count) in code.blocks.iter().zip(&self.blocks) {
            for found in
                &code.instructions[block.instructions.start as usize..block.instructions.end as usize]
            {
                places[found.place as usize].executions += count;
            }
            for access in block.accesses.start as usize..block.accesses.end as usize {
                let served = &mut places[self.access_places[access] as usize].served;
                let misses = self.served[access];
                served.iter_mut().zip(misses).for_each(|(all, more)| *all += more);
                served[Level::L1 as usize] += count.saturating_sub(misses.iter().sum());
            }
        }
        for (&place, extra) in &self.extra {
            places[place as usize].served.iter_mut().zip(extra).for_each(|(all, more)| *all += more);
        }
        for one in &cores.all {
            one.core.add_to_places(&mut places);
        }
        places.retain(|place| place.executions > 0 || place.stack.total() > 0);
        places
    }
}
