//! One thread runs by itself, the others are held: the program's side of [`holdup_trace::alone`].
//!
//! Hooks say when a thread is about to wait ([`wait_begins`]), when its wait has ended ([`wait_ends`]), when it wakes
//! others ([`wakes`], [`passed`]), and where it can be held ([`point`]). Only delays come of it. A thread is held in a
//! futex of ours, which no signal ends for the program, and only while it holds no lock that we know of; that it may hold
//! others is why the recorder looks after the profiled thread, and lets all go where that one cannot go on.
//!
//! Nobody is held for long without the recorder: it raises a number all the time, and where that stands still, everybody
//! goes for good.
//!
//! Outside of such sessions none of this costs anything: as for marks, all locks count as ones that were waited for, and
//! all calls as long, which leads from the hooks' fast paths to where it is asked whether [`life::alone`].

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed, Ordering::SeqCst};

use holdup_trace::alone::{AloneCode, Block, CALL, Conduct, EndCode, Phase, Stretch, TEAM, Turn};
use holdup_trace::shared::{ProcessFile, Slot};
use holdup_trace::wire::{self, CallCode, ObjectCode, OutcomeCode};

use crate::arch::{number, system_call};
use crate::descriptors::is_a_channel;
use crate::mapping::file;
use crate::thread::{self, Thread};
use crate::{enter, life, live};

/// How long a thread is held at most before it looks around (ns).
const LOOK_NANOS: u64 = 100_000_000;
/// The same where the profiled thread is expected to end its wait, and may not.
const EXPECTED_NANOS: u64 = 2_000_000;
/// Where it did not come, it is not expected for so long (µs), which doubles with each time in a row up to so many.
const PAUSE_MICROS: u64 = 8_000;
/// See [`PAUSE_MICROS`].
const MOST_MISSES: u32 = 6;
/// So many looks in a row at which the recorder gave no sign: it is gone.
const SILENT_LOOKS: u32 = 30;
/// A profiled thread that looks in vain for something that others do lets them go for so long (µs)...
const POLL_MICROS: u64 = 100;
/// ...and for twice as long after so many such looks...
const POLLS_BEFORE_LONGER: u32 = 4;
/// ...at most so often.
const MOST_LONGER: u32 = 5;
/// The profiled thread waits at most so long for the others (µs): some compute for seconds between two hooks...
const LONGEST_PATIENCE: u32 = 5_000_000;
/// ...at first so long where the recorder says nothing else...
const FIRST_PATIENCE: u32 = 1_000_000;
/// ...and, where that was of no use, at least so long.
const SHORTEST_PATIENCE: u32 = 1_000;

struct Here {
    thread: &'static Thread,
    slot: &'static Slot,
    file: ProcessFile,
}

/// The calling thread, if it can take part and does what the program says.
#[inline]
fn here() -> Option<Here> {
    here_or_in_runtime().filter(|here| here.thread.alone.in_runtime.get() == 0)
}

/// The calling thread, if it can take part.
#[inline]
fn here_or_in_runtime() -> Option<Here> {
    if !life::alone() {
        return None;
    }
    let thread = thread::this();
    let slot = thread.slot.get();
    if slot.is_null() || thread.busy.get() != 0 || thread.alone.held.get() != 0 {
        return None;
    }
    let here = Here {
        thread,
        // SAFETY: a thread's slot is in the process's file, which stays mapped while recording.
        slot: unsafe { &*slot },
        file: file(),
    };
    if here.block().is_given_up() || life::confined() {
        here.ends_for_good();
        return None;
    }
    Some(here)
}

fn nanos_of(timeout: u64) -> [u64; 2] {
    [timeout / 1_000_000_000, timeout % 1_000_000_000]
}

/// Sleeps until `word` is woken, or is not `value`; at most so long. True if the time was up.
fn sleep(word: &AtomicU32, value: u32, nanos: u64) -> bool {
    const WAIT: usize = 0;
    const ETIMEDOUT: isize = -110;
    let timeout = nanos_of(nanos);
    let arguments = [ptr::from_ref(word) as usize, WAIT, value as usize, timeout.as_ptr() as usize, 0, 0];
    // SAFETY: a mapped word, and a timespec.
    unsafe { system_call(number::FUTEX, arguments) == ETIMEDOUT }
}

