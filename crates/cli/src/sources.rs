//! The program's source, for the lines that a page shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::SystemTime;

use holdup_report::SourceFile;
use rustix::fs::OFlags;

/// Larger files are generated ones, or no source (bytes).
const LARGEST: u64 = 2 << 20;

/// What source files end with. A recording names the files that it wants to see, and may come from somebody else: what
/// is no source is not put into a page that may be passed on.
const ENDINGS: &[&str] = &[
    "ada", "adb", "ads", "asm", "c", "c++", "cc", "cpp", "cppm", "cs", "cu", "cuh", "cxx", "d", "f", "f03",
    "f08", "f90", "f95", "for", "go", "h", "h++", "hh", "hip", "hpp", "hs", "hxx", "inc", "inl", "ipp",
    "ixx", "java", "jl", "kt", "l", "m", "ml", "mm", "nim", "pas", "py", "pyx", "rs", "s", "scala", "swift",
    "tcc", "tpp", "v", "y", "zig",
];

/// Those of these files that are there and are source. Names that are not absolute are looked for from the current
/// directory.
pub(crate) fn read(names: &BTreeSet<String>, recording: &Path) -> BTreeMap<String, SourceFile> {
    let recorded = fs::metadata(recording).and_then(|facts| facts.modified()).ok();
    names.iter().filter_map(|name| Some((name.clone(), source(Path::new(name), recorded)?))).collect()
}

fn source(path: &Path, recorded: Option<SystemTime>) -> Option<SourceFile> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    if !ENDINGS.contains(&ending.as_str()) {
        return None;
    }
    // A pipe of that name must not make us wait.
    let file = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path).ok()?;
    let facts = file.metadata().ok().filter(|facts| facts.is_file() && facts.len() <= LARGEST)?;
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    if bytes.contains(&0) {
        return None;
    }
    let lines = String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect();
    let is_newer = facts.modified().ok().zip(recorded).is_some_and(|(changed, recorded)| changed > recorded);
    Some(SourceFile { lines, is_newer })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_from(folder: &Path, name: &str) -> Option<SourceFile> {
        let path = folder.join(name).to_str().unwrap().to_owned();
        read(&BTreeSet::from([path.clone()]), &folder.join("x.holdup")).remove(&path)
    }

    #[test]
    fn only_source_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &[u8]| fs::write(folder.path().join(name), text).unwrap();
        write("main.c", b"int main(void)\n{\n}\n");
        write("id_rsa", b"secret\n");
        write("shadow.txt", b"secret\n");
        write("image.c", b"\0\0");
        write("huge.c", &vec![b'x'; LARGEST as usize + 1]);
        fs::create_dir(folder.path().join("folder.c")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.path().join("pipe.c"), 0o600.into()).unwrap();
        assert_eq!(read_from(folder.path(), "main.c").unwrap().lines, ["int main(void)", "{", "}"]);
        for other in ["id_rsa", "shadow.txt", "image.c", "huge.c", "folder.c", "pipe.c", "absent.c"] {
            assert!(read_from(folder.path(), other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_file_that_was_changed_later_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let at = |seconds| SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        for (name, seconds) in [("x.holdup", 2000), ("old.c", 1000), ("new.c", 3000)] {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            file.set_modified(at(seconds)).unwrap();
        }
        assert!(!read_from(folder.path(), "old.c").unwrap().is_newer);
        assert!(read_from(folder.path(), "new.c").unwrap().is_newer);
    }
}
