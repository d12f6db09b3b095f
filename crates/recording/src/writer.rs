//! Appending frames.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use holdup_trace::instructions::TABLES;
use serde::Serialize;
use zstd::bulk::Compressor;

use crate::format::{self, FRAME_HEADER, FRAME_MAGIC, FrameKind};

/// Contents shorter than this are not worth compressing.
const SHORT: usize = 256;
/// zstd's level: the fastest of the ordinary ones.
const LEVEL: i32 = 1;

/// A piece of a stream of the instruction front-end, compressed and ready to be appended: made in another thread than the
/// one that writes, since there may be much of it.
#[derive(Debug)]
pub struct StreamPiece {
    /// Written even where the file is at its limit.
    kept: bool,
    frame: Vec<u8>,
}

impl StreamPiece {
    /// The piece with the number `sequence` of a stream, which holds these entries
    /// ([`holdup_trace::instructions`]).
    ///
    /// # Errors
    /// Those of compressing.
    pub fn new(stream: u32, sequence: u32, entries: &[u8]) -> io::Result<StreamPiece> {
        let mut content = Vec::with_capacity(8 + entries.len());
        content.extend(stream.to_le_bytes());
        content.extend(sequence.to_le_bytes());
        content.extend(entries);
        // Nothing can be understood without the tables, which are small.
        Ok(StreamPiece {
            kept: stream == TABLES,
            frame: packed(FrameKind::Instructions, 0, &content, LEVEL)?,
        })
    }

    /// The same piece, to be written even where the file is at its limit: the last of its stream.
    pub fn kept(self) -> StreamPiece {
        StreamPiece { kept: true, ..self }
    }
}

/// A frame with its header, its content compressed by zstd's `level`.
pub(crate) fn packed(kind: FrameKind, process: u32, content: &[u8], level: i32) -> io::Result<Vec<u8>> {
    let compressed = match content.len() {
        0..SHORT => None,
        _ => Some(compress(content, level)?).filter(|stored| stored.len() < content.len()),
    };
    let stored = compressed.as_deref().unwrap_or(content);
    let mut frame = Vec::with_capacity(FRAME_HEADER + stored.len());
    frame.extend(FRAME_MAGIC);
    frame.extend([kind as u8, u8::from(compressed.is_some()), 0, 0]);
    frame.extend(process.to_le_bytes());
    frame.extend((content.len() as u32).to_le_bytes());
    frame.extend((stored.len() as u32).to_le_bytes());
    frame.extend(format::checksum(&frame, stored).to_le_bytes());
    frame.extend(stored);
    Ok(frame)
}

/// By zstd, whose tables each thread keeps: to make them anew takes as long as to compress a few KiB.
fn compress(content: &[u8], level: i32) -> io::Result<Vec<u8>> {
    thread_local! {
        static COMPRESSORS: RefCell<BTreeMap<i32, Compressor<'static>>> = const { RefCell::new(BTreeMap::new()) };
    }
    COMPRESSORS.with_borrow_mut(|compressors| match compressors.entry(level) {
        Entry::Occupied(made) => made.into_mut().compress(content),
        Entry::Vacant(none) => none.insert(Compressor::new(level)?).compress(content),
    })
}

/// Appends frames to a new recording. Each frame reaches the file in one write.
#[derive(Debug)]
pub struct Writer {
    file: File,
    written: u64,
    limit: Option<u64>,
    dropped: u64,
}

impl Writer {
    /// Creates the file, readable by its owner alone. An existing file at `path` is replaced.
    ///
    /// # Errors
    /// Those of creating and writing a file.
    pub fn create(path: &Path) -> io::Result<Writer> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        Writer::new(options.open(path)?)
    }

    /// Begins a recording in an empty file.
    ///
    /// # Errors
    /// Those of writing a file.
    pub fn new(mut file: File) -> io::Result<Writer> {
        file.write_all(&format::header())?;
        Ok(Writer { file, written: format::HEADER as u64, limit: None, dropped: 0 })
    }

    /// Adds frames to the end of a recording, in a file that was opened to append to it.
    ///
    /// # Errors
    /// Those of a file's facts.
    pub fn adding_to(file: File) -> io::Result<Writer> {
        let written = file.metadata()?.len();
        Ok(Writer { file, written, limit: None, dropped: 0 })
    }

    /// Lets the file grow to at most `bytes` bytes; chunks beyond are dropped and counted.
    pub fn limit(&mut self, bytes: Option<u64>) {
        self.limit = bytes;
    }

    /// How many chunks were dropped because of the limit.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Appends facts as JSON.
    ///
    /// # Errors
    /// Those of writing a file.
    pub fn facts(&mut self, kind: FrameKind, process: u32, facts: &impl Serialize) -> io::Result<()> {
        let content = serde_json::to_vec(facts).map_err(io::Error::other)?;
        self.frame(kind, process, &content)
    }

    /// Appends wire records of a thread.
    ///
    /// # Errors
    /// Those of writing a file.
    pub fn chunk(&mut self, process: u32, thread: u32, sequence: u32, words: &[u64]) -> io::Result<()> {
        if self.limit.is_some_and(|limit| self.written > limit) {
            self.dropped += 1;
            return Ok(());
        }
        let mut content = Vec::with_capacity(8 + words.len() * 8);
        content.extend(thread.to_le_bytes());
        content.extend(sequence.to_le_bytes());
        content.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        self.frame(FrameKind::Chunk, process, &content)
    }

    /// Appends records of the kernel collector.
    ///
    /// # Errors
    /// Those of writing a file.
    pub fn kernel(&mut self, words: &[u64]) -> io::Result<()> {
        if self.limit.is_some_and(|limit| self.written > limit) {
            self.dropped += 1;
            return Ok(());
        }
        let content: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.frame(FrameKind::Kernel, 0, &content)
    }

    /// Appends a piece of a stream of instructions; gives false where the file is at its limit, and the piece was dropped.
    ///
    /// # Errors
    /// Those of writing a file.
    pub fn instructions(&mut self, piece: &StreamPiece) -> io::Result<bool> {
        if !piece.kept && self.limit.is_some_and(|limit| self.written > limit) {
            return Ok(false);
        }
        self.append_frame(&piece.frame)?;
        Ok(true)
    }

    fn frame(&mut self, kind: FrameKind, process: u32, content: &[u8]) -> io::Result<()> {
        self.append_frame(&packed(kind, process, content, LEVEL)?)
    }

    fn append_frame(&mut self, frame: &[u8]) -> io::Result<()> {
        self.file.write_all(frame).inspect_err(|_| {
            // What fitted of the frame is of no use, and what is shorter may fit in its place.
            let _ =
                self.file.set_len(self.written).and_then(|()| self.file.seek(SeekFrom::Start(self.written)));
        })?;
        self.written += frame.len() as u64;
        Ok(())
    }
}
