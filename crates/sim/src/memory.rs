//! The memory system: caches, coherence, interconnects, memory controllers.
//!
//! Every core has a first-level data and instruction cache; outer levels are shared as the machine says, and include the
//! data of the inner ones. Caches form a tree with memory as its root, and each node keeps the copies below it coherent by
//! the same pure transitions (`coherence`). An access walks the tree (`hierarchy`) and takes the time of
//!
//! * the tags of each level that misses,
//! * the interconnect of the socket, once, where requests leave what cores have for themselves (`layout::crossing`),
//! * the data of the level that hits; of the cache of the same socket that may have newer data; off-socket, the link there
//!   and back and the latency of the other socket's cache; or memory, with the link if it is another socket's,
//! * and queueing at links and memory (`ledger`), which is reported by itself.
//!
//! Who gave the data ([`Level`]): *L1 neighbour* means that the first level of another core of the socket was the only one
//! to have the line and could have written it, so that it had to be asked; *L2 neighbour*, that another outer cache of the
//! socket gave it. A cache of another socket is *off-socket*, in whatever state it had the line (paper 3, section 4.1). For
//! a store that only needs the right to write, it is who gave that: the messages to the others and back are its latency.
//!
//! A line that was asked for is in the cache at once, but who uses it before the data is there waits for the rest of the
//! time (`flight`); what it wrote itself it has from its store buffer. Core 0 is the first of socket 0, and so on; those that
//! share a cache have consecutive numbers.

mod cache;
mod coherence;
mod flight;
mod hierarchy;
mod home;
mod layout;
mod ledger;
mod model;
mod replacement;
mod resource;
mod sharing;
mod table;
mod warm;

use holdup_model::cycles::{Level, Resource, SharedLine};

use self::cache::{Cache, LINE_BITS, PENDING, TRACKED};
use self::coherence::{Protocol, State, Wish};
use self::flight::Flights;
use self::hierarchy::Trip;
use self::home::Home;
use self::sharing::SharedLines;
use crate::change::Changes;
use crate::machine::Machine;
use crate::prefetch::StridePrefetcher;
use crate::program::Access;
use crate::served::Served;
use crate::tlb::Tlb;

pub use self::model::CacheModel;
pub(crate) use self::table::Table;

/// An access touches so many lines at most; recordings may claim more.
const MOST_LINES: u64 = 256;

/// The memory system of all cores.
pub(crate) struct Memory {
    /// log2 of the bytes of a line.
    line_bits: u32,
    /// A hit in the first level.
    hit: Served,
    /// Data caches, by level.
    levels: Vec<layout::Level>,
    /// First-level instruction caches, by core.
    code: Vec<Cache>,
    /// Cycles until a miss of these is known.
    code_tags: u64,
    translations: Vec<Tlb>,
    prefetchers: Vec<StridePrefetcher>,
    /// On the way to first levels.
    loads: Flights,
    /// On the way to second levels.
    prefetches: Flights,
    /// Lines to prefetch; empty between accesses.
    ahead: Vec<u64>,
    protocol: Protocol,
    /// The level that always has everything; beyond all without that change.
    perfect: usize,
    perfect_fetch: bool,
    /// The level before which the interconnect lies.
    crossing: usize,
    home: Home,
    sharing: SharedLines,
}

impl Memory {
    /// Empty caches of so many cores of a checked machine, with changes.
    pub(crate) fn new(machine: &Machine, cores: u32, changes: &Changes) -> Memory {
        let cores = cores.max(1);
        let levels = layout::levels(machine, cores, changes.private_caches);
        let last_caches = levels[levels.len() - 1].caches.len() as u32;
        let seconds = levels.get(1).map_or(0, |level| level.caches.len());
        let perfect = changes
            .perfect_cache
            .map_or(usize::MAX, |level| (level.max(1) as usize - 1).min(levels.len() - 1));
        let facts = machine.prefetch.as_ref();
        Memory {
            line_bits: machine.l1d.line.trailing_zeros(),
            hit: Served { latency: machine.l1d.latency, ..Served::default() },
            code: (0..cores).map(|_| Cache::new(&machine.l1i, 0)).collect(),
            code_tags: u64::from(machine.l1i.tags),
            translations: (0..cores).map(|_| Tlb::new(machine)).collect(),
            prefetchers: facts
                .map(|facts| (0..cores).map(|_| StridePrefetcher::new(facts)).collect())
                .unwrap_or_default(),
            loads: Flights::new(cores as usize),
            prefetches: Flights::new(seconds),
            ahead: Vec::new(),
            protocol: Protocol::new(machine.coherence, changes.no_coherence),
            perfect,
            perfect_fetch: changes.perfect_fetch,
            crossing: layout::crossing(machine),
            home: Home::new(machine, cores, last_caches, changes),
            sharing: SharedLines::new(machine.l1d.line),
            levels,
        }
    }

