//! What sections that are left out have done to memory, as far as caches can still know of it: which lines were used last, by
//! whom, in which order. It is replayed before the next section (as in Carlson, Heirman, Van Craeynest and Eeckhout,
//! "BarrierPoint: Sampled simulation of multi-threaded applications", ISPASS 2014, section 4: most recently used lines).

use super::sections::{MOST_TOUCHES, Part};
use crate::memory::Table;
use crate::program::{Bookmark, Program, Skipped};
use crate::touched::{LINE_BITS, RECENT, Touch, Touched};

/// log2 of the lines of a page.
const PAGE_BITS: u32 = 12 - LINE_BITS;

/// What a section uses for the first time.
#[derive(Clone, Debug, Default)]
pub(super) struct New {
    /// Lines that nobody had used before.
    pub lines: u64,
    /// Lines that the thread had not used before, but others.
    pub shared: u64,
    /// Pages that nobody had used before: by whom.
    pages: Vec<(u32, Touched)>,
}

/// What each section uses for the first time; of what several use first in one section, the first of them.
pub(super) fn new_of(found: &[(u32, Vec<Part>)], sections: usize) -> Vec<New> {
    // By line, a bit for each thread that has used it; with very many threads some share one.
    let mut lines: Table<u64> = Table::new();
    let mut pages: Table<bool> = Table::new();
    let of_section = |section: usize| {
        let mut new = New::default();
        for (index, (thread, parts)) in found.iter().enumerate() {
            let own = 1u64 << (index % 64);
            let mut own_pages = Vec::new();
            for Touch { line, .. } in parts[section].touched.iter() {
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
                new.pages.push((*thread, Touched::new(own_pages)));
            }
        }
        new
    };
    (0..sections).map(of_section).collect()
}

/// The sections of a range, of these threads, as left out.
pub(super) fn skipped(
    program: &Program,
    found: &[(u32, Vec<Part>)],
    sections: std::ops::Range<usize>,
    new: &[New],
) -> Skipped {
    let pages = new[sections.clone()].iter().flat_map(|new| new.pages.iter().cloned()).collect();
    let ends = found.iter().map(|(thread, parts)| (*thread, merged(program, &parts[sections.clone()])));
    Skipped { pages, lines: last_uses(found, sections.clone()), ends: ends.collect() }
}

/// One bookmark in the place of several that follow each other.
fn merged(program: &Program, parts: &[Part]) -> Bookmark {
    let mut is_known = vec![false; program.code.blocks.len()];
    let mut all = Bookmark { at: parts.last().map_or([0; 6], |part| part.end.at), ..Bookmark::default() };
    for part in parts.iter().rev() {
        let mut addresses = part.end.addresses.as_slice();
        for &block in &part.end.blocks {
            let count = program.code.blocks[block as usize].accesses.len().min(addresses.len());
            let (own, rest) = addresses.split_at(count);
            addresses = rest;
            if !std::mem::replace(&mut is_known[block as usize], true) {
                all.blocks.push(block);
                all.addresses.extend(own);
            }
        }
    }
    all
}

/// The last use of each line by each thread, and its last write if that was before; of all lines that were used last.
fn last_uses(found: &[(u32, Vec<Part>)], sections: std::ops::Range<usize>) -> Vec<(u32, Touched)> {
    const READ: u8 = 1;
    const WRITTEN: u8 = 2;
    let mut known: Vec<Table<u8>> = found.iter().map(|_| Table::new()).collect();
    let mut of_thread = vec![0; found.len()];
    let mut count = 0;
    let mut runs: Vec<(u32, Touched)> = Vec::new();
    'all: for section in sections.rev() {
        for (index, (thread, parts)) in found.iter().enumerate().rev() {
            let touches: Vec<Touch> = parts[section].touched.iter().collect();
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
                runs.push((*thread, Touched::new(kept)));
            }
            if count >= MOST_TOUCHES {
                break 'all;
            }
        }
    }
    runs.reverse();
    runs
}
