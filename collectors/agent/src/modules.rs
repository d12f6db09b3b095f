//! Which code is mapped: told to the recorder, and used here to recognise return addresses.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use holdup_trace::wire;

use crate::arch::{number, system_call};
use crate::link::{EXECUTABLE, LOAD, LoadedObject, NOTE, each_object_now};
use crate::{Recorder, life};

const RANGES: usize = 512;
static STARTS: [AtomicU64; RANGES] = [const { AtomicU64::new(0) }; RANGES];
static ENDS: [AtomicU64; RANGES] = [const { AtomicU64::new(0) }; RANGES];
static KNOWN: AtomicU32 = AtomicU32::new(0);
/// Counts of loaded and unloaded objects when the tables were made, plus one.
static ADDS: AtomicU64 = AtomicU64::new(0);
static SUBS: AtomicU64 = AtomicU64::new(0);
static BUSY: AtomicU32 = AtomicU32::new(0);

/// True if `word` is an address in the executable segment of a module.
#[inline]
pub fn is_code(word: u64) -> bool {
    // Nothing that is not an address of user space, and nothing small.
    if word >> 47 != 0 || word < 0x1_0000 {
        return false;
    }
    // Of the words on a stack few are near any code.
    let (group, bit) = near(word);
    if NEAR[group].load(Ordering::Relaxed) & bit == 0 {
        return false;
    }
    let known = KNOWN.load(Ordering::Acquire) as usize;
    (0..known).any(|index| {
        word >= STARTS[index].load(Ordering::Relaxed) && word < ENDS[index].load(Ordering::Relaxed)
    })
}

/// A number that changes when [`is_code`] does.
#[inline(always)]
pub fn generation() -> u64 {
    u64::from(KNOWN.load(Ordering::Acquire)) | SUBS.load(Ordering::Relaxed) << 32
}

/// One bit for each MiB of addresses, which it shares with those 4 GiB apart: set where code of a module is.
static NEAR: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// Where the bit of an address is.
#[inline(always)]
fn near(address: u64) -> (usize, u64) {
    ((address >> 26 & 63) as usize, 1 << (address >> 20 & 63))
}

/// Sets the bits of a module's code.
fn note_near(low: u64, high: u64) {
    const ALL: u64 = 64 * 64;
    for place in (low >> 20..=high >> 20).take(ALL as usize) {
        let (group, bit) = near(place << 20);
        NEAR[group].fetch_or(bit, Ordering::Relaxed);
    }
}

/// Forgets what was told: a forked child tells it anew, into its own file.
pub fn forget() {
    KNOWN.store(0, Ordering::Relaxed);
    ADDS.store(0, Ordering::Relaxed);
    BUSY.store(0, Ordering::Relaxed);
}

/// Tells the recorder about the modules that have appeared since the last time; not while a thread forks, but the next time.
pub fn refresh(recorder: &Recorder) {
    let mut counts = (0, 0);
    each_object_now(|object| {
        counts = (object.adds + 1, object.subs);
        true
    });
    if counts == (0, 0)
        || counts == (ADDS.load(Ordering::Relaxed), SUBS.load(Ordering::Relaxed))
        || BUSY.swap(1, Ordering::Acquire) != 0
    {
        return;
    }
    if counts.1 != SUBS.load(Ordering::Relaxed) {
        // Something was unloaded: others may lie in its place.
        KNOWN.store(0, Ordering::Relaxed);
    }
    let mut told = false;
    each_object_now(|object| {
        tell(recorder, object);
        told = true;
        false
    });
    if told {
        ADDS.store(counts.0, Ordering::Relaxed);
        SUBS.store(counts.1, Ordering::Relaxed);
    }
    BUSY.store(0, Ordering::Release);
}

fn tell(recorder: &Recorder, object: &LoadedObject) {
    let segments = || object.headers().iter().filter(|header| header.kind == LOAD);
    let Some(start) = segments().map(|header| object.bias + header.address).min() else { return };
    let end = segments().map(|header| object.bias + header.address + header.size).max().unwrap_or(start);
    let code = segments().filter(|header| header.flags & EXECUTABLE != 0);
    let (mut low, mut high) = (u64::MAX, 0);
    for header in code {
        low = low.min(object.bias + header.address);
        high = high.max(object.bias + header.address + header.size);
    }
    let known = KNOWN.load(Ordering::Relaxed) as usize;
    if (0..known).any(|index| STARTS[index].load(Ordering::Relaxed) == low) || known == RANGES {
        return;
    }
    note_near(low, high);
    STARTS[known].store(low, Ordering::Relaxed);
    ENDS[known].store(high, Ordering::Relaxed);
    KNOWN.store(known as u32 + 1, Ordering::Release);

    let mut text = [0u8; 640];
    let mut len = 0;
    let build_id = build_id(object).unwrap_or(&[]);
    let build_id = &build_id[..build_id.len().min(64)];
    text[..build_id.len()].copy_from_slice(build_id);
    len += build_id.len();
    // SAFETY: the loader's name of the object is a NUL-ended string.
    let name = if object.name.is_null() { &[] } else { unsafe { CStr::from_ptr(object.name) }.to_bytes() };
    len += if name.is_empty() {
        program_path(&mut text[len..])
    } else {
        let fits = name.len().min(text.len() - len);
        text[len..len + fits].copy_from_slice(&name[..fits]);
        fits
    };
    let head = wire::module_head(
        object.bias,
        start & !4095,
        (end + 4095) & !4095,
        build_id.len() as u8,
        len - build_id.len(),
    );
    recorder.write_text(&head, &text[..len]);
}

fn program_path(buffer: &mut [u8]) -> usize {
    if life::confined() {
        return 0;
    }
    const AT_FDCWD: usize = -100isize as usize;
    let path = c"/proc/self/exe".as_ptr() as usize;
    // SAFETY: a NUL-ended path and a buffer with its length.
    let len = unsafe {
        system_call(number::READLINKAT, [AT_FDCWD, path, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0])
    };
    usize::try_from(len).unwrap_or(0)
}

/// The build id in an object's notes.
fn build_id(object: &LoadedObject) -> Option<&[u8]> {
    const GNU_BUILD_ID: u32 = 3;
    let notes = object.headers().iter().filter(|header| header.kind == NOTE);
    for header in notes {
        let mut at = object.bias + header.address;
        let end = at + header.size;
        while at + 12 <= end {
            // SAFETY: a note segment of a loaded object: name length, content length, kind, then both, padded.
            let [name_len, len, kind] = unsafe { *(at as *const [u32; 3]) };
            let name = at + 12;
            let content = name + u64::from(name_len).next_multiple_of(4);
            let next = content + u64::from(len).next_multiple_of(4);
            if next > end {
                break;
            }
            // SAFETY: within the segment, by the check above.
            if kind == GNU_BUILD_ID && name_len == 4 && unsafe { *(name as *const [u8; 4]) } == *b"GNU\0" {
                // SAFETY: as above.
                return Some(unsafe { core::slice::from_raw_parts(content as *const u8, len as usize) });
            }
            at = next;
        }
    }
    None
}
