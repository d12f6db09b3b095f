//! Running a program under QEMU's user mode, with our plugin in it, so that its instructions are recorded.
//!
//! [`Emulation::find`] looks for a QEMU that can do that, and tries it ([`trial`]). [`command`] is what is started in the
//! program's place. What the plugin writes is drained by [`streams`]. How a run ended that emulation may have changed is
//! said by [`ending`].
//!
//! The processor that the program sees is QEMU's `max`: all that it can emulate, which is AVX2 and FMA but not AVX-512. With
//! it the program and the C library choose the same variants of their functions as on a processor of the last ten years;
//! QEMU's default, a processor of 2003, would take others, and end programs that were built for a newer one.

mod command;
mod ending;
mod meets;
mod streams;
mod trial;

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::error::CollectError;
use crate::library;

pub(crate) use command::Emulated;
pub(crate) use ending::{Ending, sentence};
pub(crate) use streams::Streams;

/// The environment variable that names the emulator.
const VARIABLE: &str = "HOLDUP_QEMU";
/// What it is called otherwise.
const NAME: &str = "qemu-x86_64";
/// How to get one, where it is known.
const PACKAGE: &str = "Debian 12: apt install qemu-user";
/// How to get one anywhere.
const BUILD: &str =
    "QEMU 7 or 8 built with --enable-plugins --target-list=x86_64-linux-user, named by HOLDUP_QEMU=FILE";

/// How a program's instructions are recorded.
#[derive(Clone, Debug)]
pub struct Emulation {
    /// What is recorded of them.
    pub mode: InstructionMode,
    /// Of which part of the run.
    pub interest: Interest,
    /// How many instructions of all threads together are recorded at most; `None` for no limit.
    pub instruction_limit: Option<u64>,
    /// How many instructions a thread may be ahead of the slowest one that works; `None` for any number.
    pub skew: Option<u64>,
    /// Instructions executed so far, raised while the program runs.
    pub executed: Arc<AtomicU64>,
    qemu: PathBuf,
    version: String,
    plugin: PathBuf,
}

/// What is recorded of a program's instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstructionMode {
    /// How often each thread followed each edge of the control flow, between two points where threads meet.
    #[default]
    Counts,
    /// Every block and every access to memory, in order.
    Stream,
}

impl InstructionMode {
    /// Its word, in the recording and to the plugin.
    pub fn word(self) -> &'static str {
        match self {
            InstructionMode::Counts => "counts",
            InstructionMode::Stream => "stream",
        }
    }
}

/// Of which part of the run instructions are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interest {
    /// From the first thread that is created on.
    #[default]
    Auto,
    /// All of it.
    All,
    /// What the program marks: by `holdup_region_begin`, or by PARSEC's hooks.
    Marked,
}

impl Interest {
    fn word(self) -> &'static str {
        match self {
            Interest::Auto => "auto",
            Interest::All => "all",
            Interest::Marked => "marked",
        }
    }
}

impl Emulation {
    /// Finds a QEMU that runs programs with `plugin`, a shared library packed by gzip: the one that `HOLDUP_QEMU` names, or else
    /// `qemu-x86_64` in PATH. It is tried with a program of a few instructions.
    ///
    /// # Errors
    /// [`CollectError::NoEmulator`] where there is none, or it cannot run plugins, or not this one;
    /// [`CollectError::Library`] where the plugin cannot be put anywhere.
    pub fn find(plugin: &[u8]) -> Result<Emulation, CollectError> {
        let qemu = located()?;
        let version = version(&qemu)?;
        let owner = rustix::process::geteuid().as_raw();
        let plugin = library::install(plugin, owner).map_err(|error| CollectError::Library { error })?;
        trial::run(&qemu, &version, &plugin)?;
        Ok(Emulation {
            mode: InstructionMode::default(),
            interest: Interest::default(),
            instruction_limit: None,
            skew: None,
            executed: Arc::default(),
            qemu,
            version,
            plugin,
        })
    }

    /// The emulator's version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Where the emulator is.
    pub fn path(&self) -> &Path {
        &self.qemu
    }
}

fn missing(what: String, advice: &str) -> CollectError {
    CollectError::NoEmulator { what, advice: advice.to_owned() }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| facts.is_file() && facts.mode() & 0o111 != 0)
}

fn located() -> Result<PathBuf, CollectError> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()) {
        let path = PathBuf::from(named);
        return if is_executable(&path) {
            Ok(path)
        } else {
            Err(missing(format!("{VARIABLE} names {}, which is no program", path.display()), BUILD))
        };
    }
    in_path(NAME).ok_or_else(|| {
        missing(format!("there is no {NAME} in PATH"), &format!("{PACKAGE}; elsewhere: {BUILD}"))
    })
}

/// The file that a shell would start under this name.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    let list = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&list).map(|directory| directory.join(name)).find(|path| is_executable(path))
}

/// What the emulator says of itself; an error where it cannot load plugins.
fn version(qemu: &Path) -> Result<String, CollectError> {
    let told = |argument: &str| {
        let mut command = Command::new(qemu);
        command.arg(argument).env_remove("LD_PRELOAD").stdin(Stdio::null());
        let output = command
            .output()
            .map_err(|error| missing(format!("{} cannot be started ({error})", qemu.display()), BUILD))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let version = version_in(&told("--version")?)
        .ok_or_else(|| missing(format!("{} is not QEMU's user mode", qemu.display()), BUILD))?;
    if !told("--help")?.contains("-plugin") {
        return Err(missing(
            format!(
                "{} (QEMU {version}) was built without plugins, as Debian's packages after version 7.2 are",
                qemu.display()
            ),
            BUILD,
        ));
    }
    Ok(version)
}

/// The version in the first line of `qemu-x86_64 --version`.
fn version_in(text: &str) -> Option<String> {
    let rest = text.lines().next()?.strip_prefix("qemu-x86_64 version ")?;
    Some(rest.split_whitespace().next()?.to_owned())
}

/// The argument that loads the plugin. Its parts are separated by commas, which no path of ours contains.
fn plugin_argument(plugin: &Path, options: &[(&str, String)]) -> OsString {
    let mut text = plugin.as_os_str().to_owned();
    for (name, value) in options {
        text.push(format!(",{name}={value}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read() {
        let debian =
            "qemu-x86_64 version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)\nCopyright (c) 2003-2022\n";
        assert_eq!(version_in(debian).as_deref(), Some("7.2.22"));
        assert_eq!(version_in("qemu-aarch64 version 7.2.22\n"), None);
        assert_eq!(version_in(""), None);
    }

    #[test]
    fn options_follow_the_plugin() {
        let argument = plugin_argument(
            Path::new("/a/lib.so"),
            &[("mode", "counts".to_owned()), ("skew", 5.to_string())],
        );
        assert_eq!(argument, "/a/lib.so,mode=counts,skew=5");
    }
}
