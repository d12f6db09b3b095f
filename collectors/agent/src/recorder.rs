//! The writing of events, by who has the right to record them.

use core::sync::atomic::{AtomicU32, Ordering, compiler_fence};

use holdup_trace::shared::{CHUNK_WORDS, Chunk, Slot, pop, push};
use holdup_trace::wire::words_for;

use crate::life;
use crate::mapping::file;
use crate::patience::{Need, patiently};
use crate::thread::Thread;

/// The calling thread's right to record. While it exists, a signal handler of the thread cannot get another.
pub struct Recorder {
    thread: &'static Thread,
}

/// How many chunks are handed over for one ring.
const CHUNKS_PER_RING: u32 = 4;
static SUBMITTED: AtomicU32 = AtomicU32::new(0);

/// Takes a chunk, if there is one.
pub(crate) fn free_chunk() -> Option<(u32, &'static Chunk)> {
    // More of the file may be mapped meanwhile.
    let link = |index| Some(&file().chunk(index)?.next);
    let index = pop(&file().header().free_chunks, link)?;
    Some((index, file().chunk(index)?))
}

impl Drop for Recorder {
    #[inline]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.thread.busy.set(0);
    }
}

impl Recorder {
    /// The right of the calling thread, to whom it has been given: it is busy, and has a slot.
    #[inline]
    pub(crate) fn of(thread: &Thread) -> Recorder {
        // SAFETY: a thread's block lives as long as the thread, and so longer than any use of it here.
        Recorder { thread: unsafe { &*core::ptr::from_ref(thread) } }
    }

