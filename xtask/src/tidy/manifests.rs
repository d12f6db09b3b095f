//! Every crate lives under the workspace's lints.

use crate::workspace::TextFile;

pub(super) fn complaints(files: &[TextFile]) -> Vec<String> {
    files
        .iter()
        .filter(|file| file.path.ends_with("/Cargo.toml"))
        .filter_map(|file| match inherits_lints(&file.text) {
            Ok(true) => None,
            Ok(false) => {
                Some(format!("{} does not inherit the lints; add [lints] workspace = true", file.path))
            }
            Err(error) => Some(format!("{} is not TOML: {}", file.path, error.message())),
        })
        .collect()
}

fn inherits_lints(manifest: &str) -> Result<bool, toml::de::Error> {
    let manifest: toml::Table = manifest.parse()?;
    let package = manifest.contains_key("package");
    let lints = manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(toml::Value::as_bool);
    Ok(!package || lints == Some(true))
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
}
