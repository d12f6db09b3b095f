//! Criticality while the program runs, in the memory that it shares with whoever looks: the words of it.
//!
//! Source: Du Bois et al., "Criticality Stacks", ISCA'13, sections 3.1 and 3.2. While r threads are active, each of them gets
//! t / r of a time t. The paper's hardware adds that to the counter of each active thread at each change. Here a change costs
//! the same whatever the number of threads: the process has one sum, V = ∫ dt / r, and a thread that becomes active notes V;
//! when it stops being active, what V has gained since is its criticality of that time.
//!
//! V, the time of the last change and r lie in one word of 128 bits ([`Clock`]), which is changed by compare and exchange:
//! nobody holds anything that a kill or a signal could leave held. A thread's own sums ([`ThreadCell`]) are written by that
//! thread alone, between two changes of a sequence number, so that who reads them knows when to look again.
//!
//! Times are ticks of the session's clock; V and criticality are in 2^-[`FRACTION_BITS`] ticks and wrap around (at 3 GHz
//! after 278 days). A division drops less than one such unit, so a thread loses less than one for each change of the process.

use crate::atomic::{AtomicU32, AtomicU64, Ordering, fence, spin_loop};

/// Bits of V and of criticality below one tick.
pub const FRACTION_BITS: u32 = 8;

const ACTIVE_BITS: u32 = 16;
const TIME_BITS: u32 = 64 - ACTIVE_BITS;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;
const ACTIVE_MASK: u64 = (1 << ACTIVE_BITS) - 1;

/// What a [`Clock`] showed at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reading {
    /// V, in 2^-[`FRACTION_BITS`] ticks.
    pub progress: u64,
    stamp: u64,
}

impl Reading {
    /// How many threads are active.
    pub const fn active(self) -> u32 {
        (self.stamp & ACTIVE_MASK) as u32
    }

    /// The lower 48 bits of the time of the last change.
    pub const fn time(self) -> u64 {
        self.stamp >> ACTIVE_BITS
    }

    /// The same at `now`, which may be a little earlier than the last change: another core's counter, or a thread that lost
    /// its core between reading the time and telling it. Then no time has passed.
    #[must_use]
    pub const fn at(self, now: u64) -> Reading {
        let passed = now.wrapping_sub(self.time()) & TIME_MASK;
        let passed = if passed >> (TIME_BITS - 1) == 0 { passed } else { 0 };
        let active = self.stamp & ACTIVE_MASK;
        let gained = match (passed << FRACTION_BITS).checked_div(active) {
            Some(gained) => gained,
            None => 0,
        };
        let time = (self.time() + passed) & TIME_MASK;
        Reading { progress: self.progress.wrapping_add(gained), stamp: time << ACTIVE_BITS | active }
    }

    const fn with(self, active: u64) -> Reading {
        Reading { stamp: self.stamp & !ACTIVE_MASK | active, ..self }
    }
}

/// V, the time of the last change and the number of active threads: one word of 128 bits, in a cache line of its own.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Clock {
    progress: AtomicU64,
    stamp: AtomicU64,
    /// Held for each access: then what one instruction changes, is changed at once here too.
    #[cfg(loom)]
    whole: loom::sync::Mutex<()>,
}

impl Clock {
    /// Nobody is active at `now`. Before anybody else uses it; a gap of half of what 48 bits can hold (13 hours at 3 GHz)
    /// would be taken for a step back.
    pub fn starts(&self, now: u64) {
        self.stamp.store((now & TIME_MASK) << ACTIVE_BITS, Ordering::Release);
    }

    /// What it shows, as of its last change.
    pub fn read(&self) -> Reading {
        loop {
            let stamp = self.half(&self.stamp, Ordering::Acquire);
            let progress = self.half(&self.progress, Ordering::Acquire);
            // Between two changes with the same stamp no time has passed, so V is the same as well.
            if self.half(&self.stamp, Ordering::Acquire) == stamp {
                return Reading { progress, stamp };
            }
            #[cfg(loom)]
            spin_loop();
        }
    }

    /// One more thread is active from `now` on. What the clock shows then.
    #[inline]
    pub fn joins(&self, now: u64) -> Reading {
        self.change(now, |active| if active < ACTIVE_MASK { active + 1 } else { active })
    }

    /// One thread less.
    #[inline]
    pub fn leaves(&self, now: u64) -> Reading {
        self.change(now, |active| active.saturating_sub(1))
    }

    #[inline]
    fn change(&self, now: u64, active: impl Fn(u64) -> u64) -> Reading {
        // Halves that do not belong together only make the exchange fail.
        let mut seen = Reading {
            progress: self.half(&self.progress, Ordering::Relaxed),
            stamp: self.half(&self.stamp, Ordering::Relaxed),
        };
        loop {
            let wanted = seen.at(now);
            let wanted = wanted.with(active(wanted.stamp & ACTIVE_MASK));
            let found = self.exchange(seen, wanted);
            if found == seen {
                return wanted;
            }
            seen = found;
        }
    }

