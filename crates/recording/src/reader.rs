//! Reading frames back, whatever state the file is in.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use holdup_model::Run;
use holdup_trace::kernel;
use holdup_trace::wire::{self, BadRecord, Record};
use serde::de::DeserializeOwned;

use crate::error::{ReadError, Warning};
use crate::facts::{
    Alone, BlockNames, ClockSample, Environment, ImageNames, Names, ProcessEnd, ProcessStart, Session,
    SessionEnd, SharedObject, SourceText,
};
use crate::format::{self, FRAME_HEADER, FRAME_MAGIC, FrameKind, HEADER, LONGEST_CONTENT, MAGIC, VERSION};
use crate::openmp;
use crate::run;

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
    chunks: Vec<Chunk>,
}

#[derive(Clone, Debug)]
struct Chunk {
    thread: u32,
    sequence: u32,
    words: Vec<u64>,
}

/// A copied stack.
#[derive(Clone, Debug)]
pub struct RawStack {
    /// What records call it.
    pub id: u64,
    /// The instruction pointer.
    pub ip: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer register.
    pub bp: u64,
    /// The bytes from `sp` upwards.
    pub bytes: Vec<u8>,
}

/// What the kernel collector saw of the code of one process image.
#[derive(Clone, Debug, Default)]
pub struct RawImage {
    /// Its number.
    pub number: u32,
    /// Its process.
    pub pid: u32,
    /// Files with code in the order in which they were mapped.
    pub mappings: Vec<RawMapping>,
    /// Addresses that were executed.
    pub executed: BTreeSet<u64>,
    /// Return addresses.
    pub callers: BTreeSet<u64>,
}

/// A file with code that was mapped.
#[derive(Clone, Debug)]
pub struct RawMapping {
    /// When (ns of CLOCK_MONOTONIC).
    pub time: u64,
    /// Its first address.
    pub start: u64,
    /// The end of its last page.
    pub end: u64,
    /// Where in the file it begins.
    pub offset: u64,
    /// The path, as the kernel knew it.
    pub path: Vec<u8>,
}

/// A module that was mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawModule {
    /// Its path, as the program's loader knew it.
    pub path: Vec<u8>,
    /// Its build id; may be empty.
    pub build_id: Vec<u8>,
    /// What to add to addresses in its file.
    pub bias: u64,
    /// Its first mapped address.
    pub start: u64,
    /// The end of its last mapped page.
    pub end: u64,
}

impl Recording {
    /// Reads a recording. Damaged parts are left out, and each is a warning.
    ///
    /// # Errors
    /// [`ReadError`] where nothing of it can be read.
    pub fn open(path: &Path) -> Result<(Recording, Vec<Warning>), ReadError> {
        let bytes =
            std::fs::read(path).map_err(|error| ReadError::Unreadable { path: path.to_owned(), error })?;
        Recording::parse(&bytes, path)
    }

