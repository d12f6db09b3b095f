//! `cargo xtask tidy`: rules of the workspace that no compiler checks. `cargo test` checks them too.

mod circles;
mod count;
mod documents;
mod figures;
mod length;
mod links;
mod machine_paths;
mod manifests;
mod once;
mod size;
mod unsafe_files;

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::layers;
use crate::workspace::Workspace;

/// Options of `cargo xtask tidy`.
#[derive(Args)]
pub(crate) struct Options {
    /// Count lines of code, of documentation and types instead, without tests
    #[arg(long)]
    count: bool,
}

/// Runs what the options ask for.
pub(crate) fn chore(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    if options.count {
        print!("{}", count::counts(&workspace.text_files()?));
        return Ok(ExitCode::SUCCESS);
    }
    run(workspace)
}

pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let complaints = complaints(workspace)?;
    for line in &complaints {
        eprintln!("tidy: {line}");
    }
    Ok(if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One line for each breach, each with the file it is in.
fn complaints(workspace: &Workspace) -> Result<Vec<String>> {
    let files = workspace.text_files()?;
    let packages = workspace.metadata()?.packages;
    Ok([
        documents::complaints(&files),
        length::complaints(&files),
        figures::complaints(&files),
        links::complaints(workspace, &files),
        size::complaints(workspace, &workspace.files()?),
        circles::complaints(&files),
        once::complaints(&files),
        unsafe_files::complaints(&files),
        machine_paths::complaints(&files),
        manifests::complaints(&files),
        layers::complaints(workspace, &packages),
    ]
    .concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::TextFile;

    /// A file that only a test knows.
    pub(super) fn file(path: &str, text: impl Into<String>) -> TextFile {
        TextFile { path: path.to_owned(), text: text.into() }
    }

    #[test]
    fn the_workspace_is_tidy() {
        let workspace = Workspace::of_this_run().unwrap();
        let complaints = complaints(&workspace).unwrap();
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    }
}
