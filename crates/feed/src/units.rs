//! Units of work that were dealt out at run time, each as a stream of its own.
//!
//! A thread's stream tells differences of addresses to the last execution in that thread. A unit can be executed by
//! any thread of the simulation, so it is written anew such that it needs nothing from before.

use holdup_recording::BlockAccess;
use holdup_trace::instructions::{Entry, LONGEST_NUMBER, MARK_FIELDS, MarkCode, put, zigzag};

/// A unit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unit {
    /// Its first iteration.
    pub first: u64,
    /// The number of the mark that it begins with, in its thread.
    pub mark: u32,
    /// Blocks that the thread had executed before, whole or in part.
    pub step: u64,
    /// What it executes. Marks are in it as empty ones: what they mean is in its thread's list.
    pub entries: Box<[u8]>,
    /// Blocks that it executes whole: addresses refer to 0 at first.
    pub blocks: Box<[u32]>,
}

/// Writes units.
#[derive(Debug, Default)]
pub(crate) struct UnitWriter {
    entries: Vec<u8>,
    blocks: Vec<u32>,
    /// The last address of each access in the present unit.
    last: Vec<u64>,
    /// By block: the number of the unit that it was met in last.
    met_in: Vec<u32>,
    number: u32,
}

impl UnitWriter {
    /// A unit begins.
    pub(crate) fn begin(&mut self) {
        self.entries.clear();
        self.blocks.clear();
        self.number += 1;
    }

    /// A block was executed whole; its accesses are those from number `first` on.
    pub(crate) fn block(&mut self, block: u32, first: usize, addresses: &[u64]) {
        let index = block as usize;
        if self.met_in.len() <= index {
            self.met_in.resize(index + 1, 0);
        }
        if self.last.len() < first + addresses.len() {
            self.last.resize(first + addresses.len(), 0);
        }
        let last = &mut self.last[first..first + addresses.len()];
        if std::mem::replace(&mut self.met_in[index], self.number) != self.number {
            self.blocks.push(block);
            last.fill(0);
        }
        number(&mut self.entries, head(Entry::Block, block.into()));
        for (last, &address) in last.iter_mut().zip(addresses) {
            number(&mut self.entries, zigzag(address.wrapping_sub(*last) as i64));
            *last = address;
        }
    }

    /// A block with `in_table` accesses in its table was executed in part, or with others.
    pub(crate) fn partial(
        &mut self,
        block: u32,
        in_table: usize,
        instructions: u32,
        accesses: &[(BlockAccess, u64)],
    ) {
        number(&mut self.entries, head(Entry::Partial, block.into()));
        number(&mut self.entries, instructions.into());
        number(&mut self.entries, accesses.len() as u64);
        for (access, address) in accesses {
            // Each as one that is not in the table: addresses as they are.
            let size = u64::from(access.size.ilog2());
            let packed = u64::from(access.instruction) << 4 | size << 1 | u64::from(access.stores);
            number(&mut self.entries, in_table as u64 + packed);
            number(&mut self.entries, zigzag(*address as i64));
        }
    }

    /// Any mark.
    pub(crate) fn mark(&mut self) {
        number(&mut self.entries, head(Entry::Mark, MarkCode::Hello as u64));
        for _ in 0..MARK_FIELDS {
            number(&mut self.entries, 0);
        }
    }

    /// The unit ends: what it executed, and the blocks that it executed whole.
    pub(crate) fn end(&mut self) -> (Box<[u8]>, Box<[u32]>) {
        (self.entries.as_slice().into(), self.blocks.as_slice().into())
    }
}

fn head(entry: Entry, rest: u64) -> u64 {
    rest << 2 | entry as u64
}

#[inline]
fn number(to: &mut Vec<u8>, value: u64) {
    let mut bytes = [0; LONGEST_NUMBER];
    let length = put(&mut bytes, value);
    to.extend_from_slice(&bytes[..length]);
}
