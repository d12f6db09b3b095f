//! The process's file in its address space: a part of it at first, all of it where there are many threads.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use holdup_trace::shared::{
    CHUNK_SIZE, CHUNKS_OFFSET, FIRST_CHUNKS, FIRST_SLOTS, ProcessFile, SLOT_SIZE, SLOTS_OFFSET,
};

use crate::arch::{number, system_call};
use crate::life::{confined, process_id, ring};

static BASE: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
static CHUNK_BASE: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
static MAPPED_SLOTS: AtomicU32 = AtomicU32::new(0);
static MAPPED_CHUNKS: AtomicU32 = AtomicU32::new(0);
/// So much address space is held for slots and chunks, mapped or not.
static HELD_SLOTS: AtomicU32 = AtomicU32::new(0);
static HELD_CHUNKS: AtomicU32 = AtomicU32::new(0);

/// The process's file. Only while [`recording`].
#[inline]
pub fn file() -> ProcessFile {
    let (base, chunks) = (BASE.load(Ordering::Relaxed), CHUNK_BASE.load(Ordering::Relaxed));
    // SAFETY: set before the mode is switched on, and unmapped only by a forked child before it sets new ones.
    unsafe {
        ProcessFile::new(
            base,
            MAPPED_SLOTS.load(Ordering::Relaxed),
            chunks,
            MAPPED_CHUNKS.load(Ordering::Relaxed),
        )
    }
}

/// A process's file as it is mapped.
#[derive(Clone, Copy)]
pub(crate) struct Mapping {
    base: *mut u8,
    chunk_base: *mut u8,
    slots: u32,
    chunks: u32,
    held_slots: u32,
    held_chunks: u32,
}

impl Mapping {
    /// Maps the first part of a file, and holds address space for so many slots and chunks.
    pub(crate) fn of(descriptor: usize, held_slots: u32, held_chunks: u32) -> Option<Mapping> {
        let (slots, chunks) = (held_slots.min(FIRST_SLOTS as u32), held_chunks.min(FIRST_CHUNKS as u32));
        let base = map_within(length_of_slots(held_slots), descriptor, 0, length_of_slots(slots))?;
        let held = held_chunks as usize * CHUNK_SIZE;
        let chunk_base = map_within(held, descriptor, CHUNKS_OFFSET, chunks as usize * CHUNK_SIZE)?;
        Some(Mapping { base, chunk_base, slots, chunks, held_slots, held_chunks })
    }

    /// What this process writes to.
    pub(crate) fn ours() -> Mapping {
        Mapping {
            base: BASE.load(Ordering::Relaxed),
            chunk_base: CHUNK_BASE.load(Ordering::Relaxed),
            slots: MAPPED_SLOTS.load(Ordering::Relaxed),
            chunks: MAPPED_CHUNKS.load(Ordering::Relaxed),
            held_slots: HELD_SLOTS.load(Ordering::Relaxed),
            held_chunks: HELD_CHUNKS.load(Ordering::Relaxed),
        }
    }

    /// Its parts.
    pub(crate) fn file(&self) -> ProcessFile {
        // SAFETY: mapped with these lengths, and not unmapped but by `unmap`.
        unsafe { ProcessFile::new(self.base, self.slots, self.chunk_base, self.chunks) }
    }

    /// This process writes to it from now on.
    pub(crate) fn is_ours(&self) {
        let header = self.file().header();
        header.mapped_slots.store(self.slots, Ordering::Relaxed);
        header.mapped_chunks.store(self.chunks, Ordering::Relaxed);
        BASE.store(self.base, Ordering::Relaxed);
        CHUNK_BASE.store(self.chunk_base, Ordering::Relaxed);
        MAPPED_SLOTS.store(self.slots, Ordering::Relaxed);
        MAPPED_CHUNKS.store(self.chunks, Ordering::Relaxed);
        HELD_SLOTS.store(self.held_slots, Ordering::Relaxed);
        HELD_CHUNKS.store(self.held_chunks, Ordering::Relaxed);
    }

    /// Gives all of it back.
    ///
    /// # Safety
    /// Nothing points to it any more.
    pub(crate) unsafe fn unmap(self) {
        let (slots, chunks) = (length_of_slots(self.held_slots), self.held_chunks as usize * CHUNK_SIZE);
        // SAFETY: the caller's promise; mapped, or held, with these lengths.
        unsafe {
            unmap(self.base, slots);
            unmap(self.chunk_base, chunks);
        }
    }
}

pub(crate) fn map(descriptor: usize, offset: usize, length: usize) -> Option<*mut u8> {
    map_as(SHARED_NORESERVE, descriptor, offset, length)
}