    /// A core reads so many bytes at a cycle; `place` is the instruction's ([`crate::Instruction::place`]). Of an access to
    /// several lines the slowest counts.
    pub(crate) fn load(&mut self, core: u32, address: u64, size: u32, place: u32, now: u64) -> Served {
        self.access(core, (address, size), place, now, false)
    }

    /// A core writes them. The latency is until it has the line for itself.
    pub(crate) fn store(&mut self, core: u32, address: u64, size: u32, place: u32, now: u64) -> Served {
        self.access(core, (address, size), place, now, true)
    }

    /// How many of these accesses of a core, from the first on, are hits in the first level that take the same time whenever
    /// they begin: each in one line that is there and may be used so, and translated at once. They are done. The places of
    /// their instructions are as many as they.
    ///
    /// Most accesses are, and this is in the simulator's innermost loop.
    #[inline]
    pub(crate) fn plain_hits(
        &mut self,
        core: u32,
        accesses: &[Access],
        addresses: &[u64],
        places: &[u32],
    ) -> usize {
        let translations = &mut self.translations[core as usize];
        let cache = &mut self.levels[0].caches[core as usize];
        let bits = self.line_bits;
        let mut done = 0;
        for ((access, &address), &place) in accesses.iter().zip(addresses).zip(places) {
            let line = (address >> bits) & ((1 << LINE_BITS) - 1);
            let offset = address as u32 & ((1 << bits) - 1);
            if u64::from(offset) + u64::from(access.size) > 1 << bits || !translations.is_near(address) {
                break;
            }
            if !cache.is_first(line, access.stores) {
                let Some(slot) = cache.hits(line, access.stores) else { break };
                let bytes = (offset, access.size);
                note_use(&mut self.sharing, cache, slot, core, line, bytes, access.stores, place);
            }
            done += 1;
        }
        done
    }

    /// An access whose miss is taken away: caches are afterwards what they would be with it, but it takes the time of a hit,
    /// and nobody else waits because of it.
    pub(crate) fn erased(
        &mut self,
        core: u32,
        (address, size): (u64, u32),
        place: u32,
        now: u64,
        writes: bool,
    ) -> Served {
        self.home.is_free = true;
        self.access(core, (address, size), place, now, writes);
        self.home.is_free = false;
        self.hit
    }

    /// A hit in the first level.
    pub(crate) fn hit(&self) -> Served {
        self.hit
    }

    /// A core fetches instructions; none if they are in its first level, and their translation at hand. The latency is
    /// from the request on. Of several lines, which are asked for at once, the slowest counts.
    pub(crate) fn fetch(&mut self, core: u32, address: u64, length: u32, now: u64) -> Option<Served> {
        if self.perfect_fetch {
            return None;
        }
        let code = &self.code[core as usize];
        let (first, last) =
            (self.line(address), self.line(address.saturating_add(u64::from(length.max(1)) - 1)));
        if last.wrapping_sub(first) <= 1
            && self.translations[core as usize].is_first_instruction(address)
            && code.is_first(first, false)
            && code.is_first(last, false)
        {
            return None;
        }
        let tlb = self.translations[core as usize].instructions(address);
        let mut slowest: Option<Served> = None;
        for line in self.lines(address, length) {
            if self.code[core as usize].used(line).is_none() {
                let served = self.fetch_line(core, line, now);
                if slowest.is_none_or(|slowest| served.latency > slowest.latency) {
                    slowest = Some(served);
                }
            }
        }
        match slowest {
            Some(slowest) => Some(Served { tlb, ..slowest }),
            None if tlb > 0 => Some(Served { tlb, ..Served::default() }),
            None => None,
        }
    }

