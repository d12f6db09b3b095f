//! Reading the kernel's small text files below a root that need not be `/`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

pub(super) struct Files<'a> {
    root: &'a Path,
}

impl<'a> Files<'a> {
    pub(super) fn below(root: &'a Path) -> Files<'a> {
        Files { root }
    }

    /// A file's text without the blanks around it; control characters, which would reach the terminal, become
    /// `?`.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let text = fs::read(self.root.join(path.trim_start_matches('/'))).ok()?;
        let text = String::from_utf8_lossy(&text);
        let shown = |letter: char| if letter.is_control() && !letter.is_whitespace() { '?' } else { letter };
        Some(text.trim().chars().map(shown).collect())
    }

    pub(super) fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }

    /// A set as the kernel writes it: `0-3,8`.
    pub(super) fn set(&self, path: &str) -> Option<BTreeSet<u32>> {
        set(&self.text(path)?)
    }

    /// The value of a line `name: value`, as in `/proc/self/status`.
    pub(super) fn field(&self, path: &str, name: &str) -> Option<String> {
        let text = self.text(path)?;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'))?;
        Some(value.trim().to_owned())
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.root.join(path.trim_start_matches('/')).exists()
    }

    /// Whether this process may read a file: opening it is the test, as rights can come from many places.
    pub(super) fn is_readable(&self, path: &str) -> bool {
        fs::File::open(self.root.join(path.trim_start_matches('/'))).is_ok()
    }

    /// Whether this process has a capability, by its number in linux/capability.h.
    pub(super) fn has_capability(&self, number: u32) -> bool {
        self.field("proc/self/status", "CapEff")
            .and_then(|mask| u64::from_str_radix(&mask, 16).ok())
            .is_some_and(|mask| mask >> number & 1 == 1)
    }
}

pub(super) fn set(text: &str) -> Option<BTreeSet<u32>> {
    let mut numbers = BTreeSet::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        // Linux is built for at most 8,192 CPUs.
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse::<u32>().ok()?.min(8191));
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// A set the shortest way, as `taskset -c` takes it.
pub(super) fn list(numbers: &BTreeSet<u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let parts: Vec<String> = runs
        .iter()
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    parts.join(",")
}

/// A word as a shell takes it.
pub(super) fn shell_word(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:@%,=".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Bytes as people say them.
pub(super) fn bytes(count: u64) -> String {
    let count = count as f64;
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let power = units.iter().enumerate().rev().find(|(power, _)| count >= 1024_f64.powi(*power as i32));
    match power {
        Some((power, unit)) if power > 0 => format!("{:.1} {unit}", count / 1024_f64.powi(power as i32)),
        _ => format!("{count} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_and_written_the_same_way() {
        for text in ["0", "0-3", "0-1,4,6-7", ""] {
            assert_eq!(set(text).map(|set| list(&set)).as_deref(), Some(text));
        }
        assert_eq!(set("0-x"), None);
        assert_eq!(set("0-4294967295").map(|set| set.len()), Some(8192));
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_change_them() {
        assert_eq!(shell_word("/usr/bin/holdup"), "/usr/bin/holdup");
        assert_eq!(shell_word("/a b/it's"), r"'/a b/it'\''s'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn bytes_have_the_unit_that_fits() {
        for (count, text) in
            [(0, "0 bytes"), (1023, "1023 bytes"), (65_536, "64.0 KiB"), (3 << 30, "3.0 GiB")]
        {
            assert_eq!(bytes(count), text);
        }
    }
}
