//! The session's directory: its page, and the file in it that a process takes for its own.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use holdup_trace::alone::Phase;
use holdup_trace::shared::{
    ALONE, CHANNELS_OFFSET, CHANNELS_SIZE, CHUNK_SIZE, CHUNKS, FIRST_CHUNKS, FIRST_SLOTS, LIVE,
    PROCESS_MAGIC, ProcessState, Refusal, SESSION_MAGIC, SLOT_SIZE, SLOTS, SLOTS_OFFSET, Session, VERSION,
};

use crate::arch::{number, system_call};
use crate::life;
use crate::mapping::{Mapping, map};
use crate::patience::{Need, patiently};

const PATH_SPACE: usize = 240;
static DIRECTORY: [AtomicU8; PATH_SPACE] = [const { AtomicU8::new(0) }; PATH_SPACE];

/// True if the path of a directory is not too long for us.
pub(crate) fn fits(directory: &CStr) -> bool {
    let bytes = directory.to_bytes();
    !bytes.is_empty() && bytes.len() + 16 <= PATH_SPACE
}

/// This is the session's directory, whose path fits.
pub(crate) fn set(directory: &CStr) {
    for (to, from) in DIRECTORY.iter().zip(directory.to_bytes()) {
        to.store(*from, Ordering::Relaxed);
    }
}

/// The process that found no file so far; 0 for none.
static WITHOUT_FILE: AtomicU32 = AtomicU32::new(0);

/// Counts that this process found no file ready, the first time. It is not silent: it is missing.
fn refuse_once(session: &Session) {
    let own = life::process_id();
    if WITHOUT_FILE.swap(own, Ordering::Relaxed) != own {
        life::speaks();
        life::refuse(session, Refusal::NoFile);
    }
}

/// A process that has got a file after all is not missing.
fn not_refused(session: &Session) {
    if WITHOUT_FILE.swap(0, Ordering::Relaxed) == life::process_id() {
        session.refused[Refusal::NoFile as usize].fetch_sub(1, Ordering::Relaxed);
    }
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

/// Maps the session's page. False if there is none of our version, or the recorder has left.
pub(crate) fn map_session() -> bool {
    let Some(descriptor) = open(b"/session", None) else { return false };
    let mapped = map(descriptor, 0, 4096);
    close(descriptor);
    let Some(address) = mapped else { return false };
    // SAFETY: a mapped page that lives as long as the process; every field may be any bits.
    let session = unsafe { &*address.cast::<Session>() };
    if session.magic != SESSION_MAGIC || session.version != VERSION {
        return false;
    }
    life::belong_to(session);
    session.closed.load(Ordering::Relaxed) == 0
}

/// Maps what the session's processes know of the channels between them. None where the directory cannot be reached any more.
pub(crate) fn map_channels() -> Option<*mut u8> {
    let descriptor = open(b"/session", None)?;
    let mapped = map(descriptor, CHANNELS_OFFSET, CHANNELS_SIZE);
    close(descriptor);
    mapped
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

/// Takes a file for this process, and maps it. False if there is none for it.
pub(crate) fn take_file(forked: bool) -> bool {
    let Some(session) = life::session() else { return false };
    let Some((slots, chunks)) = room() else {
        life::refuse(session, Refusal::AddressSpace);
        return false;
    };
    let Some(number) = patiently(Need::Once, || claim(session)) else {
        refuse_once(session);
        return false;
    };
    life::ring();
    let Some(descriptor) = open(b"/p", Some(number)) else {
        life::refuse(session, Refusal::Open);
        return false;
    };
    let taken = Mapping::of(descriptor, slots, chunks);
    close(descriptor);
    let Some(taken) = taken else {
        life::refuse(session, Refusal::Map);
        return false;
    };
    let file = taken.file();
    let header = file.header();
    if header.magic != PROCESS_MAGIC || header.version != VERSION {
        life::refuse(session, Refusal::Version);
        return false;
    }
    // SAFETY: these calls only tell.
    let [pid, parent] =
        [number::GETPID, number::GETPPID].map(|number| unsafe { system_call(number, [0; 6]) as u32 });
    header.pid.store(pid, Ordering::Relaxed);
    header.parent_pid.store(parent, Ordering::Relaxed);
    header.forked.store(u32::from(forked), Ordering::Relaxed);
    let forked_at = life::forked_at();
    header.start.store(if forked && forked_at != 0 { forked_at } else { life::ticks() }, Ordering::Relaxed);
    taken.is_ours();
    not_refused(session);
    if life::flags() & ALONE != 0 {
        header.alone.turn.store(Phase::Gather as u32, Ordering::SeqCst);
    }
    if life::flags() & LIVE != 0 {
        header.live.clock.starts(life::ticks());
    }
    header.state.store(ProcessState::Live as u32, Ordering::Release);
    life::ring();
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