fn wake(word: &AtomicU32) {
    const WAKE: usize = 1;
    const ALL: usize = i32::MAX as usize;
    // SAFETY: a wake on a mapped word.
    unsafe { system_call(number::FUTEX, [ptr::from_ref(word) as usize, WAKE, ALL, 0, 0, 0]) };
}

/// Wakes all that may wait for anything.
fn wake_everybody(block: &Block) {
    [&block.turn, &block.go, &block.pirate_bell, &block.call].into_iter().for_each(wake);
}

impl Here {
    fn block(&self) -> &'static Block {
        &self.file.header().alone
    }

    fn is_profiled(&self) -> bool {
        // The number alone tells threads apart.
        self.block().profiled.load(SeqCst) as u32 == self.slot.thread.load(SeqCst).wrapping_add(1)
    }

    fn says(&self, conduct: Conduct) {
        self.slot.alone_state.store(conduct as u32, SeqCst);
    }

    /// The thread runs from now on.
    fn runs(&self) {
        self.slot.alone_since.store(life::ticks(), SeqCst);
        self.says(Conduct::Runs);
    }

    /// The thread, which is not the profiled one, is quiet from now on.
    fn is_quiet(&self, conduct: Conduct) {
        let block = self.block();
        // It may have been the profiled one.
        self.ends_stretch(None);
        if self.slot.conduct() == Conduct::Runs && block.turn().phase() == Phase::Alone {
            let ticks = ran(self.slot, block.stretch.load(SeqCst), life::ticks());
            block.disturbed.fetch_add(ticks, SeqCst);
        }
        self.says(conduct);
        self.lets_go();
    }

    fn lets_go(&self) -> bool {
        let lets = self.file.lets_go();
        if lets {
            wake(&self.block().go);
        }
        lets
    }

    /// Asks the recorder to look.
    fn calls(&self) {
        let block = self.block();
        block.call.fetch_add(1, SeqCst);
        if block.listens.load(SeqCst) != 0 {
            wake(&block.call);
        }
    }

    /// Lets the held threads go, if the profiled thread had the turn or wanted it.
    fn frees(&self) {
        let block = self.block();
        loop {
            let turn = block.turn();
            if !matches!(turn.phase(), Phase::Wanted | Phase::Alone) {
                return;
            }
            if block.change(turn, turn.next(Phase::Free)) {
                break;
            }
        }
        wake(&block.turn);
        self.rings_for_the_pirate();
    }

    fn rings_for_the_pirate(&self) {
        let block = self.block();
        if block.pirated.load(SeqCst) != 0 {
            block.pirate_bell.fetch_add(1, SeqCst);
            wake(&block.pirate_bell);
        }
    }

    /// Everybody goes for good.
    fn gives_up(&self, why: EndCode) {
        self.block().give_up(why);
        wake_everybody(self.block());
    }

    /// What is left of a stretch when all is over.
    #[inline]
    fn ends_for_good(&self) {
        if self.thread.alone.open.get() != 0 {
            self.ends_stretch(Some(AloneCode::GivenUp));
        }
    }

    fn begins_stretch(&self, turn: Turn, why: AloneCode) {
        let (standing, block) = (&self.thread.alone, self.block());
        block.stretches.fetch_add(1, SeqCst);
        standing.open.set(turn.generation().wrapping_add(1));
        standing.why.set(why as u32);
        standing.disturbed.set(block.disturbed.load(SeqCst));
        let now = life::ticks();
        standing.begin.set(now);
        block.stretch.store(now, SeqCst);
        standing.cpu.set(self.thread.cpu.read(now));
    }

    /// Tells the stretch that ends now, if there is one.
    fn ends_stretch(&self, why: Option<AloneCode>) {
        let (standing, block) = (&self.thread.alone, self.block());
        let Some(generation) = standing.open.replace(0).checked_sub(1) else { return };
        let now = life::ticks();
        let cpu_end = self.thread.cpu.read(now);
        let begin = standing.begin.get();
        block.stretch.store(0, SeqCst);
        let mut disturbed = block.disturbed.load(SeqCst).wrapping_sub(standing.disturbed.get());
        let own = ptr::from_ref(self.slot);
        for (_, slot) in self.file.used_slots() {
            if !ptr::eq(slot, own) && slot.live.load(SeqCst) != 0 && slot.conduct() == Conduct::Runs {
                disturbed = disturbed.saturating_add(ran(slot, begin, now));
            }
        }
        let mut code = AloneCode::from_code(standing.why.get() as u8).unwrap_or(AloneCode::Held);
        if block.turn().generation() != generation {
            // The recorder has let the others go.
            code = AloneCode::from_code(block.released_why.load(SeqCst) as u8).unwrap_or(AloneCode::Watchdog);
            let released = block.released_at.load(SeqCst).max(begin);
            disturbed = disturbed.max(now.saturating_sub(released));
        }
        let Some(recorder) = enter() else { return };
        recorder.write(&wire::alone(&Stretch {
            begin,
            end: now,
            cpu_begin: standing.cpu.get(),
            cpu_end,
            disturbed,
            why: why.unwrap_or(code),
        }));
    }

    /// The profiled thread wants to run by itself, and does so when this returns, unless that was in vain.
    fn takes_turn(&self) {
        let (standing, block) = (&self.thread.alone, self.block());
        if standing.open.get() != 0 || life::ticks() < block.not_before.load(SeqCst) {
            return;
        }
        let mut turn = block.turn();
        while matches!(turn.phase(), Phase::Free | Phase::Gather) {
            block.change(turn, turn.with(Phase::Wanted));
            turn = block.turn();
        }
        block.misses.store(0, SeqCst);
        block.expected_from.store(0, SeqCst);
        let why = if turn.phase() == Phase::Alone { AloneCode::Held } else { self.waits_for_turn(turn) };
        if !block.is_given_up() && block.turn().generation() == turn.generation() {
            self.begins_stretch(turn, why);
        }
    }

    fn waits_for_turn(&self, turn: Turn) -> AloneCode {
        let block = self.block();
        self.thread.alone.held.set(1);
        self.rings_for_the_pirate();
        let patience = match block.patience.load(SeqCst) {
            0 => FIRST_PATIENCE,
            micros => micros,
        };
        let end = life::ticks() + life::ticks_of_micros(u64::from(patience));
        let why = loop {
            let go = block.go.load(SeqCst);
            if self.lets_go() {
                break AloneCode::Held;
            }
            let now_turn = block.turn();
            if now_turn != turn {
                // It is alone, or the recorder has let everybody go.
                break AloneCode::Held;
            }
            let left = end.saturating_sub(life::ticks());
            if left == 0 {
                let unready = self.file.others_are_quiet();
                if block.change(turn, turn.with(Phase::Alone)) {
                    block.bounds.fetch_add(1, SeqCst);
                    break if unready { AloneCode::Unready } else { AloneCode::Bound };
                }
                continue;
            }
            sleep(&block.go, go, life::nanos(left).clamp(1000, LOOK_NANOS));
        };
        let next = if why == AloneCode::Bound { patience / 2 } else { patience.saturating_mul(2) };
        block.patience.store(next.clamp(SHORTEST_PATIENCE, LONGEST_PATIENCE), SeqCst);
        self.thread.alone.held.set(0);
        why
    }

    /// True if the thread is to be held; where new threads are gathered, those are that begin in this generation.
    fn is_to_be_held(&self, turn: Turn, begins: Option<u32>) -> bool {
        let holds = match turn.phase() {
            Phase::Free => false,
            Phase::Gather => begins == Some(turn.generation()),
            Phase::Wanted | Phase::Alone => true,
        };
        holds && !self.is_profiled() && !self.block().is_given_up() && life::alone()
    }

    /// Holds the thread while it is to be held.
    fn is_held(&self, begins: bool) {
        let block = self.block();
        let begins = begins.then(|| block.turn().generation());
        if !self.is_to_be_held(block.turn(), begins) {
            return;
        }
        self.slot.alone_began.store(begins.map_or(0, |generation| generation.wrapping_add(1)), SeqCst);
        self.thread.alone.held.set(1);
        let (mut beat, mut silent) = (block.beat.load(SeqCst), 0);
        self.is_quiet(Conduct::Held);
        if block.turn().phase() == Phase::Gather {
            self.calls();
        }
        loop {
            let turn = block.turn();
            if !self.is_to_be_held(turn, begins) {
                self.runs();
                // The profiled thread may have taken the turn before it could see that this one runs.
                if !self.is_to_be_held(block.turn(), begins) {
                    break;
                }
                self.says(Conduct::Held);
                continue;
            }
            self.says(Conduct::Held);
            if turn.phase() == Phase::Wanted && self.lets_go() {
                continue;
            }
            let expected = turn.phase() != Phase::Gather && self.profiled_waits();
            let nanos = if expected { EXPECTED_NANOS } else { LOOK_NANOS };
            if !sleep(&block.turn, turn.word(), nanos) {
                continue;
            }
            if expected && self.profiled_waits() && block.turn() == turn {
                // It was not woken after all.
                let misses = block.misses.fetch_add(1, SeqCst).min(MOST_MISSES);
                let pause = life::ticks_of_micros(PAUSE_MICROS << misses);
                block.expected_from.store(life::ticks() + pause, SeqCst);
                self.frees();
            }
            let now = block.beat.load(SeqCst);
            if !expected {
                silent = if now == beat { silent + 1 } else { 0 };
                beat = now;
            }
            if silent > SILENT_LOOKS {
                self.gives_up(EndCode::Silent);
            }
        }
        self.thread.alone.held.set(0);
        if self.is_profiled() {
            self.takes_turn();
        }
    }

    /// True if the profiled thread is in a wait, or there is none.
    fn profiled_waits(&self) -> bool {
        self.file.profiled_slot().is_none_or(|slot| slot.conduct() == Conduct::Waits)
    }

    /// The profiled thread is at a hook.
    fn progresses(&self) {
        let (standing, block) = (&self.thread.alone, self.block());
        block.progress.store(block.progress.load(Relaxed).wrapping_add(1), Relaxed);
        if let Some(generation) = standing.open.get().checked_sub(1)
            && block.turn().generation() != generation
        {
            self.ends_stretch(None);
        }
        let open = standing.open.get();
        if open != 0 && block.cut.load(Relaxed) == open {
            return self.lets_others_on(u64::from(block.cut_micros.load(Relaxed)));
        }
        if self.slot.alone_depth.load(SeqCst) == 0 {
            self.takes_turn();
        }
    }

    /// The profiled thread waits for so long (µs), so that the others go on, and wants its turn again.
    fn lets_others_on(&self, micros: u64) {
        self.wait_begins(CALL);
        self.thread.alone.held.set(1);
        // Nobody wakes it; that a signal may is no harm.
        let never = AtomicU32::new(0);
        sleep(&never, 0, micros * 1000);
        self.thread.alone.held.set(0);
        self.wait_ends(true, false);
    }

    /// The thread has looked in vain for something that others do.
    fn polls(&self) {
        if self.slot.conduct() != Conduct::Runs {
            return;
        }
        if !self.is_profiled() {
            return self.point(false);
        }
        let polls = &self.thread.alone.polls;
        let times = polls.get();
        polls.set(times.saturating_add(1));
        self.lets_others_on(POLL_MICROS << (times / POLLS_BEFORE_LONGER).min(MOST_LONGER));
    }

    fn point(&self, begins: bool) {
        if self.is_profiled() {
            return self.progresses();
        }
        // Another one was chosen in its place.
        self.ends_stretch(None);
        if self.slot.conduct() != Conduct::Runs {
            self.runs();
        }
        if self.slot.alone_depth.load(SeqCst) == 0 {
            self.is_held(begins);
        }
    }

    fn wait_begins(&self, object: u64) {
        self.slot.alone_object.store(object, SeqCst);
        if self.is_profiled() {
            self.progresses_into_wait();
            self.says(Conduct::Waits);
            self.frees();
        } else {
            self.is_quiet(Conduct::Waits);
            if self.block().turn().phase() == Phase::Gather {
                self.calls();
            }
        }
    }

    /// True if the thread was in a wait of a runtime, which ends now.
    fn leaves_runtime(&self) -> bool {
        self.thread.alone.in_runtime.replace(0) != 0
    }

    fn progresses_into_wait(&self) {
        let progress = &self.block().progress;
        progress.store(progress.load(SeqCst).wrapping_add(1), SeqCst);
        self.ends_stretch(None);
    }

    fn wait_ends(&self, holds: bool, begins: bool) {
        self.slot.alone_object.store(0, SeqCst);
        if self.is_profiled() {
            self.says(Conduct::Runs);
            return self.takes_turn();
        }
        self.runs();
        if !holds {
            self.point(begins);
        }
    }

    /// The calling thread is about to end waits for `object`: if the profiled thread's is among them, the turn is wanted
    /// for it already, so that this thread does not go on before it.
    fn wakes(&self, object: u64) {
        let block = self.block();
        let Some(slot) = self.file.profiled_slot() else { return };
        if slot.conduct() != Conduct::Waits || slot.alone_object.load(SeqCst) != object || self.is_profiled()
        {
            return;
        }
        let (turn, now) = (block.turn(), life::ticks());
        let earliest = block.not_before.load(SeqCst).max(block.expected_from.load(SeqCst));
        if turn.phase() == Phase::Free && now >= earliest {
            block.change(turn, turn.with(Phase::Wanted));
        }
    }
}

