//! Reading the kernel's small text files below a root that need not be `/`.

use std::fs;
use std::io::Read;
use std::path::Path;

use holdup_model::CpuSet;

/// Room for what is read at first, in bytes: more than most of these files have.
const READ_AT_ONCE: usize = 4096;

pub(crate) struct Files<'a> {
    root: &'a Path,
}

impl<'a> Files<'a> {
    pub(crate) fn below(root: &'a Path) -> Files<'a> {
        Files { root }
    }

    /// A file's text without the blanks around it; control characters, which would reach the terminal, become
    /// `?`.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let mut file = fs::File::open(self.root.join(path.trim_start_matches('/'))).ok()?;
        // The kernel gives no size: without room for all of it, it would be read in pieces of 32 bytes.
        let mut bytes = Vec::with_capacity(READ_AT_ONCE);
        file.read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let shown = |letter: char| if letter.is_control() && !letter.is_whitespace() { '?' } else { letter };
        Some(text.trim().chars().map(shown).collect())
    }

    pub(crate) fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }

    /// The numbers of a list as the kernel writes it, `0-3,8`: of CPUs, or of memory nodes.
    pub(crate) fn list(&self, path: &str) -> Option<CpuSet> {
        CpuSet::parse(&self.text(path)?)
    }

    /// At most `most` bytes from the beginning of a file that may be long.
    pub(crate) fn beginning(&self, path: &str, most: u64) -> Option<String> {
        let file = fs::File::open(self.root.join(path.trim_start_matches('/'))).ok()?;
        let mut bytes = Vec::with_capacity(READ_AT_ONCE);
        file.take(most).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The numbers by which the entries of a folder are called, such as those of `/proc/PID/task`: at most `most`,
    /// in the order of the folder.
    pub(crate) fn numbers_in(&self, path: &str, most: usize) -> Vec<u32> {
        let Ok(entries) = fs::read_dir(self.root.join(path.trim_start_matches('/'))) else {
            return Vec::new();
        };
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).take(most).collect()
    }

    /// The value of a line `name: value`, as in `/proc/self/status`.
    pub(crate) fn field(&self, path: &str, name: &str) -> Option<String> {
        field(&self.text(path)?, name).map(str::to_owned)
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.root.join(path.trim_start_matches('/')).exists()
    }

    /// Whether this process may read a file: opening it is the test, as rights can come from many places.
    pub(crate) fn is_readable(&self, path: &str) -> bool {
        fs::File::open(self.root.join(path.trim_start_matches('/'))).is_ok()
    }

    /// Whether this process has a capability, by its number in linux/capability.h.
    pub(crate) fn has_capability(&self, number: u32) -> bool {
        self.field("proc/self/status", "CapEff")
            .and_then(|mask| u64::from_str_radix(&mask, 16).ok())
            .is_some_and(|mask| mask >> number & 1 == 1)
    }
}

/// The value of a line `name: value`.
pub(crate) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':')).map(str::trim)
}

/// The number in a line `name number`, as in `cpu.stat`.
pub(crate) fn count(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// A word as a shell takes it.
pub(crate) fn shell_word(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:@%,=".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_change_them() {
        assert_eq!(shell_word("/usr/bin/holdup"), "/usr/bin/holdup");
        assert_eq!(shell_word("/a b/it's"), r"'/a b/it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
