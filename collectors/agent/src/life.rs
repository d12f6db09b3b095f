//! What a process is in its session, and what becomes of that at `fork`: the state that all parts of this library ask for.
//!
//! | mode | joined | state | next |
//! |---|---|---|---|
//! | off | no | before the constructor, or no session | on, by [`join`](crate::process::join) |
//! | on | yes | recording | off when the recorder has left; the child of a fork sees off |
//! | off | yes | a forked child without events | on, by `rejoin` at its first event |
//! | off | given up | cannot record | – |
//!
//! The mode lies on a page that the kernel wipes in the child of any fork, however it was made, so that a child
//! never writes to its parent's file.

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use holdup_trace::shared::{ALONE, LIVE, MARKS, MONOTONIC_CLOCK, Refusal, Session, UNRECORDED};

use crate::arch::{self, number, system_call};
use crate::hot;

#[repr(C, align(4096))]
struct ModePage {
    mode: AtomicU8,
    /// 1 once the process is known not to be the one that it was forked from.
    seen: AtomicU8,
    rest: [AtomicU8; 4094],
}

static MODE: ModePage =
    ModePage { mode: AtomicU8::new(0), seen: AtomicU8::new(0), rest: [const { AtomicU8::new(0) }; 4094] };

pub(crate) const NOT_JOINED: u32 = 0;
pub(crate) const JOINED: u32 = 1;
pub(crate) const JOINING: u32 = 2;
pub(crate) const GIVEN_UP: u32 = 3;

/// Which of these the process is.
pub(crate) static MEMBERSHIP: AtomicU32 = AtomicU32::new(NOT_JOINED);
static SESSION: AtomicPtr<Session> = AtomicPtr::new(ptr::null_mut());
static CONFINED: AtomicU8 = AtomicU8::new(0);
static SHORT_CALL: AtomicU32 = AtomicU32::new(u32::MAX);
static TICKS_PER_US: AtomicU32 = AtomicU32::new(1000);
static FLAGS: AtomicU32 = AtomicU32::new(0);
static MONOTONIC: AtomicUsize = AtomicUsize::new(0);

/// True while events are recorded. A forked child sees false.
#[inline(always)]
pub fn recording() -> bool {
    MODE.mode.load(Ordering::Relaxed) != 0
}

/// In the mode byte while events are told.
const RECORDING: u8 = 1;
/// Beside it: one thread is to run by itself.
const RUNS_ALONE: u8 = 2;
/// Beside it: criticality is kept up to date.
const LIVES: u8 = 4;
/// Beside it: nothing is written. The highest bit in use, so that one comparison tells such a mode.
const WRITES_NOTHING: u8 = 8;

/// True while events are recorded and one thread is to run by itself.
#[inline(always)]
pub fn alone() -> bool {
    MODE.mode.load(Ordering::Relaxed) & RUNS_ALONE != 0
}

/// True while criticality is kept up to date.
#[inline(always)]
pub fn lives() -> bool {
    MODE.mode.load(Ordering::Relaxed) & LIVES != 0
}

/// True while events are told, but nothing of them is written.
#[inline(always)]
pub fn writes_nothing() -> bool {
    MODE.mode.load(Ordering::Relaxed) >= WRITES_NOTHING
}

/// True while events are told, and written.
#[inline(always)]
pub fn writes() -> bool {
    MODE.mode.load(Ordering::Relaxed).wrapping_sub(1) < WRITES_NOTHING - 1
}

/// Events are recorded from now on.
pub(crate) fn begin_recording() {
    let mut mode = RECORDING;
    if flags() & ALONE != 0 {
        // Leads every use of every lock, and every call, to where it is asked who may run.
        hot::mark_all();
        SHORT_CALL.store(0, Ordering::Relaxed);
        mode |= RUNS_ALONE;
    }
    if flags() & LIVE != 0 {
        // Every call counts, not only long ones.
        SHORT_CALL.store(0, Ordering::Relaxed);
        mode |= LIVES;
    }
    if flags() & UNRECORDED != 0 {
        mode |= WRITES_NOTHING;
    }
    MODE.mode.store(mode, Ordering::Relaxed);
}