/// Memory, all bytes of which are 0, that this process shares with those that it forks.
pub(crate) fn map_shared_memory(length: usize) -> Option<*mut u8> {
    const ANONYMOUS: usize = 0x20;
    map_as(SHARED_NORESERVE | ANONYMOUS, usize::MAX, 0, length)
}

const SHARED_NORESERVE: usize = 1 | 0x4000;

fn map_as(flags: usize, descriptor: usize, offset: usize, length: usize) -> Option<*mut u8> {
    const READ_WRITE: usize = 3;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let address = unsafe { system_call(number::MMAP, [0, length, READ_WRITE, flags, descriptor, offset]) };
    (address > 0).then_some(address as *mut u8)
}

/// # Safety
/// So many bytes are mapped there, and nothing points to them any more.
pub(crate) unsafe fn unmap(address: *mut u8, length: usize) {
    // SAFETY: the caller's promise.
    unsafe { system_call(number::MUNMAP, [address as usize, length, 0, 0, 0, 0]) };
}

/// As [`map`], at the beginning of `held` bytes of address space, the rest of which is kept for more of the same.
fn map_within(held: usize, descriptor: usize, offset: usize, length: usize) -> Option<*mut u8> {
    if held <= length {
        return map(descriptor, offset, length);
    }
    const NOTHING: usize = 0;
    const PRIVATE_ANONYMOUS_NORESERVE: usize = 2 | 0x20 | 0x4000;
    const READ_WRITE: usize = 3;
    const SHARED_FIXED_NORESERVE: usize = 1 | 0x10 | 0x4000;
    // SAFETY: a new mapping at an address of the kernel's choice, of which nothing can be used.
    let address =
        unsafe { system_call(number::MMAP, [0, held, NOTHING, PRIVATE_ANONYMOUS_NORESERVE, usize::MAX, 0]) };
    if address <= 0 {
        return None;
    }
    // SAFETY: in the place of a part of that mapping, which nobody else knows of.
    let mapped = unsafe {
        system_call(
            number::MMAP,
            [address as usize, length, READ_WRITE, SHARED_FIXED_NORESERVE, descriptor, offset],
        )
    };
    if mapped <= 0 {
        // SAFETY: as above.
        unsafe { system_call(number::MUNMAP, [address as usize, held, 0, 0, 0, 0]) };
    }
    (mapped > 0).then_some(mapped as *mut u8)
}

fn length_of_slots(slots: u32) -> usize {
    SLOTS_OFFSET + slots as usize * SLOT_SIZE
}

/// Maps all slots and chunks that address space is held for. Once, by the thread that finds that there are many.
pub fn map_all() {
    static BEGUN: AtomicU32 = AtomicU32::new(0);
    if confined() || BEGUN.swap(process_id(), Ordering::Relaxed) == process_id() {
        return;
    }
    let header = file().header();
    if let Some(slots) = widen(&BASE, SLOTS_OFFSET, SLOT_SIZE, &MAPPED_SLOTS, &HELD_SLOTS) {
        header.mapped_slots.store(slots, Ordering::Release);
    }
    if let Some(chunks) = widen(&CHUNK_BASE, 0, CHUNK_SIZE, &MAPPED_CHUNKS, &HELD_CHUNKS) {
        header.mapped_chunks.store(chunks, Ordering::Release);
    }
    ring();
}

/// Maps as many pieces of `size` bytes behind `head` bytes as are held. The kernel makes the mapping longer where nothing is in
/// its way: what was held is given up for that, and where somebody else got it in that moment, it stays as it was.
fn widen(
    base: &AtomicPtr<u8>,
    head: usize,
    size: usize,
    mapped: &AtomicU32,
    held: &AtomicU32,
) -> Option<u32> {
    let (has, wants) = (mapped.load(Ordering::Relaxed), held.load(Ordering::Relaxed));
    if has >= wants {
        return None;
    }
    let [now, then] = [has, wants].map(|count| head + count as usize * size);
    let base = base.load(Ordering::Relaxed) as usize;
    held.store(has, Ordering::Relaxed);
    // SAFETY: what is given up was only held, and the rest stays where it is.
    let widened = unsafe {
        system_call(number::MUNMAP, [base + now, then - now, 0, 0, 0, 0]);
        system_call(number::MREMAP, [base, now, then, 0, 0, 0])
    };
    if widened != base as isize {
        return None;
    }
    held.store(wants, Ordering::Relaxed);
    mapped.store(wants, Ordering::Release);
    Some(wants)
}
