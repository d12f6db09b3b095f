//! How a process joins a session, and what becomes of it at `fork`.
//!
//! | mode | joined | state | next |
//! |---|---|---|---|
//! | off | no | before the constructor, or no session | on, by [`join`] |
//! | on | yes | recording | off when the recorder has left; the child of a fork sees off |
//! | off | yes | a forked child without events | on, by [`rejoin`] at its first event |
//! | off | given up | cannot record | – |
//!
//! The mode lies on a page that the kernel wipes in the child of any fork, however it was made, so that a child
//! never writes to its parent's file.

use core::ffi::CStr;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use holdup_trace::alone::{EndCode, Phase};
use holdup_trace::instructions::Mark;
use holdup_trace::shared::{
    ALONE, CHUNK_SIZE, CHUNKS, FIRST_CHUNKS, FIRST_SLOTS, HOLDS_ALL, HOLDS_SAMPLED, LIVE, MARKS,
    MONOTONIC_CLOCK, NO_ARGUMENTS, PROCESS_MAGIC, ProcessState, Refusal, SESSION_MAGIC, SLOT_SIZE, SLOTS,
    SLOTS_OFFSET, Session, UNRECORDED, VERSION,
};

use crate::arch::{self, number, system_call};
use crate::mapping::{Mapping, file, map};
use crate::patience::{Need, patiently};
use crate::{alone, cpu, hot, lock_cost, marks, modules, openmp, patience, runtimes, stack, thread, uses};

#[repr(C, align(4096))]
struct ModePage {
    mode: AtomicU8,
    rest: [AtomicU8; 4095],
}

static MODE: ModePage = ModePage { mode: AtomicU8::new(0), rest: [const { AtomicU8::new(0) }; 4095] };

const NOT_JOINED: u32 = 0;
const JOINED: u32 = 1;
const JOINING: u32 = 2;
const GIVEN_UP: u32 = 3;

static MEMBERSHIP: AtomicU32 = AtomicU32::new(NOT_JOINED);
static SESSION: AtomicPtr<Session> = AtomicPtr::new(ptr::null_mut());
static CONFINED: AtomicU8 = AtomicU8::new(0);
static SHORT_CALL: AtomicU32 = AtomicU32::new(u32::MAX);
static TICKS_PER_US: AtomicU32 = AtomicU32::new(1000);
static FLAGS: AtomicU32 = AtomicU32::new(0);
static MONOTONIC: AtomicUsize = AtomicUsize::new(0);

const PATH_SPACE: usize = 240;
static DIRECTORY: [AtomicU8; PATH_SPACE] = [const { AtomicU8::new(0) }; PATH_SPACE];

