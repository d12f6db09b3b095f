//! What of a recording names are found for: gathered frame by frame, without what its threads did.

use std::fs::File;
use std::path::Path;

use holdup_trace::instructions::TABLES;
use holdup_trace::wire::Record;

use crate::addresses::{Addresses, Images, RawImage, RawStack};
use crate::error::ReadError;
use crate::format::FrameKind;
use crate::frames::{Frames, with_frame_at, words};
use crate::reader::{Chunk, Recording};

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