/// Ticks for which the thread of a slot has run in a stretch that began at `begin`.
fn ran(slot: &Slot, begin: u64, now: u64) -> u64 {
    if begin == 0 { 0 } else { now.saturating_sub(slot.alone_since.load(SeqCst).max(begin)) }
}

/// The calling thread is about to wait for `object`.
#[inline]
pub fn wait_begins(object: u64) {
    if let Some(here) = here() {
        here.thread.alone.polls.set(0);
        here.wait_begins(object);
    }
}

/// The calling thread's wait has ended. It may be held, unless it has got a lock by it.
#[inline]
pub fn wait_ends(kind: ObjectCode, outcome: OutcomeCode) {
    use ObjectCode::{Condition, Critical, Mutex, OmpLock, Ordered, RwLock, SpinLock};
    if let Some(here) = here() {
        let is_lock = matches!(kind, Mutex | RwLock | SpinLock | Critical | OmpLock | Ordered);
        // The mutex of a condition variable is held whether the time was up or not.
        let holds = kind == Condition || is_lock && outcome == OutcomeCode::Granted;
        here.wait_ends(holds, false);
    }
}

/// The calling thread works, though it has said that it is about to wait.
#[inline]
pub fn works_instead() {
    if let Some(here) = here()
        && here.slot.conduct() == Conduct::Waits
    {
        here.wait_ends(true, false);
    }
}

