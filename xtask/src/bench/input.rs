//! Real files to compress: this machine's own libraries and programs, in one file.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

const FOLDERS: &[&str] = &["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/bin", "/usr/lib"];
const FULL: u64 = 64 << 20;
const QUICK: u64 = 8 << 20;

/// Writes the first files, by name, of the first folders that together have enough.
pub(super) fn make(scratch: &Path, quick: bool) -> Result<PathBuf> {
    let wanted = if quick { QUICK } else { FULL };
    let path = scratch.join("input");
    let mut input = File::create(&path).context("the benchmark's input cannot be written")?;
    let mut left = wanted;
    for file in FOLDERS.iter().flat_map(|folder| regular_files(Path::new(folder))) {
        let Ok(file) = File::open(file) else { continue };
        left -= io::copy(&mut file.take(left), &mut input)?;
        if left == 0 {
            input.flush()?;
            return Ok(path);
        }
    }
    bail!("{} have only {} of {wanted} bytes to compress", FOLDERS.join(", "), wanted - left)
}

fn regular_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let is_file = |path: &PathBuf| path.symlink_metadata().is_ok_and(|stat| stat.is_file());
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_file).collect();
    files.sort();
    files
}
