//! The file that the plugin writes to, and the thread that empties it.
//!
//! The thread takes full buffers, compresses what is in them, and passes it on to the thread that writes the recording; so
//! neither the program nor the writing waits for compression. Where the program is faster than all this, the plugin finds
//! no free buffer and waits.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use holdup_recording::{StreamPiece, Writer};
use holdup_trace::instructions::{
    BUFFER_BYTES, BUFFER_SIZE, BUFFERS_OFFSET, Buffer, STREAM_FILE, STREAM_MAGIC, StreamFile, VERSION,
};
use holdup_trace::shared::{push, take_all};
use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::thread::futex;

use crate::cgroups::memory_left;
use crate::log::Log;
use crate::session::{Doorbell, SessionFiles, SharedDirectory};

/// Buffers that there can be: each thread of the program has one.
const MOST: u32 = 2048;
/// Buffers at first (4 MiB)...
const FIRST: u32 = 16;
/// ...and as many as there may be for speed alone (64 MiB).
const PLENTY: u32 = 256;
/// Pieces that wait to be written.
const QUEUE: usize = 32;
/// How long the thread sleeps at most.
const NAP: Duration = Duration::from_millis(5);
/// After so many naps without a full and without a free buffer threads wait for each other (2 s).
const STUCK: u32 = 400;

/// The file, mapped whole. Buffers beyond those reserved are never offered to the plugin.
pub(super) struct Shared {
    file: File,
    map: MmapRaw,
    reserved: AtomicU32,
}

impl Shared {
    pub(super) fn create(directory: &SharedDirectory) -> io::Result<Shared> {
        let size = BUFFERS_OFFSET + MOST as usize * BUFFER_SIZE;
        let file = directory.make_file(STREAM_FILE, size as u64)?;
        fallocate(&file, FallocateFlags::empty(), 0, BUFFERS_OFFSET as u64)?;
        let map = MmapOptions::new().len(size).map_raw(&file)?;
        // SAFETY: our own mapping, which nobody else has opened yet.
        unsafe {
            let head = map.as_mut_ptr().cast::<StreamFile>();
            (*head).version = VERSION;
            (*head).buffers = MOST;
            (*head).recorder = AtomicU32::new(std::process::id());
            (*head).magic = STREAM_MAGIC;
        }
        let shared = Shared { file, map, reserved: AtomicU32::new(0) };
        shared.reserve(FIRST)?;
        Ok(shared)
    }

    fn head(&self) -> &StreamFile {
        // SAFETY: mapped as long as `self`; what the plugin changes is atomic.
        unsafe { &*self.map.as_mut_ptr().cast::<StreamFile>() }
    }

    fn buffer(&self, index: u32) -> Option<&Buffer> {
        let reserved = index < self.reserved.load(Ordering::Relaxed);
        // SAFETY: within the mapping; what the plugin changes is atomic, or in cells that are read only once it has
        // handed the buffer over.
        reserved.then(|| unsafe {
            &*self.map.as_mut_ptr().add(BUFFERS_OFFSET + index as usize * BUFFER_SIZE).cast::<Buffer>()
        })
    }

    /// Reserves buffers up to `wanted` in all and offers the new ones.
    fn reserve(&self, wanted: u32) -> io::Result<()> {
        let (from, wanted) = (self.reserved.load(Ordering::Relaxed), wanted.min(MOST));
        if wanted <= from {
            return Ok(());
        }
        let length = u64::from(wanted - from) * BUFFER_SIZE as u64;
        // As for what the program itself writes: see `MappedFile::reserve`.
        if length > memory_left(Path::new("/")).unwrap_or(u64::MAX) / 8 {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let offset = BUFFERS_OFFSET as u64 + u64::from(from) * BUFFER_SIZE as u64;
        fallocate(&self.file, FallocateFlags::empty(), offset, length)?;
        self.reserved.store(wanted, Ordering::Relaxed);
        (from..wanted).for_each(|index| self.offer(index));
        Ok(())
    }

    /// Gives a buffer to the plugin.
    fn offer(&self, index: u32) {
        let Some(buffer) = self.buffer(index) else { return };
        buffer.used.store(0, Ordering::Relaxed);
        push(&self.head().free, index, &buffer.next);
        ring(&self.head().free_bell);
    }

    /// What a buffer holds; `None` if that is nothing.
    fn piece(&self, buffer: &Buffer) -> io::Result<Option<StreamPiece>> {
        let used = (buffer.used.load(Ordering::Acquire) as usize).min(BUFFER_BYTES);
        if used == 0 {
            return Ok(None);
        }
        // SAFETY: within the buffer, whose writer has handed it over, or is gone. A faulty one that writes all the same
        // makes a piece that cannot be understood.
        let entries = unsafe { std::slice::from_raw_parts(buffer.bytes.as_ptr().cast::<u8>(), used) };
        let (stream, sequence) =
            (buffer.stream.load(Ordering::Relaxed), buffer.sequence.load(Ordering::Relaxed));
        StreamPiece::new(stream, sequence, entries).map(Some)
    }

    /// True if a plugin has been at work.
    pub(super) fn works(&self) -> bool {
        self.head().works.load(Ordering::Acquire) != 0
    }

    /// The plugin is to stop: nothing is read any more.
    fn close(&self) {
        self.head().closed.store(1, Ordering::Release);
        ring(&self.head().free_bell);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.close();
    }
}

fn ring(bell: &AtomicU32) {
    bell.fetch_add(1, Ordering::Release);
    let _ = futex::wake(bell, futex::Flags::empty(), u32::MAX);
}

/// The streams of one run.
pub(crate) struct Streams {
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    pieces: Receiver<StreamPiece>,
    thread: Option<JoinHandle<()>>,
    is_full: bool,
}

impl Streams {
    /// Makes the file in the session's directory, and starts the thread. `executed` follows how many instructions were
    /// executed.
    pub(crate) fn start(files: &SessionFiles, executed: Arc<AtomicU64>) -> io::Result<Streams> {
        let shared = Arc::new(Shared::create(files.directory())?);
        let stop = Arc::<AtomicBool>::default();
        let (passed_on, pieces) = sync_channel(QUEUE);
        let drain = Drain {
            shared: Arc::clone(&shared),
            stop: Arc::clone(&stop),
            passed_on,
            executed,
            doorbell: files.doorbell(),
            grows: true,
            stuck: 0,
        };
        let thread =
            std::thread::Builder::new().name("instructions".to_owned()).spawn(move || drain.run())?;
        Ok(Streams { shared, stop, pieces, thread: Some(thread), is_full: false })
    }

