//! Regions begin and end.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::Release};

use holdup_trace::instructions::Mark;
use holdup_trace::openmp::{NO_INSTANCE, Region, RuntimeCode};
use holdup_trace::shared::Slot;
use holdup_trace::wire::NO_STACK;

use super::policy::{NO_MEAN, mean_after, until_next_whole};
use crate::thread::openmp::{Encounter, Standing, Tables};
use crate::{Recorder, acquires, alone, enter, entry, life, marks, stack, thread};

/// What is known of a region of the program, by its function.
struct Known {
    key: AtomicU64,
    executions: AtomicU64,
    next_whole: AtomicU64,
    /// The next one whose chunks are recorded as well.
    next_dealt: AtomicU64,
    timed: AtomicU64,
    /// Ticks of an execution, on average.
    mean: AtomicU64,
    /// Ticks that telling a whole one costs without its chunks, on average.
    cost: AtomicU64,
    /// The same with them.
    cost_dealt: AtomicU64,
    wholes: AtomicU32,
    /// Those whose chunks were recorded.
    dealt: AtomicU32,
}

const KNOWN: usize = 1024;
const PROBES: usize = 8;

/// Counts in it may be off by a few where several threads meet one region at the same moment: they only choose
/// samples.
static REGIONS: [Known; KNOWN] = [const {
    Known {
        key: AtomicU64::new(0),
        executions: AtomicU64::new(0),
        next_whole: AtomicU64::new(0),
        next_dealt: AtomicU64::new(0),
        timed: AtomicU64::new(0),
        mean: AtomicU64::new(0),
        cost: AtomicU64::new(0),
        cost_dealt: AtomicU64::new(0),
        wholes: AtomicU32::new(0),
        dealt: AtomicU32::new(0),
    }
}; KNOWN];

/// What a record costs the program, in 1/10 µs: its writing, the reading of the clocks, what it displaces in caches,
/// and its part of the recorder's work.
const TENTHS_OF_A_MICRO_PER_EVENT: u64 = 1;
/// What an edge costs that is only timed, in ns.
const NANOS_PER_EDGE: u64 = 12;
/// The call stack of the first whole executions of a region is told, and of all that take this long (µs).
const STACKS: u32 = 16;
const WORTH_A_STACK_MICROS: u64 = 500;

fn hash(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - KNOWN.ilog2())) as usize
}

/// What is known of the region with this key. Where the table is full, regions share an entry.
#[inline]
fn known(key: u64) -> &'static Known {
    let first = hash(key);
    let entry = &REGIONS[first];
    if entry.key.load(Relaxed) == key { entry } else { search(key, first) }
}

#[inline(never)]
fn search(key: u64, first: usize) -> &'static Known {
    for probe in 0..PROBES {
        let entry = &REGIONS[(first + probe) % KNOWN];
        let seen = entry.key.load(Relaxed);
        if seen == key || seen == 0 && entry.key.compare_exchange(0, key, Relaxed, Relaxed).is_ok() {
            return entry;
        }
    }
    &REGIONS[first]
}

/// A thread meets a parallel region. `function` is what the compiler made of it; 0 if that is not known: then `caller`,
/// the return address of the call that begins it, tells regions apart. The result is good until the region ends;
/// `None` if nothing of it is told.
#[inline]
pub fn region_begins(
    function: u64,
    caller: u64,
    runtime: RuntimeCode,
    league: bool,
) -> Option<&'static Encounter> {
    let standing = &thread::this().openmp;
    if !life::recording() && !entry::rejoin() {
        return None;
    }
    alone::region_begins();
    let tables = standing.tables()?;
    let place = standing.encounters.get() as usize;
    let encounter = tables.encounters.get(place)?;
    // SAFETY: a thread that has tables has a slot in the process's file, which stays mapped while recording.
    let slot = unsafe { &*thread::this().slot.get() };
    let met = standing.met.get() + 1;
    standing.met.set(met);
    standing.encounters.set(place as u32 + 1);
    let instance = u64::from(slot.thread.load(Relaxed)) << 32 | u64::from(met);
    let parent = standing.instance();

    let key = if function != 0 { function } else { caller };
    let known = known(key);
    let executions = known.executions.load(Relaxed);
    known.executions.store(executions + 1, Relaxed);
    let dealt = executions >= known.next_dealt.load(Relaxed);
    let whole = dealt || executions >= known.next_whole.load(Relaxed);
    let untimed = !whole && tables.sums[super::sums::place(key)].takes_untimed(key, parent);
    let begin = if untimed { 0 } else { life::ticks() };

    encounter.instance.store(instance, Relaxed);
    encounter.function.store(function, Relaxed);
    encounter.whole.store(whole, Relaxed);
    encounter.dealt.store(dealt, Relaxed);
    encounter.league.store(league, Relaxed);
    encounter.runtime.store(runtime as u32, Relaxed);
    encounter.caller.store(caller, Relaxed);
    encounter.parent.store(parent, Relaxed);
    encounter.stack.store(NO_STACK, Relaxed);
    encounter.size.store(0, Relaxed);
    encounter.begin.store(begin, Relaxed);
    encounter.depth.store(standing.depth.get(), Relaxed);
    encounter.height.store(standing.height.get(), Relaxed);
    open(slot, tables, encounter);
    if whole {
        prepare_whole(encounter, known, executions);
    }
    Some(encounter)
}

