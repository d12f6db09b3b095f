//! The directory and the files that a session shares with its programs.
//!
//! The programs own both, so that they can rename, replace, cut and remove what is there. Whatever we make, open and remove is
//! therefore named relative to a descriptor of the directory that we made ([`SharedDirectory`]), never by its path, and links
//! are not followed: a program can harm its own recording, and no other file.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use holdup_trace::shared::{
    CHUNK_SIZE, CHUNKS, CHUNKS_OFFSET, Header, PROCESS_FILE_SIZE, PROCESS_MAGIC, ProcessFile,
    SESSION_FILE_SIZE, SESSION_MAGIC, SLOT_SIZE, SLOTS, SLOTS_OFFSET, Session, UNRECORDED, VERSION, push,
};
use holdup_trace::wire::NO_THREAD;
use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{
    AtFlags, Dir, FallocateFlags, FileType, FlockOperation, Mode, OFlags, fallocate, fchown, flock, fstat,
    ftruncate, mkdirat, open, openat, statat, unlinkat,
};
use rustix::thread::futex;

use crate::cgroups::memory_left;
use crate::machine::ClockSource;

/// Blocking calls shorter than this are not recorded.
const SHORT_CALL_MICROS: f64 = 20.0;
/// Slots and chunks that the first process finds ready when it starts.
const READY_SLOTS: u32 = 64;
const READY_CHUNKS: u32 = 8;
/// The same for each other one: there may be thousands at a time.
const OTHERS_READY_SLOTS: u32 = 16;
const OTHERS_READY_CHUNKS: u32 = 4;
/// Process files that are kept ready for processes that start: at least, and where more are started at a time.
const SPARES: u32 = 4;
const MOST_SPARES: u32 = 128;
/// So many of them are made before it is looked again at what processes write.
const SPARES_AT_ONCE: u32 = 32;
/// What a directory's file system must have room for.
const ROOM: u64 = 32 << 20;

/// The directory of a session, locked as long as this lives: the kernel drops the lock when we are gone, however we went.
/// Removed, with what is in it, when this is dropped.
pub(crate) struct SharedDirectory {
    path: PathBuf,
    parent: OwnedFd,
    name: String,
    directory: OwnedFd,
    owner: Option<(u32, u32)>,
}

impl SharedDirectory {
    /// Makes one that only this user can enter.
    fn make(parent: &Path, owner: Option<(u32, u32)>) -> io::Result<SharedDirectory> {
        if crate::machine::room(parent)?.0 < ROOM {
            return Err(io::Error::new(
                io::ErrorKind::StorageFull,
                format!("{} is nearly full", parent.display()),
            ));
        }
        let mut random = [0u8; 8];
        io::Read::read_exact(&mut File::open("/dev/urandom")?, &mut random)?;
        let name = format!("{PREFIX}{}-{:016x}", std::process::id(), u64::from_le_bytes(random));
        let path = parent.join(&name);
        let parent = open(parent, DIRECTORY.difference(OFlags::NOFOLLOW), Mode::empty())?;
        mkdirat(&parent, &name, Mode::RWXU)?;
        let directory = openat(&parent, &name, DIRECTORY, Mode::empty())?;
        let made = SharedDirectory { path, parent, name, directory, owner };
        // Who looks for abandoned ones may have been faster: then it is removed.
        flock(&made.directory, FlockOperation::NonBlockingLockExclusive)?;
        if !made.is_at_its_place() {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        Ok(made)
    }

    /// Gives it to its owner, who may do with it what it wants to from now on.
    fn hand_over(&self) -> io::Result<()> {
        match self.owner {
            Some((user, group)) => own(&self.directory, user, group),
            None => Ok(()),
        }
    }

    fn is_at_its_place(&self) -> bool {
        let same = |facts: rustix::fs::Stat| {
            fstat(&self.directory).is_ok_and(|own| (own.st_dev, own.st_ino) == (facts.st_dev, facts.st_ino))
        };
        statat(&self.parent, &self.name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(same)
    }

    /// Makes a file of the owner's, which nobody else can read.
    pub(crate) fn make_file(&self, name: &str, size: u64) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(&self.directory, name, flags, Mode::RUSR | Mode::WUSR)?);
        ftruncate(&file, size)?;
        if let Some((user, group)) = self.owner {
            own(&file, user, group)?;
        }
        Ok(file)
    }