    /// Writes what is ready. True if there was something.
    pub(crate) fn take(&mut self, log: &mut Log) -> bool {
        let mut busy = false;
        while let Ok(piece) = self.pieces.try_recv() {
            busy = true;
            self.write(&piece, log);
        }
        busy
    }

    fn write(&mut self, piece: &StreamPiece, log: &mut Log) {
        let write = |writer: &mut Writer| writer.instructions(piece);
        if log.keep(write) != Some(true) {
            // At its limit, or on a full disk: what would follow has no place either.
            self.is_full = true;
            self.shared.close();
        }
    }

    /// The program has ended: writes what is left.
    pub(crate) fn finish(&mut self, log: &mut Log) {
        self.stop.store(true, Ordering::Release);
        while let Ok(piece) = self.pieces.recv() {
            self.write(&piece, log);
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    /// True if the plugin was at work.
    pub(crate) fn work(&self) -> bool {
        self.shared.works()
    }

    /// True if something was left out because the recording could not grow.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }
}

/// The thread's own.
struct Drain {
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    passed_on: SyncSender<StreamPiece>,
    executed: Arc<AtomicU64>,
    doorbell: Doorbell,
    /// False once there was no room for more.
    grows: bool,
    /// Rounds in which no buffer was free, and none was full.
    stuck: u32,
}

impl Drain {
    fn run(mut self) {
        loop {
            let heard = self.shared.head().full_bell.load(Ordering::Acquire);
            let stops = self.stop.load(Ordering::Acquire);
            let Some(taken) = self.take_full() else { return };
            self.grow(taken);
            self.executed.store(self.shared.head().instructions.load(Ordering::Relaxed), Ordering::Relaxed);
            if stops {
                break;
            }
            if taken == 0 {
                let nap = rustix::time::Timespec { tv_sec: 0, tv_nsec: NAP.as_nanos() as _ };
                let bell = &self.shared.head().full_bell;
                let _ = futex::wait(bell, futex::Flags::empty(), heard, Some(&nap));
            }
        }
        self.take_rest();
    }

    /// Passes on what full buffers hold and gives them back; gives their number, `None` if nobody listens any more.
    fn take_full(&self) -> Option<u32> {
        let mut next = take_all(&self.shared.head().full);
        let mut count = 0;
        // The links lie in memory that a faulty program could have overwritten: no more than there can be.
        while let Some(index) = next.checked_sub(1)
            && count < MOST
        {
            let Some(buffer) = self.shared.buffer(index) else { break };
            next = buffer.next.load(Ordering::Relaxed);
            self.pass_on(buffer, |piece| piece)?;
            self.shared.offer(index);
            count += 1;
        }
        Some(count)
    }

    /// What threads still had when the program ended.
    fn take_rest(&self) {
        for index in 0..self.shared.reserved.load(Ordering::Relaxed) {
            let Some(buffer) = self.shared.buffer(index) else { return };
            // Of a thread that did little, these are all marks that there are.
            if self.pass_on(buffer, StreamPiece::kept).is_none() {
                return;
            }
        }
    }

    fn pass_on(&self, buffer: &Buffer, how: fn(StreamPiece) -> StreamPiece) -> Option<()> {
        if let Ok(Some(piece)) = self.shared.piece(buffer) {
            self.passed_on.send(how(piece)).ok()?;
            self.doorbell.ring();
        }
        Some(())
    }

    /// Reserves more where the plugin uses what there is: twice as much for speed, and a little more for threads of which
    /// each has a buffer.
    fn grow(&mut self, taken: u32) {
        let reserved = self.shared.reserved.load(Ordering::Relaxed);
        let scarce = self.shared.head().free.load(Ordering::Relaxed) as u32 == 0;
        let wanted = match (scarce, taken) {
            (true, _) if reserved < PLENTY => reserved * 2,
            (true, 0) => reserved + FIRST,
            _ if taken * 2 >= reserved && reserved < PLENTY => reserved * 2,
            _ => return,
        };
        if self.grows {
            self.grows = self.shared.reserve(wanted).is_ok();
        }
        self.stuck = if scarce && taken == 0 { self.stuck + 1 } else { 0 };
        if self.stuck == STUCK {
            // Threads that wait for a buffer wait for ones that wait for them.
            self.shared.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use holdup_trace::instructions::{Entry, Mark, MarkCode, put};
    use holdup_trace::shared::pop;

    use super::*;
    use crate::machine::ClockSource;

    /// Takes a buffer as the plugin does.
    fn taken(shared: &Shared) -> Option<u32> {
        pop(&shared.head().free, |index| Some(&shared.buffer(index)?.next))
    }

    /// Writes a mark, and fills up to `bytes` with others like it.
    fn fill(shared: &Shared, index: u32, stream: u32, sequence: u32, bytes: usize) {
        let buffer = shared.buffer(index).unwrap();
        let mut entry = Vec::new();
        for number in [(MarkCode::Created as u64) << 2 | Entry::Mark as u64, u64::from(sequence), 0, 0, 0, 0]
        {
            let mut room = [0; 9];
            let length = put(&mut room, number);
            entry.extend(&room[..length]);
        }
        let content: Vec<u8> =
            entry.iter().copied().cycle().take(bytes / entry.len() * entry.len()).collect();
        // SAFETY: the buffer is this test's own.
        unsafe {
            let to = buffer.bytes.as_ptr().cast::<u8>().cast_mut();
            to.copy_from_nonoverlapping(content.as_ptr(), content.len());
        }
        buffer.stream.store(stream, Ordering::Relaxed);
        buffer.sequence.store(sequence, Ordering::Relaxed);
        buffer.used.store(content.len() as u32, Ordering::Release);
    }

    #[test]
    fn what_is_full_and_what_is_left_reaches_the_recording() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.holdup");
        let files = SessionFiles::create(0, ClockSource::Monotonic, 1e9, None).unwrap();
        let (mut log, _) = Log::create(&path, None, ClockSource::Monotonic).unwrap();
        let session = holdup_recording::facts::Session::default();
        log.keep(|writer| writer.facts(holdup_recording::format::FrameKind::Session, 0, &session));
        let executed = Arc::<AtomicU64>::default();
        let mut streams = Streams::start(&files, Arc::clone(&executed)).unwrap();
        let shared = Arc::clone(&streams.shared);
        let pieces = FIRST * 3;
        for sequence in 0..pieces {
            let index = loop {
                if let Some(index) = taken(&shared) {
                    break index;
                }
                streams.take(&mut log);
            };
            fill(&shared, index, 7, sequence, 1000);
            // The last one stays with its thread, which is killed.
            if sequence + 1 < pieces {
                push(&shared.head().full, index, &shared.buffer(index).unwrap().next);
                ring(&shared.head().full_bell);
            }
        }
        shared.head().instructions.store(99, Ordering::Relaxed);
        assert!(!streams.work());
        streams.finish(&mut log);
        assert_eq!(executed.load(Ordering::Relaxed), 99);
        let (recording, _) = holdup_recording::Recording::open(&path).unwrap();
        let read = holdup_recording::Instructions::of(&recording).unwrap();
        let mut seen = std::collections::BTreeMap::<u64, u32>::new();
        let whole = read.each(7, &mut |event| {
            if let holdup_recording::StreamEvent::Mark(Mark::Created { number }) = event {
                *seen.entry(u64::from(number)).or_default() += 1;
            }
        });
        assert!(whole);
        assert_eq!(seen.keys().copied().collect::<Vec<_>>(), (0..u64::from(pieces)).collect::<Vec<_>>());
        assert!(seen.values().all(|count| *count > 100), "{seen:?}");
    }

    #[test]
    fn a_recording_at_its_limit_stops_the_plugin() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.holdup");
        let files = SessionFiles::create(0, ClockSource::Monotonic, 1e9, None).unwrap();
        let (mut log, _) = Log::create(&path, Some(0), ClockSource::Monotonic).unwrap();
        let mut streams = Streams::start(&files, Arc::default()).unwrap();
        let shared = Arc::clone(&streams.shared);
        let index = taken(&shared).unwrap();
        fill(&shared, index, 0, 0, 1000);
        push(&shared.head().full, index, &shared.buffer(index).unwrap().next);
        streams.finish(&mut log);
        assert!(streams.is_full());
        assert_eq!(shared.head().closed.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn more_threads_than_buffers_get_more() {
        let files = SessionFiles::create(0, ClockSource::Monotonic, 1e9, None).unwrap();
        let streams = Streams::start(&files, Arc::default()).unwrap();
        let mut got = 0;
        while got < FIRST * 4 {
            match taken(&streams.shared) {
                Some(_) => got += 1,
                None => std::thread::yield_now(),
            }
        }
    }
}
