//! Where our shared libraries lie when a program loads them: the injected one, and the emulator's plugin.
//!
//! They travel inside the `holdup` binary, packed by gzip. Each is written to a directory that only the user can write to
//! and list, under a name that contains its checksum and length; what is found there already is used only if it is
//! ours and has these. Nobody but the user and root can put another directory in its place: that holds for each
//! directory on the way to it. Others can reach it by its name: a program that changes its user and then executes
//! another would otherwise print a complaint of the dynamic linker.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use flate2::Crc;
use flate2::write::GzDecoder;

/// A library as it travels. The last bytes of what gzip packed are the checksum and the length of what it was made of
/// (RFC 1952, section 2.3.1): nothing has to be unpacked to know whether a file has the same.
#[derive(Clone, Copy)]
struct Packed<'a> {
    bytes: &'a [u8],
    checksum: u32,
    length: u32,
}

impl<'a> Packed<'a> {
    fn new(bytes: &'a [u8]) -> io::Result<Packed<'a>> {
        let number = |from_end: usize| {
            let start = bytes.len().checked_sub(from_end)?;
            bytes.get(start..start + 4)?.try_into().ok().map(u32::from_le_bytes)
        };
        let known = number(8).zip(number(4));
        let (checksum, length) = known.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
        Ok(Packed { bytes, checksum, length })
    }

    fn name(self) -> String {
        format!("libholdup-{:08x}{:08x}.so", self.checksum, self.length)
    }

    fn is(self, found: &[u8]) -> bool {
        let mut crc = Crc::new();
        crc.update(found);
        found.len() as u64 == u64::from(self.length) && crc.sum() == self.checksum
    }

    fn unpack(self, to: impl Write) -> io::Result<()> {
        let mut unpacking = GzDecoder::new(to);
        unpacking.write_all(self.bytes)?;
        unpacking.finish()?;
        Ok(())
    }
}

/// Writes a library that gzip packed and gives its path, in which there is neither a comma nor anything that cannot stand in `LD_PRELOAD`.
/// `owner` is this user.
pub(crate) fn install(packed: &[u8], owner: u32) -> io::Result<PathBuf> {
    let packed = Packed::new(packed)?;
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for directory in candidates(owner) {
        match install_in(&directory, packed) {
            Ok(path) => return Ok(path),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Directories to try. A name with a colon or a space cannot stand in `LD_PRELOAD`, one with a comma in QEMU's options.
fn candidates(owner: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Some(cache) = std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()) {
        found.push(PathBuf::from(cache).join("holdup"));
    }
    found.push(PathBuf::from(format!("/tmp/holdup-{owner}")));
    if let Some(home) = std::env::var_os("HOME").filter(|path| !path.is_empty()) {
        found.push(PathBuf::from(home).join(".cache/holdup"));
    }
    found.push(PathBuf::from(format!("/dev/shm/holdup-{owner}")));
    found.retain(|path| path.is_absolute() && can_be_listed(path));
    found
}

fn can_be_listed(path: &Path) -> bool {
    let text = path.as_os_str().as_encoded_bytes();
    !text.iter().any(|byte| matches!(byte, b':' | b',' | b' ' | b'\n' | b'$'))
}

/// The directory by its real name, made if it is not there.
fn prepared(directory: &Path, own: u32) -> io::Result<PathBuf> {
    let mut missing = Vec::new();
    let mut there = directory;
    while fs::symlink_metadata(there).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        missing.extend(there.file_name());
        there = there.parent().ok_or(io::ErrorKind::NotFound)?;
    }
    let mut place = fs::canonicalize(there)?;
    for ancestor in place.ancestors() {
        only_own(ancestor, own)?;
    }
    for name in missing.into_iter().rev() {
        place.push(name);
        fs::DirBuilder::new().mode(0o711).create(&place)?;
    }
    Ok(place)
}

/// Refuses a directory in which others could put another one in the place of ours. In a sticky one they can only add.
fn only_own(directory: &Path, own: u32) -> io::Result<()> {
    const STICKY: u32 = 0o1000;
    let facts = fs::symlink_metadata(directory)?;
    let is_closed = facts.mode() & 0o022 == 0 || facts.mode() & STICKY != 0;
    if facts.is_dir() && (facts.uid() == own || facts.uid() == 0) && is_closed {
        return Ok(());
    }
    let why = format!("others can write to {}, or it is another user's", directory.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

fn install_in(directory: &Path, packed: Packed<'_>) -> io::Result<PathBuf> {
    let own = rustix::process::geteuid().as_raw();
    let directory = &prepared(directory, own)?;
    let facts = fs::symlink_metadata(directory)?;
    if facts.uid() != own || facts.mode() & 0o022 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the directory is not this user's alone",
        ));
    }
    if !can_be_listed(directory) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "its name cannot stand in LD_PRELOAD"));
    }
    if rustix::fs::statvfs(directory)?.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file system is mounted noexec"));
    }
    let path = directory.join(packed.name());
    if is_ours(&path, packed, own) {
        return Ok(path);
    }
    // Written under another name first: a program that starts meanwhile must not see a part of it.
    let partial = directory.join(format!("partial-{}", std::process::id()));
    let _ = fs::remove_file(&partial);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o755).open(&partial)?;
    packed.unpack(file)?;
    fs::rename(&partial, &path)?;
    Ok(path)
}

fn is_ours(path: &Path, packed: Packed<'_>, own: u32) -> bool {
    let Ok(facts) = fs::symlink_metadata(path) else { return false };
    facts.is_file()
        && facts.uid() == own
        && facts.mode() & 0o022 == 0
        && fs::read(path).is_ok_and(|found| packed.is(&found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut packing = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packing.write_all(content).unwrap();
        packing.finish().unwrap()
    }

    fn install_in(directory: &Path, content: &[u8]) -> io::Result<PathBuf> {
        super::install_in(directory, Packed::new(&packed(content))?)
    }

    #[test]
    fn what_is_no_library_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        for wrong in [&b""[..], b"short", b"no gzip, and long enough for one"] {
            let installed = Packed::new(wrong).and_then(|packed| super::install_in(directory.path(), packed));
            assert!(installed.is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn what_lies_there_is_used_only_if_it_is_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("holdup");
        let path = install_in(&place, b"library").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"library");
        assert_eq!(install_in(&place, b"library").unwrap(), path);
        for altered in [&b"evil"[..], b"Library", b"library and more"] {
            fs::write(&path, altered).unwrap();
            assert_eq!(install_in(&place, b"library").unwrap(), path);
            assert_eq!(fs::read(&path).unwrap(), b"library", "altered content is replaced");
        }
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let open = directory.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(install_in(&open, b"library").is_err());
    }

    #[test]
    fn a_directory_below_one_of_others_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let open = directory.path().join("open");
        let below = open.join("cache/holdup");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(install_in(&below, b"library").is_err());
        assert!(!open.join("cache").exists(), "nothing is made there");
        let link = directory.path().join("link");
        symlink(&open, &link).unwrap();
        assert!(install_in(&link.join("cache/holdup"), b"library").is_err(), "a link does not hide it");
        fs::set_permissions(&open, fs::Permissions::from_mode(0o1777)).unwrap();
        let real = fs::canonicalize(directory.path()).unwrap();
        assert!(install_in(&below, b"library").unwrap().starts_with(&real), "as in /tmp");
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&open, Some(4711), Some(4711)).unwrap();
            assert!(install_in(&below, b"library").is_err(), "another user's");
        }
    }
}
