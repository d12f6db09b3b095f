//! What slices that are left out have done to memory, as far as caches can still know of it: which lines were used last, by
//! whom, in which order. It is replayed before the next slice (as in Carlson, Heirman, Van Craeynest and Eeckhout,
//! "BarrierPoint: Sampled simulation of multi-threaded applications", ISPASS 2014, section 4: most recently used lines).

use crate::collector::{MOST_TOUCHES, Part};
use crate::memory::Table;
use crate::program::Skipped;
use crate::touched::{LINE_BITS, RECENT, Touch, Touched};

/// log2 of the lines of a page.
const PAGE_BITS: u32 = 12 - LINE_BITS;

/// What a slice uses for the first time.
#[derive(Clone, Debug, Default)]
pub(super) struct New {
    /// Lines that nobody had used before.
    pub lines: u64,
    /// Lines that the thread had not used before, but others.
    pub shared: u64,
    /// Pages that nobody had used before: by whom.
    pages: Vec<(u32, Touched)>,
}

/// What each slice uses for the first time; of what several use first in one slice, the first of them.
pub(super) fn new_of(found: &[Vec<Part>], slices: usize) -> Vec<New> {
    // By line, a bit for each thread that has used it; with very many threads some share one.
    let mut lines: Table<u64> = Table::new();
    let mut pages: Table<bool> = Table::new();
    let of_slice = |slice: usize| {
        let mut new = New::default();
        for (index, parts) in found.iter().enumerate() {
            let own = 1u64 << (index % 64);
            let mut own_pages = Vec::new();
            for Touch { line, .. } in parts[slice].touched.iter() {
                let before = lines.get(line).unwrap_or(0);
                if before & own != 0 {
                    continue;
                }
                lines.insert(line, before | own);
                if before != 0 {
                    new.shared += 1;
                    continue;
                }
                new.lines += 1;
                let page = line >> PAGE_BITS;
                if pages.get(page).is_none() {
                    pages.insert(page, true);
                    own_pages.push(Touch { line: page << PAGE_BITS, writes: false, is_recent: false });
                }
            }
            if !own_pages.is_empty() {
                new.pages.push((index as u32, Touched::new(own_pages)));
            }
        }
        new
    };
    (0..slices).map(of_slice).collect()
}

/// The slices of a range as left out.
pub(super) fn skipped(found: &[Vec<Part>], slices: std::ops::Range<usize>, new: &[New]) -> Skipped {
    let pages = new[slices.clone()].iter().flat_map(|new| new.pages.iter().cloned()).collect();
    Skipped { pages, lines: last_uses(found, slices) }
}

/// The last use of each line by each thread, and its last write if that was before; of all lines that were used last.
fn last_uses(found: &[Vec<Part>], slices: std::ops::Range<usize>) -> Vec<(u32, Touched)> {
    const READ: u8 = 1;
    const WRITTEN: u8 = 2;
    let mut known: Vec<Table<u8>> = found.iter().map(|_| Table::new()).collect();
    let mut of_thread = vec![0; found.len()];
    let mut count = 0;
    let mut runs: Vec<(u32, Touched)> = Vec::new();
    'all: for slice in slices.rev() {
        for (index, parts) in found.iter().enumerate().rev() {
            let touches: Vec<Touch> = parts[slice].touched.iter().collect();
            let mut kept: Vec<Touch> = Vec::new();
            for touch in touches.into_iter().rev() {
                let before = known[index].get(touch.line).unwrap_or(0);
                let after = before | if touch.writes { READ | WRITTEN } else { READ };
                if after != before {
                    known[index].insert(touch.line, after);
                    kept.push(Touch { is_recent: of_thread[index] < RECENT, ..touch });
                    of_thread[index] += 1;
                }
            }
            count += kept.len();
            if !kept.is_empty() {
                kept.reverse();
                runs.push((index as u32, Touched::new(kept)));
            }
            if count >= MOST_TOUCHES {
                break 'all;
            }
        }
    }
    runs.reverse();
    runs
}