/// True where hooks have more to do than to record: to tell marks, to hold threads, or to keep criticality up to date.
#[inline(always)]
pub fn is_followed() -> bool {
    flags() & (MARKS | ALONE | LIVE) != 0
}

/// The session's flags.
pub fn flags() -> u32 {
    FLAGS.load(Ordering::Relaxed)
}

/// Now, in ticks of the session's clock.
#[inline(always)]
pub fn ticks() -> u64 {
    if FLAGS.load(Ordering::Relaxed) & MONOTONIC_CLOCK == 0 { arch::counter() } else { monotonic() }
}

/// Sessions that do not go by the processor's counter go by this function, the C library's `clock_gettime`.
pub(crate) fn set_clock(clock_gettime: *const c_void) {
    MONOTONIC.store(clock_gettime as usize, Ordering::Relaxed);
}

#[cold]
fn monotonic() -> u64 {
    let mut time = [0i64; 2];
    let function = MONOTONIC.load(Ordering::Relaxed);
    if function == 0 {
        return 0;
    }
    // SAFETY: `set_clock` stored the address of the C library's clock_gettime.
    let clock_gettime: unsafe extern "C" fn(i32, *mut [i64; 2]) -> i32 =
        unsafe { core::mem::transmute(function) };
    // SAFETY: the buffer has the shape of a timespec; 1 is CLOCK_MONOTONIC.
    unsafe { clock_gettime(1, &mut time) };
    time[0] as u64 * 1_000_000_000 + time[1] as u64
}

/// As [`ticks`], at the start of a call that can block; `None` if something is to be done at once.
#[inline(always)]
pub(crate) fn ticks_before_call() -> Option<u64> {
    (FLAGS.load(Ordering::Relaxed) & (MONOTONIC_CLOCK | MARKS | ALONE | LIVE) == 0).then(arch::counter)
}

/// How many ticks a blocking call must take to be recorded.
#[inline]
pub fn short_call() -> u64 {
    u64::from(SHORT_CALL.load(Ordering::Relaxed))
}

/// Nanoseconds in `ticks` ticks.
#[inline]
pub fn nanos(ticks: u64) -> u64 {
    ticks.wrapping_mul(1000) / u64::from(TICKS_PER_US.load(Ordering::Relaxed))
}

/// Ticks in `nanos` nanoseconds.
#[inline]
pub fn ticks_of_nanos(nanos: u64) -> u64 {
    nanos.wrapping_mul(u64::from(TICKS_PER_US.load(Ordering::Relaxed))) / 1000
}

/// Ticks in `micros` microseconds.
#[inline]
pub fn ticks_of_micros(micros: u64) -> u64 {
    micros * u64::from(TICKS_PER_US.load(Ordering::Relaxed))
}

/// We make no system calls any more.
pub(crate) fn confine() {
    CONFINED.store(1, Ordering::Relaxed);
}

/// Nothing is recorded any more, no clock is read, and we make no system calls.
pub(crate) fn give_up() {
    MEMBERSHIP.store(GIVEN_UP, Ordering::Relaxed);
    MODE.mode.store(0, Ordering::Relaxed);
    MONOTONIC.store(0, Ordering::Relaxed);
    FLAGS.fetch_or(MONOTONIC_CLOCK, Ordering::Relaxed);
    confine();
}

/// True if we may not make system calls of our own.
pub fn confined() -> bool {
    CONFINED.load(Ordering::Relaxed) != 0
}