    /// Opens a file that the program made, to read it: an ordinary one of the owner's, with no other name by which it could be
    /// somebody else's.
    pub(crate) fn open_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(&self.directory, name, flags, Mode::empty())?);
        let facts = fstat(&file)?;
        let owner = self.owner.map_or_else(|| rustix::process::geteuid().as_raw(), |(user, _)| user);
        let is_plain = FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile && facts.st_nlink == 1;
        if !is_plain || facts.st_uid != owner {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("{name} is not the program's own file"),
            ));
        }
        Ok(file)
    }

    fn remove_file(&self, name: &str) {
        let _ = unlinkat(&self.directory, name, AtFlags::empty());
    }
}

impl Drop for SharedDirectory {
    fn drop(&mut self) {
        // What the program made in it besides files stays, and the directory with it.
        empty(&self.directory);
        if self.is_at_its_place() {
            let _ = unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR);
        }
    }
}

const DIRECTORY: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::RDONLY).union(OFlags::CLOEXEC);

fn own(file: impl std::os::fd::AsFd, user: u32, group: u32) -> io::Result<()> {
    Ok(fchown(file, Some(rustix::fs::Uid::from_raw(user)), Some(rustix::fs::Gid::from_raw(group)))?)
}

/// Removes what lies in a directory, but for directories.
fn empty(directory: &OwnedFd) {
    let Ok(entries) = Dir::read_from(directory) else { return };
    for entry in entries.flatten() {
        let _ = unlinkat(directory, entry.file_name(), AtFlags::empty());
    }
}

/// A session's directory and its first page.
pub(crate) struct SessionFiles {
    directory: Arc<SharedDirectory>,
    page: Arc<MmapRaw>,
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
            let made = SharedDirectory::make(&parent, owner)
                .and_then(|directory| SessionFiles::create_in(directory, flags, clock, ticks_per_second));
            match made {
                Ok(files) => return Ok(files),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn create_in(
        directory: SharedDirectory,
        flags: u32,
        clock: ClockSource,
        ticks_per_second: f64,
    ) -> io::Result<SessionFiles> {
        let file = directory.make_file("session", SESSION_FILE_SIZE as u64)?;
        fallocate(&file, FallocateFlags::empty(), 0, SESSION_FILE_SIZE as u64)?;
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
        directory.hand_over()?;
        Ok(SessionFiles { directory: Arc::new(directory), page: Arc::new(page) })
    }

    /// Where programs find it. Not for us: the program may have put something else there.
    pub(crate) fn path(&self) -> &Path {
        &self.directory.path
    }

    /// The directory.
    pub(crate) fn directory(&self) -> &SharedDirectory {
        &self.directory
    }

    /// The first page.
    pub(crate) fn page(&self) -> &Session {
        session(&self.page)
    }

    /// Says to who waits for us that there may be what they need. Not to all at once, of whom most would wait again.
    pub(crate) fn end_round(&self) {
        let page = self.page();
        page.rounds.fetch_add(1, Ordering::Release);
        if page.waiters.load(Ordering::Relaxed) > 0 {
            let _ = futex::wake(&page.rounds, futex::Flags::empty(), MOST_SPARES);
        }
    }

    /// The bell, for a thread of the recorder.
    pub(crate) fn doorbell(&self) -> Doorbell {
        Doorbell(Arc::clone(&self.page))
    }

    /// Makes the next process file, with every page that is offered to a program reserved.
    pub(crate) fn make_spare(&self) -> io::Result<MappedFile> {
        let number = self.page().made.load(Ordering::Relaxed);
        let (slots, chunks) = match number {
            0 => (READY_SLOTS, READY_CHUNKS),
            _ => (OTHERS_READY_SLOTS, OTHERS_READY_CHUNKS),
        };
        let chunks = if self.page().flags & UNRECORDED == 0 { chunks } else { 0 };
        let spare = MappedFile::create(&self.directory, format!("p{number}"), slots, chunks)?;
        self.page().made.store(number + 1, Ordering::Release);
        Ok(spare)
    }
}

/// Process files that nobody has taken yet.
pub(crate) struct Spares {
    pub(crate) files: Vec<MappedFile>,
    /// How many are kept ready: more where processes start faster than files are made.
    wanted: u32,
}

impl Spares {
    pub(crate) fn none() -> Spares {
        Spares { files: Vec::new(), wanted: SPARES }
    }

