//! No source file is longer than one idea needs.

use crate::workspace::TextFile;

const LIMIT: usize = 800;

pub(super) fn complaints(files: &[TextFile]) -> Vec<String> {
    files
        .iter()
        .filter(|file| file.path.ends_with(".rs"))
        .map(|file| (file, file.text.lines().count()))
        .filter(|(_, lines)| *lines > LIMIT)
        .map(|(file, lines)| format!("{} has {lines} lines, more than {LIMIT}; split it by idea", file.path))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    #[test]
    fn only_rust_files_over_the_limit_are_named() {
        let files = [
            file("a.rs", "x\n".repeat(LIMIT)),
            file("b.rs", "x\n".repeat(LIMIT + 1)),
            file("c.md", "x\n".repeat(LIMIT + 1)),
        ];
        let lines = complaints(&files);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("b.rs has 801 lines"));
    }
}
