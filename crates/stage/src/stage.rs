//! A directory of a test's own, and the programs that are built into it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{kept, workspace};

/// A directory that all users can read, removed with all that is in it.
pub struct Stage {
    directory: tempfile::TempDir,
}

impl Stage {
    /// An empty directory.
    #[expect(clippy::new_without_default, reason = "it makes a directory, which no default should")]
    pub fn new() -> Stage {
        let directory =
            tempfile::Builder::new().prefix("holdup-test-").tempdir().expect("a directory for the test");
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("chmod");
        Stage { directory }
    }

    /// An empty directory of this name among those for temporary files, for what must not depend on where it was made.
    ///
    /// # Errors
    /// That it is there already: somebody else is at it.
    pub fn called(name: &str) -> Result<Stage, String> {
        let made = tempfile::Builder::new().prefix(name).rand_bytes(0).tempdir_in("/tmp");
        let directory = made.map_err(|error| error.to_string())?;
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("chmod");
        Ok(Stage { directory })
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The path of a file in it.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file; gives its path.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).expect("write a file of the test");
        path
    }

    /// Writes a file that can be executed; gives its path.
    pub fn write_executable(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.write(name, content);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("chmod");
        path
    }

    /// Builds `source`, a path, with the compiler that its ending asks for, as threaded program with debug
    /// information and optimization; `flags` come last.
    pub fn compile(&self, name: &str, source: impl AsRef<Path>, flags: &[&str]) -> PathBuf {
        self.try_compile(name, source, flags)
            .unwrap_or_else(|error| panic!("{name} cannot be built: {error}"))
    }

    /// As [`Stage::compile`].
    ///
    /// # Errors
    ///
    /// What the compiler said where it fails.
    pub fn try_compile(
        &self,
        name: &str,
        source: impl AsRef<Path>,
        flags: &[&str],
    ) -> Result<PathBuf, String> {
        let source = source.as_ref();
        let is_cpp = source.extension() == Some(OsStr::new("cpp"));
        let (compiler, standard) = if is_cpp { ("c++", "-std=gnu++17") } else { ("cc", "-std=gnu11") };
        self.build(name, source, |program| {
            let mut command = Command::new(compiler);
            command.args([standard, "-O2", "-g", "-pthread", "-o"]).arg(program).arg(source).args(flags);
            command
        })
    }

    /// The program that a compiler makes of `source`, a file or a directory, under `name` in this directory. `make`
    /// gives the compiler's command for a path of the program. What was made before of the same is not made again.
    ///
    /// # Errors
    ///
    /// What the compiler said where it fails.
    pub fn build(
        &self,
        name: &str,
        source: &Path,
        make: impl Fn(&Path) -> Command,
    ) -> Result<PathBuf, String> {
        let program = self.path(name);
        kept::make(&program, source, make)?;
        Ok(program)
    }

    /// Builds a program of the command's own tests, by its name there.
    pub fn program(&self, name: &str, flags: &[&str]) -> PathBuf {
        self.compile(name, workspace().join(format!("crates/cli/tests/programs/{name}.c")), flags)
    }
}
