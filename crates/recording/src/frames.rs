//! The frames of a recording as they are stored: for who looks through all of its bytes, or changes some.

use std::io;

use crate::format::{self, FrameKind, HEADER};
use crate::reader;
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
    while let Some(frame) = recording.get(at..).and_then(reader::frame_at) {
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
