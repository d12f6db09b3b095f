//! What of a recording names are found for: gathered frame by frame, without what its threads did.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

use holdup_trace::instructions::TABLES;
use holdup_trace::kernel;
use holdup_trace::wire::{self, Record};

use crate::error::ReadError;
use crate::format::FrameKind;
use crate::frames::{Frames, with_frame_at, words};
use crate::openmp;
use crate::reader::{Chunk, Recording};

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

impl RawStack {
    pub(crate) fn of(record: &Record<'_>) -> Option<RawStack> {
        let Record::Stack { id, ip, sp, bp, words } = *record else { return None };
        Some(RawStack { id, ip, sp, bp, bytes: words.iter().flat_map(|word| word.to_le_bytes()).collect() })
    }
}

/// What a process's names are found for, less its stacks.
#[derive(Clone, Debug, Default)]
pub struct Addresses {
    /// The modules that were mapped at some time.
    pub modules: Vec<RawModule>,
    /// Addresses of code that records name by themselves: start functions (false) and return addresses (true).
    pub code: BTreeSet<(u64, bool)>,
    /// Addresses of the sync objects that were used.
    pub objects: BTreeSet<u64>,
}

impl Addresses {
    pub(crate) fn add(&mut self, record: &Record<'_>) {
        match *record {
            Record::Module { bias, start, end, text, build_id_len } => {
                let mut build_id: Vec<u8> = text.bytes().collect();
                let path = build_id.split_off(usize::from(build_id_len).min(build_id.len()));
                let module = RawModule { path, build_id, bias, start, end };
                if !self.modules.contains(&module) {
                    self.modules.push(module);
                }
            }
            Record::ThreadStart { entry, .. } => self.add_code((entry, false)),
            Record::Hold { object, acquired_at, .. } => {
                self.add_code((acquired_at, true));
                self.add_object(object);
            }
            Record::ObjectInit { caller, .. } => self.add_code((caller, true)),
            Record::OpenMp(event) => openmp::code(&event).into_iter().for_each(|code| self.add_code(code)),
            Record::Wait(wait) if wait.kind != wire::ObjectCode::ThreadEnd => {
                self.add_object(wait.object);
                self.add_object(wait.mutex);
            }
            Record::Wake { object, .. } | Record::Use { object, .. } => self.add_object(object),
            _ => {}
        }
    }

    fn add_code(&mut self, code: (u64, bool)) {
        if code.0 != 0 {
            self.code.insert(code);
        }
    }

    fn add_object(&mut self, object: u64) {
        if object != 0 {
            self.objects.insert(object);
        }
    }
}

/// What the kernel collector saw of code, by image.
#[derive(Debug, Default)]
pub(crate) struct Images(BTreeMap<u32, RawImage>);

impl Images {
    fn of(&mut self, number: u32) -> &mut RawImage {
        self.0.entry(number).or_insert_with(|| RawImage { number, ..RawImage::default() })
    }

    pub(crate) fn add(&mut self, words: &[u64]) {
        for record in kernel::records(words) {
            match record {
                kernel::Record::Start { pid, image, .. } | kernel::Record::Exec { pid, image, .. } => {
                    self.of(image).pid = pid;
                }
                kernel::Record::Mapping { time, image, start, end, offset, text } => {
                    let path = text.bytes().collect();
                    self.of(image).mappings.push(RawMapping { time, start, end, offset, path });
                }
                kernel::Record::Stack { image, addresses, .. } => {
                    if let Some((executed, callers)) = addresses.split_first() {
                        let image = self.of(image);
                        image.executed.insert(*executed);
                        image.callers.extend(callers);
                    }
                }
                _ => {}
            }
        }
    }

    /// The images, what they mapped in the order of time.
    pub(crate) fn in_order(self) -> Vec<RawImage> {
        let mut images: Vec<RawImage> = self.0.into_values().collect();
        images.iter_mut().for_each(|image| image.mappings.sort_by_key(|mapping| mapping.time));
        images
    }
}

/// What names are found for in a recording that is in a file: it takes memory for the code that the program has, however long
/// it ran.
#[derive(Debug)]
pub struct Outline<'a> {
    /// The recording without what threads did: neither records of processes and of the kernel, nor streams of instructions
    /// (their tables are there).
    pub recording: Recording,
    /// For each process of it what its names are found for; `None` if nothing was recorded of it.
    pub addresses: Vec<Option<Addresses>>,
    /// What the kernel collector saw of code.
    pub images: Vec<RawImage>,
    file: &'a File,
    /// For each process the frames in which copies of stacks are.
    with_stacks: Vec<Vec<u64>>,
}

impl<'a> Outline<'a> {
    /// Reads a recording from an open file; `path` is only named in errors.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn read(file: &'a File, path: &Path) -> Result<Outline<'a>, ReadError> {
        let mut recording = Recording::default();
        let mut addresses: Vec<Option<Addresses>> = Vec::new();
        let mut with_stacks: Vec<Vec<u64>> = Vec::new();
        let mut images = Images::default();
        let frames = Frames::of_file(file).and_then(|frames| {
            frames.each(&mut |offset, frame, most| {
                match frame.kind {
                    Some(FrameKind::Chunk) => {
                        let chunk = Chunk::of(frame)?;
                        recording.process(frame.process, most)?;
                        let index = frame.process as usize;
                        if addresses.len() <= index {
                            addresses.resize_with(index + 1, || None);
                            with_stacks.resize_with(index + 1, Vec::new);
                        }
                        let found = addresses[index].get_or_insert_default();
                        let mut has_stacks = false;
                        for record in chunk.records() {
                            found.add(&record);
                            has_stacks |= matches!(record, Record::Stack { .. });
                        }
                        if has_stacks {
                            with_stacks[index].push(offset);
                        }
                    }
                    Some(FrameKind::Kernel) => images.add(&words(&frame.content()?)),
                    Some(FrameKind::Instructions) if frame.first_words()?.0 != TABLES => {}
                    _ => recording.take(frame, most)?,
                }
                Some(())
            })
        });
        let found = frames.map_err(|error| ReadError::Unreadable { path: path.to_owned(), error })?;
        let images = images.in_order();
        found.warnings(!recording.processes.is_empty() || !images.is_empty(), path)?;
        recording.in_order();
        addresses.resize_with(recording.processes.len(), || None);
        with_stacks.resize_with(recording.processes.len(), Vec::new);
        Ok(Outline { recording, addresses, images, file, with_stacks })
    }

    /// Gives the stacks of a process, one after the other.
    pub fn each_stack(&self, process: usize, mut with: impl FnMut(RawStack)) {
        for offset in self.with_stacks.get(process).into_iter().flatten() {
            let chunk = with_frame_at(self.file, *offset, Chunk::of);
            for record in chunk.iter().flat_map(Chunk::records) {
                RawStack::of(&record).into_iter().for_each(&mut with);
            }
        }
    }
}
