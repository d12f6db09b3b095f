//! Hashes of contents: what results are kept under, and told apart by.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use serde::Serialize;
use sha2::{Digest, Sha256};

/// Read at once.
const BLOCK: usize = 1 << 16;

/// SHA-256 of a file's content in hexadecimal. Of a directory: of the names and contents of all files in it, in the order of their
/// names; links are followed for files and not for directories.
///
/// # Errors
/// If the file or something in the directory cannot be read.
pub fn content_hash(path: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    if path.is_dir() {
        directory(path, &mut hasher)?;
    } else {
        file(path, &mut hasher)?;
    }
    Ok(hexadecimal(&hasher.finalize()))
}

/// SHA-256 of a value as JSON, in hexadecimal.
pub fn hash_of(value: &impl Serialize) -> String {
    // Only maps with keys that are no text have no JSON form, and those here have none.
    let text = serde_json::to_vec(value).unwrap_or_default();
    hexadecimal(&Sha256::digest(&text))
}

fn file(path: &Path, hasher: &mut Sha256) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut block = vec![0; BLOCK];
    loop {
        match file.read(&mut block) {
            Ok(0) => return Ok(()),
            Ok(read) => hasher.update(&block[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn directory(path: &Path, hasher: &mut Sha256) -> io::Result<()> {
    let mut entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let kind = entry.file_type()?;
        let path = entry.path();
        // Lengths and kinds go in too, so that no other tree gives the same bytes.
        hasher.update((name.len() as u64).to_le_bytes());
        hasher.update(name.as_encoded_bytes());
        if kind.is_dir() {
            hasher.update(b"d");
            directory(&path, hasher)?;
            hasher.update(b"e");
        } else if path.is_file() {
            hasher.update(b"f");
            hasher.update(fs::metadata(&path)?.len().to_le_bytes());
            file(&path, hasher)?;
        }
    }
    Ok(())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_known_text_is_the_published_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        fs::write(&path, "abc").unwrap();
        // FIPS 180-2, appendix B.1.
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(content_hash(&path).unwrap(), known);
        assert!(content_hash(&folder.path().join("none")).is_err());
    }

    #[test]
    fn a_directory_has_another_hash_after_each_change_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let now = || content_hash(folder.path()).unwrap();
        let mut seen = vec![now()];
        fs::create_dir(folder.path().join("in")).unwrap();
        seen.push(now());
        fs::write(folder.path().join("in/a"), "1").unwrap();
        seen.push(now());
        fs::write(folder.path().join("in/a"), "2").unwrap();
        seen.push(now());
        fs::rename(folder.path().join("in/a"), folder.path().join("in/b")).unwrap();
        seen.push(now());
        fs::rename(folder.path().join("in/b"), folder.path().join("b")).unwrap();
        seen.push(now());
        let different: std::collections::BTreeSet<&String> = seen.iter().collect();
        assert_eq!(different.len(), seen.len());
        assert_eq!(now(), now());
    }
}
