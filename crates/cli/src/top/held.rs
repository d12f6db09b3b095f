//! What the program writes to the terminal while the screen has it.

use std::fs::File;
use std::io::{self, IsTerminal, Seek, SeekFrom, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// A file that the program writes to in place of the terminal; it has no name once the program has it.
pub(crate) struct Held {
    file: NamedFile,
    /// So many bytes of it have been shown.
    shown: u64,
}

enum NamedFile {
    Named(NamedTempFile),
    Unnamed(File),
}

impl Held {
    /// An empty one.
    pub(crate) fn new() -> io::Result<Held> {
        Ok(Held { file: NamedFile::Named(NamedTempFile::with_prefix("holdup-top-")?), shown: 0 })
    }

    /// Where it is, before [`Held::taken`].
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.file {
            NamedFile::Named(file) => Some(file.path()),
            NamedFile::Unnamed(_) => None,
        }
    }

    /// The program has it: it needs no name any more, and is gone when the last one who has it is.
    pub(crate) fn taken(self) -> io::Result<Held> {
        let file = match self.file {
            NamedFile::Named(file) => file.into_file(),
            NamedFile::Unnamed(file) => file,
        };
        Ok(Held { file: NamedFile::Unnamed(file), ..self })
    }

    fn file(&mut self) -> &mut File {
        match &mut self.file {
            NamedFile::Named(file) => file.as_file_mut(),
            NamedFile::Unnamed(file) => file,
        }
    }

    /// Bytes that have not been shown.
    pub(crate) fn unseen(&mut self) -> u64 {
        let shown = self.shown;
        self.file().metadata().map_or(0, |facts| facts.len().saturating_sub(shown))
    }

    /// Writes what has not been shown yet to the terminal.
    pub(crate) fn show(&mut self) -> io::Result<()> {
        if self.unseen() == 0 {
            return Ok(());
        }
        let mut out: Box<dyn Write> =
            if io::stdout().is_terminal() { Box::new(io::stdout()) } else { Box::new(io::stderr()) };
        let from = self.shown;
        let file = self.file();
        file.seek(SeekFrom::Start(from))?;
        let written = io::copy(file, &mut out)?;
        self.shown += written;
        out.flush()
    }
}
