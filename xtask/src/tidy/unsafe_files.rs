//! `unsafe` stays in the files that ARCHITECTURE.md lists, between two markers, each in backquotes.

use std::collections::BTreeSet;
use std::str::FromStr;

use proc_macro2::{TokenStream, TokenTree};

use crate::workspace::TextFile;

const LIST: &str = "ARCHITECTURE.md";
const BEGIN: &str = "<!-- unsafe files -->";
const END: &str = "<!-- end -->";

pub(super) fn complaints(files: &[TextFile]) -> Vec<String> {
    let listed = match listed_files(files) {
        Ok(listed) => listed,
        Err(line) => return vec![line],
    };
    let mut lines = Vec::new();
    let mut found = BTreeSet::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        match TokenStream::from_str(&file.text).map(mentions_unsafe) {
            Ok(true) => {
                found.insert(file.path.as_str());
                if !listed.contains(file.path.as_str()) {
                    lines.push(format!("{} has unsafe code and is not in the list of {LIST}", file.path));
                }
            }
            Ok(false) => {}
            Err(error) => lines.push(format!("{} is not Rust: {error}", file.path)),
        }
    }
    for path in listed.difference(&found) {
        lines.push(format!("{LIST} lists {path}, which has no unsafe code or does not exist"));
    }
    lines
}

/// The words in backquotes between the markers.
fn listed_files(files: &[TextFile]) -> Result<BTreeSet<&str>, String> {
    let list = files.iter().find(|file| file.path == LIST).ok_or_else(|| {
        format!("{LIST} is missing; it lists the files that may have unsafe code, between {BEGIN} and {END}")
    })?;
    let (_, rest) = list.text.split_once(BEGIN).ok_or_else(|| format!("{LIST} has no line {BEGIN}"))?;
    let (section, _) =
        rest.split_once(END).ok_or_else(|| format!("{LIST} has no line {END} after {BEGIN}"))?;
    Ok(section.split('`').skip(1).step_by(2).collect())
}

/// Looks at tokens, so that comments, strings and names such as `unsafe_code` do not count; the bodies of
/// macros do.
fn mentions_unsafe(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "unsafe",
        TokenTree::Group(group) => mentions_unsafe(group.stream()),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    fn lines(list: &str, source: &str) -> Vec<String> {
        let list = format!("# A\n{BEGIN}\n{list}\n{END}\n`b.rs`");
        complaints(&[file(LIST, list), file("a.rs", source)])
    }

    #[test]
    fn unsafe_code_is_found_wherever_it_is_code() {
        for source in [
            "fn f() { unsafe { g() } }",
            "unsafe impl Send for T {}",
            "#[unsafe(no_mangle)] fn f() {}",
            "macro_rules! m { () => { unsafe { g() } } }",
        ] {
            assert_eq!(lines("", source).len(), 1, "{source}");
            assert_eq!(lines("- `a.rs`: why", source), Vec::<String>::new(), "{source}");
        }
    }

    #[test]
    fn the_word_elsewhere_is_no_code() {
        let source =
            "#![forbid(unsafe_code)]\n/// unsafe\nfn f() -> &'static str { /* unsafe */ \"unsafe\" }";
        assert_eq!(lines("", source), Vec::<String>::new());
    }

    #[test]
    fn a_list_that_is_out_of_date_is_named() {
        assert_eq!(lines("`a.rs` `gone.rs`", "fn f() {}").len(), 2);
    }

    #[test]
    fn without_the_list_there_is_one_clear_line() {
        let lines = complaints(&[file("a.rs", "fn f() { unsafe { g() } }")]);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("ARCHITECTURE.md is missing"));
        assert!(complaints(&[file(LIST, "no markers")])[0].contains(BEGIN));
        assert!(complaints(&[file(LIST, BEGIN)])[0].contains(END));
    }
}
