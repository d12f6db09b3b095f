//! Basic blocks out of the overlapping blocks that an emulator translated.

use holdup_model::counts::{BlockExit, BlockId};

use crate::calls::Helper;
use crate::listing::listing;

mod describe;

mod split;

mod wait;

pub(crate) use describe::exit;

/// A block as an emulator translated it: it may begin in the middle of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawBlock<'a> {
    /// The address of its first instruction.
    pub address: u64,
    /// Its instructions.
    pub bytes: &'a [u8],
    /// It was made at run time: other code may have been at the same address before.
    pub generated: bool,
}

/// A basic block: it is entered at its first instruction only, and left behind its last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The address of its first instruction.
    pub address: u64,
    /// Bytes.
    pub length: u32,
    /// How many instructions it has; at least 1, also where its bytes are none.
    pub instructions: u32,
    /// The address of its last instruction.
    pub last: u64,
    /// How it ends.
    pub exit: BlockExit,
    /// Where its last instruction goes (a branch: when it is taken), where the instruction itself says so.
    pub target: Option<u64>,
    /// It belongs to a loop that only waits ([`crate::waiting_loop`]).
    pub waits: bool,
    /// It has an atomic read-modify-write: an instruction with a lock prefix, or an exchange with memory.
    pub atomic: bool,
    /// It does nothing but jump through a table of addresses, as the linker's stubs for functions of libraries do.
    pub is_stub: bool,
    /// It is one string instruction with a repeat prefix, and nothing else. Emulators leave and enter it anew for each
    /// element.
    pub repeats: bool,
    /// It was made at run time.
    pub generated: bool,
}

impl Block {
    /// The address behind it; for a call the one that it returns to.
    pub fn next(&self) -> u64 {
        self.address.wrapping_add(self.length.into())
    }

    /// True if control comes from this block to that one by a return: its own, or that of what it jumps to.
    fn returns_to(&self, to: &Block) -> bool {
        let jumps_there = self.target == Some(to.address);
        match self.exit {
            BlockExit::Return => true,
            BlockExit::Jump => !jumps_there,
            BlockExit::Branch => !jumps_there && self.next() != to.address,
            _ => false,
        }
    }

    fn calls(&self) -> bool {
        matches!(self.exit, BlockExit::Call | BlockExit::IndirectCall)
    }
}

/// The basic blocks of the code that ran, and which of them each translated block consists of.
///
/// A translated block is split wherever another one begins, or ends without a jump (at a border of pages, behind a number of
/// instructions), if both have the same bytes where they overlap: code made at run time, and code of files that were
/// loaded one after the other, is told apart by its bytes. Blocks are in the order of addresses.
#[derive(Clone, Debug, Default)]
pub struct BlockTable {
    blocks: Vec<Block>,
    /// Where the bytes of each block begin in `bytes`, and of all end.
    first_byte: Vec<u32>,
    bytes: Vec<u8>,
    /// Parts of translated blocks, one translated block after the other.
    parts: Vec<BlockId>,
    /// Where the parts of each translated block begin in `parts`, and of all end.
    first_part: Vec<u32>,
    /// For each block the call that returns to its beginning.
    call_before: Vec<Option<BlockId>>,
}

impl BlockTable {
    /// Splits translated blocks. `helper` says of the address of a function, or of that of a pointer to one, whether a
    /// loop that calls it may still be one that waits, as for [`crate::waiting_loop`].
    pub fn new(raw: &[RawBlock<'_>], helper: &dyn Fn(u64) -> Option<Helper>) -> Self {
        let pieces = split::pieces(raw);
        let mut order: Vec<usize> = (0..pieces.len()).collect();
        order.sort_by(|a, b| {
            let (a, b) = (&pieces[*a], &pieces[*b]);
            a.address.cmp(&b.address).then_with(|| a.bytes.cmp(b.bytes))
        });
        let mut table = Self { parts: vec![BlockId(0); pieces.len()], ..Self::default() };
        let mut before: Option<&split::Piece<'_>> = None;
        for index in order {
            let piece = &pieces[index];
            if before.is_none_or(|other| other.address != piece.address || other.bytes != piece.bytes) {
                table.first_byte.push(table.bytes.len() as u32);
                table.bytes.extend_from_slice(piece.bytes);
                table.blocks.push(describe::block(piece));
            }
            before = Some(piece);
            let id = BlockId(table.blocks.len() as u32 - 1);
            table.blocks[id.index()].generated |= piece.generated;
            table.parts[index] = id;
        }
        table.first_byte.push(table.bytes.len() as u32);
        table.first_part = (0..=raw.len() as u32)
            .map(|raw| pieces.partition_point(|piece| piece.raw < raw) as u32)
            .collect();
        table.call_before = table.calls_before();
        for block in wait::waiting(&table, helper) {
            table.blocks[block.index()].waits = true;
        }
        table
    }

    /// The blocks in the order of addresses.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// What a translated block, by its place in what the table was made of, consists of: at least one block, in the order
    /// in which they are executed.
    ///
    /// # Panics
    /// If there is no such translated block.
    pub fn parts(&self, raw: u32) -> &[BlockId] {
        let raw = raw as usize;
        &self.parts[self.first_part[raw] as usize..self.first_part[raw + 1] as usize]
    }

    /// The edge of the control-flow graph that the step from one translated block to another stands for.
    ///
    /// A return to the instruction behind a call stands for the edge from that call to there: it says how often the call
    /// came back, while an edge from the return would mix all callers of a function. So does a jump to code that is left out (a function
    /// that ends with the call of a library's), which returns there.
    ///
    /// # Panics
    /// If there is no such translated block.
    #[inline]
    pub fn edge(&self, from: u32, to: u32) -> (BlockId, BlockId) {
        let last = self.parts[self.first_part[from as usize + 1] as usize - 1];
        let first = self.parts[self.first_part[to as usize] as usize];
        if self.blocks[last.index()].returns_to(&self.blocks[first.index()]) {
            return (self.call_before[first.index()].unwrap_or(last), first);
        }
        (last, first)
    }

    /// The edges inside a translated block: each is taken once whenever it is executed whole.
    ///
    /// # Panics
    /// If there is no such translated block.
    pub fn inner(&self, raw: u32) -> impl Iterator<Item = (BlockId, BlockId)> {
        self.parts(raw).windows(2).map(|pair| (pair[0], pair[1]))
    }

    /// The bytes of a block.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn bytes(&self, block: BlockId) -> &[u8] {
        &self.bytes[self.first_byte[block.index()] as usize..self.first_byte[block.index() + 1] as usize]
    }

    /// The instructions of a block as text, as [`listing`](fn@crate::listing) writes them.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn listing(&self, block: BlockId) -> Vec<(u64, String)> {
        listing(self.bytes(block), self.blocks[block.index()].address)
    }

    fn calls_before(&self) -> Vec<Option<BlockId>> {
        let calls = (0..).map(BlockId).zip(&self.blocks).filter(|(_, block)| block.calls());
        let mut returns: Vec<(u64, BlockId)> = calls.map(|(id, block)| (block.next(), id)).collect();
        returns.sort();
        let call_before = |block: &Block| {
            let end = returns.partition_point(|(address, _)| *address <= block.address);
            returns[..end].last().filter(|(address, _)| *address == block.address).map(|(_, call)| *call)
        };
        self.blocks.iter().map(call_before).collect()
    }
}