    /// One half of the word.
    #[inline]
    fn half(&self, half: &AtomicU64, order: Ordering) -> u64 {
        #[cfg(loom)]
        let _whole = self.whole.lock();
        half.load(order)
    }

    /// What one instruction does.
    #[cfg(loom)]
    fn exchange(&self, seen: Reading, wanted: Reading) -> Reading {
        let _whole = self.whole.lock();
        let found = Reading {
            progress: self.progress.load(Ordering::Relaxed),
            stamp: self.stamp.load(Ordering::Relaxed),
        };
        if found == seen {
            self.progress.store(wanted.progress, Ordering::Release);
            self.stamp.store(wanted.stamp, Ordering::Release);
        }
        found
    }

    /// Writes `wanted` if the word is `seen`; what it was.
    #[cfg(all(target_arch = "x86_64", not(loom)))]
    #[inline]
    fn exchange(&self, seen: Reading, wanted: Reading) -> Reading {
        let (progress, stamp);
        // SAFETY: the word is aligned to 16 bytes and only changed by this instruction. The compiler keeps rbx for itself, so
        // it is put back; `is_possible` says whether the processor has the instruction.
        unsafe {
            core::arch::asm!(
                "xchg {kept}, rbx",
                "lock cmpxchg16b [rdi]",
                "mov rbx, {kept}",
                kept = inout(reg) wanted.progress => _,
                in("rdi") &raw const *self,
                in("rcx") wanted.stamp,
                inout("rax") seen.progress => progress,
                inout("rdx") seen.stamp => stamp,
                options(nostack),
            );
        }
        Reading { progress, stamp }
    }

    /// Never used: see [`is_possible`].
    #[cfg(not(any(target_arch = "x86_64", loom)))]
    fn exchange(&self, seen: Reading, _: Reading) -> Reading {
        seen
    }
}

/// True if this processor can change 128 bits at once: all of x86-64 but the first ones of 2003.
pub fn is_possible() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        const CMPXCHG16B: u32 = 1 << 13;
        core::arch::x86_64::__cpuid(1).ecx & CMPXCHG16B != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The processor's counter, which is the session's clock unless that is `CLOCK_MONOTONIC`.
#[inline(always)]
pub fn counter() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is unprivileged on Linux and has no other effect.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// What a process has for all its threads.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Block {
    /// V.
    pub clock: Clock,
    /// Criticality of threads that have ended, in 2^-[`FRACTION_BITS`] ticks.
    pub ended_criticality: AtomicU64,
    /// Ticks for which they were active.
    pub ended_active: AtomicU64,
    /// Their changes.
    pub ended_changes: AtomicU64,
    /// How many there are.
    pub ended_threads: AtomicU64,
    /// Slots from this one on have never been used.
    pub slots: AtomicU32,
}

/// What a thread does: as it is in [`ThreadCell::state`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doing {
    /// Useful work, or it waits for a core to do it on.
    Active,
    /// It waits for an object: the code of an [`crate::wire::ObjectCode`].
    Waits(u8),
    /// It is in a system call that can block: the code of a [`crate::wire::CallCode`].
    Calls(u8),
    /// It waits in a runtime for its team, or for tasks.
    Team,
    /// The cell belongs to no thread.
    Nobody,
}

impl Doing {
    const KIND: u32 = 8;

    /// As a word.
    pub const fn word(self) -> u32 {
        match self {
            Doing::Nobody => 0,
            Doing::Active => 1,
            Doing::Team => 2,
            Doing::Waits(code) => 3 | (code as u32) << Doing::KIND,
            Doing::Calls(code) => 4 | (code as u32) << Doing::KIND,
        }
    }

    /// Of a word.
    pub const fn from_word(word: u32) -> Doing {
        let code = (word >> Doing::KIND) as u8;
        match word & 0xff {
            1 => Doing::Active,
            2 => Doing::Team,
            3 => Doing::Waits(code),
            4 => Doing::Calls(code),
            _ => Doing::Nobody,
        }
    }
}

/// What a thread has. Only that thread writes to it.
#[repr(C)]
#[derive(Debug, Default)]
pub struct ThreadCell {
    /// Odd while the thread writes.
    sequence: AtomicU32,
    state: AtomicU32,
    /// V when it became active, or when it last was.
    progress: AtomicU64,
    /// When its state changed, in ticks.
    since: AtomicU64,
    criticality: AtomicU64,
    active: AtomicU64,
    changes: AtomicU64,
}

