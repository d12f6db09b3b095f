//! What a recording may take of its reader's memory and time.

use std::fs;
use std::path::Path;

use holdup_recording::facts::Session;
use holdup_recording::format::{FRAME_MAGIC, FrameKind};
use holdup_recording::{Recording, StreamPiece, Warning, Writer};

/// A recording with a session's facts and what `add` adds.
fn bytes(add: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bounds.holdup");
    let mut writer = Writer::create(&path).unwrap();
    writer.facts(FrameKind::Session, 0, &Session::default()).unwrap();
    add(&mut writer);
    drop(writer);
    fs::read(path).unwrap()
}

fn read(bytes: &[u8]) -> (Recording, Vec<Warning>) {
    Recording::parse(bytes, Path::new("bounds.holdup")).unwrap()
}

#[test]
fn what_unpacks_to_far_more_than_its_size_is_left_out_and_told() {
    let zeros = vec![0; 2 << 20];
    let bytes = bytes(|writer| (0..4).for_each(|_| writer.kernel(&zeros).unwrap()));
    assert!(bytes.len() < 64 << 10, "{}", bytes.len());
    let left_out = |warning: &Warning| match warning {
        Warning::TooLarge { bytes } => Some(*bytes),
        _ => None,
    };
    assert_eq!(read(&bytes).1.iter().find_map(left_out), Some(2 * (16 << 20)));
}

#[test]
fn beginnings_of_frames_that_are_none_are_not_all_looked_through() {
    let mut bytes = bytes(|_| {});
    let mut header = [0; 24];
    header[..4].copy_from_slice(FRAME_MAGIC);
    header[12..16].copy_from_slice(&(1u32 << 20).to_le_bytes());
    header[16..20].copy_from_slice(&(1u32 << 20).to_le_bytes());
    let whole = bytes.clone();
    bytes.extend(header.repeat(200_000));
    bytes.extend(&whole[32..]);
    let (_, warnings) = read(&bytes);
    assert!(matches!(warnings[0], Warning::Damaged { .. }), "{warnings:?}");
}

#[test]
fn a_process_that_cannot_be_there_is_not_made() {
    let whole = bytes(|_| {});
    let far = bytes(|writer| writer.chunk(1 << 19, 0, 0, &[1, 2, 3]).unwrap());
    let (recording, warnings) = read(&far);
    assert!(far.len() > whole.len() && recording.processes.is_empty(), "{}", recording.processes.len());
    assert!(warnings.iter().any(|warning| matches!(warning, Warning::Content { .. })), "{warnings:?}");
}

#[test]
fn beyond_its_limit_a_file_gets_no_more_events_and_counts_what_it_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bounds.holdup");
    let mut writer = Writer::create(&path).unwrap();
    writer.facts(FrameKind::Session, 0, &Session::default()).unwrap();
    let piece = || StreamPiece::new(0, 0, &[1; 8]).unwrap();
    let mut length = fs::metadata(&path).unwrap().len();
    for (kernel, process) in [(true, 0), (false, 1)] {
        // The file may be as long as its limit: what comes then is the last.
        writer.limit(Some(length));
        if kernel { writer.kernel(&[1; 64]) } else { writer.chunk(0, 0, 0, &[1; 64]) }.unwrap();
        let longer = fs::metadata(&path).unwrap().len();
        assert!(longer > length, "{longer} {length}");
        for _ in 0..3 {
            writer.kernel(&[1; 64]).unwrap();
            writer.chunk(0, 0, 1, &[1; 64]).unwrap();
            assert!(!writer.instructions(&piece()).unwrap(), "a piece that may be left out");
        }
        assert_eq!((fs::metadata(&path).unwrap().len(), writer.dropped()), (longer, 6 + 6 * process));
        length = longer;
    }
    // Facts, and pieces that must be kept, are written all the same.
    assert!(writer.instructions(&piece().kept()).unwrap());
    writer.facts(FrameKind::Session, 0, &Session::default()).unwrap();
    assert!(fs::metadata(&path).unwrap().len() > length);
    drop(writer);
    let (_, warnings) = read(&fs::read(&path).unwrap());
    assert!(!warnings.iter().any(|warning| matches!(warning, Warning::Damaged { .. })), "{warnings:?}");
}
