//! Tables as long as they may ever get, of which only what was touched costs memory.

use std::ptr::NonNull;

/// Why there is no table.
pub(crate) const NO_ROOM: &str = "there is not enough address space";

/// A table of zeroed elements at a fixed place. Pages that nobody wrote to take no memory.
pub(crate) struct Reserved<T> {
    base: NonNull<T>,
    length: usize,
}

// SAFETY: it is memory, owned as a `Box` owns it.
unsafe impl<T: Send> Send for Reserved<T> {}

// SAFETY: what it shares is a place; who dereferences it answers for the elements.
unsafe impl<T: Sync> Sync for Reserved<T> {}

/// Types for which zeroed memory is a value.
///
/// # Safety
/// All bytes zero must be a valid value, and dropping it must do nothing.
pub(crate) unsafe trait Zeroed {}

// SAFETY: a number.
unsafe impl Zeroed for u64 {}
// SAFETY: a number.
unsafe impl Zeroed for std::sync::atomic::AtomicU64 {}
// SAFETY: the null pointer.
unsafe impl<T> Zeroed for std::sync::atomic::AtomicPtr<T> {}

impl<T: Zeroed> Reserved<T> {
    /// A table of `length` elements; `None` if the address space is not to be had.
    pub(crate) fn new(length: usize) -> Option<Self> {
        // SAFETY: a fresh anonymous mapping touches nothing that exists.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length * size_of::<T>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return None;
        }
        NonNull::new(base.cast()).map(|base| Self { base, length })
    }

    /// The first element.
    pub(crate) fn base(&self) -> *mut T {
        self.base.as_ptr()
    }

    /// Makes all elements zero again and gives their memory back.
    pub(crate) fn clear(&mut self) {
        // SAFETY: the whole of our own private anonymous mapping, which then reads as zeros.
        unsafe {
            libc::madvise(self.base.as_ptr().cast(), self.length * size_of::<T>(), libc::MADV_DONTNEED)
        };
    }
}

impl<T> Drop for Reserved<T> {
    fn drop(&mut self) {
        // SAFETY: our own mapping, to which no reference is left.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length * size_of::<T>()) };
    }
}