/// A pipe of NUL-ended arguments of the program, as the constructor gets them.
#[derive(Clone, Copy)]
pub struct Arguments {
    /// `argc`.
    pub count: i32,
    /// `argv`.
    pub values: *const *const core::ffi::c_char,
}

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
fn begin_recording() {
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

#[cold]
fn monotonic() -> u64 {
    let mut time = [0i64; 2];
    let function = MONOTONIC.load(Ordering::Relaxed);
    if function == 0 {
        return 0;
    }
    // SAFETY: `join` stored the address of the C library's clock_gettime.
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

/// Ticks in `micros` microseconds.
#[inline]
pub fn ticks_of_micros(micros: u64) -> u64 {
    micros * u64::from(TICKS_PER_US.load(Ordering::Relaxed))
}

/// The program confines its system calls from now on: we make none any more.
pub fn confine() {
    alone::stops(EndCode::Confined);
    CONFINED.store(1, Ordering::Relaxed);
    if recording() {
        file().header().confined.store(1, Ordering::Relaxed);
    }
}

/// The program is about to lose the right to read the processor's counter, or nearly all system calls: nothing is
/// recorded any more, and no clock is read.
pub fn stop() {
    alone::stops(EndCode::Confined);
    MEMBERSHIP.store(GIVEN_UP, Ordering::Relaxed);
    MODE.mode.store(0, Ordering::Relaxed);
    MONOTONIC.store(0, Ordering::Relaxed);
    FLAGS.fetch_or(MONOTONIC_CLOCK, Ordering::Relaxed);
    CONFINED.store(1, Ordering::Relaxed);
}

/// True if we may not make system calls of our own.
pub fn confined() -> bool {
    CONFINED.load(Ordering::Relaxed) != 0
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

fn refuse(session: &Session, why: Refusal) {
    session.refused[why as usize].fetch_add(1, Ordering::Relaxed);
    ring();
}

/// The process that found no file so far; 0 for none.
static WITHOUT_FILE: AtomicU32 = AtomicU32::new(0);

/// Counts that this process found no file ready, the first time. It is not silent: it is missing.
fn refuse_once(session: &Session) {
    let own = process_id();
    if WITHOUT_FILE.swap(own, Ordering::Relaxed) != own {
        speaks();
        refuse(session, Refusal::NoFile);
    }
}

/// A process that has got a file after all is not missing.
fn not_refused(session: &Session) {
    if WITHOUT_FILE.swap(0, Ordering::Relaxed) == process_id() {
        session.refused[Refusal::NoFile as usize].fetch_sub(1, Ordering::Relaxed);
    }
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

/// The process is about to execute a program without the library, so that nothing more will be seen of it; or
/// (false) that has failed.
pub fn executes_unseen(executes: bool) {
    // A child of `vfork` is in its parent's memory.
    if recording() && file().header().pid.load(Ordering::Relaxed) == process_id() {
        let header = file().header();
        header.end.store(if executes { ticks() } else { 0 }, Ordering::Relaxed);
        header.executed.store(u32::from(executes), Ordering::Release);
    }
}

pub(crate) fn session() -> Option<&'static Session> {
    let session = SESSION.load(Ordering::Relaxed);
    // SAFETY: mapped for the rest of the process's life.
    (!session.is_null()).then(|| unsafe { &*session })
}

/// The process id of a forked child that has done nothing yet that is recorded; 0 in others.
static SILENT: AtomicU32 = AtomicU32::new(0);
/// When this process was forked, in ticks; 0 if it was not, or not seen.
static FORKED_AT: AtomicU64 = AtomicU64::new(0);

pub(crate) fn process_id() -> u32 {
    // SAFETY: the call only tells.
    unsafe { system_call(number::GETPID, [0; 6]) as u32 }
}

/// Called in the child of a fork: it is counted until it does something.
pub fn forked() {
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

/// Joins the session in `directory`: called once, by the library's constructor, in a newly executed program.
/// `stack_top` is an address above the main thread's first frame that can be read.
pub fn join(directory: &CStr, arguments: Arguments, stack_top: u64) {
    let bytes = directory.to_bytes();
    if bytes.is_empty()
        || bytes.len() + 16 > PATH_SPACE
        || MEMBERSHIP.swap(JOINING, Ordering::Relaxed) != NOT_JOINED
    {
        return;
    }
    for (to, from) in DIRECTORY.iter().zip(bytes) {
        to.store(*from, Ordering::Relaxed);
    }
    if let Some(clock_gettime) = crate::link::next(c"clock_gettime", join as *const () as u64) {
        MONOTONIC.store(clock_gettime as usize, Ordering::Relaxed);
    }
    stack::set_main_top(stack_top);
    let joined = map_session() && take_file(false);
    MEMBERSHIP.store(if joined { JOINED } else { GIVEN_UP }, Ordering::Relaxed);
    if !joined {
        return;
    }
    if !wipe_mode_on_fork() {
        // Linux before 4.14: a child would write into its parent's file, so do not record at all.
        MEMBERSHIP.store(GIVEN_UP, Ordering::Relaxed);
        return;
    }
    cpu::begin();
    look_for_plugin();
    if flags() & HOLDS_ALL != 0 {
        hot::heat_all();
    }
    if flags() & HOLDS_SAMPLED != 0 {
        hot::stay_cool();
        lock_cost::begin();
    }
    lock_cost::measure_the_clock();
    thread::watch_ends();
    begin_recording();
    if let Some(recorder) = crate::enter()
        && writes()
    {
        record_command(&recorder, arguments);
        modules::refresh(&recorder);
    }
    if writes()
        && let Some(recorder) = crate::enter()
    {
        uses::measure_costs(&recorder);
    }
}

/// Marks are told from here on, if they are wanted, and a plugin of ours listens.
fn look_for_plugin() {
    marks::forget();
    if !wants_marks() {
        return;
    }
    if marks::ask() {
        tells_marks();
    } else {
        FLAGS.fetch_and(!MARKS, Ordering::Relaxed);
        SHORT_CALL.store(short_call_of_session() as u32, Ordering::Relaxed);
    }
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

/// How many ticks a blocking call must take to be recorded, whatever is told as marks.
pub(crate) fn short_call_of_session() -> u64 {
    session().map_or(u64::MAX, |session| u64::from(session.short_call_ticks.load(Ordering::Relaxed)))
}

/// Makes a forked child record into a file of its own, at its first event. False if it cannot.
#[cold]
pub fn rejoin() -> bool {
    if MEMBERSHIP.compare_exchange(JOINED, JOINING, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        return false;
    }
    let old = Mapping::ours();
    thread::forget();
    if SILENT.load(Ordering::Relaxed) != 0 {
        patience::forget();
    }
    notice_closing();
    if MEMBERSHIP.load(Ordering::Relaxed) == GIVEN_UP {
        return false;
    }
    if confined() || !take_file(true) {
        // Tried again at the next event: a file may be ready by then.
        MEMBERSHIP.store(JOINED, Ordering::Relaxed);
        return false;
    }
    // SAFETY: the parent's file, which nothing in this process points to any more.
    unsafe { old.unmap() };
    speaks();
    stack::forget();
    modules::forget();
    look_for_plugin();
    MEMBERSHIP.store(JOINED, Ordering::Relaxed);
    begin_recording();
    if let Some(recorder) = crate::enter()
        && writes()
    {
        modules::refresh(&recorder);
        runtimes::tell_again(&recorder);
    }
    true
}

/// A forked child that has been silent for less than this (µs) is not worth a file at its end.
const SHORT_LIFE_MICROS: u64 = 1000;

/// Says in the file that the process ends now. A forked child that has only computed joins for this.
pub fn end() {
    if confined() {
        return;
    }
    let own = process_id();
    if SILENT.load(Ordering::Relaxed) == own
        && ticks() - FORKED_AT.load(Ordering::Relaxed) >= ticks_of_micros(SHORT_LIFE_MICROS)
    {
        rejoin();
    }
    // A child of `vfork` that gives up is in its parent's memory.
    if recording() && file().header().pid.load(Ordering::Relaxed) == own {
        alone::stops(EndCode::Exits);
        if let Some(recorder) = crate::enter() {
            openmp::close(&recorder);
            marks::tell(Mark::ThreadEnd);
            let now = ticks();
            recorder.write(&holdup_trace::wire::cpu(now, recorder.thread().cpu.read(now)));
        }
        let header = file().header();
        header.end.store(ticks(), Ordering::Relaxed);
        header.state.store(ProcessState::Ended as u32, Ordering::Release);
        ring();
    }
}

fn wipe_mode_on_fork() -> bool {
    const MADV_WIPEONFORK: usize = 18;
    let page = ptr::from_ref(&MODE) as usize;
    // SAFETY: a whole page of our own zero-initialized data, which is private and anonymous.
    unsafe { system_call(number::MADVISE, [page, MODE.rest.len() + 1, MADV_WIPEONFORK, 0, 0, 0]) == 0 }
}

/// The path of a file in the session's directory: `/session`, or `/p` and a number.
fn path(name: &[u8], number: Option<u32>, buffer: &mut [u8; PATH_SPACE + 16]) {
    let mut len = 0;
    let mut put = |byte: u8| {
        buffer[len] = byte;
        len += 1;
    };
    DIRECTORY
        .iter()
        .map(|byte| byte.load(Ordering::Relaxed))
        .take_while(|byte| *byte != 0)
        .for_each(&mut put);
    name.iter().copied().for_each(&mut put);
    if let Some(number) = number {
        let mut divisor = 1_000_000_000;
        while divisor > 1 && number / divisor == 0 {
            divisor /= 10;
        }
        while divisor > 0 {
            put(b'0' + (number / divisor % 10) as u8);
            divisor /= 10;
        }
    }
    put(0);
}

fn open(name: &[u8], number: Option<u32>) -> Option<usize> {
    let mut buffer = [0; PATH_SPACE + 16];
    path(name, number, &mut buffer);
    const AT_FDCWD: usize = -100isize as usize;
    const FLAGS: usize = 0o2 | 0o2000000 | 0o400000; // O_RDWR | O_CLOEXEC | O_NOFOLLOW
    // SAFETY: a NUL-ended path.
    let descriptor =
        unsafe { system_call(self::number::OPENAT, [AT_FDCWD, buffer.as_ptr() as usize, FLAGS, 0, 0, 0]) };
    usize::try_from(descriptor).ok()
}

fn close(descriptor: usize) {
    // SAFETY: a descriptor that `open` gave.
    unsafe { system_call(number::CLOSE, [descriptor, 0, 0, 0, 0, 0]) };
}

fn map_session() -> bool {
    let Some(descriptor) = open(b"/session", None) else { return false };
    let mapped = map(descriptor, 0, 4096);
    close(descriptor);
    let Some(address) = mapped else { return false };
    // SAFETY: a mapped page that lives as long as the process; every field may be any bits.
    let session = unsafe { &*address.cast::<Session>() };
    if session.magic != SESSION_MAGIC || session.version != VERSION {
        return false;
    }
    SESSION.store(address.cast(), Ordering::Relaxed);
    let mut flags = session.flags & !MARKS;
    if !holdup_trace::live::is_possible() {
        flags &= !LIVE;
    }
    FLAGS.store(flags, Ordering::Relaxed);
    SHORT_CALL.store(session.short_call_ticks.load(Ordering::Relaxed), Ordering::Relaxed);
    TICKS_PER_US.store(session.ticks_per_us.load(Ordering::Relaxed).max(1), Ordering::Relaxed);
    session.closed.load(Ordering::Relaxed) == 0
}

/// How many slots and chunks there is address space for: for all of them, unless that is limited. Then at most a 128th of it is
/// used, so that the program does not notice. Where it may lock so much memory and no more, as programs do that lock all that
/// they have, none is held ahead.
fn room() -> Option<(u32, u32)> {
    const MEMORY_LOCK: usize = 8;
    const ADDRESS_SPACE: usize = 9;
    /// Who has no more cannot lock all of any program.
    const LITTLE: u64 = 64 << 20;
    let space = limit(ADDRESS_SPACE);
    if space == u64::MAX {
        return Some(match limit(MEMORY_LOCK) {
            u64::MAX | 0..=LITTLE => (SLOTS as u32, CHUNKS as u32),
            _ => (FIRST_SLOTS as u32, FIRST_CHUNKS as u32),
        });
    }
    const FEW_SLOTS: usize = 128;
    const FEWEST_CHUNKS: usize = 16;
    let budget = usize::try_from(space / 128).unwrap_or(usize::MAX);
    let chunks = budget.checked_sub(SLOTS_OFFSET + FEW_SLOTS * SLOT_SIZE)? / CHUNK_SIZE;
    (chunks >= FEWEST_CHUNKS).then_some((FEW_SLOTS as u32, chunks.min(CHUNKS) as u32))
}

/// A limit of this process.
fn limit(which: usize) -> u64 {
    let mut limit = [u64::MAX; 2];
    // SAFETY: reads a limit into a buffer of the right shape.
    unsafe { system_call(number::PRLIMIT, [0, which, 0, limit.as_mut_ptr() as usize, 0, 0]) };
    limit[0]
}

fn take_file(forked: bool) -> bool {
    // SAFETY: `map_session` has stored a mapped session.
    let session = unsafe { &*SESSION.load(Ordering::Relaxed) };
    let Some((slots, chunks)) = room() else {
        refuse(session, Refusal::AddressSpace);
        return false;
    };
    let Some(number) = patiently(Need::Once, || claim(session)) else {
        refuse_once(session);
        return false;
    };
    ring();
    let Some(descriptor) = open(b"/p", Some(number)) else {
        refuse(session, Refusal::Open);
        return false;
    };
    let taken = Mapping::of(descriptor, slots, chunks);
    close(descriptor);
    let Some(taken) = taken else {
        refuse(session, Refusal::Map);
        return false;
    };
    let file = taken.file();
    let header = file.header();
    if header.magic != PROCESS_MAGIC || header.version != VERSION {
        refuse(session, Refusal::Version);
        return false;
    }
    // SAFETY: these calls only tell.
    let [pid, parent] =
        [number::GETPID, number::GETPPID].map(|number| unsafe { system_call(number, [0; 6]) as u32 });
    header.pid.store(pid, Ordering::Relaxed);
    header.parent_pid.store(parent, Ordering::Relaxed);
    header.forked.store(u32::from(forked), Ordering::Relaxed);
    let forked_at = FORKED_AT.load(Ordering::Relaxed);
    header.start.store(if forked && forked_at != 0 { forked_at } else { ticks() }, Ordering::Relaxed);
    taken.is_ours();
    not_refused(session);
    if flags() & ALONE != 0 {
        header.alone.turn.store(Phase::Gather as u32, Ordering::SeqCst);
    }
    if flags() & LIVE != 0 {
        header.live.clock.starts(ticks());
    }
    header.state.store(ProcessState::Live as u32, Ordering::Release);
    ring();
    true
}

fn claim(session: &Session) -> Option<u32> {
    let mut claimed = session.claimed.load(Ordering::Relaxed);
    loop {
        if claimed >= session.made.load(Ordering::Acquire) {
            return None;
        }
        match session.claimed.compare_exchange_weak(claimed, claimed + 1, Ordering::AcqRel, Ordering::Relaxed)
        {
            Ok(_) => return Some(claimed),
            Err(now) => claimed = now,
        }
    }
}

fn record_command(recorder: &crate::Recorder, arguments: Arguments) {
    let wanted = if flags() & NO_ARGUMENTS != 0 { 1 } else { arguments.count.max(0) as usize };
    let mut text = [0u8; 2048];
    let mut len = 0;
    for index in 0..wanted {
        // SAFETY: argv has argc entries, each a NUL-ended string or null.
        let argument = unsafe { *arguments.values.add(index) };
        if argument.is_null() {
            break;
        }
        // SAFETY: as above.
        let bytes = unsafe { CStr::from_ptr(argument) }.to_bytes_with_nul();
        let fits = bytes.len().min(text.len() - len);
        text[len..len + fits].copy_from_slice(&bytes[..fits]);
        len += fits;
    }
    recorder.write_text(&holdup_trace::wire::command_head(len), &text[..len]);
}
