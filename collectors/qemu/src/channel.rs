//! The file that the recorder reads from, and how a thread writes entries to it.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use holdup_trace::instructions::{
    BUFFER_BYTES, BUFFER_SIZE, BUFFERS_OFFSET, Buffer, STREAM_FILE, STREAM_MAGIC, StreamFile, VERSION,
};
use holdup_trace::shared::{pop, push};

/// How long to sleep before looking whether the recorder is still there.
const NAP_NS: i64 = 50_000_000;
/// After so many naps without a free buffer what was to be written is dropped: threads that hold buffers may be waiting
/// for this one.
const NAPS: u32 = 200;

/// The shared file, mapped.
pub(crate) struct Channel {
    base: NonNull<u8>,
    buffers: u32,
    /// On a page that reads as zeros in children of a fork: they have our mapping, and must leave it alone.
    ours: NonNull<AtomicU32>,
    stopped: AtomicBool,
    /// Bytes written so far.
    bytes: AtomicU64,
}

// SAFETY: what is shared behind the pointers is atomic; the bytes of a buffer belong to who took it.
unsafe impl Send for Channel {}
// SAFETY: as above.
unsafe impl Sync for Channel {}

impl Channel {
    /// Opens the file of a session. Errors are one line.
    pub(crate) fn open(session: &Path) -> Result<Self, String> {
        let path = session.join(STREAM_FILE);
        let named = |what: String| format!("{}: {what}", path.display());
        let file =
            File::options().read(true).write(true).open(&path).map_err(|error| named(error.to_string()))?;
        let length = file.metadata().map_err(|error| named(error.to_string()))?.len() as usize;
        if length < BUFFERS_OFFSET + BUFFER_SIZE {
            return Err(named("is no file for streams of instructions".into()));
        }
        let base = map(length, libc::MAP_SHARED, file.as_raw_fd())
            .ok_or_else(|| named("cannot be mapped".into()))?;
        let page = map(4096, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
            .ok_or_else(|| named("no memory for a page".into()))?;
        // SAFETY: the page that was just mapped.
        unsafe { libc::madvise(page.as_ptr().cast(), 4096, libc::MADV_WIPEONFORK) };
        // SAFETY: the mapping begins with a `StreamFile`, whose plain fields nobody changes any more.
        let head = unsafe { base.cast::<StreamFile>().as_ref() };
        let fits = BUFFERS_OFFSET as u64 + u64::from(head.buffers) * BUFFER_SIZE as u64 <= length as u64;
        if head.magic != STREAM_MAGIC || head.version != VERSION || head.buffers == 0 || !fits {
            return Err(named("was made by another version of holdup".into()));
        }
        let channel = Self {
            base,
            buffers: head.buffers,
            ours: page.cast(),
            stopped: AtomicBool::new(false),
            bytes: AtomicU64::new(0),
        };
        let pid = std::process::id();
        if head.writer.compare_exchange(0, pid, Ordering::AcqRel, Ordering::Acquire).is_err() {
            return Err(named("another program writes to it".into()));
        }
        channel.owner().store(1, Ordering::Relaxed);
        head.works.store(1, Ordering::Release);
        Ok(channel)
    }

    fn owner(&self) -> &AtomicU32 {
        // SAFETY: our page, which stays mapped.
        unsafe { self.ours.as_ref() }
    }

    /// False in children of a fork.
    pub(crate) fn is_ours(&self) -> bool {
        self.owner().load(Ordering::Relaxed) == 1
    }

    /// True once the recorder has left.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Bytes written so far, in buffers that were handed over.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// True if so many threads could hold most of the buffers.
    pub(crate) fn is_short_for(&self, threads: u32) -> bool {
        threads > self.buffers / 2
    }

    /// Adds to the instructions that were executed; gives their sum.
    pub(crate) fn executed(&self, instructions: u64) -> u64 {
        self.head().instructions.fetch_add(instructions, Ordering::Relaxed) + instructions
    }

    fn head(&self) -> &StreamFile {
        // SAFETY: the mapping begins with it, and stays.
        unsafe { self.base.cast().as_ref() }
    }

    fn buffer(&self, index: u32) -> Option<&'static Buffer> {
        // SAFETY: the file is long enough for all buffers, by `open`, and stays mapped; what is shared in a buffer is atomic.
        (index < self.buffers).then(|| unsafe {
            &*self.base.as_ptr().add(BUFFERS_OFFSET + index as usize * BUFFER_SIZE).cast::<Buffer>()
        })
    }

