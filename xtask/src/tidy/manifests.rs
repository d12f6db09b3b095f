//! Every crate lives under the workspace's lints, and one that is published says what crates.io shows.

use toml::{Table, Value};

use crate::workspace::TextFile;

/// crates.io takes no more keywords, and no more categories.
const MOST_WORDS: usize = 5;

pub(super) fn complaints(files: &[TextFile]) -> Vec<String> {
    let mut lines = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        match file.text.parse::<Table>() {
            Ok(manifest) => {
                if !inherits_lints(&manifest) {
                    lines.push(format!(
                        "{} does not inherit the lints; add [lints] workspace = true",
                        file.path
                    ));
                }
                lines
                    .extend(unpublishable(&manifest).into_iter().map(|what| format!("{} {what}", file.path)));
            }
            Err(error) => lines.push(format!("{} is not TOML: {}", file.path, error.message())),
        }
    }
    lines
}

fn inherits_lints(manifest: &Table) -> bool {
    let package = manifest.contains_key("package");
    let lints = manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(Value::as_bool);
    !package || lints == Some(true)
}

/// What is wrong with a manifest that says `publish = true`. All others have `publish = false` from the workspace.
fn unpublishable(manifest: &Table) -> Vec<String> {
    let Some(package) =
        manifest.get("package").filter(|package| package.get("publish") == Some(&true.into()))
    else {
        return Vec::new();
    };
    let mut lines: Vec<String> = ["description", "license", "readme", "documentation"]
        .iter()
        .filter(|key| package.get(**key).is_none())
        .map(|key| format!("is published and has no {key}"))
        .collect();
    for key in ["keywords", "categories"] {
        let count = package.get(key).and_then(Value::as_array).map_or(0, Vec::len);
        if !(1..=MOST_WORDS).contains(&count) {
            lines.push(format!("is published and has {count} {key}; give 1 to {MOST_WORDS}"));
        }
    }
    // Those of tests are left out of a package.
    let dependencies = manifest.get("dependencies").and_then(Value::as_table);
    for (name, dependency) in dependencies.into_iter().flatten() {
        let has = |key| dependency.get(key).is_some();
        let is_ours = name.starts_with("holdup") || has("path");
        if is_ours && !has("version") {
            lines.push(format!("is published and depends on {name} without a version"));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    #[test]
    fn crates_without_the_workspaces_lints_are_named() {
        let check = |text: &str| complaints(&[file("crates/x/Cargo.toml", text)]);
        assert_eq!(check("[package]\nname = 'x'\n[lints]\nworkspace = true\n"), Vec::<String>::new());
        assert_eq!(check("[package]\nname = 'x'\n").len(), 1);
        assert_eq!(check("[package]\nname = 'x'\n[lints.rust]\nmissing_docs = 'warn'\n").len(), 1);
        assert_eq!(check("[package\n").len(), 1);
    }

    #[test]
    fn crates_that_are_published_say_what_is_shown_of_them() {
        let check = |more: &str| {
            let package = "name = 'x'\npublish = true\ndescription = 'X'\nlicense.workspace = true\nreadme = 'README.md'\n";
            let text = format!("[package]\n{package}{more}\n[lints]\nworkspace = true\n");
            complaints(&[file("crates/x/Cargo.toml", &text)])
        };
        let words = "documentation = 'https://docs.rs/x'\nkeywords = ['a', 'b']\ncategories = ['c']\n";
        assert_eq!(check(words), Vec::<String>::new());
        assert_eq!(check("").len(), 3, "documentation, keywords, categories");
        assert_eq!(check(&words.replace("'b'", "'b', 'c', 'd', 'e', 'f'")).len(), 1);
        let depending = |on: &str| check(&format!("{words}[dependencies]\nholdup-y = {on}"));
        assert_eq!(depending("{ path = '../y', version = '0.1.0' }"), Vec::<String>::new());
        assert_eq!(depending("{ path = '../y' }").len(), 1);
        assert_eq!(depending("{ workspace = true }").len(), 1);
    }
}
