//! What is started in the place of an emulated program.
//!
//! QEMU emulates one program: what it executes runs natively, and out of our sight. So for a script its interpreter is
//! emulated, and for `#!/usr/bin/env python3` what `env` would execute.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use holdup_program::SCRIPT_DEPTH;

use super::{Emulation, InstructionMode, in_path, meets, plugin_argument};
use crate::setting::Setting;

/// Variables that the dynamic linker reads: meant for the program, not for QEMU, which is one too.
const LINKER_VARIABLES: &[u8] = b"LD_";
/// Threads of OpenMP that wait in the runtime give their core away. Spinning is not counted in any case, and many threads
/// that are emulated on few cores would do nothing else.
const WAIT_POLICY: (&str, &str) = ("OMP_WAIT_POLICY", "passive");

/// A program as it is started under QEMU.
pub(crate) struct Emulated {
    qemu: PathBuf,
    plugin: OsString,
    program: PathBuf,
    /// Its name and arguments.
    arguments: Vec<OsString>,
}

impl Emulated {
    /// The program found at `path`, or its interpreter. `session` is where the plugin finds the file to write to.
    pub(crate) fn new(emulation: &Emulation, path: &Path, command: &[OsString], session: &Path) -> Emulated {
        let mut options = vec![
            ("session", session.display().to_string()),
            ("mode", emulation.mode.word().to_owned()),
            ("roi", emulation.interest.word().to_owned()),
        ];
        options.extend(emulation.instruction_limit.map(|limit| ("instructions", limit.to_string())));
        options.extend(emulation.skew.map(|skew| ("skew", skew.to_string())));
        let (program, arguments) = interpreted(path, command);
        if emulation.mode == InstructionMode::Counts {
            let places = meets::places(&program).into_iter();
            options.extend(places.map(|place| ("meet", place.to_string())));
        }
        Emulated {
            qemu: emulation.qemu.clone(),
            plugin: plugin_argument(&emulation.plugin, &options),
            program,
            arguments,
        }
    }

    /// The command, with all variables of the program; `preload` is the value of its `LD_PRELOAD`.
    pub(crate) fn command(&self, setting: &Setting, preload: Option<OsString>) -> Command {
        let mut command = Command::new(&self.qemu);
        let own = std::env::vars_os();
        let mut variables: BTreeMap<OsString, OsString> =
            own.chain(setting.variables.iter().cloned()).collect();
        variables.entry(WAIT_POLICY.0.into()).or_insert_with(|| WAIT_POLICY.1.into());
        if let Some(preload) = preload {
            variables.insert("LD_PRELOAD".into(), preload);
        }
        command.args(["-cpu", "max"]).arg("-plugin").arg(&self.plugin);
        for (name, value) in variables {
            // QEMU takes a comma for the beginning of another variable.
            let can_be_told = !value.as_bytes().contains(&b',');
            if name.as_bytes().starts_with(LINKER_VARIABLES) && can_be_told {
                command.env_remove(&name);
                let mut variable = name;
                variable.push("=");
                variable.push(value);
                command.arg("-E").arg(variable);
            } else {
                command.env(name, value);
            }
        }
        let (name, arguments) = self
            .arguments
            .split_first()
            .map_or((OsStr::new(""), &[][..]), |(name, rest)| (name.as_os_str(), rest));
        command.arg("-0").arg(name).arg(&self.program).args(arguments);
        command
    }
}

/// The program that runs a command, and its arguments: those of the command, or for a script its interpreter.
fn interpreted(path: &Path, command: &[OsString]) -> (PathBuf, Vec<OsString>) {
    let (mut program, mut arguments) = (path.to_owned(), command.to_vec());
    for _ in 0..SCRIPT_DEPTH {
        let Some((interpreter, argument)) = first_line(&program).and_then(|line| interpreter(&line)) else {
            break;
        };
        let script = std::mem::take(&mut program).into_os_string();
        let rest = arguments.drain(..).skip(1);
        arguments = match executed_by_env(&interpreter, argument.as_deref()) {
            Some((found, name)) => {
                program = found;
                [name, script].into_iter().chain(rest).collect()
            }
            None => {
                program = interpreter.clone();
                std::iter::once(interpreter.into_os_string())
                    .chain(argument)
                    .chain(std::iter::once(script))
                    .chain(rest)
                    .collect()
            }
        };
    }
    (program, arguments)
}

/// The first line of a script, after `#!`; `None` for other files.
fn first_line(path: &Path) -> Option<Vec<u8>> {
    /// What the kernel looks at (`BINPRM_BUF_SIZE`).
    const HEAD: u64 = 256;
    let mut head = Vec::new();
    File::open(path).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    Some(line.to_vec())
}

/// The interpreter that such a line names, and the one argument that the kernel passes to it.
fn interpreter(line: &[u8]) -> Option<(PathBuf, Option<OsString>)> {
    let line = line.trim_ascii();
    let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t' | 0)).unwrap_or(line.len());
    let (path, argument) = line.split_at(end);
    let argument = argument.split(|byte| *byte == 0).next().unwrap_or_default().trim_ascii();
    let path = PathBuf::from(OsString::from_vec(path.to_vec()));
    let argument = (!argument.is_empty()).then(|| OsString::from_vec(argument.to_vec()));
    (!path.as_os_str().is_empty()).then_some((path, argument))
}

/// What `env NAME` would execute, and its name.
fn executed_by_env(interpreter: &Path, argument: Option<&OsStr>) -> Option<(PathBuf, OsString)> {
    let name = argument.filter(|_| interpreter.file_name().is_some_and(|name| name == "env"))?.to_str()?;
    let is_name = !name.starts_with('-') && !name.contains(['=', ' ', '\t', '/']);
    Some((in_path(name).filter(|_| is_name)?, name.into()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn a_program_is_itself() {
        let command = words(&["true", "a", "b"]);
        assert_eq!(interpreted(Path::new("/bin/true"), &command), ("/bin/true".into(), command));
    }

    #[test]
    fn of_a_script_the_interpreter_runs() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("script");
        let path = script.to_str().unwrap();
        for (line, program, arguments) in [
            ("#!/bin/sh\n", "/bin/sh", vec!["/bin/sh", path, "x y"]),
            ("#! /bin/sh  -e -u \necho", "/bin/sh", vec!["/bin/sh", "-e -u", path, "x y"]),
            ("#!/usr/bin/env -S sh -e\n", "/usr/bin/env", vec!["/usr/bin/env", "-S sh -e", path, "x y"]),
        ] {
            fs::write(&script, line).unwrap();
            let found = interpreted(&script, &words(&["script", "x y"]));
            assert_eq!(found, (program.into(), words(&arguments)), "{line}");
        }
        fs::write(&script, "#!/usr/bin/env sh\n").unwrap();
        let (program, arguments) = interpreted(&script, &words(&["script", "x"]));
        assert_eq!(program, in_path("sh").unwrap());
        assert_eq!(arguments, words(&["sh", path, "x"]));
    }
}