    /// Makes as many as are wanted; says to processes if there is no room for that.
    ///
    /// # Errors
    /// Those of making files.
    pub(crate) fn refill(&mut self, of: &SessionFiles) -> io::Result<()> {
        let page = of.page();
        let ready = page.made.load(Ordering::Relaxed).saturating_sub(page.claimed.load(Ordering::Relaxed));
        if ready == 0 && page.made.load(Ordering::Relaxed) > 0 {
            self.wanted = (self.wanted * 2).min(MOST_SPARES);
        } else if ready >= self.wanted {
            self.wanted = (self.wanted - self.wanted / 8).max(SPARES);
        }
        let made = (ready..self.wanted).take(SPARES_AT_ONCE as usize).try_for_each(|_| {
            self.files.push(of.make_spare()?);
            Ok(())
        });
        page.is_full.store(u32::from(made.is_err()), Ordering::Relaxed);
        made
    }
}

impl Drop for SessionFiles {
    fn drop(&mut self) {
        self.page().closed.store(1, Ordering::Relaxed);
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

/// Removes directories of this user's sessions, root those of all, whose recorder is gone. Not by its process id: that of another PID namespace,
/// with which this directory may be shared, means nothing here.
fn remove_abandoned(parent: &Path) {
    let own = rustix::process::geteuid().as_raw();
    let Ok(parent) = open(parent, DIRECTORY.difference(OFlags::NOFOLLOW), Mode::empty()) else { return };
    let Ok(entries) = Dir::read_from(&parent) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_bytes().starts_with(PREFIX.as_bytes()))
    {
        let Ok(directory) = openat(&parent, entry.file_name(), DIRECTORY, Mode::empty()) else { continue };
        let is_ours = fstat(&directory).is_ok_and(|facts| facts.st_uid == own || own == 0);
        if is_ours && flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok() {
            empty(&directory);
            // Refused where it is not this directory that has the name now, unless that is an empty one.
            let _ = unlinkat(&parent, entry.file_name(), AtFlags::REMOVEDIR);
        }
    }
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
    directory: Arc<SharedDirectory>,
    name: String,
    file: File,
    map: Arc<MmapRaw>,
    slots: u32,
    chunks: u32,
    full: bool,
}

impl MappedFile {
    fn create(
        directory: &Arc<SharedDirectory>,
        name: String,
        slots: u32,
        chunks: u32,
    ) -> io::Result<MappedFile> {
        let file = directory.make_file(&name, PROCESS_FILE_SIZE as u64)?;
        fallocate(&file, FallocateFlags::empty(), 0, SLOTS_OFFSET as u64)?;
        let map = Arc::new(MmapOptions::new().len(PROCESS_FILE_SIZE).map_raw(&file)?);
        let directory = Arc::clone(directory);
        let mut made = MappedFile { directory, name, file, map, slots: 0, chunks: 0, full: false };
        made.reserve_slots(slots)?;
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
        let (granted, reserved) = self.reserve(from, wanted - self.slots, SLOT_SIZE);
        let slots = self.slots + granted;
        let parts = self.parts();
        for index in (self.slots..slots).rev() {
            if let Some(slot) = parts.slot(index) {
                push(&parts.header().free_slots, index, &slot.next);
            }
        }
        self.slots = slots;
        reserved
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
        let (granted, reserved) = self.reserve(from, wanted - self.chunks, CHUNK_SIZE);
        let chunks = self.chunks + granted;
        for index in (self.chunks..chunks).rev() {
            self.offer_chunk(index);
        }
        self.chunks = chunks;
        reserved
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

    /// Reserves pieces of `size` bytes from an offset on: how many, and whether these are all of `count`. Once they are not, the
    /// file grows no more.
    fn reserve(&mut self, from: usize, count: u32, size: usize) -> (u32, io::Result<()>) {
        let left = memory_left(Path::new("/")).unwrap_or(u64::MAX);
        let granted = if self.full { 0 } else { there_is_memory_for(left, count, size) };
        let length = u64::from(granted) * size as u64;
        let reserved = if granted == 0 {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        } else {
            fallocate(&self.file, FallocateFlags::empty(), from as u64, length).map_err(io::Error::from)
        };
        let granted = if reserved.is_ok() { granted } else { 0 };
        if granted < count {
            self.full = true;
            self.parts().header().is_full.store(1, Ordering::Relaxed);
        }
        let all = if granted < count { Err(io::Error::from(io::ErrorKind::StorageFull)) } else { Ok(()) };
        (granted, reserved.and(all))
    }
}

/// How many of `count` pieces of `size` bytes may be reserved where the control group leaves so many bytes. Pages count against
/// the group that the program runs in: past its limit the kernel would kill. So the recording takes at most an eighth of what is
/// left there.
fn there_is_memory_for(left: u64, count: u32, size: usize) -> u32 {
    u32::try_from(left / 8 / size as u64).unwrap_or(u32::MAX).min(count)
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        self.directory.remove_file(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdup_trace::shared::pop;

    #[test]
    fn a_spare_offers_what_is_reserved_and_nothing_else() {
        let files = session();
        let mut spare = files.make_spare().unwrap();
        let parts = spare.parts();
        let take = || pop(&parts.header().free_chunks, |index| Some(&parts.chunk(index)?.next));
        let taken: Vec<u32> = std::iter::from_fn(take).collect();
        assert_eq!(taken, (0..READY_CHUNKS).collect::<Vec<_>>());
        spare.reserve_chunks(READY_CHUNKS + 2).unwrap();
        assert_eq!(std::iter::from_fn(take).count(), 2);
    }

    #[test]
    fn where_memory_is_scarce_an_eighth_of_what_is_left_is_taken() {
        assert_eq!(there_is_memory_for(u64::MAX, 600, CHUNK_SIZE), 600);
        assert_eq!(there_is_memory_for(8 * 64 * CHUNK_SIZE as u64, 600, CHUNK_SIZE), 64);
        assert_eq!(there_is_memory_for(8 * CHUNK_SIZE as u64 - 1, 600, CHUNK_SIZE), 0);
    }

    #[test]
    fn a_session_leaves_nothing_behind() {
        let files = session();
        let directory = files.path().to_owned();
        let spare = files.make_spare().unwrap();
        assert!(directory.join("p0").exists());
        drop((files, spare));
        assert!(!directory.exists());
    }

    #[test]
    fn what_lies_at_the_sessions_path_later_is_not_touched() {
        let files = session();
        let place = files.path().to_owned();
        let moved = place.with_extension("moved");
        let other = tempfile::tempdir().unwrap();
        std::fs::rename(&place, &moved).unwrap();
        std::os::unix::fs::symlink(other.path(), &place).unwrap();
        let spare = files.make_spare().unwrap();
        assert!(moved.join("p0").exists());
        std::fs::write(other.path().join("p0"), "another's").unwrap();
        drop((files, spare));
        assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 1);
        std::fs::remove_file(&place).unwrap();
        assert_eq!(std::fs::read_dir(&moved).unwrap().count(), 0);
        std::fs::remove_dir(&moved).unwrap();
    }

    #[test]
    fn a_file_that_is_in_the_way_is_not_written_to() {
        let files = session();
        let other = tempfile::NamedTempFile::new().unwrap();
        std::os::unix::fs::symlink(other.path(), files.path().join("p0")).unwrap();
        assert!(files.make_spare().is_err());
        assert!(files.directory().open_file("p0").is_err());
        std::fs::hard_link(other.path(), other.path().with_extension("linked")).unwrap();
        std::fs::remove_file(other.path().with_extension("linked")).unwrap();
        assert_eq!(other.as_file().metadata().unwrap().len(), 0);
    }

    #[test]
    fn a_session_that_lives_is_left_alone_whatever_its_process_id() {
        let parent = tempfile::tempdir().unwrap();
        let mut files = SharedDirectory::make(parent.path(), None).unwrap();
        // As from another PID namespace: no process here has this id.
        let foreign = format!("{PREFIX}4194305-0000000000000001");
        std::fs::rename(&files.path, parent.path().join(&foreign)).unwrap();
        files.name.clone_from(&foreign);
        remove_abandoned(parent.path());
        assert!(parent.path().join(&foreign).exists());
        // As after a kill: nothing is removed, and the lock is gone.
        let abandoned = parent.path().join(format!("{PREFIX}{}-2", std::process::id()));
        std::fs::create_dir(&abandoned).unwrap();
        std::fs::write(abandoned.join("p0"), "").unwrap();
        remove_abandoned(parent.path());
        assert!(!abandoned.exists());
        drop(files);
        assert!(!parent.path().join(&foreign).exists());
    }

    fn session() -> SessionFiles {
        SessionFiles::create(0, ClockSource::Monotonic, 1e9, None).unwrap()
    }
}
