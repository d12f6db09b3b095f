//! The memory that the kernel writes records to.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};
use perf_event_open_sys::bindings::perf_event_mmap_page;

/// One processor's ring: a page that says how far the kernel and we are, and then the records.
///
/// The kernel writes between head and tail only, we read between tail and head only; both only ever grow.
#[derive(Debug)]
pub(crate) struct Ring {
    /// The event that the ring was made for. Others are redirected to it.
    event: OwnedFd,
    map: MmapRaw,
    page: usize,
}

impl Ring {
    /// Makes a ring of `bytes` (pages, a power of two) for this event.
    pub(crate) fn new(event: OwnedFd, bytes: usize) -> io::Result<Ring> {
        let page = rustix::param::page_size();
        let map = MmapOptions::new().len(page + bytes).map_raw(&event)?;
        Ok(Ring { event, map, page })
    }

    /// The event to redirect others to.
    pub(crate) fn event(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    /// How many bytes of records it has room for.
    pub(crate) fn bytes(&self) -> usize {
        self.map.len() - self.page
    }

    /// How many bytes the kernel has written since the beginning.
    pub(crate) fn head(&self) -> u64 {
        // Acquire, so that the records are seen that were written before.
        self.head_word().load(Ordering::Acquire)
    }

    /// How many bytes have been given back since the beginning.
    pub(crate) fn tail(&self) -> u64 {
        // Nobody else writes it.
        self.tail_word().load(Ordering::Relaxed)
    }

    /// What is written and not given back, up to `head`, in two pieces of which the second follows the first.
    pub(crate) fn readable(&mut self, head: u64) -> (&[u8], &[u8]) {
        let size = self.bytes();
        let tail = self.tail();
        let len = usize::try_from(head.saturating_sub(tail)).map_or(size, |len| len.min(size));
        // The size is a power of two.
        let start = tail as usize & (size - 1);
        let first = len.min(size - start);
        // SAFETY: `start + first` and `len - first` are at most `size`, which is what is mapped behind the first page.
        // The kernel does not write there before `give_back`, which needs this very `&mut self` again.
        unsafe {
            let records = self.map.as_ptr().add(self.page);
            (
                std::slice::from_raw_parts(records.add(start), first),
                std::slice::from_raw_parts(records, len - first),
            )
        }
    }

    /// Lets the kernel write over the next `bytes`.
    pub(crate) fn give_back(&mut self, bytes: usize) {
        // Release, so that they have been read before the kernel sees it.
        self.tail_word().store(self.tail() + bytes as u64, Ordering::Release);
    }

    fn head_word(&self) -> &AtomicU64 {
        // SAFETY: see `word`.
        unsafe { word(&raw mut (*self.control()).data_head) }
    }

    fn tail_word(&self) -> &AtomicU64 {
        // SAFETY: see `word`.
        unsafe { word(&raw mut (*self.control()).data_tail) }
    }

    fn control(&self) -> *mut perf_event_mmap_page {
        self.map.as_mut_ptr().cast()
    }
}

/// # Safety
///
/// The word must lie in the first page of a mapping that outlives the result. It is aligned there, and both sides
/// write it whole.
unsafe fn word<'a>(at: *mut u64) -> &'a AtomicU64 {
    // SAFETY: as above.
    unsafe { AtomicU64::from_ptr(at) }
}