/// The calling thread has got a lock.
#[inline]
pub fn acquired(kind: ObjectCode) {
    if kind != ObjectCode::Ordered
        && let Some(here) = here()
    {
        let depth = &here.slot.alone_depth;
        // Nobody else decides by these two: an ordinary store is a tenth of a sequentially consistent one.
        depth.store(depth.load(Relaxed).wrapping_add(1), Relaxed);
        if here.is_profiled() {
            let progress = &here.block().progress;
            progress.store(progress.load(Relaxed).wrapping_add(1), Relaxed);
        }
    }
}

/// The calling thread is about to release a lock.
#[inline]
pub fn releasing() {
    if let Some(here) = here() {
        let depth = &here.slot.alone_depth;
        depth.store(depth.load(Relaxed).saturating_sub(1), Relaxed);
    }
}

/// The calling thread is at a hook at which it can be held.
#[inline]
pub fn point() {
    if let Some(here) = here() {
        here.point(false);
    }
}

/// The calling thread waits for others by looking again and again, and gives its core away in between.
#[cold]
#[inline(never)]
pub fn yields() {
    if let Some(here) = here() {
        here.polls();
    }
}

/// The calling thread did not get a lock that it has tried to get. One does so once and goes on with something else, or
/// again and again.
#[inline]
pub fn try_failed() {
    if let Some(here) = here() {
        let polls = &here.thread.alone.polls;
        if polls.get() % 2 == 1 {
            return here.polls();
        }
        polls.set(polls.get() + 1);
        here.point(false);
    }
}

