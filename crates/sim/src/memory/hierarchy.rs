//! How a request goes from cache to cache, and what it does to other copies on its way.
//!
//! Outer levels include the data of inner ones: what an outer cache gives up, the inner ones below it lose. Instruction
//! caches are not included, and not kept coherent: code that is written while it is executed is simulated as if it were not.

use holdup_model::cycles;

use super::Memory;
use super::cache::{PENDING, Victim};
use super::coherence::{self, Answer, Protocol, State, Wish};
use super::home::Delay;
use super::layout::Fan;

/// A request for a line.
pub(super) struct Trip {
    pub core: u32,
    pub line: u64,
    pub delay: Delay,
    /// Who gave the data, or the right to write.
    pub by: cycles::Level,
    /// Data came from another core that wrote it, or other cores lost copies.
    pub changes_hands: bool,
    /// A prefetch was under way, from there: it had to wait for the rest of it.
    pub late: Option<cycles::Level>,
    /// False for instructions.
    pub is_data: bool,
}

impl Trip {
    pub(super) fn new(core: u32, line: u64, began: u64, is_data: bool) -> Trip {
        Trip {
            core,
            line,
            delay: Delay { began, ..Delay::default() },
            by: cycles::Level::L1,
            changes_hands: false,
            late: None,
            is_data,
        }
    }

    /// It gets no further before this time: the line has to arrive where it is taken from.
    fn wait_until(&mut self, time: u64) {
        let now = self.delay.began + self.delay.cycles;
        self.delay.cycles += time.saturating_sub(now);
    }
}

/// What was found where copies were taken or made shared ones.
#[derive(Clone, Copy, Default)]
struct Found {
    /// There was a copy.
    any: bool,
    /// It was newer than the directory's.
    dirty: bool,
    /// There are fewer copies now.
    invalidated: bool,
    /// Cycles to the copy that counts, from the cache that was asked on.
    data: u64,
    /// Cycles until all have answered.
    answers: u64,
    /// The level of the copy that counts.
    depth: usize,
    /// When the data of the copies is there: some are on their way themselves.
    arrives: u64,
}

impl Memory {
    /// A cache asks the one above it for a line, or for the right to write the copy that it has. Returns the state that
    /// its copy gets.
    pub(super) fn ask(
        &mut self,
        level: usize,
        index: u32,
        wish: Wish,
        has_copy: bool,
        trip: &mut Trip,
    ) -> State {
        let above = level + 1;
        if trip.is_data && above >= self.perfect {
            self.enter(above, trip.core, true, &mut trip.delay);
            trip.delay.cycles += self.levels[above].latency;
            trip.by = self.levels[above].hits;
            return if wish == Wish::Write { State::Modified } else { State::Exclusive };
        }
        if above == self.levels.len() {
            return self.ask_home(index, wish, has_copy, trip);
        }
        self.enter(above, trip.core, !has_copy, &mut trip.delay);
        let fan = self.levels[above].below;
        let (parent, child) = (index / fan.caches, index % fan.caches);
        let (slot, is_here) = self.ensure(above, parent, wish, trip);
        let cache = &mut self.levels[above].caches[parent as usize];
        let others = fan.others(cache.holders(slot), child);
        let answer = coherence::next(self.protocol, cache.state(slot), others, fan.bit(child), wish);
        cache.set_holders(slot, answer.holders);
        if answer.invalidate | answer.downgrade == 0 && is_here {
            let at = &self.levels[above];
            trip.delay.cycles += if has_copy { at.tags } else { at.latency };
            trip.by = at.hits;
            return answer.granted;
        }
        let found = self.carry_out(level, (fan, parent * fan.caches), child, answer, trip.line);
        let at = &mut self.levels[above];
        if found.dirty {
            at.caches[parent as usize].set_state(slot, State::Modified);
        }
        trip.wait_until(found.arrives);
        trip.changes_hands |= found.dirty || found.invalidated;
        if is_here {
            trip.by = at.hits;
            trip.delay.cycles += if has_copy {
                at.tags + found.answers
            } else if others.owned && found.any {
                trip.by = neighbor(found.depth);
                at.tags + found.data.max(found.answers)
            } else {
                at.latency.max(at.tags + found.answers)
            };
        }
        answer.granted
    }

    /// Makes sure that a cache has a line with the right that is wished for; its slot, and whether nothing else had to be
    /// asked. The time of a hit is left to the caller.
    pub(super) fn ensure(&mut self, level: usize, index: u32, wish: Wish, trip: &mut Trip) -> (usize, bool) {
        let at = &mut self.levels[level];
        let cache = &mut at.caches[index as usize];
        if let Some(slot) = cache.used(trip.line) {
            let may = wish == Wish::Read || cache.state(slot).may_write();
            if cache.flags(slot, PENDING) != 0 {
                cache.clear_flags(slot, PENDING);
                self.prefetches.wait(index, trip);
            }
            if may {
                return (slot, true);
            }
            trip.delay.cycles += self.levels[level].tags;
            let granted = self.ask(level, index, wish, true, trip);
            self.levels[level].caches[index as usize].set_state(slot, granted);
            return (slot, false);
        }
        trip.delay.cycles += at.tags;
        let granted = self.ask(level, index, wish, false, trip);
        let slot = self.fill(level, index, granted, 0, trip);
        (slot, false)
    }