    /// The thread's own block.
    #[inline]
    pub fn thread(&self) -> &'static Thread {
        self.thread
    }

    /// The thread's slot.
    #[inline]
    pub fn slot(&self) -> &'static Slot {
        // SAFETY: `enter` made sure that there is one, in a file that stays mapped.
        unsafe { &*self.thread.slot.get() }
    }

    /// Writes a record. Where no chunk is free it is counted as lost.
    #[inline]
    pub fn write(&self, words: &[u64]) {
        self.write_parts(words, &[]);
    }

    /// Writes a record whose words come from two places.
    pub fn write_parts(&self, head: &[u64], rest: &[u64]) {
        let len = head.len() + rest.len();
        let Some(chunk) = self.room(len) else { return };
        let used = self.thread.used.get() as usize;
        for (to, from) in chunk.words[used..].iter().zip(head.iter().chain(rest)) {
            to.store(*from, Ordering::Relaxed);
        }
        self.commit(chunk, used + len);
    }

    /// Writes a record that ends with bytes.
    pub fn write_text(&self, head: &[u64], text: &[u8]) {
        let len = head.len() + words_for(text.len());
        let Some(chunk) = self.room(len) else { return };
        let used = self.thread.used.get() as usize;
        for (to, from) in chunk.words[used..].iter().zip(head) {
            to.store(*from, Ordering::Relaxed);
        }
        for (to, bytes) in chunk.words[used + head.len()..].iter().zip(text.chunks(8)) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            to.store(u64::from_le_bytes(word), Ordering::Relaxed);
        }
        self.commit(chunk, used + len);
    }

    /// Writes a record that ends with `words` words read from `from`.
    ///
    /// # Safety
    /// Those words can be read.
    pub unsafe fn write_memory(&self, head: &[u64], from: *const u64, words: usize) -> bool {
        let Some(chunk) = self.room(head.len() + words) else { return false };
        let used = self.thread.used.get() as usize;
        for (to, from) in chunk.words[used..].iter().zip(head) {
            to.store(*from, Ordering::Relaxed);
        }
        for (index, to) in chunk.words[used + head.len()..][..words].iter().enumerate() {
            // SAFETY: the caller's promise; volatile, since it is the stack of the running program.
            to.store(unsafe { from.add(index).read_volatile() }, Ordering::Relaxed);
        }
        self.commit(chunk, used + head.len() + words);
        true
    }

    /// Writes `count` events and takes them back: to measure what one costs.
    pub(crate) fn rehearse(&self, count: u64) {
        let Some(chunk) = self.room(count as usize * 6) else { return };
        let (used, events) = (self.thread.used.get(), self.slot().events.load(Ordering::Relaxed));
        for _ in 0..count {
            let time = life::ticks();
            self.write(&holdup_trace::wire::hold(
                time,
                life::ticks(),
                0,
                holdup_trace::wire::ObjectCode::Mutex,
                false,
                false,
                0,
                0,
            ));
        }
        self.thread.used.set(used);
        chunk.used.store(used, Ordering::Release);
        self.slot().events.store(events, Ordering::Relaxed);
    }

    #[inline]
    fn commit(&self, chunk: &Chunk, used: usize) {
        self.thread.used.set(used as u32);
        chunk.used.store(used as u32, Ordering::Release);
        let events = &self.slot().events;
        events.store(events.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    #[inline]
    fn room(&self, words: usize) -> Option<&'static Chunk> {
        if life::writes_nothing() {
            return None;
        }
        let chunk = self.thread.chunk.get();
        if !chunk.is_null() && self.thread.used.get() as usize + words <= CHUNK_WORDS {
            // SAFETY: a chunk of the file, which stays mapped.
            return Some(unsafe { &*chunk });
        }
        self.next_chunk(words)
    }

    #[cold]
    fn next_chunk(&self, words: usize) -> Option<&'static Chunk> {
        self.submit();
        life::notice_closing();
        let is_first = self.slot().filled.load(Ordering::Relaxed) == 0;
        let room = if is_first { CHUNK_WORDS - self.slot().begin().len() } else { CHUNK_WORDS };
        let taken =
            if words <= room && life::recording() { patiently(Need::Often, free_chunk) } else { None };
        let Some((index, chunk)) = taken else {
            file().header().lost_events.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        self.begin_chunk(index, chunk);
        Some(chunk)
    }

    /// Tells that the thread begins, in the chunk that was prepared for it (index + 1; 0 for none), or in another if there is one
    /// now: else it is told before its first event.
    pub(crate) fn begin(&self, prepared: u32) {
        let of_index = |index| Some((index, file().chunk(index)?));
        if !life::writes_nothing()
            && let Some((index, chunk)) = prepared.checked_sub(1).and_then(of_index).or_else(free_chunk)
        {
            self.begin_chunk(index, chunk);
        }
    }

    /// Writes to this chunk from now on. The first one of a thread tells that it begins.
    fn begin_chunk(&self, index: u32, chunk: &'static Chunk) {
        let header = file().header();
        if header.free_chunks.load(Ordering::Relaxed) as u32 == 0 {
            life::ring();
        }
        let slot = self.slot();
        let sequence = slot.filled.fetch_add(1, Ordering::Relaxed);
        chunk.used.store(0, Ordering::Relaxed);
        chunk.thread.store(slot.thread.load(Ordering::Relaxed), Ordering::Relaxed);
        chunk.sequence.store(sequence, Ordering::Relaxed);
        slot.chunk.store(index + 1, Ordering::Release);
        self.thread.used.set(0);
        self.thread.chunk.set(chunk);
        if sequence == 0 {
            self.write(&slot.begin());
        }
    }

    /// Hands the thread's chunk, if it has one, to the recorder.
    pub fn submit(&self) {
        let slot = self.slot();
        let file = file();
        self.thread.chunk.set(core::ptr::null());
        let Some(index) = slot.chunk.swap(0, Ordering::Relaxed).checked_sub(1) else { return };
        if let Some(chunk) = file.chunk(index) {
            push(&file.header().full_chunks, index, &chunk.next);
            // The recorder looks by itself ten times a second; waking it costs a system call.
            if SUBMITTED.fetch_add(1, Ordering::Relaxed).is_multiple_of(CHUNKS_PER_RING) {
                life::ring();
            }
        }
    }
}
