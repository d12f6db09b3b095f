//! What the program to be started is, and whether the library may enter it.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use holdup_program::{Caller, Facts, FileBytes, Reason, SCRIPT_DEPTH, Verdict, classify};

use rustix::io::Errno;

use crate::error::CollectError;

/// A program that exists and can be executed.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Where it is.
    pub path: PathBuf,
    /// Why the library stays out of it, and which file is meant.
    pub leave_alone: Option<(PathBuf, Reason)>,
}

impl Target {
    /// Why the kernel did not start it, where its kind says more than the kernel does.
    pub(crate) fn explained(&self, error: CollectError) -> CollectError {
        match (&self.leave_alone, error) {
            (Some((program, reason)), CollectError::Start { error, .. })
                if error.raw_os_error() == Some(Errno::NOEXEC.raw_os_error()) =>
            {
                CollectError::NotExecutable { program: program.clone(), reason: reason.sentence() }
            }
            (_, error) => error,
        }
    }

    /// # Errors
    /// [`CollectError::CannotEmulate`] for a program that could not be what it is under emulation. That the library stays
    /// out of it is none: its instructions are recorded all the same.
    pub(crate) fn refuse_emulation(&self) -> Result<(), CollectError> {
        let Some((path, reason)) = &self.leave_alone else { return Ok(()) };
        match reason {
            Reason::Static | Reason::Musl | Reason::OtherLoader | Reason::Sanitizer(_) => Ok(()),
            _ => Err(CollectError::CannotEmulate {
                program: path.clone(),
                reason: reason.sentence().to_owned(),
            }),
        }
    }
}

struct Bytes(File);

impl FileBytes for Bytes {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Option<usize> {
        self.0.read_at(buffer, offset).ok()
    }
}

/// Finds a program as a shell would.
pub(crate) fn find(program: &OsStr) -> Result<Target, CollectError> {
    let not_found = || CollectError::NotFound { program: PathBuf::from(program) };
    let path = if program.as_bytes().contains(&b'/') {
        PathBuf::from(program)
    } else {
        let list = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
        std::env::split_paths(&list)
            .map(|directory| directory.join(program))
            .find(|path| path.metadata().is_ok_and(|facts| facts.is_file() && facts.mode() & 0o111 != 0))
            .ok_or_else(not_found)?
    };
    if !path.exists() {
        return Err(not_found());
    }
    if path.is_dir() {
        return Err(CollectError::NotExecutable {
            program: path,
            reason: "is a directory; name a program in it",
        });
    }
    look(&path)
}

fn look(path: &Path) -> Result<Target, CollectError> {
    let mut asked = path.to_owned();
    for _ in 0..=SCRIPT_DEPTH {
        let reason = match verdict(&asked) {
            Verdict::Enter => return Ok(Target { path: path.to_owned(), leave_alone: None }),
            Verdict::Script(interpreter) => {
                asked = PathBuf::from(OsStr::from_bytes(interpreter.path()));
                continue;
            }
            Verdict::LeaveAlone(reason) => reason,
        };
        return match reason {
            Reason::NotFound | Reason::NotExecutable | Reason::NotAProgram | Reason::Damaged => {
                if asked != path {
                    let reason = of_interpreter(&asked, reason);
                    return Err(CollectError::Interpreter {
                        program: path.to_owned(),
                        interpreter: asked,
                        reason,
                    });
                }
                Err(CollectError::NotExecutable { program: asked, reason: reason.sentence() })
            }
            _ => Ok(Target { path: path.to_owned(), leave_alone: Some((asked, reason)) }),
        };
    }
    Err(CollectError::NotExecutable { program: path.to_owned(), reason: Reason::ScriptsTooDeep.sentence() })
}

/// What is wrong with the interpreter that a script's first line names.
fn of_interpreter(interpreter: &Path, reason: Reason) -> &'static str {
    match reason {
        Reason::NotFound if interpreter.as_os_str().as_bytes().ends_with(b"\r") => {
            "does not exist; the lines of the script end as Windows has them: sed -i 's/\\r$//' FILE"
        }
        Reason::NotFound => {
            "does not exist; correct the script's first line, or run it by another: holdup sh FILE"
        }
        _ => reason.sentence(),
    }
}

fn verdict(path: &Path) -> Verdict {
    let Ok(facts) = path.metadata() else { return Verdict::LeaveAlone(Reason::NotFound) };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(_) if facts.mode() & 0o111 == 0 || !facts.is_file() => {
            return Verdict::LeaveAlone(Reason::NotExecutable);
        }
        Err(_) => return Verdict::LeaveAlone(Reason::Unreadable),
    };
    let mut capabilities = [0u8; 64];
    let has_capabilities =
        rustix::fs::fgetxattr(&file, "security.capability", &mut capabilities).is_ok_and(|length| length > 0);
    let facts = Facts {
        mode: facts.mode(),
        owner: facts.uid(),
        group: facts.gid(),
        has_capabilities,
        caller: caller(),
    };
    classify(&Bytes(file), facts)
}

fn caller() -> Caller {
    Caller {
        real_user: rustix::process::getuid().as_raw(),
        effective_user: rustix::process::geteuid().as_raw(),
        real_group: rustix::process::getgid().as_raw(),
        effective_group: rustix::process::getegid().as_raw(),
        privileges_fixed: rustix::thread::no_new_privs().unwrap_or(false),
    }
}

/// Where a program is that a shell would start under this name.
///
/// # Errors
/// [`CollectError`] where there is no such program, or it cannot be executed.
pub fn find_program(program: &OsStr) -> Result<PathBuf, CollectError> {
    Ok(find(program)?.path)
}

/// Why the library would stay out of a program, in a sentence; `None` if it would enter.
///
/// # Errors
/// [`CollectError`] where there is no such program.
pub fn describe_target(program: &OsStr) -> Result<Option<String>, CollectError> {
    Ok(find(program)?.leave_alone.map(|(path, reason)| sentence(&path, reason)))
}

/// A sentence about a program that is left alone.
pub(crate) fn sentence(path: &Path, reason: Reason) -> String {
    format!("{} {}", path.display(), reason.sentence())
}