    /// Puts the line of a trip into a cache that does not have it.
    pub(super) fn fill(&mut self, level: usize, index: u32, state: State, flags: u64, trip: &Trip) -> usize {
        let cache = &mut self.levels[level].caches[index as usize];
        let (slot, victim) = cache.insert(trip.line, state, flags);
        if let Some(victim) = victim {
            self.gave_up(level, index, victim, trip);
        }
        slot
    }

    /// A cache gave up a line: those below lose it, and the one above gets what is newer. It takes bandwidth, but no one
    /// waits for it.
    fn gave_up(&mut self, level: usize, index: u32, victim: Victim, trip: &Trip) {
        let line = victim.line;
        let mut is_dirty = victim.state == State::Modified;
        if level == 0 {
            if victim.tracked {
                self.sharing.lost(line, index);
            }
        } else if victim.holders.mask != 0 {
            let fan = self.levels[level].below;
            for child in fan.members(victim.holders.mask) {
                is_dirty |= self.probe(level - 1, index * fan.caches + child, line, true).dirty;
            }
        }
        let above = level + 1;
        let mut delay = Delay { began: trip.delay.began + trip.delay.cycles, ..Delay::default() };
        if above == self.levels.len() {
            if self.levels[level].caches.len() > 1 {
                let holders = self.home.below.after(self.home.holders(line), index);
                self.home.set_holders(line, holders);
            }
            if is_dirty {
                self.enter(above, trip.core, true, &mut delay);
                self.home.write_back(trip.core, line, delay.began + delay.cycles);
            }
            return;
        }
        let fan = self.levels[above].below;
        // What a directory says of an only cache may be more than it has, so that most lines go without a word.
        if fan.caches == 1 && !is_dirty {
            return;
        }
        let cache = &mut self.levels[above].caches[(index / fan.caches) as usize];
        if let Some(slot) = cache.find(line) {
            let holders = fan.after(cache.holders(slot), index % fan.caches);
            cache.set_holders(slot, holders);
            if is_dirty {
                cache.set_state(slot, State::Modified);
            }
        }
        if is_dirty {
            self.enter(above, trip.core, true, &mut delay);
        }
    }

    /// The last caches ask each other and memory.
    fn ask_home(&mut self, index: u32, wish: Wish, has_copy: bool, trip: &mut Trip) -> State {
        let last = self.levels.len() - 1;
        self.enter(last + 1, trip.core, !has_copy, &mut trip.delay);
        let is_only = self.levels[last].caches.len() == 1;
        if is_only {
            self.home.memory(trip.core, trip.line, &mut trip.delay);
            trip.by = cycles::Level::Dram;
            return if wish == Wish::Write { State::Modified } else { State::Exclusive };
        }
        let fan = self.home.below;
        let known = self.home.holders(trip.line);
        let others = fan.others(known, index);
        // Memory has every right.
        let answer = coherence::next(self.protocol, State::Modified, others, fan.bit(index), wish);
        if answer.holders != known {
            self.home.set_holders(trip.line, answer.holders);
        }
        let source = if has_copy { None } else { self.nearest(index, others.mask, trip.line) };
        let found = self.carry_out(last, (fan, 0), index, answer, trip.line);
        trip.wait_until(found.arrives);
        trip.changes_hands |= found.dirty || found.invalidated;
        if has_copy {
            self.ask_for_right(&found, trip);
        } else if let Some(source) = source {
            let latency = if others.owned && found.any { found.data } else { self.levels[last].latency };
            let socket = self.home.socket(source * self.levels[last].shared_by);
            if socket == self.home.socket(trip.core) {
                trip.by = neighbor(if found.any && others.owned { found.depth } else { last });
            } else {
                trip.by = cycles::Level::OffSocket;
                self.home.travel(trip.core, socket, true, &mut trip.delay);
            }
            trip.delay.cycles += latency.max(found.answers);
        } else {
            self.home.memory(trip.core, trip.line, &mut trip.delay);
            trip.by = cycles::Level::Dram;
        }
        if found.dirty && wish == Wish::Read {
            // Copies that are shared are what memory has.
            self.home.write_back(trip.core, trip.line, trip.delay.began + trip.delay.cycles);
        }
        answer.granted
    }

    /// The right to write a copy: from the directory at the line's memory, after all others have answered.
    fn ask_for_right(&mut self, found: &Found, trip: &mut Trip) {
        trip.by = cycles::Level::L2Neighbor;
        if self.home.has_sockets() {
            let socket = self.home.socket_of_line(trip.core, trip.line);
            trip.by = cycles::Level::OffSocket;
            self.home.travel(trip.core, socket, false, &mut trip.delay);
        }
        trip.delay.cycles += found.answers;
    }

