//! The documents that must exist.

use crate::workspace::TextFile;

const DOCUMENTS: &[&str] = &["README.md", "ARCHITECTURE.md", "DEVELOPING.md", "CHANGELOG.md"];

pub(super) fn complaints(files: &[TextFile]) -> Vec<String> {
    DOCUMENTS
        .iter()
        .filter(|name| !files.iter().any(|file| file.path == **name && !file.text.trim().is_empty()))
        .map(|name| format!("{name} is missing or empty; write it"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    #[test]
    fn missing_and_empty_documents_are_named() {
        let files =
            [file("README.md", "# x"), file("ARCHITECTURE.md", " \n"), file("docs/DEVELOPING.md", "x")];
        let lines = complaints(&files);
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("ARCHITECTURE.md") && lines[1].starts_with("DEVELOPING.md"));
    }
}