/// The calling thread is about to end waits for `object`, for others.
#[inline]
pub fn wakes(object: u64) {
    if let Some(here) = here() {
        here.wakes(object);
    }
}

/// The calling thread is about to wait in a runtime for its team, or for tasks.
#[inline]
pub(crate) fn team_wait_begins() {
    live::team_wait_begins();
    if let Some(here) = here() {
        here.wait_begins(TEAM);
        here.thread.alone.in_runtime.set(1);
    }
}

/// The calling thread has gone through a barrier, and so may others that wait there.
#[inline]
pub fn passed(object: u64) {
    if let Some(here) = here() {
        here.wakes(object);
    }
}

/// What the calling thread, about to create one, leaves in the new thread's slot.
pub(crate) fn creates(slot: &Slot) {
    let of_team = thread::this().alone.starts_team.get() != 0;
    slot.alone_object.store(if of_team { TEAM } else { 0 }, SeqCst);
}

/// The calling thread, which was created through our hook, begins.
pub(crate) fn begins() {
    let Some(here) = here() else { return };
    if here.slot.alone_object.load(SeqCst) == TEAM {
        // The runtime waits for it before it lets the region begin; it is held where its share begins.
        here.is_quiet(Conduct::Waits);
        here.thread.alone.in_runtime.set(1);
    } else {
        here.point(true);
    }
}

