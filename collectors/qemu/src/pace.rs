//! Keeps threads side by side: emulated threads run as fast as the host lets them, which can be far from how they would
//! run together natively.
//!
//! Each thread has a clock of instructions. One that is more than the allowed skew ahead of the slowest thread that runs
//! naps until that has caught up. A thread in a system call or a wait does not run, and neither does one whose clock stands still, as
//! that of a thread does that spins in a runtime: its clock is set to that of the slowest when it goes on. Naps are bounded, so that
//! nothing can ever wait for a thread that waits here for longer than that.

use std::cell::Cell;
use std::ffi::c_uint;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::reserved::{Reserved, Zeroed};

/// How long a thread naps before it looks again.
const NAP: Duration = Duration::from_micros(50);
/// After so many naps it goes on all the same: a second.
const NAPS: u32 = 20_000;
/// After so many naps in which the slowest thread got no further it does not run: a tenth of a second, since on a busy machine
/// one that does run may be without a core for long.
const STANDS_STILL: u32 = 2_000;

thread_local! {
    /// The index of the thread that calls the kernel, for those that it creates.
    static CALLER: Cell<Option<c_uint>> = const { Cell::new(None) };
}

/// The clocks of all threads, by the emulator's index of them.
pub(crate) struct Pace {
    clocks: Reserved<Clock>,
    /// One more than the highest index.
    used: AtomicU32,
    skew: u64,
}

// SAFETY: the clocks are atomic.
unsafe impl Sync for Pace {}

struct Clock {
    /// Instructions so far; those of a thread that runs are [`Clock::exact`] ones.
    seen: AtomicU64,
    /// As `seen`, but only its thread uses it.
    exact: AtomicU64,
    /// When to compare next.
    compare_at: AtomicU64,
    state: AtomicU32,
    /// What the thread has begun of OpenMP on top of each other, the last in the lowest bit: 1 where it waits there, 0 where it works.
    /// Only its thread uses it.
    begun: AtomicU64,
}

/// Bits of [`Clock::state`]. A thread runs if only the first is set.
const ALIVE: u32 = 1;
const IN_CALL: u32 = 2;
const WAITING: u32 = 4;
/// It waits for its team, or for tasks.
const IN_SYNC: u32 = 8;
/// Its clock stands still.
const STANDING: u32 = 16;

// SAFETY: atomic numbers.
unsafe impl Zeroed for Clock {}

impl Pace {
    /// Clocks for that many threads; `None` without address space.
    pub(crate) fn new(threads: usize, skew: u64) -> Option<Self> {
        Some(Self { clocks: Reserved::new(threads)?, used: AtomicU32::new(0), skew })
    }

    fn clock(&self, index: c_uint) -> &Clock {
        // SAFETY: there is one for each index that there can be.
        unsafe { &*self.clocks.base().add(index as usize) }
    }

    /// The clock of the slowest thread that runs, `but` for one, and which that is.
    fn slowest(&self, but: c_uint) -> Option<(u64, c_uint)> {
        let others = (0..self.used.load(Ordering::Relaxed)).filter(|index| *index != but);
        let running = others.filter(|index| self.clock(*index).state.load(Ordering::Acquire) == ALIVE);
        running.map(|index| (self.clock(index).seen.load(Ordering::Relaxed), index)).min()
    }

    /// A thread begins; the caller is its parent, and their clocks are the same.
    pub(crate) fn begins(&self, index: c_uint) {
        let now = CALLER.get().map_or(0, |parent| self.clock(parent).exact.load(Ordering::Relaxed));
        self.used.fetch_max(index + 1, Ordering::Relaxed);
        self.clock(index).set(now, self.skew);
        self.clock(index).begun.store(0, Ordering::Relaxed);
        self.clock(index).state.store(ALIVE, Ordering::Release);
    }

    /// A thread ends.
    pub(crate) fn ends(&self, index: c_uint) {
        self.clock(index).state.store(0, Ordering::Release);
    }

    /// A thread calls the kernel, which may take long.
    pub(crate) fn calls(&self, index: c_uint) {
        CALLER.set(Some(index));
        self.clock(index).state.fetch_or(IN_CALL, Ordering::AcqRel);
    }

    /// The kernel has answered.
    pub(crate) fn returns(&self, index: c_uint) {
        self.goes_on(index, IN_CALL);
    }

    /// A wait begins, or ends.
    pub(crate) fn waits(&self, index: c_uint, begins: bool) {
        if begins {
            self.clock(index).state.fetch_or(WAITING, Ordering::AcqRel);
        } else {
            self.goes_on(index, WAITING);
        }
    }

    /// A thread begins to wait for its team or for tasks, or to work, on top of what it was doing.
    pub(crate) fn nests(&self, index: c_uint, waits: bool) {
        self.turns(index, |begun| begun << 1 | u64::from(waits));
    }

    /// It ends what it began last.
    pub(crate) fn unnests(&self, index: c_uint) {
        self.turns(index, |begun| begun >> 1);
    }

    /// It has done its share of a region, and waits for the team, and then for the next region.
    pub(crate) fn arrives(&self, index: c_uint) {
        self.turns(index, |begun| begun | 1);
    }

