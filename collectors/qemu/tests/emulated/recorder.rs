//! A recorder as small as can be: the shared file, and a thread that empties its buffers.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use holdup_trace::instructions::{
    BUFFER_SIZE, BUFFERS_OFFSET, Buffer, STREAM_FILE, STREAM_MAGIC, StreamFile, VERSION,
};
use holdup_trace::shared::{push, take_all};

/// The pieces of each stream by their sequence.
pub(crate) type Pieces = BTreeMap<u32, BTreeMap<u32, Vec<u8>>>;

/// The file, mapped.
#[derive(Clone, Copy)]
struct Shared {
    base: *mut u8,
    buffers: u32,
}

// SAFETY: what is behind the pointer is atomic, or belongs to who took it.
unsafe impl Send for Shared {}

impl Shared {
    fn head<'a>(self) -> &'a StreamFile {
        // SAFETY: the mapping begins with it, and is never unmapped.
        unsafe { &*self.base.cast() }
    }

    fn buffer<'a>(self, index: u32) -> &'a Buffer {
        assert!(index < self.buffers);
        // SAFETY: the file has that many.
        unsafe { &*self.base.add(BUFFERS_OFFSET + index as usize * BUFFER_SIZE).cast() }
    }

    fn take(self, index: u32, to: &mut Pieces) {
        let buffer = self.buffer(index);
        let used = buffer.used.swap(0, Ordering::Acquire) as usize;
        // SAFETY: whole entries, which nobody writes to any more.
        let bytes = unsafe { std::slice::from_raw_parts(buffer.bytes.as_ptr().cast::<u8>(), used) };
        let stream = to.entry(buffer.stream.load(Ordering::Relaxed)).or_default();
        let before = stream.insert(buffer.sequence.load(Ordering::Relaxed), bytes.to_vec());
        assert_eq!(before, None, "a piece came twice");
    }
}

/// Collects what a plugin writes.
pub(crate) struct Recorder {
    shared: Shared,
    ended: Arc<AtomicBool>,
    thread: JoinHandle<Pieces>,
}

impl Recorder {
    /// Makes the file in `session`; with `slow`, buffers are taken only now and then.
    pub(crate) fn new(session: &Path, buffers: u32, slow: bool) -> Self {
        let file =
            File::options().read(true).write(true).create_new(true).open(session.join(STREAM_FILE)).unwrap();
        let length = BUFFERS_OFFSET + buffers as usize * BUFFER_SIZE;
        file.set_len(length as u64).unwrap();
        // SAFETY: a new mapping of a file that is long enough.
        let base = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        assert_ne!(base, libc::MAP_FAILED);
        let shared = Shared { base: base.cast(), buffers };
        // SAFETY: plain fields at the beginning of the mapping, which nobody else knows yet.
        unsafe {
            let head = shared.base.cast::<StreamFile>();
            (*head).magic = STREAM_MAGIC;
            (*head).version = VERSION;
            (*head).buffers = buffers;
        }
        shared.head().recorder.store(std::process::id(), Ordering::Relaxed);
        for index in 0..buffers {
            push(&shared.head().free, index, &shared.buffer(index).next);
        }
        let ended = Arc::new(AtomicBool::new(false));
        let seen = ended.clone();
        let thread = std::thread::spawn(move || {
            let mut pieces = Pieces::new();
            loop {
                let last = seen.load(Ordering::Acquire);
                drain(shared, &mut pieces);
                if last {
                    return pieces;
                }
                std::thread::sleep(Duration::from_millis(if slow { 30 } else { 1 }));
            }
        });
        Self { shared, ended, thread }
    }

    /// Leaves before the program has ended.
    pub(crate) fn close(&self) {
        self.shared.head().closed.store(1, Ordering::Release);
    }

    /// True once a plugin writes.
    pub(crate) fn works(&self) -> bool {
        self.shared.head().works.load(Ordering::Acquire) == 1
    }

    /// Instructions so far.
    pub(crate) fn instructions(&self) -> u64 {
        self.shared.head().instructions.load(Ordering::Relaxed)
    }

    /// All that was written. To be called when the program has ended.
    pub(crate) fn finish(self) -> Pieces {
        self.ended.store(true, Ordering::Release);
        let mut pieces = self.thread.join().unwrap();
        for index in 0..self.shared.buffers {
            if self.shared.buffer(index).used.load(Ordering::Acquire) > 0 {
                self.shared.take(index, &mut pieces);
            }
        }
        pieces
    }
}

fn drain(shared: Shared, to: &mut Pieces) {
    let mut next = take_all(&shared.head().full);
    let mut freed = false;
    while let Some(index) = next.checked_sub(1) {
        let buffer = shared.buffer(index);
        next = buffer.next.load(Ordering::Relaxed);
        shared.take(index, to);
        push(&shared.head().free, index, &buffer.next);
        freed = true;
    }
    if freed {
        let bell = &shared.head().free_bell;
        bell.fetch_add(1, Ordering::AcqRel);
        // SAFETY: a word of the mapping.
        unsafe { libc::syscall(libc::SYS_futex, bell.as_ptr(), libc::FUTEX_WAKE, i32::MAX, 0, 0, 0) };
    }
}
