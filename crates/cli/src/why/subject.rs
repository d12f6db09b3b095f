//! What `holdup why` is to tell of.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use holdup_counts::{Counts, text};
use holdup_recording::format::MAGIC;
use rustix::fs::OFlags;

use crate::failure::Failure;

/// The largest file of counts that is read (bytes).
const LARGEST: u64 = 4 << 30;

/// What a word of the command line names.
#[derive(Debug)]
pub(super) enum Subject {
    /// A recording.
    Recording,
    /// Counts as text.
    Counts(Box<Counts>),
    /// A program.
    Program,
}

impl Subject {
    /// A file says what it is; what is no file, or says nothing, is a program.
    pub(super) fn of(path: &Path) -> Result<Subject, Failure> {
        let Some(mut file) = open(path) else {
            return match is_named_as_data(path) {
                true => Err(Failure::input(format!(
                    "{}: there is no such file, or it cannot be read; give a recording, a file of counts, or a program (holdup \
                     why -- ./app)",
                    path.display()
                ))),
                false => Ok(Subject::Program),
            };
        };
        let mut bytes = Vec::new();
        let failed = |error| Failure::input(format!("{}: it cannot be read ({error})", path.display()));
        (&mut file).take(64).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.starts_with(MAGIC) {
            Ok(Subject::Recording)
        } else if text::is_text(&bytes) {
            file.take(LARGEST).read_to_end(&mut bytes).map_err(failed)?;
            let counts = text::read(&bytes);
            counts
                .map(|counts| Subject::Counts(Box::new(counts)))
                .map_err(|error| Failure::input(format!("{}: {error}", path.display())))
        } else if is_named_as_data(path) {
            Err(Failure::input(format!(
                "{}: it is neither a recording nor counts as docs/counts.md says; a program is run by holdup why -- ./app",
                path.display()
            )))
        } else {
            Ok(Subject::Program)
        }
    }
}

/// A file to look into. A pipe of that name must not make us wait.
fn open(path: &Path) -> Option<File> {
    let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path).ok()?;
    file.metadata().ok().filter(|facts| facts.is_file())?;
    Some(file)
}

/// True for names that no program has.
fn is_named_as_data(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ["holdup", "txt", "counts"].iter().any(|data| ending == *data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        let recording = write("any", &[MAGIC.as_slice(), b"\0\0\0\0"].concat());
        assert!(matches!(Subject::of(&recording), Ok(Subject::Recording)));
        assert!(matches!(Subject::of(&write("app", b"\x7fELF")), Ok(Subject::Program)));
        assert!(matches!(Subject::of(Path::new("sleep")), Ok(Subject::Program)));
        for wrong in
            [write("x.holdup", b"\x7fELF"), folder.path().join("absent.txt"), folder.path().join("a.holdup")]
        {
            assert!(Subject::of(&wrong).is_err(), "{}", wrong.display());
        }
    }
}
