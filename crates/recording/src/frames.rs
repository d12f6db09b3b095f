//! The frames of a recording as they are stored: for who looks through all of its bytes, or changes some.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::error::{ReadError, Warning};
use crate::format::{self, FRAME_HEADER, FRAME_MAGIC, FrameKind, HEADER, LONGEST_CONTENT, MAGIC, VERSION};
use crate::writer;

/// A frame of a recording, unpacked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredFrame {
    /// Where it begins in the file.
    pub offset: usize,
    /// How many bytes of the file it has, its header included.
    pub length: usize,
    /// What it is.
    pub kind: FrameKind,
    /// The process that it is about.
    pub process: u32,
    /// Its content, decompressed.
    pub content: Vec<u8>,
}

/// The frames of a recording up to the first damaged one, in their order. Those of unknown kinds are left out.
pub fn frames(recording: &[u8]) -> Vec<StoredFrame> {
    let mut found = Vec::new();
    let mut at = HEADER;
    while let Some(Ok(frame)) = recording.get(at..).map(frame) {
        if let (Some(kind), Some(content)) = (frame.kind, frame.content()) {
            let (length, process) = (frame.length, frame.process);
            found.push(StoredFrame { offset: at, length, kind, process, content });
        }
        at += frame.length;
    }
    found
}

/// A recording of these frames alone, each compressed as far as zstd's `level` does.
///
/// # Errors
/// Those of compressing.
pub fn recording_of<'a>(
    frames: impl IntoIterator<Item = &'a StoredFrame>,
    level: i32,
) -> io::Result<Vec<u8>> {
    let mut recording = format::header().to_vec();
    for frame in frames {
        recording.extend(writer::packed(frame.kind, frame.process, &frame.content, level)?);
    }
    Ok(recording)
}

/// A frame as it is stored.
pub(crate) struct Frame<'a> {
    /// `None` for a kind that this version does not know.
    pub kind: Option<FrameKind>,
    pub process: u32,
    pub compressed: bool,
    pub content_length: u32,
    pub stored: &'a [u8],
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
    pub(crate) fn first_words(&self) -> Option<(u32, u32)> {
        let mut first = [0; 8];
        if self.compressed {
            zstd::Decoder::with_buffer(self.stored).ok()?.read_exact(&mut first).ok()?;
        } else {
            first.copy_from_slice(self.stored.get(..8)?);
        }
        Some((u32_at(&first, 0), u32_at(&first, 4)))
    }

    pub(crate) fn facts<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.content()?).ok()
    }
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
    fn of(size: u64) -> Bounds {
        const AT_LEAST: u64 = 32 << 20;
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

/// What was found in a file besides its frames.
pub(crate) struct Found {
    /// The header; shorter if the file is.
    header: Vec<u8>,
    has_session: bool,
    warnings: Vec<Warning>,
}

impl Found {
    /// What was wrong; `is_something` is true if there is more in the file than how its session began.
    ///
    /// # Errors
    /// [`ReadError`] where nothing in the file can be read.
    pub(crate) fn warnings(self, is_something: bool, path: &Path) -> Result<Vec<Warning>, ReadError> {
        let path = || path.to_owned();
        if self.header.is_empty() {
            return Err(ReadError::Empty { path: path() });
        }
        if self.header.len() < HEADER || !self.header.starts_with(MAGIC) {
            return Err(ReadError::NotARecording { path: path(), found: kind_of(&self.header) });
        }
        if let Some(found) = self.unknown_version() {
            return Err(ReadError::Newer { path: path(), found, known: VERSION });
        }
        if !self.has_session && !is_something {
            let is_unfinished = self.warnings.iter().all(|warning| matches!(warning, Warning::CutOff { .. }));
            return Err(if is_unfinished {
                ReadError::Nothing { path: path() }
            } else {
                ReadError::NothingReadable { path: path() }
            });
        }
        Ok(self.warnings)
    }

    fn unknown_version(&self) -> Option<u32> {
        Some(u32_at(&self.header, 16)).filter(|found| *found == 0 || *found > VERSION)
    }

    /// True if frames follow that can be understood.
    fn is_recording(&self) -> bool {
        self.header.len() == HEADER && self.header.starts_with(MAGIC) && self.unknown_version().is_none()
    }
}

/// What a file is that begins so: what is given to holdup most often by mistake.
fn kind_of(header: &[u8]) -> &'static str {
    const KINDS: [(&[u8], &str); 7] = [
        (b"\x7fELF", ", but a program"),
        (b"#!", ", but a script"),
        (b"PERFILE2", ", but one of perf"),
        (b"<!doctype html", ", but a page, which a browser shows"),
        (b"<html", ", but a page, which a browser shows"),
        (b"{", ", but JSON"),
        (b"\x1f\x8b", ", but a compressed file"),
    ];
    let begins = |start: &&(&[u8], &str)| {
        header.get(..start.0.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(start.0))
    };
    KINDS.iter().find(begins).map_or("", |(_, kind)| kind)
}

