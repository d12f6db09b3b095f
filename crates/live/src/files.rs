//! The mapped files of a session, to be read.

use std::fs::File;
use std::io;
use std::path::Path;

use holdup_trace::shared::{
    CHUNKS_OFFSET, PROCESS_FILE_SIZE, PROCESS_MAGIC, ProcessFile, SESSION_MAGIC, SLOTS, Session, VERSION,
};
use memmap2::{MmapOptions, MmapRaw};

/// A file that is mapped for reading.
pub(crate) struct Mapped(MmapRaw);

impl Mapped {
    fn open(path: &Path, length: usize) -> io::Result<Mapped> {
        let file = File::open(path)?;
        // Reading beyond the end of a file that is shorter would end us.
        if file.metadata()?.len() < length as u64 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        Ok(Mapped(MmapOptions::new().len(length).map_raw_read_only(&file)?))
    }

    /// The session's page; `None` if it is another version's.
    pub(crate) fn session(path: &Path) -> io::Result<Option<Mapped>> {
        let mapped = Mapped::open(path, 4096)?;
        let page = mapped.page();
        let is_known = page.magic == SESSION_MAGIC && page.version == VERSION;
        Ok(is_known.then_some(mapped))
    }

    /// The same as a session.
    pub(crate) fn page(&self) -> &Session {
        // SAFETY: a mapped page, which lives as long as the result; what others change is atomic.
        unsafe { &*self.0.as_ptr().cast::<Session>() }
    }

    /// A process file; `None` if it is another version's.
    pub(crate) fn process(path: &Path) -> io::Result<Option<Mapped>> {
        let mapped = Mapped::open(path, PROCESS_FILE_SIZE)?;
        let header = mapped.parts().header();
        let is_known = header.magic == PROCESS_MAGIC && header.version == VERSION;
        Ok(is_known.then_some(mapped))
    }

    /// The same in parts, which are not to be used when this is gone, and only read.
    pub(crate) fn parts(&self) -> ProcessFile {
        let base = self.0.as_ptr();
        // SAFETY: the whole file is mapped, as long as this lives.
        unsafe { ProcessFile::new(base, SLOTS as u32, base.add(CHUNKS_OFFSET), 0) }
    }
}
