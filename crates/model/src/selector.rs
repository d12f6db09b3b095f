//! How expressions name things: `lock:cache_lock`, `thread:'a name, with a comma'`, `lock:queue*`.
//!
//! ```text
//! selector = KIND [ ":" NAME ]
//! NAME     = a word, in which * stands for any text and ? for any character, unless a backslash is in front of it
//!          | anything in single quotes, with quotes in it doubled
//! ```
//!
//! Budgets, changes of a recorded program and changes of a simulated one are all made of these, so that a name that one of
//! them takes, and a name that an answer prints, is taken by all.

use std::fmt;

/// A name, or several by a pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Piece {
    Char(char),
    AnyChar,
    AnyText,
}

impl Pattern {
    /// The pattern that a name in an expression is; `None` if its quotes do not fit together.
    pub fn parse(name: &str) -> Option<Pattern> {
        if name.starts_with('\'') {
            return unquoted(name).map(|name| Pattern::of(&name));
        }
        if name.contains('\'') {
            return None;
        }
        let mut pieces = Vec::new();
        let mut chars = name.chars();
        while let Some(c) = chars.next() {
            pieces.push(match c {
                '*' => Piece::AnyText,
                '?' => Piece::AnyChar,
                '\\' => Piece::Char(chars.next().unwrap_or('\\')),
                c => Piece::Char(c),
            });
        }
        Some(Pattern { pieces })
    }

    /// This name and no other.
    pub fn of(name: &str) -> Pattern {
        Pattern { pieces: name.chars().map(Piece::Char).collect() }
    }

    /// True where it can match several names, or none.
    pub fn is_open(&self) -> bool {
        self.pieces.iter().any(|piece| !matches!(piece, Piece::Char(_)))
    }

    /// True if it matches the whole text. O(length of the text × length of the pattern).
    pub fn matches(&self, text: &str) -> bool {
        // By piece: whether what was read so far matches the pieces before it.
        let mut reached = vec![false; self.pieces.len() + 1];
        reached[0] = true;
        self.skip_texts(&mut reached);
        for c in text.chars() {
            let mut next = vec![false; reached.len()];
            for (index, piece) in self.pieces.iter().enumerate().filter(|(index, _)| reached[*index]) {
                match piece {
                    Piece::Char(wanted) if *wanted == c => next[index + 1] = true,
                    Piece::AnyChar => next[index + 1] = true,
                    Piece::AnyText => next[index] = true,
                    Piece::Char(_) => {}
                }
            }
            self.skip_texts(&mut next);
            reached = next;
        }
        reached[self.pieces.len()]
    }

    fn skip_texts(&self, reached: &mut [bool]) {
        for (index, piece) in self.pieces.iter().enumerate() {
            if reached[index] && *piece == Piece::AnyText {
                reached[index + 1] = true;
            }
        }
    }
}

impl fmt::Display for Pattern {
    /// The name without quotes and backslashes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.pieces {
            match piece {
                Piece::Char(c) => write!(f, "{c}")?,
                Piece::AnyChar => f.write_str("?")?,
                Piece::AnyText => f.write_str("*")?,
            }
        }
        Ok(())
    }
}

/// A name as an expression has it: in quotes where it is more than a word, with quotes in it doubled.
pub fn quoted(name: &str) -> String {
    let is_word = |character: char| character.is_alphanumeric() || "_.:#-<>~".contains(character);
    // The end of a word in front of a number is the number's mark.
    if !name.is_empty() && name.chars().all(is_word) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', "''"))
    }
}

/// The name that [`quoted`] was given.
fn unquoted(name: &str) -> Option<String> {
    let mut characters = name.strip_prefix('\'')?.strip_suffix('\'')?.chars();
    let mut name = String::new();
    while let Some(character) = characters.next() {
        if character == '\'' && characters.next() != Some('\'') {
            return None;
        }
        name.push(character);
    }
    Some(name)
}

/// The parts of an expression: at commas outside of quotes, without the empty ones.
pub fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for character in text.chars() {
        quoted ^= character == '\'';
        match parts.last_mut() {
            Some(last) if character != ',' || quoted => last.push(character),
            _ => parts.push(String::new()),
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// What is done with what a selector names: `lock:cache_lock=0` is *lock*, *cache_lock*, `=` and `0`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verb<'a> {
    /// The kind of things.
    pub kind: &'a str,
    /// Which of them.
    pub name: Option<Pattern>,
    /// What stands between them and the value.
    pub mark: &'a str,
    /// What becomes of them.
    pub value: &'a str,
}

impl<'a> Verb<'a> {
    /// Takes a part of an expression apart. The mark is the last of the first of these `marks` that is there at all, outside of
    /// quotes, so that names may have it too. `None` without one, and if quotes do not fit together.
    pub fn of(part: &'a str, marks: &[&[&str]]) -> Option<Verb<'a>> {
        let body = behind_quotes(part);
        let rest = &part[body..];
        let last =
            |marks: &&[&str]| marks.iter().filter_map(|mark| Some((rest.rfind(mark)?, mark.len()))).max();
        let (at, length) = marks.iter().find_map(last)?;
        let (before, mark, value) = (&part[..body + at], &rest[at..at + length], &rest[at + length..]);
        let (kind, name) = match before.split_once(':') {
            Some((kind, name)) => (kind, Some(Pattern::parse(name.trim())?)),
            None => (before, None),
        };
        Some(Verb { kind: kind.trim(), name, mark, value: value.trim() })
    }
}

/// Where a part goes on behind its last quote: marks before that belong to a name.
pub fn behind_quotes(part: &str) -> usize {
    part.rfind('\'').map_or(0, |quote| quote + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Pattern::parse(pattern).unwrap().matches(text)
    }

    #[test]
    fn words_have_wildcards_and_quotes_have_none() {
        assert!(matches("'a*'", "a*") && !matches("'a*'", "ab") && matches("'it''s'", "it's"));
        assert_eq!([Pattern::parse("'a"), Pattern::parse("'a'b'")], [None, None]);
        assert_eq!(Pattern::parse("it's"), None);
        assert!(!Pattern::parse("'a*'").unwrap().is_open() && Pattern::parse("a*").unwrap().is_open());
    }

    #[test]
    fn patterns() {
        for (pattern, text, matches) in [
            ("*", "", true),
            ("*", "anything", true),
            ("a*c", "abbbc", true),
            ("a*c", "abbbd", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("**b*", "abc", true),
            ("", "", true),
            ("a", "aa", false),
            ("operator\\*", "operator*", true),
            ("operator\\*", "operator=", false),
        ] {
            assert_eq!(self::matches(pattern, text), matches, "{pattern} {text}");
        }
    }

    #[test]
    fn commas_in_quotes_are_no_ends() {
        assert_eq!(parts("lock:'a, b'=0, cores=8,"), ["lock:'a, b'=0", "cores=8"]);
        assert_eq!(behind_quotes("lock:'a=b'=0"), 10);
    }

    proptest! {
        #[test]
        fn a_quoted_name_is_that_name(name in any::<String>(), other in any::<String>()) {
            let pattern = Pattern::parse(&quoted(&name)).unwrap();
            prop_assert!(pattern.matches(&name) && !pattern.is_open());
            prop_assert_eq!(pattern.matches(&other), name == other);
            prop_assert_eq!(pattern.to_string(), name);
        }
    }
}