/// So much of a file is read at once (bytes).
const PIECE: usize = 1 << 20;

/// What takes a frame over: where it begins in the file, the frame, and how many processes there may be. Gives `None` if its
/// content cannot be understood.
pub(crate) type Take<'a> = dyn FnMut(u64, &Frame<'_>, u32) -> Option<()> + 'a;

/// A recording's bytes, of which only those around the frame that is looked at are in memory.
pub(crate) struct Frames<R> {
    from: R,
    /// Bytes that are not read yet, as the file was long at the beginning.
    left: u64,
    bytes: Vec<u8>,
    /// What is looked at, in `bytes`.
    at: usize,
    /// Where `bytes` begin in the file.
    offset: u64,
    bounds: Bounds,
}

/// A file, read from its beginning on, wherever it is at.
pub(crate) struct FromStart<'a> {
    file: &'a File,
    at: u64,
}

impl Read for FromStart<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(to, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl<'a> Frames<FromStart<'a>> {
    pub(crate) fn of_file(file: &'a File) -> io::Result<Self> {
        Ok(Frames::of(FromStart { file, at: 0 }, file.metadata()?.len()))
    }
}

impl<R: Read> Frames<R> {
    pub(crate) fn of(from: R, size: u64) -> Self {
        Frames { from, left: size, bytes: Vec::new(), at: 0, offset: 0, bounds: Bounds::of(size) }
    }

    /// Gives all frames to `take`.
    ///
    /// # Errors
    /// Those of reading. What is not in order in what was read is in the result.
    pub(crate) fn each(mut self, take: &mut Take<'_>) -> io::Result<Found> {
        self.fill(HEADER)?;
        let header = self.rest().iter().take(HEADER).copied().collect();
        let mut found = Found { header, has_session: false, warnings: Vec::new() };
        if !found.is_recording() {
            return Ok(found);
        }
        self.at += HEADER;
        loop {
            self.fill(FRAME_HEADER)?;
            if self.rest().is_empty() {
                break;
            }
            let offset = self.position();
            self.fill_frame()?;
            match frame(&self.bytes[self.at..]) {
                Ok(frame) => {
                    found.has_session |= frame.kind == Some(FrameKind::Session);
                    // What is not unpacked is said once, below.
                    if self.bounds.unpacks(&frame)
                        && take(offset, &frame, self.bounds.most_processes).is_none()
                    {
                        found.warnings.push(Warning::Content { offset });
                    }
                    self.at += frame.length;
                }
                Err(bad) => {
                    let goes_on = self.skip_damage()?;
                    let bytes = self.position() - offset;
                    found.warnings.push(match bad {
                        Bad::Short if !goes_on => Warning::CutOff { bytes },
                        _ => Warning::Damaged { offset, bytes },
                    });
                }
            }
        }
        if self.bounds.left_out > 0 {
            found.warnings.push(Warning::TooLarge { bytes: self.bounds.left_out });
        }
        Ok(found)
    }

    /// Where in the file is what is looked at.
    fn position(&self) -> u64 {
        self.offset + self.at as u64
    }

    /// What is in memory from there on.
    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// Has `wanted` bytes in memory from here on, or all that there are.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        if self.rest().len() >= wanted || self.left == 0 {
            return Ok(());
        }
        self.bytes.drain(..self.at);
        self.offset += self.at as u64;
        self.at = 0;
        let missing = (wanted.max(PIECE) - self.bytes.len()) as u64;
        let missing = missing.min(self.left);
        // Not more than is wanted stays for one long frame.
        self.bytes.shrink_to(PIECE);
        self.bytes.reserve_exact(missing as usize);
        let read = (&mut self.from).take(missing).read_to_end(&mut self.bytes)? as u64;
        // A file that has become shorter meanwhile ends where it now does.
        self.left = if read < missing { 0 } else { self.left - read };
        Ok(())
    }

    /// Has the frame that begins here in memory, if it is as long as it says.
    fn fill_frame(&mut self) -> io::Result<()> {
        self.fill(FRAME_HEADER)?;
        let stored = u32_at(self.rest(), 16);
        let is_one = self.rest().starts_with(FRAME_MAGIC) && stored <= LONGEST_CONTENT;
        if is_one { self.fill(FRAME_HEADER + stored as usize) } else { Ok(()) }
    }

    /// Goes to the next whole frame behind the byte that is looked at; where there is none, or finding it would be too long a
    /// search through many beginnings of frames that are none, to the end, and gives false.
    fn skip_damage(&mut self) -> io::Result<bool> {
        self.at += 1;
        loop {
            self.fill(PIECE)?;
            let Some(next) = self.rest().windows(FRAME_MAGIC.len()).position(|window| window == FRAME_MAGIC)
            else {
                if self.left == 0 {
                    self.at = self.bytes.len();
                    return Ok(false);
                }
                // The last bytes may be the beginning of one.
                self.at = (self.bytes.len() + 1).saturating_sub(FRAME_MAGIC.len()).max(self.at);
                continue;
            };
            self.at += next;
            self.fill_frame()?;
            if frame(self.rest()).is_ok() {
                return Ok(true);
            }
            let behind = self.rest().len() as u64 + self.left;
            let looked_at = u64::from(u32_at(self.rest(), 16)).min(behind) + FRAME_HEADER as u64;
            match self.bounds.searched.checked_sub(looked_at) {
                Some(left) => self.bounds.searched = left,
                None => {
                    (self.offset, self.at, self.left) = (self.position() + behind, 0, 0);
                    self.bytes.clear();
                    return Ok(false);
                }
            }
            self.at += 1;
        }
    }
}

