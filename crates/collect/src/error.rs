//! What keeps a recording from being made.

use std::io;
use std::path::PathBuf;

/// Why a program could not be started or its recording not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// There is no such program.
    #[error("{}: no such program; check the path, or PATH if the name has no slash", program.display())]
    NotFound {
        /// As it was typed.
        program: PathBuf,
    },
    /// The program cannot be executed.
    #[error("{}: {reason}", program.display())]
    NotExecutable {
        /// Which.
        program: PathBuf,
        /// A sentence's rest that starts with a verb.
        reason: &'static str,
    },
    /// The program is a script whose interpreter cannot be executed.
    #[error("{}: its interpreter {} {reason}", program.display(), interpreter.display())]
    Interpreter {
        /// The script.
        program: PathBuf,
        /// What its first line names.
        interpreter: PathBuf,
        /// A sentence's rest that starts with a verb.
        reason: &'static str,
    },
    /// The system refused to start it.
    #[error("{}: cannot be started ({error})", program.display())]
    Start {
        /// Which.
        program: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// holdup may have no more threads.
    #[error(
        "holdup cannot start a thread of its own ({error}); raise the limit of processes (ulimit -u) or of address \
         space (ulimit -v)"
    )]
    Threads {
        /// What the system says.
        error: io::Error,
    },
    /// There is no such process (any more).
    #[error("process {pid} does not exist; see ps -e for those that do")]
    NoProcess {
        /// Its id, as it was typed.
        pid: u32,
    },
    /// The kernel does not let a process be recorded.
    #[error(transparent)]
    Kernel {
        /// Why.
        error: holdup_kernel::KernelError,
    },
    /// The recording cannot be written.
    #[error("{}: the recording cannot be written here ({error}); choose another place with -o FILE", path.display())]
    Output {
        /// Where.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// There is no place for the memory that is shared with the program.
    #[error(
        "no directory for the memory shared with the program ({error}); holdup needs a few MiB in /dev/shm or the \
         temporary directory: make room there, or set TMPDIR"
    )]
    Session {
        /// What the system says.
        error: io::Error,
    },
    /// There is no emulator that records instructions.
    #[error("{what}, so instructions cannot be recorded; {advice}")]
    NoEmulator {
        /// What is the matter.
        what: String,
        /// How to get one.
        advice: String,
    },
    /// The program cannot be run under emulation.
    #[error("{}: cannot be run under emulation, which records its instructions: it {reason}", program.display())]
    CannotEmulate {
        /// Which.
        program: PathBuf,
        /// The rest of a sentence, which begins with a verb.
        reason: String,
    },
    /// There is no place for the injected library.
    #[error(
        "no directory from which a program may load holdup's library ({error}); holdup needs one that is yours \
         alone and not mounted noexec: set XDG_CACHE_HOME to such a one"
    )]
    Library {
        /// What the system says.
        error: io::Error,
    },
}
