//! Which blocks belong to loops that only wait.

use holdup_model::counts::{BlockExit, BlockId};

use super::{Block, BlockTable};
use crate::calls::Helper;
use crate::code::Code;
use crate::graph::WINDOW_BYTES;
use crate::waiting::waiting_loop;

/// Stands where nothing ran: no instruction of 64-bit mode begins with it.
const NOTHING: u8 = 0x06;

/// The blocks of loops that wait. What never ran is no part of a loop: a way out of it that was not taken, or work that
/// there was none of.
///
/// Code that was made at run time is taken for work: what was at its addresses at one time is not known.
pub(super) fn waiting(table: &BlockTable, helper: &dyn Fn(u64) -> Option<Helper>) -> Vec<BlockId> {
    let fixed: Vec<BlockId> = (0..)
        .map(BlockId)
        .take(table.blocks.len())
        .filter(|id| !table.blocks[id.index()].generated)
        .collect();
    let is_near = |before: &BlockId, after: &BlockId| {
        let distance =
            table.blocks[after.index()].address.saturating_sub(table.blocks[before.index()].next());
        distance <= WINDOW_BYTES
    };
    let mut found = Vec::new();
    for stretch in fixed.chunk_by(is_near) {
        let latches: Vec<&Block> =
            stretch.iter().map(|id| &table.blocks[id.index()]).filter(|block| is_latch(block)).collect();
        if latches.is_empty() {
            continue;
        }
        let bytes = image(table, stretch);
        let code = Code { start: table.blocks[stretch[0].index()].address, bytes: &bytes };
        for latch in latches {
            // The whole loop, or the way through it that lies in one piece: what compilers put behind the function, and
            // that comes back to the same place, is mostly not taken while it waits.
            let own_piece = latch.target.and_then(|target| piece(&code, target, latch.next()));
            let found_in = [Some(code), own_piece]
                .into_iter()
                .flatten()
                .find_map(|code| waiting_loop(&code, latch.last, helper, &|_| 0).map(|waits| (code, waits)));
            let Some((code, waits)) = found_in else { continue };
            let inside = |id: &&BlockId| {
                let address = table.blocks[id.index()].address;
                (waits.start..waits.end).contains(&address)
            };
            // Work may stand between the instructions of a loop without being a part of it.
            let members = stretch
                .iter()
                .filter(inside)
                .filter(|id| waiting_loop(&code, table.blocks[id.index()].address, helper, &|_| 0).is_some());
            found.extend(members.copied());
        }
    }
    found
}

/// The code from one address to another.
fn piece<'a>(code: &Code<'a>, from: u64, to: u64) -> Option<Code<'a>> {
    let first = usize::try_from(from.checked_sub(code.start)?).ok()?;
    let end = usize::try_from(to.checked_sub(code.start)?).ok()?;
    Some(Code { start: from, bytes: code.bytes.get(first..end)? })
}

/// Whether a block can be the last of a short loop.
fn is_latch(block: &Block) -> bool {
    let jumps = matches!(block.exit, BlockExit::Branch | BlockExit::Jump);
    jumps
        && block.target.is_some_and(|target| target <= block.last && block.last - target <= 2 * WINDOW_BYTES)
}

fn image(table: &BlockTable, stretch: &[BlockId]) -> Vec<u8> {
    let start = table.blocks[stretch[0].index()].address;
    let mut image = Vec::new();
    for id in stretch {
        let bytes = table.bytes(*id);
        let Ok(from) = usize::try_from(table.blocks[id.index()].address - start) else { continue };
        if image.len() < from + bytes.len() {
            image.resize(from + bytes.len(), NOTHING);
        }
        image[from..from + bytes.len()].copy_from_slice(bytes);
    }
    image
}
