//! Does this QEMU run a program with our plugin? The program is made here: it ends at once, with a status of its own. The
//! plugin finds a session, as it would for any other program, of which nothing is kept.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::streams::Shared;
use super::{BUILD, missing, plugin_argument};
use crate::error::CollectError;
use crate::machine::ClockSource;
use crate::session::SessionFiles;

/// The status with which the trial program ends.
const STATUS: i32 = 42;

/// Runs the trial program with the plugin.
pub(super) fn run(qemu: &Path, version: &str, plugin: &Path) -> Result<(), CollectError> {
    let failed = |why: &str| {
        let what =
            format!("{} (QEMU {version}) cannot run a program with holdup's plugin: {why}", qemu.display());
        missing(what, BUILD)
    };
    let files = SessionFiles::create(0, ClockSource::Monotonic, 1e9, None)
        .map_err(|error| CollectError::Session { error })?;
    let shared = Shared::create(files.directory()).map_err(|error| CollectError::Session { error })?;
    let output = TrialProgram::write(plugin)
        .and_then(|program| output(qemu, plugin, files.path(), &program.path))
        .map_err(|error| failed(&error.to_string()))?;
    if output.status.code() == Some(STATUS) && shared.works() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().map(str::trim).find(|line| !line.is_empty());
    Err(failed(said.unwrap_or("it does not end as it should")))
}

fn output(qemu: &Path, plugin: &Path, session: &Path, program: &Path) -> io::Result<Output> {
    let mut command = Command::new(qemu);
    let session = session.display().to_string();
    command.arg("-plugin").arg(plugin_argument(plugin, &[("session", session)])).arg(program);
    command.env_remove("LD_PRELOAD").stdin(Stdio::null()).output()
}

/// A program beside the plugin, removed when this is dropped.
struct TrialProgram {
    path: PathBuf,
}

impl TrialProgram {
    fn write(plugin: &Path) -> io::Result<TrialProgram> {
        let path = plugin.with_file_name(format!("trial-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        fs::write(&path, program())?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(TrialProgram { path })
    }
}

impl Drop for TrialProgram {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// A static ELF program for x86-64 with one segment (the headers and the code), after the System V ABI: it ends with
/// [`STATUS`].
fn program() -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 56;
    let mut code = vec![0xbf]; // mov edi, STATUS
    code.extend(STATUS.to_le_bytes());
    code.extend([0xb8, 231, 0, 0, 0]); // mov eax, exit_group
    code.extend([0x0f, 0x05]); // syscall
    let length = HEADERS + code.len() as u64;
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let half = |file: &mut Vec<u8>, values: &[u16]| {
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    let word = |file: &mut Vec<u8>, values: &[u32]| {
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    let long = |file: &mut Vec<u8>, values: &[u64]| {
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    half(&mut file, &[2, 62]); // ET_EXEC, EM_X86_64
    word(&mut file, &[1]);
    long(&mut file, &[BASE + HEADERS, 64, 0]); // entry, program headers, section headers
    word(&mut file, &[0]);
    half(&mut file, &[64, 56, 1, 0, 0, 0]);
    word(&mut file, &[1, 5]); // PT_LOAD, readable and executable
    long(&mut file, &[0, BASE, BASE, length, length, 0x1000]);
    file.extend(code);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trial_program_ends_as_it_says() {
        let directory = tempfile::tempdir().unwrap();
        let trial = TrialProgram::write(&directory.path().join("plugin.so")).unwrap();
        assert_eq!(Command::new(&trial.path).status().unwrap().code(), Some(STATUS));
        let path = trial.path.clone();
        drop(trial);
        assert!(!path.exists());
    }

    #[test]
    fn what_qemu_says_is_passed_on() {
        let directory = tempfile::tempdir().unwrap();
        let qemu = directory.path().join("qemu");
        fs::write(
            &qemu,
            "#!/bin/sh\necho 'plugin requires API version 1, but only 2-4 supported' >&2\nexit 1\n",
        )
        .unwrap();
        fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).unwrap();
        let error = run(&qemu, "9.2.0", &directory.path().join("plugin.so")).unwrap_err().to_string();
        assert!(error.contains("QEMU 9.2.0") && error.contains("only 2-4 supported"), "{error}");
    }
}