    fn take(&self) -> Option<u32> {
        let head = self.head();
        for _ in 0..NAPS {
            let bell = head.free_bell.load(Ordering::Acquire);
            if head.closed.load(Ordering::Acquire) != 0 || self.is_stopped() {
                break;
            }
            if let Some(index) = pop(&head.free, |index| self.buffer(index).map(|buffer| &buffer.next)) {
                return Some(index);
            }
            sleep_on(&head.free_bell, bell);
            let recorder = head.recorder.load(Ordering::Relaxed) as i32;
            // SAFETY: signal 0 only asks whether there is such a process.
            let gone = recorder > 0
                && unsafe { libc::kill(recorder, 0) } != 0
                && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH);
            if gone {
                head.closed.store(1, Ordering::Release);
            }
        }
        if head.closed.load(Ordering::Acquire) != 0 {
            self.stopped.store(true, Ordering::Relaxed);
        }
        None
    }

    fn hand_over(&self, index: u32) {
        let head = self.head();
        let Some(buffer) = self.buffer(index) else { return };
        self.bytes.fetch_add(u64::from(buffer.used.load(Ordering::Relaxed)), Ordering::Relaxed);
        push(&head.full, index, &buffer.next);
        head.full_bell.fetch_add(1, Ordering::AcqRel);
        wake(&head.full_bell);
    }
}

fn map(length: usize, flags: i32, descriptor: i32) -> Option<NonNull<u8>> {
    // SAFETY: a new mapping at a place that the kernel chooses touches nothing that exists.
    let base = unsafe {
        libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ | libc::PROT_WRITE, flags, descriptor, 0)
    };
    if base == libc::MAP_FAILED { None } else { NonNull::new(base.cast()) }
}

fn sleep_on(bell: &AtomicU32, seen: u32) {
    let nap = libc::timespec { tv_sec: 0, tv_nsec: NAP_NS };
    // SAFETY: the word is shared memory that stays mapped, the time-out lives through the call.
    unsafe { libc::syscall(libc::SYS_futex, bell.as_ptr(), libc::FUTEX_WAIT, seen, &raw const nap, 0, 0) };
}

fn wake(bell: &AtomicU32) {
    // SAFETY: the word is shared memory that stays mapped.
    unsafe { libc::syscall(libc::SYS_futex, bell.as_ptr(), libc::FUTEX_WAKE, i32::MAX, 0, 0, 0) };
}

/// One stream's way out: the buffer that it writes to.
///
/// The buffer's `used` is raised with each entry, so that the recorder finds whole entries whatever kills us.
pub(crate) struct Outlet {
    channel: &'static Channel,
    stream: u32,
    sequence: u32,
    current: Option<Current>,
}

struct Current {
    index: u32,
    buffer: &'static Buffer,
    used: usize,
}

// SAFETY: a buffer that was taken belongs to the outlet alone.
unsafe impl Send for Outlet {}

impl Outlet {
    pub(crate) fn new(channel: &'static Channel, stream: u32) -> Self {
        Self { channel, stream, sequence: 0, current: None }
    }

    /// Room for so many bytes in the buffer; `None` if there is none.
    #[inline(always)]
    pub(crate) fn room(&mut self, length: usize) -> Option<&mut [u8]> {
        let current = self.current.as_ref().filter(|current| BUFFER_BYTES - current.used >= length)?;
        // SAFETY: the buffer is ours until it is handed over.
        Some(unsafe {
            let from = current.buffer.bytes.as_ptr().cast::<u8>().cast_mut().add(current.used);
            std::slice::from_raw_parts_mut(from, BUFFER_BYTES - current.used)
        })
    }

    /// A whole entry of this length was written to the room.
    #[inline(always)]
    pub(crate) fn advance(&mut self, length: usize) {
        if let Some(current) = &mut self.current {
            current.used += length;
            current.buffer.used.store(current.used as u32, Ordering::Release);
        }
    }

    /// Takes an empty buffer, waiting for one if need be; false if nothing can be written any more, or none was to be had.
    pub(crate) fn take(&mut self) -> bool {
        if self.channel.is_stopped() || !self.channel.is_ours() {
            return false;
        }
        let Some(index) = self.channel.take() else { return false };
        let Some(buffer) = self.channel.buffer(index) else { return false };
        buffer.used.store(0, Ordering::Relaxed);
        buffer.sequence.store(self.sequence, Ordering::Relaxed);
        buffer.stream.store(self.stream, Ordering::Release);
        self.sequence += 1;
        self.current = Some(Current { index, buffer, used: 0 });
        true
    }

    /// Writes whole entries; false if they were dropped.
    pub(crate) fn write(&mut self, entries: &[u8]) -> bool {
        if !self.channel.is_ours() {
            return false;
        }
        if self.room(entries.len()).is_none() {
            self.hand_over();
            if self.current.is_some() || !self.take() {
                return false;
            }
        }
        let Some(room) = self.room(entries.len()) else { return false };
        room[..entries.len()].copy_from_slice(entries);
        self.advance(entries.len());
        true
    }

    /// Hands over what was written so far.
    pub(crate) fn hand_over(&mut self) {
        if let Some(current) = self.current.take_if(|_| self.channel.is_ours()) {
            self.channel.hand_over(current.index);
        }
    }
}
