//! Making recordings: run a program under `holdup record`, take the machine's names away, look whether it is what was wanted.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::list::{By, Origin, Recipe, recordings};
use super::neutral;
use super::site::Site;
use crate::{run, text};

/// What other programs on the machine may cost a run, as a share of its time.
const MOST_LOAD: f64 = 0.1;

/// How often a run is repeated that does not show what it is to show.
const TRIES: usize = 6;

/// The files of a recording: their names in its directory, or none, and what is in them.
type Files = Vec<(Option<String>, Vec<u8>)>;

/// Makes a recording, and puts it where it is kept; gives what a report finds in it, in words.
///
/// # Errors
/// Why there is none: what it is made of is missing, or no run showed what the table asks for.
pub fn make(recipe: &Recipe, holdup: &Path) -> Result<String, String> {
    let of = |other: &str| neutral::read(&recordings().join(format!("{other}.holdup")));
    let one = |bytes: Vec<u8>| keep(recipe, &vec![(None, bytes)], holdup);
    match &recipe.origin {
        Origin::Cut { of: other, percent } => one(neutral::cut(&of(other)?, *percent)),
        Origin::Damaged { of: other, frames } => one(neutral::damaged(&of(other)?, frames)),
        Origin::Without { of: other, frames } => one(neutral::without(&of(other)?, frames)),
        Origin::Run { .. } => {
            let site = Site::new(recipe)?;
            let mut last = String::new();
            for _ in 0..TRIES {
                match keep(recipe, &files(&site.recorded(holdup)?)?, holdup) {
                    Ok(found) => return Ok(found),
                    Err(why) => last = why,
                }
            }
            Err(last)
        }
    }
}

/// What was recorded, without what the machine is called.
fn files(made: &Path) -> Result<Files, String> {
    if !made.is_dir() {
        return Ok(vec![(None, neutral::neutral(&neutral::read(made)?)?)]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(made).map_err(|error| error.to_string())?.flatten() {
        let bytes = neutral::read(&entry.path())?;
        let is_recording = entry.path().extension().is_some_and(|ending| ending == "holdup");
        let bytes = if is_recording { neutral::neutral(&bytes)? } else { bytes };
        files.push((Some(entry.file_name().to_string_lossy().into_owned()), bytes));
    }
    Ok(files)
}

/// Puts a recording where it is kept, if it is what was asked for.
fn keep(recipe: &Recipe, files: &Files, holdup: &Path) -> Result<String, String> {
    let kept = recipe.path();
    let new = kept.with_extension("new");
    let failed = |error: std::io::Error| format!("{}: {error}", kept.display());
    for (name, bytes) in files {
        let path = name.as_ref().map_or(new.clone(), |name| new.join(name));
        fs::create_dir_all(path.parent().unwrap_or(&path))
            .and_then(|()| fs::write(&path, bytes))
            .map_err(failed)?;
    }
    let length = files.iter().map(|(_, bytes)| bytes.len()).sum();
    let found = judged(recipe, &new, length, holdup);
    let old = if found.is_ok() { &kept } else { &new };
    if old.exists() {
        if old.is_dir() { fs::remove_dir_all(old) } else { fs::remove_file(old) }.map_err(failed)?;
    }
    if found.is_ok() {
        fs::rename(&new, &kept).map_err(failed)?;
    }
    found
}

fn judged(recipe: &Recipe, file: &Path, length: usize, holdup: &Path) -> Result<String, String> {
    let largest = recipe.largest();
    if length > largest {
        return Err(format!("it has {length} bytes, more than {largest}: run it with smaller arguments"));
    }
    if matches!(recipe.by(), By::Why | By::Stack) || recipe.instructions().is_some() {
        return Ok(format!("{length} bytes"));
    }
    let ended = run(Command::new(holdup).args(["report", "--json"]).arg(file));
    if ended.status != 0 && recipe.finds.is_empty() {
        return Ok(format!("{length} bytes; {}", text(&ended.stderr).trim()));
    }
    let json: Value = serde_json::from_slice(&ended.stdout).map_err(|error| format!("{error}: {ended:?}"))?;
    let findings = json["findings"].as_array().map_or(&[][..], Vec::as_slice);
    let kinds: Vec<&str> = findings.iter().filter_map(|finding| finding["kind"].as_str()).collect();
    let notes = json["run"]["environment"]["notes"].as_array().map_or(&[][..], Vec::as_slice);
    let lost_to_load: f64 =
        notes.iter().filter(|note| note["kind"] == "load").filter_map(|note| note["cost_ns"].as_f64()).sum();
    let is_loaded = lost_to_load > MOST_LOAD * json["process"]["wall_ns"].as_f64().unwrap_or(f64::INFINITY);
    if is_loaded && !recipe.is_loaded() {
        return Err("other programs kept the CPUs busy: make it when they do not".to_owned());
    }
    match recipe.finds.iter().find(|kind| !kinds.contains(&kind.as_str())) {
        Some(missing) => Err(format!("no finding is of kind {missing}: {}", kinds.join(", "))),
        None => Ok(format!("{length} bytes; {}", kinds.join(", "))),
    }
}
