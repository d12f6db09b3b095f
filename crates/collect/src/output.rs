//! The file of a recording: made as the user who asked for it, and nobody else's before or after.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use holdup_recording::format::MAGIC;
use rustix::fs::OFlags;

use crate::caller::as_caller;

/// Makes the file, readable and writable by its owner alone, who is the caller of sudo where there is one. What stands at
/// its place must be an ordinary file of the same user, which is replaced whole: who has the old one open keeps that.
///
/// # Errors
/// Those of making a file, and words for a place that a recording cannot have.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    as_caller(|| create_here(path))
}

fn create_here(path: &Path) -> io::Result<File> {
    if path.as_os_str() == "-" {
        let why = "a recording needs a file that can be read again, and - is standard output; ./- is a file of this name";
        return Err(io::Error::new(ErrorKind::InvalidInput, why));
    }
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return new_file(path),
        Err(error) => return Err(error),
    };
    let kind = found.file_type();
    let refused = if kind.is_symlink() {
        "it is a symbolic link, which is not followed"
    } else if kind.is_dir() {
        "it is a directory"
    } else if kind.is_fifo() || kind.is_socket() {
        "it is a pipe, and a recording needs a file that can be read again"
    } else if !kind.is_file() {
        "it is a device, and a recording needs a file that can be read again"
    } else if found.uid() != rustix::process::geteuid().as_raw() {
        "a file of another user is there"
    } else if found.len() > 0 && !is_recording(path) {
        "the file there is no recording, and would be lost"
    } else {
        return replace(path);
    };
    Err(io::Error::new(ErrorKind::InvalidInput, refused))
}

/// True for what has the name of one or begins as one, also if little of it was written.
fn is_recording(path: &Path) -> bool {
    if path.extension().is_some_and(|ending| ending == "holdup") {
        return true;
    }
    let mut start = Vec::new();
    let beginning = File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut start));
    beginning.is_ok() && MAGIC.starts_with(&start)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    let no_follow = OFlags::NOFOLLOW.bits() as i32;
    options.read(true).append(true).mode(0o600).custom_flags(no_follow);
    options
}

fn new_file(path: &Path) -> io::Result<File> {
    options().create_new(true).open(path)
}

/// A new file takes the place of the old one at once; where there is no place for two names, the old one is emptied.
fn replace(path: &Path) -> io::Result<File> {
    let partial = partial(path);
    let _ = fs::remove_file(&partial);
    match new_file(&partial) {
        Ok(file) => fs::rename(&partial, path).map(|()| file).inspect_err(|_| _ = fs::remove_file(&partial)),
        Err(_) => {
            let file = options().open(path)?;
            let facts = file.metadata()?;
            if !facts.is_file() || facts.uid() != rustix::process::geteuid().as_raw() {
                return Err(io::Error::from(ErrorKind::PermissionDenied));
            }
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
            file.set_len(0)?;
            Ok(file)
        }
    }
}

fn partial(path: &Path) -> PathBuf {
    let mut name = b".".to_vec();
    name.extend(path.file_name().unwrap_or_default().as_bytes().iter().take(200));
    name.extend(format!(".{}", std::process::id()).into_bytes());
    path.with_file_name(std::ffi::OsStr::from_bytes(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::fs::symlink;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_recording_is_its_owners_alone_whatever_was_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("app.holdup");
        drop(create(&path).unwrap());
        assert_eq!(mode(&path), 0o600);
        fs::write(&path, "an old one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let mut reader = File::open(&path).unwrap();
        let mut file = create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!((mode(&path), fs::read(&path).unwrap()), (0o600, b"new".to_vec()));
        let mut kept = String::new();
        reader.read_to_string(&mut kept).unwrap();
        assert_eq!(kept, "an old one", "who had it open does not read the new one");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_file_of_ours_is_refused_and_left_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let refused = |path: &Path| create(path).unwrap_err().to_string();
        symlink(at("nowhere"), at("dangling")).unwrap();
        assert!(refused(&at("dangling")).contains("symbolic link"));
        assert!(!at("nowhere").exists());
        fs::write(at("target"), "kept").unwrap();
        symlink(at("target"), at("link")).unwrap();
        assert!(refused(&at("link")).contains("symbolic link"));
        assert_eq!(fs::read(at("target")).unwrap(), b"kept");
        assert!(refused(directory.path()).contains("directory"));
        assert!(refused(Path::new("/dev/null")).contains("device"));
        assert!(refused(Path::new("/dev/stdout")).contains("symbolic link"));
        assert!(refused(Path::new("-")).contains("standard output"));
        let pipe = at("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .unwrap();
        assert!(refused(&pipe).contains("pipe"), "and does not wait for a reader");
        assert!(create(&at("no/such/directory")).is_err());
    }
}