/// The process belongs to this session from now on, and goes by what that says.
pub(crate) fn belong_to(session: &'static Session) {
    SESSION.store(ptr::from_ref(session).cast_mut(), Ordering::Relaxed);
    let mut flags = session.flags & !MARKS;
    if !holdup_trace::live::is_possible() {
        flags &= !LIVE;
    }
    FLAGS.store(flags, Ordering::Relaxed);
    SHORT_CALL.store(session.short_call_ticks.load(Ordering::Relaxed), Ordering::Relaxed);
    TICKS_PER_US.store(session.ticks_per_us.load(Ordering::Relaxed).max(1), Ordering::Relaxed);
}

/// Wakes the recorder if it sleeps.
pub fn ring() {
    let session = SESSION.load(Ordering::Relaxed);
    if session.is_null() || confined() {
        return;
    }
    // SAFETY: mapped for the rest of the process's life.
    let session = unsafe { &*session };
    session.doorbell.fetch_add(1, Ordering::Relaxed);
    if session.recorder_waits.load(Ordering::Relaxed) != 0 {
        const WAKE: usize = 1;
        let word = ptr::from_ref(&session.doorbell) as usize;
        // SAFETY: a wake on a mapped word.
        unsafe { system_call(number::FUTEX, [word, WAKE, 1, 0, 0, 0]) };
    }
}

/// Switches recording off for good if the recorder has left.
pub fn notice_closing() {
    let session = SESSION.load(Ordering::Relaxed);
    // SAFETY: as in `ring`.
    if !session.is_null() && unsafe { (*session).closed.load(Ordering::Relaxed) } != 0 {
        MEMBERSHIP.store(GIVEN_UP, Ordering::Relaxed);
        MODE.mode.store(0, Ordering::Relaxed);
    }
}

/// Counts a process or program that is not recorded.
pub(crate) fn refuse(session: &Session, why: Refusal) {
    session.refused[why as usize].fetch_add(1, Ordering::Relaxed);
    ring();
}

/// Counts a program that is executed without the library.
pub fn leaves_out(why: Refusal) {
    if let Some(session) = session() {
        refuse(session, why);
    }
}

/// True in programs that were started under holdup, recorded or not.
pub fn in_session() -> bool {
    session().is_some()
}

/// The session, in programs that were started under holdup.
pub(crate) fn session() -> Option<&'static Session> {
    let session = SESSION.load(Ordering::Relaxed);
    // SAFETY: mapped for the rest of the process's life.
    (!session.is_null()).then(|| unsafe { &*session })
}

static SILENT: AtomicU32 = AtomicU32::new(0);
static FORKED_AT: AtomicU64 = AtomicU64::new(0);

/// The process id of a forked child that has done nothing yet that is recorded; 0 in others.
pub(crate) fn silent() -> u32 {
    SILENT.load(Ordering::Relaxed)
}

/// When this process was forked, in ticks; 0 if it was not, or not seen.
pub(crate) fn forked_at() -> u64 {
    FORKED_AT.load(Ordering::Relaxed)
}

/// A forked child that has been silent for less than this (µs) is not worth a file.
const SHORT_LIFE_MICROS: u64 = 1000;

/// True in a forked child that has done nothing yet that is recorded, but has run for a while.
pub(crate) fn has_computed_in_silence() -> bool {
    silent() == process_id() && ticks() - forked_at() >= ticks_of_micros(SHORT_LIFE_MICROS)
}

pub(crate) fn process_id() -> u32 {
    // SAFETY: the call only tells.
    unsafe { system_call(number::GETPID, [0; 6]) as u32 }
}

/// Whose memory this is; 0 before the process joined the session.
static OWN_PROCESS: AtomicU32 = AtomicU32::new(0);

/// The memory is this process's, and not only used by it until it executes a program.
pub(crate) fn remember_process() {
    OWN_PROCESS.store(process_id(), Ordering::Relaxed);
}

/// The process whose memory this is, by its kernel id; 0 before it joined the session.
pub(crate) fn own_process() -> u32 {
    OWN_PROCESS.load(Ordering::Relaxed)
}

