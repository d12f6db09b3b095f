//! The answers that [`classify`](crate::classify) gives.

use crate::sanitizer::Sanitizer;
use crate::script::Interpreter;

/// What to do about a program file.
#[derive(Clone, Debug, PartialEq, Eq)]
// There is no heap to box the large variant on.
#[allow(clippy::large_enum_variant)]
pub enum Verdict {
    /// The injected library can be loaded into it.
    Enter,
    /// A script: the kernel runs its interpreter, so ask about that file.
    Script(Interpreter),
    /// Start it without the injected library.
    LeaveAlone(Reason),
}

/// Why a program is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// There is no such file. [`classify`](crate::classify) has an open file and never says this; the
    /// caller does.
    NotFound,
    /// Not a regular file, or nobody has the right to execute it.
    NotExecutable,
    /// It can perhaps be executed, but its bytes cannot be read.
    Unreadable,
    /// Neither an ELF program nor a script.
    NotAProgram,
    /// An ELF program whose tables point outside the file or contradict each other.
    Damaged,
    /// A 32-bit program of this machine's family (i386 and x32, or 32-bit ARM).
    Bits32,
    /// A program for another machine; the number is ELF's `e_machine`.
    ForeignMachine {
        /// ELF's `e_machine`, as in the generic ABI's list.
        machine: u16,
    },
    /// Linked statically (no `PT_INTERP`), position-independent or not.
    Static,
    /// Dynamic, but linked against musl.
    Musl,
    /// Dynamic, with a dynamic linker that is neither glibc's nor musl's.
    OtherLoader,
    /// Runs with another user's or group's rights, so that the dynamic linker ignores `LD_PRELOAD`.
    SetUid,
    /// Gains rights by file capabilities, so that the dynamic linker ignores `LD_PRELOAD`.
    FileCapabilities,
    /// Carries a sanitizer's run-time library, which wraps the same functions and aborts or misreports
    /// when another library wraps them too.
    Sanitizer(Sanitizer),
    /// Scripts that name scripts as interpreters, more than [`SCRIPT_DEPTH`](crate::SCRIPT_DEPTH) deep.
    /// [`classify`](crate::classify) sees one file and never says this; the caller does.
    ScriptsTooDeep,
}

impl Reason {
    /// The rest of a sentence that starts with the file's name: what is in the way, and the way out.
    pub fn sentence(self) -> &'static str {
        match self {
            Reason::NotFound => "does not exist; check the path, or PATH if the name has no slash",
            Reason::NotExecutable => {
                "is not an executable file; if it is a program, write chmod +x FILE first"
            }
            Reason::Unreadable => {
                "cannot be read, so holdup cannot tell whether its library may be loaded into it; give it the right by chmod +r"
            }
            Reason::NotAProgram => {
                "is neither an ELF program nor a script that starts with #! and an interpreter; name the interpreter first, as in: holdup sh FILE"
            }
            Reason::Damaged => "is cut off or damaged; build or copy it again",
            Reason::Bits32 => {
                "is a 32-bit program, and holdup's library is 64-bit; build it for 64 bits to record it"
            }
            Reason::ForeignMachine { .. } => {
                "is a program for another kind of machine; build it for this one, or run holdup on that one"
            }
            Reason::Static => {
                "is statically linked, so holdup's library cannot be loaded into it; link it dynamically (without -static or -static-pie) to record it"
            }
            Reason::Musl => {
                "is linked against musl, and holdup's library needs glibc; build it for a -gnu target to record it"
            }
            Reason::OtherLoader => {
                "uses a dynamic linker that is not glibc's, and holdup's library needs glibc; build it against glibc to record it"
            }
            Reason::SetUid => {
                "runs with the rights of another user or group (set-user-id or set-group-id), and the dynamic linker then loads no library of holdup's; run holdup as that user, or record a copy of the file without that bit"
            }
            Reason::FileCapabilities => {
                "has file capabilities, and the dynamic linker then loads no library of holdup's; run holdup as root, or record a copy of the file, which has none"
            }
            Reason::Sanitizer(sanitizer) => sanitizer.sentence(),
            Reason::ScriptsTooDeep => {
                "is a script whose interpreter is a script, more than five deep, which the kernel refuses; name a program in its first line"
            }
        }
    }
}