/// The calling thread ends: it is the profiled one no more.
pub(crate) fn ends() {
    let Some(here) = here_or_in_runtime() else { return };
    if here.is_profiled() {
        here.progresses_into_wait();
        let block = here.block();
        block.profiled.store(0, SeqCst);
        here.frees();
        let turn = block.turn();
        if turn.phase() == Phase::Free {
            block.change(turn, turn.with(Phase::Gather));
        }
        here.calls();
    } else {
        here.wakes(here.slot.handle.load(SeqCst));
        here.is_quiet(Conduct::Waits);
    }
}

/// The calling thread is about to end the process, or may make no system calls any more.
pub(crate) fn stops(why: EndCode) {
    if let Some(here) = here() {
        here.ends_stretch(None);
        here.gives_up(why);
    }
}

/// The calling thread meets a parallel region.
#[inline]
pub(crate) fn region_begins() {
    if let Some(here) = here() {
        here.thread.alone.starts_team.set(1);
        here.wakes(TEAM);
        if here.is_profiled() {
            here.progresses();
        }
    }
}

/// The calling thread begins its share of a region: until then it has waited for that, if it has not met the region itself.
#[inline]
pub(crate) fn share_begins() {
    live::team_wait_ends();
    if let Some(here) = here_or_in_runtime() {
        here.thread.alone.starts_team.set(0);
        if here.leaves_runtime() { here.wait_ends(false, true) } else { here.point(true) }
    }
}

/// The region that the calling thread met has ended.
#[inline]
pub(crate) fn region_ends() {
    live::team_wait_ends();
    if let Some(here) = here_or_in_runtime() {
        here.thread.alone.starts_team.set(0);
        if here.leaves_runtime() {
            here.wait_ends(false, false);
        }
    }
}

/// The calling thread goes on after a wait for its team, or for tasks.
#[inline]
pub(crate) fn team_wait_ends() {
    live::team_wait_ends();
    if let Some(here) = here_or_in_runtime()
        && here.leaves_runtime()
    {
        here.wakes(TEAM);
        here.wait_ends(false, false);
    }
}

/// The calling thread has its turn at an `ordered`, which is as good as a lock.
#[inline]
pub(crate) fn turn_ends() {
    live::team_wait_ends();
    if let Some(here) = here_or_in_runtime()
        && here.leaves_runtime()
    {
        here.wait_ends(true, false);
    }
}

/// The calling thread begins to run a task, perhaps in a wait.
#[inline]
pub(crate) fn task_begins() {
    live::task_begins();
    let Some(here) = here_or_in_runtime() else { return };
    let waits = here.leaves_runtime();
    let beneath = &here.thread.alone.beneath;
    beneath.set(beneath.get() << 1 | u64::from(waits));
    if waits { here.wait_ends(false, false) } else { here.point(false) }
}

/// The task that the calling thread ran ends.
#[inline]
pub(crate) fn task_ends() {
    live::task_ends();
    let Some(here) = here() else { return };
    let beneath = &here.thread.alone.beneath;
    let waited = beneath.get() & 1 != 0;
    beneath.set(beneath.get() >> 1);
    if waited {
        here.wait_begins(TEAM);
        here.thread.alone.in_runtime.set(1);
    }
}

/// A system call that can block is about to be made.
pub(crate) fn call_begins(call: CallCode, descriptor: u32) {
    let Some(here) = here() else { return };
    if here.is_profiled() && !waits_for_others(call, descriptor) {
        return here.progresses();
    }
    here.wait_begins(CALL);
}

/// It has returned.
pub(crate) fn call_ends() {
    if let Some(here) = here()
        && here.slot.conduct() == Conduct::Waits
    {
        here.wait_ends(false, false);
    }
}

/// True if a call waits for what another thread, another process or time does: not for a disk.
fn waits_for_others(call: CallCode, descriptor: u32) -> bool {
    match call {
        CallCode::Sync => false,
        CallCode::Read | CallCode::Write | CallCode::Send | CallCode::Receive => is_a_channel(descriptor),
        _ => true,
    }
}