/// False in a child that shares the memory of who made it, and where no session was joined.
pub(crate) fn is_own_process() -> bool {
    let own = own_process();
    own != 0 && own == process_id()
}

/// True until a process has ended and its parent knows it.
pub(crate) fn exists(process: u32) -> bool {
    const NO_SUCH_PROCESS: isize = -3;
    // SAFETY: signal 0 is sent to nobody.
    unsafe { system_call(number::KILL, [process as usize, 0, 0, 0, 0, 0]) != NO_SUCH_PROCESS }
}

/// As which user the process acted when it joined the session.
static USER: AtomicU32 = AtomicU32::new(0);

fn user() -> u32 {
    // SAFETY: the call only tells.
    unsafe { system_call(number::GETEUID, [0; 6]) as u32 }
}

pub(crate) fn remember_user() {
    USER.store(user(), Ordering::Relaxed);
}

/// True if the process acts as another user since it joined the session, so that what it executes now cannot join it.
pub fn acts_as_another() -> bool {
    user() != USER.load(Ordering::Relaxed)
}

/// Called in the child of a fork: it is counted until it does something.
pub fn forked() {
    if OWN_PROCESS.load(Ordering::Relaxed) != 0 {
        remember_process();
    }
    if MEMBERSHIP.load(Ordering::Relaxed) == JOINED
        && let Some(session) = session()
    {
        // A child of a silent child inherits the flag and is one more.
        SILENT.store(process_id(), Ordering::Relaxed);
        FORKED_AT.store(ticks(), Ordering::Relaxed);
        session.silent_forks.fetch_add(1, Ordering::Relaxed);
    }
}

/// The child does something that is recorded, or executes another program. True if it was silent until now.
pub fn speaks() -> bool {
    let was_silent = SILENT.swap(0, Ordering::Relaxed) != 0;
    if was_silent && let Some(session) = session() {
        session.silent_forks.fetch_sub(1, Ordering::Relaxed);
    }
    was_silent
}

/// False in a forked child that has done nothing yet that is recorded, nor run for a while.
pub(crate) fn is_or_may_be_recorded() -> bool {
    recording() || silent() == 0 || has_computed_in_silence()
}

/// True if the recorder wants marks, whether there is somebody to hear them or not.
pub(crate) fn wants_marks() -> bool {
    session().is_some_and(|session| session.flags & MARKS != 0)
}

/// Somebody listens: every call and every use of a lock is told of from now on.
pub(crate) fn tells_marks() {
    SHORT_CALL.store(0, Ordering::Relaxed);
    hot::mark_all();
    FLAGS.fetch_or(MARKS, Ordering::Relaxed);
}

/// Nobody listens, though marks are wanted.
pub(crate) fn tells_no_marks() {
    FLAGS.fetch_and(!MARKS, Ordering::Relaxed);
    SHORT_CALL.store(short_call_of_session() as u32, Ordering::Relaxed);
}

/// How many ticks a blocking call must take to be recorded, whatever is told as marks.
pub(crate) fn short_call_of_session() -> u64 {
    session().map_or(u64::MAX, |session| u64::from(session.short_call_ticks.load(Ordering::Relaxed)))
}

/// True the first time in each process, however it was made.
pub(crate) fn is_new() -> bool {
    MODE.seen.swap(1, Ordering::Relaxed) == 0
}

/// The mode is as before the constructor in children of this process, however they are made. False if that cannot be.
pub(crate) fn wipe_mode_on_fork() -> bool {
    const MADV_WIPEONFORK: usize = 18;
    let page = ptr::from_ref(&MODE) as usize;
    // SAFETY: a whole page of our own zero-initialized data, which is private and anonymous.
    unsafe { system_call(number::MADVISE, [page, size_of::<ModePage>(), MADV_WIPEONFORK, 0, 0, 0]) == 0 }
}