/// The frame that begins at an offset of a file; `None` if there is none, or none that is whole.
pub(crate) fn with_frame_at<T>(
    file: &File,
    offset: u64,
    with: impl FnOnce(&Frame<'_>) -> Option<T>,
) -> Option<T> {
    let mut header = [0; FRAME_HEADER];
    file.read_exact_at(&mut header, offset).ok()?;
    let stored = u32_at(&header, 16);
    if stored > LONGEST_CONTENT {
        return None;
    }
    let mut bytes = header.to_vec();
    bytes.resize(FRAME_HEADER + stored as usize, 0);
    file.read_exact_at(&mut bytes[FRAME_HEADER..], offset + FRAME_HEADER as u64).ok()?;
    with(&frame(&bytes).ok()?)
}

/// Bytes as words; those of an incomplete one are left out.
pub(crate) fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|word| u64_at(word, 0)).collect()
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Recording;
    use crate::facts::{Session, SessionEnd};
    use crate::format::FRAME_HEADER;

    fn frame(kind: FrameKind, process: u32, content: Vec<u8>) -> StoredFrame {
        StoredFrame { offset: 0, length: 0, kind, process, content }
    }

    fn made() -> Vec<u8> {
        let session = Session { command: vec!["app".repeat(200)], ..Session::default() };
        let frames = [
            frame(FrameKind::Session, 0, serde_json::to_vec(&session).unwrap()),
            frame(FrameKind::Chunk, 3, vec![0; 16]),
            frame(FrameKind::SessionEnd, 0, serde_json::to_vec(&SessionEnd::default()).unwrap()),
        ];
        recording_of(&frames, 19).unwrap()
    }

    #[test]
    fn what_is_put_together_can_be_read_and_taken_apart() {
        let bytes = made();
        let (recording, warnings) = Recording::parse(&bytes, Path::new("made")).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!((recording.processes.len(), recording.session.command[0].len()), (4, 600));
        let found = frames(&bytes);
        assert_eq!(found.iter().map(|frame| frame.kind as u8).collect::<Vec<_>>(), [1, 3, 7]);
        assert_eq!(
            (found[0].offset, found[1].process, found[1].content.as_slice()),
            (HEADER, 3, &[0; 16][..])
        );
        assert_eq!(found.iter().map(|frame| frame.length).sum::<usize>() + HEADER, bytes.len());
        assert!(found[0].length < 200, "long contents are compressed");
        assert_eq!(recording_of(&found, 19).unwrap(), bytes);
    }

    #[test]
    fn what_follows_damage_is_left_out() {
        let mut bytes = made();
        let second = frames(&bytes)[1].offset;
        bytes[second + FRAME_HEADER] ^= 1;
        assert_eq!(frames(&bytes).len(), 1);
        assert_eq!(frames(&bytes[..10]), []);
    }
}