    /// Reads a recording from an open file, wherever that is at; `path` is only named in errors.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn read(file: &File, path: &Path) -> Result<(Recording, Vec<Warning>), ReadError> {
        let whole = || {
            let mut bytes = vec![0; file.metadata()?.len() as usize];
            file.read_exact_at(&mut bytes, 0).map(|()| bytes)
        };
        let bytes = whole().map_err(|error| ReadError::Unreadable { path: path.to_owned(), error })?;
        Recording::parse(&bytes, path)
    }

    /// Reads a recording from bytes; `path` is only named in errors.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn parse(bytes: &[u8], path: &Path) -> Result<(Recording, Vec<Warning>), ReadError> {
        let path = || path.to_owned();
        if bytes.is_empty() {
            return Err(ReadError::Empty { path: path() });
        }
        let Some((header, frames)) =
            bytes.split_at_checked(HEADER).filter(|(header, _)| header.starts_with(MAGIC))
        else {
            return Err(ReadError::NotARecording { path: path() });
        };
        let found = u32_at(header, 16);
        if found == 0 || found > VERSION {
            return Err(ReadError::Newer { path: path(), found, known: VERSION });
        }
        let mut recording = Recording::default();
        let mut warnings = Vec::new();
        let mut has_session = false;
        let mut at = 0;
        let mut bounds = Bounds::of(bytes);
        while at < frames.len() {
            match frame(&frames[at..]) {
                Ok(frame) => {
                    has_session |= frame.kind == Some(FrameKind::Session);
                    if !bounds.unpacks(&frame) {
                        // Said once, below.
                    } else if recording.take(&frame, bounds.most_processes).is_none() {
                        warnings.push(Warning::Content { offset: (HEADER + at) as u64 });
                    }
                    at += frame.length;
                }
                Err(bad) => {
                    let skipped = next_frame(&frames[at + 1..], &mut bounds).map(|next| next + 1);
                    let bytes = skipped.unwrap_or(frames.len() - at) as u64;
                    warnings.push(match (bad, skipped) {
                        (Bad::Short, None) => Warning::CutOff { bytes },
                        _ => Warning::Damaged { offset: (HEADER + at) as u64, bytes },
                    });
                    at += bytes as usize;
                }
            }
        }
        if bounds.left_out > 0 {
            warnings.push(Warning::TooLarge { bytes: bounds.left_out });
        }
        if !has_session && recording.processes.is_empty() && recording.kernel.is_empty() {
            let is_unfinished = warnings.iter().all(|warning| matches!(warning, Warning::CutOff { .. }));
            return Err(if is_unfinished {
                ReadError::Nothing { path: path() }
            } else {
                ReadError::NothingReadable { path: path() }
            });
        }
        if recording.end.is_none() {
            warnings.push(Warning::Unfinished);
        }
        for process in &mut recording.processes {
            process.chunks.sort_by_key(|chunk| (chunk.thread, chunk.sequence));
        }
        for pieces in recording.streams.values_mut() {
            pieces.sort_by_key(|piece| piece.sequence);
        }
        Ok((recording, warnings))
    }

    /// What the kernel collector saw of code: addresses, and what was mapped, by image.
    pub fn images(&self) -> Vec<RawImage> {
        fn of(images: &mut BTreeMap<u32, RawImage>, number: u32) -> &mut RawImage {
            images.entry(number).or_insert_with(|| RawImage { number, ..RawImage::default() })
        }
        let mut images: BTreeMap<u32, RawImage> = BTreeMap::new();
        for record in self.kernel.iter().flat_map(|words| kernel::records(words)) {
            match record {
                kernel::Record::Start { pid, image, .. } | kernel::Record::Exec { pid, image, .. } => {
                    of(&mut images, image).pid = pid;
                }
                kernel::Record::Mapping { time, image, start, end, offset, text } => {
                    let path = text.bytes().collect();
                    let mapping = RawMapping { time, start, end, offset, path };
                    of(&mut images, image).mappings.push(mapping);
                }
                kernel::Record::Stack { image, addresses, .. } => {
                    if let Some((executed, callers)) = addresses.split_first() {
                        let image = of(&mut images, image);
                        image.executed.insert(*executed);
                        image.callers.extend(callers);
                    }
                }
                _ => {}
            }
        }
        let mut images: Vec<RawImage> = images.into_values().collect();
        images.iter_mut().for_each(|image| image.mappings.sort_by_key(|mapping| mapping.time));
        images
    }

    /// The run that was recorded.
    pub fn run(&self, warnings: &[Warning]) -> Run {
        self.run_from(warnings, Sources::ALL)
    }

    /// The run as these collectors saw it.
    pub fn run_from(&self, warnings: &[Warning], sources: Sources) -> Run {
        run::run(self, warnings, sources)
    }

    /// Takes over a frame; `None` if its content cannot be understood.
    fn take(&mut self, frame: &Frame<'_>, most_processes: u32) -> Option<()> {
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
            FrameKind::Kernel => {
                let content = frame.content()?;
                self.kernel.push(content.chunks_exact(8).map(|word| u64_at(word, 0)).collect());
            }
            FrameKind::ImageNames => {
                let names: ImageNames = frame.facts()?;
                self.image_names.insert(names.image, names);
            }
            FrameKind::BlockNames => self.block_names = Some(frame.facts()?),
            FrameKind::Alone => self.alone = Some(frame.facts()?),
            FrameKind::SourceText => self.source_text = Some(frame.facts()?),
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
                let content = frame.content()?;
                let (head, words) = content.split_at_checked(8)?;
                let chunk = Chunk {
                    thread: u32_at(head, 0),
                    sequence: u32_at(head, 4),
                    words: words.chunks_exact(8).map(|word| u64_at(word, 0)).collect(),
                };
                self.process(frame.process, most_processes)?.chunks.push(chunk);
            }
        }
        Some(())
    }

    fn process(&mut self, index: u32, most: u32) -> Option<&mut RawProcess> {
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

/// What a recording of its size may take of memory and time. Real ones are far below: what they hold is compressed 5 to 20
/// times.
struct Bounds {
    /// Bytes of content that may still be unpacked.
    unpacked: u64,
    /// Bytes of frames that were left out because of that, unpacked.
    left_out: u64,
    /// Bytes that may still be looked through for a frame, behind damage.
    searched: u64,
    /// Each process has a frame of its own.
    most_processes: u32,
}

impl Bounds {
    fn of(bytes: &[u8]) -> Bounds {
        const AT_LEAST: u64 = 32 << 20;
        let size = bytes.len() as u64;
        Bounds {
            unpacked: AT_LEAST + 256 * size,
            left_out: 0,
            searched: AT_LEAST + 16 * size,
            most_processes: (size / FRAME_HEADER as u64).min(1 << 20) as u32,
        }
    }

    /// Whether the frame's content may be unpacked. Streams of instructions are only unpacked piece by piece.
    fn unpacks(&mut self, frame: &Frame<'_>) -> bool {
        let length =
            if frame.compressed { u64::from(frame.content_length) } else { frame.stored.len() as u64 };
        if frame.kind == Some(FrameKind::Instructions) {
            return true;
        }
        if length > self.unpacked {
            self.left_out += length;
            return false;
        }
        self.unpacked -= length;
        true
    }
}

pub(crate) struct Frame<'a> {
    /// `None` for a kind that this version does not know.
    pub kind: Option<FrameKind>,
    pub process: u32,
    compressed: bool,
    content_length: u32,
    stored: &'a [u8],
    /// Bytes in the file, its header included.
    pub length: usize,
}