/// Puts the region into the thread's slot, so that it is known even if it never ends.
#[inline]
fn open(slot: &Slot, tables: &Tables, encounter: &Encounter) {
    let begin = match encounter.begin.load(Relaxed) {
        // It did not begin before the last one that was timed.
        0 => tables.sums[super::sums::place(encounter.key())].last_clock.get(),
        begin => begin,
    };
    slot.region_instance.store(NO_INSTANCE, Relaxed);
    slot.region_begin.store(begin, Relaxed);
    slot.region_function.store(encounter.function(), Relaxed);
    slot.region_caller.store(encounter.caller.load(Relaxed), Relaxed);
    slot.region_instance.store(encounter.instance(), Release);
}

/// How many executions of a region until the next whole one: all are where marks are told, or threads held.
fn distance(executions: u64, mean: u64, cost: u64) -> u64 {
    if life::is_followed() { 1 } else { until_next_whole(executions, mean, cost) }
}

#[inline(never)]
fn prepare_whole(encounter: &Encounter, known: &Known, executions: u64) {
    let wholes = known.wholes.load(Relaxed);
    known.wholes.store(wholes.saturating_add(1), Relaxed);
    // It may meet itself, or be met by others, before it ends.
    let is_dealt = encounter.dealt.load(Relaxed);
    if is_dealt {
        known.dealt.store(known.dealt.load(Relaxed).saturating_add(1), Relaxed);
    }
    known.choose_next(executions + 1, is_dealt);
    let Some(recorder) = enter() else { return };
    if wholes < STACKS || known.mean.load(Relaxed) > life::ticks_of_micros(WORTH_A_STACK_MICROS) {
        encounter.stack.store(stack::capture(&recorder), Relaxed);
    }
    encounter.edges.store(0, Relaxed);
    encounter.chunks.store(0, Relaxed);
    encounter.windows_told.iter().for_each(|window| window.store(0, Relaxed));
    encounter.events.store(recorder.slot().events.load(Relaxed), Relaxed);
    marks::tell(Mark::RegionBegin { instance: encounter.instance(), key: encounter.key() });
}

/// The region has ended, in the thread that met it; its team had `size` threads (0 if [`Encounter::has_team_of`] has said
/// that).
#[inline]
pub fn region_ends(encounter: Option<&'static Encounter>, size: u32) {
    let standing = &thread::this().openmp;
    alone::region_ends();
    let Some(encounter) = encounter else { return leave_unknown(standing) };
    let begin = encounter.begin.load(Relaxed);
    let Some(tables) = standing.tables() else { return };
    let place = place_of(tables, encounter);
    if place >= standing.encounters.get() as usize {
        // It was met before a fork, or has ended already.
        return;
    }
    standing.encounters.set(place as u32);
    if let Some((tables, level)) = standing.whole_level() {
        tables.leave(level);
    }
    standing.return_to(tables, encounter.depth.load(Relaxed));
    if begin == 0 {
        tables.sums[super::sums::place(encounter.key())].count_untimed();
    } else {
        let size = if size == 0 { encounter.size.load(Relaxed).max(1) } else { size };
        tell(tables, encounter, begin, size);
    }
    let height = encounter.height.load(Relaxed);
    standing.height.set(height);
    if tables.owner.get() > height {
        tables.owner.set(0);
    }
    // SAFETY: as in `region_begins`.
    let slot = unsafe { &*thread::this().slot.get() };
    match place.checked_sub(1) {
        Some(outer) => open(slot, tables, &tables.encounters[outer]),
        None => slot.region_instance.store(NO_INSTANCE, Release),
    }
}

fn place_of(tables: &Tables, encounter: &Encounter) -> usize {
    let offset = core::ptr::from_ref(encounter) as usize - tables.encounters.as_ptr() as usize;
    offset / size_of::<Encounter>()
}

/// The end of a region of which nothing was told when it began.
#[cold]
fn leave_unknown(standing: &Standing) {
    let level = standing.level.get();
    // SAFETY: a part of a static.
    let unknown = level.is_null()
        || unsafe { &*level }.arrived.get() && unsafe { &*level }.instance.get() == NO_INSTANCE;
    let depth = standing.depth.get();
    if let Some(tables) = standing.tables()
        && unknown
        && depth > 0
    {
        standing.return_to(tables, depth - 1);
    }
}

