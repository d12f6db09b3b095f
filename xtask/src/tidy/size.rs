//! How large files may be: what was downloaded beside the sources by mistake stays in a history for ever.

use crate::workspace::Workspace;

/// Bytes: eight times the largest file there is, a picture.
const LARGEST: u64 = 1 << 20;

/// Each file that is larger.
pub(super) fn complaints(workspace: &Workspace, files: &[String]) -> Vec<String> {
    let large =
        |path: &&String| std::fs::metadata(workspace.path(path)).is_ok_and(|file| file.len() > LARGEST);
    files
        .iter()
        .filter(large)
        .map(|path| format!("{path} has more than {} KiB; it is in the history for ever", LARGEST >> 10))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_files_are_named() {
        let workspace = Workspace::of_this_run().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let paths = [("small", LARGEST), ("large", LARGEST + 1)].map(|(name, size)| {
            let path = directory.path().join(name);
            std::fs::File::create(&path).unwrap().set_len(size).unwrap();
            path.to_string_lossy().into_owned()
        });
        let complaints = complaints(&workspace, &paths);
        assert!(complaints.len() == 1 && complaints[0].starts_with(&paths[1]), "{complaints:?}");
    }
}