impl Frame<'_> {
    pub(crate) fn content(&self) -> Option<Vec<u8>> {
        if self.compressed {
            zstd::bulk::decompress(self.stored, self.content_length as usize).ok()
        } else {
            Some(self.stored.to_vec())
        }
    }

    /// The first two words of the content, without unpacking more of it than that.
    fn first_words(&self) -> Option<(u32, u32)> {
        let mut first = [0; 8];
        if self.compressed {
            zstd::Decoder::with_buffer(self.stored).ok()?.read_exact(&mut first).ok()?;
        } else {
            first.copy_from_slice(self.stored.get(..8)?);
        }
        Some((u32_at(&first, 0), u32_at(&first, 4)))
    }

    fn facts<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.content()?).ok()
    }
}

/// The frame with which these bytes begin, if it is whole.
pub(crate) fn frame_at(bytes: &[u8]) -> Option<Frame<'_>> {
    frame(bytes).ok()
}

enum Bad {
    /// The bytes end before the frame does.
    Short,
    /// These bytes are not a frame.
    Wrong,
}

fn frame(bytes: &[u8]) -> Result<Frame<'_>, Bad> {
    let Some((header, rest)) = bytes.split_at_checked(FRAME_HEADER) else { return Err(Bad::Short) };
    let [content_length, stored_length, checksum] = [12, 16, 20].map(|at| u32_at(header, at));
    if !header.starts_with(FRAME_MAGIC) || content_length > LONGEST_CONTENT || stored_length > LONGEST_CONTENT
    {
        return Err(Bad::Wrong);
    }
    let Some(stored) = rest.get(..stored_length as usize) else { return Err(Bad::Short) };
    if format::checksum(header, stored) != checksum {
        return Err(Bad::Wrong);
    }
    Ok(Frame {
        kind: FrameKind::from_code(header[4]),
        process: u32_at(header, 8),
        compressed: header[5] & 1 != 0,
        content_length,
        stored,
        length: FRAME_HEADER + stored.len(),
    })
}