    /// Of these last caches, the one that has the line and is nearest: of the same socket, or else the first.
    fn nearest(&self, index: u32, mask: u64, line: u64) -> Option<u32> {
        let level = &self.levels[self.levels.len() - 1];
        let own = self.home.socket(index * level.shared_by);
        let has = |cache: &u32| *cache != index && level.caches[*cache as usize].find(line).is_some();
        let mut first = None;
        for cache in self.home.below.members(mask).filter(has) {
            if self.home.socket(cache * level.shared_by) == own {
                return Some(cache);
            }
            first = first.or(Some(cache));
        }
        first
    }

    /// Crosses the interconnect if it lies before this level.
    pub(super) fn enter(&mut self, level: usize, core: u32, with_line: bool, delay: &mut Delay) {
        if level == self.crossing {
            self.home.cross(core, with_line, delay);
        }
    }

    /// Does what an answer says to the other caches of a level, of which `first` is the first below the directory.
    fn carry_out(
        &mut self,
        level: usize,
        (fan, first): (Fan, u32),
        asking: u32,
        answer: Answer,
        line: u64,
    ) -> Found {
        let mut all = Found::default();
        let is_other = |child: &u32| *child != asking;
        for child in fan.members(answer.invalidate).filter(is_other) {
            let found = self.probe(level, first + child, line, true);
            all.add(&found);
            all.invalidated |= found.any;
        }
        for child in fan.members(answer.downgrade).filter(is_other) {
            all.add(&self.probe(level, first + child, line, false));
        }
        all
    }

    /// Takes a cache and those below it their copies of a line, or makes them shared ones.
    fn probe(&mut self, level: usize, index: u32, line: u64, invalidate: bool) -> Found {
        let Some(at) = self.levels.get_mut(level) else { return Found::default() };
        // The caches of a group need not all be there.
        let Some(cache) = at.caches.get_mut(index as usize) else { return Found::default() };
        let mut found = Found { answers: at.tags, ..Found::default() };
        let Some(slot) = cache.find(line) else { return found };
        found.any = true;
        found.dirty = cache.state(slot) == State::Modified;
        (found.data, found.depth) = (at.latency, level);
        if level == 0 {
            if cache.flags(slot, super::cache::TRACKED) != 0 {
                self.sharing.lost(line, index);
            }
            if cache.flags(slot, PENDING) != 0 {
                found.arrives = self.loads.arrival(index, line);
            }
        } else {
            let (holders, fan) = (cache.holders(slot), at.below);
            let tags = at.tags;
            if holders.owned || invalidate {
                for child in fan.members(holders.mask) {
                    let inner = self.probe(level - 1, index * fan.caches + child, line, invalidate);
                    found.answers = found.answers.max(tags + inner.answers);
                    found.arrives = found.arrives.max(inner.arrives);
                    found.dirty |= inner.dirty;
                    if inner.any && holders.owned {
                        (found.data, found.depth) = (tags + inner.data, inner.depth);
                    }
                }
            }
        }
        let cache = &mut self.levels[level].caches[index as usize];
        if invalidate {
            cache.remove(slot);
        } else {
            cache.set_state(slot, State::Shared);
            if level > 0 {
                let holders = cache.holders(slot);
                cache.set_holders(slot, coherence::Holders { owned: false, ..holders });
            }
        }
        found
    }

    /// Fetches a line into the second level before it is asked for.
    pub(super) fn prefetch(&mut self, core: u32, line: u64, now: u64) {
        if self.levels.len() < 2 || self.perfect <= 1 {
            return;
        }
        let index = core / self.levels[1].shared_by;
        if self.levels[1].caches[index as usize].find(line).is_some() {
            return;
        }
        let mut trip = Trip::new(core, line, now, true);
        let granted = self.ask(1, index, Wish::Read, false, &mut trip);
        self.fill(1, index, granted, PENDING, &trip);
        self.prefetches.expect(index, &trip);
    }
}

impl Found {
    fn add(&mut self, other: &Found) {
        self.any |= other.any;
        self.dirty |= other.dirty;
        self.answers = self.answers.max(other.answers);
        self.arrives = self.arrives.max(other.arrives);
        if other.any {
            (self.data, self.depth) = (other.data, other.depth);
        }
    }
}

/// Who gave data that came from a cache of the same socket. Of a copy that may be written the innermost one counts.
fn neighbor(depth: usize) -> cycles::Level {
    if depth == 0 { cycles::Level::L1Neighbor } else { cycles::Level::L2Neighbor }
}

impl Protocol {
    /// The machine's, unless caches take no notice of each other.
    pub(super) fn new(coherence: crate::machine::Coherence, none: bool) -> Protocol {
        if none { Protocol::Incoherent } else { Protocol::Coherent(coherence) }
    }
}
