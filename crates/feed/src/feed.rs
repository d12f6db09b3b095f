//! The streams of a prepared recording, item by item.

use holdup_recording::{Cursor, Step};
use holdup_sim::{Access, Act, Bookmark, Feed, Item};

use crate::prepared::Prepared;
use crate::script::Entry;
use crate::told::AT_END;

/// The recorded instructions of all threads, for one simulation. Making one costs little; many can be in use at once.
#[derive(Clone, Debug)]
pub struct RecordedFeed<'p> {
    prepared: &'p Prepared<'p>,
    redeal: bool,
    threads: Vec<Thread<'p>>,
    accesses: Vec<(Access, u64)>,
}

#[derive(Clone, Debug)]
struct Thread<'p> {
    own: Track<'p>,
    /// Made with the first unit that the thread takes.
    unit: Option<Track<'p>>,
    is_in_unit: bool,
    /// What its own stream goes on with is a unit, which is not executed there.
    skips: bool,
}

/// A stream, and what is to be done at its marks.
#[derive(Clone, Debug)]
struct Track<'p> {
    cursor: Cursor<'p>,
    script: &'p [(u32, Entry)],
    /// The next one of the script.
    at: usize,
    /// Marks so far.
    mark: u32,
    /// The mark of the next one of the script.
    next: u32,
}

/// Behind the last one of a script.
const NEVER: u32 = u32::MAX;

impl<'p> Track<'p> {
    fn new(cursor: Cursor<'p>, script: &'p [(u32, Entry)]) -> Track<'p> {
        let mut track = Track { cursor, script, at: 0, mark: 0, next: 0 };
        track.look();
        track
    }

    fn look(&mut self) {
        self.next = self.script.get(self.at).map_or(NEVER, |(mark, _)| *mark);
    }

    /// What is to be done at the mark that was passed last, if there is still something.
    #[inline]
    fn due(&mut self) -> Option<Entry> {
        if self.next > self.mark {
            return None;
        }
        let (_, entry) = self.script.get(self.at)?;
        self.at += 1;
        self.look();
        Some(*entry)
    }
}

impl<'p> RecordedFeed<'p> {
    /// A feed that begins at the beginning. With `redeal` units of work are dealt to threads anew; without it they
    /// stay in the threads that executed them when they were recorded.
    pub fn new(prepared: &'p Prepared<'p>, redeal: bool) -> RecordedFeed<'p> {
        let threads = prepared.streams.iter().zip(&prepared.scripts).map(|(stream, script)| Thread {
            own: Track::new(prepared.instructions.cursor(*stream), script),
            unit: None,
            is_in_unit: false,
            skips: false,
        });
        RecordedFeed { prepared, redeal, threads: threads.collect(), accesses: Vec::new() }
    }
}

impl Feed for RecordedFeed<'_> {
    #[inline]
    fn next(&mut self, thread: usize) -> Item<'_> {
        let thread = &mut self.threads[thread];
        let track = match &mut thread.unit {
            Some(unit) if thread.is_in_unit => unit,
            _ => &mut thread.own,
        };
        loop {
            while let Some(entry) = track.due() {
                match entry {
                    Entry::Act(act) if !thread.skips || thread.is_in_unit => return Item::Act(act),
                    Entry::Deal(construct) if self.redeal => return Item::Act(Act::Deal(construct)),
                    Entry::UnitBegin => thread.skips = self.redeal,
                    Entry::UnitEnd => thread.skips = false,
                    _ => {}
                }
            }
            match track.cursor.step() {
                Some(Step::Block(_) | Step::Partial(..)) if thread.skips && !thread.is_in_unit => {}
                Some(Step::Block(block)) => return Item::Block(block, track.cursor.addresses(block)),
                Some(Step::Partial(block, count)) => {
                    // A damaged stream may tell of more than the block has.
                    let most = self.prepared.program().code.blocks[block as usize].instructions.len() as u32;
                    let count = count.min(most);
                    let accesses = track.cursor.accesses().iter().map(|(access, address)| {
                        let own = Access {
                            instruction: access.instruction,
                            size: access.size,
                            stores: access.stores,
                        };
                        (own, *address)
                    });
                    self.accesses.clear();
                    self.accesses.extend(accesses);
                    return Item::Partial(block, count, &self.accesses);
                }
                Some(Step::Mark(..)) => track.mark += 1,
                Some(_) => {}
                None if thread.is_in_unit => {
                    thread.is_in_unit = false;
                    return Item::UnitEnd;
                }
                None if track.mark < AT_END => track.mark = AT_END,
                None => return Item::End,
            }
        }
    }

    fn take_unit(&mut self, thread: usize, unit: u32) {
        let place = self.prepared.places[unit as usize];
        let unit = &self.prepared.units[place.thread as usize][place.unit as usize];
        let script = &self.prepared.scripts[place.thread as usize];
        let thread = &mut self.threads[thread];
        let track =
            thread.unit.get_or_insert_with(|| Track::new(self.prepared.instructions.empty_cursor(), &[]));
        track.cursor.restart(&unit.entries);
        for block in &unit.blocks {
            track.cursor.forget(*block);
        }
        track.script = script;
        track.at = place.script_at as usize;
        track.mark = unit.mark;
        track.look();
        thread.is_in_unit = true;
    }

    fn bookmark(&self, thread: usize, executed: &[u32]) -> Bookmark {
        let track = &self.threads[thread].own;
        let (piece, at) = track.cursor.place();
        let addresses = executed.iter().flat_map(|&block| track.cursor.addresses(block)).copied().collect();
        let at = [piece as u64, at as u64, track.at as u64, track.mark.into()];
        Bookmark { at, blocks: executed.to_vec(), addresses }
    }

    fn go_to(&mut self, thread: usize, bookmark: &Bookmark) {
        let thread = &mut self.threads[thread];
        (thread.is_in_unit, thread.skips) = (false, false);
        let track = &mut thread.own;
        let [piece, at, script, mark] = bookmark.at;
        track.cursor.go_to(piece as usize, at as usize);
        let mut addresses = bookmark.addresses.as_slice();
        for &block in &bookmark.blocks {
            addresses = track.cursor.remember(block, addresses);
        }
        (track.at, track.mark) = (script as usize, mark as u32);
        track.look();
    }
}
