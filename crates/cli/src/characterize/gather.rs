//! Rows from files of any kind.

use std::fs;
use std::path::{Path, PathBuf};

use super::rows::{Gathered, Kind};
use super::stacks::StackKind;
use super::{answers, parquet, recordings, tables};
use crate::failure::Failure;

/// How deep directories in directories are looked into.
const DEEP: usize = 4;

/// What a sweep calls its table of components, by what it is in.
const COMPONENTS: [&str; 2] = ["components.parquet", "components.csv"];

/// Reads all files. `of` chooses where a file can be read as several kinds of stacks.
pub(super) fn gather(paths: &[PathBuf], of: Option<StackKind>) -> Result<Gathered, Failure> {
    let mut files = Vec::new();
    for path in paths {
        list(path, DEEP, &mut files)?;
    }
    let is_recording = |file: &PathBuf| ending(file) == "holdup";
    let recorded = recordings::read(files.iter().filter(|file| is_recording(file)), of)?;
    let mut recorded = recorded.into_iter();
    let mut all: Option<(Gathered, PathBuf)> = None;
    for file in &files {
        let mut found = match ending(file).as_str() {
            "holdup" => match recorded.next() {
                Some(found) => found,
                None => continue,
            },
            "csv" | "tsv" | "txt" => tables::csv(file, of)?,
            "parquet" => parquet::read(file, of)?,
            _ => answers::read(file, of)?,
        };
        // A sweep's table says itself what suite a row is of.
        let is_table = ["csv", "tsv", "txt", "parquet"].contains(&ending(file).as_str());
        if matches!(found.kind, Kind::Stack(_)) && !is_table {
            let folder = folder(file);
            if files.iter().any(|other| self::folder(other) != folder) {
                found.rows.iter_mut().for_each(|(labels, _)| labels.suite = folder.clone());
            }
        }
        match &mut all {
            None => all = Some((found, file.clone())),
            Some((gathered, first)) if gathered.kind != found.kind => {
                return Err(Failure::input(format!(
                    "{} has {} and {} has {}; give files of one kind, or choose by --of",
                    first.display(),
                    gathered.what(),
                    file.display(),
                    found.what()
                )));
            }
            Some((gathered, _)) => gathered.take(found),
        }
    }
    all.map(|(gathered, _)| gathered).ok_or_else(|| {
        Failure::input("there is no file to compare; give recordings, answers in JSON, CSV or Parquet")
    })
}

/// The end of a file's name, in small letters.
fn ending(file: &Path) -> String {
    file.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// The name of the folder that a file is in.
fn folder(file: &Path) -> Option<String> {
    Some(file.parent()?.file_name()?.to_string_lossy().into_owned())
}

/// A file itself; of a directory the table of a sweep, or else all files that can be read.
fn list(path: &Path, deep: usize, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let refused = |error: std::io::Error| {
        Failure::input(format!(
            "{}: it cannot be read ({error}); give files of holdup sim --json, or recordings",
            path.display()
        ))
    };
    if !fs::metadata(path).map_err(refused)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    if let Some(components) = COMPONENTS.map(|name| path.join(name)).into_iter().find(|file| file.is_file()) {
        files.push(components);
        return Ok(());
    }
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(path).map_err(refused)? {
        entries.push(entry.map_err(refused)?.path());
    }
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            if deep > 0 {
                list(&entry, deep - 1, files)?;
            }
        } else if ["json", "csv", "tsv", "parquet", "holdup"].contains(&ending(&entry).as_str()) {
            files.push(entry);
        }
    }
    Ok(())
}
