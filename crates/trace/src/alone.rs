//! The words by which one thread of a process is let run by itself while the others are held.
//!
//! They lie in the process's first page ([`Block`]), and two for each thread in its slot. Holding is cooperative: a
//! thread is held only where it calls a hook of the library, and only while it holds no lock. One thread is the *profiled*
//! one. When it is about to wait it lets the others go; when its wait has ended it wants the turn, and has it once all
//! others are *quiet*: held, or in a wait of theirs.
//!
//! | phase | who runs | next |
//! |---|---|---|
//! | free | everybody | wanted: by the profiled thread, or by one that has just ended its wait |
//! | gather | everybody but new threads | wanted: by the recorder, which chooses the profiled thread |
//! | wanted | those that have not come to a hook yet | alone: by whoever sees that all others are quiet, or after a time |
//! | alone | the profiled thread | free: by itself when it has to wait, or by the recorder's watchdog |
//!
//! All accesses to these words are sequentially consistent: a thread first says that it is quiet and then looks whose turn
//! it is, the profiled one first takes the turn and then looks who is quiet, so one of them sees the other.

use crate::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

use crate::codes::coded;

/// What a thread waits for that waits for its OpenMP team, as [`crate::shared::Slot::alone_object`]. No object lies there.
pub const TEAM: u64 = 1;
/// What a thread waits for that is in a system call.
pub const CALL: u64 = 2;

/// The part of a process's first page.
#[repr(C)]
pub struct Block {
    /// Whose turn it is: a [`Turn`]. Held threads wait for a change of it (futex).
    pub turn: AtomicU32,
    /// Raised when the profiled thread may go; it waits for that (futex).
    pub go: AtomicU32,
    /// The profiled thread: the index of its slot + 1 in the upper 32 bits, its number + 1 in the lower; 0 for none.
    pub profiled: AtomicU64,
    /// Raised at each hook of the profiled thread.
    pub progress: AtomicU32,
    /// Raised, and woken (futex), when the recorder has something to look at.
    pub call: AtomicU32,
    /// 1 while the recorder waits for `call`.
    pub listens: AtomicU32,
    /// Raised by the recorder all the time: where it is not, it is gone, and everybody goes.
    pub beat: AtomicU32,
    /// Why everybody runs to the end: an [`EndCode`]; 0 while threads are held.
    pub given_up: AtomicU32,
    /// 1 if the profiled thread shall run only while a cache pirate is at work.
    pub pirated: AtomicU32,
    /// Raised, and woken (futex), when the turn changes in a way that concerns the pirate.
    pub pirate_bell: AtomicU32,
    /// The generation + 1 of the turn for which the pirate is ready.
    pub pirate_ready: AtomicU32,
    /// The profiled thread does not want the turn before this tick.
    pub not_before: AtomicU64,
    /// When the recorder let everybody go in the middle of a stretch, in ticks.
    pub released_at: AtomicU64,
    /// Why: an [`AloneCode`].
    pub released_why: AtomicU32,
    /// How long the profiled thread waits at most until the others are quiet, in µs.
    pub patience: AtomicU32,
    /// When the present stretch began, in ticks; 0 if the profiled thread is in none.
    pub stretch: AtomicU64,
    /// Ticks for which others ran in stretches.
    pub disturbed: AtomicU64,
    /// Slots from this one on have never been used.
    pub slots: AtomicU32,
    /// Threads that have begun, of those that have a number.
    pub begun: AtomicU32,
    /// How often in a row the turn was wanted for the profiled thread, and it did not come.
    pub misses: AtomicU32,
    /// For that reason it is not wanted for it before this tick.
    pub expected_from: AtomicU64,
    /// Stretches that began.
    pub stretches: AtomicU32,
    /// How many of them began although not all others were quiet.
    pub bounds: AtomicU32,
    /// The generation + 1 of a turn that the profiled thread is to end at its next hook, so that the others can go on.
    pub cut: AtomicU32,
    /// For how long it then lets them, in µs.
    pub cut_micros: AtomicU32,
}

coded! {
    /// In what way a stretch was disturbed.
    AloneCode {
        /// In none, as far as it was seen while it lasted.
        Held = 0,
        /// The others did not become quiet in the time that was waited for that.
        Bound = 1,
        /// The thread slept outside of any hook, and the others were let go.
        Asleep = 2,
        /// Nothing was heard of the thread for too long, and the others were let go for a moment.
        Watchdog = 3,
        /// Running alone was given up.
        GivenUp = 4,
        /// The cache pirate was not ready in the time that was waited for that.
        Unready = 5,
        /// The thread came to no hook for too long, and the others were let go: it may have waited for them in a loop of the
        /// program's own, and its CPU time is then no work.
        Spun = 6,
    }
}

coded! {
    /// Why nobody is held any more.
    EndCode {
        /// The recorder has decided so.
        Decided = 1,
        /// The recorder gave no sign of life.
        Silent = 2,
        /// The process ends.
        Exits = 3,
        /// The process has confined itself: the library may make no system calls.
        Confined = 4,
    }
}

