//! The streams of a prepared recording, item by item.

use holdup_recording::{Cursor, Step};
use holdup_sim::{Access, Act, Bookmark, Feed, Item};

use crate::order::{AtStep, END_STEP};
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
    /// The unit that was taken last.
    unit_number: u32,
    /// The last addresses of its own stream at the bookmark before; none at the beginning.
    known: Vec<u64>,
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
    /// What is to be done at steps, the next one of these, and its key.
    at_steps: &'p [(u64, AtStep)],
    at_step: usize,
    next_key: u64,
    /// Steps so far, the held one too.
    step: u64,
    /// Steps before this one are left out.
    leave_out: u64,
    /// A step that waits for what is to be done before it.
    held: Option<Step>,
}

/// Behind the last one of a script.
const NEVER: u32 = u32::MAX;

impl<'p> Track<'p> {
    fn new(cursor: Cursor<'p>, script: &'p [(u32, Entry)], at_steps: &'p [(u64, AtStep)]) -> Track<'p> {
        let mut track = Track {
            cursor,
            script,
            at: 0,
            mark: 0,
            next: 0,
            at_steps,
            at_step: 0,
            next_key: 0,
            step: 0,
            leave_out: 0,
            held: None,
        };
        track.look();
        track
    }

    fn look(&mut self) {
        self.next = self.script.get(self.at).map_or(NEVER, |(mark, _)| *mark);
        self.next_key = self.at_steps.get(self.at_step).map_or(u64::MAX, |(key, _)| *key);
    }

    /// Goes to a place: what is due there comes next.
    fn set(&mut self, script_at: usize, mark: u32, step: u64, at_step: usize) {
        (self.at, self.mark, self.step, self.at_step) = (script_at, mark, step, at_step);
        (self.leave_out, self.held) = (0, None);
        self.look();
    }

    /// The place.
    fn place(&self) -> [u64; 7] {
        let (piece, at) = self.cursor.place();
        let steps = [self.step, self.at_step as u64, self.leave_out];
        [piece as u64, at as u64, self.at as u64, self.mark.into(), steps[0], steps[1], steps[2]]
    }

    /// Goes to a place, where addresses are those that were known before and what has changed. What was read there and held is not
    /// executed.
    fn go_to(&mut self, bookmark: &Bookmark) {
        let [piece, at, script, mark, step, at_step, leave_out] = bookmark.at;
        self.cursor.go_to(piece as usize, at as usize);
        for &(number, address) in &bookmark.changed {
            self.cursor.set_last_address(number as usize, address);
        }
        self.set(script as usize, mark as u32, step, at_step as usize);
        self.leave_out = leave_out;
    }

    /// The addresses that are not those that were known, which are known from now on.
    fn changed_since(&self, known: &mut Vec<u64>) -> Vec<(u32, u64)> {
        let now = self.cursor.last_addresses();
        known.resize(now.len(), 0);
        let differ = (0..).zip(now).zip(known.iter()).filter(|((_, now), known)| now != known);
        let changed = differ.map(|((number, now), _)| (number, *now)).collect();
        known.copy_from_slice(now);
        changed
    }

    /// What is to be done before the step that is held, or behind the last one.
    #[inline]
    fn due_at_step(&mut self) -> Option<AtStep> {
        let until = 2 * self.step + u64::from(self.held.is_none());
        if self.next_key > until {
            return None;
        }
        let (_, what) = *self.at_steps.get(self.at_step)?;
        self.at_step += 1;
        self.next_key = self.at_steps.get(self.at_step).map_or(u64::MAX, |(key, _)| *key);
        Some(what)
    }

    /// A step is executed next. False if it is left out, or held for what is to be done before it.
    #[inline]
    fn begins(&mut self, step: Step) -> bool {
        self.step += 1;
        if self.step < self.leave_out {
            return false;
        }
        let is_due = self.next_key <= 2 * self.step;
        if is_due {
            self.held = Some(step);
        }
        !is_due
    }

    /// Neither is anything to be done before the next step, nor is that held or left out.
    #[inline]
    fn is_clear(&self) -> bool {
        let next = self.step + 1;
        self.held.is_none() && self.next > self.mark && self.next_key > 2 * next && self.leave_out <= next
    }

    /// What comes next is left out.
    fn leaves_out(&self) -> bool {
        self.step < self.leave_out
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
        let scripts = prepared.scripts.iter().zip(&prepared.step_scripts);
        let threads = prepared.streams.iter().zip(scripts).map(|(stream, (script, at_steps))| Thread {
            own: Track::new(prepared.instructions.cursor(*stream), script, at_steps),
            unit: None,
            is_in_unit: false,
            unit_number: 0,
            known: Vec::new(),
            skips: false,
        });
        RecordedFeed { prepared, redeal, threads: threads.collect(), accesses: Vec::new() }
    }
}

impl Feed for RecordedFeed<'_> {
    #[inline]
    fn next(&mut self, thread: usize) -> Item<'_> {
        let before = &self.prepared.before[thread];
        let thread = &mut self.threads[thread];
        let track = match &mut thread.unit {
            Some(unit) if thread.is_in_unit => unit,
            _ => &mut thread.own,
        };
        // Nearly always nothing is to be done before a whole block.
        if track.is_clear()
            && (!thread.skips || thread.is_in_unit)
            && let Some(block) = track.cursor.whole_block()
        {
            track.step += 1;
            return Item::Block(block, track.cursor.addresses(block));
        }
        loop {
            while let Some(what) = track.due_at_step() {
                match what {
                    AtStep::Act(act) if !thread.skips || thread.is_in_unit => return Item::Act(act),
                    AtStep::LeaveOut(until) => track.leave_out = until,
                    AtStep::Act(_) => {}
                }
            }
            while track.held.is_none()
                && let Some(entry) = track.due()
            {
                match entry {
                    // How it passed the time while it waited.
                    Entry::Act(
                        Act::Call { .. } | Act::CallWithin(_) | Act::Pass(..) | Act::PassWithin(..),
                    ) if track.leaves_out() => {}
                    Entry::Act(act) if !thread.skips || thread.is_in_unit => return Item::Act(act),
                    Entry::Deal(construct) if self.redeal => return Item::Act(Act::Deal(construct)),
                    Entry::UnitBegin => thread.skips = self.redeal,
                    Entry::UnitEnd => thread.skips = false,
                    _ => {}
                }
            }
            let step = match track.held.take() {
                Some(held) => Some(held),
                None => match track.cursor.step() {
                    Some(step @ (Step::Block(_) | Step::Partial(..))) if !track.begins(step) => continue,
                    step => step,
                },
            };
            match step {
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
                Some(Step::Touched) => {
                    let touched = track.cursor.touched();
                    let list = usize::try_from(touched.list).ok().filter(|_| touched.part == 0);
                    if let Some(skipped) = list.and_then(|list| before.get(list)) {
                        return Item::Skipped(skipped);
                    }
                }
                Some(_) => {}
                None if thread.is_in_unit => {
                    thread.is_in_unit = false;
                    return Item::UnitEnd;
                }
                None if track.mark < AT_END => {
                    track.mark = AT_END;
                    track.step = END_STEP;
                }
                None => return Item::End,
            }
        }
    }

    fn take_unit(&mut self, thread: usize, unit: u32) {
        self.threads[thread].unit_number = unit;
        let place = self.prepared.places[unit as usize];
        let unit = &self.prepared.units[place.thread as usize][place.unit as usize];
        let script = &self.prepared.scripts[place.thread as usize];
        let at_steps = &self.prepared.step_scripts[place.thread as usize];
        let thread = &mut self.threads[thread];
        let track = thread
            .unit
            .get_or_insert_with(|| Track::new(self.prepared.instructions.empty_cursor(), &[], &[]));
        track.cursor.restart(&unit.entries);
        for block in &unit.blocks {
            track.cursor.forget(*block);
        }
        (track.script, track.at_steps) = (script, at_steps);
        let at_step = at_steps.partition_point(|(key, _)| *key < 2 * unit.step + 2);
        track.set(place.script_at as usize, unit.mark, unit.step, at_step);
        thread.is_in_unit = true;
    }

    fn bookmark(&mut self, thread: usize) -> Bookmark {
        let thread = &mut self.threads[thread];
        let changed = thread.own.changed_since(&mut thread.known);
        let in_unit = thread.unit.as_ref().filter(|_| thread.is_in_unit);
        let unit = in_unit.map(|track| {
            let place = self.prepared.places[thread.unit_number as usize];
            let unit = &self.prepared.units[place.thread as usize][place.unit as usize];
            let last = track.cursor.last_addresses();
            let numbers = unit.blocks.iter().flat_map(|block| track.cursor.addresses_of(*block));
            let changed = numbers.filter_map(|number| Some((number as u32, *last.get(number)?))).collect();
            (thread.unit_number, Box::new(Bookmark { at: track.place(), changed, unit: None }))
        });
        Bookmark { at: thread.own.place(), changed, unit }
    }

    fn go_to(&mut self, thread: usize, bookmark: &Bookmark) {
        let index = thread;
        let thread = &mut self.threads[thread];
        (thread.is_in_unit, thread.skips) = (false, false);
        thread.known.resize(thread.own.cursor.last_addresses().len(), 0);
        thread.own.cursor.set_last_addresses(&thread.known);
        thread.own.go_to(bookmark);
        thread.known.clear();
        thread.known.extend_from_slice(thread.own.cursor.last_addresses());
        if let Some((unit, place)) = &bookmark.unit {
            self.take_unit(index, *unit);
            if let Some(track) = &mut self.threads[index].unit {
                track.go_to(place);
            }
        }
    }
}
