//! No file says where somebody keeps the workspace or from where somebody fetches packages.

use crate::workspace::TextFile;

/// Folders of somebody's machine. Written in halves: this file is checked too.
const FOLDERS: &[&str] = &[concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/wo", "rk/")];

/// Settings that name a package registry or a mirror.
const REGISTRIES: &[&str] = &[
    concat!("replace", "-with"),
    concat!("sparse", "+http"),
    concat!("index", "-url"),
    concat!("GO", "PROXY"),
    concat!("[so", "urce."),
    concat!("[regis", "tries."),
];

/// The only source that Cargo.lock may name.
const CRATES_IO: &str = "\"registry+https://github.com/rust-lang/crates.io-index\"";

pub(super) fn complaints(files: &[TextFile]) -> Vec<String> {
    files.iter().flat_map(of_file).collect()
}

fn of_file(file: &TextFile) -> Vec<String> {
    let place = |number: usize| format!("{}:{}", file.path, number + 1);
    let mut lines = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        for folder in FOLDERS.iter().filter(|folder| names_folder(line, folder)) {
            lines.push(format!("{} names the machine's folder {folder}; say it without", place(number)));
        }
        for word in REGISTRIES.iter().filter(|word| line.contains(**word)) {
            lines.push(format!(
                "{} names a package registry ({word}); leave it to the machine",
                place(number)
            ));
        }
        let source = line.strip_prefix("source = ").filter(|_| file.path.ends_with("Cargo.lock"));
        if let Some(source) = source.filter(|source| *source != CRATES_IO) {
            lines.push(format!("{} names a source other than crates.io: {source}", place(number)));
        }
    }
    lines
}

/// Whether `folder` stands in `line` at the start of an absolute path, not inside a longer one.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        !line[..at]
            .ends_with(|before: char| before.is_alphanumeric() || matches!(before, '_' | '-' | '.' | '}'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    #[test]
    fn paths_of_machines_are_named_with_their_line() {
        for folder in FOLDERS {
            let lines = complaints(&[file("a.md", format!("first\nsee `{folder}me/x`\n"))]);
            assert_eq!(lines.len(), 1);
            assert!(lines[0].starts_with("a.md:2 "), "{lines:?}");
        }
    }

    #[test]
    fn the_same_words_inside_a_path_are_no_machine_path() {
        let text = FOLDERS
            .iter()
            .map(|folder| format!("fake{folder}proc and crates{folder}x\n"))
            .collect::<String>();
        assert_eq!(complaints(&[file("a.md", text)]), Vec::<String>::new());
    }

    #[test]
    fn registries_are_named() {
        for word in REGISTRIES {
            assert_eq!(complaints(&[file("a.toml", format!("{word} x"))]).len(), 1, "{word}");
        }
        let lock = |source: &str| complaints(&[file("Cargo.lock", format!("source = {source}\n"))]).len();
        assert_eq!(lock(CRATES_IO), 0);
        assert_eq!(lock("\"registry+https://mirror.example/index\""), 1);
    }
}