/// What a [`ThreadCell`] showed at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadReading {
    /// What it does.
    pub doing: Doing,
    /// V when it became active.
    pub progress: u64,
    /// Since when it does that, in ticks.
    pub since: u64,
    /// Its criticality up to then, in 2^-[`FRACTION_BITS`] ticks.
    pub criticality: u64,
    /// Ticks for which it was active up to then.
    pub active: u64,
    /// How often it began or stopped being active.
    pub changes: u64,
}

impl ThreadReading {
    /// Its criticality up to a reading of the clock, in 2^-[`FRACTION_BITS`] ticks.
    pub fn criticality_at(&self, clock: Reading) -> u64 {
        let gained = clock.progress.wrapping_sub(self.progress);
        // It may have become active after the clock was read.
        let counts = self.doing == Doing::Active && gained >> 63 == 0;
        if counts { self.criticality.wrapping_add(gained) } else { self.criticality }
    }

    /// Ticks for which it was active up to `now`.
    pub fn active_at(&self, now: u64) -> u64 {
        if self.doing == Doing::Active { self.active + now.saturating_sub(self.since) } else { self.active }
    }
}

impl ThreadCell {
    /// The thread that has this cell from now on is active.
    pub fn begins(&self, clock: &Clock, now: u64) {
        let reading = clock.joins(now);
        self.write(|| {
            for word in [&self.criticality, &self.active, &self.changes] {
                word.store(0, Ordering::Relaxed);
            }
            self.progress.store(reading.progress, Ordering::Relaxed);
            self.since.store(now, Ordering::Relaxed);
            self.state.store(Doing::Active.word(), Ordering::Relaxed);
        });
    }

    /// The thread is no longer active, but does something else. Nothing happens if it was not active: it keeps what it does.
    #[inline]
    pub fn stops(&self, clock: &Clock, now: u64, doing: Doing) {
        if self.doing() != Doing::Active {
            return;
        }
        let reading = clock.leaves(now);
        self.write(|| {
            let gained = reading.progress.wrapping_sub(self.progress.load(Ordering::Relaxed));
            let criticality = self.criticality.load(Ordering::Relaxed);
            self.criticality.store(criticality.wrapping_add(gained), Ordering::Relaxed);
            let active = now.saturating_sub(self.since.load(Ordering::Relaxed));
            self.active.store(self.active.load(Ordering::Relaxed) + active, Ordering::Relaxed);
            self.progress.store(reading.progress, Ordering::Relaxed);
            self.changed_to(doing, now);
        });
    }

    /// The thread is active again. Nothing happens if it was.
    #[inline]
    pub fn goes_on(&self, clock: &Clock, now: u64) {
        if matches!(self.doing(), Doing::Active | Doing::Nobody) {
            return;
        }
        let reading = clock.joins(now);
        self.write(|| {
            self.progress.store(reading.progress, Ordering::Relaxed);
            self.changed_to(Doing::Active, now);
        });
    }

    /// The thread ends; what it had is added to that of ended threads.
    pub fn ends(&self, block: &Block, now: u64) {
        if self.doing() == Doing::Nobody {
            return;
        }
        self.stops(&block.clock, now, Doing::Team);
        let sums = [
            (&block.ended_criticality, &self.criticality),
            (&block.ended_active, &self.active),
            (&block.ended_changes, &self.changes),
        ];
        self.write(|| self.state.store(Doing::Nobody.word(), Ordering::Relaxed));
        for (all, own) in sums {
            all.fetch_add(own.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        block.ended_threads.fetch_add(1, Ordering::Release);
    }

    /// What the thread does.
    #[inline]
    pub fn doing(&self) -> Doing {
        Doing::from_word(self.state.load(Ordering::Relaxed))
    }

    fn changed_to(&self, doing: Doing, now: u64) {
        self.since.store(now, Ordering::Relaxed);
        self.changes.store(self.changes.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.state.store(doing.word(), Ordering::Relaxed);
    }

    #[inline]
    fn write(&self, write: impl FnOnce()) {
        let sequence = self.sequence.load(Ordering::Relaxed);
        self.sequence.store(sequence.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        write();
        self.sequence.store(sequence.wrapping_add(2), Ordering::Release);
    }

    /// What it shows. A thread that was killed while it wrote is read as it is.
    pub fn read(&self) -> ThreadReading {
        const TRIES: u32 = 1000;
        let mut tries = 0;
        loop {
            let sequence = self.sequence.load(Ordering::Acquire);
            let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
            let reading = ThreadReading {
                doing: self.doing(),
                progress: load(&self.progress),
                since: load(&self.since),
                criticality: load(&self.criticality),
                active: load(&self.active),
                changes: load(&self.changes),
            };
            fence(Ordering::Acquire);
            let is_whole = sequence.is_multiple_of(2) && self.sequence.load(Ordering::Relaxed) == sequence;
            tries += 1;
            if is_whole || tries == TRIES {
                return reading;
            }
            spin_loop();
        }
    }
}

#[cfg(all(test, not(loom)))]
#[path = "live_tests.rs"]
mod tests;
