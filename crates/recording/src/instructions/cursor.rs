//! One stream, read step by step.

use holdup_trace::instructions::{
    Entry, LINE_BITS, LONGEST_NUMBER, Loss, Mark, MarkCode, Other, PAGE_BITS, unzigzag,
};

use super::{BlockAccess, Bytes, Instructions, StreamCounts, StreamEvent, Touched, access};
use crate::reader::{Inflater, Piece};

/// Zeros behind the entries, so that numbers can be read without looking where the entries end. A number that begins
/// in them is one of nine bytes, and so ends behind the entries, which shows that they were cut off.
const PADDING: usize = 2 * LONGEST_NUMBER;

/// What the step that a [`Cursor`] made last was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A block was executed whole: [`Cursor::addresses`].
    Block(u32),
    /// A block was executed in part or with other accesses: instructions executed, and [`Cursor::accesses`].
    Partial(u32, u32),
    /// A mark.
    Mark(Mark),
    /// Counts since the last ones: [`Cursor::counts`].
    Counts,
    /// Something was dropped from here on: entries, why.
    Lost(u64, Option<Loss>),
    /// The process executed another program or forked: the system call's number.
    Leaves(u64),
    /// A part of what the thread touched before: [`Cursor::touched`].
    Touched,
}

/// A place in a stream. It holds one piece of it in memory, so there can be many at once, also in several threads.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    instructions: &'a Instructions<'a>,
    pieces: &'a [Piece],
    /// How many of them were begun.
    begun: usize,
    inflater: Inflater,
    /// The entries of the present piece, and [`PADDING`].
    bytes: Vec<u8>,
    at: usize,
    /// Where the entries end.
    end: usize,
    is_whole: bool,
    /// The last address of each access of each block.
    last: Vec<u64>,
    /// All differences of the last whole block: 0 where there were none.
    moved: u64,
    accesses: Vec<(BlockAccess, u64)>,
    counts: StreamCounts,
    touched: Touched,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(instructions: &'a Instructions<'a>, pieces: &'a [Piece]) -> Cursor<'a> {
        Cursor {
            instructions,
            pieces,
            begun: 0,
            inflater: Inflater::default(),
            bytes: vec![0; PADDING],
            at: 0,
            end: 0,
            is_whole: true,
            last: vec![0; instructions.first_access.last().copied().unwrap_or(0)],
            moved: 0,
            accesses: Vec::new(),
            counts: StreamCounts::default(),
            touched: Touched::default(),
        }
    }

    /// Goes on with these entries, which refer to the last addresses of before, and ends behind them.
    pub fn restart(&mut self, entries: &[u8]) {
        self.pieces = &[];
        self.begun = 0;
        self.bytes.clear();
        self.bytes.extend(entries);
        self.is_whole = true;
        self.pad(0);
    }

    /// The last addresses of this block are taken to have been 0.
    pub fn forget(&mut self, block: u32) {
        if let Some(range) = self.range(block as usize)
            && let Some(known) = self.last.get_mut(range)
        {
            known.fill(0);
        }
    }

    /// Where it is in its stream: the number of the piece, from 1, and the place in that.
    pub fn place(&self) -> (usize, usize) {
        (self.begun, self.at)
    }

    /// Goes to a place of the same stream. The last addresses are not those of there ([`Cursor::set_last_addresses`]).
    pub fn go_to(&mut self, piece: usize, at: usize) {
        if piece != self.begun {
            self.begun = piece.saturating_sub(1);
            (self.at, self.end) = (0, 0);
            if piece > 0 && !self.next_piece() {
                return;
            }
        }
        self.at = at.min(self.end);
    }

    /// The last address of each access of each block, one block behind the other.
    pub fn last_addresses(&self) -> &[u64] {
        &self.last
    }

    /// Where the addresses of a block begin in [`Cursor::last_addresses`], and where they end.
    pub fn addresses_of(&self, block: u32) -> std::ops::Range<usize> {
        self.range(block as usize).unwrap_or_default()
    }

    /// Makes these the last addresses.
    pub fn set_last_addresses(&mut self, addresses: &[u64]) {
        self.last.clear();
        self.last.extend_from_slice(addresses);
    }

    /// Makes this the last address of the access with this index.
    pub fn set_last_address(&mut self, index: usize, address: u64) {
        if let Some(known) = self.last.get_mut(index) {
            *known = address;
        }
    }

    /// Goes to the next entry; `None` at the end, or where the stream cannot be understood.
    #[inline]
    pub fn step(&mut self) -> Option<Step> {
        loop {
            if let Some(block) = self.whole_block() {
                return Some(Step::Block(block));
            }
            if self.at >= self.end {
                if self.next_piece() {
                    continue;
                }
                return None;
            }
            let head = self.number();
            let step = match self.other(head) {
                Some(None) => continue,
                found => found.flatten(),
            };
            if step.is_none() || self.at > self.end {
                self.fail();
                return None;
            }
            return step;
        }
    }

    /// Goes to the next entry if that is in the same piece and a [`Step::Block`], of which this is the block. If not, it stays
    /// where it is.
    #[inline]
    pub fn whole_block(&mut self) -> Option<u32> {
        if self.at >= self.end {
            return None;
        }
        let (head, length) = number_at(&self.bytes, self.at)?;
        if head & 3 != Entry::Block as u64 {
            return None;
        }
        self.at += length;
        let block = self.block(head >> 2);
        if block.is_none() || self.at > self.end {
            self.fail();
            return None;
        }
        block
    }

    /// The addresses of the accesses of a block, as they were when it was executed last.
    #[inline]
    pub fn addresses(&self, block: u32) -> &[u64] {
        self.range(block as usize).and_then(|range| self.last.get(range)).unwrap_or_default()
    }

    /// True if the last [`Step::Block`] accessed what that block had accessed the last time.
    #[inline]
    pub fn is_as_last_time(&self) -> bool {
        self.moved == 0
    }

    /// The accesses of the last [`Step::Partial`], each with its address.
    pub fn accesses(&self) -> &[(BlockAccess, u64)] {
        &self.accesses
    }

    /// The counts of the last [`Step::Counts`].
    pub fn counts(&self) -> &StreamCounts {
        &self.counts
    }

    /// What the last [`Step::Touched`] told.
    pub fn touched(&self) -> &Touched {
        &self.touched
    }

    /// The next entry; `None` as for [`Cursor::step`].
    #[allow(clippy::should_implement_trait, reason = "what it gives is lent by the cursor")]
    #[inline]
    pub fn next(&mut self) -> Option<StreamEvent<'_>> {
        Some(match self.step()? {
            Step::Block(block) => StreamEvent::Block(block, self.addresses(block)),
            Step::Partial(block, instructions) => StreamEvent::Partial(block, instructions, &self.accesses),
            Step::Mark(mark) => StreamEvent::Mark(mark),
            Step::Counts => StreamEvent::Counts(&self.counts),
            Step::Lost(entries, why) => StreamEvent::Lost(entries, why),
            Step::Leaves(call) => StreamEvent::Leaves(call),
            Step::Touched => StreamEvent::Touched(&self.touched),
        })
    }

    /// False if it met something that it did not understand.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    #[inline]
    fn range(&self, block: usize) -> Option<std::ops::Range<usize>> {
        let first = &self.instructions.first_access;
        Some(*first.get(block)?..*first.get(block + 1)?)
    }

    #[inline]
    fn block(&mut self, number: u64) -> Option<u32> {
        let range = self.range(usize::try_from(number).ok()?)?;
        let mut at = self.at;
        self.moved = 0;
        for last in self.last.get_mut(range)? {
            let (difference, length) = number_at(&self.bytes, at)?;
            at += length;
            self.moved |= difference;
            *last = last.wrapping_add_signed(unzigzag(difference));
        }
        self.at = at;
        Some(number as u32)
    }

    /// Anything but a whole block. `Some(None)` for a mark that is not known.
    #[inline(never)]
    fn other(&mut self, head: u64) -> Option<Option<Step>> {
        let rest = head >> 2;
        if head & 3 == Entry::Partial as u64 {
            return Some(Some(self.partial(rest)?));
        }
        if head & 3 == Entry::Mark as u64 {
            let fields = std::array::from_fn(|_| self.number());
            let mark = MarkCode::from_code(rest).and_then(|code| Mark::decode(code, fields));
            return Some(mark.map(Step::Mark));
        }
        if rest == Other::Counts as u64 {
            let mut bytes = Bytes { left: &self.bytes[self.at.min(self.end)..self.end] };
            self.instructions.counts(&mut bytes, &mut self.counts)?;
            self.at = self.end - bytes.left.len();
            return Some(Some(Step::Counts));
        }
        if rest == Other::Lost as u64 {
            let (entries, why) = (self.number(), self.number());
            let all = [Loss::Instructions, Loss::Bytes, Loss::RecorderLeft, Loss::Room];
            return Some(Some(Step::Lost(entries, all.into_iter().find(|loss| *loss as u64 == why))));
        }
        if rest == Other::Touched as u64 {
            return Some(Some(self.take_touched()?));
        }
        (rest == Other::Leaves as u64).then(|| Some(Step::Leaves(self.number())))
    }

    fn take_touched(&mut self) -> Option<Step> {
        self.touched.pages.clear();
        self.touched.lines.clear();
        (self.touched.list, self.touched.part) = (self.number(), self.number());
        let mut last = 0u64;
        for _ in 0..self.number() {
            last = last.wrapping_add_signed(unzigzag(self.number()));
            if self.at > self.end {
                return None;
            }
            self.touched.pages.push(last << PAGE_BITS);
        }
        last = 0;
        for _ in 0..self.number() {
            let number = self.number();
            last = last.wrapping_add_signed(unzigzag(number >> 1));
            if self.at > self.end {
                return None;
            }
            self.touched.lines.push((last << LINE_BITS, number & 1 == 1));
        }
        Some(Step::Touched)
    }

    fn partial(&mut self, number: u64) -> Option<Step> {
        let block = usize::try_from(number).ok()?;
        let range = self.range(block)?;
        let table = &self.instructions.blocks.get(block)?.accesses;
        let (instructions, count) = (self.number(), self.number());
        self.accesses.clear();
        for _ in 0..count {
            let (index, difference) = (self.number(), unzigzag(self.number()));
            if self.at > self.end {
                return None;
            }
            let in_table = usize::try_from(index).ok().filter(|index| *index < range.len());
            self.accesses.push(match in_table {
                Some(index) => {
                    let last = self.last.get_mut(range.start + index)?;
                    *last = last.wrapping_add_signed(difference);
                    (*table.get(index)?, *last)
                }
                None => (access(index - range.len() as u64), difference as u64),
            });
        }
        Some(Step::Partial(number as u32, instructions as u32))
    }

    #[inline]
    fn number(&mut self) -> u64 {
        match number_at(&self.bytes, self.at) {
            Some((value, length)) => {
                self.at += length;
                value
            }
            None => {
                self.at = usize::MAX;
                0
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn next_piece(&mut self) -> bool {
        while let Some(piece) = self.pieces.get(self.begun) {
            if piece.sequence as usize != self.begun {
                self.fail();
                return false;
            }
            self.begun += 1;
            let begin = piece.read(&mut self.inflater, &mut self.bytes);
            self.pad(begin);
            if self.at < self.end {
                return true;
            }
        }
        false
    }

    /// The entries are from `begin` on.
    fn pad(&mut self, begin: usize) {
        self.end = self.bytes.len();
        self.at = begin.min(self.end);
        self.bytes.resize(self.end + PADDING, 0);
    }

    fn fail(&mut self) {
        self.is_whole = false;
        self.pieces = &[];
        self.bytes.clear();
        self.pad(0);
    }
}

/// The number at this place and its length, as [`holdup_trace::instructions::take`] has it; `None` behind all that can be
/// read.
#[inline(always)]
fn number_at(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk::<8>()?);
    if word & 1 == 1 {
        // Most are this short. Guessing so, the processor need not wait for one length to know where the next number is.
        return Some((word >> 1 & 0x7f, 1));
    }
    let length = word.trailing_zeros() as usize + 1;
    if length <= 8 {
        // As `word >> length` of so many bytes; two shifts drop what follows the number.
        return Some((word << (64 - 8 * length) >> (64 - 7 * length), length));
    }
    long_number_at(bytes, at)
}

#[cold]
#[inline(never)]
fn long_number_at(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let word = bytes.get(at + 1..)?.first_chunk::<8>()?;
    Some((u64::from_le_bytes(*word), LONGEST_NUMBER))
}
