//! Waiting for the recorder, for what it provides.

use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use holdup_trace::shared::Session;

use crate::arch::{number, system_call};
use crate::life::{confined, recording, ring, session, ticks, ticks_of_micros};
use crate::mapping::file;

/// How long (µs) all threads together may wait for the recorder for want of memory that is needed again and again: enough for
/// bursts beside other programs, which the recorder shares its core with; too little to slow a program down whose events
/// come faster than they can be written.
const PATIENCE: u64 = 500_000;
/// How long they have (ticks).
static WAITED: AtomicU64 = AtomicU64::new(0);
/// 1 once it was waited in vain for what is needed once: one such wait is enough for a process.
static IN_VAIN: AtomicU32 = AtomicU32::new(0);

/// What is taken from the recorder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// What a process or a thread needs once: without, all that it does would be missing.
    Once,
    /// What is needed again and again.
    Often,
}

/// Takes something that the recorder provides; where there is none, lets the recorder run. What is needed once is waited for
/// as long as the recorder is at work and has not said that there is no more, for some seconds at most.
pub fn patiently<T>(need: Need, take: impl Fn() -> Option<T>) -> Option<T> {
    let mut wait = Wait::default();
    loop {
        let taken = take();
        let Some(session) = session().filter(|_| taken.is_none() && !confined()) else { return taken };
        ring();
        if is_real_time() {
            return None;
        }
        let goes_on = match need {
            Need::Once if IN_VAIN.load(Ordering::Relaxed) != 0 => false,
            Need::Once => wait.until_next_round(session),
            Need::Often => wait.for_a_moment(session),
        };
        if !goes_on {
            return take();
        }
    }
}

/// True if the calling thread keeps its core until it waits: it does not wait for us, as another would run then.
fn is_real_time() -> bool {
    const OTHER: isize = 0;
    const BATCH: isize = 3;
    const IDLE: isize = 5;
    const RESET_ON_FORK: isize = 0x4000_0000;
    // SAFETY: the call only tells.
    let policy = unsafe { system_call(number::SCHED_GETSCHEDULER, [0; 6]) };
    !matches!(policy & !RESET_ON_FORK, OTHER | BATCH | IDLE)
}

/// How long it has been waited for the recorder.
#[derive(Default)]
struct Wait {
    /// The round of the recorder in which the wait began.
    first: Option<u32>,
    /// The round of the recorder, and when (ticks) it was first seen.
    round: Option<(u32, u64)>,
    begun: u64,
}

impl Wait {
    /// Waits for the recorder to look at what there is to do. False if it does not, or has nothing to give.
    fn until_next_round(&mut self, session: &Session) -> bool {
        /// How long (µs) the recorder may seem to do nothing.
        const SILENT: u64 = 1_000_000;
        /// How long (µs) it is waited at most.
        const ALL: u64 = 10_000_000;
        const A_TENTH_OF_A_SECOND: u64 = 100_000_000;
        let (now, round) = (ticks(), session.rounds.load(Ordering::Relaxed));
        if self.begun == 0 {
            self.begun = now;
        }
        let seen = self.round.filter(|(seen, _)| *seen == round).map_or(now, |(_, seen)| seen);
        self.round = Some((round, seen));
        let is_over = now - seen > ticks_of_micros(SILENT) || now - self.begun > ticks_of_micros(ALL);
        if is_over {
            IN_VAIN.store(1, Ordering::Relaxed);
            session.unheard.store(round.wrapping_add(1), Ordering::Relaxed);
        }
        if is_over || session.unheard.load(Ordering::Relaxed) == round.wrapping_add(1) || is_full(session) {
            return false;
        }
        sleep_until_after(session, round, A_TENTH_OF_A_SECOND);
        true
    }

    /// Waits for the end of the recorder's round, for a millisecond at most. False where the recorder had its chance: for so
    /// many rounds others took all that it gave, or all threads together have waited for long enough.
    fn for_a_moment(&mut self, session: &Session) -> bool {
        const ROUNDS: u32 = 40;
        const A_MILLISECOND: u64 = 1_000_000;
        let round = session.rounds.load(Ordering::Relaxed);
        let rounds = round.wrapping_sub(*self.first.get_or_insert(round));
        let has_waited = WAITED.load(Ordering::Relaxed);
        if rounds >= ROUNDS || has_waited >= ticks_of_micros(PATIENCE) || is_full(session) {
            return false;
        }
        let begun = ticks();
        sleep_until_after(session, round, A_MILLISECOND);
        WAITED.fetch_add(ticks() - begun, Ordering::Relaxed);
        true
    }
}

/// Sleeps until the recorder has ended this round, for so many nanoseconds (less than a second) at most.
fn sleep_until_after(session: &Session, round: u32, nanoseconds: u64) {
    const WAIT: usize = 0;
    let time = [0, nanoseconds];
    session.waiters.fetch_add(1, Ordering::Relaxed);
    let (word, time) = (ptr::from_ref(&session.rounds) as usize, time.as_ptr() as usize);
    // SAFETY: a wait on a mapped word, with a timespec.
    unsafe { system_call(number::FUTEX, [word, WAIT, round as usize, time, 0, 0]) };
    session.waiters.fetch_sub(1, Ordering::Relaxed);
}

/// True if the recorder has no more to give: to anybody, or to this process.
fn is_full(session: &Session) -> bool {
    session.closed.load(Ordering::Relaxed) != 0
        || session.is_full.load(Ordering::Relaxed) != 0
        || recording() && file().header().is_full.load(Ordering::Relaxed) != 0
}

/// In the child of a fork: what its parent waited for is not its own.
pub(crate) fn forget() {
    WAITED.store(0, Ordering::Relaxed);
    IN_VAIN.store(0, Ordering::Relaxed);
}
