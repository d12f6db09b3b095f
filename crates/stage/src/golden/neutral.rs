//! Recordings without what the machine is called that they were made on.
//!
//! Paths of the machine's libraries become others of the same length that are nowhere, so that no reader finds other
//! files under them than those that ran; names and source text are in the recording.

use std::borrow::Cow;
use std::path::Path;

use holdup_recording::format::FrameKind;
use holdup_recording::{StoredFrame, frames, recording_of};

use crate::workspace;

/// What no recording says: where somebody keeps files. Written in halves, since no file of the workspace says it.
pub const FOLDERS: &[&str] = &[concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/wo", "rk/")];

/// In binary contents, where nothing may get longer or shorter.
const BINARY: &[(&str, &str)] = &[
    ("/usr/", "/old/"),
    ("/lib/x86_64-", "/old/x86_64-"),
    ("/lib64/", "/old64/"),
    ("[vdso]", "[gone]"),
    ("linux-vdso", "linux-gone"),
];

/// zstd's level for what is made once and read often.
pub(super) const LEVEL: i32 = 19;

/// The same recording without names of the machine: as small as it gets.
///
/// # Errors
/// What of it still names the machine.
pub(super) fn neutral(recording: &[u8]) -> Result<Vec<u8>, String> {
    let mut frames = frames(recording);
    let cargo = std::env::var_os("CARGO_HOME").map(|home| home.to_string_lossy().into_owned());
    for frame in &mut frames {
        if is_text(frame) {
            let home = std::env::var("HOME").unwrap_or_default();
            let homes = [cargo.clone().unwrap_or_default(), format!("{home}/.cargo")];
            for home in homes.iter().filter(|home| home.len() > 1) {
                frame.content = replaced(&frame.content, home.as_bytes(), b"/cargo").into_owned();
            }
            frame.content = replaced(&frame.content, b"\"/usr/", b"\"/old/").into_owned();
        } else {
            for (from, to) in BINARY {
                frame.content = replaced(&frame.content, from.as_bytes(), to.as_bytes()).into_owned();
            }
        }
    }
    let made = recording_of(&frames, LEVEL).map_err(|error| error.to_string())?;
    check_neutral(&made)?;
    Ok(made)
}

/// Whether no content of a recording has the name of somebody's folder, or of this workspace.
///
/// # Errors
/// What it names.
pub fn check_neutral(recording: &[u8]) -> Result<(), String> {
    let own = workspace().to_string_lossy().into_owned();
    let words = FOLDERS.iter().copied().chain([own.as_str()]);
    for frame in frames(recording) {
        for word in words.clone() {
            if let Some(at) = found(&frame.content, word.as_bytes()) {
                let around = &frame.content[at.saturating_sub(20)..(at + 60).min(frame.content.len())];
                let around = String::from_utf8_lossy(around);
                return Err(format!("{word} is in a frame of kind {:?}: {around:?}", frame.kind));
            }
        }
    }
    Ok(())
}

/// Whether its content is JSON.
fn is_text(frame: &StoredFrame) -> bool {
    !matches!(frame.kind, FrameKind::Chunk | FrameKind::Kernel | FrameKind::Instructions)
}

fn found(content: &[u8], word: &[u8]) -> Option<usize> {
    content.windows(word.len()).position(|window| window == word)
}

fn replaced<'a>(content: &'a [u8], from: &[u8], to: &[u8]) -> Cow<'a, [u8]> {
    let Some(first) = found(content, from) else { return Cow::Borrowed(content) };
    let mut made = content[..first].to_vec();
    let mut rest = &content[first..];
    while !rest.is_empty() {
        match rest.strip_prefix(from) {
            Some(behind) => {
                made.extend(to);
                rest = behind;
            }
            None => {
                made.push(rest[0]);
                rest = &rest[1..];
            }
        }
    }
    Cow::Owned(made)
}

/// So many percent of a recording's bytes.
pub(super) fn cut(recording: &[u8], percent: usize) -> Vec<u8> {
    recording[..recording.len() * percent / 100].to_vec()
}

/// A recording of which these frames have a wrong byte in their middle.
pub(super) fn damaged(recording: &[u8], wrong: &[usize]) -> Vec<u8> {
    let mut made = recording.to_vec();
    for (_, frame) in frames(recording).iter().enumerate().filter(|(index, _)| wrong.contains(index)) {
        made[frame.offset + frame.length / 2] ^= 0x5a;
    }
    made
}

/// A recording that misses these frames.
pub(super) fn without(recording: &[u8], missing: &[usize]) -> Vec<u8> {
    let mut made = recording.to_vec();
    for (_, frame) in frames(recording).iter().enumerate().rev().filter(|(index, _)| missing.contains(index))
    {
        made.drain(frame.offset..frame.offset + frame.length);
    }
    made
}

/// The recording at a path, or why there is none.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: FrameKind, content: &[u8]) -> StoredFrame {
        StoredFrame { offset: 0, length: 0, kind, process: 0, content: content.to_vec() }
    }

    fn recording(contents: &[(FrameKind, &str)]) -> Vec<u8> {
        let frames: Vec<_> = contents.iter().map(|(kind, text)| frame(*kind, text.as_bytes())).collect();
        recording_of(&frames, LEVEL).unwrap()
    }

    fn contents(recording: &[u8]) -> Vec<String> {
        frames(recording).into_iter().map(|frame| String::from_utf8(frame.content).unwrap()).collect()
    }

    #[test]
    fn paths_of_libraries_are_nowhere() {
        let kernel = "....../usr/lib/x86_64-linux-gnu/libc.so.6..[vdso].";
        let names = r#"{"file":"/usr/lib/go/proc.go","module":"linux-vdso.so.1"}"#;
        let made = neutral(&recording(&[(FrameKind::Kernel, kernel), (FrameKind::Names, names)])).unwrap();
        assert_eq!(
            contents(&made),
            [
                "....../old/old/x86_64-linux-gnu/libc.so.6..[gone].",
                r#"{"file":"/old/lib/go/proc.go","module":"linux-vdso.so.1"}"#,
            ]
        );
    }

    #[test]
    fn what_names_the_machine_is_refused() {
        for folder in FOLDERS {
            let text = format!("somewhere {folder}me/app");
            let refused = check_neutral(&recording(&[(FrameKind::Session, "{}"), (FrameKind::Chunk, &text)]));
            assert!(refused.is_err_and(|error| error.contains("me/app")));
        }
        let own = workspace().to_string_lossy().into_owned();
        assert!(check_neutral(&recording(&[(FrameKind::Session, &own)])).is_err());
    }

    #[test]
    fn damage_is_where_it_was_asked_for() {
        let whole = recording(&[
            (FrameKind::Session, "the first"),
            (FrameKind::Chunk, "the second"),
            (FrameKind::SessionEnd, "the third"),
        ]);
        assert_eq!(contents(&without(&whole, &[1])), ["the first", "the third"]);
        assert_eq!(contents(&damaged(&whole, &[1])), ["the first"]);
        assert_eq!(damaged(&whole, &[1]).len(), whole.len());
        assert_eq!(contents(&cut(&whole, 99)), ["the first", "the second"]);
    }
}
