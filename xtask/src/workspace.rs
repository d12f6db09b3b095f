//! The workspace on disk: its root, its files, its packages as Cargo sees them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The workspace that xtask belongs to.
pub(crate) struct Workspace {
    root: PathBuf,
}

/// One text file of the workspace.
pub(crate) struct TextFile {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// What `cargo metadata` says.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) target_directory: PathBuf,
}

#[derive(Clone, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` for an ordinary dependency, else "dev" or "build".
    pub(crate) kind: Option<String>,
    /// Where it is one: `None` for everywhere.
    pub(crate) target: Option<String>,
}

impl Workspace {
    /// The workspace of the running xtask: Cargo names the package's folder to what it runs.
    pub(crate) fn of_this_run() -> Result<Workspace> {
        let package = std::env::var_os("CARGO_MANIFEST_DIR")
            .context("xtask does not know where the workspace is; run it as `cargo xtask`")?;
        let root = Path::new(&package).parent().context("the workspace has no folder above xtask")?;
        Ok(Workspace { root: root.to_path_buf() })
    }

    /// Where a file or folder of the workspace is.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// A command that will run at the root.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// Cargo itself, the one that runs xtask.
    pub(crate) fn cargo(&self) -> Command {
        self.command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()))
    }

    /// The paths of all files that are tracked by git or would be.
    pub(crate) fn files(&self) -> Result<Vec<String>> {
        let listing = self
            .command("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"])
            .output()
            .context("git lists the workspace's files; install it: apt-get install git")?;
        if !listing.status.success() {
            bail!("git ls-files: {}", String::from_utf8_lossy(&listing.stderr).trim());
        }
        let listing = String::from_utf8(listing.stdout).context("a file name is not UTF-8")?;
        Ok(listing.split_terminator('\0').map(str::to_owned).collect())
    }

    /// All text files of these, sorted by path.
    pub(crate) fn text_files(&self) -> Result<Vec<TextFile>> {
        // A file that was deleted but is still in the index cannot be read.
        let text = |path: String| Some(TextFile { text: self.text(&path)?, path });
        let mut files: Vec<TextFile> = self.files()?.into_iter().filter_map(text).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    /// A file's text; `None` where there is no such file or it is not text.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    /// The workspace's own packages.
    pub(crate) fn metadata(&self) -> Result<Metadata> {
        let output = self.cargo().args(["metadata", "--no-deps", "--format-version", "1"]).output()?;
        if !output.status.success() {
            bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        serde_json::from_slice(&output.stdout)
            .context("cargo metadata gives JSON that xtask does not understand")
    }

    /// The folder of a package, relative to the root.
    pub(crate) fn folder_of(&self, package: &Package) -> String {
        let folder = package.manifest_path.parent().unwrap_or(&package.manifest_path);
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        folder.strip_prefix(&root).unwrap_or(&folder).to_string_lossy().into_owned()
    }
}