    fn turns(&self, index: c_uint, change: impl Fn(u64) -> u64) {
        let clock = self.clock(index);
        let begun = change(clock.begun.load(Ordering::Relaxed));
        clock.begun.store(begun, Ordering::Relaxed);
        if begun & 1 != 0 {
            clock.state.fetch_or(IN_SYNC, Ordering::AcqRel);
        } else {
            self.goes_on(index, IN_SYNC);
        }
    }

    fn goes_on(&self, index: c_uint, after: u32) {
        let clock = self.clock(index);
        if clock.state.load(Ordering::Relaxed) & after != 0 {
            let now = clock.exact.load(Ordering::Relaxed);
            let now = self.slowest(index).map_or(now, |(slowest, _)| slowest.max(now));
            clock.set(now, self.skew);
            clock.state.fetch_and(!after, Ordering::AcqRel);
        }
    }

    /// A thread executes so many instructions.
    #[inline(always)]
    pub(crate) fn executes(&self, index: c_uint, instructions: u64) {
        let clock = self.clock(index);
        let now = clock.exact.load(Ordering::Relaxed) + instructions;
        clock.exact.store(now, Ordering::Relaxed);
        if now >= clock.compare_at.load(Ordering::Relaxed) {
            self.compare(index, now);
        }
    }

    #[cold]
    fn compare(&self, index: c_uint, now: u64) {
        self.clock(index).set(now, self.skew);
        self.goes_on(index, STANDING);
        let mut known = (0, index);
        let mut stood = 0;
        for _ in 0..NAPS {
            let Some(slowest) = self.slowest(index) else { return };
            if now <= slowest.0.saturating_add(self.skew) {
                return;
            }
            stood = if slowest == known { stood + 1 } else { 0 };
            known = slowest;
            if stood == STANDS_STILL {
                self.clock(slowest.1).state.fetch_or(STANDING, Ordering::AcqRel);
            } else {
                std::thread::sleep(NAP);
            }
        }
    }
}

impl Clock {
    fn set(&self, now: u64, skew: u64) {
        self.exact.store(now, Ordering::Relaxed);
        self.seen.store(now, Ordering::Relaxed);
        // Often enough that what others see is right within a quarter of the skew.
        self.compare_at.store(now + (skew / 4).max(1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slowest(pace: &Pace, but: c_uint) -> Option<u64> {
        pace.slowest(but).map(|(clock, _)| clock)
    }

    #[test]
    fn who_waits_for_its_team_runs_only_in_tasks() {
        let pace = Pace::new(8, 1000).unwrap();
        (0..2).for_each(|index| pace.begins(index));
        let runs = |pace: &Pace| slowest(pace, 0).is_some();
        // A share, a wait for tasks in it, a task in that, and one that this makes and executes at once.
        pace.nests(1, false);
        assert!(runs(&pace));
        pace.nests(1, true);
        assert!(!runs(&pace));
        pace.nests(1, false);
        pace.nests(1, false);
        pace.unnests(1);
        assert!(runs(&pace));
        pace.unnests(1);
        assert!(!runs(&pace));
        pace.unnests(1);
        assert!(runs(&pace));
        // At the join, and in a task there; then the next share.
        pace.arrives(1);
        assert!(!runs(&pace));
        pace.nests(1, false);
        assert!(runs(&pace));
        pace.unnests(1);
        assert!(!runs(&pace));
        pace.nests(1, false);
        assert!(runs(&pace));
        // However many there are.
        (0..1_000).for_each(|_| pace.nests(1, true));
        (0..1_000).for_each(|_| pace.unnests(1));
        assert!(runs(&pace));
    }

    #[test]
    fn who_stands_still_does_not_run_until_it_goes_on() {
        let pace = Pace::new(8, 1000).unwrap();
        (0..2).for_each(|index| pace.begins(index));
        // The second thread spins where nothing is counted: the first would nap for a second each 250 instructions.
        for _ in 0..100 {
            pace.executes(0, 1_000);
        }
        assert_eq!(slowest(&pace, 0), None);
        pace.executes(1, 250);
        assert_eq!(slowest(&pace, 0), Some(100_000));
    }

    #[test]
    fn who_does_not_run_holds_nobody_up() {
        let pace = Pace::new(8, 1000).unwrap();
        for index in 0..3 {
            pace.begins(index);
        }
        pace.executes(1, 600);
        assert_eq!(slowest(&pace, 0), Some(0));
        pace.ends(2);
        assert_eq!(slowest(&pace, 0), Some(600));
        pace.waits(1, true);
        assert_eq!(slowest(&pace, 0), None);
        // Nobody else runs: no nap, however far it goes.
        pace.executes(0, 1_000_000);
        pace.waits(1, false);
        assert_eq!(pace.clock(1).exact.load(Ordering::Relaxed), 1_000_000);
        pace.calls(0);
        assert_eq!(slowest(&pace, 1), None);
        pace.begins(2);
        assert_eq!(slowest(&pace, 1), Some(1_000_000));
    }
}
