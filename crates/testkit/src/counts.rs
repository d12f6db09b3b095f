//! Counts of the recordings that are stored with the sources.

use std::fs;
use std::path::Path;

use holdup_model::counts::Counts;
use holdup_recording::Recording;

pub use holdup_counts::text;

/// The counts of all recordings in `tests/recordings` that have any, by their names.
///
/// # Panics
/// If the folder cannot be read.
pub fn stored_counts() -> Vec<(String, Counts)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/recordings");
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("the recordings").map(|entry| entry.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "holdup"));
    paths.sort();
    let counts_of = |path: &Path| {
        let (recording, warnings) = Recording::open(path).ok()?;
        let run = recording.run(&warnings);
        let counts = holdup_counts::counts(&recording, &run).ok()?;
        Some((path.file_stem()?.to_string_lossy().into_owned(), counts))
    };
    paths.iter().filter_map(|path| counts_of(path)).collect()
}
