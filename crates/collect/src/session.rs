//! The directory and the files that a session shares with its programs.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use holdup_trace::shared::{
    CHUNK_SIZE, CHUNKS, CHUNKS_OFFSET, Header, PROCESS_FILE_SIZE, PROCESS_MAGIC, ProcessFile, SESSION_MAGIC,
    SLOT_SIZE, SLOTS, SLOTS_OFFSET, Session, UNRECORDED, VERSION, push,
};
use holdup_trace::wire::NO_THREAD;
use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{FallocateFlags, fallocate, ftruncate};
use rustix::thread::futex;

use crate::machine::{ClockSource, memory_left};

/// Blocking calls shorter than this are not recorded.
const SHORT_CALL_MICROS: f64 = 20.0;
/// Slots and chunks that a process finds ready when it starts.
const FIRST_SLOTS: u32 = 64;
const FIRST_CHUNKS: u32 = 8;
/// What a directory's file system must have room for.
const ROOM: u64 = 32 << 20;

/// A session's directory and its first page. Removed when it is dropped.
pub(crate) struct SessionFiles {
    directory: PathBuf,
    page: Arc<MmapRaw>,
    owner: Option<(u32, u32)>,
}

impl SessionFiles {
    /// Makes a directory that only this user can enter, or `owner` (user and group) where one is given.
    pub(crate) fn create(
        flags: u32,
        clock: ClockSource,
        ticks_per_second: f64,
        owner: Option<(u32, u32)>,
    ) -> io::Result<SessionFiles> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for parent in [PathBuf::from("/dev/shm"), std::env::temp_dir()] {
            remove_abandoned(&parent);
            let made = make_directory(&parent).and_then(|directory| {
                let files = SessionFiles::create_in(&directory, flags, clock, ticks_per_second, owner);
                if files.is_err() {
                    let _ = fs::remove_dir_all(&directory);
                }
                files
            });
            match made {
                Ok(files) => return Ok(files),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn create_in(
        directory: &Path,
        flags: u32,
        clock: ClockSource,
        ticks_per_second: f64,
        owner: Option<(u32, u32)>,
    ) -> io::Result<SessionFiles> {
        let file = new_file(&directory.join("session"), 4096, owner)?;
        fallocate(&file, FallocateFlags::empty(), 0, 4096)?;
        let page = MmapOptions::new().len(4096).map_raw(&file)?;
        let ticks_per_us = ticks_per_second / 1e6;
        let clock_flag = match clock {
            ClockSource::Counter => 0,
            ClockSource::Monotonic => holdup_trace::shared::MONOTONIC_CLOCK,
        };
        // SAFETY: a page of our own, mapped just now, that nobody else has opened yet.
        unsafe {
            let session = page.as_mut_ptr().cast::<Session>();
            (*session).version = VERSION;
            (*session).flags = flags | clock_flag;
            (*session).ticks_per_us = AtomicU32::new((ticks_per_us.round() as u32).max(1));
            (*session).short_call_ticks = AtomicU32::new((ticks_per_us * SHORT_CALL_MICROS) as u32);
            (*session).ticks_per_second = AtomicU64::new(ticks_per_second.round() as u64);
            (*session).magic = SESSION_MAGIC;
        }
        if let Some((user, group)) = owner {
            std::os::unix::fs::chown(directory, Some(user), Some(group))?;
        }
        Ok(SessionFiles { directory: directory.to_owned(), page: Arc::new(page), owner })
    }

    /// The directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The first page.
    pub(crate) fn page(&self) -> &Session {
        session(&self.page)
    }

    /// The bell, for a thread of the recorder.
    pub(crate) fn doorbell(&self) -> Doorbell {
        Doorbell(Arc::clone(&self.page))
    }

    /// Makes the next process file, with every page that is offered to a program reserved.
    pub(crate) fn make_spare(&self) -> io::Result<MappedFile> {
        let number = self.page().made.load(Ordering::Relaxed);
        let path = self.directory.join(format!("p{number}"));
        let chunks = if self.page().flags & UNRECORDED == 0 { FIRST_CHUNKS } else { 0 };
        let spare = MappedFile::create(&path, self.owner, chunks)?;
        self.page().made.store(number + 1, Ordering::Release);
        Ok(spare)
    }
}

impl Drop for SessionFiles {
    fn drop(&mut self) {
        self.page().closed.store(1, Ordering::Relaxed);
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn session(page: &MmapRaw) -> &Session {
    // SAFETY: a mapped page, which lives as long as the result; what programs change is atomic.
    unsafe { &*page.as_mut_ptr().cast::<Session>() }
}

/// Wakes the recorder if it sleeps.
#[derive(Clone)]
pub(crate) struct Doorbell(Arc<MmapRaw>);

impl Doorbell {
    pub(crate) fn ring(&self) {
        let bell = &session(&self.0).doorbell;
        bell.fetch_add(1, Ordering::Relaxed);
        let _ = futex::wake(bell, futex::Flags::empty(), 1);
    }
}

/// What directories of sessions are called: `holdup-session-`, the recorder's process id, a random number.
const PREFIX: &str = "holdup-session-";

fn make_directory(parent: &Path) -> io::Result<PathBuf> {
    if crate::machine::room(parent)?.0 < ROOM {
        return Err(io::Error::new(
            io::ErrorKind::StorageFull,
            format!("{} is nearly full", parent.display()),
        ));
    }
    let mut random = [0u8; 8];
    io::Read::read_exact(&mut File::open("/dev/urandom")?, &mut random)?;
    let name = format!("{PREFIX}{}-{:016x}", std::process::id(), u64::from_le_bytes(random));
    let directory = parent.join(name);
    fs::DirBuilder::new().mode(0o700).create(&directory)?;
    Ok(directory)
}

/// Removes directories of this user's sessions whose recorder was killed.
fn remove_abandoned(parent: &Path) {
    let own = rustix::process::geteuid().as_raw();
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
        let Some(pid) = rest.split('-').next().and_then(|pid| pid.parse::<u32>().ok()) else { continue };
        let ours = fs::symlink_metadata(entry.path()).is_ok_and(|facts| facts.is_dir() && facts.uid() == own);
        if ours && !Path::new(&format!("/proc/{pid}")).exists() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

pub(crate) fn new_file(path: &Path, size: u64, owner: Option<(u32, u32)>) -> io::Result<File> {
    const NO_FOLLOW: i32 = 0o400000;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(NO_FOLLOW)
        .open(path)?;
    ftruncate(&file, size)?;
    if let Some((user, group)) = owner {
        std::os::unix::fs::fchown(&file, Some(user), Some(group))?;
    }
    Ok(file)
}

/// The memory of a process file.
#[derive(Clone)]
pub(crate) struct SharedMemory(Arc<MmapRaw>);

impl SharedMemory {
    /// Its parts. They are not to be used when this is gone.
    pub(crate) fn parts(&self) -> ProcessFile {
        parts(&self.0)
    }
}

fn parts(map: &MmapRaw) -> ProcessFile {
    let base = map.as_mut_ptr();
    // SAFETY: the whole file is mapped, as long as `map`.
    unsafe { ProcessFile::new(base, SLOTS as u32, base.add(CHUNKS_OFFSET), CHUNKS as u32) }
}

/// A process file, mapped whole. Pages beyond those reserved are never offered to a program.
pub(crate) struct MappedFile {
    path: PathBuf,
    file: File,
    map: Arc<MmapRaw>,
    slots: u32,
    chunks: u32,
    full: bool,
}

impl MappedFile {
    fn create(path: &Path, owner: Option<(u32, u32)>, chunks: u32) -> io::Result<MappedFile> {
        let file = new_file(path, PROCESS_FILE_SIZE as u64, owner)?;
        fallocate(&file, FallocateFlags::empty(), 0, SLOTS_OFFSET as u64)?;
        let map = Arc::new(MmapOptions::new().len(PROCESS_FILE_SIZE).map_raw(&file)?);
        let mut made = MappedFile { path: path.to_owned(), file, map, slots: 0, chunks: 0, full: false };
        made.reserve_slots(FIRST_SLOTS)?;
        made.reserve_chunks(chunks)?;
        // SAFETY: our own mapping, which nobody else has opened yet.
        unsafe {
            let header = made.map.as_mut_ptr().cast::<Header>();
            (*header).version = VERSION;
            (*header).magic = PROCESS_MAGIC;
        }
        Ok(made)
    }

    /// Its parts.
    pub(crate) fn parts(&self) -> ProcessFile {
        parts(&self.map)
    }

    /// The memory alone, for another thread of the recorder.
    pub(crate) fn memory(&self) -> SharedMemory {
        SharedMemory(Arc::clone(&self.map))
    }

    /// Chunks reserved so far.
    pub(crate) fn reserved_chunks(&self) -> u32 {
        self.chunks
    }

    /// Slots reserved so far.
    pub(crate) fn reserved_slots(&self) -> u32 {
        self.slots
    }

    /// True once the file system had no room for more.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Reserves slots up to `wanted` in all and offers the new ones.
    pub(crate) fn reserve_slots(&mut self, wanted: u32) -> io::Result<()> {
        let mapped = match self.parts().header().mapped_slots.load(Ordering::Relaxed) {
            0 => SLOTS as u32,
            mapped => mapped,
        };
        let wanted = wanted.min(mapped).min(SLOTS as u32);
        if wanted <= self.slots {
            return Ok(());
        }
        let from = SLOTS_OFFSET + self.slots as usize * SLOT_SIZE;
        self.reserve(from, (wanted - self.slots) as usize * SLOT_SIZE)?;
        let parts = self.parts();
        for index in (self.slots..wanted).rev() {
            if let Some(slot) = parts.slot(index) {
                push(&parts.header().free_slots, index, &slot.next);
            }
        }
        self.slots = wanted;
        Ok(())
    }

    /// Reserves chunks up to `wanted` in all and offers the new ones.
    pub(crate) fn reserve_chunks(&mut self, wanted: u32) -> io::Result<()> {
        let mapped = match self.parts().header().mapped_chunks.load(Ordering::Relaxed) {
            0 => CHUNKS as u32,
            mapped => mapped,
        };
        let wanted = wanted.min(mapped).min(CHUNKS as u32);
        if wanted <= self.chunks {
            return Ok(());
        }
        let from = CHUNKS_OFFSET + self.chunks as usize * CHUNK_SIZE;
        self.reserve(from, (wanted - self.chunks) as usize * CHUNK_SIZE)?;
        for index in (self.chunks..wanted).rev() {
            self.offer_chunk(index);
        }
        self.chunks = wanted;
        Ok(())
    }

    /// Gives a chunk back to the program.
    pub(crate) fn offer_chunk(&self, index: u32) {
        let parts = self.parts();
        if let Some(chunk) = parts.chunk(index) {
            chunk.thread.store(NO_THREAD, Ordering::Relaxed);
            chunk.used.store(0, Ordering::Relaxed);
            push(&parts.header().free_chunks, index, &chunk.next);
        }
    }

    fn reserve(&mut self, from: usize, length: usize) -> io::Result<()> {
        // Pages count against the control group that the program runs in: past its limit the kernel would kill. So
        // the recording takes at most an eighth of what is left there.
        let left = memory_left(Path::new("/")).unwrap_or(u64::MAX);
        self.full |= length as u64 > left / 8;
        if self.full {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        fallocate(&self.file, FallocateFlags::empty(), from as u64, length as u64).map_err(|error| {
            self.full = true;
            error.into()
        })
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdup_trace::shared::pop;

    #[test]
    fn a_spare_offers_what_is_reserved_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let mut spare = MappedFile::create(&directory.path().join("p0"), None, FIRST_CHUNKS).unwrap();
        let parts = spare.parts();
        let take = || pop(&parts.header().free_chunks, |index| Some(&parts.chunk(index)?.next));
        let taken: Vec<u32> = std::iter::from_fn(take).collect();
        assert_eq!(taken, (0..FIRST_CHUNKS).collect::<Vec<_>>());
        spare.reserve_chunks(FIRST_CHUNKS + 2).unwrap();
        assert_eq!(std::iter::from_fn(take).count(), 2);
    }

    #[test]
    fn a_session_leaves_nothing_behind() {
        let files = SessionFiles::create(0, ClockSource::Monotonic, 1e9, None).unwrap();
        let directory = files.directory().to_owned();
        let spare = files.make_spare().unwrap();
        assert!(directory.join("p0").exists());
        drop((files, spare));
        assert!(!directory.exists());
    }
}
