//! What is simulated: recordings with instruction streams.

use std::collections::{BTreeMap, BTreeSet};

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use holdup_collect::address_names;
use holdup_feed::Prepared;
use holdup_model::{Frame, Run};
use holdup_recording::Recording;
use holdup_report::{escaped, shell_words};

use crate::failure::Failure;
use crate::progress::Progress;

/// A recording that was read.
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    pub(crate) recording: Recording,
    pub(crate) run: Run,
    /// Where the executed instructions are; looked up when somebody asks.
    places: OnceLock<BTreeMap<u64, Vec<Frame>>>,
}

impl Input {
    /// Reads a recording.
    pub(crate) fn read(path: &Path, progress: &Progress) -> Result<Input, Failure> {
        progress.reading(path);
        let (mut recording, warnings) = Recording::open(path)?;
        check_machine(path, &recording)?;
        match recording.session.instructions.as_deref() {
            Some("stream") => {}
            found => return Err(no_streams(path, &recording.session.command, found.is_some())),
        }
        holdup_collect::name_all(&mut recording, &progress.names());
        progress.reading(path);
        let run = recording.run(&warnings);
        Ok(Input { path: path.to_owned(), recording, run, places: OnceLock::new() })
    }

    /// Reads several, one after another.
    pub(crate) fn all(paths: &[PathBuf], progress: &Progress) -> Result<Vec<Input>, Failure> {
        let read = paths.iter().enumerate().map(|(index, path)| {
            progress.with_recording(index, paths.len());
            Input::read(path, progress)
        });
        read.collect()
    }

    /// What to simulate of it.
    pub(crate) fn prepared(&self, named: &str) -> Result<Prepared<'_>, Failure> {
        Prepared::new(&self.recording, &self.run).map_err(|error| Failure::input(format!("{named}: {error}")))
    }

    /// The executed instructions at `FILE:LINE` or in a function.
    pub(crate) fn instructions_at(&self, prepared: &Prepared<'_>, text: &str) -> BTreeSet<u64> {
        let places = self.places.get_or_init(|| {
            let all = prepared.program().code.instructions.iter().map(|instruction| instruction.address);
            address_names(&self.recording, all, []).code
        });
        let is_meant = |frames: &Vec<Frame>| frames.iter().any(|frame| is_at(frame, text));
        places.iter().filter(|(_, frames)| is_meant(frames)).map(|(address, _)| *address).collect()
    }
}

/// Refuses instructions of processors that are not understood.
///
/// # Errors
/// What it is, in a line.
pub(crate) fn check_machine(path: &Path, recording: &Recording) -> Result<(), Failure> {
    match recording.session.other_machine() {
        None => Ok(()),
        Some(machine) => Err(Failure::input(format!(
            "{}: it was recorded on a processor of another architecture ({}); only instructions of x86-64 are understood",
            path.display(),
            escaped(machine)
        ))),
    }
}

/// True for a frame of the function `text`, or at the line that it says: `fft.c:120`, with as much of the path as one likes.
fn is_at(frame: &Frame, text: &str) -> bool {
    let Some((file, line)) = text.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)))
    else {
        return frame.function.as_deref() == Some(text);
    };
    let is_file = |own: &str| own == file || own.ends_with(&format!("/{file}"));
    frame.line == Some(line) && frame.file.as_deref().is_some_and(is_file)
}

/// What to do where not all instructions were recorded.
fn no_streams(path: &Path, command: &[String], has_counts: bool) -> Failure {
    let program = shell_words(command).unwrap_or_else(|| "PROGRAM".to_owned());
    let recording = path.with_extension("stream.holdup");
    let has = if has_counts {
        "has counts of instructions, but no streams of them"
    } else {
        "has no instruction streams"
    };
    Failure::input(format!(
        "{}: the recording {has}, which a simulation executes again; this makes one that has: holdup record \
         --instructions=stream -o {} -- {program}",
        path.display(),
        shell_words(&[recording.to_string_lossy().into_owned()]).unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_lines_or_functions() {
        let frame = Frame {
            function: Some("transpose".to_owned()),
            file: Some("/src/fft/fft.c".to_owned()),
            line: Some(120),
            ..Frame::default()
        };
        for right in ["fft.c:120", "fft/fft.c:120", "/src/fft/fft.c:120", "transpose"] {
            assert!(is_at(&frame, right), "{right}");
        }
        for wrong in ["t.c:120", "fft.c:12", "fft.c", "trans", ""] {
            assert!(!is_at(&frame, wrong), "{wrong}");
        }
    }
}