    /// The lines that changed hands because of writes, with the addresses of instructions by place. Users are cores.
    pub(crate) fn shared_lines(&self, places: &[u64]) -> Vec<SharedLine> {
        self.sharing.report(places)
    }

    /// What links and memory did in a run of so many cycles.
    pub(crate) fn resources(&self, cycles: u64) -> Vec<Resource> {
        self.home.resources(cycles)
    }

    fn access(&mut self, core: u32, bytes: (u64, u32), place: u32, now: u64, writes: bool) -> Served {
        let tlb = self.translations[core as usize].data(bytes.0);
        Served { tlb, ..self.translated(core, bytes, place, now, writes) }
    }

    #[inline]
    fn translated(&mut self, core: u32, bytes: (u64, u32), place: u32, now: u64, writes: bool) -> Served {
        let (address, size) = bytes;
        let offset = address as u32 & ((1 << self.line_bits) - 1);
        if u64::from(offset) + u64::from(size) > 1 << self.line_bits {
            return self.access_lines(core, bytes, place, now, writes);
        }
        let line = self.line(address);
        self.access_line(core, line, (offset, size), place, now, writes)
    }

    #[cold]
    fn access_lines(
        &mut self,
        core: u32,
        (address, size): (u64, u32),
        place: u32,
        now: u64,
        writes: bool,
    ) -> Served {
        let length = 1 << self.line_bits;
        let mut slowest = Served::default();
        let mut offset = address as u32 & (length - 1);
        let mut rest = size;
        for line in self.lines(address, size) {
            let bytes = rest.min(length - offset);
            let served = self.access_line(core, line, (offset, bytes), place, now, writes);
            if served.latency > slowest.latency {
                slowest = served;
            }
            rest -= bytes;
            offset = 0;
        }
        slowest
    }

    #[inline(never)]
    fn access_line(
        &mut self,
        core: u32,
        line: u64,
        bytes: (u32, u32),
        place: u32,
        now: u64,
        writes: bool,
    ) -> Served {
        if self.perfect == 0 {
            return self.hit;
        }
        let first = &mut self.levels[0].caches[core as usize];
        let Some(slot) = first.used(line) else {
            return self.miss(core, line, bytes, place, now, writes);
        };
        let mut served = self.hit;
        let flags = first.flags(slot, PENDING | TRACKED);
        let state = first.state(slot);
        if flags & PENDING != 0 {
            let mask = sharing::mask(self.line_bits, bytes);
            match self.loads.rest(core, line, now) {
                Some(_) if !writes && self.loads.has_written(core, line, mask) => {}
                Some((cycles, by)) => {
                    if writes {
                        self.loads.write(core, line, mask);
                    }
                    let latency = (cycles.min(u64::from(u32::MAX)) as u32).max(served.latency);
                    served = Served { latency, by, ..served };
                }
                None => first.clear_flags(slot, PENDING),
            }
        }
        if writes && state == State::Shared {
            let mut trip = Trip::new(core, line, now, true);
            trip.delay.cycles = self.levels[0].tags;
            let granted = self.ask(0, core, Wish::Write, true, &mut trip);
            self.levels[0].caches[core as usize].set_state(slot, granted);
            let right = self.served(&mut trip);
            if right.latency > served.latency {
                served = right;
            }
            self.changed_hands(&trip);
        } else if writes {
            first.set_state(slot, State::Modified);
        }
        self.note_use(core, line, slot, bytes, writes, place);
        served
    }

