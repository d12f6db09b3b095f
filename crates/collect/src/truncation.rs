//! Files that are mapped and get shorter.
//!
//! The program owns the files that it shares with us, and the programs' files that stacks are unwound with belong to
//! anybody. Where one of them is cut while it is mapped, the kernel sends SIGBUS to who reads behind its new end. What is
//! gone is read as zeros then, which every reader of hostile memory copes with.

use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

static PAGE: AtomicUsize = AtomicUsize::new(4096);

/// From now on a mapped file that is cut reads as zeros behind its end, and does not end this process. Programs that are
/// started do not inherit it.
pub fn outlive_truncation() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        PAGE.store(rustix::param::page_size(), Ordering::Relaxed);
        // SAFETY: the handler makes two system calls and touches nothing that could be locked or half changed.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = fill as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
        }
    });
}

extern "C" fn fill(_signal: i32, facts: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel gives valid facts; with this code the page is one of a mapping without anything behind it, and a
    // page of zeros takes its place at once. `errno` is given back as it was.
    unsafe {
        let errno = *libc::__errno_location();
        if (*facts).si_code == libc::BUS_ADRERR {
            let page = PAGE.load(Ordering::Relaxed);
            let at = (*facts).si_addr() as usize / page * page;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let mapped = libc::mmap(at as *mut libc::c_void, page, access, flags, -1, 0);
            if mapped != libc::MAP_FAILED {
                *libc::__errno_location() = errno;
                return;
            }
        }
        // Broken memory, or no memory: as without us, when the instruction is tried again.
        libc::signal(libc::SIGBUS, libc::SIG_DFL);
        *libc::__errno_location() = errno;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memmap2::MmapOptions;

    #[test]
    fn a_file_that_is_cut_reads_as_zeros() {
        outlive_truncation();
        let file = tempfile::tempfile().unwrap();
        file.set_len(3 * 4096).unwrap();
        let map = MmapOptions::new().map_raw(&file).unwrap();
        let at = |offset: usize| {
            // SAFETY: within the mapping.
            unsafe { map.as_mut_ptr().add(offset) }
        };
        // SAFETY: as above; nobody else has the file.
        unsafe {
            at(0).write_volatile(7);
            at(8192).write_volatile(8);
            file.set_len(4096).unwrap();
            assert_eq!((at(0).read_volatile(), at(8192).read_volatile()), (7, 0));
            at(4096).write_volatile(9);
            assert_eq!(at(4096).read_volatile(), 9);
        }
        assert_eq!(file.metadata().unwrap().len(), 4096);
    }
}
