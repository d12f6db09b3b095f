//! Reading frames back, whatever state the file is in.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use holdup_trace::wire::{self, BadRecord, Record};

use crate::addresses::{Addresses, Images, RawImage, RawStack};
use crate::error::{ReadError, Warning};
use crate::facts::{
    Alone, BlockNames, ClockSample, Environment, ImageNames, Names, OtherRuns, ProcessEnd, ProcessStart,
    Session, SessionEnd, SharedObject, SourceText,
};
use crate::format::FrameKind;
use crate::frames::{Found, Frame, Frames, u32_at, words};

/// Which collectors' records are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sources {
    /// Those of the library inside of programs.
    pub preload: bool,
    /// Those of the kernel collector.
    pub kernel: bool,
}

impl Sources {
    /// All that there are.
    pub const ALL: Sources = Sources { preload: true, kernel: true };
}

/// A recording as it was stored.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// How the run began.
    pub session: Session,
    /// Its processes in the order in which they were seen.
    pub processes: Vec<RawProcess>,
    /// What surrounded it, as last written.
    pub environment: Environment,
    /// Comparisons of the clock.
    pub samples: Vec<ClockSample>,
    /// How the run ended; `None` if the recorder did not get that far.
    pub end: Option<SessionEnd>,
    /// Names of code that the kernel collector saw, by image.
    pub image_names: BTreeMap<u32, ImageNames>,
    /// Names of the program's blocks that were executed under emulation.
    pub block_names: Option<BlockNames>,
    /// How running alone went, where one thread was to.
    pub alone: Option<Alone>,
    /// Lines of the program's source; `None` if none were stored.
    pub source_text: Option<SourceText>,
    /// What other runs of the program say of what was counted in this one.
    pub other_runs: Option<OtherRuns>,
    /// Records of the kernel collector.
    pub(crate) kernel: Vec<Vec<u64>>,
    /// Pieces of the instruction front-end's streams.
    pub(crate) streams: BTreeMap<u32, Vec<Piece>>,
}

/// A piece of a stream, as it was stored.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub sequence: u32,
    stored: Vec<u8>,
    compressed: bool,
    length: usize,
}

impl Piece {
    /// Puts its content in place of what is in `to`; gives where its entries begin. There are none where it cannot be
    /// understood.
    pub(crate) fn read(&self, inflater: &mut Inflater, to: &mut Vec<u8>) -> usize {
        /// Stream and sequence come first.
        const ENTRIES: usize = 8;
        to.clear();
        if self.compressed {
            inflater.inflate(&self.stored, self.length, to);
        } else {
            to.extend(&self.stored);
        }
        ENTRIES.min(to.len())
    }
}

/// Decompresses pieces; keeps what that needs from one to the next.
#[derive(Default)]
pub(crate) struct Inflater(Option<zstd::bulk::Decompressor<'static>>);

impl Inflater {
    fn inflate(&mut self, stored: &[u8], length: usize, to: &mut Vec<u8>) {
        if self.0.is_none() {
            self.0 = zstd::bulk::Decompressor::new().ok();
        }
        let Some(decompressor) = &mut self.0 else { return };
        to.reserve(length);
        if decompressor.decompress_to_buffer(stored, to).is_err() {
            to.clear();
        }
    }
}

impl Clone for Inflater {
    /// What it keeps is for speed only.
    fn clone(&self) -> Inflater {
        Inflater::default()
    }
}

impl std::fmt::Debug for Inflater {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Inflater")
    }
}

/// One process as it was stored.
#[derive(Clone, Debug, Default)]
pub struct RawProcess {
    /// What was known at its start.
    pub start: ProcessStart,
    /// What was known at its end.
    pub end: Option<ProcessEnd>,
    /// Names for its addresses.
    pub names: Option<Names>,
    /// Objects that it shares with other processes.
    pub shared: Vec<SharedObject>,
    chunks: Vec<Stored>,
    /// Of all chunks, in the order in which they were read: one large block, of which nothing is left once it is not
    /// needed any more.
    words: Vec<u64>,
}

/// Where the words of a chunk are in [`RawProcess::words`].
#[derive(Clone, Debug)]
struct Stored {
    thread: u32,
    sequence: u32,
    words: Range<usize>,
}

/// Records of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    thread: u32,
    sequence: u32,
    words: Vec<u64>,
}

impl Chunk {
    /// What a frame of a chunk holds; `None` if that cannot be understood.
    pub(crate) fn of(frame: &Frame<'_>) -> Option<Chunk> {
        let content = frame.content()?;
        let (head, rest) = content.split_at_checked(8)?;
        Some(Chunk { thread: u32_at(head, 0), sequence: u32_at(head, 4), words: words(rest) })
    }

    /// Its records. Those that cannot be understood are passed over.
    pub(crate) fn records(&self) -> impl Iterator<Item = Record<'_>> {
        records(&self.words)
    }
}

fn records(mut words: &[u64]) -> impl Iterator<Item = Record<'_>> {
    std::iter::from_fn(move || {
        loop {
            match wire::read(words) {
                Ok((record, length)) => {
                    words = &words[length..];
                    return Some(record);
                }
                Err(BadRecord::Unknown(length)) => words = &words[length..],
                Err(BadRecord::Length) => return None,
            }
        }
    })
}

impl Recording {
    /// Reads a recording. Damaged parts are left out, and each is a warning.
    ///
    /// # Errors
    /// [`ReadError`] where nothing of it can be read.
    pub fn open(path: &Path) -> Result<(Recording, Vec<Warning>), ReadError> {
        let unreadable = |error| ReadError::Unreadable { path: path.to_owned(), error };
        let mut file = File::open(path).map_err(unreadable)?;
        if file.metadata().is_ok_and(|facts| facts.is_file()) {
            return Recording::read(&file, path);
        }
        // A pipe has no length.
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(unreadable)?;
        Recording::parse(&bytes, path)
    }

