//! Links of documents to other files of the workspace.

use std::path::Path;

use crate::workspace::{TextFile, Workspace};

/// Each link of a document that leads to no file.
pub(super) fn complaints(workspace: &Workspace, files: &[TextFile]) -> Vec<String> {
    let documents = files.iter().filter(|file| file.path.ends_with(".md"));
    let broken = documents.flat_map(|file| {
        let folder = Path::new(&file.path).parent().unwrap_or(Path::new(""));
        let leads_nowhere = |link: &&str| !workspace.path(&folder.join(link).to_string_lossy()).exists();
        links(&file.text)
            .filter(leads_nowhere)
            .map(|link| format!("{} links to {link}, which is not there", file.path))
            .collect::<Vec<_>>()
    });
    broken.collect()
}

/// What `](path)` and `](path#part)` lead to, but for addresses and parts of the same document.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    let paths = targets.filter_map(|target| target.split('#').next());
    paths.filter(|path| !path.is_empty() && !path.contains("://") && !path.contains(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    #[test]
    fn links_that_lead_nowhere_are_named() {
        let text =
            "[a](../README.md) ![b](no.png) [c](https://x.org/y) [d](#part) [e](docs.md#part) f(x)[0](y z)";
        assert_eq!(links(text).collect::<Vec<_>>(), ["../README.md", "no.png", "docs.md"]);
        let workspace = Workspace::of_this_run().unwrap();
        let complaints = complaints(&workspace, &[file("docs/x.md", text), file("docs/x.rs", text)]);
        assert_eq!(complaints.len(), 2, "{complaints:?}");
        assert!(complaints[0].starts_with("docs/x.md links to no.png"), "{complaints:?}");
    }
}