    fn miss(
        &mut self,
        core: u32,
        line: u64,
        bytes: (u32, u32),
        place: u32,
        now: u64,
        writes: bool,
    ) -> Served {
        let wish = if writes { Wish::Write } else { Wish::Read };
        let mut trip = Trip::new(core, line, now, true);
        trip.delay.cycles = self.levels[0].tags;
        let granted = self.ask(0, core, wish, false, &mut trip);
        if let Some(by) = trip.late {
            trip.by = by;
        }
        let tracked = if self.sharing.follows(line) { TRACKED } else { 0 };
        let slot = self.fill(0, core, granted, PENDING | tracked, &trip);
        self.loads.expect(core, &trip);
        if writes {
            self.loads.write(core, line, sharing::mask(self.line_bits, bytes));
        }
        self.changed_hands(&trip);
        self.note_use(core, line, slot, bytes, writes, place);
        if let Some(prefetcher) = self.prefetchers.get_mut(core as usize) {
            let mut ahead = std::mem::take(&mut self.ahead);
            prefetcher.train(place, line, &mut ahead);
            for line in ahead.drain(..) {
                self.prefetch(core, line & ((1 << LINE_BITS) - 1), now);
            }
            self.ahead = ahead;
        }
        self.served(&mut trip)
    }

    fn fetch_line(&mut self, core: u32, line: u64, now: u64) -> Served {
        let mut trip = Trip::new(core, line, now, false);
        trip.delay.cycles = self.code_tags;
        if let Some(level) = self.levels.get(1) {
            let index = core / level.shared_by;
            self.enter(1, core, true, &mut trip.delay);
            let (_, is_here) = self.ensure(1, index, Wish::Read, &mut trip);
            if is_here {
                trip.delay.cycles += self.levels[1].latency;
                trip.by = trip.late.unwrap_or(self.levels[1].hits);
            }
        } else {
            self.enter(1, core, true, &mut trip.delay);
            self.home.memory(core, line, &mut trip.delay);
            trip.by = Level::Dram;
        }
        self.code[core as usize].insert(line, State::Shared, 0);
        self.served(&mut trip)
    }

    /// The line of a trip changed hands, maybe: from when it is followed on, all that have it report its uses.
    fn changed_hands(&mut self, trip: &Trip) {
        if trip.changes_hands && self.sharing.transferred(trip.line, trip.core, trip.delay.cycles) {
            for cache in &mut self.levels[0].caches {
                if let Some(slot) = cache.find(trip.line) {
                    cache.set_flags(slot, TRACKED);
                }
            }
        }
    }

    #[inline]
    fn note_use(&mut self, core: u32, line: u64, slot: usize, bytes: (u32, u32), writes: bool, place: u32) {
        let cache = &mut self.levels[0].caches[core as usize];
        note_use(&mut self.sharing, cache, slot, core, line, bytes, writes, place);
    }

    fn served(&mut self, trip: &mut Trip) -> Served {
        self.home.wait_for_writes(&mut trip.delay);
        let short = |cycles: u64| cycles.min(u64::from(u32::MAX)) as u32;
        Served {
            latency: short(trip.delay.cycles).max(self.hit.latency),
            tlb: 0,
            interconnect_queueing: short(trip.delay.interconnect),
            memory_queueing: short(trip.delay.memory),
            by: trip.by,
        }
    }

    #[inline]
    fn line(&self, address: u64) -> u64 {
        (address >> self.line_bits) & ((1 << LINE_BITS) - 1)
    }

    /// The lines of so many bytes, at least one.
    fn lines(&self, address: u64, size: u32) -> impl Iterator<Item = u64> + use<> {
        let first = address >> self.line_bits;
        let last = address.saturating_add(u64::from(size.max(1)) - 1) >> self.line_bits;
        (first..=last.min(first + MOST_LINES - 1)).map(|line| line & ((1 << LINE_BITS) - 1))
    }
}

/// A line in a slot of a core's first level is used.
#[allow(clippy::too_many_arguments)]
#[inline]
fn note_use(
    sharing: &mut SharedLines,
    cache: &mut Cache,
    slot: usize,
    core: u32,
    line: u64,
    bytes: (u32, u32),
    writes: bool,
    place: u32,
) {
    if cache.flags(slot, TRACKED) != 0 && !sharing.used(line, core, bytes, writes, place) {
        cache.clear_flags(slot, TRACKED);
    }
}

#[cfg(test)]
mod tests;