    /// Reads a recording from an open file, wherever that is at; `path` is only named in errors.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn read(file: &File, path: &Path) -> Result<(Recording, Vec<Warning>), ReadError> {
        let mut recording = Recording::default();
        let found = Frames::of_file(file)
            .and_then(|frames| frames.each(&mut |_, frame, most| recording.take(frame, most)))
            .map_err(|error| ReadError::Unreadable { path: path.to_owned(), error })?;
        recording.read_whole(found, path)
    }

    /// Reads a recording from bytes; `path` is only named in errors.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn parse(bytes: &[u8], path: &Path) -> Result<(Recording, Vec<Warning>), ReadError> {
        let mut recording = Recording::default();
        let found = Frames::of(bytes, bytes.len() as u64)
            .each(&mut |_, frame, most| recording.take(frame, most))
            .map_err(|error| ReadError::Unreadable { path: path.to_owned(), error })?;
        recording.read_whole(found, path)
    }

    /// The recording, once all of its frames are taken over.
    fn read_whole(mut self, found: Found, path: &Path) -> Result<(Recording, Vec<Warning>), ReadError> {
        let is_something = !self.processes.is_empty() || !self.kernel.is_empty();
        let mut warnings = found.warnings(is_something, path)?;
        if self.end.is_none() {
            warnings.push(Warning::Unfinished);
        }
        self.in_order();
        Ok((self, warnings))
    }

    /// Puts what came in pieces in order.
    pub(crate) fn in_order(&mut self) {
        for process in &mut self.processes {
            process.chunks.sort_by_key(|chunk| (chunk.thread, chunk.sequence));
        }
        for pieces in self.streams.values_mut() {
            pieces.sort_by_key(|piece| piece.sequence);
        }
    }

    /// What the kernel collector saw of code: addresses, and what was mapped, by image.
    pub fn images(&self) -> Vec<RawImage> {
        let mut images = Images::default();
        self.kernel.iter().for_each(|words| images.add(words));
        images.in_order()
    }

    /// Takes over a frame; `None` if its content cannot be understood.
    pub(crate) fn take(&mut self, frame: &Frame<'_>, most_processes: u32) -> Option<()> {
        let Some(kind) = frame.kind else { return Some(()) };
        match kind {
            FrameKind::Session => self.session = frame.facts()?,
            FrameKind::Clock => self.samples.push(frame.facts()?),
            FrameKind::SessionEnd => self.end = Some(frame.facts()?),
            FrameKind::Environment => self.environment = frame.facts()?,
            FrameKind::ProcessStart | FrameKind::ProcessEnd | FrameKind::Names => {
                let process = self.process(frame.process, most_processes)?;
                match kind {
                    FrameKind::ProcessStart => process.start = frame.facts()?,
                    FrameKind::ProcessEnd => process.end = Some(frame.facts()?),
                    _ => process.names = Some(frame.facts()?),
                }
            }
            FrameKind::SharedObject => {
                let shared = frame.facts()?;
                self.process(frame.process, most_processes)?.shared.push(shared);
            }
            FrameKind::Kernel => self.kernel.push(words(&frame.content()?)),
            FrameKind::ImageNames => {
                let names: ImageNames = frame.facts()?;
                self.image_names.insert(names.image, names);
            }
            FrameKind::BlockNames => self.block_names = Some(frame.facts()?),
            FrameKind::Alone => self.alone = Some(frame.facts()?),
            FrameKind::SourceText => self.source_text = Some(frame.facts()?),
            FrameKind::OtherRuns => self.other_runs = Some(frame.facts()?),
            FrameKind::Instructions => {
                let (stream, sequence) = frame.first_words()?;
                self.streams.entry(stream).or_default().push(Piece {
                    sequence,
                    stored: frame.stored.to_vec(),
                    compressed: frame.compressed,
                    length: frame.content_length as usize,
                });
            }
            FrameKind::Chunk => {
                let chunk = Chunk::of(frame)?;
                self.process(frame.process, most_processes)?.add(&chunk);
            }
        }
        Some(())
    }

    pub(crate) fn process(&mut self, index: u32, most: u32) -> Option<&mut RawProcess> {
        if index >= most {
            return None;
        }
        let index = index as usize;
        if self.processes.len() <= index {
            self.processes.resize_with(index + 1, RawProcess::default);
        }
        self.processes.get_mut(index)
    }
}

impl RawProcess {
    /// All records, thread by thread in the order in which they were written, with the thread's number. Records
    /// that cannot be understood are passed over.
    pub fn records(&self) -> impl Iterator<Item = (u32, Record<'_>)> {
        self.chunks
            .iter()
            .flat_map(|chunk| records(&self.words[chunk.words.clone()]).map(|record| (chunk.thread, record)))
    }

    fn add(&mut self, chunk: &Chunk) {
        let from = self.words.len();
        self.words.extend_from_slice(&chunk.words);
        let words = from..self.words.len();
        self.chunks.push(Stored { thread: chunk.thread, sequence: chunk.sequence, words });
    }

    /// True if nothing of it was recorded.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// What names are found for, less its stacks.
    pub fn addresses(&self) -> Addresses {
        let mut found = Addresses::default();
        self.records().for_each(|(_, record)| found.add(&record));
        found
    }

    /// The stacks that were copied.
    pub fn stacks(&self) -> impl Iterator<Item = RawStack> {
        self.records().filter_map(|(_, record)| RawStack::of(&record))
    }
}