coded! {
    /// What a thread does, as far as holding is concerned: [`crate::shared::Slot::alone_state`].
    Conduct {
        /// It runs.
        Runs = 0,
        /// It is in a wait, or in a system call.
        Waits = 1,
        /// It is held.
        Held = 2,
        /// The recorder has seen it sleep outside of any hook.
        Sleeps = 3,
    }
}

coded! {
    /// See the module's table.
    Phase {
        /// Everybody runs.
        Free = 0,
        /// Threads are held where they begin.
        Gather = 1,
        /// The profiled thread wants to run by itself.
        Wanted = 2,
        /// It does.
        Alone = 3,
    }
}

/// A phase and its generation, which rises whenever held threads are let go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn(u32);

const PHASE_BITS: u32 = 2;

impl Turn {
    /// As it is in [`Block::turn`].
    pub const fn from_word(word: u32) -> Turn {
        Turn(word)
    }

    /// As it goes into [`Block::turn`].
    pub const fn word(self) -> u32 {
        self.0
    }

    /// The phase.
    pub const fn phase(self) -> Phase {
        match self.0 & ((1 << PHASE_BITS) - 1) {
            0 => Phase::Free,
            1 => Phase::Gather,
            2 => Phase::Wanted,
            _ => Phase::Alone,
        }
    }

    /// The generation.
    pub const fn generation(self) -> u32 {
        self.0 >> PHASE_BITS
    }

    /// Another phase of the same generation.
    #[must_use]
    pub const fn with(self, phase: Phase) -> Turn {
        Turn(self.generation() << PHASE_BITS | phase as u32)
    }

    /// A phase of the next generation.
    #[must_use]
    pub const fn next(self, phase: Phase) -> Turn {
        Turn(self.generation().wrapping_add(1) << PHASE_BITS | phase as u32)
    }
}

/// Who [`Block::profiled`] names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Profiled {
    /// The index of its slot.
    pub slot: u32,
    /// Its number.
    pub number: u32,
}

impl Profiled {
    /// As it goes into [`Block::profiled`].
    pub const fn word(self) -> u64 {
        (self.slot as u64 + 1) << 32 | (self.number as u64 + 1)
    }
}

impl Block {
    /// Whose turn it is.
    pub fn turn(&self) -> Turn {
        Turn::from_word(self.turn.load(SeqCst))
    }

    /// Changes the turn, unless it has changed meanwhile.
    pub fn change(&self, from: Turn, to: Turn) -> bool {
        self.turn.compare_exchange(from.word(), to.word(), SeqCst, SeqCst).is_ok()
    }

    /// The profiled thread.
    pub fn profiled(&self) -> Option<Profiled> {
        let word = self.profiled.load(SeqCst);
        Some(Profiled { slot: ((word >> 32) as u32).checked_sub(1)?, number: (word as u32).checked_sub(1)? })
    }

    /// True once everybody runs to the end.
    pub fn is_given_up(&self) -> bool {
        self.given_up.load(SeqCst) != 0
    }

    /// Everybody runs to the end from now on. Who waits for `turn`, `go` or the bell must be woken after it.
    pub fn give_up(&self, why: EndCode) {
        let _ = self.given_up.compare_exchange(0, why as u32, SeqCst, SeqCst);
        loop {
            let turn = self.turn();
            if self.change(turn, turn.next(Phase::Free)) {
                break;
            }
        }
        self.go.fetch_add(1, SeqCst);
        self.pirate_bell.fetch_add(1, SeqCst);
    }
}

/// A stretch in which the profiled thread ran, or was to run, by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// When it began, in ticks.
    pub begin: u64,
    /// When the thread was about to wait, or ended.
    pub end: u64,
    /// The thread's CPU time in ns at `begin`.
    pub cpu_begin: u64,
    /// The same at `end`.
    pub cpu_end: u64,
    /// Ticks in which others ran, summed over them.
    pub disturbed: u64,
    /// In what way it was disturbed.
    pub why: AloneCode,
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_turn_keeps_its_generation_until_threads_are_let_go() {
        let free = Turn::from_word(0);
        assert_eq!((free.phase(), free.generation()), (Phase::Free, 0));
        let wanted = free.with(Phase::Wanted);
        let alone = wanted.with(Phase::Alone);
        assert_eq!((alone.phase(), alone.generation()), (Phase::Alone, 0));
        let next = alone.next(Phase::Free);
        assert_eq!((next.phase(), next.generation()), (Phase::Free, 1));
        assert_eq!(Turn::from_word(next.word()), next);
        for phase in Phase::ALL {
            assert_eq!(next.with(*phase).phase(), *phase);
        }
    }

    #[test]
    fn a_profiled_thread_is_never_mistaken_for_none() {
        let word = Profiled { slot: 0, number: 0 }.word();
        assert_ne!(word, 0);
        assert_ne!(word as u32, 0);
        assert_ne!(word >> 32, 0);
    }
}
