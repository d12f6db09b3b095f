//! Where translated blocks are cut.

use iced_x86::{Code as Encoding, Decoder, DecoderOptions, FlowControl, Instruction};

use super::RawBlock;

/// How many translated blocks that begin or end at one address are compared with one that covers it. There are more only
/// where code is written anew again and again; then what was there first decides.
const VERSIONS: usize = 16;

/// A part of a translated block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    /// Which translated block it belongs to.
    pub(super) raw: u32,
    pub(super) address: u64,
    pub(super) bytes: &'a [u8],
    pub(super) generated: bool,
}

/// An address at which other blocks may have to be cut, and whose begin or end it is.
type Point = (u64, u32);

/// The parts of all blocks, in the order of the blocks and of execution.
pub(super) fn pieces<'a>(raw: &[RawBlock<'a>]) -> Vec<Piece<'a>> {
    let points = points(raw);
    let mut pieces = Vec::with_capacity(raw.len());
    for (index, block) in (0..).zip(raw) {
        let mut from = 0;
        for cut in cuts(raw, block, &points) {
            pieces.push(piece(index, block, from, cut));
            from = cut;
        }
        pieces.push(piece(index, block, from, block.bytes.len()));
    }
    pieces
}

fn piece<'a>(raw: u32, block: &RawBlock<'a>, from: usize, to: usize) -> Piece<'a> {
    Piece {
        raw,
        address: block.address.wrapping_add(from as u64),
        bytes: &block.bytes[from..to],
        generated: block.generated,
    }
}

fn points(raw: &[RawBlock<'_>]) -> Vec<Point> {
    let mut points = Vec::with_capacity(raw.len());
    for (index, block) in (0..).zip(raw) {
        points.push((block.address, index));
        if falls(block) {
            points.push((end(block), index));
        }
    }
    points.sort();
    points
}

fn end(block: &RawBlock<'_>) -> u64 {
    block.address.saturating_add(block.bytes.len() as u64)
}

/// Whether control just goes on behind a block.
fn falls(block: &RawBlock<'_>) -> bool {
    let last = Decoder::with_ip(64, block.bytes, block.address, DecoderOptions::NONE).into_iter().last();
    last.is_some_and(|last| last.flow_control() == FlowControl::Next)
}

/// Offsets inside a block at which it is cut, in order.
fn cuts(raw: &[RawBlock<'_>], block: &RawBlock<'_>, points: &[Point]) -> Vec<usize> {
    let inside = block.address.saturating_add(1)..end(block);
    let from = points.partition_point(|(address, _)| *address < inside.start);
    let to = from + points[from..].partition_point(|(address, _)| *address < inside.end);
    if from == to {
        return Vec::new();
    }
    let starts = starts(block);
    points[from..to]
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|versions| starts.binary_search(&(versions[0].0 - block.address)).is_ok())
        .filter(|versions| {
            versions.iter().take(VERSIONS).any(|(_, other)| agree(block, &raw[*other as usize]))
        })
        .map(|versions| (versions[0].0 - block.address) as usize)
        .collect()
}

/// Offsets of a block's instructions.
fn starts(block: &RawBlock<'_>) -> Vec<u64> {
    let mut decoder = Decoder::with_ip(64, block.bytes, block.address, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    let mut starts = Vec::new();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        starts.push(instruction.ip().wrapping_sub(block.address));
        if instruction.code() == Encoding::INVALID {
            break;
        }
    }
    starts
}

/// Whether two blocks have the same bytes where they overlap.
fn agree(one: &RawBlock<'_>, other: &RawBlock<'_>) -> bool {
    let from = one.address.max(other.address);
    let to = end(one).min(end(other));
    let overlap = |block: &RawBlock<'_>| {
        let from = usize::try_from(from - block.address).ok()?;
        let to = usize::try_from(to.checked_sub(block.address)?).ok()?;
        Some((from, to))
    };
    let (Some((a, b)), Some((c, d))) = (overlap(one), overlap(other)) else { return false };
    match (one.bytes.get(a..b), other.bytes.get(c..d)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}