impl Encounter {
    fn key(&self) -> u64 {
        let function = self.function();
        if function != 0 { function } else { self.caller.load(Relaxed) }
    }

    pub(super) fn record(&self, begin: u64, end: u64, size: u32) -> Region {
        Region {
            begin,
            end,
            instance: self.instance(),
            function: self.function(),
            caller: self.caller.load(Relaxed),
            stack: self.stack.load(Relaxed),
            parent: self.parent.load(Relaxed),
            size,
            count: 1,
            timed: 1,
            ticks: end.saturating_sub(begin),
            runtime: RuntimeCode::from_code(self.runtime.load(Relaxed) as u8).unwrap_or(RuntimeCode::Gnu),
            whole: self.is_whole(),
            league: self.league.load(Relaxed),
        }
    }
}

#[inline(never)]
fn tell(tables: &Tables, encounter: &Encounter, begin: u64, size: u32) {
    if encounter.is_whole() {
        marks::tell(Mark::RegionEnd { instance: encounter.instance() });
    }
    let end = life::ticks();
    let key = encounter.key();
    let known = known(key);
    let timed = known.timed.load(Relaxed);
    known.timed.store(timed + 1, Relaxed);
    let length = end.saturating_sub(begin);
    let Some(recorder) = enter() else { return };
    let region = encounter.record(begin, end, size);
    let dealt = u64::from(known.dealt.load(Relaxed));
    if !region.whole {
        known.take_part_in_mean(timed, dealt, length);
        return super::sums::tell(&recorder, tables, key, region);
    }
    super::sums::flush(&recorder, tables, key, begin);
    recorder.write(&region.words());
    let events = recorder.slot().events.load(Relaxed).saturating_sub(encounter.events.load(Relaxed));
    let cost_of = |events: u64| {
        events * life::ticks_of_micros(TENTHS_OF_A_MICRO_PER_EVENT) / 10
            + u64::from(encounter.edges.load(Relaxed)) * life::ticks_of_micros(NANOS_PER_EDGE) / 1000
    };
    let cost = cost_of(events.saturating_sub(u64::from(encounter.chunks.load(Relaxed))));
    let wholes = u64::from(known.wholes.load(Relaxed));
    known.cost.store(mean_after(known.cost.load(Relaxed), wholes, cost), Relaxed);
    let is_dealt = encounter.dealt.load(Relaxed);
    if !is_dealt {
        known.take_part_in_mean(timed, dealt, length.saturating_sub(cost));
    } else {
        let cost = mean_after(known.cost_dealt.load(Relaxed), dealt, cost_of(events));
        known.cost_dealt.store(cost, Relaxed);
        // Telling it has made it longer, by more than reckoned if memory for it was scarce; until others are timed the
        // shortest is nearest to the truth.
        if dealt == timed + 1 {
            let length = length.saturating_sub(cost).max(1);
            let mean = known.mean.load(Relaxed);
            known.mean.store(if mean == NO_MEAN { length } else { mean.min(length) }, Relaxed);
        }
    }
    known.choose_next(known.executions.load(Relaxed), is_dealt);
}

impl Known {
    /// After so many executions, of which the last was whole: which one is the next.
    fn choose_next(&self, executions: u64, is_dealt: bool) {
        let mean = self.mean.load(Relaxed);
        let next = |cost: &AtomicU64| executions + distance(executions, mean, cost.load(Relaxed)) - 1;
        self.next_whole.store(next(&self.cost), Relaxed);
        if is_dealt {
            self.next_dealt.store(next(&self.cost_dealt), Relaxed);
        }
    }

    /// One that telling did not make longer took so many ticks, after `timed` others, of which telling made `dealt` longer.
    fn take_part_in_mean(&self, timed: u64, dealt: u64, length: u64) {
        let (mean, before) =
            if timed == dealt { (NO_MEAN, 0) } else { (self.mean.load(Relaxed), timed - dealt.min(timed)) };
        self.mean.store(mean_after(mean, before, length), Relaxed);
    }
}

/// Writes what the thread has not written yet of OpenMP: before it ends, and before the process does.
pub(crate) fn close(recorder: &Recorder) {
    let standing = &recorder.thread().openmp;
    let tables = standing.tables.get();
    if !tables.is_null() {
        if let Some((tables, level)) = standing.whole_level() {
            tables.leave_with(recorder, level);
        }
        // SAFETY: a table of a static.
        super::sums::flush_all(recorder, unsafe { &*tables }, life::ticks());
    }
    acquires::flush(recorder);
}