/// Where the next whole frame begins; none where that is too long a search, through many beginnings of frames that are none.
fn next_frame(bytes: &[u8], bounds: &mut Bounds) -> Option<usize> {
    let mut at = 0;
    loop {
        at += bytes[at..].windows(FRAME_MAGIC.len()).position(|window| window == FRAME_MAGIC)?;
        if frame(&bytes[at..]).is_ok() {
            return Some(at);
        }
        let header = &bytes[at..bytes.len().min(at + FRAME_HEADER)];
        let stored = u64::from(u32_at(header, 16)).min((bytes.len() - at) as u64);
        bounds.searched = bounds.searched.checked_sub(stored + FRAME_HEADER as u64)?;
        at += 1;
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

impl RawProcess {
    /// All records, thread by thread in the order in which they were written, with the thread's number. Records
    /// that cannot be understood are passed over.
    pub fn records(&self) -> impl Iterator<Item = (u32, Record<'_>)> {
        self.chunks.iter().flat_map(|chunk| {
            let mut words = chunk.words.as_slice();
            std::iter::from_fn(move || {
                loop {
                    match wire::read(words) {
                        Ok((record, length)) => {
                            words = &words[length..];
                            return Some((chunk.thread, record));
                        }
                        Err(BadRecord::Unknown(length)) => words = &words[length..],
                        Err(BadRecord::Length) => return None,
                    }
                }
            })
        })
    }

    /// True if nothing of it was recorded.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The stacks that were copied.
    pub fn stacks(&self) -> Vec<RawStack> {
        self.records()
            .filter_map(|(_, record)| match record {
                Record::Stack { id, ip, sp, bp, words } => {
                    let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                    Some(RawStack { id, ip, sp, bp, bytes })
                }
                _ => None,
            })
            .collect()
    }

    /// The modules that were mapped at some time.
    pub fn modules(&self) -> Vec<RawModule> {
        let mut modules: Vec<RawModule> = Vec::new();
        for (_, record) in self.records() {
            if let Record::Module { bias, start, end, text, build_id_len } = record {
                let mut build_id: Vec<u8> = text.bytes().collect();
                let path = build_id.split_off(usize::from(build_id_len).min(build_id.len()));
                let module = RawModule { path, build_id, bias, start, end };
                if !modules.contains(&module) {
                    modules.push(module);
                }
            }
        }
        modules
    }

    /// Addresses of code that records name by themselves: start functions (false) and return addresses (true).
    pub fn code(&self) -> BTreeSet<(u64, bool)> {
        let mut found = BTreeSet::new();
        for (_, record) in self.records() {
            match record {
                Record::ThreadStart { entry, .. } => found.insert((entry, false)),
                Record::Hold { acquired_at, .. } => found.insert((acquired_at, true)),
                Record::ObjectInit { caller, .. } => found.insert((caller, true)),
                Record::OpenMp(event) => {
                    found.extend(openmp::code(&event));
                    false
                }
                _ => false,
            };
        }
        found.remove(&(0, false));
        found.remove(&(0, true));
        found
    }

    /// Addresses of the sync objects that were used.
    pub fn objects(&self) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        for (_, record) in self.records() {
            match record {
                Record::Wait(wait) if wait.kind != wire::ObjectCode::ThreadEnd => {
                    found.insert(wait.object);
                    found.insert(wait.mutex);
                }
                Record::Hold { object, .. } | Record::Wake { object, .. } | Record::Use { object, .. } => {
                    found.insert(object);
                }
                _ => {}
            }
        }
        found.remove(&0);
        found
    }
}
