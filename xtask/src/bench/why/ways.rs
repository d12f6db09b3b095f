//! The ways to run a program: natively, emulated, counted by holdup, by its compiler, by other tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How the program is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flags {
    Plain,
    /// As `docs/counts.md` says for clang.
    Instrumented,
}

impl Flags {
    pub(super) fn compiler(self) -> &'static str {
        match self {
            Flags::Plain => "cc",
            Flags::Instrumented => "clang-19",
        }
    }

    pub(super) fn words(self) -> &'static [&'static str] {
        match self {
            Flags::Plain => &[],
            Flags::Instrumented => &["-fno-omit-frame-pointer", "-fsanitize-coverage=bb,no-prune,trace-pc"],
        }
    }

    /// What is compiled without these flags and linked to the program.
    pub(super) fn runtime(self) -> Option<&'static str> {
        (self == Flags::Instrumented).then_some("include/holdup_counts.c")
    }
}

/// One way. The first of all is native.
pub(super) struct Way {
    pub(super) name: &'static str,
    pub(super) flags: Flags,
    /// What comes before the program; `{output}` stands for a file that may be written.
    words: Vec<String>,
    output: PathBuf,
}

/// The name of the way that has a target.
pub(super) const COUNTS: &str = "holdup, counts";

pub(super) fn all(holdup: &Path, scratch: &Path) -> Vec<Way> {
    let output = scratch.join("output");
    let holdup = holdup.to_string_lossy();
    let way = |name, flags, words: &[&str]| Way {
        name,
        flags,
        words: words.iter().map(|word| word.replace("{output}", &output.to_string_lossy())).collect(),
        output: output.clone(),
    };
    let record =
        |option| [holdup.as_ref(), "record", option, "--size-limit", "65536", "-o", "{output}", "--"];
    vec![
        way("native", Flags::Plain, &[]),
        way("qemu alone", Flags::Plain, &["qemu-x86_64"]),
        way(COUNTS, Flags::Plain, &record("--instructions=counts")),
        way("holdup, stream", Flags::Plain, &record("--instructions=stream")),
        way("clang counts", Flags::Instrumented, &[holdup.as_ref(), "record", "-o", "{output}", "--"]),
        way(
            "callgrind",
            Flags::Plain,
            &["valgrind", "--quiet", "--tool=callgrind", "--callgrind-out-file={output}"],
        ),
        way("lackey", Flags::Plain, &["valgrind", "--tool=lackey", "--log-file={output}"]),
    ]
}

impl Way {
    /// A command that runs `program` this way; its arguments follow.
    pub(super) fn command(&self, program: &Path) -> Command {
        // A recording that is there is not written over.
        let _ = fs::remove_file(&self.output);
        let mut words = self.words.iter();
        let mut command = match words.next() {
            Some(first) => Command::new(first),
            None => Command::new(program),
        };
        command.args(words);
        if !self.words.is_empty() {
            command.arg(absolute(program));
        }
        command
    }
}

/// Where PATH finds a program: an emulator does not look there.
fn absolute(program: &Path) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file());
    found.unwrap_or_else(|| program.to_owned())
}
