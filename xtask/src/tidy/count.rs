//! `cargo xtask tidy --count`: how much code there is, by package.

use std::collections::BTreeMap;
use std::fmt;

use crate::workspace::TextFile;

/// Lines and types of Rust, without tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Count {
    /// Lines that are none of the others.
    code: usize,
    docs: usize,
    comments: usize,
    /// Structs, enums and unions.
    types: usize,
}

/// By package, and in all.
pub(super) struct Counts(BTreeMap<String, Count>);

pub(super) fn counts(files: &[TextFile]) -> Counts {
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    for file in files.iter().filter(|file| is_counted(&file.path)) {
        let package = file.path.split("/src/").next().unwrap_or_default();
        let sum = counts.entry(package.to_owned()).or_default();
        let own = count(&file.text);
        sum.code += own.code;
        sum.docs += own.docs;
        sum.comments += own.comments;
        sum.types += own.types;
    }
    Counts(counts)
}

/// Sources of what users have, but for files of tests.
fn is_counted(path: &str) -> bool {
    let is_test = |part: &str| matches!(part, "tests" | "tests.rs" | "loom_tests" | "loom_tests.rs");
    let is_of_users = path.starts_with("crates/") || path.starts_with("collectors/");
    path.ends_with(".rs") && path.contains("/src/") && is_of_users && !path.split('/').any(is_test)
}

fn count(text: &str) -> Count {
    let mut count = Count::default();
    // The indentation of what is only there in tests, while it lasts; rustfmt ends it with a brace that stands as far in.
    let mut of_test: Option<usize> = None;
    for line in text.lines() {
        let indentation = line.len() - line.trim_start().len();
        let line = line.trim();
        match of_test {
            Some(at) => {
                let ends = matches!(line, "}" | "};") || line.ends_with(';') && !line.starts_with("#[");
                if indentation == at && ends {
                    of_test = None;
                }
            }
            None if line.is_empty() => {}
            None if line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test") => {
                of_test = Some(indentation);
            }
            None if line.starts_with("///") || line.starts_with("//!") => count.docs += 1,
            None if line.starts_with("//") => count.comments += 1,
            None => {
                count.code += 1;
                count.types += usize::from(defines_a_type(line));
            }
        }
    }
    count
}

fn defines_a_type(line: &str) -> bool {
    let mut words = line.split(' ').skip_while(|word| word.starts_with("pub"));
    matches!(words.next(), Some("struct" | "enum" | "union"))
        && words.next().is_some_and(|name| name.starts_with(char::is_uppercase))
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = Count::default();
        writeln!(f, "{:<24} {:>8} {:>8} {:>8} {:>6}", "package", "code", "docs", "comments", "types")?;
        let mut line = |name: &str, count: &Count| {
            let Count { code, docs, comments, types } = count;
            writeln!(f, "{name:<24} {code:>8} {docs:>8} {comments:>8} {types:>6}")
        };
        for (package, count) in &self.0 {
            line(package, count)?;
            all.code += count.code;
            all.docs += count.docs;
            all.comments += count.comments;
            all.types += count.types;
        }
        line("in all", &all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
//! About it.

use std::fmt;

/// A thing.
pub(crate) struct Thing {
    part: u32, // of it
}

// A comment.
#[cfg(test)]
fn only_in_tests() {
    struct Inner;
}

enum Other {}

#[cfg(test)]
mod tests;

fn last() {}

#[cfg(test)]
mod more {
    struct Other;
}
";

    #[test]
    fn tests_docs_comments_and_blanks_are_no_code() {
        assert_eq!(count(TEXT), Count { code: 6, docs: 2, comments: 1, types: 2 });
        assert!(is_counted("crates/model/src/lib.rs"));
        assert!(!is_counted("crates/model/src/tests/lib.rs") && !is_counted("crates/model/tests/it.rs"));
    }
}
